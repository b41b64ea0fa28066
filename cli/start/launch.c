/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/start/analyzer.h"
#include "cli/start/launch_partitions.h"
#include "cli/start/verdict_file.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/run_files.h"

#define FABRIC_POLL_NS 5000000ULL
/* A fabric that is to end and does nothing for so long is stopped, or stuck. */
#define FABRIC_IDLE_NS 5000000000ULL
/* How long the analyzer may take to notice a fabric that has died. */
#define ANALYZER_NOTICE_NS 10000000000ULL

/* The fabric under way, 0: none, for ask_fabric(), and the parts that others of it run. */
static volatile sig_atomic_t fabric_pid;
static struct launch_partitions fabric_partitions;

/* @param socket  of the analyzer, NULL: there is none */
static pid_t
start_dpswitch(const struct launch *launch, const char *socket, struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", launch->scenario, "--out", launch->dir }, .count = 4 };
	char path[PATH_MAX];

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0)
		return -ENOENT;
	if (child_add(&args, launch->print ? "--brief" : "--quiet", err) < 0)
		return -E2BIG;
	if (socket != NULL && (child_add(&args, "--analyzer", err) < 0 || child_add(&args, socket, err) < 0))
		return -E2BIG;
	if (launch->hosts != NULL &&
	    (child_add(&args, "--hosts", err) < 0 || child_add(&args, launch->private_dir, err) < 0))
		return -E2BIG;
	if (launch_partitions_add(&fabric_partitions, 0, &args, err) < 0)
		return -E2BIG;
	for (size_t i = 0; i < launch->pass->count; i++)
		if (child_add(&args, launch->pass->argv[i], err) < 0)
			return -E2BIG;
	return child_start(path, &args, false, err);
}

/* While the fabric runs, its hosts are looked after. @return its exit status */
static int
wait_for_fabric(const struct launch *launch, pid_t fabric, struct err *err)
{
	struct child_watch watch = { .pid = fabric };
	bool ending = false;
	int status, of_partitions, refused = EXIT_DONE;

	while (!child_poll(fabric, &status)) {
		if (!ending && launch->hosts != NULL && run_hosts_tend(launch->hosts, err) < 0) {
			log_error("%s", err->text);
			kill(fabric, SIGTERM);
			ending = true;
		}
		if (!ending && launch_partitions_tend(&fabric_partitions, err) < 0) {
			log_error("%s", err->text);
			kill(fabric, SIGTERM);
			ending = true;
		}
		if (!ending &&
		    launch_partitions_refused(&fabric_partitions) != EXIT_DONE) { /* the others would wait for it to come */
			kill(fabric, SIGTERM);
			launch_partitions_ask(&fabric_partitions);
			refused = launch_partitions_refused(&fabric_partitions);
		}
		ending |= launch_partitions_ended(&fabric_partitions); /* it hears of it */
		if (launch_abandoned() || ((ending || interrupt_asked()) && child_idle_ns(&watch) >= FABRIC_IDLE_NS))
			kill(fabric, SIGKILL);
		clock_sleep_until_ns(clock_now_ns() + FABRIC_POLL_NS);
	}
	of_partitions = launch_partitions_wait(&fabric_partitions);
	if (of_partitions != EXIT_DONE && status == EXIT_DONE)
		status = exit_code_is_of_run(of_partitions) ? of_partitions : EXIT_FAILED;
	if (refused != EXIT_DONE && !exit_code_is_of_run(status))
		status = refused;
	if (launch->hosts == NULL)
		return status;
	run_hosts_stop(launch->hosts);
	if (status == EXIT_NOT_BEGUN)
		log_info("what the hosts said is in %s/guests", launch->dir);
	return status;
}

