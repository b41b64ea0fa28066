/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An embedded host and its NICs. A window is run by run.c, event by event: nic.c decides what a NIC sends and when,
 * arrive.c what an arrival means to the transport, datagram.c what leaves and arrives beside the QPs, poll.c what polling
 * packets ask of a NIC; embedded.c makes the host and is its device. Each calls the others by the functions below.
 */
#pragma once

#include <stddef.h>

#include "common/wire/roce.h"
#include "dpswitch/truth/port_truth.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "rxe-hosts/roce/rc_recv.h"
#include "rxe-hosts/roce/rc_send.h"
#include "rxe-hosts/roce/selective.h"
#include "rxe-hosts/roce/ud.h"
#include "telemetry/pause_count.h"
#include "telemetry/port.h"

/* Control packets that wait for a port. Beyond, ACKs and NAKs are withheld and others dropped; both are counted. */
#define NIC_CONTROL_SLOTS 1024
/* Datagrams that wait for a port. */
#define NIC_DATAGRAM_SLOTS 64
/*
 * Datagrams of a NIC whose contents are kept: these less the maximum of one window, by the number of NICs. One that waits
 * in queues while its sender makes more is dropped on arrival, which no real NIC does: as many as the memory allows.
 */
#define UD_MAX_SLOTS 32768
#define UD_MIN_SLOTS 1024
#define UD_SLOTS_BYTES (64U << 20) /* of all NICs together, if each keeps more than UD_MIN_SLOTS */
#define UD_CHUNK_SLOTS 1024        /* that are allocated at once */
#define UD_WINDOW_SLOTS 256
/* Window argument of ud_contents_of() while no window runs. */
#define UD_BETWEEN_WINDOWS UINT64_MAX

struct flow_slot {
	uint32_t src_node, dst_node;
	uint32_t send;               /* index of its QP on the source host */
	uint32_t recv;               /* on the destination host */
	uint32_t src_port, dst_port; /* global ids of its NICs */
};

/* The contents of a UD SEND; they are kept at the sender. */
struct ud_contents {
	uint32_t dst_qpn, src_qpn;
	uint32_t bytes;
	uint8_t contents[DEVICE_UD_BYTES];
};

struct ud_qp; /* of datagram.c: the UD QP of a NIC that sends and receives contents */

struct embedded_shared {
	struct flow_slot *slots; /* [flows] */
	uint32_t *first_of;      /* [nodes + 1] of each host, in flows_of */
	uint32_t *flows_of;      /* planned flows that it sends or receives, by number */
	uint32_t nports;
	uint32_t ud_slots;     /* of each NIC: a power of two, as the number of PSNs is, which wrap */
	struct ud_qp **ud_qps; /* [nports] of hosts' NICs; NULL: none was opened. Their own host's, but sent: any host's */
	const struct rc_send *
		*senders; /* [flows] whose messages packets with payload belong to; NULL: of no embedded host */
};

struct send_qp {
	struct rc_send rc;
	uint32_t flow;
	struct telem_batch batch; /* since the window's start */
	uint32_t ahead;           /* packets of others that left since this QP's next packet could have */
	uint32_t bit;             /* index on its NIC */
	uint16_t nic;
	uint64_t held_ps;  /* how long pauses, now over, delayed it since it last sent; for the run's truth alone */
	bool saw_pause;    /* the next packet could have left while the port was paused */
	uint64_t ready_ps; /* when its bit in nic->ready was set */
	struct ud_send ud;
};

struct recv_qp {
	struct rc_recv rc;
	uint16_t nic;         /* answers leave by, where the host is bonded */
	struct sel_recv *sel; /* where packets may arrive in any order; else NULL */
	struct ud_recv ud;
	const uint8_t *payload; /* of the current message, at its sender; NULL: synthetic */
	uint8_t *gathered;      /* of a kernel host's message, unidentified before its last segment; NULL: never one */
	uint64_t gathered_cap;
};

/* Packets in order, emptied often: positions start over whenever it is empty, so that the cache stays warm. */
struct pkt_queue {
	struct pkt *pkts;        /* [cap] */
	struct int_header *ints; /* [cap] beside those with PKT_INT, where inband */
	uint32_t head, tail, cap;
	uint32_t most; /* cap at most, which is 0 before the first packet */
	bool inband;
};

