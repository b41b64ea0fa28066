/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of what a polling packet met: reported by switches, and by hosts for their NICs. */
#pragma once

#include <stdint.h>

#include "common/wire/record_hdr.h"

/* A polling packet passed. */
struct rec_poll {
	struct rec_hdr hdr;
	struct rec_tuple victim;
	uint16_t in_port;   /* REC_NO_PORT where it was created */
	uint16_t out_port;  /* egress it reported; REC_NO_PORT: none (destination reached) */
	uint16_t flags;     /* enum poll_flag as it arrived */
	uint8_t out_paused; /* that egress is, or was within the kept epochs, paused by its peer */
	uint8_t repeated;   /* 1: this port had answered the event already */
	uint32_t ttl;
	uint32_t reserved;
};

/*
 * Counters of an egress port over epochs [epoch_first, epoch_last], its present state, and the state of the ingress
 * at the same connector. Data classes: all but class 0; ingress state: lossless classes. A later row of the same port with
 * the same epoch_first replaces an earlier one; closed epochs are reported once.
 */
struct rec_port_row {
	struct rec_hdr hdr;
	uint16_t port;
	uint8_t host;   /* 1: a host's NIC */
	uint8_t paused; /* now, by the peer */
	uint32_t depth_max;
	uint32_t epoch_first, epoch_last;
	uint64_t from_ps, to_ps;
	uint64_t packets, bytes;
	uint64_t depth_sum;                  /* packets already queued, summed over enqueued packets */
	uint64_t paused_packets;             /* packets that met the port paused */
	uint64_t pause_ps;                   /* time paused within the epochs */
	uint64_t paused_since_ps;            /* valid if paused */
	uint64_t queue_packets, queue_bytes; /* now */
	uint64_t ingress_bytes;              /* valid if pausing: bytes held now that came in here, lossless classes */
	uint64_t ingress_xoff_bytes; /* if pausing, the threshold for that now; else REC_NO_XOFF. Closed epochs: 0 */
	uint64_t pausing_since_ps;   /* valid if pausing: this ingress has told its peer to stop */
	uint32_t pausing;
	uint32_t pauses_received; /* within the epochs */
	uint32_t pauses_sent;     /* within the epochs */
	uint32_t state_only;      /* 1: tells of now alone; without counters, and replaces no row */
};

#define REC_NO_XOFF UINT64_MAX

/* Hawkeye's flow row; same key rules as the port row. */
struct rec_flow_row {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint16_t port;
	uint16_t in_port; /* ingress of its last packet */
	uint32_t epoch_first, epoch_last;
	uint32_t queue_packets; /* now in this port's queue */
	uint64_t packets, bytes;
	uint64_t depth_sum;
	uint64_t paused_packets;
};

/* Port-to-port meter: what came in at in_port and left by port. */
struct rec_meter_row {
	struct rec_hdr hdr;
	uint16_t in_port, port;
	uint32_t epoch_first, epoch_last;
	uint32_t reserved;
	uint64_t bytes;
	uint64_t held_bytes; /* now */
};

/* Exact contention: packets of other ahead of packets of flow, summed. Beyond what hardware reports. */
struct rec_matrix_row {
	struct rec_hdr hdr;
	struct rec_tuple flow, other;
	uint16_t port, reserved16;
	uint32_t epoch_first, epoch_last;
	uint32_t reserved;
	uint64_t ahead;
};

/*
 * Drop counters of a port, cumulative, sent with reports when not zero. Link down: also when the link was cut, and the
 * times are those of its last change as well. REC_DROP_INJECTED never: nobody sees those.
 */
struct rec_drop_row {
	struct rec_hdr hdr;
	struct rec_tuple last; /* flow of the last packet dropped, zero if there was none */
	uint16_t port, reason;
	uint32_t reserved;
	uint64_t packets, bytes;
	uint64_t first_ps, last_ps;
};

_Static_assert(sizeof(struct rec_poll) == 56, "layout");
_Static_assert(sizeof(struct rec_port_row) == 160, "layout");
_Static_assert(sizeof(struct rec_flow_row) == 88, "layout");
_Static_assert(sizeof(struct rec_meter_row) == 56, "layout");
_Static_assert(sizeof(struct rec_matrix_row) == 80, "layout");
_Static_assert(sizeof(struct rec_drop_row) == 80, "layout");
