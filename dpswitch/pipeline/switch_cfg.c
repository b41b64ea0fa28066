/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches' keys of a scenario. */
#include "dpswitch/pipeline/switch_cfg.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "dpswitch/queue/ingress.h"

/*
 * Fields of single ports come first, then those of single switches, then those of all: where the first and the second
 * group end.
 */
#define PORT_FIELDS 4
#define SWITCH_FIELDS 5

#define S struct switch_params
static const struct cfg_field switch_fields[] = {
	CFG_FIELD("lossy_queue", CFG_BYTES, offsetof(S, lossy_queue_bytes), .def = "1MiB", .min = 1, .max = 1e12,
		  .doc = "Limit of an egress queue of a class without PFC; what exceeds it is dropped and counted "
			 "(queue_full)"),
	CFG_FIELD("control_queue", CFG_BYTES, offsetof(S, control_queue_bytes), .def = "1MiB", .min = 1, .max = 1e12,
		  .doc = "Limit of the egress queue of class 0 (ACKs, polling, notifications)"),
	CFG_FIELD("weights", CFG_STRINGS, offsetof(S, weights), .def = "",
		  .doc = "DWRR weights of data classes as \"class:weight\", 1..64; classes not named weigh 1"),
	CFG_FIELD("class_map", CFG_STRINGS, offsetof(S, class_map), .def = "",
		  .doc = "Class of what arrives by its DSCP, as \"DSCP:class\": hosts mark data of class c with DSCP 8 x "
			 "c; a "
			 "DSCP without a row keeps its class. Queue, priority group and PFC are that class's"),
	CFG_FIELD("buffer", CFG_BYTES, offsetof(S, buffer_bytes), .def = "0", .max = 1e12,
		  .doc = "Packet buffer of a switch, shared by its ports; 0 sizes it from ports, rates and delays"),
	CFG_FIELD("strict", CFG_STRINGS, offsetof(S, strict), .def = "",
		  .doc = "Data classes, 1..7, that switches and embedded hosts' NICs serve before all others, a higher one "
			 "before a lower (IEEE 802.1Q 8.6.8.1); class 0 stays first"),
	CFG_FIELD("sampling", CFG_INT, offsetof(S, sampling), .def = "0", .max = 1e6,
		  .doc = "Sample one in N packets that arrive from hosts (sFlow, RFC 3176); 0: none"),
};
#undef S

static const struct cfg_choice models[] = {
	{ .name = "dynamic", .value = PFC_DYNAMIC },
	{ .name = "static", .value = PFC_STATIC },
	{ 0 },
};

#define S struct switch_pfc_params
static const struct cfg_field pfc_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "true",
		  .doc = "Priority-based flow control (IEEE 802.1Qbb) on the lossless classes"),
	CFG_FIELD("priorities", CFG_STRINGS, offsetof(S, priorities), .def = "",
		  .doc = "Lossless classes, 1..7; default: class 3"),
	CFG_FIELD("asymmetric", CFG_BOOL, offsetof(S, asymmetric), .def = "false",
		  .doc = "A port obeys PAUSE of all data classes, and sends it of the lossless ones alone (SONiC's "
			 "pfc_asym)"),
	CFG_FIELD("model", CFG_ENUM, offsetof(S, model), .def = "dynamic", .choices = models,
		  .doc = "XOFF threshold: dynamic = alpha x free pool (shared-buffer ASICs); static = xoff"),
	CFG_FIELD("alpha", CFG_FLOAT, offsetof(S, alpha), .def = "0.125", .min = 0.001, .max = 64,
		  .doc = "dynamic: share of the free pool that one ingress may use; rounded to 1/1024"),
	CFG_FIELD("reserve", CFG_BYTES, offsetof(S, reserve_bytes), .def = "4096", .max = 1e9,
		  .doc = "Guaranteed buffer of an ingress (port, class)"),
	CFG_FIELD("headroom", CFG_BYTES, offsetof(S, headroom_bytes), .def = "0", .max = 1e9,
		  .doc = "Buffer for the bytes in flight when a PAUSE is sent, per ingress (port, class); 0: a row of "
			 "headrooms, else 3 x rate x delay, but at least the cable's need"),
	CFG_FIELD("headrooms", CFG_STRINGS, offsetof(S, headrooms), .def = "",
		  .doc = "Headroom by rate and cable, as in SONiC's pg_profile_lookup.ini: rows \"rate length bytes\", for "
			 "example \"400Gbps 40m 424434\". A port uses the row of the lowest rate that is at least its own, "
			 "and of the shortest cable that is at least as long (5 ns/m)"),
	CFG_FIELD("xoff", CFG_BYTES, offsetof(S, xoff_bytes), .def = "64KiB", .max = 1e9,
		  .doc = "static: bytes above the reserve at which an ingress pauses its peer"),
	CFG_FIELD("xon_offset", CFG_BYTES, offsetof(S, xon_offset_bytes), .def = "3072", .max = 1e9,
		  .doc = "RESUME this far below the threshold"),
};
#undef S

