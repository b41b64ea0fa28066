/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams of an embedded host: UD SENDs and control packets, out and in. */
#include <assert.h>
#include <errno.h>

#include "common/control.h"
#include "rxe-hosts/device/embedded/host.h"

/* What the host adds to a control packet, and tells, before it leaves. NULL: nothing */
static void (*const leaves[PKT_TYPES])(struct host *host, struct nic *nic, struct pkt *p) = {
	[PKT_POLL] = host_poll_leaves,
};

static int
post_ud(struct host *host, const struct datagram *datagram)
{
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	struct nic *nic = host_nic_of(host, datagram->flow, datagram->reply);
	struct pkt *slot = queue_slot(&nic->datagrams);
	int rc;

	if (slot == NULL)
		return -ENOSPC;
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

/* By the QP of its flow, which reads no contents. */
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
