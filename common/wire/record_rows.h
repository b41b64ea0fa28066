/* SPDX-License-Identifier: BSD-3-Clause */
/* Records collected by polling packets: reported by switches, and by hosts for their NICs. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

/* The PFC watchdog of a switch's queue: what it does, and what it reports (struct rec_watchdog). */

/* Identifier, number, word, meaning. */
#define REC_WATCHDOG_ACTIONS(ROW)                                                                                          \
	ROW(REC_WATCHDOG_DROP, 0, "drop",                                                                                  \
	    "packets of the class that wait there, that are for it, and that arrive there are dropped (watchdog)")         \
	ROW(REC_WATCHDOG_FORWARD, 1, "forward", "its PAUSE frames are ignored")                                            \
	ROW(REC_WATCHDOG_ALERT, 2, "alert", "reported alone")

enum rec_watchdog_action { REC_WATCHDOG_ACTIONS(ENUM_VALUE) };

#define REC_WATCHDOG_EVENTS(ROW)                                                                                           \
	ROW(REC_WATCHDOG_DETECTED, 0, "detected")                                                                          \
	ROW(REC_WATCHDOG_RESTORED, 1, "restored")

enum rec_watchdog_event { REC_WATCHDOG_EVENTS(ENUM_VALUE) };

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

#define REC_POLL_FIELDS(F, T)                                                                                              \
	F(T, 24, victim, TUPLE)                                                                                            \
	F(T, 40, in_port, PORT_OR_NONE)                                                                                    \
	F(T, 42, out_port, PORT_OR_NONE)                                                                                   \
	F(T, 44, flags, RANGE(0, 31))                                                                                      \
	F(T, 46, out_paused, FLAG)                                                                                         \
	F(T, 47, repeated, FLAG)                                                                                           \
	F(T, 48, ttl, RANGE(0, UINT8_MAX))                                                                                 \
	F(T, 52, reserved, ZERO)
#define REC_POLL_KEY(K, T)

REC_POLL_FIELDS(WIRE_AT, rec_poll)
WIRE_SIZE(rec_poll, 56)

/*
 * Counters of one lossless class at an egress port over epochs [epoch_first, epoch_last], its present state, and the
 * state of the ingress of that class at the same connector; or of the data classes without PFC, together. Depths are of
 * all data classes: all but class 0. A port has rows of the classes with data to report, of one at least. A later row
 * of the same port and class with the same epoch_first replaces an earlier one; closed epochs are reported once.
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
	uint64_t depth_sum;      /* packets already queued, summed over enqueued packets */
	uint64_t paused_packets; /* packets that found the port paused */
	uint64_t pause_ps;       /* time paused within the epochs */
	/* Valid if paused; else, in a state_only row, of the pause of pause_ps that it was asked in and that is over. */
	uint64_t paused_since_ps;
	uint64_t queue_packets, queue_bytes; /* now */
	uint64_t ingress_bytes;              /* valid if pausing: bytes held now that entered here */
	uint64_t ingress_xoff_bytes; /* if pausing, the threshold for that now; else REC_NO_XOFF. Closed epochs: 0 */
	uint64_t pausing_since_ps;   /* valid if pausing: this ingress has paused its peer */
	uint32_t pausing;
	uint32_t pauses_received; /* within the epochs */
	uint32_t pauses_sent;     /* within the epochs */
	uint16_t prio;            /* the lossless class; 0: data classes without PFC */
	uint16_t state_only;      /* 1: the present state alone; without other counters, and replaces no row */
};