#define S struct switch_ecn_params
static const struct cfg_field ecn_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "true",
		  .doc = "ECN marking at dequeue (RFC 3168) with DCQCN's thresholds, in every data class, with PFC or "
			 "without"),
	CFG_FIELD("scales", CFG_BOOL, offsetof(S, scales), .def = "true",
		  .doc = "kmin and kmax grow with a port's rate; false: they are the same at every port"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, reference_rate_bps), .def = "100Gbps", .min = 1e6, .max = 1e13,
		  .doc = "Link rate that kmin and kmax are meant for, where they scale"),
	CFG_FIELD("kmin", CFG_BYTES, offsetof(S, kmin_bytes), .def = "400KB", .max = 1e12,
		  .doc = "No marking up to this queue"),
	CFG_FIELD("kmax", CFG_BYTES, offsetof(S, kmax_bytes), .def = "1600KB", .max = 1e12,
		  .doc = "Every packet marked above this queue; equal to kmin: a step, as DCTCP marks"),
	CFG_FIELD("pmax", CFG_FLOAT, offsetof(S, pmax), .def = "0.2", .max = 1,
		  .doc = "Marking probability just below kmax"),
};
#undef S

#define S struct switch_wred_params
static const struct cfg_field wred_fields[] = {
	CFG_FIELD("class", CFG_INT, offsetof(S, class), .min = 1, .max = 7, .doc = "Data class, with PFC or without"),
	CFG_FIELD("kmin", CFG_BYTES, offsetof(S, kmin_bytes), .max = 1e12,
		  .doc = "No marking up to this queue; it scales as those of switch.ecn do"),
	CFG_FIELD("kmax", CFG_BYTES, offsetof(S, kmax_bytes), .max = 1e12, .doc = "Every packet marked above this queue"),
	CFG_FIELD("pmax", CFG_FLOAT, offsetof(S, pmax), .def = "0.2", .max = 1,
		  .doc = "Marking probability just below kmax"),
};
#undef S

#define WATCHDOG_CHOICE(id, number, name_, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice watchdog_actions[] = { REC_WATCHDOG_ACTIONS(WATCHDOG_CHOICE){ 0 } };

#define S struct switch_watchdog_params
static const struct cfg_field watchdog_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "false",
		  .doc = "Watch the queues of the classes with PFC"),
	CFG_FIELD("detection_time", CFG_TIME, offsetof(S, detection_ps), .def = "200ms", .min = 1e6, .max = 1e15,
		  .doc = "A queue that its peer has paused for this time without a break is in a storm, whether packets "
			 "wait in "
			 "it or not"),
	CFG_FIELD("restoration_time", CFG_TIME, offsetof(S, restoration_ps), .def = "200ms", .min = 1e6, .max = 1e15,
		  .doc = "It works as usual again when its peer has not paused it for this time; action alert: at once"),
	CFG_FIELD("action", CFG_ENUM, offsetof(S, action), .def = "drop", .choices = watchdog_actions,
		  .doc = "In between:"),
};
#undef S

const struct cfg_table switch_watchdog_cfg = {
	.path = "switch.watchdog",
	.doc = "PFC watchdog, as SONiC's: it ends the effect of a peer that pauses a queue without end.",
	.size = sizeof(struct switch_watchdog_params),
	.fields = watchdog_fields,
	.nfields = ARRAY_LEN(watchdog_fields),
};

