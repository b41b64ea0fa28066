/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/one_run.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/page/element.h"
#include "cli/start/launch.h"
#include "common/child.h"
#include "common/err.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/program.h"
#include "common/run_files.h"
#include "scenario/scenario.h"

int
verdict_print(const char *dir, struct err *err)
{
	char path[PATH_MAX], block[65536];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	file = fopen(path, "r");
	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		fwrite(block, 1, n, stdout);
	fclose(file);
	return fflush(stdout) == 0 ? 0 : err_set(err, -EIO, "cannot print the verdict");
}

int
verdict_count(const char *dir, struct verdict_counts *counts, struct err *err)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *root, *collective, *program;
	size_t i;

	*counts = (struct verdict_counts){ 0 };
	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		return err_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	counts->findings = json_array_size(json_object_get(root, "findings"));
	json_array_foreach(json_object_get(root, "collectives"), i, collective)
		counts->unfinished += !json_is_true(json_object_get(collective, "complete"));
	json_array_foreach(json_object_get(root, "plugins"), i, program) {
		if (!json_is_true(json_object_get(program, "left_out")))
			continue;
		counts->left_out++;
		err_set(&counts->why, 0, "diagnoser %s was left out: %s",
			json_string_value(json_object_get(program, "name")),
			json_string_value(json_object_get(program, "why")));
	}
	json_decref(root);
	return 0;
}

/* DIR/run.json. @return NULL where there is none that can be read */
static json_t *
read_run(const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir) >= (int)sizeof(path))
		return NULL;
	return json_load_file(path, 0, NULL);
}

bool
run_analyzer_lacks(const char *dir)
{
	json_t *root = read_run(dir), *export = json_object_get(root, "export");
	bool lacks = json_integer_value(json_object_get(export, "analyzer_lost")) == ETIMEDOUT ||
		     json_integer_value(json_object_get(export, "analyzer_missed_records")) >
			     json_integer_value(json_object_get(export, "recording_missed_records"));

	json_decref(root);
	return lacks;
}

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
		log_info("ended at once; the records until then are kept: rocelab diagnose %s", dir);
		return EXIT_INTERRUPTED;
	}
	if (status->fabric != EXIT_NOT_BEGUN && !exit_code_is_of_run(status->fabric))
		log_error("dpswitch %s", child_text(status->fabric, text, sizeof(text)));
	if (status->analyzer == LAUNCH_NO_STREAM && interrupt_asked())
		return EXIT_INTERRUPTED;
	if (status->analyzer == LAUNCH_NO_STREAM)
		return status->fabric == EXIT_NOT_BEGUN ? EXIT_NOT_BEGUN : EXIT_FAILED;
	/* Where the reader of its output has gone the files are complete. */
	if (status->analyzer != 0 && status->analyzer != CHILD_KILLED + SIGPIPE) {
		log_error("the analyzer %s; the recorded stream is kept: rocelab diagnose %s",
			  child_text(status->analyzer, text, sizeof(text)), dir);
		return EXIT_FAILED;
	}
	return exit_code_is_of_run(status->fabric) ? status->fabric : EXIT_FAILED;
}
