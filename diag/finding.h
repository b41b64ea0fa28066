/* SPDX-License-Identifier: BSD-3-Clause */
/* The vocabulary of findings, one for all diagnosers. Things are named by index into the tables of the run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/layout.h"

/* The properties of a type of finding for merging, ordering and reports; bits of finding_type.traits. */
enum finding_trait {
	FINDING_OF_HOST = 1 << 0,        /* about a host: no evidence against the network */
	FINDING_OF_QUEUES = 1 << 1,      /* rests on queues or their pauses: dropped where it explains too little */
	FINDING_OF_PAUSES = 1 << 2,      /* ports were paused: the report names them, and the flows that they delay */
	FINDING_BY_FLOW = 1 << 3,        /* in a table's cell its first culprit is named */
	FINDING_FILLED = 1 << 4,         /* pauses of a queue, with its flows; joins the finding about that queue */
	FINDING_HAS_PAUSES = 1 << 5,     /* about a queue that may pause others: takes the findings about its pauses, */
	FINDING_HAS_OWN_PAUSES = 1 << 6, /* or takes them where flows of the collective alone fill it */
	FINDING_OF_CIRCLE = 1 << 7,      /* ports that wait for each other in a circle: has an origin */
	FINDING_OF_LOOP = 1 << 8,        /* packets that loop: precedes the circle of ports that they make */
	FINDING_OF_LOSS = 1 << 9,        /* without a port for its root, known of retransmissions alone */
	FINDING_OF_HOLE = 1 << 10,       /* where packets vanish: explains a loss that no switch counted */
	FINDING_OF_NODE = 1 << 11,       /* means the whole node of its root */
	FINDING_BY_DEFAULT = 1 << 12,    /* inferred for lack of another cause: not beside loops or holes on its path */
	FINDING_OF_LINK = 1 << 13, /* claims that its culprit took a link's time; without a culprit there is no claim */
	FINDING_UNTIMED = 1 << 14, /* its cost is not known: reported behind all others, and joined with none */
	FINDING_OF_FAULT =
		1 << 15, /* something is broken, which no load alone does; operators' own knowledge of it is added */
	/* of a host, while its steps run: claims entries of the sender's ledger, not the delay of a start */
	FINDING_OF_SENDER = 1 << 16,
	FINDING_OF_STATE = 1 << 17, /* a device reports its own state, which is no sample of events */
};

/* A type of finding: a row in the file of its cause, with all properties that other modules use. */
struct finding_type {
	const char *key;         /* "flow-contention": in verdict.json */
	const char *title;       /* "flow contention": for people */
	const char *short_title; /* where there is room for few words; NULL: title */
	const char *preposition; /* between title and root: "at ", "from " or "" */
	const char *badge;       /* class of its color on the page: "pfc", "queue", "host" or "lost" */
	uint32_t traits;         /* enum finding_trait */
	/*
	 * The clauses of its evidence sentences. {NAME} in them stands for a fact of struct finding_evidence, as the
	 * report prints it (diag/report/evidence.c).
	 */
	const char *const *clauses;
	uint32_t nclauses;
};

/* A cause that costs less than this share of the affected time, and less than a base RTT, is without effect. */
#define FINDING_LEAST_SHARE 0.005

/* What the cost of a finding rests on. Value, name. */
#define FINDING_COSTS(ROW)                                                                                                 \
	ROW(FINDING_ESTIMATED, 0, "estimate") /* of waits and pauses, by this diagnosis */                                 \
	ROW(FINDING_BY_TWIN, 1, "twin")       /* of runs of the twin without it */                                         \
	ROW(FINDING_PARTLY_TWIN, 2, "mixed")  /* of some culprits or jobs so, of others so */

enum finding_cost { FINDING_COSTS(ENUM_VALUE) };

#define FINDING_CLAUSES 3