const struct cfg_table switch_wred_cfg = {
	.path = "switch.wred",
	.doc = "Thresholds of single classes, in place of those of switch.ecn, and where that is off.",
	.list = true,
	.size = sizeof(struct switch_wred_params),
	.fields = wred_fields,
	.nfields = ARRAY_LEN(wred_fields),
	.words = "class kmin kmax",
};

const struct cfg_table switch_cfg = {
	.path = "switch",
	.doc = "Buffers and scheduling of every switch.",
	.size = sizeof(struct switch_params),
	.fields = switch_fields,
	.nfields = ARRAY_LEN(switch_fields),
};

const struct cfg_table switch_pfc_cfg = {
	.path = "switch.pfc",
	.doc = "Priority-based flow control and the buffer model behind it.",
	.size = sizeof(struct switch_pfc_params),
	.fields = pfc_fields,
	.nfields = ARRAY_LEN(pfc_fields),
};

const struct cfg_table switch_ecn_cfg = {
	.path = "switch.ecn",
	.doc = "Explicit congestion notification.",
	.size = sizeof(struct switch_ecn_params),
	.fields = ecn_fields,
	.nfields = ARRAY_LEN(ecn_fields),
};

/* Tables for elements of lists. */

#define OVERRIDE(name, path_, doc_, list_, of, fields_, nfields_, ...)                                                     \
	const struct cfg_table name = { .path = (path_),                                                                   \
					.doc = (doc_),                                                                     \
					.list = (list_),                                                                   \
					.size = sizeof(struct of),                                                         \
					.fields = (fields_),                                                               \
					.nfields = (nfields_),                                                             \
					__VA_ARGS__ };

OVERRIDE(switches_switch_cfg, "switches", NULL, true, switch_params, switch_fields, SWITCH_FIELDS, .over = "switch")
OVERRIDE(switches_pfc_cfg, "switches.pfc", "Priority-based flow control of these switches.", false, switch_pfc_params,
	 pfc_fields, ARRAY_LEN(pfc_fields), .over = "switch.pfc")
OVERRIDE(switches_ecn_cfg, "switches.ecn", "Explicit congestion notification of these switches.", false, switch_ecn_params,
	 ecn_fields, ARRAY_LEN(ecn_fields), .over = "switch.ecn")
OVERRIDE(switches_wred_cfg, "switches.wred", "Thresholds of single classes of these switches.", true, switch_wred_params,
	 wred_fields, ARRAY_LEN(wred_fields), .words = "class kmin kmax")
OVERRIDE(switches_watchdog_cfg, "switches.watchdog", "PFC watchdog of these switches.", false, switch_watchdog_params,
	 watchdog_fields, ARRAY_LEN(watchdog_fields), .over = "switch.watchdog")
OVERRIDE(ports_switch_cfg, "ports", NULL, true, switch_params, switch_fields, PORT_FIELDS, .over = "switch")
OVERRIDE(ports_pfc_cfg, "ports.pfc", "Priority-based flow control at these ports.", false, switch_pfc_params, pfc_fields,
	 ARRAY_LEN(pfc_fields), .over = "switch.pfc")
OVERRIDE(ports_ecn_cfg, "ports.ecn", "Explicit congestion notification at these ports.", false, switch_ecn_params,
	 ecn_fields, ARRAY_LEN(ecn_fields), .over = "switch.ecn")
OVERRIDE(ports_wred_cfg, "ports.wred", "Thresholds of single classes at these ports.", true, switch_wred_params,
	 wred_fields, ARRAY_LEN(wred_fields), .words = "class kmin kmax")

OVERRIDE(ports_watchdog_cfg, "ports.watchdog", "PFC watchdog at these ports.", false, switch_watchdog_params,
	 watchdog_fields, ARRAY_LEN(watchdog_fields), .over = "switch.watchdog")

#define DEFAULT_LOSSLESS_PRIO 3
#define DSCP_STEP 8 /* class selectors (RFC 2474, 4.2.2): what frames of hosts have */

