/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/record_hdr.h"
#include "workload/jobs/compute.h"

/* A host that may be taken. */
struct candidate {
	uint32_t node;
	uint32_t leaf;  /* number of its leaf, in the order of the topology's hosts */
	uint32_t index; /* among the candidates of its leaf */
	uint64_t draw;
};

static const struct cfg_choice kinds[] = {
	{ "packed", PLACE_PACKED, "one leaf after another is filled" },
	{ "spread", PLACE_SPREAD, "one host of every leaf, then a second of every leaf, and so on" },
	{ "random", PLACE_RANDOM, "hosts are drawn" },
	{ "one-per-leaf", PLACE_ONE_PER_LEAF, "the first free host of every leaf" },
	{ 0 },
};

#define AT(field) offsetof(struct placement, field)
static const struct cfg_field fields[] = {
	CFG_FIELD("kind", CFG_ENUM, AT(kind), .def = "packed", .choices = kinds,
		  .doc = "Order in which free hosts are taken; a leaf is the switch of a host's first NIC."),
	CFG_FIELD("count", CFG_INT, AT(count), .def = "0", .max = RECORD_MAX_NODES,
		  .doc = "Number of ranks; 0: as many as fit."),
	CFG_FIELD("nics", CFG_INT, AT(nics), .def = "1", .min = 1, .max = TOPO_MAX_NICS,
		  .doc = "Ranks per host, one per NIC: rank 0 is at NIC 1 of the first host, rank 1 at its NIC 2, ..."),
	CFG_FIELD("seed", CFG_INT, AT(seed), .def = "-1", .min = -1, .max = 9e18,
		  .doc = "Seed of kind random; -1: the run's seed."),
	CFG_FIELD("hosts", CFG_STRINGS, AT(hosts), .def = "",
		  .doc = "Hosts to choose from, ranges as in ranks; absent: every host of the topology."),
	CFG_FIELD("share", CFG_BOOL, AT(share), .def = "false", .doc = "Also take hosts that other jobs use."),
};
#undef AT

