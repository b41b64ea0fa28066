/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel host and its NICs. kernel_host.c is the node: it polls the ports and calls, window by window, from_host.c for
 * the frames that the host sends, to_host.c for those that it gets, and pause.c for both kinds of PAUSE. What each of the
 * three keeps is a struct of its own. Two others write there: kernel_host.c sets them up, and settles waiting frames and
 * rows between windows; pause.c takes time of the link for its frames (from_host.free_ps).
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

#include "common/err.h"
#include "common/flow.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "dpswitch/fabric/body.h"
#include "dpswitch/queue/fifo.h"
#include "telemetry/port.h"

/*
 * The bytes of frames that are inside the fabric: an mbuf by a handle that fits a descriptor. The handle is where the
 * mbuf lies, in cache lines from the lowest address that any pool has: nothing is looked up, and nothing is written
 * that lcores share, but for unplanned flows. The ports' pools bound the number of frames.
 */

struct rte_mbuf;

#define BODY_ALIGN_SHIFT 6 /* objects of a pool begin at cache lines */

struct body_table {
	struct bodies base; /* first */
	uintptr_t origin;
	const struct flow_table *flows;
	/* [flows->spares] bodies of a spare slot's flow. Any lcore; relaxed: read between windows, or by the only lcore */
	_Atomic uint32_t *in_flight;
};

static inline struct rte_mbuf *
body_mbuf(const struct body_table *table, uint32_t handle)
{
	return (struct rte_mbuf *)(table->origin + ((uintptr_t)handle << BODY_ALIGN_SHIFT));
}

/* @param change  of the bodies of a flow that are in flight: 1 or -1 */
static inline void
body_count(struct body_table *table, uint32_t flow, uint32_t change)
{
	if (__builtin_expect(flow >= table->flows->count, 0))
		atomic_fetch_add_explicit(&table->in_flight[flow - table->flows->count], change, memory_order_relaxed);
}

/* Keeps an mbuf. @return its handle */
static inline uint32_t
body_put(struct body_table *table, struct rte_mbuf *mbuf, uint32_t flow)
{
	uintptr_t at = ((uintptr_t)mbuf - table->origin) >> BODY_ALIGN_SHIFT;

	assert(at <= UINT32_MAX);
	body_count(table, flow, 1);
	return (uint32_t)at;
}

/* Ends a packet's handle. @return the mbuf, the caller's from now on */
static inline struct rte_mbuf *
body_take(struct body_table *table, const struct pkt *p)
{
	body_count(table, p->flow, UINT32_MAX);
	return body_mbuf(table, p->arg);
}

#define KERNEL_HOST_CLASSES 8
/* Frames that wait in a NIC to enter the fabric; beyond, the host's own ring holds them. */
#define KERNEL_HOST_STAGE 256
/* Distance, in frames, of the prefetch ahead of the frame that is classified. */
#define KERNEL_HOST_AHEAD 4
/* ARP replies and PFC frames that wait for the host's ring. */
#define KERNEL_HOST_OWN 64
/* Held toward a host before PAUSE, by default. */
#define KERNEL_HOST_HOLD_BYTES (256 * 1024)
/* Frames that are built at once: for the hosts of a run together. */
#define EDGE_BUILT 1023

struct edge {
	struct edge_config config;
	struct body_table bodies;
	struct lookup lookup;
	struct kernel_host *hosts;   /* of the fabric */
	struct rte_mempool *pool;    /* frames that are built here: ports' own stay free for received frames */
	struct rte_mempool *adopted; /* frames of other partitions; NULL: there are none */
};

/* Frames for the host: written by to_host.c. */
struct to_host {
	struct fifo hold;                   /* arrived, not yet taken */
	struct rte_mbuf *ready[PORT_BURST]; /* the bytes of the first nready of them */
	uint32_t nready;
	struct rte_mbuf *own[KERNEL_HOST_OWN]; /* [nown] go first */
	uint32_t nown;
	uint64_t xoff_bytes, xon_bytes, limit_bytes; /* constant */
	bool xoff;                                   /* the switch was paused because of them */
};

/* Frames from the host: written by from_host.c. */
struct from_host {
	struct memo memo;
	struct telem_batch rows; /* of the last frames of one flow: packets 0: none */
	uint32_t rows_flow;
	struct fifo stage[KERNEL_HOST_CLASSES];
	uint32_t staged; /* frames in all of them */
	struct rte_mbuf
		*waiting[PORT_BURST]; /* [nwaiting] the first is of an unplanned flow; the others arrived behind it */
	uint32_t nwaiting, nsettled;  /* of the first nsettled, all that could be was done */
	uint64_t free_ps;             /* the link has sent the last frame */
	uint64_t now_ps, limit_ps;    /* frames may start to leave from here on, until then */
	uint8_t turn;                 /* class served last */
};

/* PAUSE from the switch, to it, and to and from the peer: written by pause.c. */
struct nic_pause {
	uint8_t paused; /* bit p: the switch paused class p */
	uint64_t paused_since_ps;
	uint8_t storm_mask, storm_ended, peer_xoff; /* classes */
	uint64_t storm_ps, storm_interval_ps, pausing_since_ps;
	uint64_t peer_until_ps[KERNEL_HOST_CLASSES];
	uint64_t refresh_ps; /* a PFC frame repeats the paused classes */
};

