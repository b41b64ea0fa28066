/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run takes, estimated before it begins. Memory: steps before there is a plan, all of it before the plan has its
 * times, and epochs kept, which depend on these, at last. And of the exporter's budget, when the plan has its times.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/probe.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/fabric/node.h"
#include "rxe-hosts/agent/policy.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"
#include "workload/plan.h"
#include "workload/workload.h"

/* Pools of the frames of hosts with their own kernel. */

#define ROOM_LEAST_BYTES 2048 /* smallest buffer that NICs' drivers write to */
#define LINE_BYTES 64
#define FRAME_EXTRA_BYTES 448 /* of an mbuf, its headroom and the pool's own, at most */
#define BUILT 1023            /* of the edge's pool */
/* Frames queued before the fabric: in the NIC, in the device's rings, in bursts at both ends. */
#define BEFORE (256 + 2 * 512 + 2 * 32)
#define BUFFER_WINDOWS 4                  /* a switch's default buffer for one ingress, of windows at its rate */
#define HOLD_BYTES (256 * UINT64_C(1024)) /* toward a host that takes none */

uint32_t
frame_pool_room(const struct scenario *sc)
{
	uint32_t room = (sc->largest_frame_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;

	return room > ROOM_LEAST_BYTES ? room : ROOM_LEAST_BYTES;
}

/* @return cables of the longest of all shortest paths from a node; 0: out of memory */
static uint32_t
farthest_hops(const struct topo *topo, uint32_t from)
{
	uint32_t *hops = calloc(topo->nnodes, sizeof(*hops)), *queue = calloc(topo->nnodes, sizeof(*queue));
	uint32_t head = 0, tail = 0, most = 0;

	if (hops != NULL && queue != NULL) {
		hops[from] = 1; /* and one more each */
		queue[tail++] = from;
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		most = hops[node] - 1;
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
			uint32_t peer = topo_port_of(topo, node, i)->peer;

			if (hops[peer] != 0)
				continue;
			hops[peer] = hops[node] + 1;
			queue[tail++] = peer;
		}
	}
	free(hops);
	free(queue);
	return most;
}

uint32_t
frame_pool_frames(const struct scenario *sc, uint32_t node)
{
	const struct topo *topo = sc->topo;
	uint64_t window_ps = scenario_window_ps(sc), slowest_ps = 0, hops = farthest_hops(topo, node), rate_bps = 0,
		 path_bytes, frames;
	uint32_t size = FRAME_POOL_LEAST;

	if (hops == 0)
		return 0;
	for (uint32_t i = 0; i < topo->nports; i++)
		slowest_ps = max_u64(slowest_ps, topo->ports[i].delay_ps + sc->timing.pipeline_ps);
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		rate_bps = max_u64(rate_bps, topo_port_of(topo, node, i)->rate_bps);
	/* What arrives within a window is handed on at its end. */
	path_bytes = (uint64_t)((double)rate_bps / 8 * (double)(hops * (slowest_ps + window_ps)) / PS_PER_S);
	frames = BEFORE + path_bytes / sc->min_frame_bytes;
	frames += (hops * BUFFER_WINDOWS * (uint64_t)((double)rate_bps / 8 * (double)window_ps / PS_PER_S) + HOLD_BYTES) /
		  sc->largest_frame_bytes;
	while (size < frames && size < FRAME_POOL_MOST)
		size *= 2;
	return size - 1;
}

int
frame_pools_sum(const struct scenario *sc, struct frame_pools *sum)
{
	uint64_t frames = BUILT;

	*sum = (struct frame_pools){ .room_bytes = frame_pool_room(sc), .least = UINT32_MAX };
	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		uint32_t count = sc->hosts[i] != NULL ? frame_pool_frames(sc, i) : 0;

		if (sc->hosts[i] == NULL)
			continue;
		if (count == 0)
			return -ENOMEM;
		sum->ports++;
		sum->least = count < sum->least ? count : sum->least;
		sum->most = count > sum->most ? count : sum->most;
		frames += count;
	}
	sum->bytes = frames * (sum->room_bytes + FRAME_EXTRA_BYTES);
	return 0;
}

