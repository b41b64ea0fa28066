/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpswitch-forward: how fast, and how late, frames cross a scenario's switches between two hosts on external ports.
 * `rocelab bench realtime` starts it. How fast: net_pcap repeats a frame of the scenario's first flow, net_null takes what
 * comes out, windows follow each other as fast as the CPU allows. How late: in real time, one frame at a time.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/stdio_guard.h"
#include "common/units.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/external/external.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/pcapng.h"
#include "dpswitch/edge/port/port_probe.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/scenario/scenario_args.h"

#define REPEATED 64 /* frames in the file that is repeated */
#define WARM_UP_NS 300000000ULL
#define PROBE_INTERVAL_NS 300000 /* no multiple of a window */
#define FOREVER_PS (1000000 * PS_PER_S)
#define SPARES 16

#define MEMORY_MB 128

/* RC SEND ONLY without and with all that it may carry */
#define LEAST_FRAME_BYTES roce_frame_bytes(ROCE_RC_SEND_ONLY, 0)
#define MOST_FRAME_BYTES (LEAST_FRAME_BYTES + ROCE_MAX_PAYLOAD)

struct options {
	struct scenario_options scenario;
	const char *dir;      /* for frames.pcap and forward.json */
	uint32_t frame_bytes; /* without FCS */
	bool paced;           /* in real time: how late. Else as fast as can be: how fast */
	double seconds;       /* of processor time; paced: of time */
};

/* What had happened when. */
struct mark {
	uint64_t cpu_ns, wall_ns, packets, bytes, windows;
};

struct forward {
	struct scenario *scenario;
	const struct options *options;
	struct edge *edge;
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches;  /* [nnodes] */
	struct node **outside; /* [nnodes] the two hosts */
	struct port *ports[2];
	struct pacer pacer;
	struct probe *probe;
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t end_node; /* where frames come out */
	struct mark begin, end;
	bool warm;
};

static void
take_mark(const struct forward *f, struct mark *mark)
{
	*mark = (struct mark){
		.cpu_ns = clock_cpu_ns(),
		.wall_ns = clock_now_ns(),
		.packets = f->ports[1]->count.tx_packets,
		.bytes = f->ports[1]->count.tx_bytes,
		.windows = f->fabric->window.index,
	};
}

static uint64_t
elapsed_ns(const struct forward *f)
{
	return f->options->paced ? clock_now_ns() - f->begin.wall_ns : clock_cpu_ns() - f->begin.cpu_ns;
}

/* The end, by the clock. What the first moments cost is not counted. */
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

/* Records of telemetry that nobody asked for. */
static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct forward *f = ctx;

	(void)now_ps;
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

	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++)
		if (f->outside[i] != NULL && external_pending(f->outside[i]))
			return true;
	return false;
}

