/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/wire/record_hdr.h"

void
recbuf_init(struct recbuf *buf, uint32_t node)
{
	*buf = (struct recbuf){ .node = node, .digest = DIGEST_INIT };
}

void
recbuf_fini(struct recbuf *buf)
{
	free(buf->data);
	buf->data = NULL;
}

void
recbuf_put(struct recbuf *buf, void *rec, uint16_t type, size_t size_bytes, uint64_t time_ps)
{
	struct rec_hdr *hdr = rec;

	assert(size_bytes % 8 == 0 && size_bytes <= UINT16_MAX);
	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->node = buf->node;
	hdr->time_ps = time_ps;
	hdr->seq = buf->seq;
	recbuf_append(buf, rec);
}

void
recbuf_append(struct recbuf *buf, const void *rec)
{
	const struct rec_hdr *hdr = rec;

	assert(hdr->node == buf->node && hdr->seq == buf->seq);
	buf->seq++;
	buf->data = grow(buf->data, &buf->cap_bytes, buf->used_bytes + hdr->size, 1, "records");
	memcpy(buf->data + buf->used_bytes, rec, hdr->size);
	buf->used_bytes += hdr->size;
	if (!buf->discarded)
		buf->digest = digest_bytes(buf->digest, rec, hdr->size);
}

static size_t
size_at(const struct recbuf *buf, size_t at)
{
	return ((const struct rec_hdr *)(const void *)(buf->data + at))->size;
}

size_t
recbuf_front(const struct recbuf *buf, size_t most_bytes)
{
	size_t bytes = 0;

	while (bytes < buf->used_bytes && bytes + size_at(buf, bytes) <= most_bytes)
		bytes += size_at(buf, bytes);
	return bytes;
}

void
recbuf_take(struct recbuf *buf, size_t bytes)
{
	assert(bytes <= buf->used_bytes);
	buf->used_bytes -= bytes;
	if (buf->used_bytes != 0)
		memmove(buf->data, buf->data + bytes, buf->used_bytes);
}

uint32_t
recbuf_limit(struct recbuf *buf, size_t most_bytes)
{
	size_t keep = recbuf_front(buf, most_bytes);
	uint32_t dropped = 0;

	for (size_t at = keep; at < buf->used_bytes; at += size_at(buf, at))
		dropped++;
	buf->used_bytes = keep;
	return dropped;
}