/* Its time. */

/* Collectives of a job one after the other. */
static uint64_t
job_end_ps(const struct scenario *scenario, uint32_t job)
{
	const struct work_job *work = &scenario->workload->jobs[job];
	uint64_t iteration_ps = work->gap_ps + work->compute_ps;

	for (uint32_t c = 0; c < scenario->plan->ncollectives; c++) {
		const struct plan_collective *collective = &scenario->plan->collectives[c];

		if (collective->job == job)
			iteration_ps += collective->expect_ps + scenario->workload->works[c].compute_ps;
	}
	return work->start_ps + iteration_ps * work->iterations;
}

static uint64_t
later(uint64_t a_ps, uint64_t b_ps)
{
	return b_ps != TIME_NEVER && b_ps > a_ps ? b_ps : a_ps;
}

/* All of it is under way until then at most, if nothing disturbs it. */
static uint64_t
work_end_ps(const struct scenario *scenario)
{
	const struct plan *plan = scenario->plan;
	uint64_t end_ps = 0;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++)
		if (scenario->workload->jobs[j].enabled)
			end_ps = later(end_ps, job_end_ps(scenario, j));
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		if (plan->backgrounds[i].start_ps != TIME_NEVER)
			end_ps = later(end_ps, plan->backgrounds[i].start_ps + plan->backgrounds[i].ideal_ps);
	for (uint32_t i = 0; i < plan->nmessages; i++)
		end_ps = later(end_ps, plan->messages[i].start_ps + plan->messages[i].ideal_ps);
	return end_ps;
}

uint64_t
scenario_horizon_ps(const struct scenario *scenario)
{
	uint64_t end_ps = work_end_ps(scenario);

	for (uint32_t i = 0; i < scenario->faults.count; i++)
		end_ps = later(end_ps, ((const struct fault_common *)scenario->faults.faults[i].params)->start_ps);
	return end_ps;
}

/* The memory of the whole run. */

/* The two programs without a fabric. */
#define PROGRAMS_BYTES 32000000
/*
 * As measured of rings of 128 and 1,024 ranks: plan and results of a step, 40 to 100; its records with the analyzer, and
 * the verdict, 300 to 410; and of an iteration beside its steps.
 */
#define STEP_BYTES 500
#define ITERATION_BYTES 1000
/* The plan, state and line of a generated flow; a queue pair's two ends and its places at ports. */
#define MESSAGE_BYTES 200
/* What is reported of one that is judged, with the analyzer: at load 0.5, where half of them are slow. */
#define JUDGED_BYTES 24000
#define CONNECTION_BYTES 8000
/* A port in use: measured with 49152, of which those that did nothing had 11400 each. */
#define PORT_BYTES 20000
/* The two ends of a collective's flow, or of its notifications. */
#define FLOW_BYTES 2000
/* A flow at a port that its packets pass: its number there, its rows and truth; and how many those are at most. */
#define FLOW_AT_PORT_BYTES 400
#define FLOW_PORTS 6
/* A port's epoch without rows; a frame in a cable's lanes and among a switch's arrivals. */
#define EPOCH_BYTES 96
/* Of a direction of a flow, at a switch where its packets are balanced. */
#define SPRAY_BYTES 10
#define FRAME_BYTES 256

/*
 * What the analyzer keeps of a probe, with its share of traceroutes and of responders' counts, at most: 46 to 50 B measured
 * of 7.6 million of K=8; and the record of one in a frame.
 */
#define PROBE_BYTES 50
#define PROBE_RECORD_BYTES 26

struct share {
	const char *what;
	uint64_t bytes;
	struct err how; /* its origin, and the setting that lowers it */
};

