/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as a scenario: it loads or is refused with a message, it prints and loads again, its topology is built or
 * refused with a message, and no override breaks it.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg.h"
#include "topo/build.h"
#include "topo/pins.h"
#include "topo/route.h"

#define MAX_TABLES 16
#define MAX_ROUTED 200 /* nodes: larger topologies would only be slow */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last line of the text as "--set" would get it. */
static void
override(struct cfg *cfg, const char *text)
{
	const char *line = strrchr(text, '\n');
	struct err err = { 0 };

	if (cfg_override(cfg, line != NULL ? line + 1 : text, &err) < 0)
		assert(err.text[0] != '\0');
}

static void
print_and_load(const struct cfg *cfg, const struct cfg_known *known, size_t count)
{
	char *printed = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&printed, &length);
	struct err err = { 0 };
	struct cfg *again;

	assert(to != NULL);
	assert(cfg_print(cfg, known, count, to) == 0 && fclose(to) == 0);
	again = cfg_load_string(printed, "printed", &err);
	if (again == NULL)
		fprintf(stderr, "printed, but not loaded: %s\n%s\n", err.text, printed);
	assert(again != NULL);
	cfg_destroy(again);
	free(printed);
}

/* Builds the topology, its routes and its pins. */
static void
build(const struct cfg *cfg)
{
	struct route_table *table;
	struct route_pins *pins;
	struct err err = { 0 };
	struct topo *topo;

	if (topo_build(cfg, &topo, &err) < 0) {
		assert(err.text[0] != '\0' && topo == NULL);
		return;
	}
	if (route_pins_create(cfg, topo, &pins, &err) < 0)
		assert(err.text[0] != '\0' && pins == NULL);
	route_pins_destroy(pins);
	if (topo->nnodes <= MAX_ROUTED) {
		table = route_table_create(topo, ROUTE_SHORTEST);
		assert(table != NULL);
		route_table_destroy(table);
	}
	topo_destroy(topo);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfg_known known[MAX_TABLES];
	size_t count = topo_tables(known, MAX_TABLES);
	char *text = malloc(size + 1);
	struct err err = { 0 };
	struct cfg *cfg;

	assert(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	cfg = cfg_load_string(text, "fuzz", &err);
	if (cfg == NULL) {
		assert(err.text[0] != '\0');
	} else {
		if (cfg_check(cfg, known, count, &err) < 0)
			assert(err.text[0] != '\0');
		else
			build(cfg);
		print_and_load(cfg, known, count);
		override(cfg, text);
	}
	cfg_destroy(cfg);
	free(text);
	return 0;
}
