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

static struct probe_ways *
ways_of(struct probe_nic *nic, uint32_t flow, bool back)
{
	struct probe_ways *of = NULL;

	for (uint32_t i = 0; i < nic->ncame && of == NULL; i++)
		if (nic->came[i].flow == flow && nic->came[i].back == back)
			of = &nic->came[i];
	if (of != NULL)
		return of;
	if (nic->ncame == nic->came_cap) {
		uint32_t cap = nic->came_cap == 0 ? 16 : 2 * nic->came_cap;
		struct probe_ways *more = realloc(nic->came, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		nic->came = more;
		nic->came_cap = cap;
	}
	nic->came[nic->ncame] = (struct probe_ways){ .flow = flow, .back = back, .last = PROBE_NO_FLOW };
	return &nic->came[nic->ncame++];
}

static struct probe_came *
way_of(struct probe_ways *of, const struct int_header *header)
{
	for (uint32_t i = 0; i < of->nways; i++)
		if (of->ways[i].nhops == header->count &&
		    memcmp(of->ways[i].hops, header->hops, header->count * sizeof(header->hops[0])) == 0)
			return &of->ways[i];
	if (of->nways == of->cap) {
		uint32_t cap = of->cap == 0 ? 1 : 2 * of->cap;
		struct probe_came *more = realloc(of->ways, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		of->ways = more;
		of->cap = cap;
	}
	of->ways[of->nways] = (struct probe_came){ .nhops = header->count };
	memcpy(of->ways[of->nways].hops, header->hops, header->count * sizeof(header->hops[0]));
	return &of->ways[of->nways++];
}

void
probe_ways_came(struct probe_agent *agent, struct probe_nic *nic, const struct datagram *datagram, uint64_t now_ps)
{
	struct probe_ways *of = ways_of(nic, datagram->flow, datagram->reply);
	struct probe_came *way = of != NULL ? way_of(of, datagram->way) : NULL;

	if (way == NULL) {
		agent->counts.dropped++;
		return;
	}
	way->count++;
	way->last_ps = now_ps;
}

static void
tell(struct probe_agent *agent, struct probe_nic *nic, const struct probe_ways *of, const struct probe_came *way,
     uint64_t now_ps)
{
	struct recbuf *records = agent->config.device->ops->records(agent->config.device);

	nic->nways++;
	for (uint32_t i = 0; i < way->nhops; i++) {
		struct rec_probe_hop rec = { .tuple = flow_tuple(&agent->config.flows->flows[of->flow]),
					     .hop = (uint16_t)(i + 1),
					     .back = of->back,
					     .at = int_way_node(way->hops[i]),
					     .port = int_way_in(way->hops[i]),
					     .last = i + 1 == way->nhops,
					     .trace = nic->nways,
					     .sent_ps = way->last_ps,
					     .count = way->count };

		recbuf_put(records, &rec, REC_PROBE_HOP, sizeof(rec), now_ps);
	}
}

void
probe_ways_tell(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	for (uint32_t i = 0; i < nic->ncame; i++) {
		struct probe_ways *of = &nic->came[i];
		uint32_t last = PROBE_NO_FLOW, several = 0;

		for (uint32_t w = 0; w < of->nways; w++)
			if (of->ways[w].count != 0) {
				last = w;
				several++;
			}
		if (several != 0)
			of->alone = several == 1 && last == of->last ? of->alone + 1 : 0;
		of->last = last != PROBE_NO_FLOW ? last : of->last;
		for (uint32_t w = 0; w < of->nways; w++) {
			if (of->ways[w].count != 0 && of->alone < ALONE)
				tell(agent, nic, of, &of->ways[w], now_ps);
			of->ways[w].count = 0;
		}
	}
}

void
probe_ways_forget(struct probe_nic *nic)
{
	for (uint32_t i = 0; i < nic->ncame; i++)
		free(nic->came[i].ways);
	nic->ncame = 0;
}
