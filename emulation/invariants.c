/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariants at the end of every run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emulation/emulation.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

/* Every byte that was created was consumed, dropped for a named reason, or is still in a queue or on a link. */
static void
check_conservation(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;
	uint64_t packets_in = 0, packets_out = 0, bytes_in = 0, bytes_out = 0;
	struct fabric_totals totals;

	fabric_sum(emulation->fabric, &totals);
	packets_out = totals.in_flight_packets + totals.lost_packets;
	bytes_out = totals.in_flight_bytes + totals.lost_bytes;
	if (emulation->partition != NULL) {
		struct partition_crossed crossed = emulation->partition->ops->crossed(emulation->partition->ctx);

		packets_in += crossed.in_packets;
		bytes_in += crossed.in_bytes;
		packets_out += crossed.out_packets;
		bytes_out += crossed.out_bytes;
	}
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct node *node = emulation->fabric->nodes[i];

		if (partition_is_remote(emulation, i))
			continue;

		packets_in += node->count.born_packets;
		bytes_in += node->count.born_bytes;
		packets_out += node->count.consumed_packets + node->count.dropped_packets;
		bytes_out += node->count.consumed_bytes + node->count.dropped_bytes;
		node->ops->held(node, &packets_out, &bytes_out);
	}
	*result = (struct invariant){
		.name = "conservation",
		.holds = packets_in == packets_out && bytes_in == bytes_out,
	};
	snprintf(result->text, sizeof(result->text),
		 "%" PRIu64 " packets, %" PRIu64 " B created; %" PRIu64 " packets, %" PRIu64
		 " B consumed, dropped by name, queued or in flight",
		 packets_in, bytes_in, packets_out, bytes_out);
}

/* The same at every node: in + created = out + consumed + dropped + held. */
static void
check_nodes(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;

	*result = (struct invariant){ .name = "node_conservation", .holds = true };
	snprintf(result->text, sizeof(result->text), "bytes in = out + queued + dropped at each of %u nodes", topo->nnodes);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct node *node = emulation->fabric->nodes[i];
		const struct node_counters *c = &node->count;
		uint64_t held_packets = 0, held_bytes = 0;

		if (partition_is_remote(emulation, i))
			continue; /* its partition checks it */
		node->ops->held(node, &held_packets, &held_bytes);
		if (c->rx_bytes + c->born_bytes == c->tx_bytes + c->consumed_bytes + c->dropped_bytes + held_bytes &&
		    c->rx_packets + c->born_packets ==
			    c->tx_packets + c->consumed_packets + c->dropped_packets + held_packets)
			continue;
		result->holds = false;
		snprintf(result->text, sizeof(result->text),
			 "node %s: %" PRIu64 " B in + %" PRIu64 " B created, %" PRIu64 " B out + %" PRIu64
			 " B consumed + %" PRIu64 " B dropped + %" PRIu64 " B held",
			 topo->nodes[i].name, c->rx_bytes, c->born_bytes, c->tx_bytes, c->consumed_bytes, c->dropped_bytes,
			 held_bytes);
		return;
	}
}

/* A counter of every node that must be zero. */
static void
check_zero(const struct emulation *emulation, struct invariant *result, const char *name, const char *what, size_t offset)
{
	const struct topo *topo = emulation->scenario->topo;

	*result = (struct invariant){ .name = name, .holds = true };
	snprintf(result->text, sizeof(result->text), "%s: none", what);
	for (uint32_t i = 0; i < topo->nnodes && result->holds; i++) {
		const struct node_counters *count = &emulation->fabric->nodes[i]->count;
		uint64_t value = *(const uint64_t *)((const char *)count + offset);

		if (value == 0)
			continue;
		result->holds = false;
		snprintf(result->text, sizeof(result->text), "%s: %" PRIu64 " at %s", what, value, topo->nodes[i].name);
	}
}

/*
 * Packets overtake others of their flow only where a fault changed the route of packets in flight, or where load
 * balancing sprays them.
 */
