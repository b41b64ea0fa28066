/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A map from flows that a port or a switch has seen to one number each. In runs with few flows it is an array by key.
 * In others it is a hash table that grows with the number of keys: an array would hold an element for every flow of the
 * run at every port. Nothing is allocated before the first key. A caller for whom every instruction counts asks once
 * which of the two it is, by flow_map_is_direct(), and uses the function for that one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_MAP_NONE UINT32_MAX /* no value, and no key */
#define FLOW_MAP_DIRECT 1024u    /* so many possible keys have an element each, 4 KB */

struct flow_cell {
	uint32_t key, value; /* key FLOW_MAP_NONE: a free cell */
};

struct flow_map {
	uint32_t *direct;        /* [keys] values by key; NULL: they are in cells */
	uint32_t mask;           /* of cells */
	struct flow_cell *cells; /* [mask + 1] half of them free at least */
	uint32_t count;          /* keys in cells */
	uint32_t keys;
};

/* Cannot fail. @param keys  all keys are below */
void flow_map_init(struct flow_map *map, uint32_t keys);
/* Also for a zeroed map. */
void flow_map_fini(struct flow_map *map);
/* Forgets all keys. */
void flow_map_clear(struct flow_map *map);
/* Sets the value of a key, which may have one. @return 0 or -ENOMEM */
int flow_map_put(struct flow_map *map, uint32_t key, uint32_t value);
/* Sets a key's value to FLOW_MAP_NONE, if it has one. */
void flow_map_forget(struct flow_map *map, uint32_t key);

/* Fibonacci hashing (Knuth, TAOCP 3, 6.4): flows of one host, whose numbers follow each other, get distant cells. */
static inline uint32_t
flow_map_cell(const struct flow_map *map, uint32_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & map->mask;
}

/* Are values in an array by key? The same from flow_map_init() on, and of all maps of equal keys. */
static inline bool
flow_map_is_direct(const struct flow_map *map)
{
	return map->direct != NULL;
}

/* flow_map_find() of a map that is direct. */
static inline uint32_t
flow_map_find_direct(const struct flow_map *map, uint32_t key)
{
	return map->direct[key];
}

/* flow_map_find() of any other. */
static inline uint32_t
flow_map_find_hashed(const struct flow_map *map, uint32_t key)
{
	uint32_t i = flow_map_cell(map, key);

	while (map->cells[i].key != key) {
		if (map->cells[i].key == FLOW_MAP_NONE)
			return FLOW_MAP_NONE;
		i = (i + 1) & map->mask;
	}
	return map->cells[i].value;
}

/* @return the key's value; FLOW_MAP_NONE: it has none */
static inline uint32_t
flow_map_find(const struct flow_map *map, uint32_t key)
{
	return flow_map_is_direct(map) ? flow_map_find_direct(map, key) : flow_map_find_hashed(map, key);
}
