/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "common/child.h"
#include "common/program.h"
#include "common/run_files.h"
#include "twin/twin.h"

int
twin_reports_write(const struct twin_reports *reports, struct err *err)
{
	char records[PATH_MAX + 16], plugins[PATH_MAX + 16], costs[PATH_MAX + 16], path[PATH_MAX];
	const char *const more[] = { "--plugins", plugins, "--costs", costs, "--print", NULL };
	const bool wanted[] = { reports->plugins != NULL, reports->plugins != NULL, reports->with_costs,
				reports->with_costs, reports->print };
	struct child_args args = {
		.argv = { "analyzer", "--read", records, "--out", reports->out, "--allow-left-out", "--quiet" }, .count = 7
	};
	int ret;
	pid_t pid;

	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, reports->records);
	snprintf(plugins, sizeof(plugins), "%s/" RUN_PLUGIN, reports->plugins != NULL ? reports->plugins : "");
	snprintf(costs, sizeof(costs), "%s/" RUN_TWIN, reports->out);
	for (size_t i = 0; more[i] != NULL; i++)
		if (wanted[i] && child_add(&args, more[i], err) < 0)
			return -E2BIG;
	ret = child_find("analyzer", "diag", path, sizeof(path), err);
	pid = ret == 0 ? child_start(path, &args, false, err) : ret;
	if (pid < 0)
		return (int)pid;
	ret = child_wait(pid);
	return ret <= EXIT_USAGE ? ret : EXIT_FAILED;
}
