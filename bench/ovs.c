/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/ovs.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/hugepages.h"
#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"

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

/* What a command that failed said last. @return negative with err */
static int
print_error(const struct ovs *ovs)
{
	char path[PATH_MAX], line[256] = "nothing said why";
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