static uint64_t
add(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t
times(uint64_t a, uint64_t b)
{
	return b == 0 || a < UINT64_MAX / b ? a * b : UINT64_MAX;
}

/* "12.3 GB". @param buf  of 32 bytes */
static char *
about(uint64_t bytes, char *buf)
{
	if (bytes < 1000000000)
		snprintf(buf, 32, "%.1f MB", (double)bytes / 1e6);
	else
		snprintf(buf, 32, "%.1f GB", (double)bytes / 1e9);
	return buf;
}

static uint64_t
steps_of(const struct plan_collective *collective)
{
	return times(coll_all_steps(collective->schedule), collective->iterations);
}

/* Every step of every iteration has a schedule record, and a result. */
static void
count_steps(const struct scenario *sc, struct share *share)
{
	const struct plan_collective *most = sc->plan->collectives;
	char records[32];

	share->what = "steps";
	for (uint32_t c = 0; c < sc->plan->ncollectives; c++) {
		const struct plan_collective *collective = &sc->plan->collectives[c];

		share->bytes = add(share->bytes, add(times(steps_of(collective), STEP_BYTES),
						     times(collective->iterations, ITERATION_BYTES)));
		most = steps_of(collective) > steps_of(most) ? collective : most;
	}
	if (sc->plan->ncollectives != 0)
		err_set(&share->how, 0,
			"%u iterations x %u ranks x %u steps of collective %u are %llu schedule records, "
			"%s on disk: lower iterations",
			most->iterations, most->schedule->ranks, coll_max_steps(most->schedule),
			(uint32_t)(most - sc->plan->collectives), (unsigned long long)steps_of(most),
			about(times(steps_of(most), sizeof(struct rec_schedule)), records));
}

/* What is known before a plan is made, which takes seconds for millions of steps. */
int
scenario_check_steps(const struct scenario *sc, struct err *err)
{
	uint64_t bytes = 0, most_records = 0;
	char takes[32], limit[32], records[32];
	struct coll_step_count most = { 0 };
	uint32_t most_of = 0;

	for (uint32_t i = 0; i < sc->workload->nworks; i++) {
		struct coll_step_count count = plan_least_steps(sc->workload, i);
		uint64_t all = times(count.all, (uint64_t)sc->workload->works[i].config.iterations);

		bytes = add(bytes, times(all, STEP_BYTES));
		if (all < most_records)
			continue;
		most_records = all;
		most = count;
		most_of = i;
	}
	if (bytes <= sc->limits.memory_bytes)
		return 0;
	return cfg_fail(&sc->limits.where, sc->limits.where.node != NULL ? "memory" : "limits.memory", err,
			"%s, but the run takes more than %s for steps alone: %u iterations x %u ranks x %u steps of "
			"collective %u are %llu schedule records, %s on disk: lower iterations, or raise the limit",
			about(sc->limits.memory_bytes, limit), about(bytes, takes),
			(uint32_t)sc->workload->works[most_of].config.iterations,
			sc->workload->jobs[sc->workload->works[most_of].job].grid.ranks, most.most, most_of,
			(unsigned long long)most_records, about(times(most_records, sizeof(struct rec_schedule)), records));
}

static uint64_t
payload_of(const struct scenario *sc, const struct plan_collective *collective)
{
	uint64_t vectors = 0;

	for (uint32_t r = 0; collective->real && r < collective->schedule->ranks; r++)
		if (sc->hosts[collective->ranks[r].node] == NULL)
			vectors += collective->buffers;
	return times(vectors, collective->vector_bytes);
}

/* The vectors of embedded hosts; other hosts have memory of their own. */
static void
count_payload(const struct scenario *sc, struct share *share)
{
	const struct plan_collective *most = sc->plan->collectives;
	char vector[32];

	share->what = "real payload";
	for (uint32_t c = 0; c < sc->plan->ncollectives; c++) {
		const struct plan_collective *collective = &sc->plan->collectives[c];

		share->bytes = add(share->bytes, payload_of(sc, collective));
		most = payload_of(sc, collective) > payload_of(sc, most) ? collective : most;
	}
	if (sc->plan->ncollectives != 0)
		err_set(&share->how, 0,
			"%u ranks x %u vectors of %s of collective %u: lower bytes, or let payload be "
			"synthetic",
			most->schedule->ranks, most->buffers, about(most->vector_bytes, vector),
			(uint32_t)(most - sc->plan->collectives));
}

/* State of ports by flow, epoch and ingress; frames of a window of a cable. */
static void
count_ports(const struct scenario *sc, struct share *epochs, struct share *cables)
{
	const struct topo *topo = sc->topo;
	uint64_t window_ps = scenario_window_ps(sc), flows = sc->plan->flows.count;

	epochs->what = "telemetry";
	cables->what = "cables";
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];
		uint64_t frame_ps = units_serialize_ps(sc->mtu_frame_bytes, port->rate_bps, sc->timing.quantum_ps);
		uint64_t kept = EPOCH_BYTES + 8ULL * topo->nodes[port->node].nports;

		epochs->bytes = add(epochs->bytes, times(sc->epochs_kept, kept));
		cables->bytes = add(cables->bytes,
				    add(PORT_BYTES, times(window_ps / (frame_ps != 0 ? frame_ps : 1) + 2, FRAME_BYTES)));
	}
	epochs->bytes = add(epochs->bytes, times(flows, FLOW_PORTS * FLOW_AT_PORT_BYTES));
	err_set(&epochs->how, 0, "%u ports x %u epochs kept and %llu flows: lower telemetry.epochs_kept", topo->nports,
		sc->epochs_kept, (unsigned long long)flows);
	err_set(&cables->how, 0,
		"%u ports that send up to %.1f us of frames of %u B at a time: make the topology smaller, "
		"rates lower, or one link shorter",
		topo->nports, (double)window_ps / 1e6, sc->mtu_frame_bytes);
}

