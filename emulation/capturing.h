/* SPDX-License-Identifier: BSD-3-Clause */
/* Has a run captured: which ports, into which file, and the bytes of its packets. */
#pragma once

#include "dpswitch/edge/capture/capture.h"

struct emulation;
struct scenario;

#define CAPTURE_LIMIT_BYTES 1000000000ULL

struct capture_options {
	const char *ports;    /* "6:2,17:1"; NULL: nothing is captured */
	uint64_t limit_bytes; /* of the file */
	uint32_t snap_bytes;  /* of each frame; 0: all */
};

struct capturing {
	const struct emulation *emulation;
	struct capture *capture;
	int error; /* errno that ended its file early, 0: none; after emulation_end() */
};

/* NULL: nothing is captured. */
const struct capturing *capturing_of(const struct emulation *emulation);

/* Whether they can be obeyed, for callers that have long work to do before capturing_begin(). Errors as there. */
int capturing_check(const struct scenario *scenario, const struct capture_options *options, struct err *err);

/*
 * Opens DIR/capture.pcapng and has the fabric captured from its first window on. Before emulation_begin().
 * @return 0 (also where nothing is to be captured); -EINVAL: a port that is not there or is named twice, or a path MTU
 *         of which no RoCEv2 frame can be made; negative errno of the file. With err set
 */
int capturing_begin(struct emulation *emulation, const struct capture_options *options, const char *dir, struct err *err);
