/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of other kinds of ports: frames go round over memif, vhost or af_packet and one switch, beside DPDK's
 * testpmd.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench/testpmd.h"
#include "common/child.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "dpswitch/edge/port/port_round.h"

#define BENCH_ROUND_BYTES 1024 /* of a frame, with FCS */

#define FCS_BYTES 4

static const char scenario_text[] =
	"topology = { kind = \"explicit\"; rate = \"40Gbps\"; delay = \"20us\"; hosts = [ \"a\", \"b\" ];\n"
	"  switches = [ \"s\" ]; links = ( \"a s\", \"s b\" ); };\n"
	"flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1MB\"; } );\nhost = { mtu = \"4096B\"; };\n";

static const char veths_text[] = "ip link add source mtu 9000 type veth peer name source-peer mtu 9000 && "
				 "ip link add sink mtu 9000 type veth peer name sink-peer mtu 9000 && "
				 "for i in source source-peer sink sink-peer; do "
				 "sysctl -qw net.ipv6.conf.$i.disable_ipv6=1; ip link set $i up || exit 1; done";

struct bench {
	const char *forwarder, *dir;
	int repeats;
	char scenario[PATH_MAX];
	struct err *err; /* of the row */
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
write_scenario(const struct bench *bench)
{
	struct outfile out;
	int ret = outfile_open_path(&out, bench->scenario, bench->err);

	if (ret < 0)
		return ret;
	fputs(scenario_text, out.file);
	return outfile_close(&out, 0, bench->err);
}

/* @return 0 or negative with err set */
static int
forward(const struct bench *bench, const char *kind, double *ns)
{
	char bytes[16], path[PATH_MAX];
	struct child_args args = { .argv = { "dpswitch-forward", bench->scenario, "--out", bench->dir, "--seconds", "0.5",
					     "--round", kind, "--frame-bytes", bytes, "--eal", "--log-level=critical" },
				   .count = 12 };
	json_error_t error;
	json_t *root;
	pid_t pid;

	snprintf(bytes, sizeof(bytes), "%d", BENCH_ROUND_BYTES - FCS_BYTES);
	pid = child_start(bench->forwarder, &args, false, bench->err);
	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "dpswitch-forward failed over %s", kind);
	if (snprintf(path, sizeof(path), "%s/forward.json", bench->dir) >= (int)sizeof(path))
		return err_set(bench->err, -ENAMETOOLONG, "%s: the path is too long", bench->dir);
	root = input_json(path, 0, &error);
	if (root == NULL)
		return err_set(bench->err, -EINVAL, "%s: %s", path, error.text);
	*ns = json_number_value(json_object_get(root, "cpu_ns")) / json_number_value(json_object_get(root, "packets"));
	json_decref(root);
	return *ns > 0 && *ns < 1e9 ? 0 : err_set(bench->err, -EIO, "no frame returned over %s", kind);
}

/* Makes the pairs of veth in a network namespace of this process and its children. @return 0 or negative with err set */
static int
make_veths(const struct bench *bench)
{
	if (unshare(CLONE_NEWNET) < 0)
		return err_set(bench->err, -errno, "no separate network namespace: %s; root has one", strerror(errno));
	if (system(veths_text) != 0)
		return err_set(bench->err, -EIO, "no veth pairs in a network namespace");
	return 0;
}

static struct testpmd_ports
ports_of(enum port_round_kind kind, const char *dir)
{
	static const char *const veths[] = PORT_ROUND_VETHS;
	struct testpmd_ports ports = { .frame_bytes = BENCH_ROUND_BYTES - FCS_BYTES, .goes_round = true };

	/* The two that frames are forwarded between, then their peers, between which they go back. */
	for (int i = 0; i < 2; i++)
		for (int end = 0; end < 2; end++) {
			char *device = ports.devices[2 * i + end];
			size_t size = sizeof(ports.devices[0]);

			if (kind == PORT_ROUND_MEMIF)
				snprintf(device, size, "net_memif%d,role=%s,id=%d,socket=%.*s/memif%d,socket-abstract=no",
					 2 * end + i, i == 0 ? "server" : "client", end, TESTPMD_DIR_BYTES, dir, end);
			else if (kind == PORT_ROUND_AF_PACKET)
				snprintf(device, size, "net_af_packet%d,iface=%s", 2 * end + i, veths[2 * end + i]);
			else if (i == 0)
				snprintf(device, size, "net_vhost%d,iface=%.*s/vhost%d", end, TESTPMD_DIR_BYTES, dir, end);
			else
				snprintf(device, size, "net_virtio_user%d,path=%.*s/vhost%d,queue_size=512", end,
					 TESTPMD_DIR_BYTES, dir, end);
		}
	ports.late = kind == PORT_ROUND_VHOST ? 2 : 0;
	return ports;
}

