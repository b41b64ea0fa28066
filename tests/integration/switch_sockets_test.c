/* SPDX-License-Identifier: BSD-3-Clause */
/* Management sockets: who is answered when, and that a peer which misbehaves costs itself its connection and no other. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/unix_socket.h"
#include "dpswitch/control/switch_sockets.h"
#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define MS_NS 1000000ULL
#define FLOWS 5000u
#define LEAF 0
#define HOST 1

static const char pair[] = "topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"1us\"; switches = [ \"l0\" ]; "
			   "hosts = [ \"h0\", \"h1\" ]; links = ( \"l0 h0\", \"l0 h1\" ); };";

struct desk {
	struct frig rig;
	struct answer_device devices[2];
	char dir[32];
	struct switch_sockets_config config;
	struct switch_sockets *sockets;
	_Alignas(8) uint8_t message[ANSWER_MAX_BYTES];
};

static uint32_t
flow_count(void *ctx)
{
	(void)ctx;
	return FLOWS;
}

static bool
flow_get(void *ctx, uint32_t i, struct swm_flow *flow)
{
	(void)ctx;
	*flow = (struct swm_flow){ .src_ip = 1, .dst_ip = 2, .sport = (uint16_t)i, .dport = 4791, .protocol = 17 };
	return true;
}

static int
begin(void **state)
{
	static struct desk desk;

	memset(&desk, 0, sizeof(desk));
	frig_init(&desk.rig, pair);
	frig_flow(&desk.rig, "h0", "h1", 3);
	if (frig_start(&desk.rig) < 0)
		fail_msg("%s", desk.rig.err.text);
	desk.devices[LEAF] = (struct answer_device){ .topo = desk.rig.topo,
						     .node = topo_find(desk.rig.topo, "l0"),
						     .sw = frig_switch(&desk.rig, "l0") };
	desk.devices[HOST] = (struct answer_device){ .topo = desk.rig.topo,
						     .node = topo_find(desk.rig.topo, "h0"),
						     .flows = { .count = flow_count, .get = flow_get } };
	strcpy(desk.dir, "/tmp/sockets-test-XXXXXX");
	assert_non_null(mkdtemp(desk.dir));
	desk.config = (struct switch_sockets_config){ .dir = desk.dir, .devices = desk.devices, .ndevices = 2 };
	*state = &desk;
	return 0;
}

static int
end(void **state)
{
	struct desk *desk = *state;

	switch_sockets_destroy(desk->sockets);
	assert_int_equal(rmdir(desk->dir), 0); /* no name is left */
	frig_stop(&desk->rig);
	return 0;
}

static void
open_sockets(struct desk *desk)
{
	struct err err = { 0 };

	desk->sockets = switch_sockets_create(&desk->config, &err);
	if (desk->sockets == NULL)
		fail_msg("%s", err.text);
}

