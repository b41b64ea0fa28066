/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/segments.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

static void
release(struct bodies *bodies, const struct pkt *p)
{
	struct segments *segments = (struct segments *)bodies;
	bool used;

	assert(p->arg < segments->cap);
	used = atomic_exchange_explicit(&segments->slots[p->arg].used, false, memory_order_release);
	assert(used); /* else it was given back twice */
}

static bool
read_segment(const struct bodies *bodies, uint32_t handle, struct body *body)
{
	return segments_read((const struct segments *)bodies, handle, body);
}

static const struct body_ops ops = { release, read_segment };

void
segments_init(struct segments *segments)
{
	*segments = (struct segments){ .base.ops = &ops };
}

void
segments_fini(struct segments *segments)
{
	for (size_t i = 0; i < segments->cap; i++)
		free(segments->slots[i].bytes);
	free(segments->slots);
	free(segments->free);
	*segments = (struct segments){ 0 };
}

bool
segments_read(const struct segments *segments, uint32_t handle, struct body *body)
{
	if (handle >= segments->cap || !atomic_load_explicit(&segments->slots[handle].used, memory_order_relaxed))
		return false;
	*body = segments->slots[handle].body;
	return true;
}

uint32_t
segments_imm(const struct segments *segments, const struct pkt *p)
{
	return p->flags & PKT_BYTES ? segments->slots[p->arg].body.imm : p->arg;
}

/* Finds those that have been released, and makes more where these are few. Between windows. */
static void
refill(struct segments *segments)
{
	size_t cap = segments->cap;

	for (size_t i = cap; i-- > 0;)
		if (!atomic_load_explicit(&segments->slots[i].used, memory_order_acquire))
			segments->free[segments->nfree++] = (uint32_t)i;
	if (segments->nfree > cap / 2)
		return;
	segments->slots =
		grow(segments->slots, &segments->cap, cap + 1, sizeof(*segments->slots), "contents of other parts");
	segments->free = grow(segments->free, &segments->free_cap, segments->cap, sizeof(*segments->free), "their handles");
	memset(segments->slots + cap, 0, (segments->cap - cap) * sizeof(*segments->slots));
	for (size_t i = segments->cap; i-- > cap;)
		segments->free[segments->nfree++] = (uint32_t)i;
}

void
segments_put(struct segments *segments, struct pkt *p, const struct pkt_message *message, const struct flow *flow)
{
	struct segment *slot;
	uint32_t handle;

	if (segments->nfree == 0)
		refill(segments);
	handle = segments->free[--segments->nfree];
	slot = &segments->slots[handle];
	slot->bytes = grow(slot->bytes, &slot->cap_bytes, p->payload_bytes + 1u, 1, "contents of other parts");
	memcpy(slot->bytes, message->payload, p->payload_bytes);
	slot->body = (struct body){
		.opcode = p->opcode,
		.labelled = true,
		.dst_qpn = flow->dst_qpn,
		.src_qpn = flow->src_qpn,
		.imm = p->arg,
		.va = message->va,
		.dma_bytes = message->dma_bytes,
		.payload = slot->bytes,
		.payload_bytes = p->payload_bytes,
	};
	atomic_store_explicit(&slot->used, true, memory_order_relaxed);
	p->arg = handle;
	p->flags |= PKT_BYTES;
}
