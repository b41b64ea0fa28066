/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of other partitions once the run has begun, and the loss of silent ones. */
#include "emulation/partition/partition_peers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/record/kinds.h"
#include "emulation/emulation.h"
#include "emulation/outputs/outputs.h"
#include "rxe-hosts/steps/engine.h"

int
partition_owns(const struct partitions *partitions, uint32_t from, uint32_t node, struct err *err)
{
	if (node < partitions->scenario->topo->nnodes && partitions->partition_of[node] == from)
		return 0;
	return err_set(err, -EPROTO, "node = %u is not of its partition", node);
}

/* Records. */

/* Of one message: leaves room for its head. */
#define BATCH_BYTES (PARTITION_MAX_BODY / 2)
#define RECORD_BYTES 4096 /* more than any has */

/* What this partition reports of its hosts. */
static void
look(struct partitions *partitions, uint64_t now_ps)
{
	const struct emulation *emulation = partitions->emulation;
	struct partition_promise *promised = &partitions->promised;

	promised->state = partitions->up ? PARTITION_UP : 0;
	if (emulation->phase == EMULATION_PREPARE && !emulation_ready(emulation))
		promised->state |= PARTITION_WORKING;
	promised->progress = 0;
	promised->next_ps = TIME_NEVER;
	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];
		uint64_t next_ps;

		if (partitions->remote[i])
			continue;
		promised->progress += emulation->fabric->nodes[i]->count.progress;
		if (driver == NULL || emulation->phase == EMULATION_PREPARE)
			continue;
		if (emulation->fabric->nodes[i]->status == NODE_RUNNING || driver->ops->working(driver->ctx, i))
			promised->state |= PARTITION_WORKING;
		if (driver->ops->sending(driver->ctx, i, &next_ps))
			promised->state |= PARTITION_SENDING;
		if (next_ps > now_ps) /* what is due already waits for no time */
			promised->next_ps = min_u64(promised->next_ps, next_ps);
	}
}

/* Takes in the others' reports of their hosts: a node of each stands for it. */
static void
show_progress(struct partitions *partitions)
{
	bool shown[PARTITION_MAX] = { false };

	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		uint32_t partition = partitions->partition_of[i];

		if (!partitions->remote[i] || shown[partition])
			continue;
		partitions->emulation->fabric->nodes[i]->count.progress = partitions->peers[partition].progress;
		shown[partition] = true;
	}
}

static void
send_records(struct partitions *partitions, uint64_t before_ps)
{
	struct channel *to = &partitions->peers[0].channel;
	const struct partition_records head = { 0 }, last = { .before_ps = before_ps };

	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		const struct recbuf *buf = partitions->emulation->records[i];
		struct recbuf rest = *buf;

		while (!partitions->remote[i] && rest.used_bytes != 0) {
			size_t bytes = recbuf_front(&rest, BATCH_BYTES);

			channel_put(to, PARTITION_RECORDS, &head, sizeof(head), rest.data, bytes);
			rest.data += bytes;
			rest.used_bytes -= bytes;
		}
	}
	channel_put(to, PARTITION_RECORDS, &last, sizeof(last), NULL, 0);
}

uint64_t
partition_collect(void *ctx, uint64_t now_ps)
{
	struct partitions *partitions = ctx;
	uint64_t complete_ps = now_ps;

	look(partitions, now_ps);
	show_progress(partitions);
	if (partitions->emulation->phase == EMULATION_PREPARE)
		return now_ps;
	if (partitions->which != 0)
		send_records(partitions, now_ps);
	if (partitions->partition.windows && !partitions->over) {
		partition_exchange_states(partitions, now_ps);
		show_progress(partitions);
		partition_show_states(partitions);
	}
	if (partitions->which != 0)
		return now_ps;
	for (uint32_t p = 1; p < partitions->count; p++)
		if (!partitions->peers[p].lost && !partitions->peers[p].done)
			complete_ps = min_u64(complete_ps, partitions->peers[p].before_ps);
	return complete_ps;
}

