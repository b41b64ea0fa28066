/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways of probes and ACKs by what switches write into them (INT, R-Pingmesh 7.4): who gets a packet knows how it came. Told is, with
 * each upload, by which ways the packets of a tuple came and how many by each. What has come one way alone so often that no chance
 * makes it, is not told again until it comes otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "rxe-hosts/probe/inside.h"

#define ALONE 8 /* uploads in a row */

static struct probe_paths *
paths_of(struct probe_nic *nic, uint32_t flow, bool back)
{
	struct probe_paths *of = NULL;

	for (uint32_t i = 0; i < nic->nreceived && of == NULL; i++)
		if (nic->received[i].flow == flow && nic->received[i].back == back)
			of = &nic->received[i];
	if (of != NULL)
		return of;
	if (nic->nreceived == nic->received_cap) {
		uint32_t cap = nic->received_cap == 0 ? 16 : 2 * nic->received_cap;
		struct probe_paths *more = realloc(nic->received, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		nic->received = more;
		nic->received_cap = cap;
	}
	nic->received[nic->nreceived] = (struct probe_paths){ .flow = flow, .back = back, .last = PROBE_NO_FLOW };
	return &nic->received[nic->nreceived++];
}

static struct probe_path *
path_of(struct probe_paths *of, const struct int_header *header)
{
	for (uint32_t i = 0; i < of->npaths; i++)
		if (of->paths[i].nhops == header->count &&
		    memcmp(of->paths[i].hops, header->hops, header->count * sizeof(header->hops[0])) == 0)
			return &of->paths[i];
	if (of->npaths == of->cap) {
		uint32_t cap = of->cap == 0 ? 1 : 2 * of->cap;
		struct probe_path *more = realloc(of->paths, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		of->paths = more;
		of->cap = cap;
	}
	of->paths[of->npaths] = (struct probe_path){ .nhops = header->count };
	memcpy(of->paths[of->npaths].hops, header->hops, header->count * sizeof(header->hops[0]));
	return &of->paths[of->npaths++];
}

void
probe_paths_receive(struct probe_agent *agent, struct probe_nic *nic, const struct datagram *datagram, uint64_t now_ps)
{
	struct probe_paths *of = paths_of(nic, datagram->flow, datagram->reply);
	struct probe_path *path = of != NULL ? path_of(of, datagram->int_header) : NULL;

	if (path == NULL) {
		agent->counts.dropped++;
		return;
	}
	path->count++;
	path->last_ps = now_ps;
}

static void
report_path(struct probe_agent *agent, struct probe_nic *nic, const struct probe_paths *of, const struct probe_path *path,
	    uint64_t now_ps)
{
	struct recbuf *records = agent->config.device->ops->records(agent->config.device);

	nic->npaths++;
	for (uint32_t i = 0; i < path->nhops; i++) {
		struct rec_probe_hop rec = { .tuple = flow_tuple(&agent->config.flows->flows[of->flow]),
					     .hop = (uint16_t)(i + 1),
					     .back = of->back,
					     .at = int_hop_node(path->hops[i]),
					     .port = int_hop_in_port(path->hops[i]),
					     .last = i + 1 == path->nhops,
					     .trace = nic->npaths,
					     .sent_ps = path->last_ps,
					     .count = path->count };

		recbuf_put(records, &rec, REC_PROBE_HOP, sizeof(rec), now_ps);
	}
}

void
probe_paths_report(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	for (uint32_t i = 0; i < nic->nreceived; i++) {
		struct probe_paths *of = &nic->received[i];
		uint32_t last = PROBE_NO_FLOW, several = 0;

		for (uint32_t w = 0; w < of->npaths; w++)
			if (of->paths[w].count != 0) {
				last = w;
				several++;
			}
		if (several != 0)
			of->alone = several == 1 && last == of->last ? of->alone + 1 : 0;
		of->last = last != PROBE_NO_FLOW ? last : of->last;
		for (uint32_t w = 0; w < of->npaths; w++) {
			if (of->paths[w].count != 0 && of->alone < ALONE)
				report_path(agent, nic, of, &of->paths[w], now_ps);
			of->paths[w].count = 0;
		}
	}
}

void
probe_paths_forget(struct probe_nic *nic)
{
	for (uint32_t i = 0; i < nic->nreceived; i++)
		free(nic->received[i].paths);
	nic->nreceived = 0;
}
