/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/flow_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CELLS 16u

/* Shared by all maps without keys; never written. */
static struct flow_cell no_cells[] = { { FLOW_MAP_NONE, FLOW_MAP_NONE } };
static uint32_t no_values[FLOW_MAP_DIRECT] = { [0 ... FLOW_MAP_DIRECT - 1] = FLOW_MAP_NONE };

void
flow_map_init(struct flow_map *map, uint32_t keys)
{
	*map = (struct flow_map){ .direct = keys <= FLOW_MAP_DIRECT ? no_values : NULL, .cells = no_cells, .keys = keys };
}

void
flow_map_fini(struct flow_map *map)
{
	if (map->direct != no_values)
		free(map->direct);
	if (map->cells != no_cells)
		free(map->cells);
	flow_map_init(map, map->keys);
}

void
flow_map_clear(struct flow_map *map)
{
	if (map->direct != NULL && map->direct != no_values)
		memset(map->direct, 0xff, map->keys * sizeof(*map->direct));
	if (map->cells != no_cells)
		memset(map->cells, 0xff, (map->mask + (size_t)1) * sizeof(*map->cells));
	map->count = 0;
}

/* @return the key's cell, or the free one for it */
static struct flow_cell *
cell_of(const struct flow_map *map, uint32_t key)
{
	uint32_t i = flow_map_cell(map, key);

	while (map->cells[i].key != key && map->cells[i].key != FLOW_MAP_NONE)
		i = (i + 1) & map->mask;
	return &map->cells[i];
}

static int
widen(struct flow_map *map)
{
	size_t ncells = map->cells != no_cells ? (map->mask + (size_t)1) * 2 : FIRST_CELLS;
	struct flow_map wider = { .mask = (uint32_t)(ncells - 1), .count = map->count, .keys = map->keys };

	wider.cells = malloc(ncells * sizeof(*wider.cells));
	if (wider.cells == NULL)
		return -ENOMEM;
	memset(wider.cells, 0xff, ncells * sizeof(*wider.cells));
	for (uint32_t i = 0; i <= map->mask; i++)
		if (map->cells[i].key != FLOW_MAP_NONE)
			*cell_of(&wider, map->cells[i].key) = map->cells[i];
	if (map->cells != no_cells)
		free(map->cells);
	*map = wider;
	return 0;
}

/* @return 0 or -ENOMEM */
static int
make_direct(struct flow_map *map)
{
	size_t bytes = map->keys * sizeof(*map->direct);
	uint32_t *direct = malloc(bytes);

	if (direct == NULL)
		return -ENOMEM;
	memset(direct, 0xff, bytes);
	map->direct = direct;
	return 0;
}

int
flow_map_put(struct flow_map *map, uint32_t key, uint32_t value)
{
	struct flow_cell *cell;

	assert(key < map->keys);
	if (flow_map_is_direct(map)) {
		if (map->direct == no_values && make_direct(map) < 0)
			return -ENOMEM;
		map->direct[key] = value;
		return 0;
	}
	cell = cell_of(map, key);
	if (cell->key != key) {
		if (map->count >= (map->mask + 1) / 2 && widen(map) < 0)
			return -ENOMEM;
		cell = cell_of(map, key);
		map->count++;
	}
	*cell = (struct flow_cell){ key, value };
	return 0;
}

void
flow_map_forget(struct flow_map *map, uint32_t key)
{
	struct flow_cell *cell;

	if (flow_map_is_direct(map)) {
		if (map->direct != no_values)
			map->direct[key] = FLOW_MAP_NONE;
		return;
	}
	cell = cell_of(map, key);
	if (cell->key == key)
		cell->value = FLOW_MAP_NONE;
}
