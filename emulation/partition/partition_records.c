/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of all parts go to the first, which merges them with its own; what the programs of hosts do goes to everybody. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/minmax.h"
#include "common/record/kinds.h"
#include "emulation/partition/partition_state.h"

/* Of one message: leaves room for its head. */
#define BATCH_BYTES (PARTITION_MAX_BODY / 2)
#define RECORD_BYTES 4096 /* more than any has */

/* What this part says of its hosts. */
static void
look(struct partitions *partitions)
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
		promised->next_ps = min_u64(promised->next_ps, next_ps);
	}
}

/* What the others said of theirs: a node of each stands for it. */
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

	look(partitions);
	show_progress(partitions);
	if (partitions->emulation->phase == EMULATION_PREPARE)
		return now_ps;
	if (partitions->which != 0) {
		send_records(partitions, now_ps);
		return now_ps;
	}
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

int
partition_recv_records(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_records head;
	size_t at = sizeof(head);

	if (partitions->which != 0)
		return err_set(err, -EPROTO, "RECORDS are for part 0");
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
