/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/kernel_host/attach_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "scenario/frame_pools.h"

struct attached *
attach_host_at(const struct attach *attach, uint32_t node)
{
	struct attached *host = attach->hosts;

	while (host->node != node)
		host++;
	return host;
}

static struct port *
open_port(const struct attach *attach, uint32_t node, const char *dir, struct err *err)
{
	const struct host_config *host = attach->scenario->hosts[node];
	const struct port_config config = {
		.name = attach->scenario->topo->nodes[node].name,
		.mtu = (uint16_t)attach->scenario->host_mtu_bytes,
		.mbufs = frame_pool_frames(attach->scenario, node),
		.room_bytes = frame_pool_room(attach->scenario),
	};
	const struct host_cable cable = { host, dir, config.name, node };
	char where[PATH_MAX];

	host_kinds[host->kind].port(&cable, where, sizeof(where));
	return port_open(&config, where, err);
}

static int
open_all(struct attach *attach, const bool *remote, const char *dir, struct err *err)
{
	const struct scenario *sc = attach->scenario;

	attach->dir = dir;
	attach->hosts = calloc(sc->nexternal, sizeof(*attach->hosts));
	attach->landings = calloc(sc->plan->flows.count + 1u, sizeof(*attach->landings));
	attach->check = record_check_create();
	if (attach->check == NULL || attach->hosts == NULL || attach->landings == NULL ||
	    flow_table_reserve(&attach->scenario->plan->flows, EDGE_UNPLANNED_FLOWS) < 0)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		struct attached *host = &attach->hosts[attach->nhosts];

		if (sc->hosts[i] == NULL || (remote != NULL && remote[i]))
			continue;
		host->node = i;
		host->port = open_port(attach, i, dir, err);
		if (host->port == NULL)
			return -EIO;
		attach->nhosts++;
	}
	return 0;
}

struct attach *
attach_create(struct scenario *scenario, const bool *remote, const char *dir, struct err *err)
{
	struct attach *attach = calloc(1, sizeof(*attach));

	if (attach == NULL) {
		err_set(err, -ENOMEM, "out of memory for hosts");
		return NULL;
	}
	attach->scenario = scenario;
	attach->driver = (struct host_driver){ &kernel_hosts, attach };
	attach->created_ns = clock_now_ns();
	if (open_all(attach, remote, dir, err) == 0)
		return attach;
	attach_destroy(attach);
	return NULL;
}

void
attach_destroy(struct attach *attach)
{
	if (attach == NULL)
		return;
	manage_destroy(attach->manage);
	for (uint32_t i = 0; i < attach->nhosts; i++)
		port_close(attach->hosts[i].port);
	record_check_destroy(attach->check);
	free(attach->hosts);
	free(attach->landings);
	free(attach);
}

const struct host_driver *
attach_driver(const struct attach *attach)
{
	return &attach->driver;
}

struct record_check *
attach_check(const struct attach *attach)
{
	return attach->check;
}

uint32_t
attach_hosts(const struct attach *attach)
{
	return attach->nhosts;
}

struct attach_host
attach_host(const struct attach *attach, uint32_t index)
{
	const struct attached *host = &attach->hosts[index];
	struct manage_traffic manage = manage_traffic(attach->manage, host->node);

	return (struct attach_host){
		.node = host->node,
		.kind = host_kind_name(attach->scenario->hosts[host->node]->kind),
		.port = host->port->count,
		.nic = host->nic,
		.result = manage_result(attach->manage, host->node),
		.manage = manage,
		.refused = manage_refused(attach->manage, host->node),
		.up_ns = manage.up_ns != 0 ? manage.up_ns - attach->created_ns : 0,
		.ready_ns = manage.ready_ns != 0 ? manage.ready_ns - attach->created_ns : 0,
	};
}