int
switch_strict_classes(const struct switch_params *params, uint8_t *classes, struct err *err)
{
	*classes = 0;
	for (size_t i = 0; i < params->strict.count; i++) {
		uint64_t prio;

		if (!number_parse(params->strict.items[i], 1, 7, &prio))
			return cfg_fail(&params->where, "strict", err,
					"\"%s\" is no data class: 1 to 7 are (class 0 is served first in any case)",
					params->strict.items[i]);
		*classes |= (uint8_t)(1u << prio);
	}
	return 0;
}

int
switch_lossless_classes(const struct switch_pfc_params *pfc, uint8_t *classes, struct err *err)
{
	*classes = 0;
	for (size_t i = 0; i < pfc->priorities.count; i++) {
		uint64_t prio;

		if (!number_parse(pfc->priorities.items[i], 1, 7, &prio))
			return cfg_fail(
				&pfc->where, "priorities", err,
				"\"%s\" is no lossless class: 1 to 7 are (class 0 carries ACKs and is never paused)",
				pfc->priorities.items[i]);
		*classes |= (uint8_t)(1u << prio);
	}
	if (pfc->priorities.count == 0)
		*classes = 1u << DEFAULT_LOSSLESS_PRIO;
	if (!pfc->enabled)
		*classes = 0;
	return 0;
}

int
switch_weights(const struct switch_params *params, uint8_t weight_of[SWITCH_CLASSES], struct err *err)
{
	memset(weight_of, 0, SWITCH_CLASSES);
	for (size_t i = 0; i < params->weights.count; i++) {
		const char *text = params->weights.items[i];
		uint64_t prio, weight;
		const char *colon = number_scan(text, &prio);

		if (colon == NULL || *colon != ':' || !number_parse(colon + 1, 1, 64, &weight) || prio < 1 || prio > 7)
			return cfg_fail(
				&params->where, "weights", err,
				"\"%s\": \"class:weight\", class 1 to 7, weight 1 to 64, as in \"3:2\", would be right",
				text);
		if (weight_of[prio] != 0)
			return cfg_fail(&params->where, "weights", err,
					"\"%s\": class %u has a weight of %u already; one row a class would be right", text,
					(unsigned)prio, weight_of[prio]);
		weight_of[prio] = (uint8_t)weight;
	}
	for (uint8_t class = 0; class < SWITCH_CLASSES; class ++)
		weight_of[class] = weight_of[class] != 0 ? weight_of[class] : 1;
	return 0;
}

int
switch_class_map(const struct switch_params *params, uint8_t class_of[SWITCH_CLASSES], struct err *err)
{
	uint8_t given = 0; /* bit c: by a row of class c's DSCP */

	for (uint8_t class = 0; class < SWITCH_CLASSES; class ++)
		class_of[class] = class;
	for (size_t i = 0; i < params->class_map.count; i++) {
		const char *text = params->class_map.items[i];
		uint64_t dscp, class;
		const char *colon = number_scan(text, &dscp);

		if (colon == NULL || *colon != ':' || !number_parse(colon + 1, 1, 7, &class) || dscp > 63)
			return cfg_fail(
				&params->where, "class_map", err,
				"\"%s\": \"DSCP:class\", DSCP 8 to 56, class 1 to 7, as in \"24:3\", would be right", text);
		if (dscp == 0 || dscp % DSCP_STEP != 0)
			return cfg_fail(&params->where, "class_map", err,
					"\"%s\": no host marks data with DSCP %u: class c has DSCP 8 x c, so 24 is that of "
					"class 3",
					text, (unsigned)dscp);
		if ((given >> dscp / DSCP_STEP & 1) != 0)
			return cfg_fail(&params->where, "class_map", err,
					"\"%s\": DSCP %u leads to class %u already; one row a DSCP would be right", text,
					(unsigned)dscp, class_of[dscp / DSCP_STEP]);
		given |= (uint8_t)(1u << dscp / DSCP_STEP);
		class_of[dscp / DSCP_STEP] = (uint8_t) class;
	}
	return 0;
}

uint64_t
switch_ecn_bytes(const struct switch_ecn_params *ecn, uint64_t threshold_bytes, uint64_t rate_bps)
{
	if (!ecn->scales)
		return threshold_bytes;
	return (uint64_t)llround((double)threshold_bytes * ((double)rate_bps / (double)ecn->reference_rate_bps));
}

