/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/pingmesh_rig_network.h"

#include <stdio.h>

static void
put_second_nic(struct records *r)
{
	struct rec_port nic = { .port = 1, .peer_port = 5, .peer = RIG_LEAVES - 1, .ip = ip_of(RIG_HOSTS) };
	struct rec_port leaf = { .port = 5, .peer_port = 1, .peer = RIG_HOST(RIG_HOSTS - 1) };

	nic.rate_bps = leaf.rate_bps = RECORDS_RATE_BPS;
	nic.delay_ps = leaf.delay_ps = HOP_PS;
	RECORDS_PUT(r, nic, REC_PORT, RIG_HOST(RIG_HOSTS - 1), 0);
	RECORDS_PUT(r, leaf, REC_PORT, RIG_LEAVES - 1, 0);
}

void
rig_put_network(struct records *r, uint64_t timeout_ps, bool software_times, uint16_t algorithm)
{
	struct rec_pingmesh config = { .time_factor_ppm = 1000000,
				       .software_times = software_times,
				       .algorithm = algorithm,
				       .tor_mesh_ps = 100 * PS_PER_MS,
				       .inter_tor_ps = 90 * PS_PER_MS,
				       .service_ps = 10 * PS_PER_MS,
				       .timeout_ps = timeout_ps,
				       .upload_ps = UPLOAD_PS,
				       .period_ps = RIG_PERIOD_PS,
				       .pinglist_ps = 300 * PS_PER_S };
	char name[8];

	records_init(r);
	records_run(r);
	for (uint32_t i = 0; i < RIG_NODES; i++) {
		bool host = i >= RIG_HOST(0), spine = !host && i >= RIG_SPINE(0);
		uint32_t first = host ? RIG_HOST(0) : spine ? RIG_SPINE(0) : 0;

		snprintf(name, sizeof(name), "%c%u", host ? 'h' : spine ? 's' : 'l', i - first);
		records_node(r, i, name, host,
			     host                  ? (i == RIG_NODES - 1 ? 2 : 1)
			     : spine               ? RIG_LEAVES
			     : i == RIG_LEAVES - 1 ? 6
						   : 5);
	}
	for (uint32_t i = 0; i < RIG_HOSTS; i++)
		records_link(r, i / 3, (uint16_t)(i % 3), false, RIG_HOST(i), 0, true);
	put_second_nic(r);
	for (uint32_t leaf = 0; leaf < RIG_LEAVES; leaf++)
		for (uint16_t k = 0; k < RIG_SPINES; k++)
			records_link(r, leaf, RIG_UPLINK + k, false, RIG_SPINE(k), (uint16_t)leaf, false);
	RECORDS_PUT(r, config, REC_PINGMESH, REC_NONE, 0);
}