/* Effects of faults on a NIC. */
struct nic_faults {
	uint8_t failures; /* enum nic_failure */
	uint8_t pausing;  /* classes that it pauses because DMA does not keep up */
	struct nic_dma dma[NIC_DMA_CAUSES];
	uint64_t dma_free_ps;        /* when the last frame taken in is in memory, except for the delay */
	uint64_t handed_ps;          /* when the host knew of it */
	uint64_t slow_ps;            /* how much longer than at the line's rate its frames took to leave, in sum */
	const uint32_t *line_ser_ps; /* [wire bytes] at the line's rate, while its cable runs at a lower one; else NULL */
	uint64_t cable_ps;           /* how much longer the last frame took by that */
	uint64_t faulty_packets;
};

struct nic {
	/* touched by every packet */
	_Alignas(64) uint64_t tx_ps; /* when the next frame starts to leave; TIME_NEVER: nothing to send */
	uint64_t free_ps;            /* when the last frame has left */
	const uint32_t *ser_ps;      /* [wire bytes] */
	struct link *tx;
	struct pkt_queue control;
	uint64_t *ready;      /* bit per QP: rc_send_ready() at the last check */
	uint64_t *sent;       /* bit per QP: sent in this window */
	struct send_qp **qps; /* [nqps] */
	uint32_t nqps, nready;
	uint32_t last[2]; /* QP that sent last, of those that share and of strict classes: round robin goes on behind it */
	uint16_t index;
	uint8_t paused;                      /* bit p: the peer paused class p */
	bool ailing;                         /* it fails, or its DMA is slow or not drained: nic_faults */
	struct pkt *arrivals, *arrivals_end; /* of this window, not yet handled */
	const struct pause_frame *pauses, *pauses_end;
	uint32_t narrived, npauses; /* of this window, to be consumed at its end */
	/* rare */
	struct pkt_queue datagrams;
	struct datagram *posted; /* [NIC_DATAGRAM_SLOTS] as those in the queue were, in order; NULL: none was ever */
	uint32_t nposted, nleft; /* counted */
	uint64_t cnp_next_ps;    /* no CNP earlier, where they are spaced by port */
	uint64_t storm_ps, storm_interval_ps; /* next PAUSE of a storm */
	uint64_t pausing_since_ps[8];         /* of class p, while bit p of storm_mask is set */
	struct pause_count pauses_held[8];    /* by class: since_ps is valid while bit p of paused is set */
	uint8_t storm_mask, storm_ended;      /* classes stormed; to RESUME */
	struct nic_faults nic_faults;
	struct port_flows flows;
	struct telem_port telem;
	struct port_truth truth;
	struct truth_window contention; /* in progress; depth: most packets of other flows that one waited for */
	uint64_t datagram_drops[EMBEDDED_DATAGRAM_REASONS];
};

struct host {
	struct node node; /* first: a struct node pointer to a host is a pointer to this */
	struct device dev;
	struct device_client client;
	struct roce_params params; /* a copy beside the fields of its users */
	struct embedded_config config;
	struct telem_config telemetry;
	struct telem_reporter reporter;
	bool has_telemetry; /* rows, and the run's truth */
	bool work_expected;
	bool bonded;
	struct nic *nics;     /* [node.nports] */
	struct send_qp *send; /* [nsend] */
	struct recv_qp *recv; /* [nrecv] */
	uint32_t nsend, nrecv;
	uint32_t open;        /* messages posted and not completed */
	struct window window; /* the present one */
	uint64_t now_ps;
	uint64_t timer_ps; /* the earliest of the next three */
	uint64_t client_timer_ps;
	uint64_t rto_ps; /* no timeout is due earlier */
	uint64_t storm_ps;
	uint64_t epoch_end_ps;
	const uint8_t *region;
	uint64_t region_bytes;
	uint32_t *waiting; /* [nsend] scratch for reports */
	uint64_t cnps_sent, acks_withheld, pauses_received, misdelivered;
	/* Datagrams with contents: to an unknown QP; in flight longer than contents are kept. */
	uint32_t ud_opened; /* QPs so far */
	bool frozen;        /* a fault's: nothing happens here */
};

static inline struct host *
host_of(struct node *node)
{
	return (struct host *)node;
}

static inline struct host *
host_of_device(const struct device *dev)
{
	return (struct host *)((uintptr_t)dev - offsetof(struct host, dev));
}

static inline const struct flow_slot *
host_slot(const struct host *host, uint32_t flow)
{
	return &host->config.shared->slots[flow];
}

/* The NIC by which a host sends a flow: its source's, or its destination's in the reverse direction. */
static inline struct nic *
host_nic_of(const struct host *host, uint32_t flow, bool back)
{
	const struct flow_slot *slot = host_slot(host, flow);

	return &host->nics[back ? host->recv[slot->recv].nic : host->send[slot->send].nic];
}

