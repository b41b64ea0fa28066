/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/sessions.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A guest that is slow to read blocks its senders; it does not fill the supervisor's memory. */
#define GUEST_BACKLOG_BYTES (4 * GUEST_WINDOW_BYTES)

void
sessions_poll(struct sessions *sessions, struct pollfd fds[SESSIONS_MAX_FDS])
{
	size_t backlog = frame_pending(&sessions->out);
	bool take = sessions->hello && backlog < GUEST_BACKLOG_BYTES;

	fds[0] = (struct pollfd){ .fd = sessions->guest, .events = (short)(POLLIN | (backlog > 0 ? POLLOUT : 0)) };
	fds[1] = (struct pollfd){ .fd = sessions->hello ? sessions->listener : -1, .events = POLLIN };
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++) {
		const struct session_peer *peer = &sessions->peers[i];
		bool waits = frame_pending(&peer->out) > 0;

		fds[2 + i] = (struct pollfd){ .fd = peer->used ? peer->fd : -1,
					      .events = (short)((take ? POLLIN : 0) | (waits ? POLLOUT : 0)) };
	}
}

static void
drop_peer(struct session_peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
	frame_out_fini(&peer->out);
	peer->in.begin = peer->in.end = 0;
}

/* The program that had this session is gone: so is its command. */
static int
hang_up(struct sessions *sessions, uint8_t number)
{
	struct session_peer *peer = &sessions->peers[number];

	drop_peer(peer);
	if (peer->started)
		return frame_put(&sessions->out, GUEST_HANGUP, number, NULL, 0);
	peer->used = false;
	return 0;
}

static void
accept_peer(struct sessions *sessions)
{
	int fd = accept4(sessions->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = SESSIONS_PROGRAM + 1; i < GUEST_MAX_SESSIONS && fd >= 0; i++)
		if (!sessions->peers[i].used) {
			sessions->peers[i].used = true;
			sessions->peers[i].started = false;
			sessions->peers[i].fd = fd;
			return;
		}
	if (fd >= 0) /* all are taken */
		close(fd);
}

/* Passes a program's frames on to its session. */
static int
from_peer(struct sessions *sessions, uint8_t number)
{
	struct session_peer *peer = &sessions->peers[number];
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&peer->in, peer->fd), more;

	if (rc <= 0)
		return hang_up(sessions, number);
	while ((more = frame_next(&peer->in, &frame, &payload)) > 0) {
		bool run = frame.type == GUEST_RUN;

		if (frame.type < GUEST_CREDIT || frame.type >= GUEST_HANGUP || (run && peer->started))
			return hang_up(sessions, number);
		if (!run && !peer->started) /* sent before it learned that its command had ended */
			continue;
		peer->started = true;
		rc = frame_put(&sessions->out, frame.type, number, payload, frame.size);
		if (rc < 0)
			return rc;
	}
	return more < 0 ? hang_up(sessions, number) : 0;
}

/*
 * A full disk costs a host its log lines, not its life; once there is room again, the log has the number of missing
 * lines.
 */
static int
log_output(struct sessions *sessions, const uint8_t *bytes, size_t size)
{
	struct guest_credit credit = { .bytes = (uint32_t)size };
	ssize_t written;

	if (sessions->log_lost_bytes != 0 &&
	    dprintf(sessions->log, "\n[%zu bytes are missing here: there was no room]\n", sessions->log_lost_bytes) > 0)
		sessions->log_lost_bytes = 0;
	written = write(sessions->log, bytes, size);
	sessions->log_lost_bytes += size - (written > 0 ? (size_t)written : 0);
	return frame_put(&sessions->out, GUEST_CREDIT, SESSIONS_PROGRAM, &credit, sizeof(credit));
}

static int
take_hello(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	size_t length = frame->size - sizeof(sessions->up);

	if (frame->type != GUEST_HELLO || frame->size < sizeof(sessions->up))
		return -EPROTO;
	memcpy(&sessions->up, payload, sizeof(sessions->up));
	if (sessions->up.magic != GUEST_MAGIC)
		return -EPROTO;
	snprintf(sessions->up_text, sizeof(sessions->up_text), "%.*s", (int)length,
		 (const char *)payload + sizeof(sessions->up));
	sessions->hello = true;
	return 0;
}

