/* SPDX-License-Identifier: BSD-3-Clause */
/* OVS-DPDK as a measure: the cost of a packet in another software switch, by one flow from port to port. */
#include "bench/testpmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"

/*
 * Hugepages for a while: a user with the permission allocates some in the kernel, and they are returned however this
 * program ends.
 */

/* Zero-initialise; hugepages_give_back() in any case. */
struct hugepages {
	pid_t holder; /* the process that returns them; 0: none were allocated */
	int alive;    /* as long as this end is open they stay */
};

static void hugepages_give_back(struct hugepages *pages);

#define DIR "/sys/kernel/mm/hugepages/hugepages-2048kB/"

/* @return a count; -1: there is none */
static long
read_count(const char *path)
{
	FILE *file = fopen(path, "r");
	long count = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%ld", &count) != 1)
		count = -1;
	fclose(file);
	return count;
}

static int
set_count(long count)
{
	FILE *file = fopen(DIR "nr_hugepages", "w");
	int ret = file != NULL && fprintf(file, "%ld\n", count) > 0 ? 0 : -1;

	if (file != NULL && fclose(file) != 0)
		ret = -1;
	return ret;
}

/* Waits in another process, which outlives the signals that end this one, and restores the number of pages. */
static void
keep(int alive, long before)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (read(alive, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(set_count(before) == 0 ? 0 : 1);
}

/* @return 0 with the process that returns the pages that will be more than before */
static int
start_holder(struct hugepages *pages, long before, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pages->holder = fork();
	if (pages->holder == 0) {
		close(ends[1]);
		keep(ends[0], before);
	}
	close(ends[0]);
	pages->alive = ends[1];
	if (pages->holder > 0)
		return 0;
	pages->holder = 0;
	close(ends[1]);
	return err_set(err, -errno, "fork: %s", strerror(errno));
}

/*
 * Makes sure that a number of pages of 2 MB are free.
 * @return 0; or negative errno with err: there are fewer, and this user or this machine gets no more
 */
static int
hugepages_ask(struct hugepages *pages, unsigned long count, struct err *err)
{
	long before = read_count(DIR "nr_hugepages"), free = read_count(DIR "free_hugepages");
	int ret;

	*pages = (struct hugepages){ 0 };
	if (free >= (long)count)
		return 0;
	if (before < 0 || free < 0)
		return err_set(err, -ENOTSUP, "this kernel has no hugepages of 2 MB");
	if (access(DIR "nr_hugepages", W_OK) < 0)
		return err_set(err, -EPERM, "%ld hugepages are free, and %lu wanted, which root can have", free, count);
	ret = start_holder(pages, before, err);
	if (ret < 0)
		return ret;
	if (set_count(before - free + (long)count) == 0 && read_count(DIR "free_hugepages") >= (long)count)
		return 0;
	hugepages_give_back(pages);
	return err_set(err, -ENOMEM, "the kernel has no %lu hugepages of 2 MB", count);
}

static void
hugepages_give_back(struct hugepages *pages)
{
	if (pages->holder == 0)
		return;
	close(pages->alive);
	while (waitpid(pages->holder, NULL, 0) < 0 && errno == EINTR)
		;
	*pages = (struct hugepages){ 0 };
}

#define SWITCH "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
#define DATABASE "/usr/sbin/ovsdb-server"
#define SCHEMA "/usr/share/openvswitch/vswitch.ovsschema"
#define PAGES 256 /* of 2 MB: more than it takes, as others may take some before it does */
#define MEMORY_MB "192"
#define WARM_NS 500000000ULL
#define LENGTH_NS 2000000000ULL
#define PROMPT 1000 /* characters */
#define MAX_OPTIONS 4

struct ovs {
	const char *dir;
	pid_t database, vswitch;
	struct hugepages pages;
	struct err *err;
};

/* The last message of a command that failed. @return negative with err */
static int
print_error(const struct ovs *ovs)
{
	char path[PATH_MAX], line[256] = "no reason was logged";
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/ovs.err", ovs->dir) >= (int)sizeof(path))
		return err_set(ovs->err, -ENAMETOOLONG, "%s: the path is too long", ovs->dir);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		line[strcspn(line, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
	return err_set(ovs->err, -EIO, "Open vSwitch could not be set up: %s", line);
}

/* A shell's commands, whose output goes to a file. @return 0 or negative with err */
static int command(const struct ovs *ovs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
command(const struct ovs *ovs, const char *fmt, ...)
{
	char text[2 * PATH_MAX + PROMPT], *at = text, *end = text + sizeof(text);
	va_list args;

	at += snprintf(at, (size_t)(end - at), "exec > %s/ovs.out 2> %s/ovs.err; ", ovs->dir, ovs->dir);
	va_start(args, fmt);
	at += vsnprintf(at, (size_t)(end - at), fmt, args);
	va_end(args);
	if (at >= end)
		return err_set(ovs->err, -ENAMETOOLONG, "%s: the path is too long", ovs->dir);
	return system(text) == 0 ? 0 : print_error(ovs);
}

/* An option that names something in the folder. */
struct option {
	const char *before, *after;
};

/* @return pid or negative with err */
static pid_t
start(const struct ovs *ovs, const char *path, const char *name, const struct option *options, int count)
{
	char texts[MAX_OPTIONS][PATH_MAX];
	struct child_args args = { .argv = { name }, .count = 1 };

	for (int i = 0; i < count; i++) {
		if (snprintf(texts[i], sizeof(texts[i]), "%s%s%s", options[i].before, ovs->dir, options[i].after) >=
		    (int)sizeof(texts[i]))
			return err_set(ovs->err, -ENAMETOOLONG, "%s: the path is too long", ovs->dir);
		child_add(&args, texts[i], ovs->err);
	}
	child_add(&args, "--verbose=console:off", ovs->err);
	return child_start(path, &args, false, ovs->err);
}

/* A switch with two ports, the first of which sends to the second. */
static int
set_up(struct ovs *ovs, const char *frames)
{
	static const struct option database[] = { { "", "/ovs.db" },
						  { "--remote=punix:", "/ovs.sock" },
						  { "--unixctl=", "/ovsdb.ctl" },
						  { "--log-file=", "/ovsdb.log" } };
	static const struct option vswitch[] = { { "unix:", "/ovs.sock" },
						 { "--unixctl=", "/ovs.ctl" },
						 { "--log-file=", "/ovs.log" } };
	int ret = command(ovs, "rm -f %s/ovs*; ovsdb-tool create %s/ovs.db " SCHEMA, ovs->dir, ovs->dir);

	if (ret < 0)
		return ret;
	ovs->database = start(ovs, DATABASE, "ovsdb-server", database, ARRAY_LEN(database));
	if (ovs->database < 0)
		return ovs->database;
	ret = command(ovs,
		      "ovs-vsctl -t 10 --retry --db=unix:%s/ovs.sock --no-wait init -- set Open_vSwitch . "
		      "other_config:dpdk-init=true 'other_config:dpdk-extra=\"--no-pci --iova-mode=va\"' "
		      "other_config:dpdk-socket-mem=" MEMORY_MB,
		      ovs->dir);
	if (ret < 0)
		return ret;
	ovs->vswitch = start(ovs, SWITCH, "ovs-vswitchd", vswitch, ARRAY_LEN(vswitch));
	if (ovs->vswitch < 0)
		return ovs->vswitch;
	return command(ovs,
		       "ovs-vsctl -t 20 --db=unix:%s/ovs.sock add-br rocelab -- set bridge rocelab datapath_type=netdev "
		       "-- add-port rocelab in -- set Interface in type=dpdk ofport_request=1 "
		       "'options:dpdk-devargs=\"net_pcap0,rx_pcap=%s,infinite_rx=1\"' "
		       "-- add-port rocelab out -- set Interface out type=dpdk ofport_request=2 "
		       "'options:dpdk-devargs=\"net_null0,no-rx=1\"' && "
		       "ovs-ofctl -t 10 add-flow unix:%s/rocelab.mgmt in_port=1,actions=output:2",
		       ovs->dir, frames, ovs->dir);
}

/* @return packets that its threads have taken in, negative with err */
static double
count_packets(const struct ovs *ovs)
{
	static const char label[] = "packets received:";
	char path[PATH_MAX], line[256];
	double packets = -1;
	FILE *file;

	if (command(ovs, "ovs-appctl -T 10 -t %s/ovs.ctl dpif-netdev/pmd-stats-show", ovs->dir) < 0 ||
	    snprintf(path, sizeof(path), "%s/ovs.out", ovs->dir) >= (int)sizeof(path))
		return -1;
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		const char *at = strstr(line, label);

		if (at != NULL)
			packets = (packets < 0 ? 0 : packets) + strtod(at + sizeof(label) - 1, NULL);
	}
	if (file != NULL)
		fclose(file);
	return packets >= 0 ? packets : err_set(ovs->err, -EIO, "Open vSwitch counts no packets");
}

/* @return processor time of its threads, ns; negative with err */
static double
cpu_ns(const struct ovs *ovs)
{
	unsigned long user = 0, kernel = 0;
	char path[64];
	FILE *file;
	int got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)ovs->vswitch);
	file = fopen(path, "r");
	got = file != NULL
		      ? fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel)
		      : 0;
	if (file != NULL)
		fclose(file);
	if (got != 2)
		return err_set(ovs->err, -EIO, "Open vSwitch ended");
	return (double)(user + kernel) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

static double
measure(const struct ovs *ovs)
{
	double packets, ns;

	clock_sleep_until_ns(clock_now_ns() + WARM_NS);
	packets = count_packets(ovs);
	ns = packets >= 0 ? cpu_ns(ovs) : -1;
	if (ns < 0)
		return -1;
	clock_sleep_until_ns(clock_now_ns() + LENGTH_NS);
	packets = count_packets(ovs) - packets;
	ns = cpu_ns(ovs) - ns;
	return packets > 0 && ns > 0 ? ns / packets : err_set(ovs->err, -EIO, "Open vSwitch forwarded nothing");
}

double
ovs_packet_ns(const char *dir, const char *frames, struct err *err)
{
	static const char *const folders[] = { "OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR" };
	struct ovs ovs = { .dir = dir, .err = err };
	double ns = -1;

	if (access(SWITCH, X_OK) < 0 || access(DATABASE, X_OK) < 0)
		return err_set(err, -ENOENT, "it is not installed (Debian: openvswitch-switch-dpdk)");
	if (hugepages_ask(&ovs.pages, PAGES, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		setenv(folders[i], dir, 1);
	if (set_up(&ovs, frames) == 0)
		ns = measure(&ovs);
	if (ovs.vswitch > 0)
		child_end(ovs.vswitch);
	if (ovs.database > 0)
		child_end(ovs.database);
	hugepages_give_back(&ovs.pages);
	return ns;
}