/* The telemetry of the packet that has just arrived; its handlers may use a copy. */
static inline struct int_header *
host_int(const struct host *host, const struct nic *nic)
{
	return link_int(host->node.rx[nic->index], nic->arrivals - 1);
}

/* Responses leave by the port where the data arrived; those of a bond by the port that it selects for them. */
static inline struct nic *
host_answering(const struct host *host, struct nic *nic, const struct pkt *p)
{
	return __builtin_expect(host->bonded, 0) ? host_nic_of(host, p->flow, true) : nic;
}

/* Links of a bonded host's members went down or up: its QPs go over to those that are up. */
void host_rebond(struct host *host);

/* nic.c: sending, and NICs that faults make fail or slow */
/* Decides when the port sends next; called after every change of the packets that it could send. */
void nic_schedule(const struct host *host, struct nic *nic);
/* Sends the frame that tx_ps is for. */
void nic_transmit(struct host *host, struct nic *nic);
/*
 * Moves the queued packets to the front, or to a wider array. Ends the program when out of memory.
 * @return false if the queue is full
 */
bool queue_compact(struct pkt_queue *q);
/* Queues a control packet. @return false if there is no room: the packet is dropped and counted */
bool nic_control(struct host *host, struct nic *nic, const struct pkt *p);
/* Handles a PAUSE or RESUME of the peer. */
void nic_pause(struct host *host, struct nic *nic, const struct pause_frame *frame);
/* Charges the time of a QP that could have sent up to to_ps: the port was slow, or sent others' frames. */
void nic_account(const struct nic *nic, const struct send_qp *qp, struct ledger *ledger, uint64_t to_ps);
/* Pauses these classes, and no others, from host->now_ps on. */
void nic_hold(struct host *host, struct nic *nic, uint8_t held);
/* Sends the frames that a storm, or its end, has due. */
void nic_storm(struct host *host, struct nic *nic);

/* @return the place for a queue's next packet, which counts once tail has moved past it; NULL: no room */
static inline struct pkt *
queue_slot(struct pkt_queue *q)
{
	if (__builtin_expect(q->tail == q->cap, 0) && !queue_compact(q))
		return NULL;
	return &q->pkts[q->tail];
}

/* Queues the control packet (ACK, NAK, CNP, polling, notification) made in the slot of nic->control. */
static inline void
nic_control_send(struct host *host, struct nic *nic)
{
	host->node.count.born_packets++;
	host->node.count.born_bytes += nic->control.pkts[nic->control.tail++].wire_bytes;
	nic->tx_ps = nic->free_ps > host->now_ps ? nic->free_ps : host->now_ps;
}

/* Looks again whether a QP may send. @param always  schedule the port even if nothing changed */
static inline void
qp_look(const struct host *host, struct send_qp *qp, bool always)
{
	struct nic *nic = &host->nics[qp->nic];
	uint64_t *word = &nic->ready[qp->bit / 64], bit = 1ULL << (qp->bit % 64);
	bool ready = rc_send_ready(&qp->rc), was = (*word & bit) != 0;

	if (ready != was) {
		*word ^= bit;
		qp->ready_ps = host->now_ps;
		nic->nready += ready ? 1 : UINT32_MAX;
	} else if (!always) {
		return;
	}
	nic_schedule(host, nic);
}

/* arrive.c: one packet arrived at host->now_ps */
void host_arrive(struct host *host, struct nic *nic, const struct pkt *p);
/* A packet other than data is taken. */
void host_take_in(struct host *host, struct nic *nic, const struct pkt *p);
/* Completes the handling of a data packet: responses, completions. @param what  enum rc_reply bits */
void host_received(struct host *host, struct nic *nic, struct rc_recv *rc, const struct pkt *p, uint32_t what);
void host_drop(struct host *host, struct nic *nic, const struct pkt *p, enum rec_drop reason);

/*
 * Takes the frames that arrived by this window's end: leaves those in nic->arrivals that the host receives in it.
 * @return number of frames consumed
 */
uint32_t nic_receive_faulty(struct host *host, struct nic *nic);
void embedded_fail_nic(struct node *node, uint16_t nic, uint8_t failure, bool on);
void embedded_set_rate(struct node *node, uint16_t nic, uint64_t rate_bps, uint64_t now_ps);
void embedded_slow_nic(struct node *node, uint16_t nic, enum nic_dma_cause cause, const struct nic_dma *dma);
void embedded_freeze(struct node *node, bool on, uint64_t now_ps);
uint64_t embedded_nic_faulty(const struct node *node, uint16_t nic);

