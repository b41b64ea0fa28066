/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench agent: agents of R-Pingmesh on hosts with 8 RNICs, at the paper's times, with a connection of a job
 * an RNIC. Their devices take every datagram and give it to the other end some us later, so that the measured time is
 * the agents', with the small cost of the devices.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/minmax.h"
#include "common/outfile.h"
#include "common/record/frame.h"
#include "common/units.h"
#include "operator/controller/controller.h"
#include "rxe-hosts/probe/agent.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

#define HOSTS 8
#define RNICS 8
#define IN_FLIGHT 65536u /* datagrams, a power of two */
#define LEAVES_PS (1 * PS_PER_US)
#define ARRIVES_PS (10 * PS_PER_US)
#define WARM_PS (10 * PS_PER_S) /* until all lists are there and traced once */
#define MEASURED_PS (20 * PS_PER_S)
#define WIRE_BYTES 142 /* of a probe, or an ACK, in time of the link */

/* A datagram in flight: it leaves, then arrives. */
struct crossing {
	uint64_t posted_ps;
	uint32_t from;
	struct datagram datagram;
	uint8_t contents[DEVICE_UD_BYTES];
};

struct bench;

struct host {
	struct device device; /* first: the ops get this pointer */
	struct bench *bench;
	uint32_t index;
	struct probe_agent *agent;
	struct recbuf records;
	uint64_t next_ps;
};

struct bench {
	struct scenario *scenario;
	struct controller *controller;
	struct host hosts[HOSTS];
	struct crossing *crossings;     /* [IN_FLIGHT] */
	uint32_t posted, left, arrived; /* counted */
	uint64_t now_ps, bytes;
	int64_t qpns;
};

struct bench_result {
	double cpu_percent, datagrams_per_s, wire_bps, upload_bps; /* of a host; of an RNIC; of an RNIC; of a host */
	size_t memory_bytes;                                       /* of a host */
};

/* ---- the device ---- */

static int
post_datagram(struct device *device, const struct datagram *datagram)
{
	const struct host *host = (const void *)device;
	struct bench *bench = host->bench;
	struct crossing *c = &bench->crossings[bench->posted % IN_FLIGHT];

	if (bench->posted - bench->arrived == IN_FLIGHT)
		return -ENOSPC;
	*c = (struct crossing){ .posted_ps = bench->now_ps, .from = host->index, .datagram = *datagram };
	memcpy(c->contents, datagram->contents, datagram->bytes);
	c->datagram.contents = c->contents;
	bench->posted++;
	return 0;
}

static int64_t
ud_open(struct device *device, uint16_t nic, uint32_t receives)
{
	(void)nic;
	(void)receives;
	return ++((struct host *)(void *)device)->bench->qpns;
}

static void
ud_receive(struct device *device, uint16_t nic)
{
	(void)device;
	(void)nic;
}

static uint64_t
now(const struct device *device)
{
	return ((const struct host *)(const void *)device)->bench->now_ps;
}

static struct recbuf *
records(struct device *device)
{
	return &((struct host *)(void *)device)->records;
}

static const struct device_ops ops = {
	.post_datagram = post_datagram, .ud_open = ud_open, .ud_receive = ud_receive, .now = now, .records = records
};

/* ---- time ---- */

static struct host *
host_of(struct bench *bench, uint32_t node)
{
	for (uint32_t i = 0; i < HOSTS - 1; i++)
		if (bench->scenario->topo->hosts[i] == node)
			return &bench->hosts[i];
	return &bench->hosts[HOSTS - 1];
}

/* Something happened there. @return 0 or -ENOMEM */
static int
settle(struct bench *bench, struct host *host)
{
	struct probe_request request;
	int ret = 0;

	while (ret == 0 && probe_agent_asks(host->agent, &request)) {
		struct controller_reply reply =
			controller_handle(bench->controller, request.bytes, request.size, request.arrives_ps);

		ret = probe_agent_reply(host->agent, reply.bytes, reply.size);
	}
	if (host->records.used_bytes != 0) {
		bench->bytes += recframe_bytes_of(host->records.data, host->records.used_bytes);
		host->records.used_bytes = 0;
	}
	host->next_ps = probe_agent_next_ps(host->agent);
	return ret;
}

