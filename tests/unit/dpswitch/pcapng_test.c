/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpswitch/edge/frame/pcapng.h"
#include "tests/unit/unit.h"

static struct pcapng *
open_scratch(char *path)
{
	int fd = mkstemp(path);
	struct pcapng *file;

	assert_int_not_equal(fd, -1);
	close(fd);
	file = pcapng_create(path, "ab", "cde");
	assert_non_null(file);
	return file;
}

/* By hand from draft-ietf-opsawg-pcapng, as 32-bit words of a little-endian machine. */
static const uint32_t expected[] = {
	0x0a0d0d0a, 48,         0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, /* section: version 1.0, length unknown */
	0x00020004, 0x00006261, 0x00030001, 0x00656463, 0,          48,         /* application, comment */
	1,          68,         1,          99,                                 /* interface: Ethernet, longest capture */
	0x00030002, 0x00323a36, 0x00020003, 0x00007978,                         /* name, description */
	0x00080008, 0x4876e800, 0x00000017,                                     /* 100 Gbit/s */
	0x00010009, 10,         0x0001000d, 0,          0,          68,         /* units of 100 ps; no FCS */
	6,          52,         0,          0x01234567, 0x89abcdef, 5,          1098, /* frame: interface, time, sizes */
	0x6c6c6568, 0x0000006f, 0x00040002, 1,          0,          52,               /* bytes, inbound */
	5,          76,         0,          1,          2,          0x00080002, 0,    0,
	0x00080003, 1,          2,                                                        /* statistics: from 0 to then */
	0x00080004, 7,          0,          0x00080005, 3,          0,          0,    76, /* seen, missing */
};

static void
blocks_are_the_drafts(void **state)
{
	char path[] = "/tmp/rocelab-pcapng-XXXXXX";
	uint32_t words[sizeof(expected) / 4 + 1];
	struct pcapng *file = open_scratch(path);
	uint64_t bytes;
	FILE *read;

	pcapng_interface(file, "6:2", "xy", 100000000000ULL, 99);
	bytes = pcapng_bytes(file);
	pcapng_frame(file, 0, PCAPNG_INBOUND, 0x123456789abcdefULL * 100 + 99, (const uint8_t *)"hello", 5, 1098);
	assert_int_equal(pcapng_bytes(file), bytes + pcapng_frame_bytes(5));
	bytes = pcapng_bytes(file);
	pcapng_statistics(file, 0, 0x100000002ULL * 100, 7, 3);
	assert_int_equal(pcapng_bytes(file), bytes + pcapng_statistics_bytes());
	assert_int_equal(pcapng_bytes(file), sizeof(expected));
	assert_int_equal(pcapng_destroy(file), 0);
	read = fopen(path, "rb");
	assert_non_null(read);
	assert_int_equal(fread(words, 1, sizeof(words), read), sizeof(expected));
	fclose(read);
	remove(path);
	assert_memory_equal(words, expected, sizeof(expected));
}

static void
trouble_is_reported(void **state)
{
	static const uint8_t bytes[PCAPNG_MAX_BYTES];
	const struct rlimit little = { 10, RLIM_INFINITY };
	struct rlimit before;
	struct pcapng *file;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/pcapng-test-%d.pcapng", (int)getpid());
	assert_null(pcapng_create("/nowhere/at/all.pcapng", "", ""));
	assert_int_equal(errno, ENOENT);
	assert_null(pcapng_create("/dev/full", "", "")); /* what is no file of ours is left alone */
	assert_int_equal(errno, EEXIST);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0); /* as if the disk were full */
	file = pcapng_create(path, "", "");
	assert_non_null(file);
	pcapng_interface(file, "a:1", "", 1, 0);
	assert_int_equal(pcapng_destroy(file), -EFBIG); /* only when it was flushed */
	file = pcapng_create(path, "", "");
	assert_non_null(file);
	for (int i = 0; i < 100; i++)
		pcapng_frame(file, 0, PCAPNG_OUTBOUND, 0, bytes, sizeof(bytes), sizeof(bytes));
	assert_int_equal(pcapng_destroy(file), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	remove(path);
}

UNIT_TEST(pcapng)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_the_drafts),
		cmocka_unit_test(trouble_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