/* A data packet, where packets may arrive in any order. */
void host_arrive_any_order(struct host *host, struct nic *nic, const struct pkt *p, const struct body *body);

/* datagram.c */
int host_post_datagram(struct device *dev, const struct datagram *datagram);
/* The oldest in the queue of a NIC has left, at nic->free_ps. */
void host_datagram_left(struct host *host, struct nic *nic);
/* A UD SEND or a control packet for the host's program. */
void host_datagram_arrived(struct host *host, struct nic *nic, const struct pkt *p);

/* UD QPs that send and receive contents. */

/* @return how many datagrams each of so many NICs keeps the contents of, a power of two */
uint32_t ud_slots_of(uint32_t nics);
void ud_qp_destroy(struct ud_qp *ud); /* NULL: nothing to do */
int64_t host_ud_open(struct device *dev, uint16_t nic, uint32_t receives);
void host_ud_receive(struct device *dev, uint16_t nic);
/* Makes the packet of a datagram with contents. @return 0; -EINVAL; -ENOSPC: UD_WINDOW_SLOTS were made in this window */
int ud_qp_make(struct host *host, const struct nic *nic, const struct datagram *datagram, struct pkt *p);
/* @return whether a PKT_UD was sent by such a QP; those of flows have immediates, those from kernel hosts bytes */
static inline bool
ud_qp_sent(const struct pkt *p)
{
	return p->opcode == ROCE_UD_SEND_ONLY && (p->flags & PKT_BYTES) == 0;
}
/*
 * @return the contents of a packet, until the window with that index is over, or the next begins; NULL: it has none, or
 *         they are no longer kept
 */
const struct ud_contents *ud_contents_of(const struct embedded_shared *shared, const struct pkt *p, uint64_t window);

/* @return the contents of the expired packet that a PKT_EXPIRED quotes, else as ud_contents_of() */
const struct ud_contents *ud_expired_contents_of(const struct embedded_shared *shared, const struct pkt *p,
						 uint64_t window);
/* A datagram of this host ended at a switch. */
void host_expired_arrived(struct host *host, struct nic *nic, const struct pkt *p);

/* The message of a data packet: see rc_send_message(). @return NULL: unknown */
const struct rc_post *host_message_of(const struct embedded_shared *shared, const struct pkt *p);

/* A packet that arrived with its bytes, from a kernel host or another partition. */
void host_arrive_bytes(struct host *host, struct nic *nic, const struct pkt *p);

/* run.c: timers */
/* Recomputes timer_ps after one of its parts changed. */
void host_set_timers(struct host *host);
/* A QP has something outstanding, or its timeout became shorter. */
void host_watch(struct host *host, const struct send_qp *qp);
/* Puts a QP whose retries are spent into error. */
void host_fail_qp(struct host *host, struct send_qp *qp, const char *why);

/* embedded.c: telemetry and truth of the NIC ports */
/* Reports the packets sent since the window's start. */
void nic_flush(struct host *host, struct nic *nic);
/* A packet of a flow has left while one of another could have: the exact contention matrix. */
void nic_observe_ahead(struct nic *nic, uint32_t waiting, uint32_t left);
/* The peer pauses the port in nic->paused from now on. @param was  classes paused before */
void nic_observe_pause(struct host *host, struct nic *nic, uint8_t was);
/* A window begins that lies in another epoch than the previous one. */
void nic_observe_epoch(struct host *host, uint64_t now_ps);
const struct port_truth *embedded_truth(const struct node *node, uint16_t nic);

/* poll.c: polling packets */
/* A polling packet leaves this host, the victim's, which reports its own NIC port first. */
void host_poll_leaves(struct host *host, struct nic *nic, struct pkt *p);
void host_report_nic(struct device *dev, uint32_t flow);
void host_poll_arrived(struct host *host, struct nic *nic, const struct pkt *p);

/* run.c */
extern const struct node_ops embedded_node_ops;
/* embedded.c: of struct node_ops */
void embedded_destroy(struct node *node);
uint64_t embedded_dropped(const struct node *node, uint16_t nic, enum rec_drop reason);
void embedded_storm(struct node *node, uint16_t nic, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
uint8_t embedded_pausing(const struct node *node, uint16_t nic);
void embedded_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps);
void embedded_expect_work(struct node *node, bool expected);
/* The device interface. */
extern const struct device_ops embedded_device_ops;
