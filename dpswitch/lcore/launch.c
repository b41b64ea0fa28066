/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/lcore/launch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/private_dir.h"

/* The arguments of DPDK's EAL: ours, and those that a user adds (--eal), which leave out what of ours they replace. */

#define EAL_ARGS_MAX 64
#define EAL_TEXT_MAX 1024
#define EAL_NO_HUGEPAGES "ROCELAB_NO_HUGEPAGES" /* in the environment: they are left alone, however many are free */

struct eal_args {
	char *argv[EAL_ARGS_MAX + 1]; /* [argc], and NULL; into text */
	int argc;
	uint32_t memory_mb;
	bool huge;        /* in hugepages, of which this number is free */
	bool shares;      /* asked for by the user: others find it (--telemetry), where EAL makes its sockets */
	const char *user; /* what the user added; NULL: nothing */
	char text[EAL_TEXT_MAX];
	uint32_t used;
};

/* The CPUs of this process at its start, and those of its first lcore. Set by lcore_init(). */
static cpu_set_t process_cpus, lcore_cpus;

static int eal_args_make(struct eal_args *args, const struct lcore_config *config, const char *map, struct err *err);

/* The CPUs of a set, as "0-3,8-11". @return bytes */
static size_t
list_cpus(char *buf, size_t cap, const cpu_set_t *cpus)
{
	size_t used = 0;

	for (int cpu = 0, first; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		for (first = cpu; cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus);)
			cpu++;
		used += (size_t)snprintf(buf + used, cap - used, "%s%d-%d", used != 0 ? "," : "", first, cpu);
	}
	return used;
}

/*
 * "--lcores" argument: lcore i on the i-th CPU that this process may use, or all lcores on all of them.
 * @return lcores placed
 */
static uint32_t
place_lcores(char *buf, size_t cap, const struct lcore_config *config)
{
	uint32_t placed = 0;
	size_t used = 0;

	if (config->floats) {
		used = (size_t)snprintf(buf, cap, "(0-%u)@(", config->lcores - 1);
		used += list_cpus(buf + used, cap - used, &process_cpus);
		snprintf(buf + used, cap - used, ")");
		return min_u32(config->lcores, lcore_process_cpus());
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && placed < config->lcores; cpu++) {
		if (!CPU_ISSET(cpu, &process_cpus))
			continue;
		used += (size_t)snprintf(buf + used, cap - used, "%s%u@%d", placed != 0 ? "," : "", placed, cpu);
		placed++;
	}
	return placed;
}

/*
 * Another program may have taken the hugepages since they were counted. EAL does not start twice in one process: the
 * same program is executed again, without them.
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

/*
 * It makes a folder for what it shares with others. Unless asked to, we share nothing: the folder is ours, and gone
 * then.
 */
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
	char map[CPU_SETSIZE * 6 + FABRIC_MAX_LCORES * 12];
	struct eal_args args;

	if (lcores == 0 || lcores > FABRIC_MAX_LCORES)
		return err_set(err, -EINVAL, "--lcores %u: give 1 to %u", lcores, FABRIC_MAX_LCORES);
	sched_getaffinity(0, sizeof(process_cpus), &process_cpus);
	placed = place_lcores(map, sizeof(map), config);
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

/* The arguments of DPDK's EAL. */

#define HUGEPAGES "/sys/kernel/mm/hugepages"
#define SPACES " \t\n"

static int
add(struct eal_args *args, const char *word, size_t size, struct err *err)
{
	if (args->argc == EAL_ARGS_MAX || args->used + size + 1 > sizeof(args->text))
		return err_set(err, -EINVAL, "--eal: more than %d words, or %d characters", EAL_ARGS_MAX, EAL_TEXT_MAX);
	args->argv[args->argc++] = memcpy(args->text + args->used, word, size);
	args->text[args->used + size] = '\0';
	args->used += (uint32_t)size + 1;
	args->argv[args->argc] = NULL;
	return 0;
}

/* Does the user give one of these options, alone or as "OPTION=.."? Ended by NULL. */
static bool
has(const struct eal_args *args, const char *const *options)
{
	for (; *options != NULL; options++) {
		size_t size = strlen(*options);

		for (int i = 0; i < args->argc; i++)
			if (strncmp(args->argv[i], *options, size) == 0 &&
			    (args->argv[i][size] == '\0' || args->argv[i][size] == '=' || (*options)[1] != '-'))
				return true;
	}
	return false;
}