/* Whether there is anything to diagnose: not after bad input, without hosts, where its files could not be made, or the fabric died before it began. */
static bool
has_begun(const char *dir, struct analyzer *analyzer, const char *socket, int fabric_status)
{
	char recording[PATH_MAX];

	struct child_watch watch = { .pid = analyzer->pid };

	if (fabric_status == EXIT_USAGE || fabric_status == EXIT_NOT_BEGUN)
		return false;
	if (fabric_status == EXIT_FAILED &&
	    (snprintf(recording, sizeof(recording), "%s/" RUN_RECORDING, dir) >= (int)sizeof(recording) ||
	     access(recording, F_OK) < 0))
		return false;
	/* The analyzer removes its socket when somebody has connected. */
	while (!exit_code_is_of_run(fabric_status) && analyzer->pid != 0 && access(socket, F_OK) == 0) {
		if (launch_abandoned() || child_idle_ns(&watch) >= ANALYZER_NOTICE_NS || kill(analyzer->pid, 0) < 0)
			return false;
		clock_sleep_until_ns(clock_now_ns() + FABRIC_POLL_NS);
	}
	return true;
}

/* The verdict on the stream, or where that did not reach its analyzer on the recording. @return as launch_status.analyzer */
static int
conclude(const struct launch *launch, struct analyzer *analyzer, const char *socket, int fabric_status, struct err *err)
{
	int status = ANALYZER_STUCK;

	if (!has_begun(launch->dir, analyzer, socket, fabric_status)) {
		analyzer_dismiss(analyzer);
		return LAUNCH_NO_STREAM;
	}
	if (exit_code_is_of_run(fabric_status) && analyzer->pid != 0 && run_analyzer_lacks(launch->dir)) {
		kill(analyzer->pid, SIGKILL); /* it would write a verdict on what it has */
		analyzer_dismiss(analyzer);
	}
	if (analyzer->pid != 0)
		status = analyzer_wait(analyzer);
	if ((status != ANALYZER_STUCK && !child_interrupted(status)) || launch_abandoned())
		return status >= 0 ? status : CHILD_KILLED + SIGKILL;
	log_warning("the analyzer was %s: the verdict comes from the recording",
		    status == ANALYZER_STUCK ? "stopped or stuck, or too slow" : "interrupted before it listened");
	status = analyzer_reread(analyzer, err);
	if (status < 0 && err->text[0] != '\0')
		log_error("%s", err->text);
	return status >= 0 ? status : CHILD_KILLED + SIGKILL;
}

static int
run_programs(const struct launch *launch, const char *socket, struct launch_status *status, struct err *err)
{
	struct analyzer analyzer = { .dir = launch->dir, .print = launch->print };
	int ret = analyzer_listen(&analyzer, socket, err);
	pid_t fabric;

	if (ret < 0 && ret != -ETIMEDOUT)
		return ret;
	fabric = start_dpswitch(launch, ret == 0 ? socket : NULL, err);
	if (fabric < 0) {
		analyzer_dismiss(&analyzer);
		return fabric;
	}
	*err = (struct err){ 0 };
	fabric_pid = fabric;
	if (interrupt_asked()) /* before there was a fabric */
		interrupt_pass_on(fabric);
	status->fabric = wait_for_fabric(launch, fabric, err);
	fabric_pid = 0;
	if (child_interrupted(status->fabric)) {
		log_info("interrupted before the run began");
		status->fabric = EXIT_NOT_BEGUN;
	}
	status->analyzer = conclude(launch, &analyzer, socket, status->fabric, err);
	return 0;
}

int
launch_run(const struct launch *launch, struct launch_status *status, struct err *err)
{
	char socket[sizeof(PRIVATE_DIR_PATTERN) + 16];

	*status = (struct launch_status){ 0 };
	snprintf(socket, sizeof(socket), "%s/records.sock", launch->private_dir);
	if (launch_partitions_init(&fabric_partitions, launch, err) < 0)
		return -ENAMETOOLONG;
	return run_programs(launch, socket, status, err);
}

/* In a signal's handler. */
static void
ask_fabric(void)
{
	if (fabric_pid > 0)
		interrupt_pass_on((pid_t)fabric_pid);
	launch_partitions_ask(&fabric_partitions);
}

void
launch_catch_interrupts(void)
{
	interrupt_catch(&(struct interrupt_actions){ .ask = ask_fabric, .abandons = true });
}

bool
launch_abandoned(void)
{
	return interrupt_count() > 1;
}
