/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitors' part of a scenario. */
#include "dpswitch/pipeline/volumes_cfg.h"

#include <math.h>
#include <stddef.h>

#include "common/array.h"

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
	{ "enabled", CFG_BOOL, offsetof(S, enabled), "false", 0, 0, NULL,
	  "Every switch below others watches what comes down to it of measured collectives (their key measured)" },
	{ "prediction", CFG_ENUM, offsetof(S, prediction), "analytical", 0, 0, predictions,
	  "Where it knows from how much is to come by each port in an iteration:" },
	{ "file", CFG_PATH, offsetof(S, file), "", 0, 0, NULL,
	  "prediction = \"simulated\": the `flowpulse.csv` of a run, made with export = \"counts\", or a `prediction.csv`: "
	  "what its iterations had on average is what is to come. Absent: runs made before this one tell it" },
	{ "simulations", CFG_INT, offsetof(S, simulations), "2", 1, 64, NULL,
	  "prediction = \"simulated\" without a file: so many runs, each with another seed and 4 iterations at most, of "
	  "what "
	  "is known before" },
	{ "detector", CFG_ENUM, offsetof(S, detector), "threshold", 0, 0, detectors,
	  "What tells that too little was seen; all but the first need 4 ports, and compare senders at ports:" },
	{ "false_alarms", CFG_FLOAT, offsetof(S, false_alarms), "0.0001", 1e-9, 0.01, NULL,
	  "False alarms that a sender may raise at a switch in an iteration. detector = \"threshold\": where its noise "
	  "reaches the threshold" },
	{ "threshold", CFG_FLOAT, offsetof(S, threshold), "0.01", 0, 1, NULL,
	  "detector = \"threshold\": share of what was predicted that may be missing; beyond it is an alarm" },
	{ "tolerance", CFG_FLOAT, offsetof(S, tolerance), "0.01", 0, 1, NULL,
	  "By so much of itself the volume of a sender, by all ports together, may differ from what was predicted; beyond "
	  "it its demand is another, and it is not compared" },
	{ "learn", CFG_INT, offsetof(S, learn), "1", 1, 1000, NULL,
	  "prediction = \"measured\" or \"learned\": so many first iterations" },
	{ "senders", CFG_INT, offsetof(S, senders), "64", 1, 4096, NULL,
	  "Room of a monitor, in sending switches: it holds 245 B for each at each port, and 152 B more with detector = "
	  "\"pooled\"" },
	{ "grace", CFG_TIME, offsetof(S, grace_ps), "10us", 1, 1e12, NULL,
	  "Late packets of an iteration that is over count to it for so long; at least the shortest delay between two "
	  "nodes" },
	{ "idle", CFG_TIME, offsetof(S, idle_ps), "10ms", 1, 1e13, NULL,
	  "An iteration that no other follows is over when nothing came for so long, that delay at least, and at the "
	  "run's end" },
	{ "compare", CFG_ENUM, offsetof(S, compare), "senders", 0, 0, compares, "What is compared:" },
	{ "export", CFG_ENUM, offsetof(S, export), "alarms", 0, 0, exports, "What leaves the switches:" },
};
#undef S

const struct cfg_table volumes_cfg = {
	.path = "flowpulse",
	.doc = "FlowPulse: silent faults found by volumes of a measured collective, in the switches below others.",
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
