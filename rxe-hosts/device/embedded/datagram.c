/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams of an embedded host: UD SENDs and control packets, out and in. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "common/wire/roce.h"
#include "rxe-hosts/device/embedded/host.h"

/* The UD QP of a NIC that sends and receives contents. */
struct ud_qp {
	struct ud_send send;
	uint32_t qpn;
	uint32_t room;     /* number of further datagrams */
	uint32_t reported; /* next, as of embedded_datagram_made() */
	uint64_t received;
	/*
	 * The PSN that is next, and that which was when the window began in which the last was taken: other lcores read
	 * them.
	 */
	_Atomic uint32_t next, begun;
	_Atomic uint64_t window; /* its index */
	/* Allocated when a PSN needs them first; then they stay. */
	struct ud_contents *chunks[UD_MAX_SLOTS / UD_CHUNK_SLOTS];
};

uint32_t
ud_slots_of(uint32_t nics)
{
	uint32_t slots = UD_MAX_SLOTS;

	while (slots > UD_MIN_SLOTS && (uint64_t)nics * slots * sizeof(struct ud_contents) > UD_SLOTS_BYTES)
		slots /= 2;
	return slots;
}

/* @return NULL: no memory, or none was made with such a PSN */
static struct ud_contents *
slot_of(const struct embedded_shared *shared, const struct ud_qp *ud, uint32_t psn)
{
	struct ud_contents *chunk = ud->chunks[psn % shared->ud_slots / UD_CHUNK_SLOTS];

	return chunk != NULL ? &chunk[psn % UD_CHUNK_SLOTS] : NULL;
}

static struct ud_contents *
make_slot(const struct embedded_shared *shared, struct ud_qp *ud, uint32_t psn)
{
	struct ud_contents **chunk = &ud->chunks[psn % shared->ud_slots / UD_CHUNK_SLOTS];

	if (*chunk == NULL)
		*chunk = calloc(UD_CHUNK_SLOTS, sizeof(**chunk));
	return slot_of(shared, ud, psn);
}

void
ud_qp_destroy(struct ud_qp *ud)
{
	for (uint32_t i = 0; ud != NULL && i < UD_MAX_SLOTS / UD_CHUNK_SLOTS; i++)
		free(ud->chunks[i]);
	free(ud);
}

/* Completes a control packet with the host's data, and reports it, before it leaves. NULL: nothing to do */
static void (*const leaves[PKT_TYPES])(struct host *host, struct nic *nic, struct pkt *p) = {
	[PKT_POLL] = host_poll_leaves,
};

static bool ud_qp_take(struct host *host, struct nic *nic, const struct pkt *p, struct datagram *datagram);

static int
post_ud(struct host *host, const struct datagram *datagram)
{
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	struct nic *nic = host_nic_of(host, datagram->flow, datagram->reply);
	struct pkt *slot = queue_slot(&nic->datagrams);
	int rc;

	if (slot == NULL)
		return -ENOSPC;
	if (nic->posted == NULL) {
		nic->posted = calloc(NIC_DATAGRAM_SLOTS, sizeof(*nic->posted));
		if (nic->posted == NULL)
			return -ENOMEM;
	}
	if (datagram->contents != NULL)
		rc = ud_qp_make(host, nic, datagram, slot);
	else
		rc = ud_send_make(&host->send[host_slot(host, datagram->flow)->send].ud, &host->params, datagram->flow,
				  flow->prio, datagram->bytes, datagram->arg, slot);
	if (rc != 0)
		return rc;
	nic->posted[nic->nposted % NIC_DATAGRAM_SLOTS] = *datagram;
	nic->posted[nic->nposted++ % NIC_DATAGRAM_SLOTS].contents = NULL;
	nic->datagrams.tail++;
	host->node.count.born_packets++;
	host->node.count.born_bytes += slot->wire_bytes;
	nic_schedule(host, nic);
	return 0;
}