static int
dial(struct desk *desk, uint32_t device)
{
	struct err err = { 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s" SWITCH_SOCKETS_SUFFIX, desk->dir, device == LEAF ? "l0" : "h0");
	fd = unix_connect(path, "device", &err);
	if (fd < 0)
		fail_msg("%s", err.text);
	return fd;
}

/* The next message to a peer, served until it is complete. @return its header, its body behind it */
static const struct swm_hdr *
next_message(struct desk *desk, int fd)
{
	const struct swm_hdr *hdr = (const void *)desk->message;
	size_t used = 0, want = sizeof(*hdr);

	while (used < want) {
		ssize_t got = recv(fd, desk->message + used, want - used, MSG_DONTWAIT);

		if (got < 0 && errno == EAGAIN) {
			switch_sockets_serve(desk->sockets, MS_NS);
			continue;
		}
		assert_true(got > 0);
		used += (size_t)got;
		want = used >= sizeof(*hdr) ? sizeof(*hdr) + hdr->size : want;
	}
	assert_int_equal(hdr->magic, SWM_MAGIC);
	return hdr;
}

/* Serves until the peer's connection is closed. */
static void
expect_close(struct desk *desk, int fd)
{
	uint8_t bytes[4096];
	ssize_t got;

	do {
		switch_sockets_serve(desk->sockets, MS_NS);
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (got > 0 || (got < 0 && errno == EAGAIN));
}

static int
dial_greeted(struct desk *desk, uint32_t device)
{
	int fd = dial(desk, device);

	assert_int_equal(next_message(desk, fd)->type, SWM_HELLO);
	return fd;
}

static void
send_bytes(int fd, const void *bytes, size_t size)
{
	assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

/* COUNTERS, of a switch. */
static void
ask_counters(int fd, uint32_t tag)
{
	const struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, 0, tag };

	send_bytes(fd, &hdr, sizeof(hdr));
}

struct flows_request {
	struct swm_hdr hdr;
	struct swm_filter filter;
};

/* FLOWS, of a host: the reply has 64 KB. */
static void
ask_flows(int fd, uint32_t tag)
{
	const struct flows_request asked = { { SWM_MAGIC, SWM_VERSION, SWM_FLOWS, sizeof(asked.filter), tag },
					     { .job = SWM_ANY } };

	send_bytes(fd, &asked, sizeof(asked));
}

static void
expect_answer(struct desk *desk, int fd, enum swm_type type, uint32_t tag)
{
	const struct swm_hdr *hdr = next_message(desk, fd);

	assert_int_equal(hdr->type, type);
	assert_int_equal(hdr->tag, tag);
}

/* Bytes of requests arrive as they like: one by one, two requests at once. */
static void
each_device_answers_at_its_own_name(void **state)
{
	const struct swm_hdr two[2] = { { SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, 0, 8 },
					{ SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, 0, 9 } };
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	const struct swm_hello *hello = (const void *)(desk->message + sizeof(struct swm_hdr));
	size_t out = 3 * sizeof(struct swm_hdr) + 2 * sizeof(*hello) + sizeof(struct swm_refused);
	int leaf, host;

	open_sockets(desk);
	leaf = dial_greeted(desk, LEAF);
	assert_string_equal(hello->name, "l0");
	host = dial_greeted(desk, HOST);
	assert_string_equal(hello->name, "h0");
	for (size_t i = 0; i < sizeof(two[0]); i++) {
		send_bytes(leaf, (const uint8_t *)two + i, 1);
		switch_sockets_serve(desk->sockets, 0);
	}
	expect_answer(desk, leaf, SWM_PORTS, 8);
	send_bytes(leaf, two, sizeof(two));
	expect_answer(desk, leaf, SWM_PORTS, 8);
	expect_answer(desk, leaf, SWM_PORTS, 9);
	out += 3 * (sizeof(struct swm_hdr) + sizeof(struct swm_list) + 2 * sizeof(struct swm_port));
	ask_counters(host, 7);
	expect_answer(desk, host, SWM_REFUSED, 7);
	counts = switch_sockets_counts(desk->sockets);
	assert_int_equal(counts->peers, 2);
	assert_int_equal(counts->requests, 4);
	assert_int_equal(counts->refused, 1);
	assert_int_equal(counts->in_bytes, 4 * sizeof(struct swm_hdr));
	assert_int_equal(counts->out_bytes, out);
	assert_int_equal(counts->gave_up + counts->malformed + counts->turned_away, 0);
	close(leaf);
	close(host);
}

static void
replies_take_the_round_trips_of_the_network(void **state)
{
	struct desk *desk = *state;
	uint64_t start_ns;
	int fd;

	desk->config.rtt_ns = 2 * MS_NS;
	desk->config.greeting_rtts = 3;
	open_sockets(desk);
	start_ns = clock_now_ns();
	fd = dial_greeted(desk, LEAF);
	assert_true(clock_now_ns() - start_ns >= 3 * desk->config.rtt_ns);
	start_ns = clock_now_ns();
	ask_counters(fd, 1);
	expect_answer(desk, fd, SWM_PORTS, 1);
	assert_true(clock_now_ns() - start_ns >= desk->config.rtt_ns);
	close(fd);
}

static void
bytes_that_are_no_request_close_their_connection_alone(void **state)
{
	static const struct swm_hdr wrong[] = {
		{ SWM_MAGIC + 1, SWM_VERSION, SWM_COUNTERS, 0, 0 },
		{ SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, SWM_MAX_REQUEST + 8, 0 },
		{ SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, 4, 0 },
	};
	struct desk *desk = *state;
	int other;

	open_sockets(desk);
	other = dial_greeted(desk, LEAF);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		int fd = dial_greeted(desk, LEAF);

		send_bytes(fd, &wrong[i], sizeof(wrong[i]));
		expect_close(desk, fd);
		close(fd);
		assert_int_equal(switch_sockets_counts(desk->sockets)->malformed, i + 1);
	}
	ask_counters(other, 5);
	expect_answer(desk, other, SWM_PORTS, 5);
	assert_int_equal(switch_sockets_counts(desk->sockets)->gave_up, 0);
	close(other);
}

/* A peer that has asked nothing may stay as long as it likes. */
static void
half_a_request_is_not_waited_for(void **state)
{
	const struct flows_request asked = { { SWM_MAGIC, SWM_VERSION, SWM_FLOWS, sizeof(asked.filter), 1 }, { 0 } };
	static const size_t parts[] = { 1, sizeof(struct swm_hdr), sizeof(asked) - 1 };
	struct desk *desk = *state;
	int silent;

	desk->config.idle_limit_ns = 2 * MS_NS;
	open_sockets(desk);
	silent = dial_greeted(desk, HOST);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		int fd = dial_greeted(desk, HOST);

		send_bytes(fd, &asked, parts[i]);
		expect_close(desk, fd);
		close(fd);
		assert_int_equal(switch_sockets_counts(desk->sockets)->gave_up, i + 1);
	}
	ask_flows(silent, 3);
	expect_answer(desk, silent, SWM_FLOW_LIST, 3);
	close(silent);
}

