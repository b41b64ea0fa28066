/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench trace: completion time of the tracer against flows, for the kinds of connection and numbers of
 * threads of FlowTracer's Fig. 4 and 5. The network is that of the paper's testbed, its devices are served by a
 * process beside; flows are TCP's, between 16 pairs of hosts across the racks, in the given number. A case whose
 * round trips alone take longer than LIMIT_S is left out.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/minmax.h"
#include "common/units.h"
#include "operator/devices/devices.h"
#include "operator/tracer/tracer.h"
#include "scenario/scenario.h"

#define LIMIT_S 60.0
#define PROTOCOL_TCP 6
#define FIRST_PORT 1024u /* lower ports are not a client's */
#define HOPS 3           /* switches on a path across the racks */
#define GREETING_RTTS 2

static const char testbed[] = "topology = { kind = \"dual-tor\"; hosts = 16; hosts_per_rack = 8; nics = 2; nic_ports = 2; "
			      "leaves_per_rack = 2; spines = 4; parallel = 4; rate = \"100Gbps\"; delay = \"1us\"; };\n"
			      "flows = ( { src = \"h0\"; dst = \"h8\"; bytes = \"1kB\"; sport = 1; } );\n";

/* A tracing method: a column of the table. */
static const struct method {
	const char *name;
	enum tracer_connections connections;
	uint32_t threads, batch;
} methods[] = {
	{ "ad-hoc", TRACER_AD_HOC, 1, 1 },      { "persistent", TRACER_PERSISTENT, 1, 1 },
	{ "2 threads", TRACER_PARALLEL, 2, 1 }, { "4 threads", TRACER_PARALLEL, 4, 1 },
	{ "8 threads", TRACER_PARALLEL, 8, 1 }, { "8 threads, batch 1000", TRACER_PARALLEL, 8, 1000 },
};

static const uint32_t flow_counts[] = { 2, 8, 32, 128, 512, 2048, 8192, 32768, 100000 };
static const uint64_t rtts_us[] = { 0, 100, 1000, 10000 }; /* of the second table */

#define METHODS ARRAY_LEN(methods)
#define FEW_FLOWS 128u

struct trace_row {
	uint32_t flows;
	uint64_t rtt_us;
	double s[METHODS]; /* the best run's; negative: left out */
};

/* Flow i of all: pairs take turns. */
struct host_flows_of {
	const struct topo *topo;
	uint32_t host, flows; /* index among hosts; of all pairs */
};

static uint32_t
flow_count(void *ctx)
{
	const struct host_flows_of *of = ctx;

	return of->flows / of->topo->nhosts + (of->host < of->flows % of->topo->nhosts);
}

static bool
flow_get(void *ctx, uint32_t i, struct swm_flow *flow)
{
	const struct host_flows_of *of = ctx;
	uint32_t ports = UINT16_MAX - FIRST_PORT, half = of->topo->nhosts / 2;
	uint32_t src = of->topo->hosts[of->host], dst = of->topo->hosts[(of->host + half) % of->topo->nhosts];

	*flow = (struct swm_flow){
		.src_ip = topo_host_ip(of->topo, src, 0),
		.dst_ip = topo_host_ip(of->topo, dst, 0),
		.sport = (uint16_t)(FIRST_PORT + i % ports),
		.dport = (uint16_t)(5201 + i / ports),
		.protocol = PROTOCOL_TCP,
		.nic = (uint16_t)(i % of->topo->nodes[src].nports),
		.job = SWM_ANY,
	};
	return true;
}

/* The time of the round trips alone. */
static double
least_s(const struct method *method, uint32_t flows, uint64_t rtt_us)
{
	double trips = method->connections == TRACER_AD_HOC ? HOPS * (1 + GREETING_RTTS) : HOPS;

	return (double)(flows + method->threads * method->batch - 1) / (method->threads * method->batch) * trips *
	       (double)rtt_us / 1e6;
}

static int
run_method(const struct tracer_config *common, const struct method *method, int repeats, struct trace_row *row, size_t at,
	   struct err *err)
{
	struct tracer_config config = *common;
	struct tracer_result result;
	int ret = 0;

	config.connections = method->connections;
	config.threads = method->threads;
	config.batch = method->batch;
	row->s[at] = -1;
	for (int run = 0; run < repeats && least_s(method, row->flows, row->rtt_us) <= LIMIT_S; run++) {
		double s;

		ret = tracer_run(&config, &result, err);
		if (ret < 0)
			return ret;
		s = (double)result.wall_ns / 1e9;
		for (uint32_t f = 0; ret == 0 && f < result.count; f++)
			if (result.flows[f].walk.state != WALK_ARRIVED)
				ret = err_set(err, -EIO, "flow %u was not traced: %s", f,
					      topo_walk_texts[result.flows[f].walk.state]);
		if (ret == 0 && (result.count != row->flows || result.nsilent != 0))
			ret = err_set(err, -EIO, "%u of %u flows were found", result.count, row->flows);
		tracer_result_fini(&result);
		if (ret < 0)
			return ret;
		row->s[at] = row->s[at] < 0 || s < row->s[at] ? s : row->s[at];
	}
	return 0;
}

