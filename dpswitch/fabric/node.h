/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of switches and hosts to the window engine. Free of <rte_*>: nodes link and test without EAL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/record/buffer.h"
#include "common/units.h"
#include "common/wire/drop.h"
#include "dpswitch/fabric/body.h"
#include "dpswitch/fabric/link.h"
#include "topo/topo.h"

/* Effects of faults on a host's NIC; those on its cable are in link.h. */

/* How it fails; bits. Its link stays up. */
enum nic_failure {
	NIC_HANGS = 1,     /* it takes in nothing and sends nothing, and counts neither */
	NIC_NO_ROUTES = 2, /* it has no route to any host: it drops the packets that it is to send, with a reason */
	NIC_NO_GID = 4,    /* it knows no packet for its own, and has no address to send by: as if it hung */
	NIC_FROZEN = 8,    /* its whole host is: see struct node_ops.freeze */
};

/* Why its DMA is slow: each of the two adds to the other. */
enum nic_dma_cause { NIC_DMA_LINK, NIC_DMA_PATH, NIC_DMA_DRAIN /* of what is received alone */, NIC_DMA_CAUSES };

/* All zero: its DMA keeps up with the line. */
struct nic_dma {
	uint64_t rate_bps;   /* in each direction; 0: as fast as the line */
	uint64_t delay_ps;   /* until a frame that arrived is in memory, and the host knows */
	uint64_t xoff_bytes; /* that wait for DMA at which it pauses its peer; at half of that the peer may go on */
};

struct node;
struct port_truth;

/* No window is longer, however long the cables: it bounds what a link's lanes hold and the accounting's keys. */
#define WINDOW_MAX_PS (100 * PS_PER_US)
/* No window is shorter: a run of a microsecond would take a thousand and more of them. */
#define WINDOW_MIN_PS 1000

/* One window. Everything that happens at a time in [start_ps, end_ps) belongs to it. */
struct window {
	uint64_t start_ps, end_ps;
	uint64_t index;
	uint32_t parity; /* index & 1: the lane that senders write */
};

