/* SPDX-License-Identifier: BSD-3-Clause */
/* An analyzer that follows the run over a connected stream socket; it may be slow, stopped or dead. */
#include <inttypes.h>

#include "common/log.h"
#include "common/run_files.h"
#include "emulation/recorder/output.h"

static int
take_fd(const struct output_target *target, struct err *err)
{
	(void)err;
	return target->fd;
}

static void
report(const struct output_stats *stats, const char *dir)
{
	if (stats->error != 0)
		log_warning("the analyzer ended (%s); the recording continues in %s/" RUN_RECORDING,
			    output_why(stats->error), dir);
	else if (stats->dropped_records != 0)
		log_warning("the analyzer did not keep up: it lacks %" PRIu64 " records that %s/" RUN_RECORDING " has",
			    stats->dropped_records, dir);
}

const struct output_ops output_analyzer = {
	.name = "analyzer",
	.what = "the stream to the analyzer",
	.cap_bytes = 8u << 20,
	.give_up_ns = 10000000000ULL, /* it is stopped or broken then */
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.socket = true,
	.open = take_fd,
	.report = report,
};
