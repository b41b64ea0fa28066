/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/eval/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/eval/variant.h"
#include "cli/launch.h"

static void
on_signal(int signal)
{
	(void)signal;
	launch_interrupt();
}

static void
prepare(const struct job_config *config)
{
	const struct sigaction action = { .sa_handler = on_signal };
	char path[PATH_MAX];
	cpu_set_t cpus;
	int log;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (config->cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(config->cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	snprintf(path, sizeof(path), "%s/log.txt", config->dir);
	log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (log < 0)
		return;
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	close(log);
}

static void
add_set(struct child_args *args, const char *set, struct err *err)
{
	child_add(args, "--set", err);
	child_add(args, set, err);
}

static enum job_status
run(const struct job_config *config)
{
	struct child_args pass = { .count = 0 };
	struct variant_sets sets;
	const struct launch launch = {
		.scenario = config->scenario,
		.dir = config->dir,
		.pass = &pass,
		.diagnose = config->policy != NULL,
	};
	struct launch_status status;
	char text[128];
	struct err err = { 0 };

	if (variant_sets(config->policy != NULL ? config->policy : "off", &sets, &err) < 0)
		return JOB_NOT_STARTED;
	for (size_t i = 0; i < config->nsets; i++)
		add_set(&pass, config->sets[i], &err);
	for (uint32_t i = 0; i < sets.count; i++)
		add_set(&pass, sets.text[i], &err);
	if (launch_run(&launch, &status, &err) < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		return JOB_NOT_STARTED;
	}
	if (status.fabric != 0)
		printf("dpswitch %s\n", child_text(status.fabric, text, sizeof(text)));
	if (status.analyzer > 0)
		printf("analyzer %s\n", child_text(status.analyzer, text, sizeof(text)));
	if (status.fabric != 0)
		return JOB_FABRIC_FAILED;
	return status.analyzer == 0 ? JOB_DONE : JOB_NO_VERDICT;
}

pid_t
job_start(const struct job_config *config, struct err *err)
{
	int ret = launch_make_dirs(config->dir, err);
	pid_t pid;

	if (ret < 0)
		return ret;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "%s: %s", config->dir, strerror(errno));
	if (pid != 0)
		return pid;
	prepare(config);
	ret = run(config);
	fflush(NULL);
	_exit(ret);
}

uint32_t
job_cpus(int *cpus, uint32_t cap)
{
	uint32_t count = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && count < cap; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[count++] = cpu;
	return count;
}
