/* SPDX-License-Identifier: BSD-3-Clause */
/* After the run: what became of nodes and steps goes to the first part, which writes about the whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "emulation/parts/parts_state.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"

/* How long the others may say nothing, or take nothing, then; after an interrupt. */
#define FINISH_NS 20000000000ULL
#define FINISH_HURRIED_NS 2000000000ULL
#define FINISH_SLICE_NS 50000000ULL

void
parts_stop(struct parts *parts)
{
	const struct fabric *fabric = parts->emulation->fabric;
	struct parts_bye bye = {
		.end_ps = fabric->window.end_ps,
		.reason = fabric->end_reason,
		.node = fabric->end_node,
	};

	if (fabric->end_node < parts->scenario->topo->nnodes && fabric->nodes[fabric->end_node]->error[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%s", fabric->nodes[fabric->end_node]->error);
	else if (parts->why[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%.*s", PARTS_TEXT - 1, parts->why);
	parts->ended = true;
	for (uint32_t p = 0; p < parts->count; p++)
		channel_put(&parts->peers[p].channel, PARTS_BYE, &bye, sizeof(bye), NULL, 0);
	parts_flush(parts);
	cut_stop(parts);
}

static uint64_t
patience_ns(void)
{
	return interrupt_asked() ? FINISH_HURRIED_NS : FINISH_NS;
}

static void
tell_host(struct parts *parts, uint32_t node)
{
	struct channel *to = &parts->peers[0].channel;
	const struct step_engine *engine = parts->emulation->engines[node];
	const struct parts_host head = { .node = node };
	const struct parts_result result = { .node = node, .unexpected = step_engine_unexpected(engine) };

	for (size_t i = 0; i < step_engine_rows(engine); i++) {
		struct manage_step step = step_engine_get_step(engine, i);

		channel_put(to, PARTS_STEP, &head, sizeof(head), &step, sizeof(step));
	}
	for (size_t i = 0; i < step_engine_iterations(engine); i++) {
		struct manage_iteration iteration = step_engine_get_iteration(engine, i);

		channel_put(to, PARTS_ITERATION, &head, sizeof(head), &iteration, sizeof(iteration));
	}
	for (size_t i = 0; i < step_engine_flows(engine); i++) {
		struct flow_row row = step_engine_flow(engine, i);
		const struct parts_flow flow = { node, (uint32_t)i, row.begin_ps, row.end_ps, row.retransmits, row.begun };

		channel_put(to, PARTS_FLOW, &flow, sizeof(flow), NULL, 0);
	}
	channel_put(to, PARTS_RESULT, &result, sizeof(result), NULL, 0);
}

static void
tell_faults(struct parts *parts)
{
	const struct fault_list *list = &parts->scenario->faults;
	uint8_t *acted = calloc(list->count + 1u, sizeof(*acted));

	if (acted == NULL)
		log_fatal("out of memory for %u faults", list->count);
	for (uint32_t i = 0; i < list->count; i++)
		acted[i] = list->faults[i].acted;
	channel_put(&parts->peers[0].channel, PARTS_FAULTS, acted, list->count, NULL, 0);
	free(acted);
}

/* What others have not taken, of those who want to hear it. */
static size_t
left_bytes(const struct parts *parts)
{
	size_t bytes = 0;

	for (uint32_t p = 0; p < parts->count; p++) {
		const struct part_peer *peer = &parts->peers[p];

		if (!peer->lost && peer->channel.fd >= 0 && peer->channel.error == 0 && (p == 0 || !peer->bye))
			bytes += peer->channel.out_used - peer->channel.out_head;
	}
	return bytes;
}

/* Until all has left, or nobody takes any of it. */
static void
flush_all(struct parts *parts)
{
	struct patience taken = { 0 };

	while (left_bytes(parts) != 0) {
		size_t waits = left_bytes(parts);

		parts_flush(parts);
		if (left_bytes(parts) != waits)
			patience_renew(&taken);
		if (patience_look(&taken, clock_now_ns()) >= patience_ns()) {
			if (channel_waits(&parts->peers[0].channel))
				parts_lose(parts, 0, "it takes nothing any more");
			break;
		}
		parts_sleep(parts, clock_now_ns() + FINISH_SLICE_NS);
		parts_take_in(parts);
	}
}

static bool
is_open(const struct part_peer *peer)
{
	return !peer->lost && peer->channel.fd >= 0 && peer->channel.error == 0 && !peer->channel.ended;
}

/* What was said last arrives: this part is there until the others have said all, too. */
static void
leave(struct parts *parts)
{
	struct patience left = { 0 };
	bool any = true;

	for (uint32_t p = 0; p < parts->count; p++)
		channel_shut(&parts->peers[p].channel);
	while (any && patience_look(&left, clock_now_ns()) < patience_ns()) {
		any = false;
		for (uint32_t p = 0; p < parts->count; p++)
			any |= is_open(&parts->peers[p]);
		if (any)
			parts_sleep(parts, clock_now_ns() + FINISH_SLICE_NS);
		parts_take_in(parts);
	}
}

static void
tell(struct parts *parts)
{
	struct part_peer *first = &parts->peers[0];

	parts_collect(parts, TIME_NEVER);
	for (uint32_t i = 0; i < parts->scenario->topo->nnodes; i++) {
		const struct parts_counters head = { .node = i };

		if (parts->foreign[i])
			continue;
		channel_put(&first->channel, PARTS_COUNTERS, &head, sizeof(head),
			    &parts->emulation->fabric->nodes[i]->count, sizeof(struct node_counters));
		if (parts->emulation->engines[i] != NULL)
			tell_host(parts, i);
	}
	tell_faults(parts);
	parts_report(parts);
	channel_put(&first->channel, PARTS_DONE, NULL, 0, NULL, 0);
	flush_all(parts);
	leave(parts);
}

/* Whoever has told all may go. */
static void
let_go(struct parts *parts)
{
	parts_flush(parts);
	for (uint32_t p = 1; p < parts->count; p++)
		if (parts->peers[p].done)
			channel_shut(&parts->peers[p].channel);
}

static void
listen_to_all(struct parts *parts)
{
	for (uint32_t p = 1; p < parts->count; p++) {
		struct part_peer *peer = &parts->peers[p];

		peer->silent = (struct patience){ 0 };
		let_go(parts);
		while (!peer->lost && !peer->channel.shut && !(peer->done && peer->channel.error != 0)) {
			bool late = patience_look(&peer->silent, clock_now_ns()) >= patience_ns();

			if (late && peer->done)
				break;
			if (late)
				parts_lose(parts, p, "it did not tell what became of its nodes");
			parts_sleep(parts, clock_now_ns() + FINISH_SLICE_NS);
			parts_take_in(parts);
			let_go(parts);
		}
	}
}

void
parts_finish(void *ctx)
{
	struct parts *parts = ctx;

	if (parts->which != 0)
		tell(parts);
	else
		listen_to_all(parts);
}

int
parts_counters_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct parts_counters head;

	memcpy(&head, message->body, sizeof(head));
	if (parts->which != 0 || message->size != sizeof(head) + sizeof(struct node_counters))
		return err_set(err, -EPROTO, "COUNTERS of %u B", message->size);
	if (parts_owns(parts, from, head.node, err) < 0)
		return -EPROTO;
	memcpy(&parts->emulation->fabric->nodes[head.node]->count, message->body + sizeof(head),
	       sizeof(struct node_counters));
	return 0;
}

/* @return the engine of a host that a message is about; NULL with err set */
static struct step_engine *
engine_of(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct parts_host head;

	memcpy(&head, message->body, sizeof(head));
	if (parts_owns(parts, from, head.node, err) < 0)
		return NULL;
	if (parts->emulation->engines[head.node] == NULL)
		err_set(err, -EPROTO, "node = %u is no host", head.node);
	return parts->emulation->engines[head.node];
}

int
parts_step_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(parts, from, message, err);
	struct manage_step step;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&step, message->body + sizeof(struct parts_host), sizeof(step));
	return step_engine_put_step(engine, &step) ? 0 : err_set(err, -EPROTO, "STEP of no plan of its host");
}

int
parts_iteration_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(parts, from, message, err);
	struct manage_iteration iteration;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&iteration, message->body + sizeof(struct parts_host), sizeof(iteration));
	return step_engine_put_iteration(engine, &iteration) ? 0
							     : err_set(err, -EPROTO, "ITERATION of no plan of its host");
}

int
parts_flow_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(parts, from, message, err);
	struct parts_flow flow;
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
parts_result_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(parts, from, message, err);
	struct parts_result result;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&result, message->body, sizeof(result));
	step_engine_put_unexpected(engine, result.unexpected);
	return 0;
}

int
parts_faults_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct fault_list *list = &parts->scenario->faults;

	(void)from;
	if (parts->which != 0 || message->size != list->count)
		return err_set(err, -EPROTO, "FAULTS of %u B; right would be %u B", message->size, list->count);
	for (uint32_t i = 0; i < list->count; i++)
		list->faults[i].acted |= message->body[i] == 1;
	return 0;
}
