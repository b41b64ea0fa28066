/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a guest and the programs that connect to it say, its supervisor refuses it or passes it on.
 * The input is a row of turns: a byte that says whose (or that a program comes or goes), a type, a session, a length, and
 * so many bytes as a frame's payload; type 255: the bytes as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rxe-hosts/guest/supervisor.h"

#define PROGRAMS 3
#define RAW 255

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct sessions sessions;
	int guest, program[PROGRAMS]; /* the other ends; -1: none */
};

static void
send_frame(int fd, uint8_t type, uint8_t session, const uint8_t *bytes, size_t size)
{
	struct guest_frame frame = { .type = type, .session = session, .size = (uint16_t)size };

	/* What does not fit now is not said. */
	if ((type != RAW && send(fd, &frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) ||
	    send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

/* A program that connected, put where accept() would put it. */
static void
recv_reply(struct world *world, int i)
{
	int ends[2];

	for (int number = SESSIONS_PROGRAM + 1; number < GUEST_MAX_SESSIONS && world->program[i] < 0; number++) {
		struct session_peer *peer = &world->sessions.peers[number];

		if (peer->used || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
			continue;
		*peer = (struct session_peer){ .used = true, .fd = ends[0] };
		world->program[i] = ends[1];
	}
}

static void
go(struct world *world, int i)
{
	if (world->program[i] >= 0)
		close(world->program[i]);
	world->program[i] = -1;
}

static int
turn(struct world *world)
{
	struct pollfd fds[SESSIONS_MAX_FDS];

	sessions_poll(&world->sessions, fds);
	return poll(fds, SESSIONS_MAX_FDS, 0) < 0 ? -errno : sessions_move(&world->sessions, fds);
}

/* @return bytes used, 0 at the end */
static size_t
play(struct world *world, const uint8_t *data, size_t size)
{
	size_t length;
	int i;

	if (size < 4)
		return 0;
	length = data[3] < size - 4 ? data[3] : size - 4;
	i = data[0] / 4 % PROGRAMS;
	switch (data[0] % 4) {
	case 0:
		send_frame(world->guest, data[1], data[2], data + 4, length);
		break;
	case 1:
		if (world->program[i] >= 0)
			send_frame(world->program[i], data[1], data[2], data + 4, length);
		break;
	case 2:
		recv_reply(world, i);
		break;
	case 3:
		go(world, i);
		break;
	}
	return 4 + length;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const argv[] = { "program", NULL };
	struct world *world = calloc(1, sizeof(*world));
	int ends[2];
	size_t used;

	if (world == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
		abort();
	world->sessions.guest = ends[0];
	world->sessions.listener = -1;
	world->sessions.log = open("/dev/null", O_WRONLY);
	world->guest = ends[1];
	memset(world->program, 0xff, sizeof(world->program));
	if (size > 0 && data[0] & 0x80 && sessions_start_program(&world->sessions, argv, true) < 0)
		abort();
	while ((used = play(world, data, size)) > 0 && turn(world) == 0) {
		data += used;
		size -= used;
	}
	for (int i = 0; i < PROGRAMS; i++)
		go(world, i);
	sessions_fini(&world->sessions);
	close(world->sessions.log);
	close(ends[0]);
	close(ends[1]);
	free(world);
	return 0;
}