static int
run_row(const char *dir, struct scenario *scenario, int repeats, struct trace_row *row, struct err *err)
{
	const struct topo *topo = scenario->topo;
	struct host_flows *flows = calloc(topo->nnodes, sizeof(*flows));
	struct host_flows_of *of = calloc(topo->nhosts, sizeof(*of));
	const struct standing_config config = { .scenario = scenario,
						.dir = dir,
						.at_ps = TIME_NEVER,
						.rtt_ns = row->rtt_us * 1000,
						.greeting_rtts = GREETING_RTTS,
						.flows = flows };
	const struct tracer_config tracer = { .topo = topo,
					      .dir = dir,
					      .sources = topo->hosts,
					      .nsources = topo->nhosts,
					      .filter = { .job = SWM_ANY },
					      .processes = 1,
					      .timeout_ns = 30000000000 };
	struct standing *standing = NULL;
	int ret = flows != NULL && of != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (uint32_t h = 0; ret == 0 && h < topo->nhosts; h++) {
		of[h] = (struct host_flows_of){ topo, h, row->flows };
		flows[topo->hosts[h]] = (struct host_flows){ &of[h], flow_count, flow_get };
	}
	if (ret == 0 && (standing = standing_open(&config, err)) == NULL)
		ret = -errno;
	if (ret == 0)
		ret = standing_start(standing, err);
	for (size_t i = 0; ret == 0 && i < METHODS; i++)
		ret = run_method(&tracer, &methods[i], repeats, row, i, err);
	standing_close(standing);
	free(flows);
	free(of);
	return ret;
}

static void
print_table(const char *name, const struct trace_row *rows, size_t count, bool by_rtt)
{
	struct libscols_table *table = scols_new_table();
	char text[32];

	scols_table_new_column(table, by_rtt ? "round trip" : "flows", 0, SCOLS_FL_RIGHT);
	for (size_t i = 0; i < METHODS; i++)
		scols_table_new_column(table, methods[i].name, 0, SCOLS_FL_RIGHT);
	scols_table_new_column(table, "8 over 2 threads", 0, SCOLS_FL_RIGHT);
	for (size_t r = 0; r < count; r++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		snprintf(text, sizeof(text), by_rtt ? "%.1f ms" : "%.0f",
			 by_rtt ? (double)rows[r].rtt_us / 1e3 : (double)rows[r].flows);
		scols_line_set_data(line, 0, text);
		for (size_t i = 0; i < METHODS; i++) {
			snprintf(text, sizeof(text), rows[r].s[i] < 0 ? "-" : "%.3f s", rows[r].s[i]);
			scols_line_set_data(line, 1 + i, text);
		}
		snprintf(text, sizeof(text), rows[r].s[2] < 0 || rows[r].s[4] < 0 ? "-" : "%.2f",
			 rows[r].s[2] / rows[r].s[4]);
		scols_line_set_data(line, 1 + METHODS, text);
	}
	printf("%s\n", name);
	scols_print_table(table);
	scols_unref_table(table);
	fflush(stdout);
}

static json_t *
rows_json(const struct trace_row *rows, size_t count)
{
	json_t *list = json_array();

	for (size_t r = 0; r < count; r++) {
		json_t *row = json_pack("{s:i, s:I}", "flows", rows[r].flows, "rtt_us", (json_int_t)rows[r].rtt_us);

		for (size_t i = 0; i < METHODS; i++)
			json_object_set_new(row, methods[i].name, rows[r].s[i] < 0 ? json_null() : json_real(rows[r].s[i]));
		json_array_append_new(list, row);
	}
	return list;
}

/* @return the testbed's scenario, NULL with err and errno */
static struct scenario *
load(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	const struct scenario_options options = { .path = path };
	FILE *file;

	snprintf(path, sizeof(path), "%s/testbed.cfg", dir);
	file = fopen(path, "w");
	if (file == NULL || fputs(testbed, file) < 0 || fclose(file) != 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	return scenario_load(&options, err);
}

int
bench_trace(const char *dir, const struct bench_options *options, struct err *err)
{
	struct trace_row by_flows[ARRAY_LEN(flow_counts)] = { { 0 } }, by_rtt[ARRAY_LEN(rtts_us)] = { { 0 } };
	struct scenario *scenario = load(dir, err);
	int ret = scenario != NULL ? 0 : -EINVAL;
	json_t *all;

	for (size_t r = 0; ret == 0 && r < ARRAY_LEN(rtts_us); r++) {
		by_rtt[r] = (struct trace_row){ .flows = FEW_FLOWS, .rtt_us = rtts_us[r] };
		ret = run_row(dir, scenario, options->repeats, &by_rtt[r], err);
	}
	if (ret == 0 && !options->json)
		print_table("128 flows, by the round trip of the management network", by_rtt, ARRAY_LEN(by_rtt), true);
	for (size_t r = 0; ret == 0 && r < ARRAY_LEN(flow_counts); r++) {
		by_flows[r] = (struct trace_row){ .flows = flow_counts[r], .rtt_us = 1000 };
		ret = run_row(dir, scenario, options->repeats, &by_flows[r], err);
	}
	if (ret == 0 && !options->json)
		print_table("By flows, at a round trip of 1 ms", by_flows, ARRAY_LEN(by_flows), false);
	scenario_destroy(scenario);
	if (ret < 0 || !options->json)
		return ret;
	all = json_pack("{s:o, s:o}", "by_rtt", rows_json(by_rtt, ARRAY_LEN(by_rtt)), "by_flows",
			rows_json(by_flows, ARRAY_LEN(by_flows)));
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
	return 0;
}