/* The observations in the step that shows a finding best. Each type lists its facts. */
struct finding_evidence {
	uint32_t clauses[FINDING_CLAUSES], nclauses; /* of its type: its sentence; 0: nothing seen yet */
	uint32_t step;                               /* index into run.steps */
	uint32_t port, other_port;                   /* indices into run.ports */
	uint32_t node;
	uint32_t flow, flows; /* the worst culprit, and their number */
	uint64_t count;
	uint32_t depth_packets;
	uint64_t held_bytes, threshold_bytes;
	double packets, waits; /* packets of the step's flow; those of others ahead of them */
	double ps, of_ps, percent;
};

/* The cost of a finding in one iteration of a collective. */
struct finding_part {
	uint32_t collective; /* index into run.collectives */
	double critical_ps;
	double *flow_ps; /* [nflows] of the finding */
	bool *costless;  /* [nflows + 1] by the twin: of a culprit, the last of the place; NULL: the twin says nothing */
};

/*
 * The part of a step's lost time that a finding explains: by one of its culprits, or as a whole. Parts of several are
 * disjoint.
 */
struct finding_claim {
	uint32_t step; /* index into run.steps */
	uint32_t flow; /* index into run.flows, RUN_NONE: of no culprit */
	double ps;
};

struct finding {
	const struct finding_type *type;
	uint32_t key;       /* of one type and root: separates causes */
	char root[160];     /* port "6:2", or a host's name for slow_host */
	uint32_t root_port; /* index into run.ports, RUN_NONE: root is not a port */
	uint32_t
		origin_port; /* of a deadlock: port out of the loop whose pauses began it, RUN_NONE: it began in the loop */
	uint32_t *ports;     /* ports involved: from the first victim's to the root, then those of further victims */
	uint32_t nports;
	uint32_t *flows; /* culprits, worst first */
	double *flow_ps; /* [nflows] each one's part of critical_ps */
	uint32_t nflows;
	uint32_t *victims; /* flows of the collective */
	uint32_t nvictims;
	uint32_t *steps; /* slow steps it explains: into run.steps (JSON prints step numbers, once each) */
	uint32_t nsteps;
	uint32_t collective; /* index into run.collectives: where it costs most */
	/*
	 * By iteration, in the order of run.collectives; a diagnoser makes one finding of each, and the verdict one of
	 * all.
	 */
	struct finding_part *parts;
	uint32_t nparts;
	uint64_t start_ps, end_ps;
	/*
	 * A diagnoser with its own detection time sets them, as R-Pingmesh at the end of a period; else
	 * diag/detection.h does, where asked.
	 */
	uint64_t detected_ps, undetected_ps;
	double score; /* packet-waits caused to the victims */
	struct finding_claim *claims;
	uint32_t nclaims;
	double explained_ps; /* of the time that these steps lost, an estimate: the sum of its claims */
	double critical_ps;  /* of its job's time: sorts the list, largest first, then the score does */
	double regained_ps;  /* time that the job would save without it alone, or without its culprits, one by one */
	/*
	 * 0 to 1: of the time that it claims, the part that was measured, not inferred, of all expected reports, and
	 * that no other cause claims as well.
	 */
	double confidence;
	/*
	 * Of that time, the share that a late machine may account for, in real time: the confidence is at most 1 minus
	 * it.
	 */
	double machine;
	double borne_out;   /* the same, whichever of the findings has the time that several claim */
	bool costless;      /* too little to count: no root cause, though it was there */
	uint32_t cost_from; /* enum finding_cost, of critical_ps */
	bool cost_unknown;  /* the twin's error is larger than what it says of it; costless then */
	struct finding_evidence evidence;
	uint32_t lacks; /* the link that is down, which has a share of its time: a port into run.ports, plus 1; 0: none */
	uint32_t known; /* index into run.known, plus 1: operators know of a fault at its place; 0: of none */
};

/* One of less confidence stands behind the others of its group: reports count and sum up such, and list none. */
#define FINDING_FOLDED 0.3
bool finding_folded(const struct finding *finding);

void finding_fini(struct finding *finding);
