/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/forward/forward.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/outfile.h"
#include "common/sertable.h"
#include "common/units.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/pcapng.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "dpswitch/edge/port/port.h"
#include "dpswitch/edge/port/port_round.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/lcore/launch.h"
#include "dpswitch/lcore/telemetry.h"
#include "dpswitch/pipeline/switch.h"
#include "workload/plan.h"

/* Counters at a point in time. */
struct mark {
	uint64_t cpu_ns, wall_ns, packets, windows;
};

struct forward {
	struct scenario *scenario;
	const struct forward_options *options;
	struct edge *edge;
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches; /* [nnodes] */
	struct node **hosts;  /* [nnodes] the two of them */
	struct port **ports;  /* [2 * npairs] in and out of each flow */
	uint32_t npairs;
	struct port_round round;   /* where frames go round: due at the source, sent by the sink */
	struct fault_env faults;   /* those of the scenario act */
	struct counters *counters; /* for DPDK's telemetry */
	struct pacer pacer;
	struct probe *probe;
	uint8_t frame[FRAME_MAX_BYTES]; /* made last: the first flow's */
	struct mark begin, end;
	bool warm;
};

static struct fabric_hooks forward_hooks(struct forward *f);

/* Ingress and egress ports of the frames. */

#define REPEATED 64              /* frames in the file that is repeated */
#define SINK_MBUFS 511           /* it makes no frames */
#define PROBE_INTERVAL_NS 300000 /* no multiple of a window */

/* A flow's frame of the size wanted: RC SEND ONLY, as small as the headers allow or padded. */
static int
make_frame(struct forward *f, const struct flow *flow, struct err *err)
{
	const struct pkt_message message = { 0 };
	uint32_t size_bytes = f->options->frame_bytes;
	struct pkt p = {
		.type = PKT_DATA, .opcode = ROCE_RC_SEND_ONLY, .flags = PKT_LAST, .prio = flow->prio, .ttl = PKT_TTL_INIT
	};
	struct frame frame;

	p.payload_bytes = (uint16_t)((size_bytes - FORWARD_LEAST_BYTES) & ~3u);
	frame_from_pkt(&frame, &p, flow, &message, false);
	return frame_build(&frame, f->frame, sizeof(f->frame)) != 0 ? 0
								    : err_set(err, -EINVAL, "no frame of %u B", size_bytes);
}

static int
write_frames(const struct forward *f, const char *path, struct err *err)
{
	struct pcapng *file = pcapng_create(path, "rocelab", "what the source host sends, again and again");

	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	pcapng_interface(file, "source", "source", 0, 0);
	for (uint32_t i = 0; i < REPEATED; i++)
		pcapng_frame(file, 0, PCAPNG_OUTBOUND, i, f->frame, f->options->frame_bytes, f->options->frame_bytes);
	return pcapng_destroy(file) == 0 ? 0 : err_set(err, -EIO, "%s: cannot be written", path);
}

/* The first flow's file is frames.pcap: other forwarders are measured with it too. */
static int
open_files(struct forward *f, uint32_t pair, const struct port_config ends[2], struct err *err)
{
	char pcap[PATH_MAX - 64], devargs[PATH_MAX], number[16] = "";
	int ret;

	if (pair != 0)
		snprintf(number, sizeof(number), "%u", pair);
	snprintf(pcap, sizeof(pcap), "%s/frames%s.pcap", f->options->dir, number);
	ret = write_frames(f, pcap, err);
	if (ret < 0)
		return ret;
	snprintf(devargs, sizeof(devargs), "net_pcap%u,rx_pcap=%s,infinite_rx=1", pair, pcap);
	f->ports[2 * pair] = port_ethdev_create(&ends[0], devargs, err);
	snprintf(devargs, sizeof(devargs), "net_null%u,no-rx=1", pair);
	f->ports[2 * pair + 1] = port_ethdev_create(&ends[1], devargs, err);
	return 0;
}

