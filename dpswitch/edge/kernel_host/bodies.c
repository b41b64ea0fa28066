/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/kernel_host/bodies.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dpswitch/edge/frame/frame.h"

static void
release(struct bodies *bodies, const struct pkt *p)
{
	rte_pktmbuf_free(body_take((struct body_table *)bodies, p));
}

static bool
read_body(const struct bodies *bodies, uint32_t handle, struct body *body)
{
	const struct rte_mbuf *mbuf = body_mbuf((const struct body_table *)bodies, handle);
	struct frame f;

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

/* Of all memory that pools have. */
struct span {
	uintptr_t first, end;
};

static void
add_chunk(struct rte_mempool *pool, void *ctx, struct rte_mempool_memhdr *chunk, unsigned index)
{
	struct span *span = ctx;
	uintptr_t first = (uintptr_t)chunk->addr, end = first + chunk->len;

	(void)pool;
	(void)index;
	span->first = first < span->first ? first : span->first;
	span->end = end > span->end ? end : span->end;
}

static void
add_pool(struct rte_mempool *pool, void *ctx)
{
	rte_mempool_mem_iter(pool, add_chunk, ctx);
}

int
body_table_init(struct body_table *table, const struct flow_table *flows)
{
	struct span span = { UINTPTR_MAX, 0 };

	rte_mempool_walk(add_pool, &span);
	*table = (struct body_table){
		.base.ops = &ops,
		.origin = span.first & ~(((uintptr_t)1 << BODY_ALIGN_SHIFT) - 1),
		.flows = flows,
		.in_flight = calloc(flows->spares, sizeof(*table->in_flight)),
	};
	if (table->in_flight == NULL)
		return -ENOMEM;
	return span.end == 0 || (span.end - table->origin) >> BODY_ALIGN_SHIFT <= UINT32_MAX ? 0 : -ERANGE;
}

void
body_table_fini(struct body_table *table)
{
	free(table->in_flight);
	*table = (struct body_table){ 0 };
}
