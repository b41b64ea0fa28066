/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A controller of a network of six hosts with its store in a folder of its own, and what agents ask it. For one test
 * program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "operator/controller/controller.h"
#include "tests/unit/topo/topo_rig.h"

#define NETWORK                                                                                                            \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 3; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct controller *controller;
	char dir[64], store[96], socket[96];
};

static inline int
open_controller(struct rig *rig, const char *store, struct err *err)
{
	const struct controller_config config = {
		.topo = rig->topo, .table = rig->table, .store = store, .times = pingmesh_times(PINGMESH_PPM), .seed = 3
	};

	rig->controller = NULL;
	return controller_create(&config, &rig->controller, err);
}

static inline int
set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct err err = { "" };

	strcpy(rig->dir, "/tmp/controller_test.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->store, sizeof(rig->store), "%s/store", rig->dir);
	snprintf(rig->socket, sizeof(rig->socket), "%s/socket", rig->dir);
	rig->topo = make_topo(NETWORK, &rig->cfg);
	rig->table = route_table_create(rig->topo, ROUTE_SHORTEST);
	if (open_controller(rig, rig->store, &err) != 0)
		fail_msg("%s", err.text);
	*state = rig;
	return 0;
}

static inline int
tear_down(void **state)
{
	struct rig *rig = *state;

	controller_destroy(rig->controller);
	route_table_destroy(rig->table);
	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
	unlink(rig->store);
	unlink(rig->socket);
	rmdir(rig->dir);
	free(rig);
	return 0;
}

struct message {
	struct pingmesh_hdr hdr;
	union {
		struct {
			struct pingmesh_host head;
			struct pingmesh_rnic rnics[2];
		} host;
		struct {
			struct pingmesh_list head;
			uint32_t ips[3];
		} list;
	};
};

static inline uint32_t
ip_of(const struct rig *rig, uint32_t i)
{
	return topo_nic_ip(rig->topo->hosts[i], 0);
}

/* The i-th host's only RNIC. @return bytes */
static inline size_t
make_register(const struct rig *rig, struct message *m, uint32_t i, uint32_t qpn)
{
	uint32_t host = rig->topo->hosts[i];

	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_REGISTER,
					sizeof(m->host.head) + sizeof(m->host.rnics[0]), 0 } };
	m->host.head = (struct pingmesh_host){ .host = host, .count = 1 };
	m->host.rnics[0] = (struct pingmesh_rnic){ .ip = ip_of(rig, i),
						   .qpn = qpn,
						   .tor = rig->topo->ports[rig->topo->nodes[host].first_port].peer };
	controller_gid_of_ip(ip_of(rig, i), m->host.rnics[0].gid);
	return sizeof(m->hdr) + m->hdr.size;
}

static inline size_t
make_pinglists(const struct rig *rig, struct message *m, uint32_t i)
{
	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_PINGLISTS, sizeof(m->host.head),
					0 } };
	m->host.head.host = rig->topo->hosts[i];
	return sizeof(m->hdr) + m->hdr.size;
}

static inline size_t
make_resolve(const struct rig *rig, struct message *m)
{
	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_RESOLVE, sizeof(m->list), 0 } };
	m->list.head.count = 3;
	m->list.ips[0] = ip_of(rig, 1);
	m->list.ips[1] = 1;
	m->list.ips[2] = ip_of(rig, 0);
	return sizeof(m->hdr) + m->hdr.size;
}

/* @return the reply's body, after its header was checked */
static inline const void *
ask(struct rig *rig, const struct message *m, size_t size, uint16_t type)
{
	struct controller_reply reply = controller_handle(rig->controller, m, size, 0);
	const struct pingmesh_hdr *hdr = reply.bytes;

	assert_int_equal(hdr->magic, PINGMESH_MAGIC);
	assert_int_equal(hdr->version, PINGMESH_MANAGE_VERSION);
	assert_int_equal(hdr->size + sizeof(*hdr), reply.size);
	if (hdr->type != type)
		fail_msg("reply %u: %s", hdr->type, hdr->type == PINGMESH_REFUSED ? (const char *)(hdr + 1) : "");
	return hdr + 1;
}

static inline void
register_all(struct rig *rig)
{
	struct message m;

	for (uint32_t i = 0; i < rig->topo->nhosts; i++)
		ask(rig, &m, make_register(rig, &m, i, 100 + i), PINGMESH_REGISTERED);
}
