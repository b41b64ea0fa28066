/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/verdicts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/start/launch.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/log.h"
#include "common/run_files.h"

#define POLL_NS 5000000ULL
/* An analyzer that does nothing for so long is stopped, or stuck. */
#define IDLE_NS 10000000000ULL

/* @return 0, or -EIO with err */
static int
wait_for(pid_t pid, uint64_t *cpu_ns, struct err *err)
{
	struct child_watch watch = { .pid = pid };
	bool killed = false;
	char text[64];
	int status;

	while (!child_poll_cpu(pid, &status, cpu_ns)) {
		if (!killed && (launch_abandoned() || child_idle_ns(&watch) >= IDLE_NS)) {
			kill(pid, SIGKILL);
			killed = true;
		}
		clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	return status == 0 ? 0 : err_set(err, -EIO, "the analyzer %s", child_text(status, text, sizeof(text)));
}

/* @param times  to detection, too. @return 0 or negative errno with err */
static int
analyze(const struct systems_plan *plan, const char *records, const struct systems_entry *entry, bool times,
	uint64_t *cpu_ns, struct err *err)
{
	struct child_args args = { .argv = { "analyzer", "--read", records, "--out", entry->dir, "--diagnoser",
					     entry->row->diagnoser, "--quiet", "--allow-left-out" },
				   .count = 9 };
	char path[PATH_MAX], plugin[PATH_MAX + 32];
	pid_t pid;

	snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, plan->dir);
	if (child_find("analyzer", "diag", path, sizeof(path), err) < 0 ||
	    (systems_is_program(entry) && (child_add(&args, "--outside", err) < 0 || child_add(&args, plugin, err) < 0)) ||
	    (times && child_add(&args, "--detection-times", err) < 0))
		return -ENOENT;
	pid = child_start(path, &args, true, err);
	return pid < 0 ? pid : wait_for(pid, cpu_ns, err);
}

static void
read_verdict(const struct systems_entry *entry, struct systems_verdict *verdict)
{
	char path[PATH_MAX + 32];
	json_error_t error;
	json_t *program;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, entry->dir);
	verdict->root = json_load_file(path, 0, &error);
	if (verdict->root == NULL)
		err_set(&verdict->why, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	program = json_array_get(json_object_get(verdict->root, "outside"), 0);
	if (json_is_true(json_object_get(program, "left_out")))
		err_set(&verdict->why, 0, "left out: %s", json_string_value(json_object_get(program, "why")));
}

/* @return 0; -ENOENT: there is no recording; another negative errno: there is, and no verdict */
static int
diagnose(const struct systems_plan *plan, size_t index, struct systems_verdict *verdict)
{
	const struct systems_entry *entry = &plan->systems[index];
	const struct systems_run *run = entry->run != SYSTEMS_NONE ? &plan->runs[entry->run] : NULL;
	char records[PATH_MAX + 32];
	struct run_dir dir;
	uint64_t cpu_ns;
	int ret;

	if (run == NULL)
		return err_set(&verdict->why, -ENOENT, "%s", entry->why.text);
	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, run->dir);
	if (access(records, F_OK) < 0)
		return err_set(&verdict->why, -ENOENT, "%s",
			       run->why.text[0] != '\0' ? run->why.text : "its run left no recording");
	if (run_dir_open(&dir, entry->dir, &verdict->why) < 0)
		return -EIO;
	ret = analyze(plan, records, entry, false, &verdict->cpu_ns, &verdict->why);
	if (ret == 0)
		ret = analyze(plan, records, entry, true, &cpu_ns, &verdict->why);
	if (ret == 0)
		read_verdict(entry, verdict);
	run_files_tidy(entry->dir);
	run_dir_close(&dir);
	return verdict->root != NULL ? 0 : -EIO;
}

int
systems_verdicts(const struct systems_plan *plan, struct systems_verdict *verdicts)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < plan->count; i++) {
		int ret;

		verdicts[i] = (struct systems_verdict){ 0 };
		ret = launch_abandoned() ? err_set(&verdicts[i].why, -ENOENT, "ended at once")
					 : diagnose(plan, i, &verdicts[i]);
		if ((ret == 0 && verdicts[i].why.text[0] == '\0') || ret == -ENOENT)
			continue;
		if (verdicts[i].root == NULL) /* of who was left out, the user was told */
			log_error("%s: %s", plan->systems[i].row->name, verdicts[i].why.text);
		worst = EXIT_FAILED;
	}
	return worst;
}

void
systems_verdicts_fini(const struct systems_plan *plan, struct systems_verdict *verdicts)
{
	for (size_t i = 0; i < plan->count; i++)
		json_decref(verdicts[i].root);
}
