/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/counters.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "common/wire/eth.h"
#include "dpswitch/control/switch_answer.h"

#define LOOK_NS 200000ULL
#define GROUPS_MIN 16

/*
 * Owner of the copy. IDLE, ANSWERED: the asker; ASKED: none, either may take it; ANSWERING: the fabric. An asker stores
 * ASKED (release) and takes it back (acq_rel); the fabric takes it (acquire) and stores ANSWERED (release), which the
 * asker loads (acquire).
 */
enum { IDLE, ASKED, ANSWERING, ANSWERED };

struct counters {
	_Atomic int state;
	_Atomic bool over; /* the fabric has stopped: written by its thread (release), read by askers (acquire) */
	pthread_mutex_t askers;
	const struct topo *topo;
	uint32_t nports, ngroups, groups_cap;
	uint8_t lossless;
	struct counters_place *places;
	struct counters_group *groups;
	/* owned as state defines */
	struct counters_port *copy;
	uint64_t copy_ps;
};

/* @return 0 or -ENOMEM */
static int
add_group(struct counters *c, uint32_t node, uint32_t first, const uint8_t *members, uint32_t count)
{
	uint32_t cap = c->groups_cap != 0 ? 2 * c->groups_cap : GROUPS_MIN;

	for (uint32_t i = c->ngroups; i-- > 0 && c->groups[i].node == node;)
		if (c->groups[i].count == count && memcmp(c->groups[i].members, members, count) == 0) {
			c->groups[i].destinations++;
			return 0;
		}
	if (c->ngroups == c->groups_cap) {
		struct counters_group *groups = realloc(c->groups, cap * sizeof(*groups));

		if (groups == NULL)
			return -ENOMEM;
		c->groups = groups;
		c->groups_cap = cap;
	}
	c->groups[c->ngroups] = (struct counters_group){ .first = first, .node = node, .destinations = 1, .count = count };
	memcpy(c->groups[c->ngroups++].members, members, count);
	return 0;
}

/* The sets of one switch towards all NICs. @return 0 or -ENOMEM */
static int
add_groups(struct counters *c, uint32_t node, uint32_t first, const struct route_table *routes)
{
	int ret = 0;

	for (uint32_t dst = 0; ret == 0 && dst < c->topo->nnodes; dst++)
		for (uint16_t nic = 0;
		     ret == 0 && c->topo->nodes[dst].kind == TOPO_HOST && nic < c->topo->nodes[dst].nports; nic++) {
			const uint8_t *members;
			uint32_t count = route_next_hops(routes, node, dst, nic, &members);

			if (count > 1)
				ret = add_group(c, node, first, members, count);
		}
	return ret;
}

/* @return 0 or -ENOMEM */
static int
list_ports(struct counters *c, struct sw *const *switches, const bool *remote, const struct route_table *routes)
{
	int ret = 0;

	c->places = calloc(c->topo->nports, sizeof(*c->places));
	c->copy = calloc(c->topo->nports, sizeof(*c->copy));
	if (c->places == NULL || c->copy == NULL)
		return -ENOMEM;
	for (uint32_t node = 0; ret == 0 && node < c->topo->nnodes; node++) {
		uint32_t first = c->nports;

		if (switches[node] == NULL || (remote != NULL && remote[node]))
			continue;
		c->lossless |= switches[node]->account.lossless;
		for (uint16_t i = 0; i < switches[node]->node.nports; i++)
			c->places[c->nports++] = (struct counters_place){ switches[node], i };
		ret = add_groups(c, node, first, routes);
	}
	return ret;
}

struct counters *
counters_create(const struct topo *topo, struct sw *const *switches, const bool *remote, const struct route_table *routes,
		struct err *err)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		c->topo = topo;
		pthread_mutex_init(&c->askers, NULL);
		if (list_ports(c, switches, remote, routes) == 0)
			return c;
	}
	counters_destroy(c);
	errno = -err_set(err, -ENOMEM, "out of memory for the counters of %u ports", topo->nports);
	return NULL;
}

void
counters_destroy(struct counters *c)
{
	if (c == NULL)
		return;
	pthread_mutex_destroy(&c->askers);
	free(c->places);
	free(c->groups);
	free(c->copy);
	free(c);
}

static struct counters_port
read_port(const struct counters_place *place)
{
	static const uint64_t around = ETH_PREAMBLE_BYTES + ETH_GAP_BYTES;
	const struct link *rx = place->sw->node.rx[place->port], *tx = place->sw->node.tx[place->port];
	struct counters_port port = {
		.port = answer_port(place->sw, place->port),
		.in_octets = rx->received_bytes - around * rx->received_frames,
		.out_octets = tx->sent_bytes - around * tx->sent_frames,
	};

	memcpy(port.rx_pfc, rx->received_pauses, sizeof(port.rx_pfc));
	memcpy(port.tx_pfc, tx->sent_pauses, sizeof(port.tx_pfc));
	return port;
}

void
counters_serve(struct counters *c, uint64_t now_ps)
{
	int asked = ASKED;

	if (atomic_load_explicit(&c->state, memory_order_relaxed) != ASKED ||
	    !atomic_compare_exchange_strong_explicit(&c->state, &asked, ANSWERING, memory_order_acquire,
						     memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < c->nports; i++)
		c->copy[i] = read_port(&c->places[i]);
	c->copy_ps = now_ps;
	atomic_store_explicit(&c->state, ANSWERED, memory_order_release);
}

void
counters_end(struct counters *c, uint64_t now_ps)
{
	pthread_mutex_t *askers = &c->askers;

	counters_serve(c, now_ps);
	atomic_store_explicit(&c->over, true, memory_order_release);
	pthread_mutex_lock(askers); /* an asker that waits stops waiting */
	atomic_store_explicit(&c->state, ASKED, memory_order_relaxed);
	counters_serve(c, now_ps);
	pthread_mutex_unlock(askers);
}

/* Waits for the fabric. @return whether it has answered */
static bool
wait_answered(struct counters *c)
{
	uint64_t end_ns = clock_now_ns() + COUNTERS_TIMEOUT_NS;

	for (;;) {
		int asked = ASKED, state = atomic_load_explicit(&c->state, memory_order_acquire);

		if (state == ANSWERED)
			return true;
		if ((clock_now_ns() >= end_ns || atomic_load_explicit(&c->over, memory_order_acquire)) &&
		    atomic_compare_exchange_strong_explicit(&c->state, &asked, IDLE, memory_order_acq_rel,
							    memory_order_relaxed))
			return false;
		clock_sleep_until_ns(clock_now_ns() + LOOK_NS);
	}
}

struct counters_view
counters_ask(struct counters *c)
{
	bool fresh = false;

	pthread_mutex_lock(&c->askers);
	if (!atomic_load_explicit(&c->over, memory_order_acquire)) {
		atomic_store_explicit(&c->state, ASKED, memory_order_release);
		fresh = wait_answered(c);
	}
	return (struct counters_view){
		.topo = c->topo,
		.places = c->places,
		.ports = c->copy,
		.nports = c->nports,
		.groups = c->groups,
		.ngroups = c->ngroups,
		.lossless = c->lossless,
		.time_ps = c->copy_ps,
		.fresh = fresh,
	};
}

void
counters_done(struct counters *c)
{
	pthread_mutex_unlock(&c->askers);
}
