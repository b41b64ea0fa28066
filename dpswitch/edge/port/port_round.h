/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ports, a source and a sink: frames that leave at the sink are moved to the source. Over rings of this process
 * (net_ring) nothing else stands between them; ports of other kinds have peers, which are ports of this process as
 * well, and frames take both drivers twice.
 */
#pragma once

#include "dpswitch/edge/port/port.h"

enum port_round_kind { PORT_ROUND_RING, PORT_ROUND_MEMIF, PORT_ROUND_VHOST, PORT_ROUND_AF_PACKET, PORT_ROUND_KINDS };

/* Names on the command line. */
#define PORT_ROUND_NAMES                                                                                                   \
	{                                                                                                                  \
		"ring", "memif", "vhost", "af_packet"                                                                      \
	}

/* Two existing pairs of veth for af_packet: source and its peer, sink and its peer. */
#define PORT_ROUND_VETHS                                                                                                   \
	{                                                                                                                  \
		"source", "source-peer", "sink", "sink-peer"                                                               \
	}

struct port_round {
	enum port_round_kind kind;
	struct port *ports[2]; /* source, sink */
	struct port_rings {
		struct rte_ring *receive, *transmit;
	} rings[2];
	struct port *peers[2];
	struct rte_mbuf *kept[PORT_BURST]; /* that the source's peer has not taken yet */
	uint32_t nkept;
	uint32_t wanting; /* frames that are still to be brought in, once peers are up */
	const uint8_t *frame;
	uint32_t frame_bytes;
};

/*
 * Opens both ports, with frames at the source, or in flight there as soon as peers are up.
 * @param dir    for sockets of memif and vhost
 * @param frame  what all of them are; borrowed
 * @return 0 or negative with err set; port_round_fini() cleans up in any case
 */
int port_round_init(struct port_round *round, enum port_round_kind kind, const struct port_config ends[2], const char *dir,
		    const uint8_t *frame, uint32_t frame_bytes, struct err *err);
void port_round_fini(struct port_round *round);

/* Moves on the frames that have left, unchanged. */
void port_round_turn(struct port_round *round);
