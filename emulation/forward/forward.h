/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast, and how late, frames cross a scenario's switches between two hosts on external ports. How fast: net_pcap
 * repeats a frame of the scenario's first flow, net_null takes what comes out, windows follow each other as fast as the
 * CPU allows. How late: in real time, one frame at a time.
 */
#pragma once

#include "common/wire/roce.h"
#include "emulation/scenario/scenario.h"

/* RC SEND ONLY without and with all that it may carry */
#define FORWARD_LEAST_BYTES roce_frame_bytes(ROCE_RC_SEND_ONLY, 0)
#define FORWARD_MOST_BYTES (FORWARD_LEAST_BYTES + ROCE_MAX_PAYLOAD)

struct forward_options {
	const char *dir;      /* for frames.pcap and forward.json */
	uint32_t frame_bytes; /* without FCS */
	bool paced;           /* in real time: how late. Else as fast as can be: how fast */
	double seconds;       /* of processor time; paced: of time */
};

/*
 * Runs for options->seconds and writes DIR/forward.json. EAL runs.
 * @return 0 or negative errno with err set: -EINVAL (not two hosts with a flow between them), and of ports and files
 */
int forward_run(struct scenario *scenario, const struct forward_options *options, struct err *err);