static int
take_exit(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session_peer *peer = &sessions->peers[frame->session];
	struct guest_exit status;

	if (frame->size != sizeof(status))
		return -EPROTO;
	memcpy(&status, payload, sizeof(status));
	peer->started = false;
	if (frame->session == SESSIONS_PROGRAM) {
		sessions->program_ended = true;
		sessions->program_status = (int)status.status;
	} else if (peer->fd < 0) {
		peer->used = false;
	}
	return 0;
}

static int
from_guest_frame(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session_peer *peer = &sessions->peers[frame->session % GUEST_MAX_SESSIONS];
	int rc = 0;

	if (!sessions->hello)
		return take_hello(sessions, frame, payload);
	if (frame->session == 0 || frame->session >= GUEST_MAX_SESSIONS || !peer->used)
		return -EPROTO;
	if (frame->type == GUEST_EXIT)
		rc = take_exit(sessions, frame, payload);
	else if (frame->session == SESSIONS_PROGRAM && (frame->type == GUEST_STDOUT || frame->type == GUEST_STDERR))
		rc = log_output(sessions, payload, frame->size);
	if (rc < 0 || peer->fd < 0)
		return rc;
	/* More than its windows: it gives credit for bytes that it did not read. */
	if (frame_put(&peer->out, frame->type, 0, payload, frame->size) < 0)
		return hang_up(sessions, frame->session);
	return 0;
}

static int
from_guest(struct sessions *sessions)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&sessions->in, sessions->guest), more;

	if (rc <= 0)
		return rc < 0 ? rc : -ECONNRESET;
	while ((more = frame_next(&sessions->in, &frame, &payload)) > 0) {
		rc = from_guest_frame(sessions, &frame, payload);
		if (rc < 0)
			return rc;
	}
	return more;
}

int
sessions_move(struct sessions *sessions, const struct pollfd fds[SESSIONS_MAX_FDS])
{
	int rc = sessions->guest >= 0 && fds[0].revents & ~POLLOUT ? from_guest(sessions) : 0;

	if (fds[1].revents != 0)
		accept_peer(sessions);
	for (uint8_t i = 0; i < GUEST_MAX_SESSIONS && rc == 0; i++) {
		struct session_peer *peer = &sessions->peers[i];

		if (!peer->used || peer->fd < 0)
			continue;
		if (fds[2 + i].fd == peer->fd && fds[2 + i].revents & ~POLLOUT)
			rc = from_peer(sessions, i);
		if (rc == 0 && peer->fd >= 0 && frame_flush(&peer->out, peer->fd) < 0)
			rc = hang_up(sessions, i);
	}
	return rc < 0 || sessions->guest < 0 ? rc : frame_flush(&sessions->out, sessions->guest);
}

int
sessions_start_program(struct sessions *sessions, const char *const *argv, bool manage)
{
	struct guest_run run = { .flags = manage ? GUEST_RUN_MANAGE : 0 };
	uint8_t payload[GUEST_MAX_PAYLOAD];
	size_t size = sizeof(run);
	int rc;

	memcpy(payload, &run, sizeof(run));
	payload[size++] = '\0'; /* no terminal */
	if (getcwd((char *)payload + size, PATH_MAX) == NULL)
		return -errno;
	size += strlen((const char *)payload + size) + 1;
	for (; *argv != NULL; argv++) {
		size_t length = strlen(*argv) + 1;

		if (size + length > sizeof(payload))
			return -E2BIG;
		memcpy(payload + size, *argv, length);
		size += length;
	}
	sessions->peers[SESSIONS_PROGRAM] = (struct session_peer){ .used = true, .started = true, .fd = -1 };
	rc = frame_put(&sessions->out, GUEST_RUN, SESSIONS_PROGRAM, payload, size);
	return rc < 0 ? rc : frame_put(&sessions->out, GUEST_STDIN, SESSIONS_PROGRAM, NULL, 0);
}

int
sessions_power_off(struct sessions *sessions)
{
	return frame_put(&sessions->out, GUEST_POWEROFF, 0, NULL, 0);
}

void
sessions_fini(struct sessions *sessions)
{
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++)
		if (sessions->peers[i].used && sessions->peers[i].fd >= 0)
			drop_peer(&sessions->peers[i]);
	frame_out_fini(&sessions->out);
}