static int
open_probes(struct forward *f, const struct port_config ends[2], struct err *err)
{
	f->probe = calloc(1, sizeof(*f->probe));
	if (f->probe == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	f->probe->frame = f->frame;
	f->probe->frame_bytes = f->options->frame_bytes;
	/* Behind the headers, or in the padding of the smallest frames' ICRC, which is not checked here. */
	f->probe->stamp_at = f->options->frame_bytes - sizeof(uint64_t);
	f->probe->interval_ns = PROBE_INTERVAL_NS;
	f->ports[0] = port_probe_create(&ends[0], f->probe, true, err);
	f->ports[1] = port_probe_create(&ends[1], f->probe, false, err);
	return 0;
}

static int
forward_open_ports(struct forward *f, struct err *err)
{
	int ret = 0;

	f->ports = calloc(2 * (size_t)f->npairs, sizeof(*f->ports));
	if (f->ports == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	if (f->npairs != 1 && (f->options->goes_round || f->options->paced))
		return err_set(err, -EINVAL, "%s: only one flow, or one frame at a time", f->scenario->name);
	for (uint32_t i = f->npairs; ret == 0 && i-- > 0;) {
		char source[PORT_MAX_NAME], sink[PORT_MAX_NAME];
		const struct port_config ends[2] = { { .name = source }, { .name = sink, .mbufs = SINK_MBUFS } };

		snprintf(source, sizeof(source), "source%u", i);
		snprintf(sink, sizeof(sink), "sink%u", i);
		ret = make_frame(f, &f->scenario->plan->flows.flows[i], err);
		if (ret == 0 && f->options->paced)
			ret = open_probes(f, ends, err);
		else if (ret == 0 && f->options->goes_round)
			ret = port_round_init(&f->round, f->options->round, ends, f->options->dir, f->frame,
					      f->options->frame_bytes, err);
		else if (ret == 0)
			ret = open_files(f, i, ends, err);
		if (ret == 0 && f->options->goes_round)
			memcpy(f->ports, f->round.ports, sizeof(f->round.ports));
		if (ret == 0 && (f->ports[2 * i] == NULL || f->ports[2 * i + 1] == NULL))
			ret = -EIO;
	}
	return ret;
}

static void
forward_close_ports(struct forward *f)
{
	if (f->options->goes_round)
		port_round_fini(&f->round);
	for (uint32_t i = 0; f->ports != NULL && !f->options->goes_round && i < 2 * f->npairs; i++)
		port_close(f->ports[i]);
	free(f->ports);
}

/* Fabric, switches and hosts. */

#define FOREVER_PS (1000000 * PS_PER_S)
#define SPARES 16

/* The counters show whether faults acted. */
static bool
crosses(void *run, uint32_t port)
{
	(void)run;
	(void)port;
	return true;
}

static uint64_t
held_ps(void *run, uint32_t port)
{
	(void)run;
	(void)port;
	return FAULT_UNSEEN;
}

static int
make_fabric(struct forward *f, struct err *err)
{
	const struct scenario *sc = f->scenario;
	struct fabric_config config = {
		.topo = sc->topo,
		.pipeline_ps = sc->timing.pipeline_ps,
		.epoch_ps = sc->telemetry.epoch_ps,
		.limit_ps = FOREVER_PS,
		.stall_ps = FOREVER_PS,
		.seed = 1,
		.min_frame_bytes = PAUSE_WIRE_BYTES,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = f->options->lcores,
		.bodies = edge_bodies(f->edge),
	};

	f->fabric = fabric_create(&config, err);
	if (f->fabric == NULL)
		return -errno;
	f->faults = (struct fault_env){ .fabric = f->fabric, .topo = sc->topo, .crosses = crosses, .held_ps = held_ps };
	f->fabric->hooks = forward_hooks(f);
	f->switch_config = (struct switch_config){
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.routes = sc->routes,
		.healthy_routes = sc->routes,
		.sertables = &f->sertables,
		.setup = &sc->switches,
		.telemetry = { .epoch_ps = sc->telemetry.epoch_ps, .kept = sc->epochs_kept },
		.seed = 1,
		.hash_seed = 1,
		.window_ps = f->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.mtu_bytes = sc->mtu_frame_bytes,
		.min_frame_bytes = PAUSE_WIRE_BYTES,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.telemetry_off = !sc->telemetry.enabled,
	};
	return 0;
}

/* @return the port of a host; NULL: it has none */
static struct port *
port_of(const struct forward *f, uint32_t node)
{
	for (uint32_t i = 0; i < f->npairs; i++) {
		const struct flow *flow = &f->scenario->plan->flows.flows[i];

		if (flow->src_node == node || flow->dst_node == node)
			return f->ports[2 * i + (flow->dst_node == node)];
	}
	return NULL;
}

/* Hosts are ports here: nothing can be done to them. @return 0, or -EINVAL with err */
static int
check_faults(const struct scenario *sc, struct err *err)
{
	for (uint32_t i = 0; i < sc->faults.count; i++) {
		const struct fault_ops *const *ops = switch_faults;

		while (*ops != NULL && *ops != sc->faults.faults[i].ops)
			ops++;
		if (*ops == NULL)
			return err_set(err, -EINVAL,
				       "%s: faults.[%u]: \"%s\" is of hosts, which are ports here: leave it out", sc->name,
				       i, sc->faults.faults[i].ops->kind);
	}
	return 0;
}

/* Every host is at one end of one flow. */
static bool
makes_pairs(const struct forward *f)
{
	const struct scenario *sc = f->scenario;
	uint32_t ends = 0;

	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		uint32_t flows = 0;

		for (uint32_t k = 0; sc->topo->nodes[i].kind == TOPO_HOST && k < f->npairs; k++)
			flows += sc->plan->flows.flows[k].src_node == i || sc->plan->flows.flows[k].dst_node == i;
		ends += flows == 1;
	}
	return ends == sc->topo->nhosts && ends == 2 * f->npairs && f->npairs != 0;
}

static int
make_nodes(struct forward *f, struct err *err)
{
	const struct topo *topo = f->scenario->topo;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct kernel_host_nic_config nic = { .port = port_of(f, i) };
		const struct kernel_host_config host = {
			.node = i,
			.topo = topo,
			.nics = &nic,
			.edge = f->edge,
			.sertables = &f->sertables,
			.telemetry = f->switch_config.telemetry_off ? NULL : &f->switch_config.telemetry,
			.window_ps = f->fabric->window_ps,
			.mtu_bytes = f->switch_config.mtu_bytes,
			.min_frame_bytes = PAUSE_WIRE_BYTES,
		};

		if (topo->nodes[i].kind == TOPO_SWITCH) {
			f->switches[i] = switch_create(&f->switch_config, i, err);
			if (f->switches[i] == NULL)
				return -errno;
			fabric_attach(f->fabric, &f->switches[i]->node);
			continue;
		}
		f->hosts[i] = kernel_host_create(&host, err);
		if (f->hosts[i] == NULL)
			return -errno;
		f->hosts[i]->ops->expect_work(f->hosts[i], true);
		fabric_attach(f->fabric, f->hosts[i]);
	}
	return fabric_partition(f->fabric, err);
}

