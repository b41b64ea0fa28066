/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "rxe-hosts/guest/keeper_files.h"
#include "rxe-hosts/guest/kind.h"
#include "rxe-hosts/guest/sessions.h"
#include "rxe-hosts/guest/warden.h"

#define BOOT_NS (120 * 1000000000ULL) /* sixteen at once on two busy cores take a tenth of it */
#define STOP_NS (GUEST_STOP_MS * 1000000ULL)
#define REAP_NS 2000000000ULL
#define REAP_POLL_NS 2000000ULL

struct keeper {
	const struct guest_config *config;
	const struct guest_kind *kind;
	struct keeper_files files;
	struct guest_boot boot;
	int report, signals;
	pid_t pid; /* what runs the guest; leads its process group */
	int alive; /* closed by this process's end, whatever that is: the warden waits for it */
	bool ended, stopping;
	bool asked;     /* it ends because the caller wants it so */
	int raw_status; /* of waitpid(), once ended */
	uint64_t deadline_ns;
	struct sessions sessions;
	struct guest_status status;
	struct err err;
};

static void
tell(struct keeper *keeper, enum guest_state state)
{
	keeper->status.state = state;
	/* A caller that is gone needs no news: the end of the connection stops the guest. */
	if (send(keeper->report, &keeper->status, sizeof(keeper->status), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		keeper->asked = true;
}

/* In the process that becomes the guest. */
static noreturn void
become(struct keeper *keeper, struct guest_words *args, struct guest_words *env, pid_t parent, int alive)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t none;
	int rc;

	/* For a keeper that is killed together with the warden. A kernel that boots does not hear SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	close(keeper->alive);
	rc = warden_start(alive);
	if (rc < 0)
		err_set(&keeper->err, rc, "its warden: %s", strerror(-rc));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	/* UML would count the random gap behind its data as memory that it has. */
	personality(ADDR_NO_RANDOMIZE);
	dup2(keeper->files.log, STDOUT_FILENO);
	fcntl(keeper->boot.command_fd, F_SETFD, 0);
	if (keeper->boot.manage_fd >= 0)
		fcntl(keeper->boot.manage_fd, F_SETFD, 0);
	for (size_t i = 0; i < env->count; i++)
		putenv(env->word[i]);
	if (rc == 0 && getppid() == parent &&
	    (keeper->kind->enter == NULL || keeper->kind->enter(&keeper->boot, &keeper->err) == 0))
		execv(args->word[0], args->word);
	dprintf(STDERR_FILENO, "%s: %s\n", args->word[0], keeper->err.text[0] != '\0' ? keeper->err.text : strerror(errno));
	_exit(127);
}

static int
start(struct keeper *keeper)
{
	static struct guest_words args, env;
	int ends[2], alive[2], rc;
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(&keeper->err, -errno, "socketpair: %s", strerror(errno));
	fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
	keeper->sessions.guest = ends[0];
	keeper->boot = (struct guest_boot){ .config = keeper->config,
					    .private_dir = keeper->files.private_dir,
					    .guest_dir = keeper->files.guest_dir,
					    .command_fd = ends[1],
					    .manage_fd = keeper->config->manage_fd };
	rc = keeper->kind->command(&keeper->boot, &args, &env, &keeper->err);
	if (rc == 0 && pipe2(alive, O_CLOEXEC) < 0)
		rc = err_set(&keeper->err, -errno, "pipe: %s", strerror(errno));
	if (rc == 0) {
		keeper->alive = alive[1];
		keeper->pid = fork();
		if (keeper->pid == 0)
			become(keeper, &args, &env, self, alive[0]);
		rc = keeper->pid > 0 ? 0 : err_set(&keeper->err, -errno, "fork: %s", strerror(errno));
		close(alive[0]);
	}
	close(ends[1]);
	if (keeper->config->manage_fd >= 0)
		close(keeper->config->manage_fd);
	return rc;
}

static void
ask_stop(struct keeper *keeper)
{
	if (keeper->stopping)
		return;
	keeper->stopping = true;
	keeper->deadline_ns = clock_now_ns() + STOP_NS;
	if (!keeper->sessions.hello || sessions_power_off(&keeper->sessions) < 0)
		kill(keeper->pid, SIGTERM); /* it does not listen yet */
}

/* What changed of what the guest says. */
static void
follow(struct keeper *keeper)
{
	struct sessions *sessions = &keeper->sessions;
	int rc = 0;

	if (keeper->status.state == GUEST_BOOTING && sessions->hello) {
		if (sessions->up.error != 0) {
			err_set(&keeper->err, -(int)sessions->up.error, "%s", sessions->up_text);
			ask_stop(keeper);
			return;
		}
		if (keeper->config->argv != NULL)
			rc = sessions_start_program(sessions, keeper->config->argv, keeper->config->manage_fd >= 0);
		if (rc < 0)
			err_set(&keeper->err, rc, "its program's arguments do not fit: %s", strerror(-rc));
		keeper->deadline_ns = UINT64_MAX;
		keeper->status.gid_index = sessions->up.gid_index;
		keeper->status.pid = keeper->pid;
		tell(keeper, GUEST_UP);
	}
	if (keeper->status.state == GUEST_UP && sessions->program_ended) {
		keeper->status.exit_status = sessions->program_status;
		tell(keeper, GUEST_EXITED);
	}
}

/* The guest and what it left running under us; the first ends with the guest. */
static void
reap(struct keeper *keeper)
{
	pid_t pid;
	int raw;

	while ((pid = waitpid(-1, &raw, WNOHANG | __WALL)) > 0)
		if (pid == keeper->pid) {
			keeper->ended = true;
			keeper->raw_status = raw;
		}
}

/* The guest is about to end, or beyond talking to. */
static void
lose_channel(struct keeper *keeper)
{
	close(keeper->sessions.guest);
	keeper->sessions.guest = -1;
	if (!keeper->stopping)
		keeper->deadline_ns = clock_now_ns() + STOP_NS;
	keeper->stopping = true;
}

/* Waits once and does what there is to do. */
static void
turn(struct keeper *keeper)
{
	struct pollfd fds[2 + SESSIONS_MAX_FDS];
	struct signalfd_siginfo info;
	uint64_t now_ns = clock_now_ns(), left_ns = keeper->deadline_ns > now_ns ? keeper->deadline_ns - now_ns : 0;
	int wait_ms = keeper->deadline_ns == UINT64_MAX ? -1 : (int)(left_ns / 1000000 + 1);

	fds[0] = (struct pollfd){ .fd = keeper->stopping ? -1 : keeper->report, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = keeper->signals, .events = POLLIN };
	sessions_poll(&keeper->sessions, fds + 2);
	if (poll(fds, ARRAY_LEN(fds), wait_ms) < 0)
		return;
	while (read(keeper->signals, &info, sizeof(info)) > 0)
		keeper->asked |= info.ssi_signo == SIGTERM;
	keeper->asked |= fds[0].revents != 0;
	if (keeper->asked)
		ask_stop(keeper);
	reap(keeper);
	if (sessions_move(&keeper->sessions, fds + 2) < 0)
		lose_channel(keeper);
	follow(keeper);
}

/* Ends whatever is left of the guest. */
static void
kill_rest(struct keeper *keeper)
{
	uint64_t end_ns = clock_now_ns() + REAP_NS;

	while (clock_now_ns() < end_ns) {
		kill(-keeper->pid, SIGKILL);
		reap(keeper);
		if (keeper->ended && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD)
			return;
		clock_sleep_until_ns(clock_now_ns() + REAP_POLL_NS);
	}
}

/* Puts into words why the guest is gone. */
static void
explain(struct keeper *keeper, bool timed_out)
{
	char last[256];
	int raw = keeper->raw_status;

	if (keeper->err.text[0] == '\0' && !keeper->asked) {
		keeper_last_line(keeper->files.log_path, last, sizeof(last));
		if (timed_out && !keeper->sessions.hello)
			err_set(&keeper->err, -ETIMEDOUT, "it did not come up in %llu s; last in %s: %s",
				BOOT_NS / 1000000000ULL, keeper->files.log_path, last);
		else if (WIFSIGNALED(raw))
			err_set(&keeper->err, -ECHILD, "it was killed by signal %d (%s); last in %s: %s", WTERMSIG(raw),
				strsignal(WTERMSIG(raw)), keeper->files.log_path, last);
		else
			err_set(&keeper->err, -ECHILD, "it ended by itself, status %d; last in %s: %s", WEXITSTATUS(raw),
				keeper->files.log_path, last);
	}
	snprintf(keeper->status.text, sizeof(keeper->status.text), "%s", keeper->err.text);
}

static void
live(struct keeper *keeper)
{
	bool timed_out = false;

	keeper->deadline_ns = clock_now_ns() + BOOT_NS;
	while (!keeper->ended && !timed_out) {
		turn(keeper);
		timed_out = clock_now_ns() >= keeper->deadline_ns;
	}
	kill_rest(keeper);
	explain(keeper, timed_out);
}

static int
watch_signals(void)
{
	sigset_t wanted;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	return signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Whoever reads what the caller prints must not wait for the guest's end. */
static void
leave_streams(const struct keeper *keeper)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(keeper->files.log, STDERR_FILENO);
	close(null);
}

noreturn void
keeper_run(const struct guest_config *config, int report)
{
	static struct keeper keeper; /* too large for a stack */
	int rc;

	setsid();
	prctl(PR_SET_NAME, "guest-keeper");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	keeper.config = config;
	keeper.report = report;
	keeper.status = (struct guest_status){ .state = GUEST_BOOTING, .gid_index = UINT32_MAX, .exit_status = -1 };
	keeper.signals = watch_signals();
	keeper.kind = guest_kind_find(config->kind, &keeper.err);
	rc = keeper.kind != NULL && keeper.signals >= 0 ? keeper_files_init(&keeper.files, config, &keeper.err) : -EINVAL;
	if (rc == 0) {
		leave_streams(&keeper);
		keeper.sessions.listener = keeper.files.listener;
		keeper.sessions.log = keeper.files.log;
		rc = start(&keeper);
	}
	if (rc == 0)
		live(&keeper);
	else
		snprintf(keeper.status.text, sizeof(keeper.status.text), "%s", keeper.err.text);
	sessions_fini(&keeper.sessions);
	keeper_files_fini(&keeper.files);
	tell(&keeper, GUEST_ENDED);
	_exit(0);
}