static int
leave(struct bench *bench)
{
	struct crossing *c = &bench->crossings[bench->left++ % IN_FLIGHT];

	if (!c->datagram.signaled)
		return 0;
	c->datagram.left_ps = bench->now_ps;
	probe_agent_departed(bench->hosts[c->from].agent, &c->datagram);
	return settle(bench, &bench->hosts[c->from]);
}

static int
arrive(struct bench *bench)
{
	const struct crossing *c = &bench->crossings[bench->arrived++ % IN_FLIGHT];
	const struct flow *flow = &bench->scenario->plan->flows.flows[c->datagram.flow];
	struct host *to = host_of(bench, c->datagram.reply ? flow->src_node : flow->dst_node);

	probe_agent_received(to->agent, &c->datagram, bench->now_ps);
	return settle(bench, to);
}

/* Handles the next event, if it is before end_ps. @return 1; 0: there is none; -ENOMEM */
static int
step(struct bench *bench, uint64_t end_ps)
{
	const struct crossing *leaves = &bench->crossings[bench->left % IN_FLIGHT],
			      *arrives = &bench->crossings[bench->arrived % IN_FLIGHT];
	uint64_t leave_ps = bench->left != bench->posted ? leaves->posted_ps + LEAVES_PS : TIME_NEVER;
	uint64_t arrive_ps = bench->arrived != bench->left ? arrives->posted_ps + ARRIVES_PS : TIME_NEVER;
	struct host *first = &bench->hosts[0];
	int ret;

	for (uint32_t i = 1; i < HOSTS; i++)
		first = bench->hosts[i].next_ps < first->next_ps ? &bench->hosts[i] : first;
	if (min_u64(first->next_ps, min_u64(leave_ps, arrive_ps)) >= end_ps)
		return 0;
	if (leave_ps <= arrive_ps && leave_ps <= first->next_ps) {
		bench->now_ps = leave_ps;
		ret = leave(bench);
	} else if (arrive_ps <= first->next_ps) {
		bench->now_ps = arrive_ps;
		ret = arrive(bench);
	} else {
		bench->now_ps = first->next_ps;
		probe_agent_wake(first->agent, bench->now_ps);
		ret = settle(bench, first);
	}
	return ret < 0 ? ret : 1;
}

static int
run_until(struct bench *bench, uint64_t end_ps)
{
	int ret;

	while ((ret = step(bench, end_ps)) == 1)
		;
	return ret;
}

/* ---- hosts ---- */

static int
load(struct bench *bench, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	struct scenario_options options = { .path = path };
	struct outfile out;

	snprintf(path, sizeof(path), "%s/agent.cfg", dir);
	if (outfile_open_path(&out, path, err) < 0)
		return -EIO;
	fprintf(out.file,
		"topology = { kind = \"rail\"; hosts = %u; nics = %u; hosts_per_group = 4; spines = 4; };\n"
		"pingmesh = { enabled = true; duration = \"60s\"; };\ncollectives = (\n",
		HOSTS, RNICS);
	for (uint32_t rail = 1; rail <= RNICS; rail++)
		fprintf(out.file,
			"%s  { op = \"allreduce\"; algorithm = \"ring\"; bytes = \"1MB\"; ranks = [ \"h[0-%u]:%u\" ]; }",
			rail != 1 ? ",\n" : "", HOSTS - 1, rail);
	fputs("\n);\n", out.file);
	if (outfile_close(&out, 0, err) < 0)
		return -EIO;
	bench->scenario = scenario_load(&options, err);
	return bench->scenario != NULL ? 0 : -EINVAL;
}

static int
start_host(struct bench *bench, uint32_t index)
{
	const struct scenario *sc = bench->scenario;
	struct host *host = &bench->hosts[index];
	const struct probe_agent_config config = { .device = &host->device,
						   .topo = sc->topo,
						   .flows = &sc->plan->flows,
						   .node = sc->topo->hosts[index],
						   .seed = 1,
						   .service = true,
						   .traces = true };

	*host = (struct host){ .device.ops = &ops, .bench = bench, .index = index };
	recbuf_init(&host->records, config.node);
	host->agent = probe_agent_create(&config);
	if (host->agent == NULL || probe_agent_start(host->agent) != 0)
		return -ENOMEM;
	for (uint32_t f = 0; f < sc->plan->flows.count; f++)
		if (sc->plan->flows.flows[f].src_node == config.node && sc->plan->flows.flows[f].kind == FLOW_COLLECTIVE)
			probe_agent_connection(host->agent, f, 0, true, 0);
	return settle(bench, host);
}

