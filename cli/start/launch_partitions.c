/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/launch_partitions.h"

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
launch_partitions_init(struct launch_partitions *partitions, const struct launch *launch, struct err *err)
{
	size_t at = 0;

	*partitions = (struct launch_partitions){ .count = launch->partitions, .launch = launch };
	for (uint32_t p = 0; p < partitions->count; p++) {
		at += (size_t)snprintf(partitions->addresses + at, sizeof(partitions->addresses) - at, "%s%s/part-%u",
				       p != 0 ? "," : "", launch->private_dir, p);
		snprintf(partitions->number[p], sizeof(partitions->number[p]), "%u/%u", p, partitions->count);
		if (snprintf(partitions->dir[p], sizeof(partitions->dir[p]), "%s/" RUN_PARTITIONS "/%u", launch->dir, p) >=
		    (int)sizeof(partitions->dir[p]))
			return err_set(err, -ENAMETOOLONG, "%s: too long a path", launch->dir);
	}
	snprintf(partitions->first, sizeof(partitions->first), "%s/part-0", launch->private_dir);
	return 0;
}

int
launch_partitions_add(const struct launch_partitions *partitions, uint32_t which, struct child_args *args, struct err *err)
{
	const char *const pairs[] = { "--part", partitions->number[which], "--parts-at", partitions->addresses };

	for (size_t i = 0; partitions->count != 0 && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (child_add(args, pairs[i], err) < 0)
			return -E2BIG;
	return 0;
}

static int
start(struct launch_partitions *partitions, uint32_t which, struct err *err)
{
	const struct launch *launch = partitions->launch;
	struct child_args args = { .argv = { "dpswitch", launch->scenario, "--quiet", "--out", partitions->dir[which] },
				   .count = 5 };
	char path[PATH_MAX];
	pid_t pid;

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0 ||
	    run_dir_make(partitions->dir[which], err) < 0 || launch_partitions_add(partitions, which, &args, err) < 0)
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
	partitions->pids[which] = pid;
	partitions->watch[which] = (struct child_watch){ .pid = pid };
	if (interrupt_asked()) /* before it was there */
		interrupt_pass_on(pid);
	return 0;
}

static void
reap(struct launch_partitions *partitions)
{
	char text[64];
	int status;

	for (uint32_t p = 1; p < partitions->count; p++) {
		if (partitions->pids[p] == 0 || !child_poll(partitions->pids[p], &status))
			continue;
		partitions->pids[p] = 0;
		if (status > EXIT_NOT_BEGUN && !exit_code_is_of_run(status))
			log_error("dpswitch of part %u %s", p, child_text(status, text, sizeof(text)));
		if (status > partitions->status)
			partitions->status = status;
		if (partitions->refused == EXIT_DONE && (status == EXIT_USAGE || status == EXIT_NOT_BEGUN))
			partitions->refused = status;
	}
}

int
launch_partitions_tend(struct launch_partitions *partitions, struct err *err)
{
	if (!partitions->started && partitions->count != 0 && access(partitions->first, F_OK) == 0) {
		partitions->started = true;
		for (uint32_t p = 1; p < partitions->count; p++) {
			int ret = start(partitions, p, err);

			if (ret < 0)
				return ret;
		}
	}
	reap(partitions);
	return 0;
}

bool
launch_partitions_ended(const struct launch_partitions *partitions)
{
	for (uint32_t p = 1; partitions->started && p < partitions->count; p++)
		if (partitions->pids[p] == 0)
			return true;
	return false;
}

int
launch_partitions_refused(const struct launch_partitions *partitions)
{
	return partitions->refused;
}

int
launch_partitions_wait(struct launch_partitions *partitions)
{
	bool any = true;

	while (any) {
		reap(partitions);
		any = false;
		for (uint32_t p = 1; p < partitions->count; p++) {
			any |= partitions->pids[p] != 0;
			if (partitions->pids[p] != 0 &&
			    (launch_abandoned() || child_idle_ns(&partitions->watch[p]) >= IDLE_NS))
				kill(partitions->pids[p], SIGKILL);
		}
		if (any)
			clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	for (uint32_t p = 1; p < partitions->count; p++) {
		run_files_tidy(partitions->dir[p]);
		rmdir(partitions->dir[p]); /* where nothing was written */
	}
	return partitions->status;
}

void
launch_partitions_ask(const struct launch_partitions *partitions)
{
	for (uint32_t p = 1; p < partitions->count; p++)
		if (partitions->pids[p] > 0)
			interrupt_pass_on(partitions->pids[p]);
}