/* Headroom by rate and cable. */

#define FIBRE_PS_PER_M 5000 /* light in glass */
#define CABLE_MAX_M 1000000

struct headroom_row {
	uint64_t rate_bps, length_m, bytes;
};

/* "400Gbps 40m 424434" */
static bool
parse_row(const char *text, struct headroom_row *row)
{
	char rate[32], length[32], bytes[32], more;
	size_t end;

	if (sscanf(text, "%31s %31s %31s %c", rate, length, bytes, &more) != 3)
		return false;
	end = strlen(length) - 1;
	if (length[end] != 'm')
		return false;
	length[end] = '\0';
	return number_parse(length, 0, CABLE_MAX_M, &row->length_m) && units_parse_rate(rate, &row->rate_bps) == 0 &&
	       units_parse_bytes(bytes, &row->bytes) == 0;
}

int
switch_headroom_rows(const struct switch_pfc_params *pfc, struct err *err)
{
	for (size_t i = 0; i < pfc->headrooms.count; i++) {
		struct headroom_row row, other;

		if (!parse_row(pfc->headrooms.items[i], &row))
			return cfg_fail(
				&pfc->where, "headrooms", err,
				"\"%s\" is no row: \"rate length bytes\", as \"400Gbps 40m 424434\", would be right",
				pfc->headrooms.items[i]);
		for (size_t j = 0; j < i; j++)
			if (parse_row(pfc->headrooms.items[j], &other) && other.rate_bps == row.rate_bps &&
			    other.length_m == row.length_m)
				return cfg_fail(&pfc->where, "headrooms", err,
						"\"%s\" and \"%s\" are of one rate and length; one row would be right",
						pfc->headrooms.items[j], pfc->headrooms.items[i]);
	}
	return 0;
}

void
switch_headroom_row(const struct switch_pfc_params *pfc, const struct topo_port *cable, uint64_t *bytes, size_t *index)
{
	struct headroom_row best = { .rate_bps = UINT64_MAX }, row;

	for (size_t i = 0; i < pfc->headrooms.count; i++) {
		if (!parse_row(pfc->headrooms.items[i], &row))
			continue;
		if (row.rate_bps < cable->rate_bps || row.length_m * FIBRE_PS_PER_M < cable->delay_ps)
			continue;
		if (row.rate_bps > best.rate_bps || (row.rate_bps == best.rate_bps && row.length_m >= best.length_m))
			continue;
		best = row;
		if (index != NULL)
			*index = i;
	}
	*bytes = best.bytes;
}

/* The monitors' keys of a scenario. */

#define PREDICTION_CHOICE(id, number, name_, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice predictions[] = { REC_PREDICTIONS(PREDICTION_CHOICE){ 0 } };

#define DETECTOR_CHOICE(id, number, name_, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice detectors[] = { REC_DETECTORS(DETECTOR_CHOICE){ 0 } };

static const struct cfg_choice compares[] = {
	{ .name = "senders", .value = VOLUMES_COMPARE_SENDERS, .doc = "whole ports, and each sender at each port" },
	{ .name = "ports", .value = VOLUMES_COMPARE_PORTS, .doc = "whole ports alone, as in the paper" },
	{ 0 },
};
static const struct cfg_choice exports[] = {
	{ .name = "alarms", .value = VOLUMES_EXPORT_ALARMS, .doc = "alarms, with the volumes of their iterations" },
	{ .name = "counts", .value = VOLUMES_EXPORT_COUNTS, .doc = "volumes of every iteration, too" },
	{ 0 },
};

