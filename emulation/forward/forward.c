/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/forward/forward.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/outfile.h"
#include "common/units.h"
#include "dpswitch/lcore/launch.h"
#include "dpswitch/lcore/telemetry.h"
#include "emulation/forward/forward_state.h"

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

struct fabric_hooks
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

/* What must hold whatever happens, and what happened. */
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