const struct cfg_table placement_table = {
	.path = "jobs.placement",
	.doc = "Which hosts a job gets if its ranks are not named. Jobs with named ranks are placed first; placements then "
	       "take free hosts in the order of the jobs.",
	.size = sizeof(struct placement),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
compare_u64(uint64_t a, uint64_t b)
{
	return ORDER(a, b);
}

static int
by_leaf(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->leaf != y->leaf ? compare_u64(x->leaf, y->leaf) : compare_u64(x->index, y->index);
}

static int
by_index(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->index != y->index ? compare_u64(x->index, y->index) : compare_u64(x->leaf, y->leaf);
}

static int
by_draw(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->draw != y->draw ? compare_u64(x->draw, y->draw) : compare_u64(x->node, y->node);
}

static const struct {
	int (*order)(const void *a, const void *b);
	bool one_a_leaf;
} rules[] = {
	[PLACE_PACKED] = { by_leaf, false },
	[PLACE_SPREAD] = { by_index, false },
	[PLACE_RANDOM] = { by_draw, false },
	[PLACE_ONE_PER_LEAF] = { by_leaf, true },
};

/* Marks the hosts that the placement names. @return 0, -ENOMEM or -EINVAL with err set */
static int
mark_named(const struct placement *placement, const struct topo *topo, bool *named, struct err *err)
{
	struct endpoint *hosts;
	uint32_t count;
	int rc = endpoint_list(topo, &placement->hosts, &placement->where, "hosts", &hosts, &count, err);

	for (uint32_t i = 0; rc == 0 && i < count; i++)
		named[hosts[i].node] = true;
	free(hosts);
	return rc;
}

/* @param first_seen  [nnodes] per switch: 1 + its number as a leaf; used, per leaf: candidates so far. Both zero */
static uint32_t
collect(const struct placement *placement, const struct placement_site *site, const bool *named, uint32_t *first_seen,
	uint32_t *used, struct candidate *candidates)
{
	uint64_t seed = placement->seed >= 0 ? (uint64_t)placement->seed : site->seed;
	const struct topo *topo = site->topo;
	uint32_t leaves = 0, count = 0;

	for (uint32_t i = 0; i < topo->nhosts; i++) {
		uint32_t host = topo->hosts[i], leaf;

		if (topo->nodes[host].nports == 0)
			continue;
		leaf = topo_port_of(topo, host, 0)->peer;
		if (first_seen[leaf] == 0)
			first_seen[leaf] = ++leaves;
		if (!named[host] || (site->taken[host] && !placement->share))
			continue;
		leaf = first_seen[leaf] - 1;
		if (rules[placement->kind].one_a_leaf && used[leaf] != 0)
			continue;
		candidates[count++] = (struct candidate){
			.node = host,
			.leaf = leaf,
			.index = used[leaf]++,
			.draw = chance(seed, CHANCE_PLACEMENT, site->job, topo->nodes[host].name, 0, 0),
		};
	}
	return count;
}

/* @return 0 or -EINVAL: there are fewer hosts than the ranks need, or NICs of a host */
static int
check_room(const struct placement *placement, const struct topo *topo, const struct candidate *chosen, uint32_t hosts,
	   uint32_t candidates, struct err *err)
{
	if (placement->count % placement->nics != 0)
		return cfg_fail(&placement->where, "count", err, "%lld ranks do not fill hosts of %lld ranks each",
				(long long)placement->count, (long long)placement->nics);
	if (candidates == 0 && hosts == 0)
		return cfg_fail(&placement->where, "count", err,
				"no host is free: let it share = true those of other jobs");
	if (hosts > candidates && rules[placement->kind].one_a_leaf)
		return cfg_fail(&placement->where, "count", err,
				"%u hosts asked for, one a leaf; %u leaves have a free host", hosts, candidates);
	if (hosts > candidates)
		return cfg_fail(&placement->where, "count", err, "%u hosts asked for; %u are free%s", hosts, candidates,
				placement->share ? "" : ": ask for fewer, or let it share = true those of other jobs");
	for (uint32_t i = 0; i < hosts; i++)
		if (topo->nodes[chosen[i].node].nports < placement->nics)
			return cfg_fail(&placement->where, "nics", err, "host \"%s\" has %u of %lld NICs",
					topo->nodes[chosen[i].node].name, topo->nodes[chosen[i].node].nports,
					(long long)placement->nics);
	return 0;
}

static int
choose(const struct placement *placement, const struct topo *topo, struct candidate *candidates, uint32_t ncandidates,
       struct endpoint **ranks, uint32_t *count, struct err *err)
{
	uint32_t nics = (uint32_t)placement->nics;
	uint32_t hosts = placement->count != 0 ? (uint32_t)placement->count / nics : ncandidates;
	int rc;

	qsort(candidates, ncandidates, sizeof(*candidates), rules[placement->kind].order);
	rc = check_room(placement, topo, candidates, hosts, ncandidates, err);
	if (rc != 0)
		return rc;
	*count = hosts * nics;
	*ranks = calloc(*count + 1u, sizeof(**ranks));
	if (*ranks == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u ranks", *count);
	for (uint32_t r = 0; r < *count; r++)
		(*ranks)[r] = (struct endpoint){ candidates[r / nics].node, (uint16_t)(r % nics) };
	return 0;
}

int
placement_ranks(const struct placement *placement, const struct placement_site *site, struct endpoint **ranks,
		uint32_t *count, struct err *err)
{
	const struct topo *topo = site->topo;
	struct candidate *candidates = calloc(topo->nhosts + 1u, sizeof(*candidates));
	uint32_t *numbers = calloc(2ull * topo->nnodes + 1, sizeof(*numbers));
	bool *named = calloc(topo->nnodes + 1u, sizeof(*named));
	int rc = -ENOMEM;

	*ranks = NULL;
	*count = 0;
	if (candidates == NULL || numbers == NULL || named == NULL)
		err_set(err, rc, "out of memory for %u hosts", topo->nhosts);
	else
		rc = mark_named(placement, topo, named, err);
	if (rc == 0) {
		uint32_t ncandidates = collect(placement, site, named, numbers, numbers + topo->nnodes, candidates);

		rc = choose(placement, topo, candidates, ncandidates, ranks, count, err);
	}
	free(candidates);
	free(numbers);
	free(named);
	return rc;
}

/* Groups of a grid. */

#define AT(field) offsetof(struct grid_dim, field)
static const struct cfg_field dim_fields[] = {
	CFG_FIELD("name", CFG_STRING, AT(name), .doc = "Its name in the key group of a collective."),
	CFG_FIELD("size", CFG_INT, AT(size), .min = 1, .max = RECORD_MAX_NODES, .doc = "Number of ranks along it."),
};
#undef AT

const struct cfg_table dims_table = {
	.path = "jobs.dims",
	.doc = "The job's ranks as a grid, for data, tensor, pipeline and expert parallelism: the first dimension runs "
	       "fastest "
	       "from rank to rank, and the sizes multiply to the number of ranks. A group of a dimension is made of the "
	       "ranks "
	       "that agree in all others.",
	.list = true,
	.size = sizeof(struct grid_dim),
	.fields = dim_fields,
	.nfields = ARRAY_LEN(dim_fields),
	.words = "name size",
};

int
grid_check(const struct grid *grid, struct err *err)
{
	uint64_t product = 1;

	if (grid->ndims == 0)
		return 0;
	if (grid->ndims > GRID_MAX_DIMS)
		return cfg_fail(&grid->dims[GRID_MAX_DIMS].where, NULL, err, "more than %d dimensions", GRID_MAX_DIMS);
	for (uint32_t d = 0; d < grid->ndims; d++) {
		const struct grid_dim *dim = &grid->dims[d];

		if (dim->name[0] == '\0' || strpbrk(dim->name, "+ \t") != NULL)
			return cfg_fail(&dim->where, "name", err, "\"%s\": a name without blanks and '+' would be right",
					dim->name);
		for (uint32_t other = 0; other < d; other++)
			if (strcmp(grid->dims[other].name, dim->name) == 0)
				return cfg_fail(&dim->where, "name", err, "\"%s\" is the name of another dimension",
						dim->name);
		product *= (uint64_t)dim->size;
	}
	if (product != grid->ranks)
		return cfg_fail(&grid->dims[0].where, NULL, err,
				"the dimensions' sizes multiply to %llu; the job has %u ranks", (unsigned long long)product,
				grid->ranks);
	return 0;
}

/* @return its number, ndims: unknown */
static uint32_t
find_dim(const struct grid *grid, const char *name, size_t length)
{
	uint32_t d = 0;

	while (d < grid->ndims && (strlen(grid->dims[d].name) != length || strncmp(grid->dims[d].name, name, length) != 0))
		d++;
	return d;
}

int
grid_parse(const struct grid *grid, const char *word, const struct cfg_where *where, const char *key, uint32_t *mask,
	   struct err *err)
{
	*mask = GRID_ALL;
	if (word == NULL || word[0] == '\0')
		return 0;
	if (grid->ndims == 0)
		return cfg_fail(where, key, err, "\"%s\": the job has no dims", word);
	for (;;) {
		size_t length = strcspn(word, "+");
		uint32_t d = find_dim(grid, word, length);

		if (d == grid->ndims)
			return cfg_fail(where, key, err, "\"%.*s\" is none of the job's dims, the first of which is \"%s\"",
					(int)length, word, grid->dims[0].name);
		if ((*mask >> d & 1) != 0)
			return cfg_fail(where, key, err, "\"%s\" is named twice", grid->dims[d].name);
		*mask |= 1u << d;
		if (word[length] == '\0')
			return 0;
		word += length + 1;
	}
}

uint32_t
grid_group_ranks(const struct grid *grid, uint32_t mask)
{
	uint32_t ranks = 1;

	if (mask == GRID_ALL)
		return grid->ranks;
	for (uint32_t d = 0; d < grid->ndims; d++)
		if ((mask >> d & 1) != 0)
			ranks *= (uint32_t)grid->dims[d].size;
	return ranks;
}

/* The number that a rank's places in some dimensions make. */
static uint32_t
places(const struct grid *grid, uint32_t mask, uint32_t rank)
{
	uint32_t number = 0, weight = 1;

	for (uint32_t d = 0; d < grid->ndims; d++) {
		uint32_t size = (uint32_t)grid->dims[d].size;

		if ((mask >> d & 1) != 0) {
			number += rank % size * weight;
			weight *= size;
		}
		rank /= size;
	}
	return number;
}

uint32_t
grid_member(const struct grid *grid, uint32_t mask, uint32_t rank)
{
	return mask == GRID_ALL ? rank : places(grid, mask, rank);
}

uint32_t
grid_rank(const struct grid *grid, uint32_t mask, uint32_t group, uint32_t member)
{
	uint32_t rank = 0, weight = 1;

	if (mask == GRID_ALL)
		return member;
	for (uint32_t d = 0; d < grid->ndims; d++) {
		uint32_t size = (uint32_t)grid->dims[d].size, *number = (mask >> d & 1) != 0 ? &member : &group;

		rank += *number % size * weight;
		*number /= size;
		weight *= size;
	}
	return rank;
}
