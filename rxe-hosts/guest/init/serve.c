/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "rxe-hosts/guest/init/session.h"

struct server {
	int channel, manage, children;
	bool stop;
	struct frame_in in;
	struct frame_out out;
	struct session sessions[GUEST_MAX_SESSIONS]; /* 0 is never used */
};

static int
start(struct server *server, uint8_t number, const uint8_t *payload, size_t size)
{
	struct guest_exit status = { .status = 125 };
	int rc;

	if (server->sessions[number].used)
		return -EPROTO;
	rc = session_start(&server->sessions[number], payload, size, server->manage);
	if (rc == 0)
		return 0;
	fprintf(stderr, "session %d: %s\n", number, strerror(-rc));
	return frame_put(&server->out, GUEST_EXIT, number, &status, sizeof(status));
}

/* @return 0, or negative errno if the server does not speak our protocol */
static int
take(struct server *server, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session *session = &server->sessions[frame->session % GUEST_MAX_SESSIONS];
	struct guest_credit credit;
	struct guest_run run;

	if (frame->type == GUEST_POWEROFF) {
		server->stop = true;
		return 0;
	}
	if (frame->session == 0 || frame->session >= GUEST_MAX_SESSIONS)
		return -EPROTO;
	if (frame->type == GUEST_RUN)
		return start(server, frame->session, payload, frame->size);
	if (!session->used) /* it ended while this was under way */
		return 0;
	switch (frame->type) {
	case GUEST_STDIN:
		return session_input(session, payload, frame->size);
	case GUEST_CREDIT:
		if (frame->size != sizeof(credit))
			return -EPROTO;
		memcpy(&credit, payload, sizeof(credit));
		if (credit.bytes > GUEST_WINDOW_BYTES - session->credit)
			return -EPROTO;
		session->credit += credit.bytes;
		return 0;
	case GUEST_WINDOW:
		if (frame->size != sizeof(run))
			return -EPROTO;
		memcpy(&run, payload, sizeof(run));
		session_resize(session, run.rows, run.cols);
		return 0;
	case GUEST_HANGUP:
		session_kill(session);
		return 0;
	default:
		return -EPROTO;
	}
}

static void
reap(struct server *server)
{
	struct signalfd_siginfo info;
	int raw;
	pid_t pid;

	while (read(server->children, &info, sizeof(info)) > 0)
		continue;
	while ((pid = waitpid(-1, &raw, WNOHANG)) > 0)
		for (int i = 1; i < GUEST_MAX_SESSIONS; i++) {
			struct session *session = &server->sessions[i];

			if (!session->used || session->pid != pid)
				continue;
			session->ended = true;
			session->status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
		}
}

static int
receive(struct server *server)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&server->in, server->channel), more = 0;

	if (rc <= 0)
		return rc < 0 ? rc : -EPIPE;
	while ((more = frame_next(&server->in, &frame, &payload)) > 0) {
		rc = take(server, &frame, payload);
		if (rc < 0)
			return rc;
	}
	return more;
}

/* Waits once and does what there is to do. */
static int
turn(struct server *server)
{
	struct pollfd fds[2 + GUEST_MAX_SESSIONS * SESSION_POLL_FDS];
	bool draining = false;
	int rc = 0;

	fds[0] = (struct pollfd){ .fd = server->channel,
				  .events = (short)(POLLIN | (frame_pending(&server->out) > 0 ? POLLOUT : 0)) };
	fds[1] = (struct pollfd){ .fd = server->children, .events = POLLIN };
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++) {
		struct pollfd *own = &fds[2 + i * SESSION_POLL_FDS];

		memset(own, 0xff, SESSION_POLL_FDS * sizeof(*own));
		if (server->sessions[i].used) {
			session_poll(&server->sessions[i], own);
			draining |= server->sessions[i].ended && server->sessions[i].credit > 0;
		}
	}
	if (poll(fds, ARRAY_LEN(fds), draining ? 0 : -1) < 0 && errno != EINTR)
		return -errno;
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		rc = receive(server);
	if (fds[1].revents != 0)
		reap(server);
	for (uint8_t i = 1; i < GUEST_MAX_SESSIONS && rc == 0; i++) {
		struct pollfd *own = &fds[2 + i * SESSION_POLL_FDS];

		if (server->sessions[i].used)
			rc = session_move(&server->sessions[i], i, own, &server->out);
	}
	return rc < 0 ? rc : frame_flush(&server->out, server->channel);
}

static int
send_hello(struct server *server, int error, uint32_t gid_index, const char *text)
{
	struct guest_hello hello = { .magic = GUEST_MAGIC, .error = (uint32_t)error, .gid_index = gid_index };
	uint8_t bytes[sizeof(hello) + 1024];
	size_t length = strnlen(text, sizeof(bytes) - sizeof(hello));

	memcpy(bytes, &hello, sizeof(hello));
	memcpy(bytes + sizeof(hello), text, length);
	return frame_put(&server->out, GUEST_HELLO, 0, bytes, sizeof(hello) + length);
}

void
serve(int channel, int manage, int hello_error, uint32_t gid_index, const char *hello_text)
{
	static struct server server;
	sigset_t children;
	int rc;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	fcntl(channel, F_SETFL, O_RDWR | O_NONBLOCK);
	server.channel = channel;
	server.manage = manage;
	server.children = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
	rc = server.children < 0 ? -errno : send_hello(&server, hello_error, gid_index, hello_text);
	while (rc == 0 && !server.stop)
		rc = turn(&server);
	if (rc < 0)
		fprintf(stderr, "command channel: %s\n", strerror(-rc));
	for (int i = 1; i < GUEST_MAX_SESSIONS; i++)
		if (server.sessions[i].used)
			session_kill(&server.sessions[i]);
	frame_out_fini(&server.out);
}
