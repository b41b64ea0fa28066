/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin diagnoser that follows the run over a connected stream socket. Its session reports the results. */
#include "emulation/recorder/output.h"

static int
take_fd(const struct output_target *target, struct err *err)
{
	(void)err;
	return target->fd;
}

const struct output_ops output_plugin = {
	.name = "plugins",
	.what = "the stream to a diagnoser",
	.cap_bytes = 8u << 20,
	.give_up_ns = 10000000000ULL,
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.socket = true,
	.open = take_fd,
};
