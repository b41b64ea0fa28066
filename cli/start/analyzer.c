/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/analyzer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/run_files.h"

/* How long it may be idle; after an interrupt a fifth of that must do. */
#define IDLE_NS 10000000000ULL
#define POLL_NS 5000000ULL

/* Too long, for a user who is in a hurry or not; one who asked twice waits for nothing. */
static bool
too_long(uint64_t idle_ns)
{
	return interrupt_count() > 1 || idle_ns >= (interrupt_asked() ? IDLE_NS / 5 : IDLE_NS);
}

/* @param args  what it is to read, and from where. @return 0 or negative errno with err set */
static int
start(struct analyzer *analyzer, struct child_args *args, struct err *err)
{
	char path[PATH_MAX], plugin[PATH_MAX], done[16];
	int pipes[2], ret = child_find("analyzer", "diag", path, sizeof(path), err);

	if (ret < 0)
		return ret;
	if (snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, analyzer->dir) >= (int)sizeof(plugin))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", analyzer->dir);
	/* Its end is not for the programs that are started later. */
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_set(err, -errno, "no pipe for the analyzer: %s", strerror(errno));
	fcntl(pipes[1], F_SETFD, 0);
	snprintf(done, sizeof(done), "%d", pipes[1]);
	if (child_add(args, "--allow-left-out", err) < 0 || child_add(args, "--outside", err) < 0 ||
	    child_add(args, plugin, err) < 0 || child_add(args, "--out", err) < 0 ||
	    child_add(args, analyzer->dir, err) < 0 || child_add(args, "--done", err) < 0 ||
	    child_add(args, done, err) < 0 || (analyzer->print && child_add(args, "--print", err) < 0))
		ret = -E2BIG;
	if (ret == 0)
		ret = child_start(path, args, true, err);
	close(pipes[1]);
	if (ret < 0) {
		close(pipes[0]);
		return ret;
	}
	analyzer->pid = ret;
	analyzer->done = pipes[0];
	return 0;
}

static void
forget(struct analyzer *analyzer)
{
	close(analyzer->done);
	analyzer->pid = 0;
}

void
analyzer_dismiss(struct analyzer *analyzer)
{
	if (analyzer->pid == 0)
		return;
	child_end(analyzer->pid);
	forget(analyzer);
}

int
analyzer_listen(struct analyzer *analyzer, const char *socket, struct err *err)
{
	struct child_args args = { .argv = { "analyzer", "--listen", socket }, .count = 3 };
	struct stall_timer stall_timer = { 0 };
	int ret = start(analyzer, &args, err), status;

	while (ret == 0 && access(socket, F_OK) < 0) {
		if (child_poll(analyzer->pid, &status)) {
			forget(analyzer);
			if (child_interrupted(status))
				return err_set(err, -EINTR, "interrupted before the run began");
			return err_set(err, -ECHILD, "the analyzer ended at once with status %d", status);
		}
		if (too_long(stall_timer_look(&stall_timer, clock_now_ns()))) {
			ret = err_set(err, interrupt_asked() ? -EINTR : -ETIMEDOUT,
				      "the analyzer did not open %s: stopped, or stuck", socket);
			analyzer_dismiss(analyzer);
			return ret;
		}
		clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	return ret;
}

static bool
reports_written(const struct analyzer *analyzer)
{
	struct pollfd done = { .fd = analyzer->done, .events = POLLIN };

	return poll(&done, 1, 0) == 1;
}

/*
 * With its reports written it may wait for whoever reads what it prints, a pager perhaps; until the user has enough of that
 * too.
 */
int
analyzer_wait(struct analyzer *analyzer)
{
	struct child_watch watch = { .pid = analyzer->pid };
	bool written = false;
	unsigned interrupts = 0;
	int status;

	while (!child_poll(analyzer->pid, &status)) {
		if (!written && reports_written(analyzer)) {
			written = true;
			interrupts = interrupt_count();
		}
		if (written ? interrupt_count() != interrupts : too_long(child_idle_ns(&watch))) {
			kill(analyzer->pid, SIGKILL);
			status = child_wait(analyzer->pid);
			forget(analyzer);
			return written ? status : ANALYZER_STUCK;
		}
		clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	forget(analyzer);
	return status;
}

int
analyzer_reread(struct analyzer *analyzer, struct err *err)
{
	char records[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records }, .count = 3 };
	int ret;

	if (snprintf(records, sizeof(records), "%s/" RUN_RECORDING, analyzer->dir) >= (int)sizeof(records))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", analyzer->dir);
	ret = start(analyzer, &args, err);
	return ret == 0 ? analyzer_wait(analyzer) : ret;
}
