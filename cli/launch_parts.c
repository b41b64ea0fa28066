/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/launch_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/exit_code.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/run_dir.h"
#include "common/run_files.h"

#define POLL_NS 5000000ULL
/* One that is to end and does nothing for so long is stopped, or stuck. */
#define IDLE_NS 5000000000ULL

int
launch_parts_init(struct launch_parts *parts, const struct launch *launch, struct err *err)
{
	size_t at = 0;

	*parts = (struct launch_parts){ .count = launch->parts, .launch = launch };
	for (uint32_t p = 0; p < parts->count; p++) {
		at += (size_t)snprintf(parts->addresses + at, sizeof(parts->addresses) - at, "%s%s/part-%u",
				       p != 0 ? "," : "", launch->private_dir, p);
		snprintf(parts->number[p], sizeof(parts->number[p]), "%u/%u", p, parts->count);
		if (snprintf(parts->dir[p], sizeof(parts->dir[p]), "%s/" RUN_PARTS "/%u", launch->dir, p) >=
		    (int)sizeof(parts->dir[p]))
			return err_set(err, -ENAMETOOLONG, "%s: too long a path", launch->dir);
	}
	snprintf(parts->first, sizeof(parts->first), "%s/part-0", launch->private_dir);
	return 0;
}

int
launch_parts_add(const struct launch_parts *parts, uint32_t which, struct child_args *args, struct err *err)
{
	const char *const pairs[] = { "--part", parts->number[which], "--parts-at", parts->addresses };

	for (size_t i = 0; parts->count != 0 && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (child_add(args, pairs[i], err) < 0)
			return -E2BIG;
	return 0;
}

static int
start(struct launch_parts *parts, uint32_t which, struct err *err)
{
	const struct launch *launch = parts->launch;
	struct child_args args = { .argv = { "dpswitch", launch->scenario, "--quiet", "--out", parts->dir[which] },
				   .count = 5 };
	char path[PATH_MAX];
	pid_t pid;

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0 || run_dir_make(parts->dir[which], err) < 0 ||
	    launch_parts_add(parts, which, &args, err) < 0)
		return -ENOENT;
	if (launch->hosts != NULL &&
	    (child_add(&args, "--hosts", err) < 0 || child_add(&args, launch->private_dir, err) < 0))
		return -E2BIG;
	for (size_t i = 0; i < launch->pass->count; i++)
		if (child_add(&args, launch->pass->argv[i], err) < 0)
			return -E2BIG;
	pid = child_start(path, &args, false, err);
	if (pid < 0)
		return pid;
	parts->pids[which] = pid;
	parts->watch[which] = (struct child_watch){ .pid = pid };
	if (interrupt_asked()) /* before it was there */
		interrupt_pass_on(pid);
	return 0;
}

static void
reap(struct launch_parts *parts)
{
	char text[64];
	int status;

	for (uint32_t p = 1; p < parts->count; p++) {
		if (parts->pids[p] == 0 || !child_poll(parts->pids[p], &status))
			continue;
		parts->pids[p] = 0;
		if (status > EXIT_NOT_BEGUN && !exit_code_is_of_run(status))
			log_error("dpswitch of part %u %s", p, child_text(status, text, sizeof(text)));
		if (status > parts->status)
			parts->status = status;
		if (parts->refused == EXIT_DONE && (status == EXIT_USAGE || status == EXIT_NOT_BEGUN))
			parts->refused = status;
	}
}

int
launch_parts_tend(struct launch_parts *parts, struct err *err)
{
	if (!parts->started && parts->count != 0 && access(parts->first, F_OK) == 0) {
		parts->started = true;
		for (uint32_t p = 1; p < parts->count; p++) {
			int ret = start(parts, p, err);

			if (ret < 0)
				return ret;
		}
	}
	reap(parts);
	return 0;
}

bool
launch_parts_ended(const struct launch_parts *parts)
{
	for (uint32_t p = 1; parts->started && p < parts->count; p++)
		if (parts->pids[p] == 0)
			return true;
	return false;
}

int
launch_parts_refused(const struct launch_parts *parts)
{
	return parts->refused;
}

int
launch_parts_wait(struct launch_parts *parts)
{
	bool any = true;

	while (any) {
		reap(parts);
		any = false;
		for (uint32_t p = 1; p < parts->count; p++) {
			any |= parts->pids[p] != 0;
			if (parts->pids[p] != 0 && (launch_abandoned() || child_idle_ns(&parts->watch[p]) >= IDLE_NS))
				kill(parts->pids[p], SIGKILL);
		}
		if (any)
			clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	for (uint32_t p = 1; p < parts->count; p++) {
		run_files_tidy(parts->dir[p]);
		rmdir(parts->dir[p]); /* where nothing was written */
	}
	return parts->status;
}

void
launch_parts_ask(const struct launch_parts *parts)
{
	for (uint32_t p = 1; p < parts->count; p++)
		if (parts->pids[p] > 0)
			interrupt_pass_on(parts->pids[p]);
}