/* @return bytes of the record; -EPROTO with err set */
static int
take_record(struct partitions *partitions, uint32_t from, const uint8_t *at, size_t left, struct err *err)
{
	_Alignas(8) uint8_t bytes[RECORD_BYTES];
	const struct rec_hdr *rec = (const struct rec_hdr *)(const void *)bytes;
	struct recbuf *buf;
	size_t size;

	if (left < sizeof(*rec))
		return err_set(err, -EPROTO, "RECORDS: %zu B are no record", left);
	memcpy(bytes, at, sizeof(*rec));
	size = record_is_report(rec->type) ? record_size(rec->type) : 0;
	if (size == 0 || rec->size != size || size > left || size > sizeof(bytes))
		return err_set(err, -EPROTO, "RECORDS: a record of type %u and %u B is none that a node reports", rec->type,
			       rec->size);
	memcpy(bytes, at, size);
	if (partition_owns(partitions, from, rec->node, err) < 0)
		return -EPROTO;
	buf = partitions->emulation->records[rec->node];
	if (rec->seq != buf->seq || rec->time_ps < partitions->peers[from].before_ps)
		return err_set(err, -EPROTO,
			       "RECORDS: %s number %u of %" PRIu64 " ps; right would be number %u, of %" PRIu64 " at least",
			       record_kinds[rec->type].name, rec->seq, rec->time_ps, buf->seq,
			       partitions->peers[from].before_ps);
	if (record_check(partitions->check, rec, err) < 0)
		return -EPROTO;
	recbuf_append(buf, rec);
	return (int)size;
}

static int
partition_recv_records(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_records head;
	size_t at = sizeof(head);

	if (partitions->which != 0)
		return err_set(err, -EPROTO, "RECORDS are for partition 0");
	memcpy(&head, message->body, sizeof(head));
	while (at < message->size) {
		int of = take_record(partitions, from, message->body + at, message->size - at, err);

		if (of < 0)
			return of;
		at += (size_t)of;
	}
	partitions->peers[from].before_ps = max_u64(partitions->peers[from].before_ps, head.before_ps);
	return 0;
}

/*
 * A partition sends the facts about its own nodes to the first, which puts them into its files
 * (emulation/outputs/output_partition.c).
 */

#define REPORT_BYTES (64u * 1024 * 1024)
#define CLOCK_ERROR "clock_error_ns"
#define MAX_CLOCK_ERROR_NS 60000000000 /* longer is no round trip waited for */

static void
partition_report(struct partitions *partitions)
{
	json_t *root = output_partition(partitions->emulation);
	uint64_t clock_ns = partitions->emulation->partition->ops->clock_error_ns(partitions);
	char *text = root != NULL && json_object_set_new(root, CLOCK_ERROR, json_integer((json_int_t)clock_ns)) == 0
			     ? json_dumps(root, JSON_COMPACT)
			     : NULL;
	size_t size;

	json_decref(root);
	if (text == NULL)
		log_fatal("out of memory for a report to partition 0");
	size = strlen(text);
	for (size_t at = 0; at < size; at += PARTITION_MAX_BODY)
		channel_put(&partitions->peers[0].channel, PARTITION_REPORT, text + at,
			    min_u64(PARTITION_MAX_BODY, size - at), NULL, 0);
	free(text);
}

uint64_t
partition_clock_error_ns(const json_t *reported)
{
	return (uint64_t)json_integer_value(json_object_get(reported, CLOCK_ERROR));
}

static int
check_clock(const json_t *reported, struct err *err)
{
	const json_t *error = json_object_get(reported, CLOCK_ERROR);

	if (json_is_integer(error) && json_integer_value(error) >= 0 && json_integer_value(error) <= MAX_CLOCK_ERROR_NS)
		return 0;
	return err_set(err, -EPROTO, "REPORT: " CLOCK_ERROR " is no time of up to a minute");
}

static int
partition_recv_report(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];

	if (partitions->which != 0 || peer->report_bytes + message->size > REPORT_BYTES)
		return err_set(err, -EPROTO, "REPORT of more than %u B", partitions->which != 0 ? 0 : REPORT_BYTES);
	peer->report =
		grow(peer->report, &peer->report_cap, peer->report_bytes + message->size, 1, "reports of other partitions");
	memcpy(peer->report + peer->report_bytes, message->body, message->size);
	peer->report_bytes += message->size;
	return 0;
}

