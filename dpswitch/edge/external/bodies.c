/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/external/bodies.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "dpswitch/edge/frame/frame.h"

static void
release(struct bodies *bodies, uint32_t handle)
{
	uint16_t ip_at;

	rte_pktmbuf_free(body_take((struct body_table *)bodies, handle, &ip_at));
}

static bool
read_body(const struct bodies *bodies, uint32_t handle, struct body *body)
{
	const struct body_table *table = (const struct body_table *)bodies;
	const struct rte_mbuf *mbuf;
	struct frame f;

	assert(handle < table->cap && table->slots[handle].mbuf != NULL);
	mbuf = table->slots[handle].mbuf;
	if (frame_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &f) != FRAME_OK ||
	    f.kind != FRAME_ROCE)
		return false;
	*body = (struct body){
		.opcode = f.opcode,
		.syndrome = f.syndrome,
		.corrupt = f.corrupt,
		.dst_qpn = f.dst_qpn,
		.src_qpn = f.src_qpn,
		.imm = f.imm,
		.va = f.va,
		.rkey = f.rkey,
		.dma_bytes = f.dma_bytes,
		.payload = f.payload,
		.payload_bytes = f.payload_bytes,
	};
	return true;
}

static const struct body_ops ops = { release, read_body };

int
body_table_init(struct body_table *table, uint32_t cap, uint32_t flows)
{
	*table = (struct body_table){ .base.ops = &ops, .cap = cap, .nfree = cap };
	table->slots = calloc(cap, sizeof(*table->slots));
	table->free = calloc(cap, sizeof(*table->free));
	table->under_way = calloc(flows, sizeof(*table->under_way));
	if (table->slots == NULL || table->free == NULL || table->under_way == NULL) {
		body_table_fini(table);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cap; i++)
		table->free[i] = cap - 1 - i;
	return 0;
}

void
body_table_fini(struct body_table *table)
{
	for (uint32_t i = 0; table->slots != NULL && i < table->cap; i++)
		rte_pktmbuf_free(table->slots[i].mbuf);
	free(table->slots);
	free(table->free);
	free(table->under_way);
	*table = (struct body_table){ 0 };
}

uint32_t
body_put(struct body_table *table, struct rte_mbuf *mbuf, uint32_t flow, uint16_t ip_at)
{
	uint32_t handle;

	assert(table->nfree != 0);
	handle = table->free[--table->nfree];
	table->slots[handle] = (struct body_slot){ mbuf, flow, ip_at };
	table->under_way[flow]++;
	return handle;
}

struct rte_mbuf *
body_take(struct body_table *table, uint32_t handle, uint16_t *ip_at)
{
	struct body_slot *slot = &table->slots[handle];
	struct rte_mbuf *mbuf = slot->mbuf;

	assert(handle < table->cap && mbuf != NULL); /* else it was given back twice */
	*ip_at = slot->ip_at;
	slot->mbuf = NULL;
	table->under_way[slot->flow]--;
	table->free[table->nfree++] = handle;
	return mbuf;
}
