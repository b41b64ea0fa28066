/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges the facts that each partition of a fabric has about its own nodes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/outputs/outputs.h"
#include "scenario/scenario.h"

/* Lists of facts about a port or a host, which an entry names by a key. */
static const struct section {
	const char *name, *list, *key;
	bool is_host;
} lists[] = {
	{ "run", "hosts", "host", true },
	{ "truth", "contentions", "port", false },
	{ "truth", "pauses", "port", false },
	{ "truth", "overtakings", "port", false },
};

#define LISTS (sizeof(lists) / sizeof(lists[0]))

json_t *
output_partition(const struct emulation *emulation)
{
	return json_pack("{s:o, s:o}", "run", output_run_own(emulation), "truth", output_truth_own(emulation));
}

/* @return the port or host of an entry; TOPO_NONE: it is about neither */
static uint32_t
place_of(const struct topo *topo, const struct section *of, const json_t *entry, uint32_t *node)
{
	const char *name = json_string_value(json_object_get(entry, of->key));
	uint32_t at = TOPO_NONE;

	if (name != NULL)
		at = of->is_host ? topo_find(topo, name) : topo_find_port(topo, name);
	if (at != TOPO_NONE)
		*node = of->is_host ? at : topo->ports[at].node;
	return at;
}

static int
check_list(const struct topo *topo, const uint32_t *partition_of, uint32_t partition, const struct section *of,
	   const json_t *list, struct err *err)
{
	const json_t *entry;
	uint32_t node;
	size_t i;

	if (list != NULL && !json_is_array(list))
		return err_set(err, -EPROTO, "REPORT: %s.%s is no list", of->name, of->list);
	json_array_foreach(list, i, entry)
		if (place_of(topo, of, entry, &node) == TOPO_NONE || partition_of[node] != partition)
			return err_set(err, -EPROTO, "REPORT: %s.%s[%zu].%s names no object of its partition", of->name,
				       of->list, i, of->key);
	return 0;
}

/* Of those that every run has. */
static int
check_invariants(const json_t *list, struct err *err)
{
	const json_t *entry;
	size_t i;

	if (json_array_size(list) != EMULATION_INVARIANTS)
		return err_set(err, -EPROTO, "REPORT: %zu invariants; right would be %d", json_array_size(list),
			       EMULATION_INVARIANTS);
	json_array_foreach(list, i, entry)
		if (!json_is_boolean(json_object_get(entry, "holds")) || !json_is_string(json_object_get(entry, "text")))
			return err_set(err, -EPROTO, "REPORT: run.invariants[%zu] has no \"holds\"", i);
	return 0;
}

/* No counter is below 0. */
static int
check_counts(const json_t *counts, const char *name, struct err *err)
{
	const json_t *value;
	const char *key;

	if (counts != NULL && !json_is_object(counts))
		return err_set(err, -EPROTO, "REPORT: run.%s is no table", name);
	json_object_foreach((json_t *)counts, key, value)
		if (!json_is_string(value) && (!json_is_integer(value) || json_integer_value(value) < 0))
			return err_set(err, -EPROTO, "REPORT: run.%s.%.32s is no number of anything", name, key);
	return 0;
}

/* Each of a run's partitions ends at the limit at the latest, or within a window of it. */
static uint64_t
longest_ns(const struct scenario *sc)
{
	return (sc->limits.virtual_time_ps + scenario_window_ps(sc)) / 1000;
}