#define REC_PORT_ROW_FIELDS(F, T)                                                                                          \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 156, prio, RANGE(0, 7))                                                                                       \
	F(T, 26, host, FLAG)                                                                                               \
	F(T, 27, paused, FLAG)                                                                                             \
	F(T, 28, depth_max, ANY)                                                                                           \
	F(T, 32, epoch_first, ANY)                                                                                         \
	F(T, 36, epoch_last, LAST_EPOCH)                                                                                   \
	F(T, 40, from_ps, PAST)                                                                                            \
	F(T, 48, to_ps, UNTIL)                                                                                             \
	F(T, 56, packets, COUNT)                                                                                           \
	F(T, 64, bytes, COUNT)                                                                                             \
	F(T, 72, depth_sum, COUNT)                                                                                         \
	F(T, 80, paused_packets, COUNT)                                                                                    \
	F(T, 88, pause_ps, TIME)                                                                                           \
	F(T, 96, paused_since_ps, PAST)                                                                                    \
	F(T, 104, queue_packets, COUNT)                                                                                    \
	F(T, 112, queue_bytes, COUNT)                                                                                      \
	F(T, 120, ingress_bytes, COUNT)                                                                                    \
	F(T, 128, ingress_xoff_bytes, ANY)                                                                                 \
	F(T, 136, pausing_since_ps, PAST)                                                                                  \
	F(T, 144, pausing, FLAG)                                                                                           \
	F(T, 148, pauses_received, ANY)                                                                                    \
	F(T, 152, pauses_sent, ANY)                                                                                        \
	F(T, 158, state_only, FLAG)
#define REC_PORT_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, epoch_first) K(T, prio)

REC_PORT_ROW_FIELDS(WIRE_AT, rec_port_row)
WIRE_SIZE(rec_port_row, 160)

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

#define REC_FLOW_ROW_FIELDS(F, T)                                                                                          \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, port, PORT)                                                                                               \
	F(T, 42, in_port, PORT_OR_NONE)                                                                                    \
	F(T, 44, epoch_first, ANY)                                                                                         \
	F(T, 48, epoch_last, LAST_EPOCH)                                                                                   \
	F(T, 52, queue_packets, ANY)                                                                                       \
	F(T, 56, packets, COUNT)                                                                                           \
	F(T, 64, bytes, COUNT)                                                                                             \
	F(T, 72, depth_sum, COUNT)                                                                                         \
	F(T, 80, paused_packets, COUNT)
#define REC_FLOW_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, epoch_first) K(T, flow)

REC_FLOW_ROW_FIELDS(WIRE_AT, rec_flow_row)
WIRE_SIZE(rec_flow_row, 88)

/*
 * Port-to-port meter of a lossless class, or of data classes without PFC: bytes that entered at in_port and left by
 * port.
 */
struct rec_meter_row {
	struct rec_hdr hdr;
	uint16_t in_port, port;
	uint32_t epoch_first, epoch_last;
	uint16_t prio; /* as of the port row */
	uint16_t reserved;
	uint64_t bytes;
	uint64_t held_bytes; /* now */
};

#define REC_METER_ROW_FIELDS(F, T)                                                                                         \
	F(T, 24, in_port, PORT)                                                                                            \
	F(T, 26, port, PORT)                                                                                               \
	F(T, 36, prio, RANGE(0, 7))                                                                                        \
	F(T, 28, epoch_first, ANY)                                                                                         \
	F(T, 32, epoch_last, LAST_EPOCH)                                                                                   \
	F(T, 38, reserved, ZERO)                                                                                           \
	F(T, 40, bytes, COUNT)                                                                                             \
	F(T, 48, held_bytes, COUNT)
#define REC_METER_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, epoch_first) K(T, in_port) K(T, prio)

REC_METER_ROW_FIELDS(WIRE_AT, rec_meter_row)
WIRE_SIZE(rec_meter_row, 56)

/* Exact contention: packets of other ahead of packets of flow, summed. Beyond what hardware reports. */
struct rec_matrix_row {
	struct rec_hdr hdr;
	struct rec_tuple flow, other;
	uint16_t port, reserved16;
	uint32_t epoch_first, epoch_last;
	uint32_t reserved;
	uint64_t ahead;
};

#define REC_MATRIX_ROW_FIELDS(F, T)                                                                                        \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, other, TUPLE)                                                                                             \
	F(T, 56, port, PORT)                                                                                               \
	F(T, 58, reserved16, ZERO)                                                                                         \
	F(T, 60, epoch_first, ANY)                                                                                         \
	F(T, 64, epoch_last, LAST_EPOCH)                                                                                   \
	F(T, 68, reserved, ZERO)                                                                                           \
	F(T, 72, ahead, COUNT)
#define REC_MATRIX_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, epoch_first) K(T, flow) K(T, other)