/* An invariant that fails is reported at once: the exit code only shows that one failed. */
static void
check_invariants(struct partitions *partitions, uint32_t from)
{
	const json_t *list = json_object_get(json_object_get(partitions->peers[from].reported, "run"), "invariants"),
		     *entry;
	char text[256];
	size_t i;

	json_array_foreach(list, i, entry)
		if (json_is_false(json_object_get(entry, "holds"))) {
			printable_text(json_string_value(json_object_get(entry, "text")), text, sizeof(text));
			log_error("partition %u: an invariant does not hold: %s", from, text);
			partitions->peers[from].violates = true;
		}
}

static int
partition_recv_done(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	json_error_t error;

	(void)message;
	if (partitions->which != 0 || peer->done)
		return err_set(err, -EPROTO, "DONE is for partition 0, once");
	peer->reported =
		json_loadb(peer->report != NULL ? peer->report : "", peer->report_bytes, JSON_REJECT_DUPLICATES, &error);
	if (peer->reported == NULL)
		return err_set(err, -EPROTO, "REPORT: %s, at byte %d", error.text, error.position);
	if (check_clock(peer->reported, err) < 0 ||
	    output_partition_check(partitions->emulation, partitions->partition_of, from, peer->reported, err) < 0) {
		json_decref(peer->reported);
		peer->reported = NULL;
		return -EPROTO;
	}
	check_invariants(partitions, from);
	peer->done = true;
	return 0;
}

/* After the run, the results of nodes and steps go to the first partition, which writes them for the fabric. */

/* How long the others may send nothing, or take nothing, then; after an interrupt. */
#define FINISH_NS 20000000000ULL
#define FINISH_HURRIED_NS 2000000000ULL
#define FINISH_SLICE_NS 50000000ULL

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
		const struct partition_flow flow = { node,       (uint32_t)i,     row.begin_ps,
						     row.end_ps, row.acked_bytes, row.retransmits,
						     row.begun };

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

/* The bytes that other partitions have not taken, of those that still receive. */
static size_t
left_bytes(const struct partitions *partitions)
{
	size_t bytes = 0;

	for (uint32_t p = 0; p < partitions->count; p++) {
		const struct partition_peer *peer = &partitions->peers[p];

		if (!peer->lost && channel_is_open(&peer->channel) && peer->channel.error == 0 && (p == 0 || !peer->bye))
			bytes += channel_left_bytes(&peer->channel);
	}
	return bytes;
}

/* Until all has left, or no peer takes any of it. */
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
	return !peer->lost && channel_is_open(&peer->channel) && peer->channel.error == 0 && !peer->channel.ended;
}

/* Delivers the last messages: this partition stays until the others have sent all, too. */
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

	send_records(partitions, TIME_NEVER);
	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		const struct partition_counters head = { .node = i,
							 .digest = partitions->emulation->fabric->nodes[i]->digest };

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

/* A peer that has reported all may leave. */
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
				partition_lose(partitions, p, "it did not report the result of its nodes");
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

static int
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
	partitions->emulation->fabric->nodes[head.node]->digest = head.digest;
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

static int
partition_recv_step(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct step_engine *engine = engine_of(partitions, from, message, err);
	struct manage_step step;

	if (engine == NULL)
		return -EPROTO;
	memcpy(&step, message->body + sizeof(struct partition_host), sizeof(step));
	return step_engine_put_step(engine, &step) ? 0 : err_set(err, -EPROTO, "STEP of no plan of its host");
}

static int
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

static int
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
	row.acked_bytes = flow.acked_bytes;
	row.retransmits = flow.retransmits;
	row.begun = flow.begun != 0;
	return step_engine_put_flow(engine, flow.index, &row) ? 0 : err_set(err, -EPROTO, "FLOW of no plan of its host");
}

static int
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

static int
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

/* The other partitions' own reports. */

static uint32_t
first_node(const struct partitions *partitions, uint32_t partition)
{
	uint32_t node = 0;

	while (partitions->partition_of[node] != partition)
		node++;
	return node;
}