static void
count_flows(const struct scenario *sc, struct share *share)
{
	share->what = "flows";
	share->bytes = times(sc->plan->flows.count, FLOW_BYTES);
	err_set(&share->how, 0, "%u flows of collectives and of their notifications: name fewer ranks or channels",
		sc->plan->flows.count);
}

/* Generated flows, and the connections that they share. */
static void
count_messages(const struct scenario *sc, struct share *share)
{
	uint64_t connections = 0;

	for (uint32_t i = 0; i < sc->plan->flows.count; i++)
		connections += sc->plan->of[i].kind == FLOW_TRAFFIC;
	share->what = "generated flows";
	share->bytes = add(times(sc->plan->nmessages, MESSAGE_BYTES + (sc->plan->judged ? JUDGED_BYTES : 0)),
			   times(connections, CONNECTION_BYTES));
	err_set(&share->how, 0, "%u flows on %llu connections: lower the generators' until, load or connections",
		sc->plan->nmessages, (unsigned long long)connections);
}

static void
count_routes(const struct scenario *sc, struct share *share)
{
	const struct topo *topo = sc->topo;
	uint64_t sprayed = 0;

	if (balance_is_on(&sc->balance))
		sprayed = times(2 * SPRAY_BYTES, times(sc->plan->flows.count, topo->nnodes - topo->nhosts));
	share->what = "routes";
	share->bytes = add(2 * route_table_bytes(sc->routes), sprayed); /* with those that faults change */
	err_set(&share->how, 0, "%u switches and %u flows: make the topology smaller", topo->nnodes - topo->nhosts,
		sc->plan->flows.count);
}

/* What switches keep of packets that they sample. */
static void
count_samples(const struct scenario *sc, struct share *share)
{
	const struct topo *topo = sc->topo;
	uint32_t ports = 0;

	for (uint32_t i = 0; sc->switches.all.params.sampling != 0 && i < topo->nports; i++)
		ports += topo->nodes[topo->ports[i].node].kind == TOPO_HOST;
	share->what = "samples";
	share->bytes = times(ports, SWM_MAX_SAMPLES * sizeof(struct swm_sample));
	err_set(&share->how, 0, "%u ports to hosts: set switch.sampling to 0", ports);
}