#define S struct volumes_params
static const struct cfg_field fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "false",
		  .doc = "Every switch below another tier counts the data of measured collectives that it receives from "
			 "above (key measured of a collective)"),
	CFG_FIELD("prediction", CFG_ENUM, offsetof(S, prediction), .def = "analytical", .choices = predictions,
		  .doc = "How the expected volume of each port in an iteration is determined:"),
	CFG_FIELD("file", CFG_PATH, offsetof(S, file), .def = "",
		  .doc = "prediction = \"simulated\": the `flowpulse.csv` of a run, made with export = \"counts\", or a "
			 "`prediction.csv`: the average of its iterations is expected. Absent: simulations in advance "
			 "predict it"),
	CFG_FIELD("simulations", CFG_INT, offsetof(S, simulations), .def = "2", .min = 1, .max = 64,
		  .doc = "prediction = \"simulated\" without a file: number of simulations in advance, each with another "
			 "seed and at most 4 iterations"),
	CFG_FIELD("detector", CFG_ENUM, offsetof(S, detector), .def = "threshold", .choices = detectors,
		  .doc = "Test for a missing volume; all but the first need 4 ports, and compare senders at ports:"),
	CFG_FIELD("false_alarms", CFG_FLOAT, offsetof(S, false_alarms), .def = "0.0001", .min = 1e-9, .max = 0.01,
		  .doc = "False alarms that a sender may raise at a switch in an iteration. detector = \"threshold\": "
			 "where its noise reaches the threshold"),
	CFG_FIELD("threshold", CFG_FLOAT, offsetof(S, threshold), .def = "0.01", .max = 1,
		  .doc = "detector = \"threshold\": share of the predicted volume that may be missing without an alarm"),
	CFG_FIELD("tolerance", CFG_FLOAT, offsetof(S, tolerance), .def = "0.01", .max = 1,
		  .doc = "Share by which the volume of a sender over all ports may differ from the prediction; beyond it "
			 "the sender has another demand, and is not compared"),
	CFG_FIELD("learn", CFG_INT, offsetof(S, learn), .def = "1", .min = 1, .max = 1000,
		  .doc = "prediction = \"measured\" or \"learned\": number of first iterations"),
	CFG_FIELD("senders", CFG_INT, offsetof(S, senders), .def = "64", .min = 1, .max = 4096,
		  .doc = "Room of a monitor, in sending switches: it holds 245 B for each at each port, and 152 B more "
			 "with detector = \"pooled\""),
	CFG_FIELD("grace", CFG_TIME, offsetof(S, grace_ps), .def = "10us", .min = 1, .max = 1e12,
		  .doc = "Time for which late packets of an iteration still count to it after its end; at least the "
			 "shortest delay between two nodes"),
	CFG_FIELD("idle", CFG_TIME, offsetof(S, idle_ps), .def = "10ms", .min = 1, .max = 1e13,
		  .doc = "The last iteration ends when nothing arrived for this time (at least that delay), or when the "
			 "run ends"),
	CFG_FIELD("compare", CFG_ENUM, offsetof(S, compare), .def = "senders", .choices = compares,
		  .doc = "Volumes that are compared:"),
	CFG_FIELD("export", CFG_ENUM, offsetof(S, export), .def = "alarms", .choices = exports,
		  .doc = "Records that switches export:"),
};
#undef S

const struct cfg_table volumes_cfg = {
	.path = "flowpulse",
	.doc = "FlowPulse: switches find silent faults by the volumes of a measured collective that they receive from the "
	       "tier above.",
	.size = sizeof(struct volumes_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static enum predict_source
source_of(enum rec_prediction prediction)
{
	switch (prediction) {
	case REC_PREDICTION_MEASURED:
		return PREDICT_MEASURED;
	case REC_PREDICTION_LEARNED:
		return PREDICT_LEARNED;
	case REC_PREDICTION_ANALYTICAL:
	case REC_PREDICTION_SIMULATED:
		break;
	}
	return PREDICT_DECLARED;
}

struct judge_config
volumes_judge_config(const struct volumes_params *params, uint16_t ports)
{
	return (struct judge_config){
		.volumes = { .ports = ports,
			     .senders = (uint16_t)params->senders,
			     .grace_ps = params->grace_ps,
			     .idle_ps = params->idle_ps },
		.predict = { .source = source_of((enum rec_prediction)params->prediction),
			     .learn = (uint32_t)params->learn },
		.threshold_ppm = (uint32_t)lround(params->threshold * DETECT_PPM),
		.tolerance_ppm = (uint32_t)lround(params->tolerance * DETECT_PPM),
		.scores = { .detector = (enum rec_detector)params->detector, .rate = params->false_alarms },
		.ports_alone = params->compare == VOLUMES_COMPARE_PORTS,
	};
}
