/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a reliable connection of an embedded host repairs what is lost. A transport is its file here, its line in
 * meson.build, and a row of TRANSPORTS; scenarios (host.transport) have it then. What every packet takes is not in the
 * row: senders and receivers branch on params->any_order there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"

/* Value, name in scenarios, the row's symbol, what it does. */
#define TRANSPORTS(ROW)                                                                                                    \
	ROW(TRANSPORT_GO_BACK_N, "go-back-n", go_back_n,                                                                   \
	    "receivers take packets in order alone; from a gap on all is sent again (IBTA 9.7)")                           \
	ROW(TRANSPORT_SELECTIVE, "selective", selective,                                                                   \
	    "receivers place packets as they come; what is lost is sent again by itself (host.selective)")

#define TRANSPORT_VALUE(id, name, symbol, doc) id,
enum transport_kind { TRANSPORTS(TRANSPORT_VALUE) TRANSPORT_KINDS };

struct rc_send;
struct roce_params;

/* Of a sender, but for any_order and kernels. */
struct transport_ops {
	const char *name;
	bool any_order; /* receivers place packets as they come: each has its RETH, there are no SENDs */
	bool kernels;   /* Linux' rxe speaks it */
	/* @return packets that one QP may have between the oldest that is missing and the newest, for a window in packets */
	uint32_t (*span)(const struct roce_params *params, uint32_t window_packets);
	/* Makes its own state. @return 0 or -ENOMEM. NULL: it has none */
	int (*init)(struct rc_send *s, const struct roce_params *params);
	/* @return when timeout() is due while packets are outstanding */
	uint64_t (*deadline)(const struct rc_send *s, const struct roce_params *params);
	/* @return false if retries are spent */
	bool (*timeout)(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);
};

#define TRANSPORT_EXTERN(id, name, symbol, doc) extern const struct transport_ops transport_##symbol;
TRANSPORTS(TRANSPORT_EXTERN)

extern const struct transport_ops *const transports[TRANSPORT_KINDS];
extern const struct cfg_choice transport_choices[];
