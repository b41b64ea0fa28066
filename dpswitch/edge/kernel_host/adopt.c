/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that cross from one part of a fabric to another: their bytes go along, and are judged again where they come in. */
#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "common/minmax.h"
#include "dpswitch/edge/kernel_host/state.h"

/* What a descriptor may have become since the frame came in. */
#define IN_FLIGHT (PKT_CE | PKT_CORRUPT)

size_t
edge_bytes(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct rte_mbuf *mbuf = body_mbuf(&edge->bodies, p->arg);
	size_t size_bytes = rte_pktmbuf_data_len(mbuf);

	if (size_bytes > cap_bytes)
		return 0;
	memcpy(bytes, rte_pktmbuf_mtod(mbuf, const uint8_t *), size_bytes);
	return size_bytes;
}

/* Both ends are hosts of the topology, and not the same. */
static bool
has_ends(const struct edge *edge, const struct tuple *tuple)
{
	uint32_t from, to;
	uint16_t at;

	return topo_find_nic(edge->config.topo, tuple->src_ip, &from, &at) &&
	       topo_find_nic(edge->config.topo, tuple->dst_ip, &to, &at) && from != to;
}

static int
keep(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(edge->adopted);

	if (mbuf == NULL)
		return -ENOBUFS;
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size_bytes), bytes, size_bytes);
	lookup_touch(&edge->lookup, p->flow, p->time_ps);
	p->arg = body_put(&edge->bodies, mbuf, p->flow);
	p->flags |= PKT_BYTES;
	return 0;
}

int
edge_adopt(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
	uint32_t room_bytes = rte_pktmbuf_data_room_size(edge->adopted) - RTE_PKTMBUF_HEADROOM;
	struct pkt original = *p;
	struct classified c;
	enum frame_class class;

	if (size_bytes > room_bytes)
		return err_set(err, -EPROTO, "%zu B of a frame; right would be %u at most", size_bytes, room_bytes);
	class = classify(bytes, size_bytes, &c);
	if ((class != CLASS_ROCE && class != CLASS_UNKNOWN) || !has_ends(edge, &c.tuple))
		return err_set(err, -EPROTO, "%zu B that are no frame between two hosts", size_bytes);
	if (!edge_place(edge, &c, class == CLASS_ROCE, original.time_ps))
		return -ENOSPC;
	*p = c.p;
	p->time_ps = original.time_ps;
	p->ttl = original.ttl;
	p->wire_bytes = (uint16_t)max_u64(c.p.wire_bytes, original.wire_bytes);
	p->flags |= original.flags & IN_FLIGHT;
	return keep(edge, p, bytes, size_bytes);
}