int
host_post_datagram(struct device *dev, const struct datagram *datagram)
{
	struct host *host = host_of_device(dev);
	struct nic *nic = host_nic_of(host, datagram->flow, datagram->reply);
	struct pkt p = {
		.flow = datagram->flow,
		.id = datagram->id,
		.arg = datagram->arg,
		.wire_bytes = host->params.control_bytes,
		.type = datagram->type,
		.ttl = PKT_TTL_INIT,
	};

	assert((datagram->reply ? host_slot(host, datagram->flow)->dst_node : host_slot(host, datagram->flow)->src_node) ==
	       host->node.id);
	assert(!datagram->reply || (datagram->type == PKT_UD && datagram->contents != NULL));
	if (datagram->type == PKT_UD)
		return post_ud(host, datagram);
	if (control_of_type(datagram->type) == NULL)
		return -ENOTSUP;
	if (leaves[datagram->type] != NULL)
		leaves[datagram->type](host, nic, &p);
	if (!nic_control(host, nic, &p))
		return -ENOSPC;
	node_count_control(&host->node.count, &p);
	return 0;
}

void
host_datagram_left(struct host *host, struct nic *nic)
{
	struct datagram *datagram = &nic->posted[nic->nleft++ % NIC_DATAGRAM_SLOTS];

	if (!datagram->signaled || host->client.departed == NULL)
		return;
	datagram->left_ps = nic->free_ps;
	host->client.departed(host->client.ctx, datagram);
}

/* Receives a datagram by the QP of its flow, which reads no contents. */
static bool
take(struct host *host, const struct pkt *p)
{
	struct recv_qp *qp = &host->recv[host_slot(host, p->flow)->recv];
	struct recv_slot slot;

	return ud_recv_take(&qp->ud, &qp->rc.receives, p, &slot);
}

void
host_datagram_arrived(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct datagram datagram = {
		.flow = p->flow,
		.id = p->type == PKT_UD ? p->psn : p->id,
		.arg = p->arg,
		.bytes = p->payload_bytes,
		.type = p->type,
	};

	if (p->type == PKT_UD && !(ud_qp_sent(p) ? ud_qp_take(host, nic, p, &datagram) : take(host, p)))
		return;
	if (host->client.received != NULL)
		host->client.received(host->client.ctx, &datagram, host->now_ps);
}

/*
 * The UD QP of a NIC that sends and receives contents: one PSN sequence for all that it sends, to any destination.
 * Descriptors have no room for contents: contents stay in a ring at their sender, in the slot of the PSN. A slot is
 * written before its packet is on the cable, and read in later windows, on any lcore. No window writes a slot that may
 * be read in it: a sender makes a limited number of datagrams in one, and contents older than a limited number before
 * its start have expired. Expiry does not depend on the order of lcores.
 */

#define UD_FIRST_QPN 0x800000u /* flows' numbers are below */
#define UD_QPNS_A_HOST 64u     /* QP numbers of a host before two hosts share one */

static struct ud_qp **
place_of(const struct host *host, uint16_t nic)
{
	return &host->config.shared->ud_qps[host->config.topo->nodes[host->node.id].first_port + nic];
}

int64_t
host_ud_open(struct device *dev, uint16_t nic, uint32_t receives)
{
	struct host *host = host_of_device(dev);
	struct ud_qp **ud = place_of(host, nic);

	assert(nic < host->node.nports);
	if (*ud == NULL)
		*ud = calloc(1, sizeof(**ud));
	if (*ud == NULL)
		return -ENOMEM;
	(*ud)->qpn = UD_FIRST_QPN | ((host->node.id * UD_QPNS_A_HOST + host->ud_opened++) & (UD_FIRST_QPN - 1));
	(*ud)->room = receives;
	return (*ud)->qpn;
}

void
host_ud_receive(struct device *dev, uint16_t nic)
{
	(*place_of(host_of_device(dev), nic))->room++;
}

