/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast, and how late, frames cross a scenario's switches between hosts with kernel-host ports: of each flow, from
 * its source to its destination. How fast: net_pcap repeats a frame of the flow and net_null takes the output, or the
 * same frames go round over ports and their peers; windows follow each other as fast as the CPUs allow, and the
 * scenario's faults of the network act. How late: in real time, one frame at a time.
 */
#pragma once

#include "common/wire/roce.h"
#include "dpswitch/edge/port/port_round.h"
#include "scenario/scenario.h"

/* RC SEND ONLY without and with all that it may carry */
#define FORWARD_LEAST_BYTES roce_frame_bytes(ROCE_RC_SEND_ONLY, 0)
#define FORWARD_MOST_BYTES (FORWARD_LEAST_BYTES + ROCE_MAX_PAYLOAD)

struct forward_options {
	const char *dir;      /* for frames.pcap and forward.json */
	uint32_t frame_bytes; /* without FCS */
	bool paced;           /* in real time: how late. Else as fast as can be: how fast */
	bool goes_round;      /* frames do, over the round's kind of ports; moving them back is measured too */
	enum port_round_kind round;
	uint32_t lcores;
	double seconds; /* of processor time; paced: of time */
};

/*
 * Runs for options->seconds and writes DIR/forward.json. EAL runs.
 * @return 0 or negative errno with err set: -EINVAL (not a flow for every two hosts), and of ports and files
 */
int forward_run(struct scenario *scenario, const struct forward_options *options, struct err *err);