static void
check_order(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;
	uint64_t errors = 0, changes = 0;

	check_zero(emulation, result, "flow_order", "packets that overtook others of their flow",
		   offsetof(struct node_counters, order_errors));
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		errors += emulation->fabric->nodes[i]->count.order_errors;
		changes += emulation->fabric->nodes[i]->count.route_changes;
	}
	if (errors != 0 && emulation->scenario->balance.ops->reorders) {
		result->holds = true;
		snprintf(result->text, sizeof(result->text),
			 "packets that overtook others of their flow: %" PRIu64 ", as load_balancing = %s lets them",
			 errors, emulation->scenario->balance.ops->name);
		return;
	}
	if (errors == 0 || changes == 0)
		return;
	result->holds = true;
	snprintf(result->text, sizeof(result->text),
		 "packets that overtook others of their flow: %" PRIu64 ", after faults changed routes %" PRIu64 " times",
		 errors, changes);
}

static void
check_lossless(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;

	*result = (struct invariant){ .name = "lossless", .holds = true };
	snprintf(result->text, sizeof(result->text), "no frame of a lossless class overran its headroom");
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct node *node = emulation->fabric->nodes[i];

		if (node->status != NODE_NO_BUFFER)
			continue;
		result->holds = false;
		snprintf(result->text, sizeof(result->text), "%.*s", (int)sizeof(result->text) - 1, node->error);
		return;
	}
}

/* Every message that a host received was one that its schedule expects, once. */
static void
check_protocol(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;
	uint64_t unexpected = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (emulation->engines[i] != NULL)
			unexpected += step_engine_unexpected(emulation->engines[i]);
	*result = (struct invariant){ .name = "protocol", .holds = unexpected == 0 };
	snprintf(result->text, sizeof(result->text), "messages that no schedule expects: %" PRIu64, unexpected);
}

/* Where a sender's time went adds up to the time of its step. */
static void
check_ledgers(const struct emulation *emulation, struct invariant *result)
{
	const struct topo *topo = emulation->scenario->topo;
	const struct ledger_audit *worst = NULL;
	uint64_t steps = 0, wrong = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct ledger_audit *audit =
			emulation->engines[i] != NULL ? step_engine_audit(emulation->engines[i]) : NULL;

		if (audit == NULL)
			continue;
		steps += audit->steps;
		wrong += audit->wrong;
		if (worst == NULL || audit->worst_ps > worst->worst_ps) {
			worst = audit;
			at = i;
		}
	}
	*result = (struct invariant){ .name = "ledgers", .holds = wrong == 0 };
	if (worst == NULL || worst->worst_ps == 0)
		snprintf(result->text, sizeof(result->text),
			 "the ledgers of %" PRIu64 " steps add up to their times exactly", steps);
	else
		snprintf(result->text, sizeof(result->text),
			 "of the ledgers of %" PRIu64 " steps %" PRIu64 " do not add up to their times; most off: %" PRIu64
			 " ps, of step %u of rank %u, collective %u, at %s",
			 steps, wrong, worst->worst_ps, worst->worst.step, worst->worst.rank, worst->worst.collective,
			 topo->nodes[at].name);
}

uint32_t
emulation_check(const struct emulation *emulation, struct invariant results[EMULATION_INVARIANTS])
{
	uint32_t failed = 0;

	check_conservation(emulation, &results[0]);
	check_nodes(emulation, &results[1]);
	check_zero(emulation, &results[2], "pause_alternation", "PAUSE and RESUME of a port's own accounting out of turn",
		   offsetof(struct node_counters, pause_errors));
	check_order(emulation, &results[3]);
	check_zero(emulation, &results[4], "rows", "epochs whose flow rows do not sum to their port row",
		   offsetof(struct node_counters, row_errors));
	check_lossless(emulation, &results[5]);
	check_protocol(emulation, &results[6]);
	check_ledgers(emulation, &results[7]);
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		failed += !results[i].holds;
	return failed;
}