static int
start(struct bench *bench, struct err *err)
{
	const struct scenario *sc = bench->scenario;
	const struct controller_config config = { .topo = sc->topo,
						  .table = sc->routes,
						  .store = REGISTRY_IN_MEMORY,
						  .times = sc->pinglists.times,
						  .seed = sc->pinglists.seed };
	int ret = controller_create(&config, &bench->controller, err);

	bench->crossings = calloc(IN_FLIGHT, sizeof(*bench->crossings));
	if (ret == 0 && bench->crossings == NULL)
		ret = err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; ret == 0 && i < HOSTS; i++)
		if (start_host(bench, i) != 0)
			ret = err_set(err, -ENOMEM, "out of memory for an agent");
	return ret;
}

static void
bench_fini(struct bench *bench)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		probe_agent_destroy(bench->hosts[i].agent);
		recbuf_fini(&bench->hosts[i].records);
	}
	controller_destroy(bench->controller);
	scenario_destroy(bench->scenario);
	free(bench->crossings);
}

/* ---- measuring ---- */

static int
measure(struct bench *bench, struct bench_result *result, bool first, struct err *err)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	uint64_t from_ns, bytes;
	uint32_t posted;
	double percent;
	int ret = start(bench, err);

	if (ret == 0)
		ret = run_until(bench, WARM_PS);
	result->memory_bytes =
		(mallinfo2().uordblks + mallinfo2().hblkhd - before - IN_FLIGHT * sizeof(*bench->crossings)) / HOSTS;
	from_ns = clock_cpu_ns();
	bytes = bench->bytes;
	posted = bench->posted;
	if (ret == 0)
		ret = run_until(bench, WARM_PS + MEASURED_PS);
	if (ret < 0)
		return err->text[0] != '\0' ? ret : err_set(err, ret, "out of memory for an agent");
	percent = 100.0 * (double)(clock_cpu_ns() - from_ns) * 1e3 / (double)MEASURED_PS / HOSTS;
	result->cpu_percent = first || percent < result->cpu_percent ? percent : result->cpu_percent;
	result->datagrams_per_s = (double)(bench->posted - posted) * PS_PER_S / MEASURED_PS / (HOSTS * RNICS);
	result->wire_bps = 8 * WIRE_BYTES * result->datagrams_per_s;
	result->upload_bps = 8.0 * (double)(bench->bytes - bytes) * PS_PER_S / MEASURED_PS / HOSTS;
	return 0;
}

static void
print(const struct bench_result *r, int repeats, bool json)
{
	if (json) {
		json_t *root = json_pack("{s:i, s:i, s:i, s:f, s:I, s:f, s:f, s:f}", "repeats", repeats, "hosts", HOSTS,
					 "rnics", RNICS, "cpu_percent", r->cpu_percent, "memory_bytes",
					 (json_int_t)r->memory_bytes, "datagrams_per_s", r->datagrams_per_s, "wire_bps",
					 r->wire_bps, "upload_bps", r->upload_bps);

		json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		putchar('\n');
		json_decref(root);
		return;
	}
	printf("An agent on a host with %u RNICs, at the paper's times, each with a connection that it traces:\n"
	       "  CPU              %.3f %% of a core (processor time, the best of %d runs)\n"
	       "  memory           %.1f MB, including the controller's share\n"
	       "  datagrams        %.0f a second that an RNIC sends: probes, ACKs, second ACKs, traceroutes\n"
	       "  on the wire      %.0f kbps an RNIC and direction\n"
	       "  to the analyzer  %.0f kbps a host, of records in frames\n",
	       RNICS, r->cpu_percent, repeats, (double)r->memory_bytes / 1e6, r->datagrams_per_s, r->wire_bps / 1e3,
	       r->upload_bps / 1e3);
}

int
bench_agent(const char *dir, const struct bench_options *options, struct err *err)
{
	struct bench_result result = { 0 };
	int ret = 0;

	for (int i = 0; ret == 0 && i < options->repeats; i++) {
		struct bench *bench = calloc(1, sizeof(*bench));

		if (bench == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		ret = load(bench, dir, err);
		if (ret == 0)
			ret = measure(bench, &result, i == 0, err);
		bench_fini(bench);
		free(bench);
	}
	if (ret == 0)
		print(&result, options->repeats, options->json);
	return ret;
}
