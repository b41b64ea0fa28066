/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that has the stream byte for byte, made anew. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "emulation/recorder/output.h"

static int
open_file(const struct output_target *target, struct err *err)
{
	int fd = outfile_stream(target->path, NULL);

	return fd >= 0 ? fd : err_set(err, fd, "%s: cannot write the recording: %s", target->path, strerror(-fd));
}

static int
close_file(int fd)
{
	return close(fd) == 0 ? 0 : errno;
}

static void
report(const struct output_stats *stats, const char *dir)
{
	if (stats->error != 0)
		log_warning("%s/" RUN_RECORDING " is cut short: %s", dir, output_why(stats->error));
	else if (stats->dropped_records != 0)
		log_warning("%s/" RUN_RECORDING " lacks %" PRIu64 " records: the disk did not keep up", dir,
			    stats->dropped_records);
}

const struct output_ops output_recording = {
	.name = "recording",
	.what = "the recording",
	.cap_bytes = 32u << 20,       /* a disk that is late by seconds, or real time that a machine catches up with */
	.give_up_ns = 60000000000ULL, /* a disk hangs */
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.kept = true,
	.open = open_file,
	.close = close_file,
	.report = report,
};
