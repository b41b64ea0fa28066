/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs-shaped interface between a host's program (steps, monitor, agent) and its RDMA device. Two devices
 * implement it: embedded (rxe-hosts/device/embedded/embedded.c) and libibverbs (rxe-hosts/device/verbs/host.c).
 * A flow (an index into the run's flow table) names one RC connection: its sending QP on the source host, its
 * receiving QP on the destination host. Calls and callbacks of one host never run concurrently.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"
#include "common/record/buffer.h"
#include "common/send_times.h"

enum wc_opcode {
	WC_SENT,     /* the last ACK of a posted message arrived; the buffer is the caller's again */
	WC_RECEIVED, /* a message with immediate data is complete and in place */
	WC_ERROR,    /* retries exhausted: the QP is in error and accepts no work */
};

/* A work completion. */
struct wc {
	uint64_t time_ps;
	uint64_t wr_id; /* WC_SENT, WC_ERROR: as posted */
	uint64_t bytes; /* WC_RECEIVED: message length; WC_ERROR: bytes acknowledged of the message */
	uint32_t flow;
	uint32_t imm;         /* WC_RECEIVED */
	uint32_t retransmits; /* WC_SENT, WC_ERROR: packets sent again for this message */
	enum wc_opcode opcode;
	struct send_times times; /* WC_SENT, WC_ERROR: of this message */
};

/* A message to send. The payload is read from the registered region, or is synthetic (bytes without contents). */
struct send_wr {
	uint64_t wr_id;
	uint64_t bytes;         /* > 0 */
	uint64_t local_offset;  /* in the sender's region */
	uint64_t remote_offset; /* in the receiver's region (WRITE) */
	/* the idle path, for the sender's ledger: to the receiver, and back, of a full frame and its ACK; 0: not known */
	uint64_t there_ps, back_ps;
	uint32_t imm;
	uint8_t tag; /* of its packets, whenever they are sent (common/tag.h); 0: none */
	bool send;   /* SEND WITH IMM into the oldest posted receive instead of WRITE WITH IMM */
};

/*
 * An unacknowledged packet: a UD SEND WITH IMMEDIATE (IBTA 9.8.3), or a control packet (common/control.h). Its flow
 * names both ends, as an address handle does: addresses (GIDs), source port, class. From the departure and arrival
 * times of a datagram and its reply, hosts compute R-Pingmesh's measures: round trip and time within each host.
 */
struct datagram {
	uint64_t wr_id;   /* for departed() */
	uint64_t left_ps; /* departed(): when its last bit left, by the clock of now() */
	uint32_t flow;    /* sent here, or received here; of a poll, its victim's */
	/*
	 * PKT_UD, [bytes]: payload that a UD QP of ud_open() sends and receives. Read while it is posted; valid until
	 * received() returns. NULL: the receiver discards it.
	 */
	const void *contents;
	const struct int_header
		*int_header; /* of received contents: telemetry written by switches, valid as contents; NULL: none */
	/*
	 * PKT_UD, to a host whose device numbers its QPs: its ud_qpn(), or with contents that of its ud_open().
	 * Received: the sender's. 0: the flow identifies it.
	 */
	uint32_t qpn;
	uint32_t id, arg; /* control packet: see enum pkt_type; PKT_UD: arg is the immediate */
	uint16_t bytes;   /* PKT_UD: of its contents */
	/*
	 * enum pkt_type: PKT_UD, or a control packet's. PKT_EXPIRED: a packet of this host ended at the switch in arg
	 */
	uint8_t type;
	uint8_t ttl;   /* PKT_UD with contents: number of switches after which it ends; 0: it does not */
	bool signaled; /* PKT_UD: departed() reports it */
	bool reply; /* PKT_UD with contents: from the flow's destination to its source, with its source port, as ACKs go */
};

/* Flow-control view of a sending QP, for the agent. */
struct qp_state {
	uint64_t outstanding_bytes;
	uint64_t acked_bytes;       /* of the current message */
	uint64_t oldest_unacked_ps; /* when the oldest unacknowledged packet was (last) sent; valid if outstanding */
	uint64_t last_rtt_ps;       /* 0: no sample in this message yet */
	uint32_t retransmits;       /* of the current message */
	bool throttled;             /* below the line's rate, by a congestion control whose RTTs show no contention */
};

/* Measurements of a flow's path while it carried nothing else. */
struct path_rtt {
	uint64_t base_ps;  /* round trip of a packet behind as much of its own flow as may be in flight */
	uint64_t noise_ps; /* how far above it a sample may lie that means nothing; 0: samples are exact */
};

/*
 * The host's program. The device calls it at the time an event happens in the host's own order of events.
 * Called from within the node's window on the embedded device.
 */
struct device_client {
	void *ctx;
	void (*completed)(void *ctx, const struct wc *wc);
	/*
	 * Where received bytes go, message by message in order. NULL with synthetic payload. src points at the sender's
	 * bytes of one accepted segment; the client copies or reduces them at remote_offset.
	 */
	void (*accept)(void *ctx, uint32_t flow, uint32_t imm, uint64_t remote_offset, const void *src, uint32_t bytes);
	/*
	 * Place of a message that carries only its immediate: the remote_offset that its sender gave. UINT64_MAX: no
	 * such message. Valid with accept.
	 */
	uint64_t (*place)(void *ctx, uint32_t flow, uint32_t imm);
	/*
	 * The part of the receiver's region where a flow's messages belong, from its first byte to behind its last. As
	 * place.
	 */
	void (*extent)(void *ctx, uint32_t flow, uint64_t *from, uint64_t *end);
	/* An ACK gave an RTT sample. NULL: unused. */
	void (*rtt)(void *ctx, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps);
	/* A datagram arrived, its last bit at now_ps. Polling packets end in the device. NULL: discarded. */
	void (*received)(void *ctx, const struct datagram *datagram, uint64_t now_ps);
	/* A signaled datagram has its time of departure. NULL: unused. */
	void (*departed)(void *ctx, const struct datagram *datagram);
	/* The timer set with set_timer is due. */
	void (*timer)(void *ctx, uint64_t now_ps);
	/*
	 * Once a window at its end, or every millisecond of a device in real time, and only while some posted message
	 * is not complete, in flight or not.
	 */
	void (*tick)(void *ctx, uint64_t now_ps);
};

struct device;

struct device_ops {
	void (*set_client)(struct device *dev, const struct device_client *client);
	/* Gives the device the memory it may read. base NULL: synthetic payload. */
	void (*register_region)(struct device *dev, void *base, uint64_t bytes);
	/*
	 * The caller writes to a place in the receiver's region again only once the receiving client has consumed its
	 * contents: RDMA WRITE does not ask the receiver.
	 * @return 0; -EBUSY while the flow's QP is in error; -ENOSPC past DEVICE_MAX_POSTED messages on one QP; -EINVAL
	 *         beyond either region; -ENOTSUP: the device has no SEND, or no tags
	 */
	int (*post_send)(struct device *dev, uint32_t flow, const struct send_wr *wr);
	/* Posts room for SENDs and UD SENDs that will arrive on flow (receiver side). -ENOTSUP: the device has its own. */
	int (*post_receive)(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes);
	/* Forgets congestion state and pacing as a fresh QP would: line rate. Idle sending QPs only. */
	void (*reset_qp)(struct device *dev, uint32_t flow);
	void (*query_qp)(const struct device *dev, uint32_t flow, struct qp_state *state);
	/* Reports the parts of the time that a sending QP's current message has taken so far. */
	void (*query_times)(const struct device *dev, uint32_t flow, struct send_times *times);
	/* Measurements of a sending flow's path. NULL, or false: none, the configured values hold. */
	bool (*path_rtt)(const struct device *dev, uint32_t flow, struct path_rtt *rtt);
	/*
	 * Sends a datagram on a flow that starts here, or a reply on one that ends here: a control packet ahead of
	 * everything else, a UD SEND in its flow's class, one behind the other.
	 * @return 0; -EINVAL: empty, longer than the path MTU, or contents longer than DEVICE_UD_BYTES; -ENOSPC: too
	 * many wait already; -ENOTSUP: not of these
	 *         types; another negative errno of the device's
	 */
	int (*post_datagram)(struct device *dev, const struct datagram *datagram);
	/*
	 * Number of the QP by which this host receives UD SENDs, for its senders; creates the QP if necessary.
	 * @return 0: the flow identifies it; or negative errno
	 */
	int64_t (*ud_qpn)(struct device *dev);
	/*
	 * Creates the UD QP of a NIC that sends and receives contents, or replaces an existing one. Datagrams to any
	 * other number are dropped. NULL: the device has none.
	 * @param receives  number of datagrams that it has room for, until ud_receive()
	 * @return its number, or -ENOMEM
	 */
	int64_t (*ud_open)(struct device *dev, uint16_t nic, uint32_t receives);
	/* The contents of one more datagram are read: there is room again. With ud_open. */
	void (*ud_receive)(struct device *dev, uint16_t nic);
	/*
	 * Reports the rows of the flow's NIC port (event 0) if flows had to wait for each other there since the last
	 * report. NULL: the device cannot report them.
	 */
	void (*report_nic)(struct device *dev, uint32_t flow);
	/* One timer: when_ps TIME_NEVER cancels. May be called from any callback. */
	void (*set_timer)(struct device *dev, uint64_t when_ps);
	uint64_t (*now)(const struct device *dev);
	/* @return the buffer for host reports, the device's own node's */
	struct recbuf *(*records)(struct device *dev);
};

#define DEVICE_MAX_POSTED 128
#define DEVICE_UD_BYTES 64 /* of contents, at most */

struct device {
	const struct device_ops *ops;
	/* Background messages are sent from memory of the device's own: the region needs no room for them. */
	bool own_background;
};
