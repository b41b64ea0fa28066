/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/one_run.h"

#include <errno.h>
#include <signal.h>

#include "cli/page/scenario.h"
#include "common/child.h"
#include "common/exit_code.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/run_files.h"

int
one_run(const struct one_run *run, struct scenario *scenario, const struct run_dir *dir, struct launch_status *status,
	struct err *err)
{
	struct launch launch = {
		.scenario = run->options->path,
		.dir = dir->path,
		.pass = run->pass,
		.partitions = run->partitions,
		.print = run->print,
	};
	struct private_dir private_dir;
	int ret = private_dir_create(&private_dir, err);

	if (ret < 0) {
		scenario_destroy(scenario);
		return EXIT_NOT_BEGUN;
	}
	launch.private_dir = private_dir.path;
	ret = run_hosts_create(run->options, scenario, dir, private_dir.path, &launch.hosts, err);
	if (ret < 0) {
		private_dir_remove(&private_dir);
		return ret == -ENOPKG || ret == -ENOENT ? EXIT_NOT_BEGUN : EXIT_USAGE;
	}
	launch_catch_interrupts();
	ret = launch_run(&launch, status, err);
	if (ret == 0 && status->analyzer == 0)
		ret = page_scenario(dir->path, dir->path, err);
	run_files_tidy(dir->path);
	run_hosts_destroy(launch.hosts);
	private_dir_remove(&private_dir);
	if (ret < 0)
		return ret == -EINTR ? EXIT_INTERRUPTED : EXIT_NOT_BEGUN;
	return 0;
}

int
one_run_check(const struct launch_status *status, const char *dir)
{
	char text[64];

	if (status->fabric == EXIT_USAGE)
		return EXIT_USAGE;
	if (launch_abandoned()) {
		log_info("ended at once; what was recorded until then is kept: rocelab diagnose %s", dir);
		return EXIT_INTERRUPTED;
	}
	if (status->fabric != EXIT_NOT_BEGUN && !exit_code_is_of_run(status->fabric))
		log_error("dpswitch %s", child_text(status->fabric, text, sizeof(text)));
	if (status->analyzer == LAUNCH_NO_STREAM && interrupt_asked())
		return EXIT_INTERRUPTED;
	if (status->analyzer == LAUNCH_NO_STREAM)
		return status->fabric == EXIT_NOT_BEGUN ? EXIT_NOT_BEGUN : EXIT_FAILED;
	/* Where nobody reads what it prints the files are complete. */
	if (status->analyzer != 0 && status->analyzer != CHILD_KILLED + SIGPIPE) {
		log_error("the analyzer %s; the recorded stream is kept: rocelab diagnose %s",
			  child_text(status->analyzer, text, sizeof(text)), dir);
		return EXIT_FAILED;
	}
	return exit_code_is_of_run(status->fabric) ? status->fabric : EXIT_FAILED;
}
