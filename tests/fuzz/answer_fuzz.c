/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever is asked on a management socket is replied to with a whole message of a known type, of the
 * request's tag, and a refusal has a reason. The input is a list of requests, each behind two bytes of its length, to a
 * switch and a host.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/control/switch_answer.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/build.h"

#define NETWORK                                                                                                            \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 3; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made once: asking changes nothing. */
static struct {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *routes;
	struct flow_table table;
	struct flow flow;
	struct sertables sertables;
	struct switch_setup setup;
	struct switch_config config;
	struct link links[TOPO_MAX_PORTS], *ends[TOPO_MAX_PORTS];
	struct sw *sw;
	struct flow_index *index;
	struct answer_device devices[2];
} made;

static void
destroy(void)
{
	flow_index_destroy(made.index);
	node_destroy(&made.sw->node);
	sertables_fini(&made.sertables);
	route_table_destroy(made.routes);
	switch_setup_fini(&made.setup);
	topo_destroy(made.topo);
	cfg_destroy(made.cfg);
}

static uint32_t
flow_count(void *ctx)
{
	(void)ctx;
	return 3;
}

static bool
flow_get(void *ctx, uint32_t i, struct swm_flow *flow)
{
	(void)ctx;
	*flow = (struct swm_flow){ .dst_ip = i, .dport = 4791, .protocol = 17 };
	return i != 1;
}

static void
make(void)
{
	struct err err = { 0 };
	uint32_t leaf;

	made.cfg = cfg_load_string(NETWORK, "network", &err);
	if (made.cfg == NULL || topo_build(made.cfg, &made.topo, &err) != 0 ||
	    switch_setup_load(&made.setup, made.cfg, made.topo, &err) != 0)
		abort();
	made.routes = route_table_create(made.topo, ROUTE_SHORTEST);
	made.flow = (struct flow){ .src_node = made.topo->hosts[0], .dst_node = made.topo->hosts[5], .sport = 50000 };
	made.flow.src_ip = topo_nic_ip(made.flow.src_node, 0);
	made.flow.dst_ip = topo_nic_ip(made.flow.dst_node, 0);
	made.table = (struct flow_table){ .flows = &made.flow, .count = 1 };
	made.setup.all.pfc.headroom_bytes = 100000;
	made.setup.all.params.sampling = 1;
	made.config = (struct switch_config){
		.topo = made.topo,
		.flows = &made.table,
		.routes = made.routes,
		.healthy_routes = made.routes,
		.sertables = &made.sertables,
		.setup = &made.setup,
		.telemetry = { .epoch_ps = 1000000000, .kept = 2 },
		.window_ps = 1000000,
		.mtu_bytes = 1000,
		.min_frame_bytes = 64,
		.pause_bytes = 84,
	};
	leaf = topo_find(made.topo, "l0");
	made.sw = switch_create(&made.config, leaf, &err);
	made.index = flow_index_create(&made.table);
	if (made.sw == NULL || made.index == NULL)
		abort();
	for (uint16_t i = 0; i < made.sw->node.nports; i++) {
		made.ends[i] = &made.links[i];
		made.sw->ports[i].egress.tx = &made.links[i];
	}
	made.sw->node.rx = made.ends;
	made.devices[0] = (struct answer_device){ .topo = made.topo, .node = leaf, .sw = made.sw, .index = made.index };
	made.devices[1] = (struct answer_device){ .topo = made.topo,
						  .node = made.topo->hosts[0],
						  .flows = { .count = flow_count, .get = flow_get } };
	atexit(destroy);
}

static void
check_reply(const void *reply, size_t size, const void *request, size_t asked_bytes)
{
	const struct swm_refused *refused = (const void *)((const struct swm_hdr *)reply + 1);
	struct swm_hdr hdr, asked;

	memcpy(&hdr, reply, sizeof(hdr));
	if (size < sizeof(hdr) || size > ANSWER_MAX_BYTES || hdr.magic != SWM_MAGIC || hdr.size != size - sizeof(hdr) ||
	    hdr.type < SWM_EGRESSES || (hdr.type > SWM_REFUSED && hdr.type != SWM_SAMPLE_LIST))
		abort();
	if (hdr.type == SWM_REFUSED &&
	    (hdr.size != sizeof(*refused) || refused->text[0] == '\0' || memchr(refused->text, '\0', SWM_TEXT) == NULL))
		abort();
	if (hdr.type == SWM_REFUSED || asked_bytes < sizeof(asked))
		return;
	memcpy(&asked, request, sizeof(asked));
	if (asked.tag != hdr.tag)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) uint8_t reply[ANSWER_MAX_BYTES];

	if (made.sw == NULL)
		make();
	for (size_t at = 0; at + 2 <= size;) {
		size_t length = (size_t)data[at] | (size_t)data[at + 1] << 8;
		void *request;

		at += 2;
		length = length < size - at ? length : size - at;
		request = malloc(length + 1); /* as large as it is: what is read beyond is seen */
		if (request == NULL)
			abort();
		memcpy(request, data + at, length);
		for (int i = 0; i < 2; i++)
			check_reply(reply, answer_request(&made.devices[i], request, length, reply), request, length);
		free(request);
		at += length;
	}
	return 0;
}
