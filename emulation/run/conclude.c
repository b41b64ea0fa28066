/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/conclude.h"

#include <errno.h>

#include "common/exit_code.h"
#include "common/log.h"
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

int
conclude(const struct run_options *options, const struct emulation *emulation, const struct attach *attach)
{
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };
	bool written = write_outputs(emulation, options->out, &err) == 0;

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
