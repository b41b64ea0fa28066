/* SPDX-License-Identifier: BSD-3-Clause */
/* Records in order, each of those that replace each other once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"
#include "diag/collect/key.h"
#include "diag/collect/radix.h"

/* The last word between records of one key: time, node, sequence. */
static int
cmp_time(const struct rec_hdr *a, const struct rec_hdr *b)
{
	struct rec_key key_a = key_time(a), key_b = key_time(b);
	int cmp = key_cmp(&key_a, &key_b);

	return cmp != 0 ? cmp : memcmp(a, b, a->size);
}

/* Records of one array, and what orders them. */
struct order {
	char *data;
	size_t size_bytes;
	key_fn *key;
	bool replace; /* the last of a key replaces those before it */
};

static const struct rec_hdr *
record(const struct order *o, uint32_t i)
{
	return (const struct rec_hdr *)(const void *)(o->data + o->size_bytes * i);
}

static int
cmp_record(const struct order *o, uint32_t a, uint32_t b)
{
	struct rec_key key_a = o->key(record(o, a)), key_b = o->key(record(o, b));
	int cmp = key_cmp(&key_a, &key_b);

	return cmp != 0 ? cmp : cmp_time(record(o, a), record(o, b));
}

static int
cmp_item(const void *pa, const void *pb, void *order)
{
	return cmp_record(order, ((const struct radix_item *)pa)->index, ((const struct radix_item *)pb)->index);
}

static bool
is_same_key(const struct order *o, uint32_t a, uint32_t b)
{
	struct rec_key key_a = o->key(record(o, a)), key_b = o->key(record(o, b));

	return key_cmp(&key_a, &key_b) == 0;
}

/* Is every record where it belongs, and none to be replaced? */
static bool
is_settled(const struct order *o, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		if (cmp_record(o, i - 1, i) > 0 || (o->replace && is_same_key(o, i - 1, i)))
			return false;
	}
	return true;
}

/* What the words of the items leave open. */
static void
sort_ties(struct order *o, struct radix_item *items, uint32_t count)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1;
		     end < count && items[end].key[0] == items[first].key[0] && items[end].key[1] == items[first].key[1];
		     end++)
			;
		if (end - first > 1)
			qsort_r(&items[first], end - first, sizeof(*items), cmp_item, o);
	}
}

/* Keeps the last record of each key. @return how many are kept */
static uint32_t
keep_last(const struct order *o, struct radix_item *items, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i + 1 == count || items[i].key[0] != items[i + 1].key[0] || items[i].key[1] != items[i + 1].key[1] ||
		    !is_same_key(o, items[i].index, items[i + 1].index))
			items[kept++] = items[i];
	}
	return kept;
}

#define AHEAD 16 /* records asked of the memory before their turn */

static void
gather(const struct order *o, const struct radix_item *items, uint32_t count, char *to)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(record(o, items[i + AHEAD].index));
		memcpy(to + o->size_bytes * i, record(o, items[i].index), o->size_bytes);
	}
}

static int
sort(struct ev_vec *vec, struct order o, struct err *err)
{
	struct radix_item *items, *sorted;
	void *data;

	if (is_settled(&o, vec->count))
		return 0;
	items = malloc(2 * sizeof(*items) * vec->count);
	data = malloc(vec->cap * o.size_bytes);
	if (items == NULL || data == NULL) {
		free(items);
		free(data);
		return err_set(err, -ENOMEM, "out of memory to sort %u records", vec->count);
	}
	for (uint32_t i = 0; i < vec->count; i++) {
		struct rec_key key = o.key(record(&o, i));

		items[i] = (struct radix_item){ { key.word[0], key.word[1] }, i };
	}
	sorted = radix_sort(items, items + vec->count, vec->count);
	sort_ties(&o, sorted, vec->count);
	if (o.replace)
		vec->count = keep_last(&o, sorted, vec->count);
	gather(&o, sorted, vec->count, data);
	free(items);
	free(vec->data);
	vec->data = data;
	return 0;
}

int
evidence_dedup(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err)
{
	key_fn *key = key_of(type);

	return key != NULL ? sort(vec, (struct order){ vec->data, size_bytes, key, true }, err) : 0;
}

int
evidence_sort(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err)
{
	return key_of(type) != NULL ? evidence_dedup(vec, type, size_bytes, err)
				    : sort(vec, (struct order){ vec->data, size_bytes, key_time, false }, err);
}

int
evidence_sort_states(struct ev_vec *vec, struct err *err)
{
	return sort(vec, (struct order){ vec->data, sizeof(struct rec_port_row), key_state, true }, err);
}

int
evidence_sort_flow_states(struct ev_vec *vec, struct err *err)
{
	return sort(vec, (struct order){ vec->data, sizeof(struct rec_flow_row), key_flow_state, false }, err);
}
