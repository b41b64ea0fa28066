/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "rxe-hosts/guest/frame.h"
#include "rxe-hosts/guest/init/init.h"

/* One command that runs in the guest, between its descriptors and the command channel's frames. */

#define SESSION_POLL_FDS 3 /* input, output, errors */

struct session {
	bool used;
	pid_t pid; /* leads a process group of its own */
	bool ended;
	int status; /* once ended: 0..255, or 128 + signal */
	bool pty;
	bool input_ended;              /* close input when its queue is empty */
	int input, output, errors;     /* -1: none; on a terminal input and output are one */
	uint32_t credit;               /* bytes that may be sent to the server */
	size_t input_begin, input_end; /* input that the command has not read yet */
	uint8_t input_queue[GUEST_WINDOW_BYTES];
};

struct server {
	int channel, manage, children;
	bool stop;
	struct frame_in in;
	struct frame_out out;
	struct session sessions[GUEST_MAX_SESSIONS]; /* 0 is never used */
};

static int session_start(struct session *session, const uint8_t *payload, size_t size, int manage);
static int session_input(struct session *session, const uint8_t *bytes, size_t size);
static void session_resize(struct session *session, uint16_t rows, uint16_t cols);
static void session_kill(struct session *session);
static void session_poll(const struct session *session, struct pollfd fds[SESSION_POLL_FDS]);
static int session_move(struct session *session, uint8_t number, const struct pollfd fds[SESSION_POLL_FDS],
			struct frame_out *out);

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
	if (!session->used) /* it ended while this frame was in flight */
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

/* Waits once and handles the events. */
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

/* One command that runs in the guest. */

#define MAX_ARGS 256

/* GUEST_RUN, taken apart. */
struct command {
	struct guest_run run;
	char text[GUEST_MAX_PAYLOAD + 1];
	const char *term, *dir;
	char *argv[MAX_ARGS + 1];
};

static int
parse(struct command *command, const uint8_t *payload, size_t size)
{
	const char *strings[MAX_ARGS + 2];
	size_t count = 0, length;

	if (size <= sizeof(command->run))
		return -EPROTO;
	memcpy(&command->run, payload, sizeof(command->run));
	length = size - sizeof(command->run);
	memcpy(command->text, payload + sizeof(command->run), length);
	if (command->text[length - 1] != '\0')
		return -EPROTO;
	for (char *p = command->text; p < command->text + length; p += strlen(p) + 1) {
		if (count == MAX_ARGS + 2)
			return -E2BIG;
		strings[count++] = p;
	}
	if (count < 3)
		return -EPROTO;
	command->term = strings[0];
	command->dir = strings[1];
	for (size_t i = 2; i < count; i++)
		command->argv[i - 2] = (char *)strings[i];
	command->argv[count - 2] = NULL;
	return 0;
}

/* In the new process. */
static void __attribute__((noreturn)) execute(const struct command *command, int manage)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a namespace, other than a kernel, does not end with its init */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (command->term[0] != '\0')
		setenv("TERM", command->term, 1);
	if (chdir(command->dir) < 0 && chdir("/") < 0)
		fprintf(stderr, "%s: %s\n", command->dir, strerror(errno));
	if (command->run.flags & GUEST_RUN_MANAGE)
		dup2(manage, GUEST_MANAGE_FD); /* the copy is not close-on-exec */
	execvp(command->argv[0], command->argv);
	fprintf(stderr, "%s: %s\n", command->argv[0], strerror(errno));
	_exit(errno == EACCES ? 126 : 127);
}

static int
start_on_terminal(struct session *session, const struct command *command)
{
	struct winsize size = { .ws_row = command->run.rows, .ws_col = command->run.cols };
	int master;

	session->pid = forkpty(&master, NULL, NULL, &size);
	if (session->pid == 0)
		execute(command, -1);
	if (session->pid < 0)
		return -errno;
	session->input = session->output = master;
	return 0;
}

static int
start_on_pipes(struct session *session, const struct command *command, int manage)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }, rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++)
		rc = pipe2(pipes[i], O_CLOEXEC) < 0 ? -errno : 0;
	if (rc == 0) {
		session->pid = fork();
		rc = session->pid < 0 ? -errno : 0;
	}
	if (rc == 0 && session->pid == 0) {
		setsid();
		dup2(pipes[0][0], STDIN_FILENO);
		dup2(pipes[1][1], STDOUT_FILENO);
		dup2(pipes[2][1], STDERR_FILENO);
		execute(command, manage);
	}
	for (int i = 0; i < 3; i++) {
		close(pipes[i][i == 0 ? 0 : 1]);
		if (rc < 0)
			close(pipes[i][i == 0 ? 1 : 0]);
	}
	session->input = pipes[0][1];
	session->output = pipes[1][0];
	session->errors = pipes[2][0];
	return rc;
}

/*
 * Starts a command. A program that cannot be executed ends with 127 and an error message on its standard error.
 * @param payload  of GUEST_RUN
 * @param manage   descriptor for GUEST_RUN_MANAGE, or -1
 * @return 0, or negative errno
 */
