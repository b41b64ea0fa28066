/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/lcore/launch.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/child.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "dpswitch/lcore/eal_args.h"

/* What this process may use: as it was started, and what its first lcore has of it. Set by lcore_init(). */
static cpu_set_t process_cpus, lcore_cpus;

/* "--lcores" argument: lcore i on the i-th CPU that this process may use. @return lcores placed */
static uint32_t
place_lcores(char *buf, size_t cap, uint32_t lcores)
{
	cpu_set_t cpus;
	uint32_t placed = 0;
	size_t used = 0;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && placed < lcores; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		used += (size_t)snprintf(buf + used, cap - used, "%s%u@%d", placed != 0 ? "," : "", placed, cpu);
		placed++;
	}
	return placed;
}

/*
 * Another program may have taken the hugepages since they were counted. EAL does not start twice in one process: the same program begins
 * anew, without them.
 */
static void
begin_without_hugepages(void)
{
	char *line = NULL, *argv[CHILD_MAX_ARGS + 1];
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t cap = 0, count = 0;

	for (ssize_t n; file != NULL && count < CHILD_MAX_ARGS && (n = getdelim(&line, &cap, '\0', file)) > 0; line = NULL)
		argv[count++] = line;
	argv[count] = NULL;
	if (file != NULL)
		fclose(file);
	log_warning("DPDK's EAL does not start with hugepages: without them");
	setenv(EAL_NO_HUGEPAGES, "1", 1);
	sched_setaffinity(0, sizeof(process_cpus), &process_cpus);
	if (count != 0)
		execv("/proc/self/exe", argv);
}

/* It makes a folder for what it shares with others. Unless asked to, we share nothing: the folder is ours, and gone then. */
static int
start_eal(const struct eal_args *args, struct err *err)
{
	char *argv[EAL_ARGS_MAX + 1];
	struct private_dir dir;
	int ret = args->shares ? 0 : private_dir_create(&dir, err);

	if (ret < 0)
		return ret;
	if (!args->shares)
		setenv("RUNTIME_DIRECTORY", dir.path, 1);
	memcpy(argv, args->argv, sizeof(argv)); /* it changes their order */
	if (rte_eal_init(args->argc, argv) < 0)
		ret = err_set(err, -EIO, "DPDK's EAL does not start with %u MB%s%s: %s%s", args->memory_mb,
			      args->user != NULL ? " and " : "", args->user != NULL ? args->user : "",
			      rte_strerror(rte_errno), args->huge ? "; without hugepages: --eal --no-huge" : "");
	if (!args->shares)
		private_dir_remove(&dir);
	if (ret < 0 && args->huge)
		begin_without_hugepages();
	return ret;
}

int
lcore_init(const struct lcore_config *config, struct err *err)
{
	uint32_t lcores = config->lcores, placed;
	char map[FABRIC_MAX_LCORES * 12];
	struct eal_args args;

	if (lcores == 0 || lcores > FABRIC_MAX_LCORES)
		return err_set(err, -EINVAL, "--lcores %u: give 1 to %u", lcores, FABRIC_MAX_LCORES);
	sched_getaffinity(0, sizeof(process_cpus), &process_cpus);
	placed = place_lcores(map, sizeof(map), lcores);
	if (placed < lcores)
		return err_set(err, -EINVAL,
			       "--lcores %u: this process may use %u CPUs, and an lcore polls one alone; give at most %u",
			       lcores, placed, placed);
	if (eal_args_make(&args, config, map, err) < 0)
		return -EINVAL;
	if (start_eal(&args, err) < 0)
		return -EIO;
	if (rte_lcore_count() != lcores) { /* the user's words hid ours */
		uint32_t count = rte_lcore_count();

		rte_eal_cleanup();
		return err_set(err, -EINVAL,
			       "--eal \"%s\": EAL has %u lcores, not %u: no \"--\", and no option without its value",
			       config->eal != NULL ? config->eal : "", count, lcores);
	}
	sched_getaffinity(0, sizeof(lcore_cpus), &lcore_cpus);
	return 0;
}

bool
lcore_has_hugepages(void)
{
	return rte_eal_has_hugepages() != 0;
}

uint32_t
lcore_process_cpus(void)
{
	return (uint32_t)CPU_COUNT(&process_cpus);
}

void
lcore_unpin(void)
{
	sched_setaffinity(0, sizeof(process_cpus), &process_cpus);
}

void
lcore_pin(void)
{
	sched_setaffinity(0, sizeof(lcore_cpus), &lcore_cpus);
}

void
lcore_fini(void)
{
	rte_eal_cleanup();
}

struct lcore_job {
	struct fabric *fabric;
};

static int
lcore_main(void *arg)
{
	const struct lcore_job *job = arg;

	atomic_store_explicit(&job->fabric->lcores[rte_lcore_id()].thread, gettid(), memory_order_relaxed);
	fabric_run(job->fabric, rte_lcore_id());
	return 0;
}

int
lcore_run(struct fabric *fabric, struct err *err)
{
	struct lcore_job job = { fabric };
	unsigned lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (rte_eal_remote_launch(lcore_main, &job, lcore) < 0)
			return err_set(err, -EIO, "lcore %u does not start", lcore);
	}
	lcore_main(&job);
	rte_eal_mp_wait_lcore();
	return 0;
}