/* Calls that change a node, and queries to it. Between windows, but for run. Ports are the node's own, from 0. */
struct node_ops {
	/* node->rx and node->tx are set. May be NULL. */
	void (*attached)(struct node *node);
	/* Processes one window: takes in arrivals from node->rx, sends on node->tx, reports into node->records. */
	void (*run)(struct node *node, const struct window *window);
	/*
	 * The earliest time at which the node will act of its own accord (a timer, a queued frame), TIME_NEVER if it
	 * only waits for arrivals. Called between windows by the node's lcore.
	 */
	uint64_t (*next_ps)(const struct node *node);
	/* After the last window: what it would report unasked later on, into node->records. NULL: nothing. */
	void (*last_reports)(struct node *node, uint64_t now_ps);
	/* After the last window: frames and bytes still held, for the conservation check. */
	void (*held)(const struct node *node, uint64_t *packets, uint64_t *bytes);
	/* Packets that a port dropped for a reason. */
	uint64_t (*dropped)(const struct node *node, uint16_t port, enum rec_drop reason);
	/* The run's truth of a port (dpswitch/truth). NULL: a node that keeps none. */
	const struct port_truth *(*truth)(const struct node *node, uint16_t port);
	/*
	 * From now_ps on a port sends PAUSE for a class every interval_ps, whatever its buffer holds, or stops that and
	 * sends one RESUME. With several classes the shortest interval counts for all.
	 */
	void (*storm)(struct node *node, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
	/* Classes that a port asks its peer to hold, for any reason. */
	uint8_t (*pausing)(const struct node *node, uint16_t port);
	/*
	 * The link of a port went down or up.
	 * @param held  up: classes that the other end's receiver holds; a link starts with them paused, as if it had
	 *              sent a PAUSE: its buffers may still be full. Down: 0
	 */
	void (*link_changed)(struct node *node, uint16_t port, uint8_t held, uint64_t now_ps);
	/* A port's cable has this rate from now on, at most the topology's. NULL: its frames have times of their own. */
	void (*set_rate)(struct node *node, uint16_t port, uint64_t rate_bps, uint64_t now_ps);
	/* The routes of the configuration have changed. NULL: a node that routes nothing. */
	void (*routes_changed)(struct node *node);
	/*
	 * Hosts: the program still has work in the future, though nothing is posted: the node stays NODE_RUNNING, so
	 * that the run does not count as complete. Off at first. NULL: a node without programs.
	 */
	void (*expect_work)(struct node *node, bool expected);
	/* Embedded hosts; NULL for others. A NIC fails so (enum nic_failure), or does not any more. */
	void (*fail_nic)(struct node *node, uint16_t port, uint8_t failure, bool on);
	/* A NIC's DMA is so for this reason from now on. */
	void (*slow_nic)(struct node *node, uint16_t port, enum nic_dma_cause cause, const struct nic_dma *dma);
	/* The whole host stands still, its programs and timers too; then it goes on as it was. */
	void (*freeze)(struct node *node, bool on, uint64_t now_ps);
	/* Packets that a NIC lost or delayed by any of these. */
	uint64_t (*nic_faulty)(const struct node *node, uint16_t port);
	void (*destroy)(struct node *node);
};

/* Why the fabric should stop, as seen by one node. Read between windows. */
enum node_status {
	NODE_RUNNING,   /* has work that the run waits for */
	NODE_PASSIVE,   /* switches, and hosts without open work */
	NODE_QP_ERROR,  /* a QP ran out of retries */
	NODE_NO_BUFFER, /* a lossless class overran its headroom */
	NODE_LOST,      /* a host with its own kernel went away */
};

#define NODE_MAX_ERROR 192

struct node_counters {
	uint64_t rx_packets, rx_bytes; /* arrivals after link faults: "packet hops" */
	uint64_t tx_packets, tx_bytes;
	uint64_t dropped_packets, dropped_bytes;   /* every named reason, and what faults swallow: */
	uint64_t lost_packets;                     /* counted in the run's truth alone */
	uint64_t born_packets, born_bytes;         /* created here */
	uint64_t consumed_packets, consumed_bytes; /* ended here */
	struct {
		uint64_t packets, bytes;
	} control[PKT_TYPES];           /* control packets of each kind, sent on each link */
	uint64_t detections;            /* hosts: polling packets asked for */
	struct report_count reports;    /* of telemetry */
	uint64_t progress;              /* data bytes accepted in order (hosts): the stall detector watches the sum */
	uint64_t windows, fast_windows; /* switches: windows with work, those that proved no PFC crossing */
	uint64_t order_errors;          /* per-flow order violated */
	uint64_t route_changes; /* switches: routes forgotten because of a fault; flows may overtake themselves then */
	uint64_t pause_errors;  /* PAUSE/RESUME of our own accounting did not alternate */
	uint64_t row_errors;    /* an epoch whose flow rows did not sum to its port row */
};

/* A control packet is put on a link. */
static inline void
node_count_control(struct node_counters *count, const struct pkt *p)
{
	count->control[p->type].packets++;
	count->control[p->type].bytes += p->wire_bytes;
}

struct node {
	const struct node_ops *ops;
	uint32_t id; /* topology node id */
	uint16_t nports;
	struct link **rx; /* [nports] links that end here */
	struct link **tx; /* [nports] links that start here */
	const struct topo *topo;
	const struct flow_table *flows;
	struct bodies *bodies; /* of packets that end here; set by fabric_attach() */
	struct recbuf records;
	enum node_status status;
	char error[NODE_MAX_ERROR]; /* why, when status is an error */
	uint64_t digest;            /* PAUSE/RESUME events and epoch counters */
	struct node_counters count;
};

/* @param node  may be NULL */
static inline void
node_destroy(struct node *node)
{
	if (node != NULL)
		node->ops->destroy(node);
}