REC_MATRIX_ROW_FIELDS(WIRE_AT, rec_matrix_row)
WIRE_SIZE(rec_matrix_row, 80)

#define REC_OVERTAKE_LEAST_SHARE 128 /* what all frames of a port took is reported from 1/N of its data's bytes on */

/*
 * Frames of class 0, which is served strictly first, or of a strict class of data, that left ahead of data behind them
 * that waited and could have left: of one flow, or where flow is zero, of those that are not distinguished. Same key
 * rules as the port row.
 */
struct rec_overtake_row {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint16_t port;
	uint16_t acks; /* 1: its ACKs, NAKs and CNPs; 0: its own frames in class 0 */
	uint32_t epoch_first, epoch_last;
	uint32_t prio; /* their class; 0 also of those that are not distinguished */
	uint64_t packets, bytes;
};

#define REC_OVERTAKE_ROW_FIELDS(F, T)                                                                                      \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, port, PORT)                                                                                               \
	F(T, 42, acks, FLAG)                                                                                               \
	F(T, 44, epoch_first, ANY)                                                                                         \
	F(T, 48, epoch_last, LAST_EPOCH)                                                                                   \
	F(T, 52, prio, RANGE(0, 7))                                                                                        \
	F(T, 56, packets, COUNT)                                                                                           \
	F(T, 64, bytes, COUNT)
#define REC_OVERTAKE_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, epoch_first) K(T, flow) K(T, acks)

REC_OVERTAKE_ROW_FIELDS(WIRE_AT, rec_overtake_row)
WIRE_SIZE(rec_overtake_row, 72)

/*
 * Drop counters of a port, cumulative, sent with reports when not zero. Link down: also when the link went down, and
 * the times are those of its last change as well. REC_DROP_INJECTED never: no device sees those.
 */
struct rec_drop_row {
	struct rec_hdr hdr;
	struct rec_tuple last; /* flow of the last packet dropped, zero if there was none */
	uint16_t port, reason;
	uint32_t reserved;
	uint64_t packets, bytes;
	uint64_t first_ps, last_ps;
};

#define REC_DROP_ROW_FIELDS(F, T)                                                                                          \
	F(T, 24, last, TUPLE)                                                                                              \
	F(T, 40, port, PORT)                                                                                               \
	F(T, 42, reason, RANGE(REC_DROP_CORRUPT, REC_DROP_REASONS - 1))                                                    \
	F(T, 44, reserved, ZERO)                                                                                           \
	F(T, 48, packets, COUNT)                                                                                           \
	F(T, 56, bytes, COUNT)                                                                                             \
	F(T, 64, first_ps, PAST)                                                                                           \
	F(T, 72, last_ps, UNTIL)
#define REC_DROP_ROW_KEY(K, T) K(T, hdr.node) K(T, port) K(T, reason)

REC_DROP_ROW_FIELDS(WIRE_AT, rec_drop_row)
WIRE_SIZE(rec_drop_row, 80)

/*
 * Packets that had passed where a polling packet of a flow with retransmissions passed, on its path or that of its
 * ACKs: by a switch, by the flow's source when the polling packet left and when it returned, and by its destination
 * when it arrived. Frames are all that MACs count, and counts begin with the run: what one end of a link sent and the
 * other did not take in was lost on it.
 */
struct rec_passage {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint16_t in_port;      /* ingress of the polling packet there; REC_NO_PORT: it begins here */
	uint16_t out_port;     /* it goes on by it; REC_NO_PORT: it ends here */
	uint32_t waiting;      /* packets of the flow: upper bound in that port's queue; at its source, not acknowledged */
	uint64_t in_frames;    /* arrived at in_port before it, whole or damaged */
	uint64_t sent_frames;  /* the other end of in_port's link had sent before it: a count that it brings along */
	uint64_t flow_packets; /* of the flow, counted at out_port */
	/* of the flow's QP, at its source */
	uint32_t resent;   /* packets sent again */
	uint32_t timeouts; /* after which that was */
	/* and at its destination */
	uint32_t duplicates;      /* packets that had arrived before */
	uint32_t out_of_sequence; /* packets behind one that is missing */
	uint32_t most_missing;    /* in a row, when the first behind them arrived */
	uint32_t naks;            /* at either: of the PSN sequence, sent or received */
};

