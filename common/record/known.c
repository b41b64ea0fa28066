/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/record.h"

#define FIRST_CAP 64

/* @param count  at least 1  @return the new, zeroed elements; NULL with err */
static void *
grow_list(struct known_list *list, size_t size_bytes, uint32_t count, struct err *err)
{
	char *data = list->data;

	if (list->cap - list->count < count) {
		uint32_t cap = 2 * (list->count + count) > FIRST_CAP ? 2 * (list->count + count) : FIRST_CAP;

		data = realloc(list->data, cap * size_bytes);
		if (data == NULL) {
			err_set(err, -ENOMEM, "out of memory for %u described objects", cap);
			return NULL;
		}
		list->data = data;
		list->cap = cap;
	}
	memset(data + list->count * size_bytes, 0, count * size_bytes);
	list->count += count;
	return data + (list->count - count) * size_bytes;
}

const struct known_node *
known_node(const struct record_check *check, uint32_t node)
{
	return node < check->nodes.count ? (const struct known_node *)check->nodes.data + node : NULL;
}

struct known_port *
known_port(const struct record_check *check, uint32_t node, uint16_t port)
{
	return (struct known_port *)check->ports.data + known_node(check, node)->first_port + port;
}

const struct rec_ecmp *
known_last_set(const struct record_check *check)
{
	return check->sets.count != 0 ? (const struct rec_ecmp *)check->sets.data + check->sets.count - 1 : NULL;
}

const struct rec_ecmp *
known_set(const struct record_check *check, uint32_t set, uint32_t *count)
{
	const struct rec_ecmp *sets = check->sets.data;
	uint32_t lo = 0, hi = check->sets.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sets[mid].set < set)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (*count = 0; lo + *count < check->sets.count && sets[lo + *count].set == set;)
		++*count;
	return *count != 0 ? &sets[lo] : NULL;
}

/* @return the slot of a collective, or the free slot where it belongs: at most half of all slots are in use */
static uint32_t *
slot_of(const struct record_check *check, uint32_t id, uint32_t iteration)
{
	const struct known_collective *collectives = check->collectives.data;
	uint64_t hash = ((uint64_t)id << 32 | iteration) * 0x9e3779b97f4a7c15ULL;

	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		uint32_t *slot = &check->slots[i & (check->nslots - 1)];

		if (*slot == UINT32_MAX || (collectives[*slot].id == id && collectives[*slot].iteration == iteration))
			return slot;
	}
}

struct known_collective *
known_collective(struct record_check *check, uint32_t id, uint32_t iteration)
{
	struct known_collective *collectives = check->collectives.data;
	uint32_t slot;

	if (check->collectives.count == 0)
		return NULL;
	if (collectives[check->last].id == id && collectives[check->last].iteration == iteration)
		return &collectives[check->last];
	slot = *slot_of(check, id, iteration);
	if (slot == UINT32_MAX)
		return NULL;
	check->last = slot;
	return &collectives[slot];
}

/* Room for one more, half of all slots free. */
static int
make_slots(struct record_check *check, struct err *err)
{
	const struct known_collective *collectives = check->collectives.data;
	uint32_t nslots = check->nslots == 0 ? FIRST_CAP : 2 * check->nslots;
	uint32_t *slots;

	if (check->collectives.count < check->nslots / 2)
		return 0;
	slots = realloc(check->slots, nslots * sizeof(*slots));
	if (slots == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u collectives", nslots / 2);
	check->slots = slots;
	check->nslots = nslots;
	memset(slots, 0xff, nslots * sizeof(*slots));
	for (uint32_t i = 0; i < check->collectives.count; i++)
		*slot_of(check, collectives[i].id, collectives[i].iteration) = i;
	return 0;
}

static int
add_collective(struct record_check *check, const struct rec_collective *rec, struct err *err)
{
	struct known_collective *collective;
	int rc = make_slots(check, err);

	if (rc != 0)
		return rc;
	collective = grow_list(&check->collectives, sizeof(*collective), 1, err);
	if (collective == NULL)
		return -ENOMEM;
	check->last = check->collectives.count - 1;
	*slot_of(check, rec->id, rec->iteration) = check->last;
	*collective = (struct known_collective){ .id = rec->id,
						 .iteration = rec->iteration,
						 .ranks = rec->ranks,
						 .steps = rec->steps,
						 .rank_steps = rec->rank_steps };
	return 0;
}

static void
add_schedule(struct record_check *check, const struct rec_schedule *rec)
{
	struct known_collective *collective = known_collective(check, rec->collective, rec->iteration);

	collective->scheduled++;
	collective->promised += rec->depends;
}

static int
add_node(struct record_check *check, const struct rec_node *rec, struct err *err)
{
	uint32_t first_port = check->ports.count;
	struct known_node *node;

	if (rec->nports != 0 && grow_list(&check->ports, sizeof(struct known_port), rec->nports, err) == NULL)
		return -ENOMEM;
	node = grow_list(&check->nodes, sizeof(*node), 1, err);
	if (node == NULL)
		return -ENOMEM;
	*node = (struct known_node){ rec->kind == 1, (uint16_t)rec->nports, 0, first_port };
	return 0;
}

static void
add_port(struct record_check *check, const struct rec_port *rec)
{
	*known_port(check, rec->hdr.node, rec->port) = (struct known_port){ true, rec->peer_port, rec->peer, rec->ip };
	((struct known_node *)check->nodes.data)[rec->hdr.node].described++;
}

int
known_add(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	const void *r = rec;
	struct rec_ecmp *set;

	switch (rec->type) {
	case REC_RUN:
		check->has_run = true;
		check->epoch_ps = ((const struct rec_run *)r)->epoch_ps;
		return 0;
	case REC_NODE:
		return add_node(check, r, err);
	case REC_PORT:
		add_port(check, r);
		return 0;
	case REC_COLLECTIVE:
		return add_collective(check, r, err);
	case REC_SCHEDULE:
		add_schedule(check, r);
		return 0;
	case REC_DEPEND:
		known_collective(check, ((const struct rec_depend *)r)->collective,
				 ((const struct rec_depend *)r)->iteration)
			->depends++;
		return 0;
	case REC_ECMP:
		set = grow_list(&check->sets, sizeof(*set), 1, err);
		if (set == NULL)
			return -ENOMEM;
		memcpy(set, rec, sizeof(*set));
		return 0;
	default:
		return 0;
	}
}

void
known_fini(struct record_check *check)
{
	free(check->nodes.data);
	free(check->ports.data);
	free(check->collectives.data);
	free(check->sets.data);
	free(check->slots);
}
