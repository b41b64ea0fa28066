/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of an external host, shared by external*.c. */
#pragma once

#include <stddef.h>

#include "dpswitch/edge/external/bodies.h"
#include "dpswitch/edge/external/external.h"
#include "dpswitch/edge/external/lookup.h"
#include "dpswitch/edge/external/memo.h"
#include "dpswitch/queue/fifo.h"
#include "telemetry/host_poll.h"

#define EXTERNAL_CLASSES 8
/* Frames that wait in a NIC to enter the fabric; beyond, the host's own ring holds them. */
#define EXTERNAL_STAGE 256
/* So many frames ahead of the one that is looked at are fetched into the cache. */
#define EXTERNAL_AHEAD 4
/* ARP replies and PFC frames that wait for the host's ring. */
#define EXTERNAL_OWN 64
/* Held toward a host before PAUSE, by default. */
#define EXTERNAL_HOLD_BYTES (256 * 1024)
/* Frames that are built at once: for the hosts of a run together. */
#define EDGE_BUILT 1023

struct edge {
	struct edge_config config;
	struct body_table bodies;
	struct lookup lookup;
	struct external *hosts;      /* of the fabric */
	struct rte_mempool *pool;    /* frames that are built here: ports' own stay free for what comes in */
	struct rte_mempool *adopted; /* frames of other parts; NULL: there are none */
};

struct external_nic {
	struct port *port;
	struct link *tx;
	const uint32_t *ser_ps; /* [wire bytes] */
	uint16_t index;
	uint32_t ip;
	bool pfc;
	bool up; /* in this window there is a peer */
	/* toward the host */
	struct fifo hold;                   /* arrived, not yet taken */
	struct rte_mbuf *ready[PORT_BURST]; /* the bytes of the first nready of them */
	uint32_t nready;
	struct rte_mbuf *own[EXTERNAL_OWN]; /* [nown] go first */
	uint32_t nown;
	uint64_t xoff_bytes, xon_bytes, limit_bytes;
	bool xoff; /* the switch was told to stop because of them */
	/* from the host */
	struct memo memo;
	struct telem_batch rows; /* of the last frames of one flow: packets 0: none */
	uint32_t rows_flow;
	struct fifo stage[EXTERNAL_CLASSES];
	uint32_t staged; /* frames in all of them */
	struct rte_mbuf
		*waiting[PORT_BURST]; /* [nwaiting] the first is of a flow that nobody planned; the others came behind it */
	uint32_t nwaiting, nsettled;  /* of the first nsettled, all that could be was done */
	uint64_t free_ps;             /* the link has sent the last frame */
	uint64_t now_ps, limit_ps;    /* frames may start to leave from here on, until then */
	uint8_t turn;                 /* class served last */
	uint8_t paused;               /* bit p: the switch paused class p */
	uint64_t paused_since_ps;
	/* PAUSE to the switch, and to and from the peer */
	uint8_t storm_mask, storm_ended, peer_xoff; /* classes */
	uint64_t storm_ps, storm_interval_ps, pausing_since_ps;
	uint64_t peer_until_ps[EXTERNAL_CLASSES];
	uint64_t refresh_ps; /* a PFC frame repeats what is paused */
	/* rare */
	struct port_flows flows;
	struct telem_port telem;
	struct external_counters count;
};

struct external {
	struct node node; /* first: a struct node pointer to an external host is a pointer to this */
	struct external_config config;
	struct edge *edge;
	struct external_nic *nics; /* [node.nports] */
	struct telem_config telemetry;
	struct telem_reporter reporter;
	struct external *next; /* of the edge */
	bool has_telemetry;
	bool work_expected;
	uint64_t epoch_end_ps;
	struct window window; /* the present one */
};

static inline struct external *
external_of(struct node *node)
{
	return (struct external *)node;
}