static void
end_run(struct partitions *partitions, enum rec_end_reason reason, uint32_t node)
{
	if (partitions->over)
		return;
	partitions->over = true;
	partitions->reason = reason;
	partitions->node = node;
}

void
partition_lose(struct partitions *partitions, uint32_t peer, const char *why)
{
	struct partition_peer *p = &partitions->peers[peer];
	char name[DIVISION_NAME];

	if (p->lost)
		return;
	p->lost = true;
	p->working = p->sending = false;
	p->leaves_ps = p->next_ps = TIME_NEVER;
	channel_fini(&p->channel);
	division_name(partitions->scenario->topo, partitions->partition_of, peer, name);
	if (!partitions->over)
		snprintf(partitions->why, sizeof(partitions->why), "%s was lost: %s", name, why);
	else if (!partitions->job) /* of one,, the first loss ends the others */
		log_warning("%s was lost: %s", name, why);
	end_run(partitions, REC_END_PART_LOST, first_node(partitions, peer));
}

static int
recv_promise(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	struct partition_promise promise;

	memcpy(&promise, message->body, sizeof(promise));
	if (promise.leaves_ps < peer->leaves_ps)
		return err_set(err, -EPROTO, "PROMISE: leaves_ps = %" PRIu64 "; right would be %" PRIu64 " at least",
			       promise.leaves_ps, peer->leaves_ps);
	if (promise.leaves_ps != peer->leaves_ps)
		stall_timer_renew(&peer->stuck);
	peer->leaves_ps = promise.leaves_ps;
	peer->progress = promise.progress;
	peer->next_ps = promise.next_ps;
	peer->working = (promise.state & PARTITION_WORKING) != 0;
	peer->up = (promise.state & PARTITION_UP) != 0;
	peer->sending = (promise.state & PARTITION_SENDING) != 0;
	return 0;
}

/*
 * The reasons for which all partitions end when one does. That of a partition which is complete, or has lost another,
 * is none.
 */
static int
recv_bye(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	char name[DIVISION_NAME];
	struct partition_bye bye;

	memcpy(&bye, message->body, sizeof(bye));
	if (bye.reason >= REC_END_REASONS || (bye.node != REC_NONE && bye.node >= partitions->scenario->topo->nnodes))
		return err_set(err, -EPROTO, "BYE: reason = %u at node %u cannot be", bye.reason, bye.node);
	peer->bye = true;
	peer->working = peer->sending = false;
	peer->leaves_ps = peer->next_ps = TIME_NEVER;
	if (bye.reason == REC_END_COMPLETE || partitions->over || (partitions->partition.windows && partitions->ended))
		return 0;
	division_name(partitions->scenario->topo, partitions->partition_of, from, name);
	bye.text[sizeof(bye.text) - 1] = '\0';
	if (bye.text[0] != '\0')
		snprintf(partitions->why, sizeof(partitions->why), "%s ended: %s", name, bye.text);
	end_run(partitions, (enum rec_end_reason)bye.reason, bye.node);
	return 0;
}

static int
recv_frame(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	return boundary_on_frame(&partitions->boundary, from, partitions->peers[from].leaves_ps, message, err);
}

static int
recv_lane(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	return boundary_on_lane(&partitions->boundary, from, partitions->peers[from].leaves_ps, message, err);
}

static int
recv_pause(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	return boundary_on_pause(&partitions->boundary, from, partitions->peers[from].leaves_ps, message, err);
}

static int
recv_held(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	return boundary_on_held(&partitions->boundary, from, message, err);
}

/* It renews the time of silence, as every message does. */
static int
recv_alive(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	(void)partitions;
	(void)from;
	(void)message;
	(void)err;
	return 0;
}

