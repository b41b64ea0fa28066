/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/groups.h"

#include <string.h>

#include "common/array.h"

#define AT(field) offsetof(struct grid_dim, field)
static const struct cfg_field fields[] = {
	{ "name", CFG_STRING, AT(name), NULL, 0, 0, NULL, "What group of a collective calls it." },
	{ "size", CFG_INT, AT(size), NULL, 1, 1024, NULL, "Ranks along it." },
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
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
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
