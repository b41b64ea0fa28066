/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a file takes is bounded by its size, whatever is in it; measured in a process of its own for each. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/collectives/chakra_rig.h"

#define MIB (1024u * 1024u)
#define BASE_MIB 64

#if defined(__SANITIZE_ADDRESS__)
#define MEASURED false /* it keeps what was freed */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEASURED false
#endif
#endif
#ifndef MEASURED
#define MEASURED true
#endif

/* A file of one field again and again. */
struct filling {
	uint8_t *at;
	size_t used, size;
};

static void
put_raw(struct filling *f, const void *bytes, size_t length)
{
	assert_true(f->used + length <= f->size);
	memcpy(f->at + f->used, bytes, length);
	f->used += length;
}

static void
put_size(struct filling *f, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_raw(f, &(uint8_t){ (uint8_t)(value | 0x80) }, 1);
	put_raw(f, &(uint8_t){ (uint8_t)value }, 1);
}

/* A node of metadata, with a field so often. */
static void
put_node(struct filling *f, const void *field, size_t length, size_t count, uint8_t id)
{
	put_size(f, count * length + 4);
	put_raw(f, (uint8_t[]){ 0x08, id, 0x18, 1 }, 4);
	for (size_t i = 0; i < count; i++)
		put_raw(f, field, length);
}

static void
end_traces(const struct filling *f)
{
	char path[128];

	for (uint32_t rank = 0; rank < 2; rank++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(files[rank].at, 1, files[rank].used, file), files[rank].used);
		if (rank == 0)
			assert_int_equal(fwrite(f->at, 1, f->used, file), f->used);
		assert_int_equal(fclose(file), 0);
	}
}

/* @return MiB at most; whether it was taken, and why not */
static long
measure(enum import_kind kind, const char *path, bool *taken, char why[1024])
{
	struct import_options options = { .kind = kind, .path = path, .elem_bytes = 1 };
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rusage use;
	int status;
	pid_t pid;

	assert_true(shared != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err = { 0 };
		struct coll_schedule *schedule = import_schedule(&options, &err);

		snprintf(shared, 1024, "%s", err.text);
		coll_schedule_destroy(schedule);
		_exit(schedule != NULL ? 0 : 1);
	}
	assert_int_equal(wait4(pid, &status, 0, &use), pid);
	assert_true(WIFEXITED(status));
	*taken = WEXITSTATUS(status) == 0;
	snprintf(why, 1024, "%s", shared);
	munmap(shared, 4096);
	return use.ru_maxrss / 1024;
}

static void
bounded(const char *what, const struct filling *f, unsigned factor, const char *refusal)
{
	char path[128], why[1024];
	bool taken;
	long mib;

	end_traces(f);
	mib = measure(IMPORT_CHAKRA, folder, &taken, why);
	print_message("%s: %zu MiB take %ld MiB; %s\n", what, f->used / MIB, mib, taken ? "taken" : why);
	for (uint32_t rank = 0; rank < 2; rank++) {
		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		unlink(path);
	}
	assert_true(taken == (refusal == NULL));
	assert_true(refusal == NULL || strstr(why, refusal) != NULL);
	assert_true(!MEASURED || mib < (long)(BASE_MIB + factor * (f->used / MIB + 1)));
}

static void
begin_pair(struct filling *f, size_t size)
{
	*f = (struct filling){ .at = malloc(size), .size = size };
	assert_non_null(f->at);
	begin(2);
	send_or_receive(0, 1, SEND, 1, 500, 9, NULL, 0);
	send_or_receive(1, 1, RECV, 0, 500, 9, NULL, 0);
}

static const uint8_t empty_attribute[] = { 0x52, 0 }, a_name[] = { 0x12, 6, 'n', 'a', 'm', 'e', 'n', 'a' };
static const uint8_t comm_tag[] = { 0x52, 12, 0x0a, 8, 'c', 'o', 'm', 'm', '_', 't', 'a', 'g', 0x38, 1 };
static const uint8_t tensor[] = { 0x4a, 4, 0x0a, 2, 'x', 'y' };

/* 63 MiB of what means nothing cost the file alone, beside a send and its receive. */
static void
what_means_nothing_is_free(void **state)
{
	struct filling f;

	begin_pair(&f, 64 * MIB);
	put_node(&f, empty_attribute, 2, 21 * MIB / 2, 2);
	put_node(&f, a_name, 8, 21 * MIB / 8, 3);
	put_node(&f, tensor, 6, 21 * MIB / 6, 4);
	bounded("nothing that means anything", &f, 2, NULL);
	free(f.at);
}

static void
what_is_used_is_bounded(void **state)
{
	struct filling f;

	begin_pair(&f, 9 * MIB);
	put_node(&f, comm_tag, 14, 8 * MIB / 14, 2);
	bounded("attributes that are there again and again", &f, 2, "more than 64 attributes");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	put_size(&f, 8 * MIB + 5);
	put_raw(&f, (uint8_t[]){ 0x2a }, 1);
	put_size(&f, 8 * MIB);
	memset(f.at + f.used, 1, 8 * MIB);
	f.used += 8 * MIB;
	bounded("one node's dependencies", &f, 2, "4 MiB of dependencies");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	for (int i = 0; i < 3; i++) {
		put_size(&f, 2 * MIB + 5);
		put_raw(&f, (uint8_t[]){ 0x2a }, 1);
		put_size(&f, 2 * MIB);
		memset(f.at + f.used, 1, 2 * MIB);
		f.used += 2 * MIB;
	}
	bounded("dependencies of a file", &f, 40, "dependencies in");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	for (size_t i = 0; i < 8 * MIB / 3; i++)
		put_raw(&f, (uint8_t[]){ 2, 0x18, 1 }, 3);
	bounded("nodes of three bytes", &f, 40, "nodes in");
	free(f.at);
}

/* Nearly as many nodes as may be: each waits for the one before it, and for the first. */
static void
the_most_is_bounded(void **state)
{
	const size_t nodes = 8 * MIB / 40;
	struct filling f;

	begin_pair(&f, 9 * MIB);
	for (size_t i = 0; i < nodes; i++) {
		uint8_t message[40] = { 39, 0x08, 0, 0, 0, 0x18, 1, 0x2a, 4 };
		uint64_t id = i + 2, on = i + 1;

		for (int b = 0; b < 3; b++, id >>= 7)
			message[2 + b] = (uint8_t)((id & 0x7f) | (b < 2 ? 0x80 : 0));
		for (int b = 0; b < 3; b++, on >>= 7)
			message[9 + b] = (uint8_t)((on & 0x7f) | (b < 2 ? 0x80 : 0));
		message[12] = 1;
		message[13] = 0x12;
		message[14] = 25;
		memset(message + 15, 'n', 25);
		put_raw(&f, message, sizeof(message));
	}
	bounded("nodes of forty bytes, each of two dependencies", &f, 40, NULL);
	free(f.at);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_means_nothing_is_free),
		cmocka_unit_test(what_is_used_is_bounded),
		cmocka_unit_test(the_most_is_bounded),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
