/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 5-tuples of a host's reliable connections, from its queue pairs (netlink.h), which know numbers alone, and frames that cross
 * its network device, which know addresses, source port and the number at their destination: what comes in for a QP tells who its
 * peer is, and what goes out to that peer and the QP's remote number has its source port. A tuple is open as long as a QP has it. Pure.
 */
#pragma once

#include "rxe-hosts/tracing/netlink.h"

#define TRACED_QPS 1024u /* of a host; more are not traced, and counted */
#define TRACED_FRAME_BYTES 64u

/* A packet of a reliable connection. */
struct traced_frame {
	uint32_t peer_ip; /* host byte order, as all here */
	uint32_t dst_qpn;
	uint16_t sport;
	bool out;
	bool request; /* sent by who has the data to send, or to ask for: no ACK, no response */
};

struct traced_tuple {
	uint32_t peer_ip;
	uint16_t sport;
};

struct connections {
	struct {
		struct traced_qp qp;
		struct traced_tuple tuple; /* 0: not known yet */
		bool is_reported, is_there;
	} rows[TRACED_QPS];
	uint32_t count;
	uint32_t left_off;
	void (*changed)(void *ctx, const struct traced_tuple *tuple, bool open);
	void *ctx;
};

/* @param out  this host sends it @return false: it is no RC packet to RoCEv2's port over IPv4 */
bool tracing_frame_read(struct traced_frame *frame, const uint8_t *bytes, size_t size, bool out);
/* All of the host's QPs, as they are now: those that are gone take their tuples with them. */
void connections_qps(struct connections *connections, const struct traced_qp *qps, uint32_t count);
void connections_frame(struct connections *connections, const struct traced_frame *frame);