static int (*const handlers[PARTITION_TYPES])(struct partitions *partitions, uint32_t from,
					      const struct channel_message *message, struct err *err) = {
	[PARTITION_FRAME] = recv_frame,
	[PARTITION_LANE] = recv_lane,
	[PARTITION_PAUSE] = recv_pause,
	[PARTITION_PROMISE] = recv_promise,
	[PARTITION_RECORDS] = partition_recv_records,
	[PARTITION_BYE] = recv_bye,
	[PARTITION_COUNTERS] = partition_recv_counters,
	[PARTITION_STEP] = partition_recv_step,
	[PARTITION_ITERATION] = partition_recv_iteration,
	[PARTITION_FLOW] = partition_recv_flow,
	[PARTITION_RESULT] = partition_recv_result,
	[PARTITION_FAULTS] = partition_recv_faults,
	[PARTITION_REPORT] = partition_recv_report,
	[PARTITION_DONE] = partition_recv_done,
	[PARTITION_WINDOW] = partition_recv_window,
	[PARTITION_HELD] = recv_held,
	[PARTITION_STATE] = partition_recv_state,
	[PARTITION_ALIVE] = recv_alive,
	[PARTITION_SHARED] = partition_recv_shared,
	[PARTITION_SHARED_END] = partition_recv_shared_end,
	[PARTITION_MADE] = partition_recv_made,
};

/* Messages about a fabric that has stopped, here or there. */
static bool
is_stale(const struct partitions *partitions, const struct partition_peer *peer, enum partition_type type)
{
	return (partitions->ended || peer->bye) &&
	       (type == PARTITION_FRAME || type == PARTITION_LANE || type == PARTITION_PAUSE || type == PARTITION_PROMISE ||
		type == PARTITION_WINDOW || type == PARTITION_HELD || type == PARTITION_STATE || type == PARTITION_SHARED ||
		type == PARTITION_SHARED_END || type == PARTITION_MADE);
}

/*
 * Whether an incomplete message shows that its sender makes progress: one of a phase or fabric that has ended does
 * not.
 */
static bool
is_useful(const struct partitions *partitions, const struct partition_peer *peer, enum partition_type type)
{
	return type != PARTITION_NONE && !peer->past && !is_stale(partitions, peer, type);
}

bool
partition_is_past(struct partition_peer *peer, enum partition_type type)
{
	bool was = peer->past;

	peer->past &= type != PARTITION_BYE;
	return was;
}

/*
 * Behind the BYE of the first phase stand messages of the next, which this partition may not have reached yet: they
 * wait there.
 */
static bool
is_early(const struct partitions *partitions, const struct partition_peer *peer)
{
	return peer->bye && partitions->emulation->phase == EMULATION_PREPARE;
}

static void
take_in(struct partitions *partitions, uint32_t from)
{
	struct partition_peer *peer = &partitions->peers[from];
	bool received = channel_read(&peer->channel), useful = false;
	struct channel_message message;
	struct err err = { 0 };
	int got = 0;

	while (!is_early(partitions, peer) && !partition_is_ahead(partitions, peer) &&
	       (got = channel_take(&peer->channel, &message, &err)) > 0) {
		if (partition_is_past(peer, message.type) || is_stale(partitions, peer, message.type))
			continue;
		useful = true;
		if (handlers[message.type] == NULL)
			got = err_set(&err, -EPROTO, "a message of type %u at this time", message.type);
		else
			got = handlers[message.type](partitions, from, &message, &err);
		if (got < 0)
			break;
	}
	if (useful || (received && is_useful(partitions, peer, channel_incoming(&peer->channel))))
		stall_timer_renew(&peer->silent);
	if (got < 0)
		partition_lose(partitions, from, err.text);
	else if (peer->channel.error != 0 && !peer->bye) /* one that has sent all may be gone */
		partition_lose(partitions, from, channel_flaw(&peer->channel));
	else if (peer->channel.ended && !peer->bye)
		partition_lose(partitions, from, "its program has ended");
	else if (peer->channel.ended && partitions->which == 0 && !peer->done)
		partition_lose(partitions, from, "its program ended before it reported the result of its nodes");
}

void
partition_take_in(struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		if (channel_is_open(&partitions->peers[p].channel))
			take_in(partitions, p);
}

void
partition_flush(struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_flush(&partitions->peers[p].channel);
}

void
partition_sleep(struct partitions *partitions, uint64_t until_ns)
{
	struct channel *open[PARTITION_MAX];
	uint32_t count = 0;

	for (uint32_t p = 0; p < partitions->count; p++)
		if (channel_is_open(&partitions->peers[p].channel))
			open[count++] = &partitions->peers[p].channel;
	partitions->transport->sleep(open, count, until_ns);
}