#define REC_PASSAGE_FIELDS(F, T)                                                                                           \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, in_port, PORT_OR_NONE)                                                                                    \
	F(T, 42, out_port, PORT_OR_NONE)                                                                                   \
	F(T, 44, waiting, ANY)                                                                                             \
	F(T, 48, in_frames, COUNT)                                                                                         \
	F(T, 56, sent_frames, COUNT)                                                                                       \
	F(T, 64, flow_packets, COUNT)                                                                                      \
	F(T, 72, resent, ANY)                                                                                              \
	F(T, 76, timeouts, ANY)                                                                                            \
	F(T, 80, duplicates, ANY)                                                                                          \
	F(T, 84, out_of_sequence, ANY)                                                                                     \
	F(T, 88, most_missing, ANY)                                                                                        \
	F(T, 92, naks, ANY)
#define REC_PASSAGE_KEY(K, T)

REC_PASSAGE_FIELDS(WIRE_AT, rec_passage)
WIRE_SIZE(rec_passage, 96)

/* The PFC watchdog of a queue, an egress and class, has found it paused for too long, or works as usual again. */
struct rec_watchdog {
	struct rec_hdr hdr;
	uint16_t port, prio;
	uint16_t event;    /* enum rec_watchdog_event */
	uint16_t action;   /* enum rec_watchdog_action */
	uint64_t since_ps; /* the queue was paused, and at its end since when not any more */
	uint64_t packets;  /* dropped by this one: that waited; at its end also those that were for it, or arrived there */
};

#define REC_WATCHDOG_FIELDS(F, T)                                                                                          \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 26, prio, RANGE(1, 7))                                                                                        \
	F(T, 28, event, ENUM(REC_WATCHDOG_EVENTS))                                                                         \
	F(T, 30, action, ENUM(REC_WATCHDOG_ACTIONS))                                                                       \
	F(T, 32, since_ps, PAST)                                                                                           \
	F(T, 40, packets, COUNT)
#define REC_WATCHDOG_KEY(K, T)

REC_WATCHDOG_FIELDS(WIRE_AT, rec_watchdog)
WIRE_SIZE(rec_watchdog, 48)

/* The rate of a switch's port is another one now: its link was trained anew. */
struct rec_link_rate {
	struct rec_hdr hdr;
	uint16_t port, reserved16;
	uint32_t reserved;
	uint64_t rate_bps;
};

#define REC_LINK_RATE_FIELDS(F, T)                                                                                         \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 26, reserved16, ZERO)                                                                                         \
	F(T, 28, reserved, ZERO)                                                                                           \
	F(T, 32, rate_bps, RANGE(1, RECORD_MAX_COUNT))
#define REC_LINK_RATE_KEY(K, T)

REC_LINK_RATE_FIELDS(WIRE_AT, rec_link_rate)
WIRE_SIZE(rec_link_rate, 40)

/*
 * Packets of a flow that passed a switch's port since the flow's first packet, in the way of a flow cache: exported
 * unasked when the flow has paused for an epoch, now and then while it lasts, and at the end of the run. A later record
 * replaces an earlier one.
 */
struct rec_flow_seen {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint16_t port;
	uint16_t reserved16;
	uint32_t reserved;
	uint64_t first_ps; /* its first packet */
	uint64_t last_ps;  /* the end of the latest epoch with one of its packets, or now */
	uint64_t packets, bytes;
};

#define REC_FLOW_SEEN_FIELDS(F, T)                                                                                         \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, port, PORT)                                                                                               \
	F(T, 42, reserved16, ZERO)                                                                                         \
	F(T, 44, reserved, ZERO)                                                                                           \
	F(T, 48, first_ps, PAST)                                                                                           \
	F(T, 56, last_ps, PAST)                                                                                            \
	F(T, 64, packets, COUNT)                                                                                           \
	F(T, 72, bytes, COUNT)
#define REC_FLOW_SEEN_KEY(K, T) K(T, hdr.node) K(T, port) K(T, flow)

REC_FLOW_SEEN_FIELDS(WIRE_AT, rec_flow_seen)
WIRE_SIZE(rec_flow_seen, 80)