/* @return false: as many as a window may have */
static bool
has_slot(struct ud_qp *ud, uint64_t window)
{
	uint32_t psn = ud->send.psn;

	if (atomic_load_explicit(&ud->window, memory_order_relaxed) != window) {
		atomic_store_explicit(&ud->begun, psn, memory_order_relaxed);
		atomic_store_explicit(&ud->window, window, memory_order_release);
	}
	return ((psn - atomic_load_explicit(&ud->begun, memory_order_relaxed)) & PSN_MASK) < UD_WINDOW_SLOTS;
}

int
ud_qp_make(struct host *host, const struct nic *nic, const struct datagram *datagram, struct pkt *p)
{
	struct ud_qp *ud = *place_of(host, nic->index);
	struct ud_contents *kept;
	int rc;

	if (datagram->bytes > DEVICE_UD_BYTES)
		return -EINVAL;
	if (!has_slot(ud, host->window.index))
		return -ENOSPC;
	kept = make_slot(host->config.shared, ud, ud->send.psn);
	if (kept == NULL)
		return -ENOMEM;
	rc = ud_send_make(&ud->send, &host->params, datagram->flow, host->config.flows->flows[datagram->flow].prio,
			  datagram->bytes, 0, p);
	if (rc != 0)
		return rc;
	p->opcode = ROCE_UD_SEND_ONLY;
	p->wire_bytes = roce_ud_contents_bytes(&host->params, datagram->bytes);
	p->flags = (uint8_t)((datagram->reply ? PKT_REVERSE : 0) | (host->params.inband_bytes != 0 ? PKT_INT : 0));
	p->ttl = datagram->ttl != 0 ? datagram->ttl : PKT_TTL_INIT;
	*kept = (struct ud_contents){ .dst_qpn = datagram->qpn, .src_qpn = ud->qpn, .bytes = datagram->bytes };
	memcpy(kept->contents, datagram->contents, datagram->bytes);
	atomic_store_explicit(&ud->next, ud->send.psn, memory_order_release);
	return 0;
}

/* The PSN of the QP that was next when a window began. Who sees one of the window in next sees the window, too. */
static uint32_t
made_before(const struct ud_qp *ud, uint64_t window)
{
	uint32_t next = atomic_load_explicit(&ud->next, memory_order_acquire);

	if (atomic_load_explicit(&ud->window, memory_order_acquire) == window)
		return atomic_load_explicit(&ud->begun, memory_order_relaxed);
	return next;
}

const struct ud_contents *
ud_contents_of(const struct embedded_shared *shared, const struct pkt *p, uint64_t window)
{
	const struct flow_slot *slot = &shared->slots[p->flow];
	const struct ud_qp *ud;
	uint32_t age;

	if (!ud_qp_sent(p))
		return NULL;
	ud = shared->ud_qps[p->flags & PKT_REVERSE ? slot->dst_port : slot->src_port];
	if (ud == NULL)
		return NULL;
	age = (made_before(ud, window) - p->psn) & PSN_MASK;
	return age != 0 && age <= shared->ud_slots - UD_WINDOW_SLOTS ? slot_of(shared, ud, p->psn) : NULL;
}

size_t
embedded_datagram_get(const struct embedded_shared *shared, const struct pkt *p, uint8_t *bytes)
{
	/* No window runs: that which has ended is over. */
	const struct ud_contents *kept = p->type == PKT_UD ? ud_contents_of(shared, p, UINT64_MAX) : NULL;

	_Static_assert(sizeof(*kept) <= EMBEDDED_DATAGRAM_BYTES, "a datagram's contents");

	if (kept == NULL)
		return 0;
	memcpy(bytes, kept, sizeof(*kept));
	return sizeof(*kept);
}

bool
embedded_datagram_made(struct embedded_shared *shared, uint32_t port, uint32_t *next)
{
	struct ud_qp *ud = shared->ud_qps[port];

	if (ud == NULL || ud->send.psn == ud->reported)
		return false;
	*next = ud->reported = ud->send.psn;
	return true;
}

