/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/page/element.h"
#include "cli/start/mpi_job.h"
#include "cli/start/run_hosts.h"
#include "cli/store/runs.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/wire/partition.h"
#include "scenario/scenario.h"

#define ANALYZER_STUCK (-2) /* besides exit statuses */

/* How long it may be idle; after an interrupt a fifth of that. */
#define ANALYZER_IDLE_NS 10000000000ULL
#define POLL_NS 5000000ULL

/* Too long, with or without an interrupt by the user; after a second interrupt it waits for nothing. */
static bool
too_long(uint64_t idle_ns)
{
	return interrupt_count() > 1 || idle_ns >= (interrupt_asked() ? ANALYZER_IDLE_NS / 5 : ANALYZER_IDLE_NS);
}

/* @param args  of the analyzer: its input, and its source. @return 0 or negative errno with err set */
static int
start_analyzer(struct analyzer *analyzer, struct child_args *args, struct err *err)
{
	char path[PATH_MAX], plugin[PATH_MAX], done[16];
	int pipes[2], ret = child_find("analyzer", "diag", path, sizeof(path), err);

	if (ret < 0)
		return ret;
	if (snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, analyzer->dir) >= (int)sizeof(plugin))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", analyzer->dir);
	/* The analyzer alone inherits the writing end. */
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_set(err, -errno, "no pipe for the analyzer: %s", strerror(errno));
	fcntl(pipes[1], F_SETFD, 0);
	snprintf(done, sizeof(done), "%d", pipes[1]);
	if (child_add(args, "--allow-left-out", err) < 0 || child_add(args, "--plugins", err) < 0 ||
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

/* The analyzer ends with EXIT_INTERRUPTED only before a run has connected. */
static bool
analyzer_interrupted(int status)
{
	return child_interrupted(status) || (interrupt_asked() && status == EXIT_INTERRUPTED);
}

static void
forget(struct analyzer *analyzer)
{
	close(analyzer->done);
	analyzer->pid = 0;
}

/* Sends it away: there is nothing to diagnose, or not by this one. */
static void
analyzer_dismiss(struct analyzer *analyzer)
{
	if (analyzer->pid == 0)
		return;
	child_end(analyzer->pid);
	forget(analyzer);
}

/*
 * Starts one that listens, and waits for its socket.
 * @return 0, or negative errno with err set and nothing left: -ETIMEDOUT: it is stuck; -EINTR: so it was when the user had
 *         enough; -ECHILD: it ended at once
 */
static int
analyzer_listen(struct analyzer *analyzer, const char *socket, struct err *err)
{
	char arrivals[PATH_MAX], text[64];
	struct child_args args = { .argv = { "analyzer", "--listen", socket, "--arrivals", arrivals },
				   .count = analyzer->arrivals ? 5 : 3 };
	struct stall_timer stall_timer = { 0 };
	int ret, status;

	if (snprintf(arrivals, sizeof(arrivals), "%s/" RUN_ARRIVALS, analyzer->dir) >= (int)sizeof(arrivals))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", analyzer->dir);
	ret = start_analyzer(analyzer, &args, err);

	while (ret == 0 && access(socket, F_OK) < 0) {
		if (child_poll(analyzer->pid, &status)) {
			forget(analyzer);
			if (analyzer_interrupted(status))
				return err_set(err, -EINTR, "interrupted before the run began");
			return err_set(err, -ECHILD, "the analyzer %s before the run began",
				       child_text(status, text, sizeof(text)));
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
 * With its reports written it may wait for the reader of its output, a pager perhaps; until the user interrupts that
 * too.
 */
static int
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

/* Diagnoses the recording. @return as analyzer_wait(), or another negative value with err set: it did not start */
static int
analyzer_reread(struct analyzer *analyzer, struct err *err)
{
	char records[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records }, .count = 3 };
	int ret;

	if (snprintf(records, sizeof(records), "%s/" RUN_RECORDING, analyzer->dir) >= (int)sizeof(records))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", analyzer->dir);
	ret = start_analyzer(analyzer, &args, err);
	return ret == 0 ? analyzer_wait(analyzer) : ret;
}

/* The programs that run the other partitions of a fabric here, beside that of partition 0. */

struct launch_partitions {
	uint32_t count; /* with partition 0; 0: the fabric is not partitioned */
	const struct launch *launch;
	char addresses[PARTITION_MAX * 64]; /* as --partitions-at wants them */
	char number[PARTITION_MAX][16];     /* "1/2" */
	char dir[PARTITION_MAX][PATH_MAX];
	char management[PATH_MAX]; /* folder of all devices' sockets */
	char first[64];            /* socket of partition 0 */
	bool started;
	pid_t pids[PARTITION_MAX]; /* 0: it does not run */
	struct child_watch watch[PARTITION_MAX];
	int status;  /* the worst of theirs */
	int refused; /* the first of theirs that is of no run */
};

/* A partition that is to end and does nothing for this long is stopped, or stuck. */
#define PARTITION_IDLE_NS 5000000000ULL

/* Names everything. Nothing is started. @return 0, or negative errno with err set */
static int
launch_partitions_init(struct launch_partitions *partitions, const struct launch *launch, struct err *err)
{
	size_t at = 0;

	*partitions = (struct launch_partitions){ .count = launch->partitions, .launch = launch };
	for (uint32_t p = 0; p < partitions->count; p++) {
		at += (size_t)snprintf(partitions->addresses + at, sizeof(partitions->addresses) - at, "%s%s/partition-%u",
				       p != 0 ? "," : "", launch->private_dir, p);
		snprintf(partitions->number[p], sizeof(partitions->number[p]), "%u/%u", p, partitions->count);
		if (snprintf(partitions->dir[p], sizeof(partitions->dir[p]), "%s/" RUN_PARTITIONS "/%u", launch->dir, p) >=
		    (int)sizeof(partitions->dir[p]))
			return err_set(err, -ENAMETOOLONG, "%s: too long a path", launch->dir);
	}
	snprintf(partitions->first, sizeof(partitions->first), "%s/partition-0", launch->private_dir);
	snprintf(partitions->management, sizeof(partitions->management), "%s/" RUN_MANAGEMENT, launch->dir);
	return 0;
}

/* Appends the options that make dpswitch a partition. @return 0 or -E2BIG with err set */
static int
launch_partitions_add(const struct launch_partitions *partitions, uint32_t which, struct child_args *args, struct err *err)
{
	const char *const pairs[] = { "--partition", partitions->number[which], "--partitions-at", partitions->addresses };

	for (size_t i = 0; partitions->count != 0 && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (child_add(args, pairs[i], err) < 0)
			return -E2BIG;
	return 0;
}

static int
start_partition(struct launch_partitions *partitions, uint32_t which, struct err *err)
{
	const struct launch *launch = partitions->launch;
	struct child_args args = { .argv = { "dpswitch", launch->scenario, "--quiet", "--out", partitions->dir[which],
					     "--management", partitions->management },
				   .count = 7 };
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
			log_error("dpswitch of partition %u %s", p, child_text(status, text, sizeof(text)));
		if (status > partitions->status)
			partitions->status = status;
		if (partitions->refused == EXIT_DONE && (status == EXIT_USAGE || status == EXIT_NOT_BEGUN))
			partitions->refused = status;
	}
}

/*
 * Starts the others once partition 0 listens, so its refusal is printed once. To be called while it runs.
 * @return 0, or negative errno with err set: one does not start
 */
static int
launch_partitions_tend(struct launch_partitions *partitions, struct err *err)
{
	if (!partitions->started && partitions->count != 0 && access(partitions->first, F_OK) == 0) {
		partitions->started = true;
		for (uint32_t p = 1; p < partitions->count; p++) {
			int ret = start_partition(partitions, p, err);

			if (ret < 0)
				return ret;
		}
	}
	reap(partitions);
	return 0;
}

/* @return whether a partition has ended: partition 0 should end, too */
static bool
launch_partitions_ended(const struct launch_partitions *partitions)
{
	for (uint32_t p = 1; partitions->started && p < partitions->count; p++)
		if (partitions->pids[p] == 0)
			return true;
	return false;
}

/* The exit code of one that has ended before there was a run (EXIT_USAGE, EXIT_NOT_BEGUN); EXIT_DONE: none has. */
static int
launch_partitions_refused(const struct launch_partitions *partitions)
{
	return partitions->refused;
}

/*
 * Partition 0 has ended: waits for the others, and kills one that makes no progress. @return the worst of their exit
 * codes
 */
static int
launch_partitions_wait(struct launch_partitions *partitions)
{
	bool any = true;

	while (any) {
		reap(partitions);
		any = false;
		for (uint32_t p = 1; p < partitions->count; p++) {
			any |= partitions->pids[p] != 0;
			if (partitions->pids[p] != 0 &&
			    (launch_abandoned() || child_idle_ns(&partitions->watch[p]) >= PARTITION_IDLE_NS))
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

/* Asks the partitions to end. For a signal's handler. */
static void
launch_partitions_ask(const struct launch_partitions *partitions)
{
	for (uint32_t p = 1; p < partitions->count; p++)
		if (partitions->pids[p] > 0)
			interrupt_pass_on(partitions->pids[p]);
}

#define FABRIC_POLL_NS 5000000ULL
/* A fabric that is to end and does nothing for this long is stopped, or stuck. */
#define FABRIC_IDLE_NS 5000000000ULL
/* How long the analyzer may take to notice a fabric that has died. */
#define ANALYZER_NOTICE_NS 10000000000ULL

/* The running fabric, 0: none, for ask_fabric(), and the programs of its other partitions. */
static volatile sig_atomic_t fabric_pid;
static struct launch_partitions fabric_partitions;
/* The fabric as an MPI job; pid 0: it is none. */
static struct mpi_job fabric_job;

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
	if (launch->in_job && child_add(&args, "--processes", err) < 0)
		return -E2BIG;
	for (size_t i = 0; i < launch->pass->count; i++)
		if (child_add(&args, launch->pass->argv[i], err) < 0)
			return -E2BIG;
	if (launch->processes != 0)
		return mpi_job_start(&fabric_job, launch->processes, launch->private_dir, &args, err);
	return child_start(path, &args, false, err);
}

int
launch_process(const char *scenario, const char *dir, const struct child_args *pass, struct err *err)
{
	char path[PATH_MAX], named[PATH_MAX];
	struct child_args args = { .argv = { "dpswitch", child_path(scenario, named), "--out", dir, "--processes" },
				   .count = 5 };
	pid_t pid;

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0)
		return EXIT_FAILED;
	for (size_t i = 0; i < pass->count; i++)
		if (child_add(&args, pass->argv[i], err) < 0)
			return EXIT_USAGE;
	launch_catch_interrupts();
	pid = child_start(path, &args, false, err);
	fabric_pid = pid > 0 ? pid : 0;
	return pid > 0 ? child_wait(pid) : EXIT_FAILED;
}

/* Asks the fabric to end in good order; may be called in a signal's handler. */
static void
ask_program(pid_t fabric)
{
	if (fabric_job.pid != 0)
		mpi_job_interrupt(fabric);
	else
		interrupt_pass_on(fabric);
}

/* Wall time for which the fabric has been idle; of an MPI job, its first process. */
static uint64_t
fabric_idle_ns(struct child_watch *watch)
{
	if (fabric_job.pid != 0 && watch->pid == fabric_job.pid)
		watch->pid = mpi_job_first(&fabric_job) != 0 ? mpi_job_first(&fabric_job) : watch->pid;
	return child_idle_ns(watch);
}

/* While the fabric runs, its hosts are looked after. @return its exit status */
static int
wait_for_fabric(const struct launch *launch, pid_t fabric, struct err *err)
{
	struct child_watch watch = { .pid = fabric };
	bool ending = false;
	int status, of_partitions, refused = EXIT_DONE;

	while (!child_poll(fabric, &status)) {
		if (fabric_job.pid != 0)
			mpi_job_tend(&fabric_job);
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
		    launch_partitions_refused(&fabric_partitions) != EXIT_DONE) { /* the others would wait for it */
			kill(fabric, SIGTERM);
			launch_partitions_ask(&fabric_partitions);
			refused = launch_partitions_refused(&fabric_partitions);
		}
		ending |= launch_partitions_ended(&fabric_partitions); /* it sees that itself */
		if (launch_abandoned() || ((ending || interrupt_asked()) && fabric_idle_ns(&watch) >= FABRIC_IDLE_NS))
			kill(fabric, SIGKILL);
		clock_sleep_until_ns(clock_now_ns() + FABRIC_POLL_NS);
	}
	if (fabric_job.pid != 0)
		status = mpi_job_end(&fabric_job);
	of_partitions = launch_partitions_wait(&fabric_partitions);
	if (of_partitions != EXIT_DONE && status == EXIT_DONE)
		status = exit_code_is_of_run(of_partitions) ? of_partitions : EXIT_FAILED;
	if (refused != EXIT_DONE && !exit_code_is_of_run(status))
		status = refused;
	if (launch->hosts == NULL)
		return status;
	run_hosts_stop(launch->hosts);
	if (status == EXIT_NOT_BEGUN)
		log_info("the output of the hosts is in %s/guests", launch->dir);
	return status;
}

/* The recording in the folder; all zero: there is none. An earlier run may have left one. */
static struct stat
recording_of(const char *dir)
{
	char path[PATH_MAX];
	struct stat recording = { 0 };

	if (snprintf(path, sizeof(path), "%s/" RUN_RECORDING, dir) >= (int)sizeof(path) || stat(path, &recording) < 0)
		return (struct stat){ 0 };
	return recording;
}

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * @return whether there is anything to diagnose. There is not after bad input, without hosts, if the run's files could
 *         not be made, or if the fabric died before it began.
 * @param before  the recording when the fabric started
 */
static bool
has_begun(const char *dir, const struct stat *before, struct analyzer *analyzer, const char *socket, int fabric_status)
{
	struct child_watch watch = { .pid = analyzer->pid };
	struct stat recording = recording_of(dir);

	if (fabric_status == EXIT_USAGE || fabric_status == EXIT_NOT_BEGUN)
		return false;
	if ((fabric_status == EXIT_FAILED || !exit_code_is_of_run(fabric_status)) && is_same_file(&recording, before))
		return false;
	/* The analyzer removes its socket when a client has connected. */
	while (!exit_code_is_of_run(fabric_status) && analyzer->pid != 0 && access(socket, F_OK) == 0) {
		if (launch_abandoned() || child_idle_ns(&watch) >= ANALYZER_NOTICE_NS || kill(analyzer->pid, 0) < 0)
			return false;
		clock_sleep_until_ns(clock_now_ns() + FABRIC_POLL_NS);
	}
	return true;
}

/*
 * The verdict on the stream, or where that did not reach its analyzer on the recording. @return as
 * launch_status.analyzer
 */
static int
conclude(const struct launch *launch, const struct stat *before, struct analyzer *analyzer, const char *socket,
	 int fabric_status, struct err *err)
{
	int status = ANALYZER_STUCK;
	char text[64];

	/* Why the fabric could not connect. */
	if (fabric_status == EXIT_NOT_BEGUN && analyzer->pid != 0 && child_poll(analyzer->pid, &status)) {
		if (!analyzer_interrupted(status))
			log_error("the analyzer %s before the run began", child_text(status, text, sizeof(text)));
		forget(analyzer);
	}
	if (!has_begun(launch->dir, before, analyzer, socket, fabric_status)) {
		analyzer_dismiss(analyzer);
		return LAUNCH_NO_STREAM;
	}
	if (exit_code_is_of_run(fabric_status) && analyzer->pid != 0 && run_analyzer_lacks(launch->dir)) {
		kill(analyzer->pid, SIGKILL); /* it would write a verdict on the records so far */
		analyzer_dismiss(analyzer);
	}
	if (analyzer->pid != 0)
		status = analyzer_wait(analyzer);
	if ((status != ANALYZER_STUCK && !analyzer_interrupted(status)) || launch_abandoned())
		return status >= 0 ? status : CHILD_KILLED + SIGKILL;
	log_warning("the analyzer was %s: the verdict is made from the recording",
		    status == ANALYZER_STUCK ? "stopped or stuck, or too slow" : "interrupted before it listened");
	status = analyzer_reread(analyzer, err);
	if (status < 0 && err->text[0] != '\0')
		log_error("%s", err->text);
	return status >= 0 ? status : CHILD_KILLED + SIGKILL;
}

static int
run_programs(const struct launch *launch, const char *socket, struct launch_status *status, struct err *err)
{
	struct analyzer analyzer = { .dir = launch->dir, .print = launch->print, .arrivals = launch->arrivals };
	struct stat before = recording_of(launch->dir);
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
		ask_program(fabric);
	status->fabric = wait_for_fabric(launch, fabric, err);
	fabric_pid = 0;
	if (child_interrupted(status->fabric)) {
		log_info("interrupted before the run began");
		status->fabric = EXIT_NOT_BEGUN;
	}
	status->analyzer = conclude(launch, &before, &analyzer, socket, status->fabric, err);
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

/* Asks the fabric to end. For a signal's handler. */
static void
ask_fabric(void)
{
	if (fabric_pid > 0)
		ask_program((pid_t)fabric_pid);
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

int
verdict_print(const char *dir, struct err *err)
{
	char path[PATH_MAX], block[65536];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	file = input_fopen(path, err);
	if (file == NULL)
		return -errno;
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
	root = input_json(path, 0, &error);
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
	return input_json(path, 0, NULL);
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
reports_complete(const char *run, const char *dir, struct err *err)
{
	int ret = page_scenario(run, dir, err);

	if (ret == 0)
		ret = page_series(run, dir, err);
	return ret == 0 ? findings_store(dir, err) : ret;
}

/* Adds what the run's first program does not know: other partitions' counters, and the findings. */
static void
complete_files(const char *dir, uint32_t partitions, struct launch_status *status)
{
	struct err err = { 0 };

	if (partitions_store(dir, partitions, &err) == 0 && reports_complete(dir, dir, &err) == 0)
		return;
	log_error("%s", err.text);
	status->fabric = EXIT_FAILED;
}

int
one_run(const struct one_run *run, struct scenario *scenario, const struct run_dir *dir, struct launch_status *status,
	struct err *err)
{
	char named[PATH_MAX];
	struct launch launch = {
		.scenario = child_path(run->options->path, named),
		.dir = dir->path,
		.pass = run->pass,
		.partitions = run->partitions,
		.processes = run->processes,
		.in_job = run->in_job,
		.print = run->print,
		.arrivals = run->arrivals,
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
	if (ret == 0 && status->analyzer != LAUNCH_NO_STREAM)
		complete_files(dir->path, run->partitions != 0 ? run->partitions : run->processes, status);
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
	/* SIGPIPE only means that the reader of the analyzer's output has gone: the files are complete. */
	if (status->analyzer != 0 && status->analyzer != CHILD_KILLED + SIGPIPE) {
		log_error("the analyzer %s; the recorded stream is kept: rocelab diagnose %s",
			  child_text(status->analyzer, text, sizeof(text)), dir);
		return EXIT_FAILED;
	}
	return exit_code_is_of_run(status->fabric) ? status->fabric : EXIT_FAILED;
}