/* It is counted who leaves within a request, or before its reply. */
static void
peers_leave_when_they_like(void **state)
{
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	int fd;

	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	close(dial_greeted(desk, LEAF));
	switch_sockets_serve(desk->sockets, 0);
	assert_int_equal(counts->gave_up, 0);
	fd = dial_greeted(desk, LEAF);
	send_bytes(fd, "R", 1);
	close(fd);
	for (int i = 0; i < 2; i++)
		switch_sockets_serve(desk->sockets, 0);
	assert_int_equal(counts->gave_up, 1);
	fd = dial_greeted(desk, LEAF);
	ask_counters(fd, 1);
	close(fd);
	switch_sockets_serve(desk->sockets, 0);
	assert_int_equal(counts->requests, 1);
	assert_int_equal(counts->gave_up, 2);
	fd = dial_greeted(desk, HOST);
	for (uint32_t i = 0; i < 30; i++)
		ask_flows(fd, i);
	for (int i = 0; i < 3; i++)
		switch_sockets_serve(desk->sockets, 0);
	close(fd); /* more replies wait than it may have, so that nothing is received from it: its end alone is seen */
	switch_sockets_serve(desk->sockets, 0);
	assert_int_equal(counts->gave_up, 3);
	assert_int_equal(counts->malformed, 0);
}

static void
replies_that_are_not_taken_cost_the_connection(void **state)
{
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	int fd, other;

	desk->config.idle_limit_ns = 5 * MS_NS;
	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	other = dial_greeted(desk, LEAF);
	fd = dial_greeted(desk, HOST);
	for (uint32_t i = 0; i < 30; i++)
		ask_flows(fd, i);
	for (uint32_t tag = 0; counts->gave_up == 0; tag++) {
		ask_counters(other, tag);
		expect_answer(desk, other, SWM_PORTS, tag);
	}
	assert_true(counts->out_bytes < 30 * sizeof(struct swm_flow) * SWM_MAX_FLOWS);
	expect_close(desk, fd);
	close(fd);
	close(other);
}

/* As many requests are answered as replies may wait; all others are when there is room, in their order. */
static void
a_slow_reader_gets_all_replies_in_order(void **state)
{
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	const uint32_t asked = 60;
	int fd;

	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	fd = dial_greeted(desk, HOST);
	for (uint32_t i = 0; i < asked; i++)
		ask_flows(fd, i);
	for (int i = 0; i < 10; i++)
		switch_sockets_serve(desk->sockets, 0);
	assert_in_range(counts->requests, 16, 30); /* 1 MiB of them, and what the kernel holds */
	for (uint32_t i = 0; i < asked; i++)
		expect_answer(desk, fd, SWM_FLOW_LIST, i);
	assert_int_equal(counts->requests, asked);
	close(fd);
}

#define FLOOD_ROUNDS 500

