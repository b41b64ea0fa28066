/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/conclude.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/exit_code.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/idle_faults.h"
#include "emulation/outputs/outputs.h"
#include "emulation/outputs/results.h"

/* Each that can be written is: run.json says how the run ended, wherever the others did not fit. */
static int
write_outputs(const struct emulation *emulation, const struct attach *attach, const char *dir, struct err *err)
{
	int run = output_run(emulation, attach_json(attach, emulation->scenario->topo), dir, err);
	int steps = output_steps(emulation, dir, err), flows = output_flows(emulation, dir, err);
	int truth = output_truth(emulation, dir, err);

	return run == 0 && steps == 0 && flows == 0 && truth == 0 ? 0 : -EIO;
}

static void
warn_of_capture(const struct run_options *options, const struct emulation *emulation)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(emulation->capture, &totals);
	if (emulation->capture_errno != 0)
		log_warning("%s/" RUN_CAPTURE " is cut short: %s", options->out, strerror(emulation->capture_errno));
	else if (totals.lagged != 0)
		log_warning("%s/" RUN_CAPTURE " lacks %" PRIu64 " of %" PRIu64 " frames: the disk did not keep up; "
			    "--capture-bytes makes less of them",
			    options->out, totals.lagged, totals.frames);
	if (totals.missing != 0)
		log_warning("%s/" RUN_CAPTURE " reached its limit of %s at %s: %" PRIu64 " of %" PRIu64
			    " frames are not in it; --capture-limit and --capture-bytes make room",
			    options->out, units_format_bytes(options->capture.limit_bytes, limit, sizeof(limit)),
			    units_format_time(totals.limit_ps, when, sizeof(when)), totals.missing, totals.frames);
}

/* What the outputs lack. @return whether those that are kept are whole */
static bool
warn_of_stream(const struct run_options *options, const struct exporter *exporter)
{
	bool whole = true;

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats stats = exporter_output(exporter, *ops);

		(*ops)->tell(&stats, options->out);
		whole &= !(*ops)->kept || stats.error == 0;
	}
	return whole;
}

/* Nobody finds in the verdict what did not happen. */
static void
warn_of_idle_faults(const struct emulation *emulation)
{
	json_t *list = idle_faults_json(emulation), *text;
	size_t i;

	json_array_foreach(list, i, text) log_warning("%s", json_string_value(text));
	json_decref(list);
}

/* Hosts that reported what cannot be: the verdict lacks it. */
static void
warn_of_refusals(const struct attach *attach)
{
	for (uint32_t i = 0; attach != NULL && i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);

		if (host.manage.refused_records != 0)
			log_warning("%" PRIu64 " records of a host were refused, the first: %s",
				    host.manage.refused_records, host.refused);
	}
}

int
conclude(const struct run_options *options, const struct emulation *emulation, const struct attach *attach)
{
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };
	bool written = write_outputs(emulation, attach, options->out, &err) == 0;

	if (!written)
		log_error("%s", err.text);
	written &= warn_of_stream(options, emulation->exporter);
	if (emulation->capture != NULL)
		warn_of_capture(options, emulation);
	if (emulation->error_text != NULL)
		log_error("%s", emulation->error_text);
	written &= emulation->part == NULL || !emulation->part->ops->broken(emulation->part->ctx);
	warn_of_refusals(attach);
	if (emulation->part == NULL || emulation->part->whole)
		warn_of_idle_faults(emulation);
	if (emulation_check(emulation, results) == 0 && results_wrong(emulation) == 0)
		return written && emulation->capture_errno == 0 ? EXIT_DONE : EXIT_FAILED;
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!results[i].holds)
			log_error("invariant %s does not hold: %s", results[i].name, results[i].text);
	return EXIT_FAILED;
}