static int
forward_build(struct forward *f, struct err *err)
{
	struct scenario *sc = f->scenario;
	const struct edge_config edge = {
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.switches = f->switches,
		.idle_ps = 2 * sc->epochs_kept * sc->telemetry.epoch_ps,
		.data_prio = sc->roce.data_prio,
		.measured_prio = sc->roce.measured_prio,
		.lossy_prio = 1,
		.lossless = (uint8_t)(1u << sc->roce.data_prio),
	};
	int ret;

	f->npairs = sc->plan->flows.count;
	if (!makes_pairs(f))
		return err_set(err, -EINVAL, "%s: forwarding needs a flow for every two hosts", sc->name);
	if (sc->host.ip_version != 4)
		return cfg_fail(&sc->host.where, "ip_version", err, "6: what ports forward here is IPv4: leave it out");
	ret = check_faults(sc, err);
	if (ret < 0)
		return ret;
	if (f->switches == NULL || f->hosts == NULL || flow_table_reserve(&sc->plan->flows, SPARES) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	ret = forward_open_ports(f, err);
	if (ret < 0)
		return ret;
	f->edge = edge_create(&edge, err);
	if (f->edge == NULL)
		return -errno;
	ret = make_fabric(f, err);
	if (ret == 0)
		ret = make_nodes(f, err);
	if (ret < 0)
		return ret;
	f->counters = counters_create(sc->topo, f->switches, NULL, sc->routes, err);
	return f->counters != NULL ? telemetry_open(f->counters, err) : -errno;
}

static void
forward_unbuild(struct forward *f)
{
	telemetry_close();
	counters_destroy(f->counters);
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++) {
		if (f->hosts != NULL)
			node_destroy(f->hosts[i]);
		if (f->switches != NULL && f->switches[i] != NULL)
			node_destroy(&f->switches[i]->node);
	}
	fabric_destroy(f->fabric);
	edge_destroy(f->edge);
	forward_close_ports(f);
	sertables_fini(&f->sertables);
	free(f->switches);
	free(f->hosts);
	free(f->probe);
}

