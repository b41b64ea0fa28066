/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of all parts go to the first, which merges them with its own; what the programs of hosts do goes to everybody. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/minmax.h"
#include "common/record/kinds.h"
#include "emulation/parts/parts_state.h"

/* Of one message: leaves room for its head. */
#define BATCH_BYTES (PARTS_MAX_BODY / 2)
#define RECORD_BYTES 4096 /* more than any has */

/* What this part says of its hosts. */
static void
look(struct parts *parts)
{
	const struct emulation *emulation = parts->emulation;
	struct parts_promise *said = &parts->said;

	said->state = parts->up ? PARTS_UP : 0;
	if (emulation->phase == EMULATION_PREPARE && !emulation_ready(emulation))
		said->state |= PARTS_WORKING;
	said->progress = 0;
	said->next_ps = TIME_NEVER;
	for (uint32_t i = 0; i < parts->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];
		uint64_t next_ps;

		if (parts->foreign[i])
			continue;
		said->progress += emulation->fabric->nodes[i]->count.progress;
		if (driver == NULL || emulation->phase == EMULATION_PREPARE)
			continue;
		if (emulation->fabric->nodes[i]->status == NODE_RUNNING || driver->ops->working(driver->ctx, i))
			said->state |= PARTS_WORKING;
		if (driver->ops->sending(driver->ctx, i, &next_ps))
			said->state |= PARTS_SENDING;
		said->next_ps = min_u64(said->next_ps, next_ps);
	}
}

/* What the others said of theirs: a node of each stands for it. */
static void
show_progress(struct parts *parts)
{
	bool shown[PARTS_MAX] = { false };

	for (uint32_t i = 0; i < parts->scenario->topo->nnodes; i++) {
		uint32_t part = parts->part_of[i];

		if (!parts->foreign[i] || shown[part])
			continue;
		parts->emulation->fabric->nodes[i]->count.progress = parts->peers[part].progress;
		shown[part] = true;
	}
}

static void
send_records(struct parts *parts, uint64_t before_ps)
{
	struct channel *to = &parts->peers[0].channel;
	const struct parts_records head = { 0 }, last = { .before_ps = before_ps };

	for (uint32_t i = 0; i < parts->scenario->topo->nnodes; i++) {
		const struct recbuf *buf = parts->emulation->records[i];
		struct recbuf rest = *buf;

		while (!parts->foreign[i] && rest.used_bytes != 0) {
			size_t bytes = recbuf_front(&rest, BATCH_BYTES);

			channel_put(to, PARTS_RECORDS, &head, sizeof(head), rest.data, bytes);
			rest.data += bytes;
			rest.used_bytes -= bytes;
		}
	}
	channel_put(to, PARTS_RECORDS, &last, sizeof(last), NULL, 0);
}

uint64_t
parts_collect(void *ctx, uint64_t now_ps)
{
	struct parts *parts = ctx;
	uint64_t complete_ps = now_ps;

	look(parts);
	show_progress(parts);
	if (parts->emulation->phase == EMULATION_PREPARE)
		return now_ps;
	if (parts->which != 0) {
		send_records(parts, now_ps);
		return now_ps;
	}
	for (uint32_t p = 1; p < parts->count; p++)
		if (!parts->peers[p].lost && !parts->peers[p].done)
			complete_ps = min_u64(complete_ps, parts->peers[p].before_ps);
	return complete_ps;
}

/* @return bytes of the record; -EPROTO with err set */
static int
take_record(struct parts *parts, uint32_t from, const uint8_t *at, size_t left, struct err *err)
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
	if (parts_owns(parts, from, rec->node, err) < 0)
		return -EPROTO;
	buf = parts->emulation->records[rec->node];
	if (rec->seq != buf->seq || rec->time_ps < parts->peers[from].before_ps)
		return err_set(err, -EPROTO,
			       "RECORDS: %s number %u of %" PRIu64 " ps; right would be number %u, of %" PRIu64 " at least",
			       record_kinds[rec->type].name, rec->seq, rec->time_ps, buf->seq,
			       parts->peers[from].before_ps);
	if (record_check(parts->check, rec, err) < 0)
		return -EPROTO;
	recbuf_append(buf, rec);
	return (int)size;
}

int
parts_records_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct parts_records head;
	size_t at = sizeof(head);

	if (parts->which != 0)
		return err_set(err, -EPROTO, "RECORDS are for part 0");
	memcpy(&head, message->body, sizeof(head));
	while (at < message->size) {
		int of = take_record(parts, from, message->body + at, message->size - at, err);

		if (of < 0)
			return of;
		at += (size_t)of;
	}
	parts->peers[from].before_ps = max_u64(parts->peers[from].before_ps, head.before_ps);
	return 0;
}
