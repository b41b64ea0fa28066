/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/recmerge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

static void append(struct recmerge *merge, const struct rec_hdr *hdr);
static int compare(const void *a, const void *b);

void
recmerge_fini(struct recmerge *merge)
{
	free(merge->data);
	free(merge->refs);
	*merge = (struct recmerge){ 0 };
}

void
recmerge_add(struct recmerge *merge, struct recbuf *buf)
{
	for (size_t offset = 0; offset < buf->used_bytes;) {
		const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)(buf->data + offset);

		assert(hdr->size >= sizeof(*hdr) && hdr->size % 8 == 0 && hdr->size <= buf->used_bytes - offset);
		append(merge, hdr);
		offset += hdr->size;
	}
	buf->used_bytes = 0;
}

static void
append(struct recmerge *merge, const struct rec_hdr *hdr)
{
	merge->data = grow(merge->data, &merge->cap_bytes, merge->used_bytes + hdr->size, 1, "records");
	merge->refs = grow(merge->refs, &merge->cap_refs, merge->nrefs + 1, sizeof(*merge->refs), "records");
	merge->refs[merge->nrefs++] = (struct recmerge_ref){
		.time_ps = hdr->time_ps,
		.node = hdr->node,
		.seq = hdr->seq,
		.offset = merge->used_bytes,
	};
	memcpy(merge->data + merge->used_bytes, hdr, hdr->size);
	merge->used_bytes += hdr->size;
}

size_t
recmerge_sort(struct recmerge *merge, uint64_t before_ps)
{
	size_t count = 0;

	if (merge->nrefs > 1)
		qsort(merge->refs, merge->nrefs, sizeof(*merge->refs), compare);
	while (count < merge->nrefs && merge->refs[count].time_ps < before_ps)
		count++;
	return count;
}

static int
compare(const void *a, const void *b)
{
	const struct recmerge_ref *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

void
recmerge_consume(struct recmerge *merge, size_t count)
{
	struct recmerge rest = { 0 };

	assert(count <= merge->nrefs);
	if (count == 0)
		return;
	if (count == merge->nrefs) {
		merge->used_bytes = 0;
		merge->nrefs = 0;
		return;
	}
	for (size_t i = count; i < merge->nrefs; i++)
		append(&rest, recmerge_at(merge, i));
	recmerge_fini(merge);
	*merge = rest;
}
