/* SPDX-License-Identifier: BSD-3-Clause */
/* Where partitions listen, and which of them reports what is wrong with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulation/partition/partition.h"
#include "emulation/partition/rendezvous.h"
#include "tests/unit/unit.h"

static void
test_numbers(void **state)
{
	static const char *const bad[] = { "2/2", "0/1", "0/17", "-1/2", "0/2x", "/2", "4294967296/2", "0/4294967298", "" };
	struct partition_options options;
	struct err err = { "" };

	(void)state;
	assert_int_equal(partition_number("15/16", &options, &err), 0);
	assert_int_equal(options.which, 15);
	assert_int_equal(options.count, 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		if (partition_number(bad[i], &options, &err) == 0)
			fail_msg("%s is partition %u of %u", bad[i], options.which, options.count);
		assert_non_null(strstr(err.text, "give I/N"));
	}
}

static void
test_paths(void **state)
{
	char path[128] = "/tmp/";
	struct err err = { "" };

	(void)state;
	memset(path + 5, 'x', 98);
	path[103] = '\0';
	assert_int_equal(address_check(path, &err), 0);
	strcat(path, "x"); /* one more than can be listened at */
	assert_int_equal(address_check(path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "at most 103 characters"));
}

static void
test_why_none_is_there(void **state)
{
	static const struct {
		const char *address, *why;
	} places[] = {
		{ "127.0.0.1:1", "127.0.0.1:1: Connection refused" },
		{ "no.such.host.invalid:4700", "no.such.host.invalid:4700: " },
		{ "/no/such/folder/socket", "/no/such/folder/socket: No such file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct err err = { "" };

		assert_true(address_connect(places[i].address, &err) < 0);
		if (strstr(err.text, places[i].why) == NULL)
			fail_msg("%s: reported is \"%s\"", places[i].address, err.text);
	}
}

/* Of a socket at 127.0.0.1, on a port of the kernel's choice. */
static int
listen_ipv4(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* @return whether names are what we say; it takes a namespace of mounts */
static int
name_hosts(const char *text)
{
	char path[] = "/tmp/partitions-hosts-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	int ret;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	ret = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	      mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
	unlink(path);
	return ret;
}

/* A name that has several addresses, as localhost has on most machines: each is tried. */
static void
test_all_addresses_of_a_name(void **state)
{
	struct err err = { "" };
	char address[32];
	uint16_t port;
	int listener, fd;

	(void)state;
	if (!name_hosts("::1 two.invalid\n127.0.0.1 two.invalid\n"))
		skip();
	listener = listen_ipv4(&port);
	snprintf(address, sizeof(address), "two.invalid:%u", port);
	fd = address_connect(address, &err);
	if (fd < 0)
		fail_msg("%s", err.text);
	close(fd);
	close(listener);
}

UNIT_TEST(partition_address)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_why_none_is_there),
		cmocka_unit_test(test_all_addresses_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
