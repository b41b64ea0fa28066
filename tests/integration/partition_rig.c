/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/integration/partition_rig.h"
#include "emulation/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "emulation/outputs/outputs.h"

#define TALK_NS 20000

static const char fabric[] =
	"topology = { kind = \"explicit\"; hosts = [ \"h0\", \"h1\", \"h2\" ]; switches = [ \"a\", \"b\", \"c\" ]; "
	"rate = \"200Mbps\"; delay = \"50us\"; links = ( \"h0 a\", \"h1 b\", \"h2 c\", \"a b\", \"b c\" ); }; "
	"timing = { clock = \"real\"; }; partitions = ( { names = [ \"a\" ]; }, { names = [ \"b\" ]; }, { names = [ \"c\" "
	"]; } "
	"); "
	"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"1MB\"; } ); ";

static struct scenario *
load(const char *rest)
{
	char path[] = "/tmp/partitions-test-XXXXXX";
	struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *sc;
	struct err err = { "" };

	assert_non_null(file);
	fprintf(file, "%s%s", fabric, rest);
	fclose(file);
	sc = scenario_load(&options, &err);
	unlink(path);
	if (sc == NULL)
		fail_msg("%s", err.text);
	return sc;
}

static void
pair_tcp(int fds[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), least = 1;

	assert_true(listener >= 0);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&at, sizeof(at)), 0);
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	close(listener);
}

struct rig
rig_open(uint32_t which, bool tcp, const char *rest)
{
	const struct partition_options options = { .which = which, .count = RIG_PARTITIONS };
	struct rig rig = { .scenario = load(rest), .theirs = { -1, -1, -1 } };
	struct err err = { "" };

	rig.partitions = partition_create(rig.scenario, &options, &err);
	if (rig.partitions == NULL)
		fail_msg("%s", err.text);
	rig.emulation = emulation_create(rig.scenario,
					 &(struct emulation_options){ .lcores = 1,
								      .phase = EMULATION_RUN,
								      .services = run_services,
								      .partition = partition_here(rig.partitions) },
					 &err);
	if (rig.emulation == NULL)
		fail_msg("%s", err.text);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		int fds[2];

		if (p == which)
			continue;
		if (tcp)
			pair_tcp(fds);
		else
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		assert_int_equal(channel_init(&rig.partitions->peers[p].channel, fds[0]), 0);
		rig.theirs[p] = fds[1];
	}
	return rig;
}

void
rig_close(struct rig *rig)
{
	emulation_destroy(rig->emulation);
	partition_destroy(rig->partitions);
	scenario_destroy(rig->scenario);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (rig->theirs[p] >= 0)
			close(rig->theirs[p]);
}

bool
rig_send(int fd, enum partition_type type, const void *body, size_t size)
{
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC, .type = (uint16_t)type, .size = (uint32_t)size };

	return send(fd, &hdr, sizeof(hdr), MSG_NOSIGNAL) == sizeof(hdr) &&
	       (size == 0 || send(fd, body, size, MSG_NOSIGNAL) == (ssize_t)size);
}

void
rig_send_done(const struct rig *rig, int fd)
{
	json_t *root = output_partition(rig->emulation);
	char *text;

	json_object_set_new(root, "clock_error_ns", json_integer(0));
	text = json_dumps(root, JSON_COMPACT);
	assert_non_null(text);
	assert_true(rig_send(fd, PARTITION_REPORT, text, strlen(text)));
	assert_true(rig_send(fd, PARTITION_DONE, NULL, 0));
	free(text);
	json_decref(root);
}

static bool
read_all(struct rig_peer *peer, void *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = recv(peer->fd, (uint8_t *)to + at, size - at, 0);

		atomic_store(&peer->reset, got < 0);
		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

static void *
receive(void *ctx)
{
	static _Thread_local uint8_t body[PARTITION_MAX_BODY];
	const struct timeval most = { .tv_sec = 30 };
	struct rig_peer *peer = ctx;
	struct partition_hdr hdr;

	setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	clock_sleep_until_ns(clock_now_ns() + peer->wait_ms * 1000000ULL);
	while (read_all(peer, &hdr, sizeof(hdr)) && read_all(peer, body, hdr.size)) {
		atomic_fetch_add(&peer->types[hdr.type], 1);
		if (hdr.type != peer->until || peer->until == PARTITION_NONE)
			continue;
		atomic_store(&peer->received_last, true);
		shutdown(peer->fd, SHUT_WR);
	}
	atomic_store(&peer->received_last, true);
	shutdown(peer->fd, SHUT_WR);
	atomic_store(&peer->ended, true);
	return NULL;
}

static void *
talk(void *ctx)
{
	const struct partition_promise promise = { .next_ps = UINT64_MAX, .state = PARTITION_WORKING };
	struct rig_peer *peer = ctx;

	while (!atomic_load(&peer->received_last) && rig_send(peer->fd, PARTITION_PROMISE, &promise, sizeof(promise)))
		clock_sleep_until_ns(clock_now_ns() + TALK_NS);
	return NULL;
}

void
rig_peer_start(struct rig_peer *peer)
{
	assert_int_equal(pthread_create(&peer->thread, NULL, receive, peer), 0);
	if (peer->talks)
		assert_int_equal(pthread_create(&peer->talker, NULL, talk, peer), 0);
}

void
rig_peer_join(struct rig_peer *peer)
{
	pthread_join(peer->thread, NULL);
	if (peer->talks)
		pthread_join(peer->talker, NULL);
}
