/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever comes over a management channel, in portions of any size, is taken as whole messages of the
 * right sizes, with fields and records that can be, or refused with a reason; and its texts are plain. The first byte says
 * how large the portions are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/manage_stream.h"
#include "common/wire/record.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "dpswitch/control/manage.h"

#define QUEUE_BYTES (sizeof(struct manage_hdr) + MANAGE_MAX_BODY)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
describe_one(struct record_check *check, void *rec, uint16_t type, size_t size, uint32_t node)
{
	struct err err = { 0 };

	*(struct rec_hdr *)rec = (struct rec_hdr){ .type = type, .size = (uint16_t)size, .node = node };
	if (record_check(check, rec, &err) != 0)
		abort();
}

/* A run with one host, which has one step to do. */
static struct record_check *
describe(void)
{
	struct record_check *check = record_check_create();
	struct rec_run run = { .epoch_ps = 1000000000 };
	struct rec_node node = { .name = "h", .kind = 1 };
	struct rec_collective collective = { .ranks = 1, .steps = 1, .rank_steps = 1 };

	if (check == NULL)
		abort();
	describe_one(check, &run, REC_RUN, sizeof(run), REC_NONE);
	describe_one(check, &node, REC_NODE, sizeof(node), 0);
	describe_one(check, &collective, REC_COLLECTIVE, sizeof(collective), REC_NONE);
	return check;
}

/* What the fabric makes of a message. */
static void
look_into(struct host_records *records, struct record_check *check, const struct manage_message *message)
{
	static uint64_t body[MANAGE_MAX_BODY / 8];
	struct err err = { 0 };

	memcpy(body, message->body, message->size);
	if (message->type == MANAGE_RECORDS)
		host_records_take(records, check, 0, "h", 1000000, body, message->size);
	else if (manage_check(message->type, body, &err) != 0 && err.text[0] == '\0')
		abort(); /* every refusal has a reason */
	if ((records->refused != 0) != (records->why.text[0] != '\0'))
		abort();
	if (message->type == MANAGE_FAILED || message->type == MANAGE_QP_ERROR) {
		for (const char *c = ((struct manage_failed *)body)->text; *c != '\0'; c++)
			if ((unsigned char)*c < 0x20 && *c != '\n')
				abort();
	}
}

/* Takes all that is whole. @return bytes of it, or negative: refused */
static long
take_all(struct manage_stream *stream, struct host_records *records, struct record_check *check)
{
	struct manage_message message;
	struct err err = { 0 };
	long taken = 0;
	int rc;

	while ((rc = manage_stream_take(stream, &message, &err)) > 0) {
		if (message.size > MANAGE_MAX_BODY)
			abort();
		look_into(records, check, &message);
		taken += (long)(sizeof(struct manage_hdr) + message.size);
	}
	if (rc < 0 && err.text[0] == '\0')
		abort(); /* every refusal has a reason */
	return rc < 0 ? rc : taken;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_records records = { 0 };
	struct record_check *check;
	struct manage_stream stream;
	size_t portion, taken = 0;
	long got = 0;
	int fd[2];

	if (size == 0 || pipe(fd) < 0)
		return 0;
	if (manage_stream_init(&stream, fd[0], QUEUE_BYTES) < 0)
		abort();
	check = describe();
	portion = 1 + (size_t)data[0] * 16;
	for (size_t at = 1; at < size && got >= 0; at += portion) {
		size_t part = size - at < portion ? size - at : portion;

		if (write(fd[1], data + at, part) != (ssize_t)part || manage_stream_receive(&stream) != (int)part)
			abort();
		got = take_all(&stream, &records, check);
		taken += got > 0 ? (size_t)got : 0;
	}
	if (taken > size)
		abort();
	manage_stream_fini(&stream);
	host_records_fini(&records);
	record_check_destroy(check);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
