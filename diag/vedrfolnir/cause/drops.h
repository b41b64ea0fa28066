/* SPDX-License-Identifier: BSD-3-Clause */
/* What the signatures that rest on drop counters share. */
#pragma once

#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/cause.h"

/* What is said of a port that counted drops: the clause, and that of a cut cable which dropped nothing. */
#define DROPS_CLAUSES 2
#define DROPS_CLAUSE(what)                                                                                                 \
	"{step}: {port} counts {count} " what "; {again}", "{step}: {port} was cut, with {count} " what "; {again}"

/*
 * Adds a finding for each port that dropped packets for this reason within a slow step's time, where the step's flow
 * was hit: it was the last dropped, or the port is on its configured path. Where what expired may be agents' traceroutes alone,
 * the step is counted as not judged.
 * @param says  the first of the DROPS_CLAUSE() clauses of the type
 * @return true if there was one
 */
bool drops_add(struct cause_set *set, uint32_t step, enum rec_drop reason, uint32_t clause);

/* Did any port? */
bool drops_any(const struct cause_input *in, uint32_t step, enum rec_drop reason);

/* Did a port count drops, of a known reason, of this step's flow in its time, or was a link on its way cut? */
bool drops_explain(const struct evidence *ev, const struct run_step *s);

/* Did the exporter leave out rows of the step's time? */
bool drops_telemetry_lost(const struct evidence *ev, const struct run_step *s);

/* Did the step send packets again, as far as its host reported, or as an end of retries tells? */
bool drops_sent_again(const struct cause_input *in, uint32_t step);
#define DROPS_OF_OLD_AGE 1 /* key of findings that rest on TTL drops: a loop that is seen itself takes them over */
#define DROPS_VANISHED 2   /* polling packets in a row: one alone may be lost as any packet is */

/* Where the polling packets that follow a step's flow, or its ACKs, vanish. */
struct drops_silence {
	uint32_t
		port; /* they left by it and the node behind it saw none; EV_NONE: they do not vanish, or not at one place */
	/*
	 * That node is to blame: what left came to it, by the link's counts; where these are not known, DROPS_VANISHED in a
	 * row did not arrive, or none at all of a step that never ended. Else it is chance, and the link.
	 */
	bool swallows;
	uint32_t polls;       /* so many in a row */
	uint64_t lost_frames; /* by the link, as far as it is known */
};

/* No port counted a drop, and no telemetry was lost: else nothing is said. */
struct drops_silence drops_silence(const struct cause_input *in, uint32_t step);
