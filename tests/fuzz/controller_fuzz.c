/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever is asked of R-Pingmesh's controller is replied to with a whole message of a known type, and a
 * refusal has a reason. The input is a list of requests, each behind two bytes of its length, of one controller.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg.h"
#include "operator/controller/controller.h"
#include "topo/build.h"

#define MAX_TABLES 16
#define NETWORK                                                                                                            \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 3; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made once; what a request registers is there for those after it. */
static struct {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct controller *controller;
} made;

static void
destroy(void)
{
	controller_destroy(made.controller);
	route_table_destroy(made.table);
	topo_destroy(made.topo);
	cfg_destroy(made.cfg);
}

static struct controller *
the_controller(void)
{
	struct cfg_known known[MAX_TABLES];
	struct controller_config config = { .store = REGISTRY_IN_MEMORY, .times = pingmesh_times(PINGMESH_PPM) };
	struct err err = { 0 };

	if (made.controller != NULL)
		return made.controller;
	made.cfg = cfg_load_string(NETWORK, "network", &err);
	if (made.cfg == NULL || cfg_check(made.cfg, known, topo_tables(known, MAX_TABLES), &err) != 0 ||
	    topo_build(made.cfg, &made.topo, &err) != 0)
		abort();
	made.table = route_table_create(made.topo, ROUTE_SHORTEST);
	config.topo = made.topo;
	config.table = made.table;
	if (made.table == NULL || controller_create(&config, &made.controller, &err) != 0)
		abort();
	atexit(destroy);
	return made.controller;
}

static void
check_reply(struct controller_reply reply)
{
	const struct pingmesh_hdr *hdr = reply.bytes;
	const struct pingmesh_refused *refused = (const void *)(hdr + 1);

	if (reply.size < sizeof(*hdr) || hdr->magic != PINGMESH_MAGIC || hdr->size != reply.size - sizeof(*hdr) ||
	    hdr->type < PINGMESH_REGISTERED || hdr->type > PINGMESH_REFUSED)
		abort();
	if (hdr->type == PINGMESH_REFUSED && (hdr->size != sizeof(*refused) || refused->text[0] == '\0' ||
					      memchr(refused->text, '\0', PINGMESH_TEXT) == NULL))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct controller *controller = the_controller();

	for (size_t at = 0; at + 2 <= size;) {
		size_t length = (size_t)data[at] | (size_t)data[at + 1] << 8;
		void *request;

		at += 2;
		length = length < size - at ? length : size - at;
		request = malloc(length + 1); /* as large as it is: what is read beyond is seen */
		if (request == NULL)
			abort();
		memcpy(request, data + at, length);
		check_reply(controller_handle(controller, request, length, (uint64_t)at << 50));
		free(request);
		at += length;
	}
	return 0;
}
