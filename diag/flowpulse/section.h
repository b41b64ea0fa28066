/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse, a diagnoser: from alarms of monitors in switches, which compare a collective's volumes with a prediction,
 * to findings about links that lose packets silently. It has no times: other diagnosers find the cost of a fault. Its
 * results of a run: faulty links, and its monitors' observations.
 */
#pragma once

#include "common/wire/record_volumes.h"
#include "diag/diagnoser.h"
#include "diag/verdict.h"

#define FLOWPULSE_NAME "flowpulse"

/* Why an alarm is part of no fault: a precondition of the diagnosis does not hold (judged.h). */
enum flowpulse_hold {
	FLOWPULSE_JUDGED, /* all hold */
	FLOWPULSE_UNFINISHED,
	FLOWPULSE_LESS,
	FLOWPULSE_NOT_LOST,
	FLOWPULSE_EXCESS,
	FLOWPULSE_SHARED,
	FLOWPULSE_NO_NOISE,
	FLOWPULSE_HOLDS
};

/* The preconditions of an alarm: rows in judged.c. */
struct flowpulse_precondition {
	const char *key;
	const char *because; /* why it does not hold: of "cannot tell", or of the proof that nothing was lost */
	bool is_clear;       /* nothing was lost; else it cannot be judged */
};

extern const struct flowpulse_precondition flowpulse_preconditions[FLOWPULSE_HOLDS];

/* A link, in one direction; or, where switches are not neighbours, the path between them. */
struct flowpulse_link {
	uint32_t from, to; /* nodes; RUN_NONE: not known */
	uint32_t port;     /* index into run.ports, of from; RUN_NONE: several links lead there, or none */
	bool is_path;      /* none: one of those between the two */
};

/* Packets that one link lost: alarms of all switches and iterations that point to it. The same index as its finding. */
struct flowpulse_fault {
	struct flowpulse_link links[2]; /* [nlinks] 2: one of them */
	uint32_t nlinks;
	double drop, low, high;                               /* share of packets lost, and its interval at 95 % */
	uint32_t first_iteration, last_iteration, iterations; /* iterations: those with an alarm, of any switch */
	uint32_t alarms, switches;                            /* number of alarms, and of their switches */
	/* doubtful because its alarms are few, of counts that vary more than independent packets make them */
	bool is_scattered;
	bool is_of_others; /* or because other faults account for what hosts sent again: flowpulse_share_resent() */
	uint32_t first;    /* of those of its first iteration, where most is missing: index into alarms */
};

/* A port's volumes of one iteration, of all senders. */
struct flowpulse_volume {
	uint32_t node, iteration;
	uint16_t port;
	uint64_t time_ps;
	uint64_t predicted, seen; /* bytes */
	bool learned;             /* nothing was predicted yet */
	bool flawed;              /* of some sender it was not compared */
	bool alarmed;
};

struct flowpulse {
	struct rec_monitor config;
	struct rec_monitored *monitors; /* [nmonitors] by node */
	uint32_t nmonitors;
	struct rec_volume *volumes; /* [nvolumes] in order of time, node and port */
	uint32_t nvolumes;
	struct flowpulse_volume *ports; /* [nports] the same, summed up over senders */
	uint32_t nports;
	struct rec_volume_alarm *alarms; /* [nalarms] in order of time */
	uint32_t nalarms;
	uint8_t *held;         /* [nalarms] enum flowpulse_hold */
	uint64_t *resent;      /* [nalarms] resent_of() */
	bool *is_cleared;      /* [nalarms] of one sender: no loss on its paths to other leaves: resent_clears() */
	uint32_t *only_sender; /* [nalarms] of a port's own link: resent_only_sender(); REC_NONE: it is that link */
	/* [nalarms] it has not the link's rate alone: below an aggregation with an alarm of its own; an only_sender's */
	bool *is_below;
	struct rec_volume_flaw *flaws; /* [nflaws] in order of time */
	uint32_t nflaws;
	struct flowpulse_fault *faults; /* [nfaults + ndoubtful] those that are findings first */
	uint32_t nfaults;
	uint32_t ndoubtful; /* their alarms miss no more than chance makes */
};

/* Of two links: would a fault of the second during one sender's turn alone look like one of that sender's link? */
static inline bool
flowpulse_is_fleeting(const struct flowpulse *own, const struct flowpulse_fault *fault)
{
	return own->alarms[fault->first].place == REC_LOSS_REMOTE;
}

/* As in diagnoser.h; it has no options. */
int flowpulse_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		       struct err *err);
void flowpulse_destroy(void *own);