/* The QP of a NIC; of another program's, it is made here. @return NULL: no memory */
static struct ud_qp *
copy_of(struct embedded_shared *shared, uint32_t port)
{
	if (shared->ud_qps[port] == NULL)
		shared->ud_qps[port] = calloc(1, sizeof(struct ud_qp));
	return shared->ud_qps[port];
}

int
embedded_datagram_set_made(struct embedded_shared *shared, uint32_t port, uint32_t next)
{
	struct ud_qp *ud = copy_of(shared, port);

	if (ud == NULL)
		return -ENOMEM;
	atomic_store_explicit(&ud->next, next & PSN_MASK, memory_order_release);
	return 0;
}

/* Keeps the contents as if the sender had made them here. Consecutive PSNs tell the age of earlier contents. */
int
embedded_datagram_put(struct embedded_shared *shared, const struct pkt *p, const uint8_t *bytes, size_t size)
{
	const struct flow_slot *slot = &shared->slots[p->flow];
	struct ud_qp *ud = copy_of(shared, p->flags & PKT_REVERSE ? slot->dst_port : slot->src_port);
	struct ud_contents *kept;
	uint32_t next = (p->psn + 1) & PSN_MASK;

	if (ud == NULL)
		return -ENOMEM;
	if (!ud_qp_sent(p) || size != sizeof(*kept))
		return -EPROTO;
	kept = make_slot(shared, ud, p->psn);
	if (kept == NULL)
		return -ENOMEM;
	memcpy(kept, bytes, size);
	if (kept->bytes > DEVICE_UD_BYTES)
		return -EPROTO;
	if (((next - atomic_load_explicit(&ud->next, memory_order_relaxed)) & PSN_MASK) <= PSN_MASK / 2)
		atomic_store_explicit(&ud->next, next, memory_order_release);
	return 0;
}

const struct ud_contents *
ud_expired_contents_of(const struct embedded_shared *shared, const struct pkt *p, uint64_t window)
{
	struct pkt expired = *p;

	expired.flags ^= PKT_REVERSE;
	return ud_contents_of(shared, &expired, window);
}

void
host_expired_arrived(struct host *host, struct nic *nic, const struct pkt *p)
{
	const struct ud_contents *kept = ud_expired_contents_of(host->config.shared, p, host->window.index);
	struct datagram datagram = { .flow = p->flow, .arg = p->arg, .type = p->type, .reply = !(p->flags & PKT_REVERSE) };

	(void)nic;
	if (kept == NULL || host->client.received == NULL)
		return;
	datagram.contents = kept->contents;
	datagram.bytes = (uint16_t)kept->bytes;
	host->client.received(host->client.ctx, &datagram, host->now_ps);
}

/*
 * Takes a datagram that arrived for the NIC. @return false: it is dropped and counted. Else *datagram has its contents
 * and its sender's number
 */
static bool
ud_qp_take(struct host *host, struct nic *nic, const struct pkt *p, struct datagram *datagram)
{
	const struct ud_contents *kept = ud_contents_of(host->config.shared, p, host->window.index);
	struct ud_qp *ud = *place_of(host, nic->index);

	if (ud == NULL || kept == NULL || kept->dst_qpn != ud->qpn || ud->room == 0) {
		nic->datagram_drops[kept == NULL                             ? EMBEDDED_DATAGRAM_EXPIRED
				    : ud == NULL || kept->dst_qpn != ud->qpn ? EMBEDDED_DATAGRAM_UNKNOWN_QP
									     : EMBEDDED_DATAGRAM_UNPOSTED]++;
		return false;
	}
	ud->room--;
	ud->received++;
	datagram->contents = kept->contents;
	datagram->qpn = kept->src_qpn;
	datagram->reply = p->flags & PKT_REVERSE;
	datagram->int_header = p->flags & PKT_INT ? host_int(host, nic) : NULL;
	return true;
}