/* The run. */

#define WARM_UP_NS 300000000ULL

static void
take_mark(const struct forward *f, struct mark *mark)
{
	*mark = (struct mark){ .cpu_ns = clock_cpu_ns(), .wall_ns = clock_now_ns(), .windows = f->fabric->window.index };
	for (uint32_t i = 0; i < f->npairs; i++)
		mark->packets += f->ports[2 * i + 1]->count.tx_packets;
}

static uint64_t
elapsed_ns(const struct forward *f)
{
	return f->options->paced ? clock_now_ns() - f->begin.wall_ns : clock_cpu_ns() - f->begin.cpu_ns;
}

/* The end, by the clock. The first moments are not counted. */
static bool
hook_interrupted(void *ctx)
{
	struct forward *f = ctx;
	uint64_t ns = elapsed_ns(f);

	if (!f->warm && ns >= WARM_UP_NS) {
		f->warm = true;
		take_mark(f, &f->begin);
		if (f->probe != NULL)
			f->probe->taken = 0;
	}
	return f->warm && (double)elapsed_ns(f) >= f->options->seconds * 1e9;
}

/* Records of telemetry without a consumer. */
static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct forward *f = ctx;

	counters_serve(f->counters, now_ps);
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++)
		f->fabric->nodes[i]->records.used_bytes = 0;
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	return pacer_wait(&((struct forward *)ctx)->pacer, earliest_ps, start_ps);
}

static bool
hook_pending(void *ctx)
{
	const struct forward *f = ctx;

	counters_serve(f->counters, f->fabric->window.end_ps);
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++)
		if (f->hosts[i] != NULL && kernel_host_pending(f->hosts[i]))
			return true;
	return false;
}

static void
hook_arriving(void *ctx, const struct window *window)
{
	(void)window;
	port_round_turn(&((struct forward *)ctx)->round);
}

static uint64_t
hook_next_change(void *ctx, uint64_t now_ps)
{
	return faults_next_ps(&((struct forward *)ctx)->scenario->faults, now_ps);
}

static void
hook_change(void *ctx, uint64_t now_ps)
{
	struct forward *f = ctx;

	faults_apply(&f->scenario->faults, &f->faults, now_ps);
}

