/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A diagnoser is a row of diag/registry.c. It reads the evidence, which real switches and hosts could report, and the
 * known facts of the run, and writes its conclusions to a section of the verdict. It never reads truth, scenario or
 * another diagnoser. To add one: its file, its row, its test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "diag/finding.h"

/* The results of one diagnoser. */

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
	CLAIM_NO_SIGN,      /* slow steps, and their ports' pauses, queues and drops, if any, explain too little */
	CLAIM_NO_EFFECT,    /* findings about the network that cost nothing, and unexplained time, or no part by the twin */
	CLAIM_UNCERTAIN,    /* findings about the network, none that is more likely than not */
	CLAIM_UNTIMED,      /* it makes no claim about time, for or against the network */
	CLAIM_INCOMPLETE,   /* unexplained slow steps, but the evidence is incomplete */
};

struct claim {
	uint32_t kind;                  /* enum claim_kind */
	bool innocent;                  /* it is known that nothing in the network cost time */
	bool left;                      /* more than a base RTT is unexplained, or may be by steps that were not reported */
	double lost_ps, unexplained_ps; /* on the critical paths of all collectives, and its unexplained part */
	/*
	 * 0 to 1, of the verdict: guilty, the confidence of the best supported finding; innocent, the share of the
	 * steps that were reported. 0 where it is neither: unknown has no confidence.
	 */
	double confidence;
	uint32_t slow; /* steps */
	uint32_t unwatched;
	double ack_share;                /* CLAIM_ACKS: the share of a step's time that ACKs may add */
	bool paused, contended, dropped; /* CLAIM_NO_SIGN: a port on the path of such a step was, or dropped a packet */
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

struct evidence;
struct json_t;
struct run;
struct text;
struct verdict;

/* An option of the analyzer. */
struct diagnoser_option {
	const char *name; /* "port-share": --port-share=VALUE */
	int key;          /* 's': -s VALUE; a number beyond all letters: none */
	const char *value, *meaning;
	/* Sets the value in the diagnoser's options. @return 0, or -EINVAL with err naming what would be right */
	int (*set)(void *options, const char *value, struct err *err);
};

/* A file of its own in the directory of reports. */
struct diagnoser_file {
	const char *name;
	int (*write)(const struct verdict *v, FILE *to); /* @return 0, -ENOMEM or -EIO */
};

/* How a section is reported beyond its findings; NULL: not at all. Each @return 0, -ENOMEM or -EIO */
struct diagnoser_writers {
	int (*json)(const struct verdict *v, const struct section *section, struct json_t *root); /* keys of verdict.json */
	int (*text)(const struct text *text, const struct section *section); /* paragraphs between findings and evidence */
	const struct diagnoser_file *files;
	uint32_t nfiles;
};

#define DIAGNOSER_READS(kind) (UINT64_C(1) << (kind))

struct diagnoser {
	const char *name;
	const struct diagnoser_option *options;
	uint32_t noptions;
	size_t options_bytes; /* of the options that set() writes and diagnose() reads; zeroed: the defaults */
	/*
	 * DIAGNOSER_READS() of the kinds of records that it rests on: reports of polls, probes, tags and monitors of
	 * switches and hosts. If none of them was received it does not run.
	 */
	uint64_t reads;
	/*
	 * @param options  never NULL, if it has any
	 * @param section  zeroed but for by
	 * @return 0 or negative errno with err; allocated memory is freed with the section
	 */
	int (*diagnose)(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
	void (*destroy)(void *own);
	struct diagnoser_writers writers;
};
