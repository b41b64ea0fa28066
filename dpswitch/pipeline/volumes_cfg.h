/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowPulse's monitors of volumes in switches: their part of a scenario, and what an operator tells them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "telemetry/volumes/judge.h"
#include "topo/tiers.h"

/* Bound from the group "flowpulse". */
struct volumes_params {
	struct cfg_where where;
	bool enabled;
	int prediction;      /* enum rec_prediction */
	const char *file;    /* of what is predicted: simulated; NULL: by runs made before */
	int64_t simulations; /* so many */
	int detector;        /* enum rec_detector */
	double threshold, tolerance, false_alarms;
	int64_t learn, senders;
	uint64_t grace_ps, idle_ps;
	int compare; /* enum volumes_compare */
	int export;  /* enum volumes_export */
};

enum volumes_compare { VOLUMES_COMPARE_SENDERS, VOLUMES_COMPARE_PORTS };
enum volumes_export { VOLUMES_EXPORT_ALARMS, VOLUMES_EXPORT_COUNTS };

extern const struct cfg_table volumes_cfg;

/* Declared demand: what one NIC sends another in an iteration. */
struct volumes_demand {
	uint32_t src_port, dst_port; /* global ids of hosts' ports */
	uint64_t bytes;              /* on the wire */
};

/* What is to come in an iteration of a sender by a port, told by runs made before. */
struct volumes_predicted {
	uint32_t port;   /* global id, of the switch that monitors it */
	uint32_t sender; /* switch */
	uint64_t bytes;
};

/* For all switches. Referenced objects must outlive them. */
struct volumes_setup {
	const struct volumes_params *params;
	const struct tiers *tiers;
	const struct volumes_demand *demand; /* [ndemand] of prediction analytical */
	uint32_t ndemand;
	const struct volumes_predicted *predicted; /* [ntold] by port and sender, of prediction simulated */
	uint32_t npredicted;
	uint32_t predicted_of; /* iterations that told[] is the mean of; 0: nobody knows */
	const double *kept; /* [ports by global id] of what leaves by one, so much arrives, as far as is known; NULL: all */
};

/* @return what a monitor with so many ports is to go by */
struct judge_config volumes_judge_config(const struct volumes_params *params, uint16_t ports);