static int
measure(const struct bench *bench, enum port_round_kind kind, struct bench_round *row)
{
	const struct testpmd_ports ports = ports_of(kind, bench->dir);
	double ns[BENCH_MAX_REPEATS];
	int ret = kind == PORT_ROUND_AF_PACKET ? make_veths(bench) : 0;

	for (int i = 0; ret == 0 && i < bench->repeats; i++)
		ret = forward(bench, row->kind, &ns[i]);
	if (ret < 0)
		return ret;
	qsort(ns, (size_t)bench->repeats, sizeof(ns[0]), compare);
	row->packet_ns = ns[bench->repeats / 2];
	row->io_ns = testpmd_packet_ns("io", bench->dir, &ports, &testpmd_measurement, bench->err);
	row->macswap_ns = testpmd_packet_ns("macswap", bench->dir, &ports, &testpmd_measurement, bench->err);
	return row->io_ns < 0 || row->macswap_ns < 0 ? -EIO : 0;
}

int
bench_round_measure(const char *forwarder, const char *dir, int repeats, struct bench_round *rows, struct err *err)
{
	static const char *const names[PORT_ROUND_KINDS] = PORT_ROUND_NAMES;
	struct bench bench = { .forwarder = forwarder, .dir = dir, .repeats = repeats, .err = err };
	int ret;

	if (snprintf(bench.scenario, sizeof(bench.scenario), "%s/round.cfg", dir) >= (int)sizeof(bench.scenario))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	ret = write_scenario(&bench);
	for (int kind = PORT_ROUND_RING + 1; ret == 0 && kind < PORT_ROUND_KINDS; kind++) {
		struct bench_round *row = &rows[kind - PORT_ROUND_RING - 1];

		*row = (struct bench_round){ .kind = names[kind] };
		bench.err = &row->why;
		if (measure(&bench, (enum port_round_kind)kind, row) < 0 && row->why.text[0] == '\0')
			err_set(&row->why, -EIO, "it failed");
	}
	return ret;
}

void
bench_round_print(const struct bench_round *rows)
{
	for (int i = 0; i < BENCH_ROUND_KINDS; i++) {
		const struct bench_round *row = &rows[i];

		if (row->why.text[0] != '\0')
			printf("Round over %s, 1 switch: not measured: %s.\n", row->kind, row->why.text);
		else if (row->macswap_ns == 0)
			printf("Round over %s, 1 switch, 1 KB: %.0f ns a frame, peers and both directions included.\n",
			       row->kind, row->packet_ns);
		else
			printf("Round over %s, 1 switch, 1 KB: %.0f ns a frame, peers and both directions included; "
			       "testpmd io %.0f ns, macswap %.0f ns: %.2f of macswap.\n",
			       row->kind, row->packet_ns, row->io_ns, row->macswap_ns, row->macswap_ns / row->packet_ns);
	}
}

json_t *
bench_round_json(const struct bench_round *rows)
{
	json_t *list = json_array();

	for (int i = 0; i < BENCH_ROUND_KINDS; i++) {
		const struct bench_round *row = &rows[i];

		if (row->why.text[0] != '\0')
			json_array_append_new(list, json_pack("{s:s, s:s}", "ports", row->kind, "why_not", row->why.text));
		else
			json_array_append_new(list,
					      json_pack("{s:s, s:i, s:f, s:f, s:f}", "ports", row->kind, "bytes",
							BENCH_ROUND_BYTES, "packet_ns", row->packet_ns, "testpmd_io_ns",
							row->io_ns, "testpmd_macswap_ns", row->macswap_ns));
	}
	return list;
}
