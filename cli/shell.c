/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab shell: a command in a guest of the active run, as if it ran here. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "cli/command.h"
#include "common/err.h"
#include "common/log.h"
#include "common/program.h"
#include "rxe-hosts/guest/frame.h"

/* When the command never ran, as of ssh(1). */
#define EXIT_NO_SESSION 255

struct shell_options {
	const char *host, *run;
	char **argv; /* NULL: an interactive shell */
	int argc;
};

struct shell {
	int guest;
	bool interactive, input_open;
	uint32_t credit; /* input that may be sent */
	struct frame_in in;
	struct frame_out out;
	int status; /* of the command, -1: not ended yet */
};

static const struct argp_option options[] = {
	{ "run", 'r', "DIR", 0, "Directory of the run (default: the only active run below out/)", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct shell_options *shell = state->input;

	switch (key) {
	case 'r':
		shell->run = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (shell->host != NULL)
			return ARGP_ERR_UNKNOWN;
		shell->host = arg;
		return 0;
	case ARGP_KEY_ARGS:
		shell->argv = state->argv + state->next;
		shell->argc = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (shell->host == NULL)
			args_error(state, "which host?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST [-- COMMAND [ARG...]]",
	.doc = "Runs a command in a kernel host of an active run, with the standard input and output of this program. "
	       "Without a command: an interactive shell.\vThe host sees this machine's files, read-only; it can write "
	       "below /run. Exit status: the command's; 127 without such a command, 255 without such a host.",
};

/* The terminal as it was, for on_exit_restore(). */
static struct termios cooked;
static bool raw; /* the terminal is not as it was */

static void
restore_terminal(void)
{
	if (raw)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &cooked);
	raw = false;
}

static volatile sig_atomic_t resized;

static void
on_resize(int signal)
{
	(void)signal;
	resized = 1;
}

/* Connects through the folder's descriptor: its path may be longer than a socket's address. */
static int
connect_in(const char *dir, const char *host, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc;

	if (folder < 0)
		return err_set(err, -errno, "%s: %s; does the run have hosts with their own kernel?", dir, strerror(errno));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s.sock", folder, host);
	rc = connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	close(folder);
	if (rc == 0)
		return fd;
	close(fd);
	return err_set(err, rc, "%s/%s.sock: %s; is it a kernel host, and is the run active?", dir, host, strerror(-rc));
}

/* Looks for the host in every run below out/. */
static int
connect_anywhere(const char *host, struct err *err)
{
	glob_t runs;
	int found = -1;

	if (glob("out/*/guests", GLOB_ONLYDIR, NULL, &runs) != 0)
		return err_set(err, -ENOENT, "no run below out/ has hosts with their own kernel; give --run DIR");
	for (size_t i = 0; i < runs.gl_pathc; i++) {
		int fd = connect_in(runs.gl_pathv[i], host, NULL);

		if (fd >= 0 && found >= 0) {
			close(fd);
			close(found);
			found = err_set(err, -EEXIST, "several runs have a host \"%s\"; give --run DIR", host);
			break;
		}
		found = fd >= 0 ? fd : found;
	}
	globfree(&runs);
	if (found == -1)
		return err_set(err, -ENOENT, "no active run below out/ has a host \"%s\"; give --run DIR", host);
	return found;
}

static int
open_host(const struct shell_options *options_, struct err *err)
{
	char dir[PATH_MAX];

	if (strchr(options_->host, '/') != NULL)
		return err_set(err, -EINVAL, "\"%s\" is no name of a host", options_->host);
	if (options_->run == NULL)
		return connect_anywhere(options_->host, err);
	snprintf(dir, sizeof(dir), "%s/guests", options_->run);
	return connect_in(dir, options_->host, err);
}

static void
add_window(struct guest_run *run)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	run->rows = size.ws_row;
	run->cols = size.ws_col;
}

/* Sends the command: our terminal's type, our folder, the words. */
static int
ask(struct shell *shell, const struct shell_options *options_, struct err *err)
{
	static const char *const interactive[] = { "/bin/bash", "-i" };
	const char *const *words = options_->argc > 0 ? (const char *const *)options_->argv : interactive;
	int count = options_->argc > 0 ? options_->argc : 2;
	struct guest_run run = { .flags = shell->interactive ? GUEST_RUN_PTY : 0 };
	const char *term = getenv("TERM");
	char payload[GUEST_MAX_PAYLOAD], dir[PATH_MAX];
	size_t size = sizeof(run), length;

	add_window(&run);
	memcpy(payload, &run, sizeof(run));
	if (getcwd(dir, sizeof(dir)) == NULL)
		snprintf(dir, sizeof(dir), "/");
	for (int i = -2; i < count; i++) {
		const char *word = i == -2 ? (term != NULL ? term : "dumb") : i == -1 ? dir : words[i];

		length = strlen(word) + 1;
		if (size + length > sizeof(payload))
			return err_set(err, -E2BIG, "the command has more than %d bytes", GUEST_MAX_PAYLOAD);
		memcpy(payload + size, word, length);
		size += length;
	}
	return frame_put(&shell->out, GUEST_RUN, 0, payload, size);
}

static int
write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd room = { .fd = fd, .events = POLLOUT };

			poll(&room, 1, -1);
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		}
		bytes += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int
