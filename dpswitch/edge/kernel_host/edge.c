/* SPDX-License-Identifier: BSD-3-Clause */
/* What the external hosts of a fabric share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/state.h"

const char *
edge_drop_name(enum edge_drop reason)
{
	static const char *const names[EDGE_DROP_REASONS] = {
		[EDGE_DROP_MALFORMED] = "malformed",
		[EDGE_DROP_MULTICAST] = "multicast",
		[EDGE_DROP_ARP] = "arp",
		[EDGE_DROP_SOURCE] = "source",
		[EDGE_DROP_DESTINATION] = "destination",
		[EDGE_DROP_NO_SLOT] = "no_slot",
		[EDGE_DROP_CONTROL] = "control",
		[EDGE_DROP_PFC] = "pfc",
		[EDGE_DROP_TOO_LONG] = "too_long",
		[EDGE_DROP_REPLY] = "reply",
	};

	return reason < EDGE_DROP_REASONS ? names[reason] : "unknown";
}

/* @return NULL with err set and rte_errno */
static struct rte_mempool *
make_pool(const char *name, uint32_t frames, uint32_t room_bytes, struct err *err)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		name, frames, 0, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes), (int)rte_socket_id());

	if (pool == NULL)
		err_set(err, -rte_errno, "no memory for %u frames of %u B (%s): give DPDK more (-m)", frames, room_bytes,
			rte_strerror(rte_errno));
	return pool;
}

struct edge *
edge_create(const struct edge_config *config, struct err *err)
{
	struct edge *edge = calloc(1, sizeof(*edge));
	uint32_t room_bytes = config->room_bytes != 0 ? config->room_bytes : PORT_FRAME_ROOM;
	int ret = -ENOMEM;

	if (edge == NULL)
		goto fail;
	edge->config = *config;
	if (config->adopted != 0) {
		edge->adopted = make_pool("adopted", config->adopted, room_bytes,
					  err); /* before handles are made of where pools lie */
		ret = edge->adopted != NULL ? ret : -rte_errno;
		if (edge->adopted == NULL)
			goto fail;
	}
	if (config->flows->spares == 0) {
		ret = err_set(err, -EINVAL, "external hosts need spare flow slots for what they send of their own accord");
		goto fail;
	}
	ret = body_table_init(&edge->bodies, config->flows);
	if (ret == -ERANGE)
		err_set(err, ret,
			"the ports' frames lie too far apart in memory: let DPDK have one page size only (--eal "
			"\"--single-file-segments -m ...\")");
	if (ret == 0)
		ret = lookup_init(&edge->lookup, config->topo, config->flows, config->idle_ps);
	if (ret < 0)
		goto fail;
	edge->pool = make_pool("edge", EDGE_BUILT, room_bytes, err);
	if (edge->pool != NULL)
		return edge;
	ret = -rte_errno;
fail:
	err_set(err, ret, "out of memory for the edge");
	edge_destroy(edge);
	errno = -ret;
	return NULL;
}

void
edge_destroy(struct edge *edge)
{
	if (edge == NULL)
		return;
	body_table_fini(&edge->bodies);
	lookup_fini(&edge->lookup);
	rte_mempool_free(edge->pool);
	rte_mempool_free(edge->adopted);
	free(edge);
}

struct bodies *
edge_bodies(struct edge *edge)
{
	return &edge->bodies.base;
}

/* A frame for a packet that never had bytes. */
static size_t
build(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct message_source *source = &edge->config.source;
	struct pkt_message message = { 0 };
	struct frame f;

	if (control_of_type(p->type) == NULL && p->type != PKT_CNP &&
	    (source->describe == NULL || !source->describe(source->ctx, p, &message)))
		return 0;
	frame_from_pkt(&f, p, &edge->config.flows->flows[p->flow], &message, false);
	return frame_build(&f, bytes, cap_bytes);
}

size_t
edge_frame(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct rte_mbuf *mbuf;
	size_t size_bytes;

	if (!(p->flags & PKT_BYTES))
		return build(edge, p, bytes, cap_bytes);
	mbuf = body_mbuf(&edge->bodies, p->arg);
	size_bytes = rte_pktmbuf_data_len(mbuf);
	if (size_bytes > cap_bytes)
		return 0;
	memcpy(bytes, rte_pktmbuf_mtod(mbuf, const uint8_t *), size_bytes);
	patch_frame(bytes, size_bytes, p);
	return size_bytes;
}

void
edge_sum(const struct edge *edge, struct edge_counters *sum)
{
	*sum = (struct edge_counters){
		.unplanned_flows = edge->lookup.taken,
		.unplanned_recycled = edge->lookup.recycled,
	};
}
