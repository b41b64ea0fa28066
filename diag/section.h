/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of one diagnoser. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "diag/finding.h"

/* The grounds on which a diagnoser calls the network guilty or innocent, or does neither. */
enum claim_kind {
	CLAIM_FAULT,        /* a finding about the network explains slow steps */
	CLAIM_HOSTS_LATE,   /* no step was slow; late were hosts */
	CLAIM_NOTHING_DONE, /* no step was reported as finished */
	CLAIM_IN_TIME,      /* no step was slow */
	CLAIM_IN_SUM,       /* no step was slow by itself, and yet they lost unexplained time */
	CLAIM_UNWATCHED,    /* unexplained slow steps, some of them without telemetry of their time */
	CLAIM_UNNAMED,      /* slow steps, and class 0 took time from them: the owner of its frames was not reported */
	CLAIM_ACKS,         /* slow steps, none slower than others' ACKs on its path can make it */
	CLAIM_NO_SIGN,      /* slow steps, and all ports and flows on their paths are known to have been well */
	CLAIM_NO_EFFECT,    /* findings about the network that cost nothing, and unexplained time */
	CLAIM_UNCERTAIN,    /* findings about the network, none that is more likely than not */
	CLAIM_UNTIMED,      /* it makes no claim about time, for or against the network */
	CLAIM_INCOMPLETE,   /* unexplained slow steps, but the evidence is incomplete */
};

struct claim {
	uint32_t kind;                  /* enum claim_kind */
	bool innocent;                  /* it is known that nothing in the network cost time */
	double lost_ps, unexplained_ps; /* on the critical paths of all collectives, and its unexplained part */
	/*
	 * 0 to 1, of the verdict: guilty, the confidence of the best supported finding; innocent, the share of the
	 * steps that were reported. 0 where it is neither: unknown has no confidence.
	 */
	double confidence;
	uint32_t slow; /* steps */
	uint32_t unwatched;
	double ack_share; /* CLAIM_ACKS: the share of a step's time that ACKs may add */
};

struct diagnoser;

struct section {
	const struct diagnoser *by;
	struct claim claim;
	uint32_t skipped, limit;  /* slow steps beyond the limit of those that it looks at: not explained */
	struct finding *findings; /* by their part of the critical path, then by score; then the verdict's, joined */
	uint32_t nfindings;
	void *own; /* its own data, in its own format; destroyed by it, NULL: none */
};