int
output_partition_check(const struct emulation *emulation, const uint32_t *partition_of, uint32_t partition,
		       const json_t *reported, struct err *err)
{
	const json_t *run = json_object_get(reported, "run"), *truth = json_object_get(reported, "truth");
	const json_t *left_out = json_object_get(truth, "contentions_left_out"),
		     *length = json_object_get(run, "virtual_ns");
	int ret = check_invariants(json_object_get(run, "invariants"), err);

	if (ret == 0)
		ret = check_counts(json_object_get(run, "drops"), "drops", err);
	if (ret == 0)
		ret = check_counts(json_object_get(run, "transport"), "transport", err);
	if (ret == 0 && (!json_is_integer(length) || json_integer_value(length) < 0 ||
			 (uint64_t)json_integer_value(length) > longest_ns(emulation->scenario)))
		ret = err_set(err, -EPROTO, "REPORT: run.virtual_ns is no time of the run");
	if (ret == 0 && (!json_is_integer(left_out) || json_integer_value(left_out) < 0))
		ret = err_set(err, -EPROTO, "REPORT: truth.contentions_left_out is no number");
	for (size_t l = 0; l < LISTS && ret == 0; l++)
		ret = check_list(emulation->scenario->topo, partition_of, partition, &lists[l],
				 json_object_get(json_object_get(reported, lists[l].name), lists[l].list), err);
	return ret;
}

/*
 * Partitions end when they have received that all are done, each a little apart: the run's length is the longest of
 * theirs.
 */
static void
add_length(json_t *to, const json_t *from)
{
	if (to != NULL && json_integer_value(from) > json_integer_value(to))
		json_integer_set(to, json_integer_value(from));
}

/* A sum for each number that both have. */
static void
add_counts(json_t *to, const json_t *from)
{
	json_t *value;
	const char *key;

	json_object_foreach(to, key, value)
		if (json_is_integer(value))
			json_integer_set(value, json_integer_value(value) + json_integer_value(json_object_get(from, key)));
}

/* An invariant that fails in one partition fails in the fabric; that partition's text explains it. */
static void
add_invariants(json_t *to, const json_t *from)
{
	const json_t *theirs;
	size_t i;

	json_array_foreach(from, i, theirs)
		if (json_is_false(json_object_get(theirs, "holds")) &&
		    json_is_true(json_object_get(json_array_get(to, i), "holds")))
			json_object_update(json_array_get(to, i), (json_t *)theirs);
}

struct placed {
	uint32_t at;
	size_t index;
	json_t *entry;
};

static int
compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->index > y->index) - (x->index < y->index);
}

/* In the order of the topology, as one program has it. */
static void
sort_list(const struct topo *topo, const struct section *of, json_t *list)
{
	size_t count = json_array_size(list);
	struct placed *placed = calloc(count + 1, sizeof(*placed));
	uint32_t node;

	for (size_t i = 0; placed != NULL && i < count; i++) {
		json_t *entry = json_array_get(list, i);

		placed[i] = (struct placed){ place_of(topo, of, entry, &node), i, json_incref(entry) };
	}
	if (placed == NULL)
		return;
	qsort(placed, count, sizeof(*placed), compare);
	json_array_clear(list);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, placed[i].entry);
	free(placed);
}

static void
add(const struct emulation *emulation, const char *section, json_t *root, const json_t *reported)
{
	json_t *left_out = json_object_get(root, "contentions_left_out");

	add_length(json_object_get(root, "virtual_ns"), json_object_get(reported, "virtual_ns"));
	add_counts(json_object_get(root, "drops"), json_object_get(reported, "drops"));
	add_counts(json_object_get(root, "transport"), json_object_get(reported, "transport"));
	add_invariants(json_object_get(root, "invariants"), json_object_get(reported, "invariants"));
	if (left_out != NULL)
		json_integer_set(left_out, json_integer_value(left_out) +
						   json_integer_value(json_object_get(reported, "contentions_left_out")));
	for (size_t l = 0; l < LISTS; l++) {
		json_t *list = json_object_get(root, lists[l].list);

		if (strcmp(lists[l].name, section) != 0 || list == NULL)
			continue;
		json_array_extend(list, json_object_get(reported, lists[l].list));
		sort_list(emulation->scenario->topo, &lists[l], list);
	}
}

void
output_partition_add(const struct emulation *emulation, const char *section, json_t *root)
{
	const struct partition *partition = emulation->partition;

	for (uint32_t p = 0; partition != NULL && p < partition->count; p++) {
		const json_t *reported = partition->ops->reported(partition->ctx, p);

		if (reported != NULL)
			add(emulation, section, root, json_object_get(reported, section));
	}
}
