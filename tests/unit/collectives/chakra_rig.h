/* SPDX-License-Identifier: BSD-3-Clause */
/* Chakra's execution traces for tests, encoded as protobuf's specification says. */
#pragma once

#include "tests/unit/collectives/import_rig.h"

#include <sys/stat.h>

#include "common/units.h"

#define RANKS 8

enum { METADATA = 1, COMP = 4, SEND = 5, RECV = 6, COLL = 7 };

/* Bytes that grow. */
struct bytes {
	uint8_t at[8192];
	size_t used;
};

static char folder[64];
static struct bytes files[RANKS];
static uint32_t nfiles;

static inline void
put(struct bytes *to, const void *from, size_t length)
{
	assert_true(to->used + length <= sizeof(to->at));
	if (length != 0)
		memcpy(to->at + to->used, from, length);
	to->used += length;
}

static inline void
put_varint(struct bytes *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(to, &(uint8_t){ (uint8_t)(value | 0x80) }, 1);
	put(to, &(uint8_t){ (uint8_t)value }, 1);
}

static inline void
put_number(struct bytes *to, unsigned field, uint64_t value)
{
	put_varint(to, field << 3);
	put_varint(to, value);
}

static inline void
put_block(struct bytes *to, unsigned field, const void *from, size_t length)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, length);
	put(to, from, length);
}

/* How an attribute's whole number is spelled, by its field number in the schema. */
static inline void
put_attribute(struct bytes *to, const char *name, unsigned field, uint64_t value)
{
	struct bytes attribute = { .used = 0 };

	put_block(&attribute, 1, name, strlen(name));
	if (field == 15 || field == 17) {
		put_number(&attribute, field, value << 1); /* zigzag */
	} else if (field == 19 || field == 23) {
		put_varint(&attribute, field << 3 | 5);
		put(&attribute, &(uint32_t){ (uint32_t)value }, 4);
	} else if (field == 21 || field == 25) {
		put_varint(&attribute, field << 3 | 1);
		put(&attribute, &value, 8);
	} else {
		put_number(&attribute, field, value);
	}
	put_block(to, 10, attribute.at, attribute.used);
}

static inline void
put_text(struct bytes *to, const char *name, const char *text)
{
	struct bytes attribute = { .used = 0 };

	put_block(&attribute, 1, name, strlen(name));
	put_block(&attribute, 29, text, strlen(text));
	put_block(to, 10, attribute.at, attribute.used);
}

/* The beginning of a node; id 0 is left out, as protobuf does. */
static inline struct bytes
node(uint64_t id, unsigned type, const uint64_t *deps, size_t ndeps)
{
	struct bytes message = { .used = 0 }, packed = { .used = 0 };

	if (id != 0)
		put_number(&message, 1, id);
	put_block(&message, 2, "name", 4);
	put_number(&message, 3, type);
	for (size_t i = 0; i < ndeps; i++)
		put_varint(&packed, deps[i]);
	if (ndeps != 0)
		put_block(&message, 5, packed.at, packed.used);
	return message;
}

static inline void
end_node(uint32_t rank, const struct bytes *message)
{
	put_varint(&files[rank], message->used);
	put(&files[rank], message->at, message->used);
}

static inline void
begin(uint32_t ranks)
{
	nfiles = ranks;
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct bytes version = { .used = 0 };

		files[rank].used = 0;
		put_block(&version, 1, "0.0.4", 5);
		end_node(rank, &version);
	}
}

static inline void
send_or_receive(uint32_t rank, uint64_t id, unsigned type, uint64_t peer, uint64_t size, unsigned field,
		const uint64_t *deps, size_t ndeps)
{
	struct bytes message = node(id, type, deps, ndeps);

	put_attribute(&message, "comm_size", field, size);
	put_attribute(&message, type == SEND ? "comm_dst" : "comm_src", 7, peer);
	put_attribute(&message, "comm_tag", 11, 0);
	end_node(rank, &message);
}

static inline void
compute(uint32_t rank, uint64_t id, uint64_t micros, const uint64_t *deps, size_t ndeps)
{
	struct bytes message = node(id, COMP, deps, ndeps);

	if (micros != 0)
		put_number(&message, 7, micros);
	end_node(rank, &message);
}

static inline void
collective(uint32_t rank, uint64_t id, uint64_t type, uint64_t size, const char *group, const uint64_t *deps, size_t ndeps)
{
	struct bytes message = node(id, COLL, deps, ndeps);

	put_attribute(&message, "comm_type", 9, type);
	put_attribute(&message, "comm_size", 13, size);
	if (group != NULL)
		put_text(&message, "pg_name", group);
	end_node(rank, &message);
}

static inline void
write_traces(void)
{
	char path[128];

	for (uint32_t rank = 0; rank < nfiles; rank++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(files[rank].at, 1, files[rank].used, file), files[rank].used);
		assert_int_equal(fclose(file), 0);
	}
}

static inline void
remove_traces(void)
{
	char path[128];

	for (uint32_t rank = 0; rank < nfiles; rank++) {
		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		unlink(path);
	}
}

static inline struct coll_schedule *
import_written(const char *groups, struct err *err)
{
	struct import_options options = { .kind = IMPORT_CHAKRA, .path = folder, .elem_bytes = 1, .groups_path = groups };
	struct coll_schedule *schedule = import_schedule(&options, err);

	remove_traces();
	return schedule;
}

static inline struct coll_schedule *
import(const char *groups, struct err *err)
{
	write_traces();
	return import_written(groups, err);
}

static inline struct coll_schedule *
must(const char *groups)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = import(groups, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}

static inline void
refused_as_written(const char *why)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = import_written(NULL, &err);

	if (schedule != NULL || strstr(err.text, why) == NULL)
		fail_msg("\"%s\" should say \"%s\"", err.text, why);
}

static inline void
refused(const char *why)
{
	write_traces();
	refused_as_written(why);
}

#define DEPS(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

/* In memory where there is such a place: one test has 65,537 files. */
static inline int
make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "%s/rocelab-traces-%d", unit_folder(), (int)getpid());
	return mkdir(folder, 0700);
}

static inline int
remove_folder(void **state)
{
	return rmdir(folder);
}