static int
session_start(struct session *session, const uint8_t *payload, size_t size, int manage)
{
	static struct command command; /* too large for the stack of a small guest */
	int rc = parse(&command, payload, size);

	if (rc < 0)
		return rc;
	*session = (struct session){ .input = -1, .output = -1, .errors = -1, .credit = GUEST_WINDOW_BYTES };
	session->pty = command.run.flags & GUEST_RUN_PTY;
	rc = session->pty ? start_on_terminal(session, &command) : start_on_pipes(session, &command, manage);
	if (rc < 0)
		return rc;
	fcntl(session->input, F_SETFL, O_RDWR | O_NONBLOCK);
	fcntl(session->output, F_SETFL, O_RDWR | O_NONBLOCK);
	if (session->errors >= 0)
		fcntl(session->errors, F_SETFL, O_RDWR | O_NONBLOCK);
	session->used = true;
	return 0;
}

/* Queues input; an empty one is its end. @return 0, or -ENOBUFS when the server overspends its credit */
static int
session_input(struct session *session, const uint8_t *bytes, size_t size)
{
	size_t queued = session->input_end - session->input_begin;

	if (size == 0)
		session->input_ended = true;
	if (queued + size > sizeof(session->input_queue))
		return -ENOBUFS;
	if (session->input_end + size > sizeof(session->input_queue)) {
		memmove(session->input_queue, session->input_queue + session->input_begin, queued);
		session->input_begin = 0;
		session->input_end = queued;
	}
	memcpy(session->input_queue + session->input_end, bytes, size);
	session->input_end += size;
	return 0;
}

/* Tells the terminal its new size. */
static void
session_resize(struct session *session, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	if (session->pty && session->output >= 0)
		ioctl(session->output, TIOCSWINSZ, &size);
}

/* Ends the command and all that it started in its process group. */
static void
session_kill(struct session *session)
{
	if (!session->ended)
		kill(-session->pid, SIGKILL);
}

static bool
wants_input(const struct session *session)
{
	return session->input >= 0 && session->input_end > session->input_begin;
}

/* Fills the descriptors to poll; unused ones are -1. */
static void
session_poll(const struct session *session, struct pollfd fds[SESSION_POLL_FDS])
{
	bool may_send = session->credit > 0;

	fds[0] = (struct pollfd){ .fd = wants_input(session) ? session->input : -1, .events = POLLOUT };
	fds[1] = (struct pollfd){ .fd = may_send ? session->output : -1, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = may_send ? session->errors : -1, .events = POLLIN };
}

static void
close_input(struct session *session)
{
	static const char end_of_file = 4; /* the character that a user would type at a terminal */

	if (session->pty && session->input >= 0) {
		if (write(session->input, &end_of_file, 1) < 0)
			return; /* its queue is full: at the next turn */
	} else if (session->input >= 0) {
		close(session->input);
	}
	session->input = -1;
	session->input_ended = false;
}

static int
move_input(struct session *session, uint8_t number, struct frame_out *out)
{
	ssize_t n = write(session->input, session->input_queue + session->input_begin,
			  session->input_end - session->input_begin);
	struct guest_credit credit;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0) /* the reader is gone: further output is discarded */
		n = (ssize_t)(session->input_end - session->input_begin);
	session->input_begin += (size_t)n;
	credit.bytes = (uint32_t)n;
	return frame_put(out, GUEST_CREDIT, number, &credit, sizeof(credit));
}

/* Reads one of the outputs; closes it at its end. @return whether there was something or may be more: 1, 0, or error */
static int
move_output(struct session *session, uint8_t number, int *fd, enum guest_frame_type type, struct frame_out *out)
{
	uint8_t bytes[4096];
	size_t cap = session->credit < sizeof(bytes) ? session->credit : sizeof(bytes);
	ssize_t n;
	int rc;

	if (*fd < 0 || cap == 0)
		return *fd >= 0;
	n = read(*fd, bytes, cap);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* a terminal ends with EIO */
		if (session->input == *fd)
			session->input = -1;
		close(*fd);
		*fd = -1;
		return 0;
	}
	session->credit -= (uint32_t)n;
	rc = frame_put(out, type, number, bytes, (size_t)n);
	return rc < 0 ? rc : 1;
}

static int
finish(struct session *session, uint8_t number, struct frame_out *out)
{
	struct guest_exit status = { .status = (uint32_t)session->status };

	if (session->input >= 0 && session->input != session->output)
		close(session->input);
	if (session->output >= 0)
		close(session->output);
	if (session->errors >= 0)
		close(session->errors);
	session->used = false;
	return frame_put(out, GUEST_EXIT, number, &status, sizeof(status));
}

/*
 * Moves bytes by the results of poll(); queues frames for the server, GUEST_EXIT last, which frees the session.
 * @return 0, or negative errno of frame_put()
 */
static int
session_move(struct session *session, uint8_t number, const struct pollfd fds[SESSION_POLL_FDS], struct frame_out *out)
{
	int rc = 0, output = 0, errors = 0;

	if (fds[0].revents != 0)
		rc = move_input(session, number, out);
	if (session->input_ended && !wants_input(session))
		close_input(session);
	if (rc == 0 && (fds[1].revents != 0 || session->ended))
		output = move_output(session, number, &session->output, GUEST_STDOUT, out);
	if (rc == 0 && (fds[2].revents != 0 || session->ended))
		errors = move_output(session, number, &session->errors, GUEST_STDERR, out);
	if (rc < 0 || output < 0 || errors < 0)
		return rc < 0 ? rc : output < 0 ? output : errors;
	/* What it left running may hold its outputs open: it is over when it ended and they are empty. */
	return session->ended && output == 0 && errors == 0 ? finish(session, number, out) : 0;
}
