/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/host_records.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/kinds.h"
#include "common/wire/record.h"

void
host_records_fini(struct host_records *records)
{
	free(records->data);
	*records = (struct host_records){ 0 };
}

static void
make_room(struct host_records *records, uint32_t size)
{
	size_t cap = 2 * (records->cap_bytes + size);
	uint8_t *data;

	if (records->cap_bytes - records->used_bytes >= size)
		return;
	data = realloc(records->data, cap);
	assert(data != NULL);
	records->data = data;
	records->cap_bytes = cap;
}

/* @return 0; -EINVAL with err: not a record that this host can have sent, or that anybody could read */
static int
check_record(struct record_check *check, const struct rec_hdr *rec, uint64_t now_ps, struct err *err)
{
	if (record_size(rec->type) == 0 || !record_is(rec->type, REC_HOST))
		return err_set(err, -EINVAL, "a record of type %u is not a host's", rec->type);
	if (rec->size != record_size(rec->type))
		return err_set(err, -EINVAL, "%s of %u B; right would be %zu B", record_kinds[rec->type].name, rec->size,
			       record_size(rec->type));
	if (rec->time_ps > now_ps + RECORD_AHEAD_PS)
		return err_set(err, -EINVAL, "%s: time_ps = %" PRIu64 "; right would be no time to come",
			       record_kinds[rec->type].name, rec->time_ps);
	return record_check(check, rec, err);
}

void
host_records_take(struct host_records *records, struct record_check *check, uint32_t node, const char *name,
		  uint64_t now_ps, const void *body, uint32_t size)
{
	make_room(records, size);
	for (size_t at = 0, of; at < size; at += of) {
		struct rec_hdr *rec = (struct rec_hdr *)(void *)(records->data + records->used_bytes);
		struct err why = { 0 };

		memcpy(rec, (const uint8_t *)body + at, sizeof(*rec));
		of = rec->size;
		memcpy(rec, (const uint8_t *)body + at, of);
		rec->node = node;
		if (check_record(check, rec, now_ps, &why) == 0) {
			records->used_bytes += of;
			continue;
		}
		records->refused++;
		err_set(&records->why, 0, "host %s: %.600s", name, why.text);
	}
}

uint32_t
host_records_move(struct host_records *records, struct recbuf *to, uint64_t from_ps)
{
	uint32_t detections = 0;

	for (size_t at = 0; at < records->used_bytes;) {
		struct rec_hdr *hdr = (struct rec_hdr *)(void *)(records->data + at);
		size_t size = hdr->size;

		detections += hdr->type == REC_TRIGGER;
		recbuf_put(to, hdr, hdr->type, size, hdr->time_ps > from_ps ? hdr->time_ps : from_ps);
		at += size;
	}
	records->used_bytes = 0;
	return detections;
}