/* external_out.c: toward the host */
/* Frames have arrived over the link, in this order: what can be goes to the port at once. */
void external_arrived(struct external *host, struct external_nic *nic, const struct pkt *pkts, uint32_t count);
/* Offers the host what is held for it; then PAUSE or RESUME for the switch. */
void external_offer(struct external *host, struct external_nic *nic, uint64_t now_ps);
/* Queues a frame of the edge's own. @return false if there is no room */
bool external_own(struct external *host, struct external_nic *nic, const uint8_t *bytes, size_t size_bytes);
/* A packet toward the host ends here. */
void external_drop(struct external *host, struct external_nic *nic, const struct pkt *p, enum rec_drop reason);

/* external_flows.c: whose a frame is */
enum external_place {
	EXTERNAL_PLACED,  /* p.flow, p.prio */
	EXTERNAL_REFUSED, /* for the reason said */
	EXTERNAL_WAITS,   /* for edge_settle() */
};
enum external_place external_place(struct external *host, const struct external_nic *nic, struct classified *c, bool roce,
				   enum edge_drop *why);
/* The same of a frame that another part has let in. Between windows. @return whether it has p.flow, p.prio */
bool edge_place(struct edge *edge, struct classified *c, bool roce, uint64_t now_ps);

/* external_in.c: from the host */
/* May a frame start to leave then, with nothing in its way? */
static inline bool
external_may_go(const struct external_nic *nic, uint8_t prio, uint64_t start_ps)
{
	return nic->staged == 0 && start_ps < nic->limit_ps && !(nic->paused >> prio & 1);
}

/* A frame of the host's is to be sent: now if nothing is in its way, else it stands in line. It has its bytes, or needs none. */
void external_stage(struct external *host, struct external_nic *nic, struct pkt *p);
/* Sends what starts before limit_ps. */
void external_send(struct external *host, struct external_nic *nic, uint64_t now_ps, uint64_t limit_ps);

/* external_pause.c */
/* The switch says to stop or to go on. */
void external_pause(struct external *host, struct external_nic *nic, const struct pause_frame *frame);
/* From now_ps on these classes, and no others, are paused. */
void external_hold(struct external *host, struct external_nic *nic, uint8_t held, uint64_t now_ps);
/* Sends PAUSE or RESUME to the switch behind what has been sent. */
void external_send_pause(struct external *host, struct external_nic *nic, uint8_t prio_mask, bool xoff, uint64_t now_ps);
/* The peer sent a PFC frame. */
void external_pfc_arrived(struct external *host, struct external_nic *nic, const uint8_t *bytes, size_t size_bytes);
/* What is due in the window: storms, quanta that run out, refreshes. */
void external_pause_timers(struct external *host, struct external_nic *nic, const struct window *window);
/* @return when the next is due */
uint64_t external_pause_next_ps(const struct external_nic *nic);
/* Of struct node_ops. */
void external_storm(struct node *node, uint16_t nic, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
uint8_t external_pausing(const struct node *node, uint16_t nic);
void external_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps);
/* Classes that the switch is told to hold, for whatever reason. */
uint8_t external_pauses(const struct external *host, const struct external_nic *nic);

/* external_rows.c: telemetry of the NIC */
/* Rows of one flow are counted together until external_rows_end(). */
void external_row_first(struct external_nic *nic, const struct pkt *p);
void external_rows_count(struct external_nic *nic);
/* A frame comes in. */
static inline void
external_row(struct external_nic *nic, const struct pkt *p)
{
	if (nic->rows.packets == 0 || nic->rows_flow != p->flow || (nic->staged | nic->paused) != 0 || p->prio == 0) {
		external_row_first(nic, p);
		return;
	}
	nic->rows.packets++;
	nic->rows.bytes += p->wire_bytes;
}

static inline void
external_rows_end(struct external_nic *nic)
{
	if (nic->rows.packets != 0)
		external_rows_count(nic);
}
void external_roll(struct external *host, uint64_t now_ps);
/* What a NIC does with control packets (common/control.h) of a kind. */
struct external_control {
	/* One leaves this host; may set its arg. NULL: nothing to do */
	void (*leaves)(struct external *host, struct external_nic *nic, struct pkt *p, uint64_t now_ps);
	/* One that the NIC takes out comes in. NULL: the host gets it */
	void (*arrived)(struct external *host, struct external_nic *nic, const struct pkt *p);
};

extern const struct external_control external_control[PKT_TYPES];
