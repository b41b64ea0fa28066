/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/registry.h"

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/flowpulse/section.h"
#include "diag/flowtracer/section.h"
#include "diag/pingmesh/section.h"
#include "diag/report/report.h"
#include "diag/vedrfolnir/section.h"

static const struct diagnoser_option vedrfolnir_option[] = {
	{ .name = "port-share",
	  .key = 's',
	  .value = "receivers|senders",
	  .meaning = "Weight of the edge from a paused port to a congested one: the congested port's share of the paused "
		     "port's traffic (receivers, the default), or the paused port's share of all traffic to the congested "
		     "port (senders)",
	  .set = vedrfolnir_port_share },
};

static const struct diagnoser_option pingmesh_option[] = {
	{ .name = "degradation",
	  .key = 'g',
	  .value = "PERCENT",
	  .meaning = "R-Pingmesh: a problem of a service's network is P0 if iterations take longer by more than this "
		     "percentage (10)",
	  .set = pingmesh_degradation },
	{ .name = "pingmesh-algorithm",
	  .key = 'a',
	  .value = "likelihood|paper",
	  .meaning = "R-Pingmesh: how losses that are attributed to switches are located: by likelihood, or by the most "
		     "votes (Algorithm 1) (default: as recorded)",
	  .set = pingmesh_algorithm },
};

const struct diagnoser diagnosers[] = {
	{ .name = VEDRFOLNIR_NAME,
	  .options = vedrfolnir_option,
	  .noptions = ARRAY_LEN(vedrfolnir_option),
	  .options_bytes = sizeof(struct vedrfolnir_options),
	  .reads = DIAGNOSER_READS(REC_RUN) | DIAGNOSER_READS(REC_SCHEDULE) | DIAGNOSER_READS(REC_ROUTE) |
		   DIAGNOSER_READS(REC_ECMP) | DIAGNOSER_READS(REC_STEP) | DIAGNOSER_READS(REC_POLL) |
		   DIAGNOSER_READS(REC_PORT_ROW) | DIAGNOSER_READS(REC_FLOW_ROW) | DIAGNOSER_READS(REC_METER_ROW) |
		   DIAGNOSER_READS(REC_MATRIX_ROW) | DIAGNOSER_READS(REC_DROP_ROW) | DIAGNOSER_READS(REC_OVERTAKE_ROW) |
		   DIAGNOSER_READS(REC_PASSAGE) | DIAGNOSER_READS(REC_WATCHDOG) | DIAGNOSER_READS(REC_LINK_RATE),
	  .diagnose = vedrfolnir_diagnose,
	  .destroy = vedrfolnir_destroy,
	  .writers = { .json = vedrfolnir_json,
		       .text = vedrfolnir_text,
		       .files = vedrfolnir_files,
		       .nfiles = VEDRFOLNIR_FILES } },
	{ .name = FLOWPULSE_NAME,
	  .reads = DIAGNOSER_READS(REC_VOLUME) | DIAGNOSER_READS(REC_VOLUME_ALARM) | DIAGNOSER_READS(REC_VOLUME_FLAW) |
		   DIAGNOSER_READS(REC_MONITORED) | DIAGNOSER_READS(REC_MONITOR),
	  .diagnose = flowpulse_diagnose,
	  .destroy = flowpulse_destroy,
	  .writers = { .json = flowpulse_json,
		       .text = flowpulse_text,
		       .files = flowpulse_files,
		       .nfiles = FLOWPULSE_FILES } },
	{ .name = FLOWTRACER_NAME,
	  .reads = DIAGNOSER_READS(REC_TRACER) | DIAGNOSER_READS(REC_TRACED) | DIAGNOSER_READS(REC_TRACED_HOP) |
		   DIAGNOSER_READS(REC_TRACE_ROUND),
	  .diagnose = flowtracer_diagnose,
	  .destroy = flowtracer_destroy,
	  .writers = { .json = flowtracer_json,
		       .text = flowtracer_text,
		       .files = flowtracer_files,
		       .nfiles = FLOWTRACER_FILES } },
	{ .name = PINGMESH_NAME,
	  .options = pingmesh_option,
	  .noptions = ARRAY_LEN(pingmesh_option),
	  .options_bytes = sizeof(struct pingmesh_options),
	  .reads = DIAGNOSER_READS(REC_PINGMESH) | DIAGNOSER_READS(REC_PROBE) | DIAGNOSER_READS(REC_UPLOAD),
	  .diagnose = pingmesh_diagnose,
	  .destroy = pingmesh_destroy,
	  .writers = { .json = pingmesh_json, .text = pingmesh_text, .files = pingmesh_files, .nfiles = PINGMESH_FILES } },
};
const uint32_t ndiagnosers = ARRAY_LEN(diagnosers);

int
registry_diagnose(struct evidence *evidence, struct verdict **out, struct err *err)
{
	struct diagnosis asked[ARRAY_LEN(diagnosers)];

	for (uint32_t i = 0; i < ndiagnosers; i++)
		asked[i] = (struct diagnosis){ .by = &diagnosers[i] };
	return verdict_build(evidence, asked, ndiagnosers, out, err);
}
