/* SPDX-License-Identifier: BSD-3-Clause */
/* After the run: what became of nodes and steps goes to the first part, which writes about the whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "emulation/partition/partition_state.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"

/* How long the others may say nothing, or take nothing, then; after an interrupt. */
#define FINISH_NS 20000000000ULL
#define FINISH_HURRIED_NS 2000000000ULL
#define FINISH_SLICE_NS 50000000ULL

void
partition_stop(struct partitions *partitions)
{
	const struct fabric *fabric = partitions->emulation->fabric;
	struct partition_bye bye = {
		.end_ps = fabric->window.end_ps,
		.reason = fabric->end_reason,
		.node = fabric->end_node,
	};

	if (fabric->end_node < partitions->scenario->topo->nnodes && fabric->nodes[fabric->end_node]->error[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%s", fabric->nodes[fabric->end_node]->error);
	else if (partitions->why[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%.*s", PARTITION_TEXT - 1, partitions->why);
	partitions->ended = true;
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_put(&partitions->peers[p].channel, PARTITION_BYE, &bye, sizeof(bye), NULL, 0);
	partition_flush(partitions);
	boundary_stop(partitions);
}

static uint64_t
idle_limit_ns(void)
{
	return interrupt_asked() ? FINISH_HURRIED_NS : FINISH_NS;
}

static void
report_host(struct partitions *partitions, uint32_t node)
{
	struct channel *to = &partitions->peers[0].channel;
	const struct step_engine *engine = partitions->emulation->engines[node];
	const struct partition_host head = { .node = node };
	const struct partition_result result = { .node = node, .unexpected = step_engine_unexpected(engine) };

	for (size_t i = 0; i < step_engine_rows(engine); i++) {
		struct manage_step step = step_engine_get_step(engine, i);

		channel_put(to, PARTITION_STEP, &head, sizeof(head), &step, sizeof(step));
	}
	for (size_t i = 0; i < step_engine_iterations(engine); i++) {
		struct manage_iteration iteration = step_engine_get_iteration(engine, i);

		channel_put(to, PARTITION_ITERATION, &head, sizeof(head), &iteration, sizeof(iteration));
	}
	for (size_t i = 0; i < step_engine_flows(engine); i++) {
		struct flow_row row = step_engine_flow(engine, i);
		const struct partition_flow flow = {
			node, (uint32_t)i, row.begin_ps, row.end_ps, row.retransmits, row.begun
		};

		channel_put(to, PARTITION_FLOW, &flow, sizeof(flow), NULL, 0);
	}
	channel_put(to, PARTITION_RESULT, &result, sizeof(result), NULL, 0);
}

static void
report_faults(struct partitions *partitions)
{
	const struct fault_list *list = &partitions->scenario->faults;
	uint8_t *acted = calloc(list->count + 1u, sizeof(*acted));

	if (acted == NULL)
		log_fatal("out of memory for %u faults", list->count);
	for (uint32_t i = 0; i < list->count; i++)
		acted[i] = list->faults[i].acted;
	channel_put(&partitions->peers[0].channel, PARTITION_FAULTS, acted, list->count, NULL, 0);
	free(acted);
}

/* What others have not taken, of those who want to hear it. */
static size_t
left_bytes(const struct partitions *partitions)
{
	size_t bytes = 0;

	for (uint32_t p = 0; p < partitions->count; p++) {
		const struct partition_peer *peer = &partitions->peers[p];

		if (!peer->lost && peer->channel.fd >= 0 && peer->channel.error == 0 && (p == 0 || !peer->bye))
			bytes += peer->channel.out_used - peer->channel.out_head;
	}
	return bytes;
}

/* Until all has left, or nobody takes any of it. */
static void
flush_all(struct partitions *partitions)
{
	struct stall_timer taken = { 0 };

	while (left_bytes(partitions) != 0) {
		size_t waits = left_bytes(partitions);

		partition_flush(partitions);
		if (left_bytes(partitions) != waits)
			stall_timer_renew(&taken);
		if (stall_timer_look(&taken, clock_now_ns()) >= idle_limit_ns()) {
			if (channel_waits(&partitions->peers[0].channel))
				partition_lose(partitions, 0, "it takes nothing any more");
			break;
		}
		partition_sleep(partitions, clock_now_ns() + FINISH_SLICE_NS);
		partition_take_in(partitions);
	}
}

static bool
is_open(const struct partition_peer *peer)
{
	return !peer->lost && peer->channel.fd >= 0 && peer->channel.error == 0 && !peer->channel.ended;
}

/* What was said last arrives: this part is there until the others have said all, too. */
static void
leave(struct partitions *partitions)
{
	struct stall_timer left = { 0 };
	bool any = true;

	for (uint32_t p = 0; p < partitions->count; p++)
		channel_shut(&partitions->peers[p].channel);
	while (any && stall_timer_look(&left, clock_now_ns()) < idle_limit_ns()) {
		any = false;
		for (uint32_t p = 0; p < partitions->count; p++)
			any |= is_open(&partitions->peers[p]);
		if (any)
			partition_sleep(partitions, clock_now_ns() + FINISH_SLICE_NS);
		partition_take_in(partitions);
	}
}

static void
report_nodes(struct partitions *partitions)
{
	struct partition_peer *first = &partitions->peers[0];

	partition_collect(partitions, TIME_NEVER);
	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		const struct partition_counters head = { .node = i };

		if (partitions->remote[i])
			continue;
		channel_put(&first->channel, PARTITION_COUNTERS, &head, sizeof(head),
			    &partitions->emulation->fabric->nodes[i]->count, sizeof(struct node_counters));
		if (partitions->emulation->engines[i] != NULL)
			report_host(partitions, i);
	}
	report_faults(partitions);
	partition_report(partitions);
	channel_put(&first->channel, PARTITION_DONE, NULL, 0, NULL, 0);
	flush_all(partitions);
	leave(partitions);
}

/* Whoever has told all may go. */
static void
let_go(struct partitions *partitions)
{
	partition_flush(partitions);
	for (uint32_t p = 1; p < partitions->count; p++)
		if (partitions->peers[p].done)
			channel_shut(&partitions->peers[p].channel);
}

static void
listen_to_all(struct partitions *partitions)
{
	for (uint32_t p = 1; p < partitions->count; p++) {
		struct partition_peer *peer = &partitions->peers[p];

		peer->silent = (struct stall_timer){ 0 };
		let_go(partitions);
		while (!peer->lost && !peer->channel.shut && !(peer->done && peer->channel.error != 0)) {
			bool late = stall_timer_look(&peer->silent, clock_now_ns()) >= idle_limit_ns();

			if (late && peer->done)
				break;
			if (late)
				partition_lose(partitions, p, "it did not tell what became of its nodes");
			partition_sleep(partitions, clock_now_ns() + FINISH_SLICE_NS);
			partition_take_in(partitions);
			let_go(partitions);
		}
	}
}

void
partition_finish(void *ctx)
{
	struct partitions *partitions = ctx;

	if (partitions->which != 0)
		report_nodes(partitions);
	else
		listen_to_all(partitions);
}

int
partition_recv_counters(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			struct err *err)
{
	struct partition_counters head;

	memcpy(&head, message->body, sizeof(head));
	if (partitions->which != 0 || message->size != sizeof(head) + sizeof(struct node_counters))
		return err_set(err, -EPROTO, "COUNTERS of %u B", message->size);
	if (partition_owns(partitions, from, head.node, err) < 0)
		return -EPROTO;
	memcpy(&partitions->emulation->fabric->nodes[head.node]->count, message->body + sizeof(head),
	       sizeof(struct node_counters));
	return 0;
}

/* @return the engine of a host that a message is about; NULL with err set */
static struct step_engine *
engine_of(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_host head;

	memcpy(&head, message->body, sizeof(head));
	if (partition_owns(partitions, from, head.node, err) < 0)
		return NULL;
	if (partitions->emulation->engines[head.node] == NULL)
		err_set(err, -EPROTO, "node = %u is no host", head.node);
	return partitions->emulation->engines[head.node];
}

int
partition_recv_step(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(partitions, from, message, err);
	struct manage_step step;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&step, message->body + sizeof(struct partition_host), sizeof(step));
	return step_engine_put_step(engine, &step) ? 0 : err_set(err, -EPROTO, "STEP of no plan of its host");
}

int
partition_recv_iteration(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			 struct err *err)
{
	struct step_engine *engine = engine_of(partitions, from, message, err);
	struct manage_iteration iteration;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&iteration, message->body + sizeof(struct partition_host), sizeof(iteration));
	return step_engine_put_iteration(engine, &iteration) ? 0
							     : err_set(err, -EPROTO, "ITERATION of no plan of its host");
}

int
partition_recv_flow(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(partitions, from, message, err);
	struct partition_flow flow;
	struct flow_row row = { 0 };

	if (engine == NULL)
		return -EPROTO;
	memcpy(&flow, message->body, sizeof(flow));
	row.begin_ps = flow.begin_ps;
	row.end_ps = flow.end_ps;
	row.retransmits = flow.retransmits;
	row.begun = flow.begun != 0;
	return step_engine_put_flow(engine, flow.index, &row) ? 0 : err_set(err, -EPROTO, "FLOW of no plan of its host");
}

int
partition_recv_result(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(partitions, from, message, err);
	struct partition_result result;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&result, message->body, sizeof(result));
	step_engine_put_unexpected(engine, result.unexpected);
	return 0;
}

int
partition_recv_faults(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct fault_list *list = &partitions->scenario->faults;

	(void)from;
	if (partitions->which != 0 || message->size != list->count)
		return err_set(err, -EPROTO, "FAULTS of %u B; right would be %u B", message->size, list->count);
	for (uint32_t i = 0; i < list->count; i++)
		list->faults[i].acted |= message->body[i] == 1;
	return 0;
}