/* R-Pingmesh's, with the analyzer, as far as the exporter lets them through. */
static void
count_probes(const struct scenario *sc, struct share *share)
{
	/* It may take longer than the plan has it, which has no times at first. */
	uint64_t time_ps = min_u64(max_u64(work_end_ps(sc), sc->pingmesh.duration_ps), sc->limits.virtual_time_ps);
	double per_s = 0, count;

	share->what = "probes";
	for (uint32_t r = 0; sc->pingmesh.enabled && r < sc->pinglists.map->nrnics; r++)
		per_s += pinglist_load_bps(&sc->pinglists, r, sc->pingmesh.service) /
			 (8.0 * PROBE_DATAGRAMS * PROBE_LINK_BYTES);
	if (sc->exporter.budget != 0)
		per_s = fmin(per_s, (double)sc->exporter.budget / PROBE_RECORD_BYTES);
	count = per_s * (double)time_ps / PS_PER_S;
	share->bytes = (uint64_t)fmin(count * PROBE_BYTES, (double)(UINT64_MAX / 2));
	err_set(&share->how, 0,
		"%.3g probes in %.3g s: raise pingmesh.time_factor, lower pingmesh.duration, or set pingmesh.service to "
		"false",
		count, (double)time_ps / PS_PER_S);
}

int
scenario_check_memory(const struct scenario *sc, struct err *err)
{
	struct share shares[9] = { 0 };
	const struct share *largest = shares;
	char sum_text[32], limit[32], part[32];
	uint64_t sum = PROGRAMS_BYTES;

	count_steps(sc, &shares[0]);
	count_payload(sc, &shares[1]);
	count_ports(sc, &shares[2], &shares[3]);
	count_routes(sc, &shares[4]);
	count_messages(sc, &shares[5]);
	count_samples(sc, &shares[6]);
	count_flows(sc, &shares[7]);
	count_probes(sc, &shares[8]);
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		sum = add(sum, shares[i].bytes);
		largest = shares[i].bytes > largest->bytes ? &shares[i] : largest;
	}
	if (sum <= sc->limits.memory_bytes)
		return 0;
	return cfg_fail(&sc->limits.where, sc->limits.where.node != NULL ? "memory" : "limits.memory", err,
			"%s, but the run takes about %s, %s of it for %s: %s, or raise the limit",
			about(sc->limits.memory_bytes, limit), about(sum, sum_text), about(largest->bytes, part),
			largest->what, largest->how.text);
}

/* The rate of its reports. */

struct report_rate
report_rate_of(const struct plan *plan, const struct detection_config *detection)
{
	bool hands_over = detection->transfer && agent_policies[detection->policy]->notified != NULL;
	uint32_t step_bytes = REPORT_STEP_BYTES + (hands_over ? REPORT_HANDED_OVER_BYTES : 0);
	struct report_rate most = { 0 };

	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		const struct plan_collective *c = &plan->collectives[i];
		double bytes = (double)coll_all_steps(c->schedule) * step_bytes;
		double bytes_per_s = c->enabled && c->expect_ps != 0 ? bytes * PS_PER_S / (double)c->expect_ps : 0;

		if (bytes_per_s > (double)most.bytes_per_s)
			most = (struct report_rate){ (uint64_t)bytes_per_s, i };
	}
	return most;
}

uint64_t
report_rate_of_ports(const struct scenario *sc)
{
	uint64_t records = 0;

	if (!agent_policies[sc->detection.policy]->every_epoch)
		return 0;
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		records += sc->topo->nodes[i].kind == TOPO_SWITCH ? sc->topo->nodes[i].nports : 0;
	for (uint32_t f = 0; f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (plan_flow_sends(sc->plan, f) && scenario_path(sc, f, false, &path) == 0)
			records += REPORT_PORT_ROWS * (uint64_t)(path.hops - 1); /* the first is a NIC's */
	}
	return records * REPORT_PORT_BYTES * PS_PER_S / sc->telemetry.epoch_ps;
}

uint64_t
report_rate_budget(uint64_t bytes_per_s)
{
	/* Half as much again: steps end together, and no millisecond has more than its own budget. */
	uint64_t budget = bytes_per_s + bytes_per_s / 2, unit = 1;

	while (budget / unit >= 100)
		unit *= 10;
	return (budget + unit - 1) / unit * unit;
}
