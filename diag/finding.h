/* SPDX-License-Identifier: BSD-3-Clause */
/* The vocabulary of findings, one for all diagnosers. Things are named by index into the tables of the run. */
#pragma once

#include <stdint.h>

enum finding_type {
	FINDING_FLOW_CONTENTION,
	FINDING_INCAST,
	FINDING_PFC_BACKPRESSURE,
	FINDING_PFC_STORM,
	FINDING_PFC_DEADLOCK,
	FINDING_FORWARDING_LOOP,
	FINDING_LOAD_IMBALANCE,
	FINDING_PACKET_LOSS,
	FINDING_LINK_DOWN,
	FINDING_BLACKHOLE,
	FINDING_SLOW_HOST,
	FINDING_TYPES
};

struct finding {
	uint32_t type;      /* enum finding_type */
	char root[64];      /* port "6:2", or a host's name for slow_host */
	uint32_t root_port; /* index into run.ports, RUN_NONE: root is not a port */
	uint32_t
		origin_port; /* of a deadlock: port out of the loop whose pauses began it, RUN_NONE: it began in the loop */
	uint32_t *ports;     /* ports involved: from the first victim's to the root, then those of further victims */
	uint32_t nports;
	uint32_t *flows; /* culprits, worst first */
	uint32_t nflows;
	uint32_t *victims; /* flows of the collective */
	uint32_t nvictims;
	uint32_t *steps; /* slow steps it explains: into run.steps (JSON prints step numbers, once each) */
	uint32_t nsteps;
	uint32_t collective; /* index into run.collectives */
	uint64_t start_ps, end_ps;
	double score;        /* packet-waits caused to the victims */
	double explained_ps; /* of the time that these steps lost, an estimate; of several findings it may be the same time */
	double critical_ps; /* of it, on the critical path; sorts the list, largest first, then the score does */
	char evidence[512]; /* a sentence with the numbers */
};

void finding_fini(struct finding *finding);

/* "flow-contention", ... as in verdict.json. */
const char *finding_type_name(enum finding_type type);
