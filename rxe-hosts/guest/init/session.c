/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

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

int
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

int
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

void
session_resize(struct session *session, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	if (session->pty && session->output >= 0)
		ioctl(session->output, TIOCSWINSZ, &size);
}

void
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

void
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
	static const char end_of_file = 4; /* what a terminal's user would type */

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
	if (n < 0) /* nobody reads it any more: what comes is swallowed */
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

int
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