take(struct shell *shell, const struct guest_frame *frame, const uint8_t *payload)
{
	struct guest_credit credit;
	struct guest_exit status;
	int rc;

	switch (frame->type) {
	case GUEST_STDOUT:
	case GUEST_STDERR:
		rc = write_all(frame->type == GUEST_STDOUT ? STDOUT_FILENO : STDERR_FILENO, payload, frame->size);
		credit.bytes = frame->size;
		return rc < 0 ? rc : frame_put(&shell->out, GUEST_CREDIT, 0, &credit, sizeof(credit));
	case GUEST_CREDIT:
		memcpy(&credit, payload, sizeof(credit));
		shell->credit += credit.bytes;
		return 0;
	case GUEST_EXIT:
		memcpy(&status, payload, sizeof(status));
		shell->status = (int)status.status;
		return 0;
	default:
		return -EPROTO;
	}
}

static int
from_guest(struct shell *shell)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&shell->in, shell->guest), more;

	if (rc <= 0)
		return rc < 0 ? rc : -ECONNRESET;
	while ((more = frame_next(&shell->in, &frame, &payload)) > 0 && shell->status < 0) {
		rc = take(shell, &frame, payload);
		if (rc < 0)
			return rc;
	}
	return more < 0 ? more : 0;
}

static int
from_input(struct shell *shell)
{
	uint8_t bytes[4096];
	size_t cap = shell->credit < sizeof(bytes) ? shell->credit : sizeof(bytes);
	ssize_t n = read(STDIN_FILENO, bytes, cap);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* an empty frame is the end */
		shell->input_open = false;
		n = 0;
	}
	shell->credit -= (uint32_t)n;
	return frame_put(&shell->out, GUEST_STDIN, 0, bytes, (size_t)n);
}

static int
turn(struct shell *shell)
{
	bool may_read = shell->input_open && shell->credit > 0;
	struct pollfd fds[2] = {
		{ .fd = shell->guest, .events = (short)(POLLIN | (frame_pending(&shell->out) > 0 ? POLLOUT : 0)) },
		{ .fd = may_read ? STDIN_FILENO : -1, .events = POLLIN },
	};
	struct guest_run run = { 0 };
	int rc = 0;

	if (poll(fds, 2, -1) < 0 && errno != EINTR)
		return -errno;
	if (resized) {
		resized = 0;
		add_window(&run);
		rc = frame_put(&shell->out, GUEST_WINDOW, 0, &run, sizeof(run));
	}
	if (rc == 0 && fds[0].revents & ~POLLOUT)
		rc = from_guest(shell);
	if (rc == 0 && fds[1].revents != 0)
		rc = from_input(shell);
	return rc < 0 ? rc : frame_flush(&shell->out, shell->guest);
}

/* Keys go to the guest's terminal as they are. */
static void
take_terminal(void)
{
	struct termios keys;

	signal(SIGWINCH, on_resize);
	if (tcgetattr(STDIN_FILENO, &cooked) < 0)
		return;
	atexit(restore_terminal);
	keys = cooked;
	cfmakeraw(&keys);
	raw = tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys) == 0;
}

int
command_shell(int argc, char **argv)
{
	static struct shell shell = { .input_open = true, .credit = GUEST_WINDOW_BYTES, .status = -1 };
	struct shell_options shell_options = { 0 };
	struct err err = { 0 };
	int rc;

	argv[0] = "rocelab shell";
	if (args_parse(&argp, argc, argv, ARGP_IN_ORDER, &shell_options) != 0)
		return EXIT_USAGE;
	shell.interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	shell.guest = open_host(&shell_options, &err);
	rc = shell.guest < 0 ? shell.guest : ask(&shell, &shell_options, &err);
	if (rc == 0 && shell.interactive)
		take_terminal();
	fcntl(shell.guest, F_SETFL, O_RDWR | O_NONBLOCK);
	while (rc == 0 && shell.status < 0)
		rc = turn(&shell);
	frame_out_fini(&shell.out);
	if (rc == 0)
		return shell.status;
	if (err.text[0] == '\0')
		err_set(&err, rc, "%s: the host has ended: %s", shell_options.host, strerror(-rc));
	restore_terminal();
	log_error("%s", err.text);
	return EXIT_NO_SESSION;
}
