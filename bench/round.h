/* SPDX-License-Identifier: BSD-3-Clause */
/* What other kinds of ports cost: frames go round over memif, vhost or af_packet and one switch, beside DPDK's testpmd. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "dpswitch/edge/port/port_round.h"

#define BENCH_ROUND_BYTES 1024 /* of a frame, with FCS */
#define BENCH_ROUND_KINDS (PORT_ROUND_KINDS - 1)

/* Of a kind: ns of processor time a round, of all that is in it. */
struct bench_round {
	const char *kind;
	double packet_ns;         /* median */
	double io_ns, macswap_ns; /* 0: no testpmd */
	struct err why;           /* text: it was not measured, and why */
};

/*
 * Takes the kinds in turn; what a machine does not have is told in its row.
 * @param forwarder  path of dpswitch-forward
 * @param dir        for scratch files
 * @param rows       [BENCH_ROUND_KINDS]
 * @return 0, or negative with err set
 */
int bench_round_measure(const char *forwarder, const char *dir, int repeats, struct bench_round *rows, struct err *err);
void bench_round_print(const struct bench_round *rows);
json_t *bench_round_json(const struct bench_round *rows);