struct kernel_host_nic {
	struct port *port;
	struct link *tx;
	const uint32_t *ser_ps; /* [wire bytes] */
	uint16_t index;
	uint32_t ip;
	bool pfc;
	bool up; /* in this window there is a peer */
	struct to_host to_host;
	struct from_host from_host;
	struct nic_pause pause;
	/* rare */
	struct port_flows flows;
	struct telem_port telem;
	struct kernel_host_counters count;
};

struct kernel_host {
	struct node node; /* first: a struct node pointer to a kernel host is a pointer to this */
	struct kernel_host_config config;
	struct edge *edge;
	struct kernel_host_nic *nics; /* [node.nports] */
	struct telem_config telemetry;
	struct telem_reporter reporter;
	struct kernel_host *next; /* of the edge */
	bool has_telemetry;
	bool work_expected;
	uint64_t epoch_end_ps;
	struct window window; /* the present one */
};

static inline struct kernel_host *
kernel_host_of(struct node *node)
{
	return (struct kernel_host *)node;
}

/* to_host.c */
/* Frames have arrived over the link, in this order: what can be goes to the port at once. */
void kernel_host_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *pkts, uint32_t count);
/* Offers the host the held frames; then PAUSE or RESUME for the switch. */
void kernel_host_offer(struct kernel_host *host, struct kernel_host_nic *nic, uint64_t now_ps);
/* Queues a frame of the edge's own. @return false if there is no room */
bool kernel_host_own(struct kernel_host *host, struct kernel_host_nic *nic, const uint8_t *bytes, size_t size_bytes);
/* A packet toward the host ends here. */
void kernel_host_drop(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p, enum rec_drop reason);

/* The result of assigning a frame to a flow. */
enum kernel_host_place {
	KERNEL_HOST_PLACED,  /* p.flow, p.prio */
	KERNEL_HOST_REFUSED, /* for the given reason */
	KERNEL_HOST_WAITS,   /* for edge_settle() */
};
enum kernel_host_place kernel_host_place(struct kernel_host *host, const struct kernel_host_nic *nic, struct classified *c,
					 bool roce, enum edge_drop *why);

/* from_host.c */
/* May a frame start to leave then, with nothing before it? */
static inline bool
kernel_host_may_go(const struct kernel_host_nic *nic, uint8_t prio, uint64_t start_ps)
{
	return nic->from_host.staged == 0 && start_ps < nic->from_host.limit_ps && !(nic->pause.paused >> prio & 1);
}

/*
 * A frame of the host's is to be sent: now if nothing is before it, else it is queued. It has its bytes, or needs none.
 */
void kernel_host_stage(struct kernel_host *host, struct kernel_host_nic *nic, struct pkt *p);
/* Sends what starts before limit_ps. */
void kernel_host_send(struct kernel_host *host, struct kernel_host_nic *nic, uint64_t now_ps, uint64_t limit_ps);

/* pause.c */
/* Handles a PAUSE or RESUME of the switch. */
void kernel_host_pause(struct kernel_host *host, struct kernel_host_nic *nic, const struct pause_frame *frame);
/* Pauses these classes, and no others, from now_ps on. */
void kernel_host_hold(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t held, uint64_t now_ps);
/* Sends PAUSE or RESUME to the switch behind the frames that have been sent. */
void kernel_host_send_pause(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t prio_mask, bool xoff,
			    uint64_t now_ps);
/* Handles a PFC frame from the peer. */
void kernel_host_pfc_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const uint8_t *bytes,
			     size_t size_bytes);
/* Handles timers that are due in the window: storms, quanta that run out, refreshes. */
void kernel_host_pause_timers(struct kernel_host *host, struct kernel_host_nic *nic, const struct window *window);
/* @return when the next is due */
uint64_t kernel_host_pause_next_ps(const struct kernel_host_nic *nic);
/* Members of struct node_ops for kernel hosts. */
void kernel_host_storm(struct node *node, uint16_t nic, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
uint8_t kernel_host_pausing(const struct node *node, uint16_t nic);
void kernel_host_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps);
/* Classes that the switch is to hold, for any reason. */
uint8_t kernel_host_pauses(const struct kernel_host *host, const struct kernel_host_nic *nic);

/* Telemetry of the NIC. */
/* Rows of one flow are counted together until kernel_host_rows_end(). */
void kernel_host_row_first(struct kernel_host_nic *nic, const struct pkt *p);
void kernel_host_rows_count(struct kernel_host_nic *nic);
/* Counts a frame that arrives. */
static inline void
kernel_host_row(struct kernel_host_nic *nic, const struct pkt *p)
{
	if (nic->from_host.rows.packets == 0 || nic->from_host.rows_flow != p->flow ||
	    (nic->from_host.staged | nic->pause.paused) != 0 || p->prio == 0) {
		kernel_host_row_first(nic, p);
		return;
	}
	nic->from_host.rows.packets++;
	nic->from_host.rows.bytes += p->wire_bytes;
}

static inline void
kernel_host_rows_end(struct kernel_host_nic *nic)
{
	if (nic->from_host.rows.packets != 0)
		kernel_host_rows_count(nic);
}
/* Handlers of a NIC for a kind of control packet (common/control.h). */
struct kernel_host_control {
	/* A packet leaves this host; may set its arg. NULL: nothing to do */
	void (*leaves)(struct kernel_host *host, struct kernel_host_nic *nic, struct pkt *p, uint64_t now_ps);
	/* A frame that the NIC takes out arrives. NULL: the host gets it */
	void (*arrived)(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p);
};

extern const struct kernel_host_control kernel_host_control[PKT_TYPES];
