/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread blocks of a GPU, by what it has once alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "collectives/import/msccl.h"

/* @return false: the block has no such key */
static bool
key_of(const struct msccl_block *block, enum msccl_once once, uint64_t *key)
{
	int64_t peer = once == MSCCL_SEND ? block->send : block->recv;

	*key = once == MSCCL_ID ? (uint64_t)block->id : (uint64_t)block->chan << 32 | (uint64_t)(uint32_t)peer;
	return once == MSCCL_ID || peer >= 0;
}

static int
compare_keys(const void *a, const void *b)
{
	const struct msccl_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

int
msccl_blocks_index(struct msccl *m, const struct msccl_gpu *gpu)
{
	for (int once = 0; once < MSCCL_ONCE; once++) {
		struct msccl_key *keys = realloc(m->keys[once], (gpu->nblocks + 1) * sizeof(*keys));

		if (keys == NULL)
			return -ENOMEM;
		m->keys[once] = keys;
		m->nkeys[once] = 0;
		for (size_t b = gpu->first_block; b < gpu->first_block + gpu->nblocks; b++)
			if (key_of(&m->algo->blocks[b], once, &keys[m->nkeys[once]].key))
				keys[m->nkeys[once]++].block = (uint32_t)b;
		qsort(keys, m->nkeys[once], sizeof(*keys), compare_keys);
	}
	return 0;
}

void
msccl_blocks_fini(struct msccl *m)
{
	for (int once = 0; once < MSCCL_ONCE; once++) {
		free(m->keys[once]);
		m->keys[once] = NULL;
	}
}

/* @return the first block of the file with a key, NULL: there is none */
static const struct msccl_block *
find(const struct msccl *m, enum msccl_once once, uint64_t key)
{
	const struct msccl_key *keys = m->keys[once];
	size_t lo = 0, hi = m->nkeys[once];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (keys[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->nkeys[once] && keys[lo].key == key ? &m->algo->blocks[keys[lo].block] : NULL;
}

const struct msccl_block *
msccl_blocks_find(const struct msccl *m, int64_t id)
{
	return find(m, MSCCL_ID, (uint64_t)id);
}

/* Another block of the file before has what a GPU has once. */
static int
refuse_second(const struct msccl *m, const struct msccl_block *block, const struct msccl_block *other, enum msccl_once once)
{
	switch (once) {
	case MSCCL_ID:
		return msccl_fail(m, block->line, "tb %" PRId64 " stands in line %d already", block->id, other->line);
	case MSCCL_SEND:
		return msccl_fail(m, block->line,
				  "tb %" PRId64 " sends to gpu %" PRId64 " on channel %" PRId64 " as tb %" PRId64
				  " in line %d does",
				  block->id, block->send, block->chan, other->id, other->line);
	default:
		return msccl_fail(m, block->line,
				  "tb %" PRId64 " receives from gpu %" PRId64 " on channel %" PRId64 " as tb %" PRId64
				  " in line %d does: which message is whose cannot be told",
				  block->id, block->recv, block->chan, other->id, other->line);
	}
}

/* A sender's messages on a channel come in one order, and the receiver's take them in one: one thread block each. */
int
msccl_blocks_check(const struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_block *block)
{
	uint64_t key;

	if (block->send >= m->algo->ngpus || block->recv >= m->algo->ngpus)
		return msccl_fail(m, block->line, "tb %" PRId64 ": peer %" PRId64 "; there are %" PRId64 " gpus", block->id,
				  block->send >= m->algo->ngpus ? block->send : block->recv, m->algo->ngpus);
	if (block->send == gpu->id || block->recv == gpu->id)
		return msccl_fail(m, block->line, "tb %" PRId64 " of gpu %" PRId64 " has its own gpu for a peer", block->id,
				  gpu->id);
	for (int once = 0; once < MSCCL_ONCE; once++) {
		const struct msccl_block *other = key_of(block, once, &key) ? find(m, once, key) : block;

		if (other != block)
			return refuse_second(m, block, other, once);
	}
	return 0;
}
