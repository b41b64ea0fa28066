/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's end of two hosts' management channels, whose other ends the test drives by hand. For one test program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/manage_stream.h"
#include "common/unix_socket.h"
#include "common/wire/record.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "dpswitch/control/manage.h"
#include "tests/unit/rxe-hosts/star.h"

#define HOSTS 2
#define DIGEST 4711

static struct star star;
static char dir[] = "/tmp/manage-test-XXXXXX";
static struct manage *manage;
static struct manage_stream host[HOSTS];
static uint32_t steps_seen, qps_seen;
static struct err err;

static inline bool
put_step(void *ctx, uint32_t node, const struct manage_step *step)
{
	steps_seen++;
	return step->step == node + 1;
}

static inline bool
put_iteration(void *ctx, uint32_t node, const struct manage_iteration *iteration)
{
	return iteration->rank == node;
}

static inline bool
put_qp(void *ctx, uint32_t node, const struct manage_qp *qp)
{
	qps_seen++;
	return qp->flow == 0;
}

static uint32_t asked;

/* The answer to everything is what was asked, and a word more. */
static inline struct manage_reply
ask(void *ctx, uint32_t node, const void *request, size_t size, uint64_t now_ps)
{
	static uint32_t reply[8];

	assert_true(size < sizeof(reply));
	memcpy(reply, request, size);
	reply[size / 4] = ++asked;
	return (struct manage_reply){ reply, size + 4 };
}

static struct record_check *check;

static inline void
describe_one(void *rec, uint16_t type, size_t size, uint32_t node)
{
	*(struct rec_hdr *)rec = (struct rec_hdr){ .type = type, .size = (uint16_t)size, .node = node };
	if (record_check(check, rec, &err) != 0)
		fail_msg("%s", err.text);
}

static const struct manage_sink sink = { NULL, put_step, put_iteration, put_qp, ask };

static inline void
connect_host(uint32_t node)
{
	char path[sizeof(dir) + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%u.manage", dir, node);
	fd = unix_connect(path, "fabric", NULL);
	assert_true(fd >= 0);
	assert_int_equal(manage_stream_init(&host[node], fd, 2 * MANAGE_MAX_BODY), 0);
}

static inline void
send_message(uint32_t node, enum manage_type type, const void *body, size_t size)
{
	assert_int_equal(manage_stream_send(&host[node], type, body, size), 0);
	for (int i = 0; i < 3; i++) /* accept, hear, answer */
		manage_service(manage, &sink);
}

static inline void
hello(uint32_t node, uint64_t digest)
{
	struct manage_hello message = { .version = MANAGE_VERSION, .node = node, .digest = digest, .device = "rxe0" };

	send_message(node, MANAGE_HELLO, &message, sizeof(message));
}

static inline void
connected(uint32_t node)
{
	const struct manage_connected message = { .qps = 2, .clock_error_ns = 1000 };

	send_message(node, MANAGE_CONNECTED, &message, sizeof(message));
}

static inline void
ready(uint32_t node)
{
	hello(node, DIGEST);
	manage_connect(manage);
	connected(node);
}

/* The next message that a host got. */
static inline struct manage_message
got(uint32_t node)
{
	struct manage_message message;

	manage_stream_receive(&host[node]);
	assert_int_equal(manage_stream_take(&host[node], &message, &err), 1);
	return message;
}

/* What the fabric has recorded of the star: two hosts at a switch, one step each. */
static inline void
describe(void)
{
	struct rec_run run = { .epoch_ps = 1000000000 };
	struct rec_collective collective = { .ranks = HOSTS, .steps = HOSTS, .rank_steps = 1 };

	describe_one(&run, REC_RUN, sizeof(run), REC_NONE);
	for (uint32_t i = 0; i <= HOSTS; i++) {
		struct rec_node node = { .name = { (char)('0' + i) }, .kind = i < HOSTS, .nports = i < HOSTS ? 1 : HOSTS };

		describe_one(&node, REC_NODE, sizeof(node), i);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct rec_port nic = { .peer = HOSTS, .peer_port = (uint16_t)i, .ip = i + 1, .rate_bps = 1 };
		struct rec_port port = { .port = (uint16_t)i, .peer = i, .rate_bps = 1 };

		describe_one(&nic, REC_PORT, sizeof(nic), i);
		describe_one(&port, REC_PORT, sizeof(port), HOSTS);
	}
	describe_one(&collective, REC_COLLECTIVE, sizeof(collective), REC_NONE);
}

static inline int
setup(void **state)
{
	bool managed[HOSTS + 1] = { true, true, false };
	struct manage_config config = { .topo = &star.topo, .managed = managed, .dir = dir, .digest = DIGEST };

	check = record_check_create();
	assert_non_null(check);
	describe();
	config.check = check;

	star_init(&star, HOSTS);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	steps_seen = qps_seen = 0;
	memset(host, 0, sizeof(host));
	manage = manage_create(&config, &err);
	assert_non_null(manage);
	for (uint32_t i = 0; i < HOSTS; i++)
		connect_host(i);
	return 0;
}

static inline int
teardown(void **state)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		if (host[i].in != NULL) {
			close(host[i].fd);
			manage_stream_fini(&host[i]);
		}
	}
	manage_destroy(manage);
	record_check_destroy(check);
	assert_int_equal(rmdir(dir), 0); /* the sockets are gone */
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline struct rec_step
good_step(uint64_t time_ps)
{
	return (struct rec_step){ .hdr = { .type = REC_STEP, .size = sizeof(struct rec_step), .time_ps = time_ps },
				  .step = 1,
				  .waited_collective = REC_NONE,
				  .waited_rank = REC_NONE };
}

/* @param text  in the reason */
static inline void
is_lost(uint32_t node, const char *text)
{
	uint32_t of = UINT32_MAX;
	bool lost = false;
	const char *why = manage_failure(manage, &of, &lost);

	assert_non_null(why);
	assert_non_null(strstr(why, text));
	assert_int_equal(of, node);
	assert_true(lost);
	assert_int_equal(manage_state(manage, node), MANAGE_LOST);
}
