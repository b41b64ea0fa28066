/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/flow_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/sample_flow.h"
#include "rxe-hosts/device/embedded/embedded.h"

int
flow_samples_init(struct flow_samples *samples, const struct topo *topo, const struct flow_table *flows,
		  const struct flow_pairs *pairs)
{
	uint32_t before = TOPO_NONE;

	*samples = (struct flow_samples){
		.feeds = calloc(topo->nports + 1u, sizeof(*samples->feeds)),
		.reported = calloc(flows->count + 1u, sizeof(*samples->reported)),
		.told_ps = calloc(flows->count + 1u, sizeof(*samples->told_ps)),
		.nflows = flows->count,
	};
	if (samples->feeds == NULL || samples->reported == NULL || samples->told_ps == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < pairs->npairs; p++) { /* by source */
		uint32_t host = flows->flows[pairs->order[pairs->pairs[p].first]].src_node;

		for (uint16_t nic = 0; host != before && nic < topo->nodes[host].nports; nic++) {
			const struct topo_port *port = topo_port_of(topo, host, nic);

			if (topo->nodes[port->peer].kind == TOPO_SWITCH)
				samples->feeds[samples->nfeeds++] =
					(struct samples_feed){ host, port->peer, nic, port->peer_index };
		}
		before = host;
	}
	return 0;
}

void
flow_samples_fini(struct flow_samples *samples)
{
	free(samples->feeds);
	free(samples->reported);
	free(samples->told_ps);
}

void
flow_samples_forget(struct flow_samples *samples)
{
	memset(samples->reported, 0, samples->nflows * sizeof(*samples->reported));
}

/* A flow that left by several ports lately, as when a bond lost a member: the one of most samples counts. */
static void
report_flow(struct flow_samples *samples, const struct samples_feed *feed, uint32_t flow, uint64_t count, uint64_t now_ps)
{
	if (count <= samples->reported[flow].messages)
		return;
	samples->reported[flow] = (struct embedded_flow){ .messages = count, .nic = feed->nic };
	samples->told_ps[flow] = now_ps;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

size_t
flow_samples_take(struct flow_samples *samples, const struct samples_feed *feed, const struct sw *leaf,
		  const struct flow_index *index, uint64_t now_ps)
{
	struct swm_sample rows[SWM_MAX_SAMPLES];
	uint32_t flows[SWM_MAX_SAMPLES], count = 0;
	struct swm_samples list = { 0 };

	switch_samples_list(leaf->samples, feed->leaf_port, &list, rows);
	for (uint32_t i = 0; i < list.count; i++) {
		const struct rec_tuple tuple = {
			.src_ip = rows[i].src_ip, .dst_ip = rows[i].dst_ip, .sport = rows[i].sport, .dport = rows[i].dport
		};
		bool reverse = false;
		uint32_t flow = sample_is_of_flow(&rows[i]) ? flow_index_find(index, &tuple, &reverse) : FLOW_NONE;

		if (flow != FLOW_NONE && !reverse)
			flows[count++] = flow;
	}
	qsort(flows, count, sizeof(*flows), by_number);
	for (uint32_t i = 0, first = 0; i < count; i++)
		if (i + 1 == count || flows[i + 1] != flows[i]) {
			report_flow(samples, feed, flows[i], i + 1 - first, now_ps);
			first = i + 1;
		}
	return sizeof(list) + list.count * sizeof(rows[0]);
}
