/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/stall_timer.h"
#include "common/units.h"
#include "plugin/account.h"

/* ---- the process of a program ---- */

#define RECORDS_FD 3
#define CONTROL_FD 4
#define FAILED_FD 5 /* until it runs */
#define END_NS 1000000000ULL
#define END_NAP_NS 2000000ULL

/* Checks that need no process. */
static int
check(const char *path, struct err *err)
{
	struct stat status;

	if (strchr(path, '/') == NULL)
		return err_set(err, -EINVAL, "diagnoser %s: a program is named by its path, with a slash: ./%s", path,
			       path);
	if (stat(path, &status) < 0)
		return err_set(err, -errno, "diagnoser %s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return err_set(err, -EINVAL, "diagnoser %s is no program: it is no regular file", path);
	if (access(path, X_OK) < 0)
		return err_set(err, -errno, "diagnoser %s cannot be run: %s; chmod +x makes a script a program", path,
			       strerror(errno));
	return 0;
}

/* Does not return. @param ours  its ends of the sockets; failed  where errno goes if it cannot be run */
static void
become(const char *path, const int ours[2], int failed, pid_t parent, const sigset_t *before)
{
	char *argv[] = { (char *)path, NULL };
	int input = open("/dev/null", O_RDONLY), high[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (int i = 0; i < 2; i++)
		high[i] = fcntl(ours[i], F_DUPFD, 64); /* so that they do not collide */
	failed = fcntl(failed, F_DUPFD, 64);
	dup2(input, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	dup2(high[0], RECORDS_FD);
	dup2(high[1], CONTROL_FD);
	dup3(failed, FAILED_FD, O_CLOEXEC);
	close_range(FAILED_FD + 1, UINT32_MAX, 0);
	setenv("ROCELAB_RECORDS_FD", "3", 1);
	setenv("ROCELAB_CONTROL_FD", "4", 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (getppid() == parent)
		execv(path, argv);
	if (write(FAILED_FD, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

/* @return 0, or the errno of its execv() */
static int
exec_error(int failed)
{
	int error = 0;
	ssize_t got;

	do
		got = read(failed, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : 0;
}

static int
start(struct plugin_program *program, const char *path, const int theirs[2], struct err *err)
{
	pid_t parent = getpid(), pid;
	sigset_t before;
	int failed[2], error;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return err_set(err, -errno, "diagnoser %s: no pipe: %s", path, strerror(errno));
	pid = child_fork(&before);
	error = errno;
	if (pid == 0)
		become(path, theirs, failed[1], parent, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(failed[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* parent and child both call it: either may be first */
		error = exec_error(failed[0]);
	}
	close(failed[0]);
	if (pid > 0 && error != 0)
		child_wait(pid);
	if (pid < 0 || error != 0)
		return err_set(err, -error, "diagnoser %s cannot be run: %s", path, strerror(error));
	program->pid = pid;
	return 0;
}

/* @return 0, or negative errno with err set: it is not there, or cannot be run */
static int
plugin_program_start(struct plugin_program *program, const char *path, struct err *err)
{
	int records[2] = { -1, -1 }, control[2] = { -1, -1 }, ret = check(path, err);

	*program = (struct plugin_program){ .records = -1, .control = -1 };
	if (ret == 0 && (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, records) < 0 ||
			 socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0))
		ret = err_set(err, -errno, "diagnoser %s: no sockets: %s", path, strerror(errno));
	if (ret == 0)
		ret = start(program, path, (const int[2]){ records[1], control[1] }, err);
	for (int i = 0; i < 2; i++) {
		int end = i == 0 ? records[1] : control[1], own = i == 0 ? records[0] : control[0];

		if (end >= 0)
			close(end);
		if (own >= 0 && ret != 0)
			close(own);
	}
	if (ret != 0)
		return ret;
	program->records = records[0];
	program->control = control[0];
	fcntl(program->control, F_SETFL, O_NONBLOCK);
	return 0;
}

/* @return whether it has ended; *status as child_wait() returns it */
static int
plugin_program_ended(struct plugin_program *program, int *status)
{
	if (program->pid == 0 || !child_poll(program->pid, status))
		return 0;
	kill(-program->pid, SIGKILL); /* other processes of its group */
	program->pid = 0;
	return 1;
}

/* Ends its process group at once, and drops its sockets' contents. Does not wait. */
static void
plugin_program_kill(const struct plugin_program *program)
{
	if (program->pid != 0)
		kill(-program->pid, SIGKILL);
	if (program->records >= 0)
		shutdown(program->records, SHUT_RDWR);
	if (program->control >= 0)
		shutdown(program->control, SHUT_RDWR);
}

static void
close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Closes both sockets, waits a second for it to end by that, then ends it as child_end() does, with all of its process
 * group. After plugin_program_kill() it is not waited for first. Twice is allowed.
 */
static void
plugin_program_close(struct plugin_program *program)
{
	uint64_t deadline_ns = clock_now_ns() + END_NS;
	int status;

	close_end(&program->records);
	close_end(&program->control);
	while (program->pid != 0 && !plugin_program_ended(program, &status) && clock_now_ns() < deadline_ns)
		clock_sleep_until_ns(clock_now_ns() + END_NAP_NS);
	if (program->pid == 0)
		return;
	kill(-program->pid, SIGKILL);
	child_wait(program->pid);
	program->pid = 0;
}

/* ---- its start ---- */

#define PROTOCOL 1
#define POLL_MS 50
/* A process whose socket has closed has ended so soon, or has closed it alone. */
#define ENDED_NS 200000000ULL
#define NAP_NS 2000000ULL
/* Bytes of unread output up to which messages other than turns are queued. */
#define OUT_REFUSALS (PLUGIN_LINE_BYTES / 2)

int
plugin_session_start(struct plugin_session *session, const char *path, const struct plugin_driver *driver,
		     const struct plugin_account *const *before, uint32_t index, struct err *err)
{
	*session = (struct plugin_session){ .program = { .records = -1, .control = -1 }, .driver = driver };
	plugin_account_init(&session->account, path, before, index);
	session->in = malloc(PLUGIN_LINE_BYTES);
	session->out = malloc(PLUGIN_LINE_BYTES);
	if (session->in == NULL || session->out == NULL)
		return err_set(err, -ENOMEM, "diagnoser %s: out of memory", path);
	return plugin_program_start(&session->program, path, err);
}

void
plugin_session_close(struct plugin_session *session)
{
	plugin_program_close(&session->program);
	free(session->in);
	free(session->out);
	session->in = session->out = NULL;
}

/* ---- to the program ---- */

static void
flush(struct plugin_session *session)
{
	ssize_t sent = 0;

	if (session->out_bytes != 0)
		sent = send(session->program.control, session->out, session->out_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent <= 0) /* one that is gone is noticed where it is read */
		return;
	session->out_bytes -= (size_t)sent;
	memmove(session->out, session->out + sent, session->out_bytes);
}

/* @param line  taken over. @return false: there is no room for it, or no memory */
static bool
send_line(struct plugin_session *session, json_t *line, size_t room)
{
	char *text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;
	size_t bytes = text != NULL ? strlen(text) + 1 : 0;
	bool fits = bytes != 0 && session->out_bytes + bytes <= room;

	if (fits) {
		memcpy(session->out + session->out_bytes, text, bytes - 1);
		session->out[session->out_bytes + bytes - 1] = '\n';
		session->out_bytes += bytes;
	}
	free(text);
	json_decref(line);
	flush(session);
	return fits;
}

static void leave_out(struct plugin_session *session, uint64_t now_ps, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
leave_out(struct plugin_session *session, uint64_t now_ps, const char *fmt, ...)
{
	struct plugin_account *account = &session->account;
	va_list args;

	va_start(args, fmt);
	vsnprintf(account->why, sizeof(account->why), fmt, args);
	va_end(args);
	printable_text(account->why, account->why, sizeof(account->why));
	account->left_out = true;
	account->left_ps = now_ps;
	send_line(session, json_pack("{s:s, s:s}", "is", "left out", "why", account->why), PLUGIN_LINE_BYTES);
	plugin_program_kill(&session->program);
}

void
plugin_session_begin(struct plugin_session *session, const struct plugin_intro *intro)
{
	uint64_t wait_ns = intro->real_time ? 0 : PLUGIN_WAIT_NS;

	session->real_time = intro->real_time;
	send_line(session,
		  json_pack("{s:s, s:i, s:s, s:b, s:I, s:I}", "is", "begin", "version", PROTOCOL, "clock",
			    intro->real_time ? "real" : "virtual", "live", intro->live, "epoch_ns",
			    (json_int_t)(intro->epoch_ps / PS_PER_NS), "wait_ns", (json_int_t)wait_ns),
		  PLUGIN_LINE_BYTES);
}

void
plugin_session_turn(struct plugin_session *session, uint64_t now_ps, uint64_t bytes, bool last)
{
	struct plugin_account *account = &session->account;
	json_t *line =
		json_pack("{s:s, s:I, s:I, s:I}", "is", last ? "end" : "turn", "turn", (json_int_t)(account->turns + 1),
			  "time_ns", (json_int_t)(now_ps / PS_PER_NS), "bytes", (json_int_t)bytes);

	session->turn_lines = session->turn_asked = 0;
	if (send_line(session, line, PLUGIN_LINE_BYTES)) {
		account->turns++;
		return;
	}
	account->missed++;
	if (!session->real_time || last)
		leave_out(session, now_ps, "it does not read its control socket");
}

static void
refuse(struct plugin_session *session, const char *what, const char *why)
{
	struct plugin_account *account = &session->account;

	if (account->refused++ == 0)
		snprintf(account->refused_why, sizeof(account->refused_why), "%s: %s", what, why);
	send_line(session, json_pack("{s:s, s:s, s:s}", "is", "refused", "what", what, "why", why), OUT_REFUSALS);
}

/* ---- from the program ---- */

/* @return 0, or the driver's result with err */
static int
ask(struct plugin_session *session, const struct plugin_answer *answer, struct err *err)
{
	bool probe = answer->kind == PLUGIN_PROBE;

	if (++session->turn_asked > PLUGIN_TURN_ASKED)
		return err_set(err, -EAGAIN, "more than %u polls and probes in one turn", PLUGIN_TURN_ASKED);
	if (session->driver->poll_port == NULL)
		return err_set(err, -EAGAIN, "this is a recording: no device can be queried");
	session->account.polls += !probe;
	session->account.probes += probe;
	if (answer->kind == PLUGIN_POLL_PORT)
		return session->driver->poll_port(session->driver->ctx, answer->name, err);
	if (answer->kind == PLUGIN_POLL_FLOW)
		return session->driver->poll_flow(session->driver->ctx, answer->name, err);
	return session->driver->probe(session->driver->ctx, answer->name, answer->to, err);
}

static void
take_asked(struct plugin_session *session, const struct plugin_answer *answer, uint64_t now_ps)
{
	struct err err = { "" };
	int rc = ask(session, answer, &err);

	if (rc == -EINVAL)
		leave_out(session, now_ps, "%s", err.text);
	else if (rc != 0)
		refuse(session, answer->kind == PLUGIN_PROBE ? "probe" : "poll", err.text);
}

static void
take_finding(struct plugin_session *session, struct plugin_answer *answer, uint64_t now_ps)
{
	struct err err = { "" };

	if (session->account.nfindings == PLUGIN_FINDINGS) { /* before it is looked up */
		refuse(session, "finding", "there are a thousand already");
		return;
	}
	if (session->driver->check != NULL && session->driver->check(session->driver->ctx, &answer->finding, &err) != 0) {
		leave_out(session, now_ps, "%s", err.text);
		return;
	}
	answer->finding.reported_ps = now_ps;
	if (plugin_account_add(&session->account, &answer->finding) != 0)
		refuse(session, "finding", "out of memory");
}

static void
take_done(struct plugin_session *session, const struct plugin_answer *answer, uint64_t now_ps)
{
	if (answer->turn <= session->answered || answer->turn > session->account.turns)
		leave_out(session, now_ps, "it is done with turn %" PRIu64 ", and this is turn %" PRIu64, answer->turn,
			  session->account.turns);
	else
		session->answered = answer->turn;
	session->turn_lines = session->turn_asked = 0; /* in real time it may answer several turns at once */
}

static void
take_line(struct plugin_session *session, const char *line, size_t bytes, uint64_t now_ps)
{
	struct plugin_answer answer;
	struct err err = { "" };
	int rc;

	if (++session->turn_lines > PLUGIN_TURN_LINES) {
		leave_out(session, now_ps, "it writes more than %u lines in one turn", PLUGIN_TURN_LINES);
		return;
	}
	rc = plugin_answer_read(line, bytes, &answer, &err);
	if (rc != 0)
		leave_out(session, now_ps, "%s", err.text);
	else if (answer.kind == PLUGIN_DONE)
		take_done(session, &answer, now_ps);
	else if (answer.kind == PLUGIN_FINDING)
		take_finding(session, &answer, now_ps);
	else
		take_asked(session, &answer, now_ps);
	plugin_answer_fini(&answer);
}

static bool
is_answered(const struct plugin_session *session)
{
	return session->answered == session->account.turns;
}

/*
 * Lines belong to a turn, in virtual time to the one that it has not answered; those before the first turn, and after an
 * answer, to the next.
 */
static bool
has_turn(const struct plugin_session *session)
{
	return session->real_time ? session->account.turns != 0 : !is_answered(session);
}

/* Takes whole lines of its turn. @return whether any was taken */
static bool
take_lines(struct plugin_session *session, uint64_t now_ps)
{
	size_t at = 0;
	const char *end;

	while (!session->account.left_out && has_turn(session) &&
	       (end = memchr(session->in + at, '\n', session->in_bytes - at)) != NULL) {
		size_t bytes = (size_t)(end - (session->in + at));

		take_line(session, session->in + at, bytes, now_ps);
		at += bytes + 1;
	}
	session->in_bytes -= at;
	memmove(session->in, session->in + at, session->in_bytes);
	return at != 0;
}

/* Handles the end of its control socket: its process may still be there. */
static void
gone(struct plugin_session *session, uint64_t now_ps)
{
	uint64_t deadline_ns = clock_now_ns() + (session->real_time ? 0 : ENDED_NS);
	char text[64];
	int status, ended;

	while (!(ended = plugin_program_ended(&session->program, &status)) && clock_now_ns() < deadline_ns)
		clock_sleep_until_ns(clock_now_ns() + NAP_NS);
	if (ended)
		leave_out(session, now_ps, "it %s before the run did", child_text(status, text, sizeof(text)));
	else
		leave_out(session, now_ps, "it closed its control socket");
}

/* @return whether anything arrived */
static bool
receive(struct plugin_session *session, uint64_t now_ps)
{
	size_t room = PLUGIN_LINE_BYTES - session->in_bytes;
	ssize_t got;

	if (room == 0 && memchr(session->in, '\n', session->in_bytes) != NULL)
		return false; /* lines of the next turn */
	if (room == 0) {
		leave_out(session, now_ps, "it writes a line of more than %u bytes", PLUGIN_LINE_BYTES);
		return false;
	}
	got = recv(session->program.control, session->in + session->in_bytes, room, MSG_DONTWAIT);
	if (got > 0)
		session->in_bytes += (size_t)got;
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		gone(session, now_ps);
	return got > 0;
}

/* Checks a plugin that writes nothing: it may have ended, and left its sockets to others. */
static void
look(struct plugin_session *session, uint64_t now_ps)
{
	char text[64];
	int status;

	if (plugin_program_ended(&session->program, &status))
		leave_out(session, now_ps, "it %s before the run did", child_text(status, text, sizeof(text)));
}

void
plugin_session_receive(struct plugin_session *session, uint64_t now_ps)
{
	if (!plugin_session_works(session))
		return;
	flush(session);
	take_lines(session, now_ps); /* those that had no turn yet */
	if (receive(session, now_ps))
		take_lines(session, now_ps);
	else if (plugin_session_works(session))
		look(session, now_ps);
}

void
plugin_session_wait(struct plugin_session *session, uint64_t now_ps)
{
	struct stall_timer stall_timer = { 0 };

	while (plugin_session_works(session) && (take_lines(session, now_ps), !is_answered(session)) &&
	       plugin_session_works(session)) {
		struct pollfd fd = { .fd = session->program.control,
				     .events = (short)(POLLIN | (session->out_bytes != 0 ? POLLOUT : 0)) };
		bool hurried = session->driver->hurried != NULL && session->driver->hurried();

		if (session->driver->waits != NULL)
			session->driver->waits(session->driver->ctx);
		if (stall_timer_look(&stall_timer, clock_now_ns()) >= (hurried ? PLUGIN_WAIT_NS / 10 : PLUGIN_WAIT_NS)) {
			leave_out(session, now_ps, "it did not answer turn %" PRIu64 " within %g s", session->account.turns,
				  (double)(hurried ? PLUGIN_WAIT_NS / 10 : PLUGIN_WAIT_NS) / 1e9);
			return;
		}
		if (poll(&fd, 1, POLL_MS) == 0) {
			look(session, now_ps);
			continue;
		}
		flush(session);
		receive(session, now_ps);
	}
}

void
plugin_session_records(struct plugin_session *session, int error, uint64_t now_ps)
{
	char text[64];
	int status;

	if (error == 0 || !plugin_session_works(session))
		return;
	if (plugin_program_ended(&session->program, &status))
		leave_out(session, now_ps, "it %s before the run did", child_text(status, text, sizeof(text)));
	else if (error == ETIMEDOUT)
		leave_out(session, now_ps, "it did not read its record socket");
	else
		leave_out(session, now_ps, "it closed its record socket");
}

void
plugin_session_log(const struct plugin_session *session, bool live)
{
	const struct plugin_account *account = &session->account;

	if (live && account->left_out)
		log_warning("diagnoser %s was left out at %.3f ms: %s; the run went on without it", account->path,
			    (double)account->left_ps / 1e9, account->why);
	if (account->refused != 0)
		log_warning("diagnoser %s: %" PRIu64 " of its requests and findings were refused, the first a %s",
			    account->name, account->refused, account->refused_why);
	if (account->dropped_records != 0 || account->missed != 0)
		log_warning("diagnoser %s did not keep up: it lacks %" PRIu64 " records and %" PRIu64 " turns",
			    account->name, account->dropped_records, account->missed);
}