/* Sends as many requests as the kernel takes. @return bytes that it has taken */
static uint64_t
flood(struct desk *desk, int fd, void (*serve)(struct switch_sockets *sockets, uint64_t ns))
{
	struct swm_hdr requests[256];
	uint64_t sent = 0;

	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		requests[i] = (struct swm_hdr){ SWM_MAGIC, SWM_VERSION, SWM_COUNTERS, 0, (uint32_t)i };
	for (uint32_t round = 0; round < FLOOD_ROUNDS; round++) {
		ssize_t done = send(fd, requests, sizeof(requests), MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += done > 0 ? (uint64_t)done : 0;
		serve(desk->sockets, 0);
	}
	return sent;
}

/* Memory of a peer is bounded, whatever it sends: while its replies wait, and while it has no turn. */
static void
a_flood_stays_in_its_senders_socket(void **state)
{
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	int fd;

	desk->config.rtt_ns = 3600 * 1000 * MS_NS;
	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	fd = dial_greeted(desk, LEAF);
	assert_true(flood(desk, fd, switch_sockets_serve) > 1024);
	assert_int_equal(counts->requests, SWITCH_SOCKETS_MAX_WAITING);
	assert_int_equal(counts->in_bytes, 1024); /* what was read at once */
	close(fd);
	switch_sockets_destroy(desk->sockets);

	desk->config.rtt_ns = 0;
	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	fd = dial_greeted(desk, LEAF);
	assert_true(flood(desk, fd, switch_sockets_turn) > counts->in_bytes);
	assert_in_range(counts->requests, SWITCH_SOCKETS_MAX_WAITING + 1, FLOOD_ROUNDS);
	assert_true(counts->in_bytes <= sizeof(struct swm_hdr) * counts->requests + 1024);
	assert_int_equal(counts->gave_up + counts->malformed, 0);
	close(fd);
}

/* A turn of no time answers one request, and the next one goes on behind it. */
static void
turns_leave_no_peer_waiting(void **state)
{
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	int fds[3];

	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = dial_greeted(desk, LEAF);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		for (uint32_t tag = 0; tag < 4; tag++)
			ask_counters(fds[i], tag);
	for (uint64_t turn = 1; turn <= 2 * ARRAY_LEN(fds); turn++) {
		switch_sockets_turn(desk->sockets, 0);
		assert_int_equal(counts->requests, turn);
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		uint8_t bytes[ANSWER_MAX_BYTES];
		ssize_t got = recv(fds[i], bytes, sizeof(bytes), MSG_DONTWAIT);

		assert_int_equal(got, 2 * (sizeof(struct swm_hdr) + sizeof(struct swm_list) + 2 * sizeof(struct swm_port)));
	}
	switch_sockets_turn(desk->sockets, 3600 * 1000 * MS_NS);
	assert_int_equal(counts->requests, 4 * ARRAY_LEN(fds));
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

/* With as many connections as there may be another one is turned away, unless one was silent for long. */
static void
the_longest_silent_peer_makes_room(void **state)
{
	static int fds[SWITCH_SOCKETS_MAX_PEERS];
	struct desk *desk = *state;
	const struct switch_sockets_counts *counts;
	struct rlimit limit;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < 2 * SWITCH_SOCKETS_MAX_PEERS + 100)
		skip();
	desk->config.idle_limit_ns = 3600 * 1000 * MS_NS;
	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	for (uint32_t i = 0; i < SWITCH_SOCKETS_MAX_PEERS; i++) {
		fds[i] = dial(desk, LEAF);
		if (i % 64 == 63)
			switch_sockets_serve(desk->sockets, 0);
	}
	assert_int_equal(counts->peers, SWITCH_SOCKETS_MAX_PEERS);
	ask_counters(fds[0], 1); /* the first one is not silent */
	switch_sockets_serve(desk->sockets, 0);
	fd = dial(desk, LEAF);
	expect_close(desk, fd);
	close(fd);
	assert_int_equal(counts->turned_away, 1);
	switch_sockets_destroy(desk->sockets);
	for (uint32_t i = 0; i < SWITCH_SOCKETS_MAX_PEERS; i++)
		close(fds[i]);
	desk->config.idle_limit_ns = 1;
	open_sockets(desk);
	counts = switch_sockets_counts(desk->sockets);
	for (uint32_t i = 0; i < SWITCH_SOCKETS_MAX_PEERS; i++) {
		fds[i] = dial(desk, LEAF);
		if (i % 64 == 63)
			switch_sockets_serve(desk->sockets, 0);
	}
	ask_counters(fds[0], 1);
	switch_sockets_serve(desk->sockets, 0);
	fd = dial_greeted(desk, LEAF);
	assert_int_equal(counts->turned_away, 0);
	assert_int_equal(counts->gave_up, 1);
	assert_int_equal(next_message(desk, fds[0])->type, SWM_HELLO);
	expect_answer(desk, fds[0], SWM_PORTS, 1);
	close(fd);
	for (uint32_t i = 0; i < SWITCH_SOCKETS_MAX_PEERS; i++)
		close(fds[i]);
}

static void
expect_no_sockets(struct desk *desk, int code, const char *words)
{
	struct err err = { 0 };

	assert_null(switch_sockets_create(&desk->config, &err));
	assert_int_equal(errno, code);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void
names_that_cannot_be_had_are_reported(void **state)
{
	struct desk *desk = *state, other = *desk;
	char deep[200];

	open_sockets(desk);
	expect_no_sockets(desk, EADDRINUSE, desk->dir);
	other.config.dir = "/nowhere";
	expect_no_sockets(&other, ENOENT, "/nowhere/");
	memset(deep, 'd', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	other.config.dir = deep;
	expect_no_sockets(&other, ENAMETOOLONG, deep);
}

/* The limit of a process's descriptors, in one of its own. */
static void
too_few_descriptors_are_reported(void **state)
{
	struct desk *desk = *state;
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int lowest = dup(0);
		struct rlimit few = { (rlim_t)lowest, (rlim_t)lowest };
		struct err err = { 0 };
		bool refused;

		close(lowest);
		refused = setrlimit(RLIMIT_NOFILE, &few) == 0 && switch_sockets_create(&desk->config, &err) == NULL &&
			  errno == EMFILE && strstr(err.text, strerror(EMFILE)) != NULL;
		close(0); /* coverage is written to a file */
		unit_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A connection that cannot be accepted stays pending; it ends no wait, and is accepted when there are descriptors again. */
static void
without_descriptors_connections_wait(void **state)
{
	struct desk *desk = *state;
	struct rlimit limit, few;
	uint64_t since_ns;
	int fd, lowest;

	open_sockets(desk);
	fd = dial(desk, LEAF);
	lowest = dup(0);
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){ (rlim_t)lowest, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	switch_sockets_serve(desk->sockets, 1000 * MS_NS);
	since_ns = clock_now_ns();
	switch_sockets_serve(desk->sockets, 20 * MS_NS);
	since_ns = clock_now_ns() - since_ns;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(since_ns >= 20 * MS_NS);
	assert_int_equal(switch_sockets_counts(desk->sockets)->peers, 0);
	for (uint32_t i = 0; i < 100 && switch_sockets_counts(desk->sockets)->peers == 0; i++)
		switch_sockets_serve(desk->sockets, 1000 * MS_NS);
	assert_int_equal(switch_sockets_counts(desk->sockets)->peers, 1);
	close(fd);
}

static void
sockets_without_memory_are_refused(void **state)
{
	struct desk *desk = *state;
	uint32_t refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		bool was;

		desk->sockets = switch_sockets_create(&desk->config, &err);
		was = alloc_was_refused();
		assert_true((desk->sockets == NULL) == was);
		if (!was)
			break;
		assert_int_equal(errno, ENOMEM);
		assert_non_null(strstr(err.text, "memory"));
		refused++;
	}
	assert_int_equal(refused, 3);
}

/* One connection is given up for it, and it is counted. */
static void
peers_without_memory_are_given_up(void **state)
{
	struct desk *desk = *state;
	uint64_t turned_away = 0, gave_up = 0;

	open_sockets(desk);
	FOR_EACH_REFUSED(nth)
	{
		const struct switch_sockets_counts *counts = switch_sockets_counts(desk->sockets);
		int fd;
		bool was;

		alloc_refuse(0);
		fd = dial(desk, HOST);
		ask_flows(fd, 4);
		alloc_refuse(nth);
		for (int i = 0; i < 4; i++)
			switch_sockets_serve(desk->sockets, 0);
		was = alloc_was_refused();
		if (!was) {
			assert_int_equal(next_message(desk, fd)->type, SWM_HELLO);
			expect_answer(desk, fd, SWM_FLOW_LIST, 4);
		} else {
			expect_close(desk, fd);
			assert_int_equal(counts->turned_away + counts->gave_up, nth);
		}
		turned_away = counts->turned_away;
		gave_up = counts->gave_up;
		close(fd);
		if (!was)
			break;
	}
	assert_int_equal(turned_away, 2); /* itself, its greeting */
	assert_int_equal(gave_up, 2);     /* its request, its reply */
}

UNIT_TEST(switch_sockets)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(each_device_answers_at_its_own_name),
		TEST(replies_take_the_round_trips_of_the_network),
		TEST(bytes_that_are_no_request_close_their_connection_alone),
		TEST(half_a_request_is_not_waited_for),
		TEST(peers_leave_when_they_like),
		TEST(replies_that_are_not_taken_cost_the_connection),
		TEST(a_slow_reader_gets_all_replies_in_order),
		TEST(a_flood_stays_in_its_senders_socket),
		TEST(turns_leave_no_peer_waiting),
		TEST(the_longest_silent_peer_makes_room),
		TEST(names_that_cannot_be_had_are_reported),
		TEST(too_few_descriptors_are_reported),
		TEST(without_descriptors_connections_wait),
		TEST(sockets_without_memory_are_refused),
		TEST(peers_without_memory_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