/* The flow's frame of the size wanted: RC SEND ONLY, as small as the headers allow or padded. */
static int
make_frame(struct forward *f, struct err *err)
{
	const struct pkt_message message = { 0 };
	uint32_t bytes = f->options->frame_bytes;
	struct pkt p = { .type = PKT_DATA,
			 .opcode = ROCE_RC_SEND_ONLY,
			 .flags = PKT_LAST,
			 .prio = f->scenario->plan->flows.flows[0].prio,
			 .ttl = PKT_TTL_INIT };
	struct frame frame;

	p.payload_bytes = (uint16_t)((bytes - LEAST_FRAME_BYTES) & ~3u);
	frame_from_pkt(&frame, &p, &f->scenario->plan->flows.flows[0], &message, false);
	return frame_build(&frame, f->frame, sizeof(f->frame)) != 0 ? 0 : err_set(err, -EINVAL, "no frame of %u B", bytes);
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

static int
open_ports(struct forward *f, struct err *err)
{
	const struct port_config in = { .name = "source" }, out = { .name = "sink", .mbufs = 511 };
	char pcap[PATH_MAX - 64], devargs[PATH_MAX];
	int ret;

	if (f->options->paced) {
		f->probe = calloc(1, sizeof(*f->probe));
		if (f->probe == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		f->probe->frame = f->frame;
		f->probe->frame_bytes = f->options->frame_bytes;
		/* Behind the headers, or in the padding of the smallest frames' ICRC: nobody looks here. */
		f->probe->stamp_at = f->options->frame_bytes - sizeof(uint64_t);
		f->probe->interval_ns = PROBE_INTERVAL_NS;
		f->ports[0] = port_probe_create(&in, f->probe, true, err);
		f->ports[1] = port_probe_create(&out, f->probe, false, err);
	} else {
		snprintf(pcap, sizeof(pcap), "%s/frames.pcap", f->options->dir);
		ret = write_frames(f, pcap, err);
		if (ret < 0)
			return ret;
		snprintf(devargs, sizeof(devargs), "net_pcap0,rx_pcap=%s,infinite_rx=1", pcap);
		f->ports[0] = port_ethdev_create(&in, devargs, err);
		f->ports[1] = port_ethdev_create(&out, "net_null0,no-rx=1", err);
	}
	return f->ports[0] != NULL && f->ports[1] != NULL ? 0 : -EIO;
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
		.lcores = 1,
		.bodies = edge_bodies(f->edge),
	};

	f->fabric = fabric_create(&config, err);
	if (f->fabric == NULL)
		return -errno;
	f->fabric->hooks = (struct fabric_hooks){
		.ctx = f,
		.pace = f->options->paced ? hook_pace : NULL,
		.collect = hook_collect,
		.interrupted = hook_interrupted,
	};
	f->switch_config = (struct switch_config){
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.routes = sc->routes,
		.healthy_routes = sc->routes,
		.sertables = &f->sertables,
		.params = &sc->sw,
		.pfc = &sc->pfc,
		.ecn = &sc->ecn,
		.telemetry = { .epoch_ps = sc->telemetry.epoch_ps, .kept = sc->epochs_kept },
		.seed = 1,
		.window_ps = f->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.mtu_bytes = sc->mtu_frame_bytes,
		.min_frame_bytes = PAUSE_WIRE_BYTES,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.telemetry_off = !sc->telemetry.enabled,
	};
	return 0;
}

static int
make_nodes(struct forward *f, struct err *err)
{
	const struct topo *topo = f->scenario->topo;
	uint32_t source = f->scenario->plan->flows.flows[0].src_node;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct external_nic_config nic = { .port = f->ports[i == source ? 0 : 1] };
		const struct external_config host = {
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
		f->outside[i] = external_host_create(&host, err);
		if (f->outside[i] == NULL)
			return -errno;
		f->outside[i]->ops->expect_work(f->outside[i], true);
		fabric_attach(f->fabric, f->outside[i]);
	}
	return fabric_partition(f->fabric, err);
}

static int
build(struct forward *f, struct err *err)
{
	struct scenario *sc = f->scenario;
	const struct edge_config edge = {
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.switches = f->switches,
		.idle_ps = 2 * sc->epochs_kept * sc->telemetry.epoch_ps,
		.data_prio = sc->roce.data_prio,
		.lossy_prio = 1,
		.lossless = (uint8_t)(1u << sc->roce.data_prio),
	};
	int ret;

	if (sc->topo->nhosts != 2 || sc->plan->flows.count == 0)
		return err_set(err, -EINVAL, "%s: forwarding needs two hosts and a flow between them", sc->name);
	if (f->switches == NULL || f->outside == NULL || flow_table_reserve(&sc->plan->flows, SPARES) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	ret = make_frame(f, err);
	if (ret == 0)
		ret = open_ports(f, err);
	if (ret < 0)
		return ret;
	f->edge = edge_create(&edge, err);
	if (f->edge == NULL)
		return -errno;
	ret = make_fabric(f, err);
	return ret == 0 ? make_nodes(f, err) : ret;
}

static void
tear_down(struct forward *f)
{
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++) {
		if (f->outside != NULL)
			node_destroy(f->outside[i]);
		if (f->switches != NULL && f->switches[i] != NULL)
			node_destroy(&f->switches[i]->node);
	}
	fabric_destroy(f->fabric);
	edge_destroy(f->edge);
	port_close(f->ports[0]);
	port_close(f->ports[1]);
	sertables_fini(&f->sertables);
	free(f->switches);
	free(f->outside);
	free(f->probe);
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
	fputs(" }\n", out.file);
	return outfile_close(&out, 0, err);
}

static int
forward(struct scenario *scenario, const struct options *options, struct err *err)
{
	struct forward f = {
		.scenario = scenario,
		.options = options,
		.switches = calloc(scenario->topo->nnodes, sizeof(struct sw *)),
		.outside = calloc(scenario->topo->nnodes, sizeof(struct node *)),
	};
	int ret = build(&f, err);

	if (ret == 0) {
		pacer_init(&f.pacer, clock_now_ns(), f.fabric->window_ps, true);
		f.pacer.pending = hook_pending;
		f.pacer.ctx = &f;
		take_mark(&f, &f.begin);
		fabric_run(f.fabric, 0);
		take_mark(&f, &f.end);
		ret = write_results(&f, err);
	}
	tear_down(&f);
	return ret;
}

static const struct argp_option option_table[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "out", 'o', "DIR", 0, "Where frames.pcap and forward.json go (default .)", 0 },
	{ "frame-bytes", 'f', "N", 0, "Size of the frames without FCS (default 60)", 0 },
	{ "seconds", 't', "S", 0, "How long (default 1)", 0 },
	{ "paced", 'p', NULL, 0, "In real time, one frame at a time: measure how late it comes out", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;

	switch (key) {
	case 'o':
		options->dir = arg;
		return 0;
	case 'f':
		options->frame_bytes = (uint32_t)args_number(state, "--frame-bytes", arg, ETH_MIN_BYTES, MOST_FRAME_BYTES);
		return 0;
	case 't':
		options->seconds = strtod(arg, &end);
		if (*end != '\0' || !(options->seconds > 0 && options->seconds < 1000))
			argp_error(state, "--seconds %s: give a number above 0", arg);
		return 0;
	case 'p':
		options->paced = true;
		return 0;
	default:
		return scenario_args_parse(&options->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Forwards frames of a scenario's first flow between two external ports. `rocelab bench realtime` starts it.",
};

int
main(int argc, char **argv)
{
	struct options options = { .dir = ".", .frame_bytes = ETH_MIN_BYTES, .seconds = 1 };
	struct scenario *scenario;
	struct err err = { 0 };
	int ret = -EINVAL;

	stdio_guard();
	argp_err_exit_status = EXIT_USAGE;
	if (log_open() < 0)
		return EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	scenario = scenario_load(&options.scenario, &err);
	if (scenario != NULL && lcore_init(&(struct lcore_config){ .lcores = 1, .memory_mb = MEMORY_MB }, &err) == 0) {
		ret = forward(scenario, &options, &err);
		lcore_fini();
	}
	scenario_destroy(scenario);
	if (ret < 0)
		log_error("%s", err.text);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