/* @return MB of hugepages that are free, of the size of which there are most */
static uint64_t
free_hugepages_mb(void)
{
	DIR *dir = opendir(HUGEPAGES);
	uint64_t most_mb = 0;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		unsigned long long kb, pages;
		char path[PATH_MAX];
		FILE *file;

		if (sscanf(entry->d_name, "hugepages-%llukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), HUGEPAGES "/%s/free_hugepages", entry->d_name);
		file = fopen(path, "r");
		if (file != NULL && fscanf(file, "%llu", &pages) == 1 && pages * kb / 1024 > most_mb)
			most_mb = pages * kb / 1024;
		if (file != NULL)
			fclose(file);
	}
	if (dir != NULL)
		closedir(dir);
	return most_mb;
}

/*
 * @param map  of --lcores
 * @return 0, or -EINVAL with err set: too many words
 */
/* The user's options precede ours; ours that these replace are left out. */
static int
eal_args_make(struct eal_args *args, const struct lcore_config *config, const char *map, struct err *err)
{
	static const char *const memory[] = { "-m", "--socket-mem", NULL }, *const logs[] = { "--log-level", NULL };
	static const char *const pages[] = { "--no-huge", "--in-memory", "--huge-dir", "--huge-unlink", NULL };
	static const char *const pci[] = { "-a", "--allow", "-b", "--block", NULL };
	static const char *const telemetry[] = { "--telemetry", NULL };
	char memory_mb[16];
	int ret;

	*args = (struct eal_args){ .memory_mb = config->memory_mb != 0 ? config->memory_mb : LCORE_MEMORY_MB,
				   .user = config->eal };
	snprintf(memory_mb, sizeof(memory_mb), "%u", args->memory_mb);
	ret = add(args, "dpswitch", strlen("dpswitch"), err);
	for (const char *word = config->eal; ret == 0 && word != NULL && *(word += strspn(word, SPACES)) != '\0';) {
		size_t size = strcspn(word, SPACES);

		ret = add(args, word, size, err);
		word += size;
	}
	args->shares = has(args, telemetry);
	args->huge = !has(args, pages) && getenv(EAL_NO_HUGEPAGES) == NULL && free_hugepages_mb() >= args->memory_mb;
	const struct {
		const char *words[2];
		bool wanted;
	} ours[] = {
		{ { "--lcores", map }, true },
		{ { "-m", memory_mb }, !has(args, memory) },
		{ { "--log-level", "lib.eal:error" }, !has(args, logs) },
		{ { "--in-memory" }, args->huge },
		{ { "--no-huge" }, !has(args, pages) && !args->huge },
		{ { "--no-shconf" }, !args->huge }, /* not shared: EAL's folder is gone once it runs */
		{ { "--no-pci" }, !config->pci && !has(args, pci) },
		{ { "--no-telemetry" }, !args->shares },
	};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		for (size_t k = 0; ret == 0 && ours[i].wanted && k < 2 && ours[i].words[k] != NULL; k++)
			ret = add(args, ours[i].words[k], strlen(ours[i].words[k]), err);
	return ret;
}

/* Calibration of a hop's cost. */

#define BURST 32
#define IN_FLIGHT 256
#define RING_SIZE 512
#define FRAME_BYTES 1024

static void
swap_macs(struct rte_mbuf **pkts, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);
		struct rte_ether_addr src = eth->src_addr;

		eth->src_addr = eth->dst_addr;
		eth->dst_addr = src;
	}
}

/* A port whose transmit ring is its receive ring. @return port id or negative */
static int
loop_port(struct rte_mempool *pool, struct rte_ring *ring)
{
	static const struct rte_eth_conf conf;
	int port = rte_eth_from_rings("calibration", &ring, 1, &ring, 1, 0);

	if (port < 0 || rte_eth_dev_configure((uint16_t)port, 1, 1, &conf) < 0 ||
	    rte_eth_rx_queue_setup((uint16_t)port, 0, RING_SIZE, 0, NULL, pool) < 0 ||
	    rte_eth_tx_queue_setup((uint16_t)port, 0, RING_SIZE, 0, NULL) < 0 || rte_eth_dev_start((uint16_t)port) < 0)
		return -EIO;
	return port;
}

double
calibration_macswap_ns(uint64_t packets, struct err *err)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("calibration", 1023, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	struct rte_ring *ring = rte_ring_create("calibration", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	int port = pool != NULL && ring != NULL ? loop_port(pool, ring) : -EIO;
	struct rte_mbuf *pkts[BURST];
	uint64_t hops = 0, start_ns;
	double ns;

	if (port < 0)
		return err_set(err, port, "no net_ring port for the calibration");
	for (uint32_t i = 0; i < IN_FLIGHT; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (m == NULL || rte_pktmbuf_append(m, FRAME_BYTES) == NULL || rte_ring_enqueue(ring, m) < 0)
			return err_set(err, -ENOMEM, "no mbufs for the calibration");
	}
	start_ns = clock_cpu_ns();
	while (hops < packets) {
		uint16_t count = rte_eth_rx_burst((uint16_t)port, 0, pkts, BURST);

		swap_macs(pkts, count);
		if (count == 0 || rte_eth_tx_burst((uint16_t)port, 0, pkts, count) != count)
			return err_set(err, -EIO, "the calibration's ring lost a packet");
		hops += count;
	}
	ns = (double)(clock_cpu_ns() - start_ns) / (double)hops;
	rte_eth_dev_stop((uint16_t)port);
	rte_eth_dev_close((uint16_t)port);
	rte_ring_free(ring);
	rte_mempool_free(pool);
	return ns;
}
