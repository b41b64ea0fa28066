/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/conclude.h"

#include <errno.h>

#include "common/exit_code.h"
#include "common/log.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "emulation/outputs/results.h"
#include "emulation/run/warn.h"

/* Each that can be written is: run.json says how the run ended, wherever the others did not fit. */
static int
write_outputs(const struct emulation *emulation, const char *dir, struct err *err)
{
	int run = output_run(emulation, dir, err);
	int steps = output_steps(emulation, dir, err), flows = output_flows(emulation, dir, err);
	int truth = output_truth(emulation, dir, err);

	return run == 0 && steps == 0 && flows == 0 && truth == 0 ? 0 : -EIO;
}

/* The limit that ended the run, if one did. */
static void
warn_of_limit(const struct emulation *emulation)
{
	const char *key = output_limit(emulation->fabric->end_reason);
	char at[32];

	if (key != NULL)
		log_warning("%s ended the run at %s, before its work was done", key,
			    units_format_time(emulation->fabric->window.end_ps, at, sizeof(at)));
}

/* @return exit code of a run whose files and invariants are as they should be */
static int
ending(const struct emulation *emulation)
{
	switch (emulation->fabric->end_reason) {
	case REC_END_COMPLETE:
		return EXIT_DONE;
	case REC_END_INTERRUPT:
		return EXIT_INTERRUPTED;
	case REC_END_INVARIANT:
		return EXIT_FAILED;
	default:
		return EXIT_UNFINISHED;
	}
}

int
conclude(const struct run_options *options, const struct emulation *emulation, const struct attach *attach)
{
	const struct capturing *capturing = capturing_of(emulation);
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };
	bool written = write_outputs(emulation, options->out, &err) == 0;

	if (!written)
		log_error("%s", err.text);
	written &= warn_of_stream(options, emulation->exporter);
	if (capturing != NULL)
		warn_of_capture(options, capturing);
	if (emulation->result.error_text != NULL)
		log_error("%s", emulation->result.error_text);
	written &= emulation->partition == NULL || !emulation->partition->ops->broken(emulation->partition->ctx);
	warn_of_refusals(attach);
	if (emulation->partition == NULL || emulation->partition->whole) {
		warn_of_idle_faults(emulation);
		warn_of_limit(emulation);
	}
	if (emulation_check(emulation, results) == 0 && results_wrong(emulation) == 0)
		return written && (capturing == NULL || capturing->error == 0) ? ending(emulation) : EXIT_FAILED;
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!results[i].holds)
			log_error("invariant %s does not hold: %s", results[i].name, results[i].text);
	return EXIT_FAILED;
}
