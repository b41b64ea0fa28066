/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of switches: their keys of a scenario, and the state of the run that they are in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "common/flow.h"
#include "common/int_header.h"
#include "common/sertable.h"
#include "common/wire/record_rows.h"
#include "dpswitch/balance/balance.h"
#include "telemetry/collector.h"
#include "telemetry/volumes/judge.h"
#include "topo/pins.h"
#include "topo/route.h"
#include "topo/tiers.h"
#include "topo/topo.h"

/* FlowPulse's monitors of volumes in switches: their keys of a scenario, and the operator's input to them. */

/* Bound from the group "flowpulse". */
struct volumes_params {
	struct cfg_where where;
	bool enabled;
	int prediction;      /* enum rec_prediction */
	const char *file;    /* of the prediction: simulated; NULL: by runs made before */
	int64_t simulations; /* their number */
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

/* The predicted bytes of an iteration of a sender by a port, from runs made before. */
struct volumes_predicted {
	uint32_t port;   /* global id, of the switch that monitors it */
	uint32_t sender; /* switch */
	uint64_t bytes;
};

/* The measurement of volumes, for all switches. Referenced objects must outlive them. */
struct volumes_setup {
	const struct volumes_params *params;
	const struct tiers *tiers;
	const struct volumes_demand *demand; /* [ndemand] of prediction analytical */
	uint32_t ndemand;
	const struct volumes_predicted *predicted; /* [npredicted] by port and sender, of prediction simulated */
	uint32_t npredicted;
	uint32_t predicted_of; /* iterations that predicted[] is the mean of; 0: unknown */
	const double *kept;    /* [ports by global id] known share of a port's sent packets that arrives; NULL: all */
};

/* @return the monitor's configuration for a number of ports */
struct judge_config volumes_judge_config(const struct volumes_params *params, uint16_t ports);

#define SWITCH_CLASSES 8
#define SWITCH_DATA_CLASSES 0xfe /* bit p: class p; all but 0, which carries control */

/* Configuration common to all switches, bound from groups "switch", "switch.pfc" and "switch.ecn". */
struct switch_params {
	struct cfg_where where;
	uint64_t buffer_bytes; /* 0: sized from ports, rates and the window */
	bool is_chips;         /* of a chip with a profile: if headroom leaves nothing of it, it is sized like 0 */
	uint64_t lossy_queue_bytes;
	uint64_t control_queue_bytes;
	struct cfg_strings weights; /* DWRR, "prio:weight" */
	struct cfg_strings strict;
	struct cfg_strings class_map; /* "DSCP:class" */
	int64_t sampling;             /* one packet in this number; 0: none */
};

struct switch_pfc_params {
	struct cfg_where where;
	bool enabled;
	struct cfg_strings priorities;
	bool asymmetric;
	int model; /* enum pfc_model */
	double alpha;
	uint64_t reserve_bytes;
	uint64_t headroom_bytes;      /* per ingress; 0: by headrooms, or from rate and delay */
	struct cfg_strings headrooms; /* "rate length bytes" */
	uint64_t xoff_bytes;
	uint64_t xon_offset_bytes;
};

struct switch_ecn_params {
	struct cfg_where where;
	bool enabled;
	bool scales;                 /* thresholds grow with a port's rate */
	uint64_t reference_rate_bps; /* that they are for, then */
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
};

/* ECN marking of one class, in place of switch.ecn. */
struct switch_wred_params {
	struct cfg_where where;
	int64_t class; /* 1..7 */
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
};

/* The PFC watchdog of a port's lossless queues. */
struct switch_watchdog_params {
	struct cfg_where where;
	bool enabled;
	uint64_t detection_ps, restoration_ps;
	int action; /* enum rec_watchdog_action */
};

extern const struct cfg_table switch_cfg, switch_pfc_cfg, switch_ecn_cfg, switch_wred_cfg, switch_watchdog_cfg;
/* Tables of the same groups in the elements of "switches" and "ports" (settings.h), as far as single ones have them. */
extern const struct cfg_table switches_switch_cfg, switches_pfc_cfg, switches_ecn_cfg, switches_wred_cfg,
	switches_watchdog_cfg;
extern const struct cfg_table ports_switch_cfg, ports_pfc_cfg, ports_ecn_cfg, ports_wred_cfg, ports_watchdog_cfg;

/* Reads the data classes that are served before those that share: bit p, class p. @return 0, or -EINVAL with err set */
int switch_strict_classes(const struct switch_params *params, uint8_t *classes, struct err *err);
/*
 * The classes in which a port serves what arrives, by the classes in which hosts send it: DSCP 8 x class.
 * @return 0, or -EINVAL with err set
 */
int switch_class_map(const struct switch_params *params, uint8_t class_of[SWITCH_CLASSES], struct err *err);
/* DWRR weights of the classes, 1 where none is given. @return 0, or -EINVAL with err set */
int switch_weights(const struct switch_params *params, uint8_t weight_of[SWITCH_CLASSES], struct err *err);
/* Reads the lossless classes: bit p, class p. @return 0, or -EINVAL with err set */
int switch_lossless_classes(const struct switch_pfc_params *pfc, uint8_t *classes, struct err *err);

/* @return a threshold, kmin or kmax, of a port of this rate */
uint64_t switch_ecn_bytes(const struct switch_ecn_params *ecn, uint64_t threshold_bytes, uint64_t rate_bps);
/* @return 0, or -EINVAL with err set: one of switch.pfc.headrooms is no row, or two are of one rate and length */
int switch_headroom_rows(const struct switch_pfc_params *pfc, struct err *err);
/*
 * The row of switch.pfc.headrooms for a cable.
 * @param bytes  out: 0 where there is none
 * @param index  out, if not NULL: which of the rows, where there is one
 */
void switch_headroom_row(const struct switch_pfc_params *pfc, const struct topo_port *cable, uint64_t *bytes,
			 size_t *index);

struct switch_setup;

/* Everything a switch is made from. Referenced objects must outlive it. */
struct switch_config {
	const struct topo *topo;
	const struct flow_table *flows;
	const struct route_table *routes;         /* followed now; what changes them calls switch_forget_routes() */
	const struct route_table *healthy_routes; /* without any fault */
	const struct route_pins *pins;
	struct sertables *sertables;
	const struct switch_setup *setup;
	struct balance_params balance;
	const struct volumes_setup *volumes; /* NULL: no switch monitors volumes */
	struct telem_config telemetry;       /* nports is set by each switch */
	uint64_t seed;
	uint64_t hash_seed; /* of choices by hash: the run's, where that of chance is not */
	uint64_t window_ps;
	uint64_t pipeline_ps;
	uint64_t extra_delay_ps;  /* that faults may add to a cable's delay: headroom covers it */
	uint32_t mtu_bytes;       /* largest frame on the wire */
	uint32_t min_frame_bytes; /* smallest */
	uint32_t pause_bytes;
	const struct int_rates *inband; /* the rates of all links; NULL: no packet has PKT_INT */
	bool telemetry_off;             /* keep no rows: their cost */
	uint8_t cnp_classes;            /* bit p: class p carries CNPs alone, of which no rows are kept; never bit 0 */
	uint64_t trace_gap_ps;          /* UD SENDs whose TTL ends are answered so often; 0: never */
};