/* forward.c: for the fabric */
static struct fabric_hooks
forward_hooks(struct forward *f)
{
	return (struct fabric_hooks){
		.ctx = f,
		.pace = f->options->paced ? hook_pace : NULL,
		.next_change_ps = hook_next_change,
		.change = hook_change,
		.collect = hook_collect,
		.arriving = f->options->goes_round ? hook_arriving : NULL,
		.interrupted = hook_interrupted,
	};
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double
quantile_us(const struct probe *probe, double share)
{
	return probe->taken != 0 ? probe->taken_ns[(uint32_t)(share * (probe->taken - 1))] / 1e3 : 0;
}

static const char *const drop_names[] = { REC_DROPS(ENUM_NAME) };
static const char *const ending_names[] = { REC_ENDINGS(ENUM_NAME) };

/* The invariants, and the counters. */
static void
write_account(const struct forward *f, FILE *file)
{
	uint64_t dropped[REC_DROP_REASONS] = { 0 }, born = 0, ended = 0, order_errors = 0, pause_errors = 0, pauses = 0;
	struct fabric_totals totals;

	fabric_sum(f->fabric, &totals);
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++) {
		const struct node *node = f->fabric->nodes[i];
		uint64_t bytes = 0;

		born += node->count.born_packets;
		ended += node->count.consumed_packets + node->count.dropped_packets;
		order_errors += node->count.order_errors;
		pause_errors += node->count.pause_errors;
		node->ops->held(node, &ended, &bytes);
		for (uint16_t port = 0; port < node->nports; port++)
			for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
				dropped[reason] += node->ops->dropped(node, port, reason);
		if (f->hosts[i] != NULL) {
			struct kernel_host_counters sum;

			kernel_host_sum(f->hosts[i], &sum);
			pauses += sum.pauses_received;
		}
	}
	fprintf(file,
		", \"born\": %" PRIu64 ", \"found\": %" PRIu64 ", \"lost_on_cables\": %" PRIu64
		", \"order_errors\": %" PRIu64 ", \"pause_errors\": %" PRIu64 ", \"pauses_at_hosts\": %" PRIu64
		", \"end_reason\": \"%s\", \"dropped\": {",
		born, ended + totals.in_flight_packets + totals.lost_packets, totals.lost_packets, order_errors,
		pause_errors, pauses, ending_names[f->fabric->end_reason]);
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		fprintf(file, "%s \"%s\": %" PRIu64, reason != 0 ? "," : "", drop_names[reason], dropped[reason]);
	fputs(" }", file);
}

static int
write_results(struct forward *f, struct err *err)
{
	const struct mark *begin = &f->begin, *end = &f->end;
	struct outfile out;

	if (outfile_open(&out, f->options->dir, "forward.json", err) < 0)
		return -EIO;
	fprintf(out.file,
		"{ \"packets\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"wall_ns\": %" PRIu64 ", \"windows\": %" PRIu64
		", \"window_us\": %.3f",
		end->packets - begin->packets, end->cpu_ns - begin->cpu_ns, end->wall_ns - begin->wall_ns,
		end->windows - begin->windows, (double)f->fabric->window_ps / PS_PER_US);
	if (f->probe != NULL) {
		qsort(f->probe->taken_ns, f->probe->taken, sizeof(f->probe->taken_ns[0]), compare);
		fprintf(out.file, ", \"samples\": %u, \"p50_us\": %.3f, \"p99_us\": %.3f, \"late_windows\": %" PRIu64,
			f->probe->taken, quantile_us(f->probe, 0.5), quantile_us(f->probe, 0.99), f->pacer.late_windows);
	}
	write_account(f, out.file);
	fputs(" }\n", out.file);
	return outfile_close(&out, 0, err);
}

int
forward_run(struct scenario *scenario, const struct forward_options *options, struct err *err)
{
	struct forward f = {
		.scenario = scenario,
		.options = options,
		.switches = calloc(scenario->topo->nnodes, sizeof(struct sw *)),
		.hosts = calloc(scenario->topo->nnodes, sizeof(struct node *)),
	};
	int ret = forward_build(&f, err);

	if (ret == 0) {
		pacer_init(&f.pacer, clock_now_ns(), f.fabric->window_ps, true);
		f.pacer.pending = hook_pending;
		f.pacer.ctx = &f;
		take_mark(&f, &f.begin);
		ret = lcore_run(f.fabric, err);
		counters_end(f.counters, f.fabric->window.end_ps);
		take_mark(&f, &f.end);
	}
	if (ret == 0)
		ret = write_results(&f, err);
	forward_unbuild(&f);
	return ret;
}
