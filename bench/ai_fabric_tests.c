/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/ai_fabric.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/roce/cc/algorithms.h"

#define MB 1000000.0
#define INCAST_BYTES (1 * MB)
#define FAIR_BYTES (8 * MB)
#define PAIR_BYTES (16 * MB)
#define RING_MB 16

static const char *
host(const struct ai_fabric *f, uint32_t i)
{
	return f->scenario->topo->nodes[f->scenario->topo->hosts[i]].name;
}

/* ---- which fabrics ---- */

static bool
fits_senders(const struct ai_fabric *f, uint32_t value)
{
	return value < f->hosts;
}

static bool
fits_pairs(const struct ai_fabric *f, uint32_t value)
{
	return f->hosts >= 4 && (uint64_t)value * f->hosts <= 16384;
}

static bool
fits_ranks(const struct ai_fabric *f, uint32_t value)
{
	(void)value;
	return f->hosts >= 4 && f->hosts <= 1024;
}

static bool
fits_links(const struct ai_fabric *f, uint32_t value)
{
	return fits_ranks(f, value) && f->has_links;
}

static bool
fits_three(const struct ai_fabric *f, uint32_t value)
{
	(void)value;
	return f->hosts >= 3;
}

static bool
fits_joiners(const struct ai_fabric *f, uint32_t value)
{
	return fits_three(f, value) && 2 * value <= AI_MAX_FLOWS;
}

/* ---- keys ---- */

static bool
set_dcqcn(const struct ai_row *row, uint32_t nth, char text[AI_TEXT])
{
	(void)row;
	snprintf(text, AI_TEXT, "host.cc=dcqcn");
	return nth < 1;
}

/* Senders that stop for PFC alone, as a generator of frames does. */
static bool
set_line_rate(const struct ai_row *row, uint32_t nth, char text[AI_TEXT])
{
	static const char *const keys[] = { "host.cc=none", "host.window=none" };

	(void)row;
	if (nth < ARRAY_LEN(keys))
		snprintf(text, AI_TEXT, "%s", keys[nth]);
	return nth < ARRAY_LEN(keys);
}

static uint64_t
threshold_bytes(const struct ai_row *row)
{
	return row->value * 1000ULL;
}

/* A step at the threshold: every packet above it is marked. */
static bool
set_threshold(const struct ai_row *row, uint32_t nth, char text[AI_TEXT])
{
	static const char *const keys[] = { "switch.ecn.enabled=true", "switch.ecn.scales=false" };

	if (set_line_rate(row, nth, text))
		return true;
	nth -= 2;
	if (nth < ARRAY_LEN(keys))
		snprintf(text, AI_TEXT, "%s", keys[nth]);
	else
		snprintf(text, AI_TEXT, "switch.ecn.%s=%" PRIu64, nth == 2 ? "kmin" : "kmax", threshold_bytes(row));
	return nth < 4;
}

/* ---- traffic ---- */

static void
write_flow(const struct ai_fabric *f, uint32_t src, uint32_t dst, uint32_t sport, double bytes, const char **comma,
	   FILE *to)
{
	fprintf(to, "%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; bytes = %.0f; }", *comma, host(f, src), host(f, dst),
		sport, bytes);
	*comma = ",";
}

static void
write_senders(const struct ai_fabric *f, uint32_t senders, double bytes, FILE *to)
{
	const char *comma = "";

	fprintf(to, "flows = (");
	for (uint32_t i = 1; i <= senders; i++)
		write_flow(f, i, 0, AI_DATA_SPORT + i, bytes, &comma, to);
	fprintf(to, "\n);\n");
}

static void
write_incast(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	(void)part;
	write_senders(f, row->value, INCAST_BYTES, to);
}

static void
write_fair(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	(void)part;
	write_senders(f, row->value, FAIR_BYTES, to);
}

static void
write_bursts(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	write_senders(f, row->value, (double)row->sizes[part] * f->scenario->roce.mtu_bytes, to);
}

static const struct topo_port *
nic_of(const struct ai_fabric *f, uint32_t i)
{
	return topo_port_of(f->scenario->topo, f->scenario->topo->hosts[i], 0);
}

/* Two hosts as far from the first: of its own switch, else of another one; else any. */
static void
find_twins(const struct ai_fabric *f, uint32_t twins[2])
{
	twins[0] = 1;
	twins[1] = 2;
	for (int own = 1; own >= 0; own--)
		for (uint32_t a = 1; a < f->hosts; a++)
			for (uint32_t b = a + 1; b < f->hosts && nic_of(f, a)->peer == nic_of(f, b)->peer; b++)
				if ((nic_of(f, a)->peer == nic_of(f, 0)->peer) == (own == 1)) {
					twins[0] = a;
					twins[1] = b;
					return;
				}
}

static void
write_twins(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	const char *comma = "";
	uint32_t twins[2];

	find_twins(f, twins);
	fprintf(to, "flows = (");
	for (uint32_t i = 0; i < 2; i++)
		write_flow(f, twins[i], 0, AI_DATA_SPORT + i, (double)row->sizes[part] * f->scenario->roce.mtu_bytes,
			   &comma, to);
	fprintf(to, "\n);\n");
}

static void
write_pairs(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	const char *comma = "";

	(void)part;
	fprintf(to, "flows = (");
	for (uint32_t i = 0; i < f->hosts; i++)
		for (uint32_t q = 0; q < row->value; q++)
			write_flow(f, i, (i + f->hosts / 2) % f->hosts, AI_DATA_SPORT + q, PAIR_BYTES / row->value, &comma,
				   to);
	fprintf(to, "\n);\n");
}

static double
rtt_ns(const struct ai_fabric *f)
{
	return (double)f->scenario->roce.cc.base_rtt_ps / PS_PER_NS;
}

/* Probes do not meet each other; the load, up to a GB of it, is there as long as they are. */
struct probing {
	double interval_ns;
	uint32_t samples;
};

static struct probing
probing_of(const struct ai_fabric *f, uint32_t bytes)
{
	struct probing p = { .interval_ns = 2 * (rtt_ns(f) + bytes * 8e9 / f->rate_bps) };
	double load_bytes = f->hosts * f->rate_bps / 8e9 * p.interval_ns;

	p.samples = (uint32_t)fmax(10, fmin(100, floor(1e9 / load_bytes)));
	return p;
}

/* Writes probes without load, then beside a permutation of all other hosts at line rate. */
static void
write_probes(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	struct probing p = probing_of(f, row->value);
	double load_bytes = (p.samples + 2) * p.interval_ns * f->rate_bps / 8e9;
	const char *comma = "";

	fprintf(to, "flows = (");
	for (uint32_t i = 1; part == 1 && i < f->hosts; i++)
		write_flow(f, i, (i + f->hosts / 2) % f->hosts, AI_DATA_SPORT + i, load_bytes, &comma, to);
	for (uint32_t i = 0; i < p.samples; i++)
		fprintf(to, "%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; bytes = %u; start = \"%.0fns\"; }",
			i > 0 ? "," : comma, host(f, 0), host(f, f->hosts / 2), AI_PROBE_SPORT + i, row->value,
			(i + 1) * p.interval_ns);
	fprintf(to, "\n);\n");
}

static void
write_ring(const struct ai_fabric *f, uint32_t from, uint32_t step, double bytes, FILE *to)
{
	fprintf(to, "  { op = \"allreduce\"; algorithm = \"ring\"; bytes = %.0f; ranks = [", bytes);
	for (uint32_t i = from; i < f->hosts; i += step)
		fprintf(to, "%s \"%s\"", i > from ? "," : "", host(f, i));
	fprintf(to, " ]; }");
}

/* Divisible by the ranks and by elements. */
static double
ring_bytes(const struct ai_fabric *f, uint32_t value)
{
	return floor(value * MB / (64.0 * f->hosts)) * 64.0 * f->hosts;
}

static void
write_allreduce(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	(void)part;
	fprintf(to, "collectives = (\n");
	write_ring(f, 0, 1, ring_bytes(f, row->value), to);
	fprintf(to, "\n);\n");
}

/* Two jobs, on every other host each: both, then each alone. */
static void
write_tenants(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	fprintf(to, "collectives = (\n");
	if (part != 2)
		write_ring(f, 0, 2, ring_bytes(f, row->value), to);
	if (part == 0)
		fprintf(to, ",\n");
	if (part != 1)
		write_ring(f, 1, 2, ring_bytes(f, row->value), to);
	fprintf(to, "\n);\n");
}

/* A ring's data at the NICs' rate (section 10.1 of the draft): no delays. */
static double
wire_ns(const struct ai_fabric *f, double bytes)
{
	return 2 * (f->hosts - 1.0) / f->hosts * bytes * 8 / f->rate_bps * 1e9;
}

/* The ring's time on an idle fabric: a step begins when the ACK of the rank's previous step has arrived (docs/steps.md). */
static double
ideal_ns(const struct ai_fabric *f, double bytes)
{
	return 2 * (f->hosts - 1.0) * rtt_ns(f) + wire_ns(f, bytes);
}

/* One iteration: computation for as long as the draft's 10 ms beside 256 MB, then the ring. */
#define COMPUTE_NS_MB (10e6 / 256)

static void
write_jct(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	(void)part;
	fprintf(to,
		"jobs = ( { name = \"jct\"; compute = \"%.0fns\"; collectives = (\n"
		"  { op = \"allreduce\"; algorithm = \"ring\"; bytes = %.0f; }\n) } );\n",
		row->value * COMPUTE_NS_MB, ring_bytes(f, row->value));
}

/* Runs without a failure first; the uplink that carries most of the ring then fails in the second run. */
static bool
next_failure(const struct ai_fabric *f, const struct ai_row *row, uint64_t *size)
{
	(void)f;
	*size = 0;
	return row->nparts == 1 && row->figures[0].uplink_most > 0;
}

static void
write_failure(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	char port[64];

	write_allreduce(f, row, part, to);
	if (part == 1)
		fprintf(to, "faults = ( { kind = \"link-down\"; port = \"%s\"; start = \"%.0fns\"; } );\n",
			topo_port_name(f->scenario->topo, row->figures[0].busiest, port),
			ideal_ns(f, ring_bytes(f, row->value)) / 4);
}

static void
write_alltoall(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	(void)part;
	fprintf(to, "collectives = ( { op = \"alltoall\"; algorithm = \"linear\"; bytes = %.0f; } );\n",
		ring_bytes(f, row->value));
}

/* AllReduce and AllToAll in turn, with computation for a fifth of the time: 80 % of the load. */
static void
write_soak(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	double bytes = ring_bytes(f, 1);

	(void)part;
	fprintf(to,
		"jobs = ( { name = \"soak\"; iterations = %u; compute = \"%.0fns\"; collectives = (\n"
		"  { name = \"reduce\"; op = \"allreduce\"; algorithm = \"ring\"; bytes = %.0f; },\n"
		"  { name = \"exchange\"; op = \"alltoall\"; algorithm = \"linear\"; bytes = %.0f; }\n) } );\n",
		row->value, (ideal_ns(f, bytes) + bytes * 8 / f->rate_bps * 1e9) / 4, bytes, bytes);
}

/* ---- flows that join others ---- */

/*
 * The draft does not state what a rate is an average of. Under DCQCN it is a sawtooth: cuts, and the increases that make up
 * for them until the queue is marked again. A window begins and ends anywhere in one. A cut takes half of a rate at most
 * (alpha is 1 at most), so a part of a cycle is worth half a cycle at most: of JOIN_CYCLES, 5 % of the rate, half of the
 * tolerance. A window of a few cycles measures where it begins. Flows acknowledge message by message, JOIN_MESSAGES to a
 * window at the fair share, unless these would be shorter than JOIN_FRAMES. Those outstanding are more than any buffer, so
 * that rates are limited by DCQCN and not by them.
 */
#define JOIN_FRAMES 8 /* of a message, at least */
#define JOIN_CYCLES 10
#define JOIN_MESSAGES 40
#define JOIN_DEPTH 64
#define JOIN_BEFORE_NS 1e7 /* in which the first half is alone */
#define JOIN_LIMIT_NS 5e7  /* no window begins later, but for the first JOIN_LEAST */
#define JOIN_LEAST 3
#define JOIN_TOLERANCE 0.1 /* section 7.3 of the draft */

/* @return the fair share of one of 2 m flows */
static double
join_rate_bps(const struct ai_fabric *f, uint32_t m)
{
	return f->rate_bps / (2.0 * m);
}

/* @return the marking threshold of the receiver's port, by switch.ecn */
static double
join_kmin_bits(const struct ai_fabric *f)
{
	const struct switch_ecn_params *ecn = &f->scenario->switches.all.ecn;
	double scale = ecn->scales && ecn->reference_rate_bps != 0 ? f->rate_bps / (double)ecn->reference_rate_bps : 1;

	return 8 * (double)ecn->kmin_bytes * scale;
}

/*
 * The cycle of 2 m rates at the fair share: fast recovery, by the faster of the timer and the byte counter, and the
 * increases of all flows until their excess fills the queue to kmin: additive ones until both counters have ended fast
 * recovery, then hyper ones. An excess that rises by s bits a second in each second fills q bits in sqrt(2 q / s).
 */
static double
join_cycle_ns(const struct ai_fabric *f, uint32_t m)
{
	const struct dcqcn_params *own = (const struct dcqcn_params *)f->dcqcn.own;
	double timer_s = (double)own->increase_timer_ps / 1e12, least_s = timer_s, most_s = timer_s, left_bits, fill_s;
	double stages = (double)own->fast_recovery + 1, rise;

	if (own->byte_reset_bytes != 0) {
		least_s = fmin(timer_s, (double)own->byte_reset_bytes * 8 / join_rate_bps(f, m));
		most_s = fmax(timer_s, (double)own->byte_reset_bytes * 8 / join_rate_bps(f, m));
	}
	rise = 2.0 * m * (double)own->ai_bps / least_s;
	fill_s = sqrt(2 * join_kmin_bits(f) / fmax(rise, 1));
	if (fill_s > stages * most_s) { /* hyper increase ends it */
		left_bits = join_kmin_bits(f) - rise * stages * most_s * stages * most_s / 2;
		rise = 2.0 * m * (double)own->hai_bps / least_s;
		fill_s = stages * most_s + fmin(fill_s - stages * most_s, sqrt(2 * left_bits / fmax(rise, 1)));
	}
	if (own->ai_bps == 0 && own->hai_bps == 0) /* a rate that was cut stays */
		fill_s = 0;
	return fmax(1e9 * (stages * least_s + fill_s), (double)own->decrease_interval_ps / 1e3);
}

static double
join_bytes(const struct ai_fabric *f, uint32_t m)
{
	double window_ns = JOIN_CYCLES * join_cycle_ns(f, m);
	double frames = window_ns * join_rate_bps(f, m) / 8e9 / JOIN_MESSAGES / f->scenario->roce.mtu_bytes;

	return fmax(JOIN_FRAMES, floor(frames)) * f->scenario->roce.mtu_bytes;
}

static double
join_window_ns(const struct ai_fabric *f, uint32_t m)
{
	return fmax(JOIN_CYCLES * join_cycle_ns(f, m), JOIN_MESSAGES * join_bytes(f, m) * 8e9 / join_rate_bps(f, m));
}

/* M flows to the first host from all others in turn, and M more behind JOIN_BEFORE_NS. The run ends after sizes. */
static void
write_joiners(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	double window_ns = join_window_ns(f, row->value), end_ns = JOIN_BEFORE_NS + window_ns * (double)row->sizes[part];

	fprintf(to, "limits = { virtual_time = \"%.0fns\"; };\nflows = (", end_ns);
	for (uint32_t i = 0; i < 2 * row->value; i++)
		fprintf(to,
			"%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; bytes = %.0f; mode = \"repeat\"; depth = %d; "
			"start = "
			"\"%.0fns\"; until = \"%.0fns\"; }",
			i > 0 ? "," : "", host(f, 1 + i % (f->hosts - 1)), host(f, 0), AI_DATA_SPORT + i,
			join_bytes(f, row->value), JOIN_DEPTH, i < row->value ? 0 : JOIN_BEFORE_NS, end_ns + window_ns);
	fprintf(to, "\n);\n");
}

/* @return the largest deviation of a flow's rate from the fair share, as a part of it, in the window between two runs */
static double
unfairness(const struct ai_row *row, uint32_t begin)
{
	const struct ai_figures *from = &row->figures[begin], *to = &row->figures[begin + 1];
	uint32_t flows = 2 * row->value;
	double sum = 0, least = INFINITY, most = 0;

	for (uint32_t i = 0; i < flows; i++) {
		double bytes = to->acked_bytes[i] - from->acked_bytes[i];

		sum += bytes;
		least = fmin(least, bytes);
		most = fmax(most, bytes);
	}
	return sum > 0 ? fmax(most - sum / flows, sum / flows - least) / (sum / flows) : 1;
}

/*
 * Windows that end 1, 2, 4, 8 windows after the others joined, and so on, then the last that may begin, until one is fair.
 * Two runs each.
 */
static bool
next_joined(const struct ai_fabric *f, const struct ai_row *row, uint64_t *size)
{
	uint64_t last = max_u64(JOIN_LEAST, (uint64_t)(JOIN_LIMIT_NS / join_window_ns(f, row->value)));

	if (row->nparts % 2 != 0) {
		*size = row->sizes[row->nparts - 1] + 1;
		return true;
	}
	*size = row->nparts == 0 ? 0 : min_u64((1ULL << (row->nparts / 2)) - 1, last);
	return row->nparts == 0 ||
	       (unfairness(row, row->nparts - 2) > JOIN_TOLERANCE && row->sizes[row->nparts - 2] < last);
}

static void
measure_joined(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct dcqcn_params *own = (const struct dcqcn_params *)f->dcqcn.own;
	double window_ms = join_window_ns(f, row->value) / 1e6, last = unfairness(row, row->nparts - 2);
	double cut_us =
		(double)max_u64(own->decrease_interval_ps, own->echo == CC_ECHO_CNP ? own->cnp_interval_ps : 0) / 1e6;
	double rtt_us = (double)f->scenario->roce.cc.base_rtt_ps / 1e6;
	uint64_t drops = 0;

	for (uint32_t p = 0; p < row->nparts; p++)
		drops += row->figures[p].drops;
	r->figure = (double)row->sizes[row->nparts - 1] * window_ms;
	r->outcome = last <= JOIN_TOLERANCE ? AI_PASS : AI_FAIL;
	snprintf(r->note, sizeof(r->note),
		 "%s; furthest rate %.0f %% off in the window of %.3g ms (%d cycles of a rate or more) that ends there, "
		 "%.0f %% in the first; %" PRIu64 " drops",
		 last <= JOIN_TOLERANCE ? "fair" : "not fair until then", 100 * last, window_ms, JOIN_CYCLES,
		 100 * unfairness(row, 0), drops);
	if (last > JOIN_TOLERANCE && cut_us < rtt_us)
		snprintf(r->note + strlen(r->note), sizeof(r->note) - strlen(r->note),
			 "; host.dcqcn cuts a rate every %.3g us, before a cut shows, %.3g us later or more: each flow "
			 "another number of times",
			 cut_us, rtt_us);
}

/* ---- searches ---- */

/* The largest size that held and the least that did not, of the runs so far; 0: none. */
struct bracket {
	uint64_t held, failed;
};

static struct bracket
bracket_of(const struct ai_row *row, bool (*holds)(const struct ai_figures *f))
{
	struct bracket b = { 0 };

	for (uint32_t p = 0; p < row->nparts; p++) {
		if (holds(&row->figures[p]))
			b.held = max_u64(b.held, row->sizes[p]);
		else if (b.failed == 0 || row->sizes[p] < b.failed)
			b.failed = row->sizes[p];
	}
	return b;
}

static bool
is_unmarked(const struct ai_figures *f)
{
	return f->marked_bytes == 0;
}

static uint64_t
frames_of(const struct ai_fabric *f, const struct ai_row *row)
{
	return max_u64(threshold_bytes(row) / f->frame_bytes, 1);
}

/*
 * Searches from just below the threshold upwards until a packet is marked, then by halves to one packet; then takes a
 * long queue.
 */
static bool
next_threshold(const struct ai_fabric *f, const struct ai_row *row, uint64_t *size)
{
	uint64_t frames = frames_of(f, row);
	struct bracket b = bracket_of(row, is_unmarked);

	if (row->nparts == 0)
		*size = frames > 32 ? frames - 16 : (frames + 1) / 2;
	else if (b.failed == 0)
		*size = frames + (16ULL << 2 * (row->nparts - 1));
	else if (b.failed - b.held > 1)
		*size = (b.held + b.failed) / 2;
	else
		*size = b.failed + 2 * frames;
	if (row->nparts != 0 && *size == row->sizes[row->nparts - 1])
		return false; /* the long queue was the last */
	return b.failed != 0 || *size <= 4 * frames + 1024;
}

static bool
is_absorbed(const struct ai_figures *f)
{
	return f->drops == 0 && f->pauses == 0;
}

#define BURST_BYTES 256e6 /* of all senders, at most */
#define BURST_GRAIN 16    /* the figure's resolution is a sixteenth of it */

/* Four times as much until the switches pause or drop, then by halves. */
static bool
next_burst(const struct ai_fabric *f, const struct ai_row *row, uint64_t *size)
{
	struct bracket b = bracket_of(row, is_absorbed);

	if (row->nparts == 0)
		*size = 16;
	else if (b.failed == 0)
		*size = 4 * b.held;
	else
		*size = (b.held + b.failed) / 2;
	return b.failed == 0 ? (double)*size * row->value * f->scenario->roce.mtu_bytes <= BURST_BYTES
			     : b.failed - b.held > max_u64(b.held / BURST_GRAIN, 1);
}

/* ---- figures ---- */

static enum ai_outcome
passes(const struct ai_figures *f, bool holds)
{
	return f->complete && holds ? AI_PASS : AI_FAIL;
}

/* Jain's index over uplinks, and the largest beside their mean (MMR). */
static double
uplink_jain(const struct ai_figures *f)
{
	return f->uplink_squares > 0 ? f->uplink_sum * f->uplink_sum / (f->uplinks * f->uplink_squares) : 1;
}

static double
uplink_mmr(const struct ai_figures *f)
{
	return f->uplink_sum > 0 ? f->uplink_most * f->uplinks / f->uplink_sum : 1;
}

#define IDLE_TEXT 128

/*
 * Why a receiver's link was idle, where nothing was lost or paused: senders that may send do, but at the rates to which
 * congestion control cut them. @return text, "": it was busy, or something else is the reason
 */
static const char *
idle_by_rates(const struct ai_fabric *f, const struct ai_figures *a, const struct ai_result *r, char text[IDLE_TEXT])
{
	text[0] = '\0';
	if (r->outcome == AI_FAIL && a->complete && a->drops + a->retransmits + a->pauses == 0 &&
	    f->scenario->host.cc != CC_NONE)
		snprintf(text, IDLE_TEXT, "; cut by %s (%" PRIu64 " CNPs), senders' rates left %.1f %% of the link idle",
			 cc_choices[f->scenario->host.cc].name, a->cnps, 100 - r->figure);
	return text;
}

static void
measure_incast(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];
	char why[IDLE_TEXT];

	r->figure = 100 * row->value * INCAST_BYTES * 8 / a->most_ns * 1e9 / f->rate_bps;
	r->outcome = passes(a, a->drops == 0 && a->retransmits == 0 && r->figure >= 90);
	snprintf(r->note, sizeof(r->note), "longest queue %.0f KB, %" PRIu64 " PAUSE frames, %" PRIu64 " drops%s",
		 (double)a->peak_bytes / 1000, a->pauses, a->drops, idle_by_rates(f, a, r, why));
}

static void
measure_fair(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];
	double mean = a->rates / a->flows;

	(void)f;
	r->figure = 100 * fmax(a->most_gbps - mean, mean - a->least_gbps) / mean;
	r->outcome = passes(a, r->figure <= 10);
	snprintf(r->note, sizeof(r->note), "goodputs %.2f to %.2f Gbps, mean %.2f", a->least_gbps, a->most_gbps, mean);
}

/* How far above the threshold the first mark is: less than a packet, if the switch is exact. */
static void
measure_threshold(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	double frame = f->frame_bytes, limit = (double)threshold_bytes(row);
	const struct ai_figures *deep = &row->figures[row->nparts - 1];
	uint64_t unmarked = 0, marked = 0, peak = 0;
	double expected;

	for (uint32_t p = 0; p < row->nparts; p++) {
		const struct ai_figures *a = &row->figures[p];

		unmarked = max_u64(unmarked, a->unmarked_bytes);
		marked = marked == 0 || (a->marked_bytes != 0 && a->marked_bytes < marked) ? a->marked_bytes : marked;
		peak = max_u64(peak, a->peak_bytes);
	}
	if (marked == 0) {
		r->outcome = (double)peak - frame > limit + frame ? AI_FAIL : AI_UNKNOWN;
		r->figure = ((double)peak - frame - limit) / frame;
		snprintf(r->note, sizeof(r->note),
			 "nothing is marked; the longest queue was %.0f KB: PFC or a window ends it", (double)peak / 1000);
		return;
	}
	/* The queue rises and falls by a frame a departure, so as many are above the limit twice. */
	expected = 2 * ((double)deep->peak_bytes - frame - limit) / frame;
	r->figure = ((double)marked - frame - limit) / frame;
	r->outcome = passes(deep, (double)unmarked - frame <= limit + frame && r->figure > 0 && r->figure <= 1 &&
					  fabs((double)deep->peak_marked - expected) <= 2);
	snprintf(r->note, sizeof(r->note),
		 "behind the packet that left: %.0f B unmarked, %.0f B marked; above it %" PRIu64
		 " marked of %.0f expected",
		 (double)unmarked - frame, (double)marked - frame, deep->peak_marked, expected);
}

static void
measure_burst(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	struct bracket b = bracket_of(row, is_absorbed);
	uint64_t drops = 0;
	bool complete = true;

	for (uint32_t p = 0; p < row->nparts; p++) {
		drops += row->figures[p].drops;
		complete &= row->figures[p].complete;
	}
	r->figure = (double)b.held * row->value * f->scenario->roce.mtu_bytes / MB;
	r->outcome = complete && drops == 0 ? AI_PASS : AI_FAIL;
	if (b.failed == 0)
		snprintf(r->note, sizeof(r->note), "%" PRIu64 " frames of each sender; no longer burst was tried", b.held);
	else
		snprintf(r->note, sizeof(r->note), "%" PRIu64 " frames of each sender; %s at %" PRIu64, b.held,
			 drops != 0 ? "the first loss" : "the first PAUSE", b.failed);
}

static void
measure_latency(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *idle = &row->figures[0], *loaded = &row->figures[1];

	(void)f;
	r->figure = loaded->p99_ns / idle->p99_ns;
	r->outcome = passes(idle, loaded->complete && idle->p99_ns <= 1.05 * idle->ideal_ns);
	snprintf(r->note, sizeof(r->note),
		 "%u of each, 50 %%, 99 %%, most: %.2f, %.2f, %.2f us; loaded %.2f, %.2f, %.2f us", idle->samples,
		 idle->p50_ns / 1000, idle->p99_ns / 1000, idle->max_ns / 1000, loaded->p50_ns / 1000,
		 loaded->p99_ns / 1000, loaded->max_ns / 1000);
}

static void
measure_pairs(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];

	(void)f;
	r->figure = uplink_jain(a);
	r->outcome = a->complete ? AI_REPORTED : AI_FAIL;
	snprintf(r->note, sizeof(r->note), "%u uplinks, max/mean %.2f; Jain's index of goodputs %.3f", a->uplinks,
		 uplink_mmr(a), a->rates * a->rates / (a->flows * a->squares));
}

static void
measure_allreduce(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];
	double bytes = ring_bytes(f, row->value), took_ns = a->job_ns[0];

	/* In percent of the line rate, headers included, as the draft defines it: 9.1. */
	r->figure = 100 * wire_ns(f, bytes) / took_ns * f->scenario->roce.mtu_bytes / f->frame_bytes;
	r->outcome = passes(a, took_ns <= 1.05 * ideal_ns(f, bytes));
	snprintf(r->note, sizeof(r->note),
		 "%.3f of an idle fabric's time; of a step: data %.1f us, to the receiver and back %.1f us; uplinks: "
		 "max/mean %.2f",
		 took_ns / ideal_ns(f, bytes), wire_ns(f, bytes) / (2 * (f->hosts - 1.0)) / 1000, rtt_ns(f) / 1000,
		 uplink_mmr(a));
}

/* Section 10.1: beside the roofline, computation and then the ring's data at the NICs' rate. */
static void
measure_jct(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];
	double line_ns = wire_ns(f, ring_bytes(f, row->value)) * f->scenario->roce.mtu_bytes / f->frame_bytes;
	double compute_ns = row->value * COMPUTE_NS_MB;

	r->figure = a->job_ns[0] / (compute_ns + line_ns);
	r->outcome = passes(a, r->figure <= 1.15);
	snprintf(r->note, sizeof(r->note),
		 "computation %.2f ms, data at line rate %.2f ms; headers are %.1f %% of the line; uplinks: max/mean %.2f",
		 compute_ns / 1e6, line_ns / 1e6, 100 - 100.0 * f->scenario->roce.mtu_bytes / f->frame_bytes,
		 uplink_mmr(a));
}

static void
measure_tenants(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = row->figures;

	(void)f;
	r->figure = fmax(a[0].job_ns[0] / a[1].job_ns[0], a[0].job_ns[1] / a[2].job_ns[0]);
	r->outcome = passes(a, r->figure <= 1.05);
	snprintf(r->note, sizeof(r->note),
		 "the busiest uplink sent %.2f times what any did with one alone; uplinks: max/mean %.2f, and %.2f, %.2f "
		 "with "
		 "each alone",
		 a[0].uplink_most / fmax(fmax(a[1].uplink_most, a[2].uplink_most), 1), uplink_mmr(&a[0]), uplink_mmr(&a[1]),
		 uplink_mmr(&a[2]));
}

static void
measure_failure(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[1];
	char port[64];

	if (row->nparts == 1) {
		r->outcome = AI_UNKNOWN;
		snprintf(r->note, sizeof(r->note), "no link between switches carries the ring's bytes");
		return;
	}
	r->figure = a->job_ns[0] / row->figures[0].job_ns[0];
	r->outcome = passes(a, true);
	snprintf(r->note, sizeof(r->note),
		 "%s, the busiest uplink; %.2f ms more; %" PRIu64 " packets lost within %.2f ms, %" PRIu64
		 " timeouts of %.3g ms; routes converge in %.3g "
		 "ms",
		 topo_port_name(f->scenario->topo, row->figures[0].busiest, port),
		 (a->job_ns[0] - row->figures[0].job_ns[0]) / 1e6, a->lost, a->loss_ns / 1e6, a->timeouts,
		 (double)f->scenario->roce.timeout_ps / PS_PER_MS,
		 (double)f->scenario->rerouting.convergence_ps / PS_PER_MS);
}

static void
measure_alltoall(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];

	(void)f;
	r->figure = a->job_ns[0] / 1e6;
	r->outcome = passes(a, true);
	snprintf(r->note, sizeof(r->note), "%" PRIu64 " PAUSE frames", a->pauses);
}

/* The coefficient of variation of iterations behind the first, and whether they get longer. */
static void
measure_soak(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];
	double sum = 0, squares = 0, halves[2] = { 0 }, mean;
	uint32_t count = a->niterations > 1 ? a->niterations - 1 : 0, half = count / 2;

	(void)f;
	for (uint32_t i = 1; i <= count; i++) {
		sum += a->iterations_ns[i];
		squares += a->iterations_ns[i] * a->iterations_ns[i];
		halves[0] += i <= half ? a->iterations_ns[i] / half : 0;
		halves[1] += i > count - half ? a->iterations_ns[i] / half : 0;
	}
	mean = sum / count;
	r->figure = 100 * sqrt(fmax(squares / count - mean * mean, 0)) / mean;
	r->outcome = passes(a, a->niterations == row->value && a->drops == 0 && r->figure <= 5);
	snprintf(r->note, sizeof(r->note),
		 "%u iterations of %.3f ms; second half beside first %.4f; %" PRIu64 " drops, %" PRIu64 " PAUSE frames",
		 a->niterations, mean / 1e6, halves[1] / halves[0], a->drops, a->pauses);
}

const struct ai_test ai_tests[] = {
	{ .name = "latency",
	  .doc = "messages of B bytes across the fabric, one at a time, alone and beside a permutation of all other hosts: "
		 "time to "
		 "the ACK",
	  .unit = "B",
	  .values = { 64, 1024, 16384, 131072 },
	  .figure = "99 %, loaded by idle",
	  .rule = "idle: 99 % within 1.05 of an idle fabric's",
	  .parts = 2,
	  .fits = fits_ranks,
	  .write = write_probes,
	  .measure = measure_latency },
	{ .name = "absorption",
	  .doc = "bursts of N hosts to one at line rate, longer and longer until switches pause or drop",
	  .unit = "N",
	  .values = { 2, 4, 8, 16, 32 },
	  .figure = "MB",
	  .rule = "no loss",
	  .set = set_line_rate,
	  .fits = fits_senders,
	  .next = next_burst,
	  .write = write_bursts,
	  .measure = measure_burst },
	{ .name = "ecn-threshold",
	  .doc = "ECN: two hosts to one, with kmin = kmax; the queue at the first mark",
	  .unit = "KB",
	  .values = { 100, 1000, 5000 },
	  .figure = "packets above kmin",
	  .rule = "more than 0, at most 1; above it all marked, to 2 packets",
	  .set = set_threshold,
	  .fits = fits_three,
	  .next = next_threshold,
	  .write = write_twins,
	  .measure = measure_threshold },
	{ .name = "incast",
	  .doc = "PFC incast: N hosts send 1 MB each to one",
	  .unit = "N",
	  .values = { 2, 4, 8, 16, 32, 64 },
	  .figure = "% of the receiver's rate",
	  .rule = "no loss, at least 90 %",
	  .parts = 1,
	  .fits = fits_senders,
	  .write = write_incast,
	  .measure = measure_incast },
	{ .name = "dcqcn-fairness",
	  .doc = "DCQCN: M hosts send 8 MB each to one; the largest distance of a flow's goodput from their mean",
	  .unit = "M",
	  .values = { 4, 16, 64, 256 },
	  .figure = "% of the fair share",
	  .rule = "at most 10 %",
	  .parts = 1,
	  .set = set_dcqcn,
	  .fits = fits_senders,
	  .write = write_fair,
	  .measure = measure_fair },
	{ .name = "dcqcn-convergence",
	  .doc = "DCQCN: M flows join M others to one host; time until all rates are within 10 % of the fair share",
	  .unit = "M",
	  .values = { 4, 16, 64, 256 },
	  .figure = "ms",
	  .rule = "within 50 ms, or 3 windows",
	  .set = set_dcqcn,
	  .fits = fits_joiners,
	  .next = next_joined,
	  .write = write_joiners,
	  .measure = measure_joined },
	{ .name = "polarisation",
	  .doc = "ECMP: each host sends 16 MB to one half the fabric away, by Q queue pairs",
	  .unit = "QPs",
	  .values = { 1, 2, 4, 8, 16, 32 },
	  .figure = "Jain's index of uplinks",
	  .rule = "none: the draft reports it, and has no limit (1: even)",
	  .parts = 1,
	  .fits = fits_pairs,
	  .write = write_pairs,
	  .measure = measure_pairs },
	{ .name = "allreduce",
	  .doc = "ring AllReduce of all hosts: bus bandwidth; its time beside an idle fabric's",
	  .unit = "MB",
	  .values = { 1, 4, 16, 64 },
	  .figure = "BusBW, % of line rate",
	  .rule = "within 1.05 of an idle fabric's time",
	  .parts = 1,
	  .fits = fits_ranks,
	  .write = write_allreduce,
	  .measure = measure_allreduce },
	{ .name = "jct",
	  .doc = "an iteration of computation, 10 ms for 256 MB, and then a ring AllReduce, beside its roofline",
	  .unit = "MB",
	  .values = { 64, 256 },
	  .figure = "JCT ratio",
	  .rule = "at most 1.15 (1.05: good)",
	  .parts = 1,
	  .fits = fits_ranks,
	  .write = write_jct,
	  .measure = measure_jct },
	{ .name = "tenants",
	  .doc = "two AllReduces of every other host each, beside each alone",
	  .unit = "MB",
	  .values = { RING_MB },
	  .figure = "JCT ratio",
	  .rule = "at most 1.05",
	  .parts = 3,
	  .fits = fits_ranks,
	  .write = write_tenants,
	  .measure = measure_tenants },
	{ .name = "link-failure",
	  .doc = "AllReduce while the busiest link between switches fails, beside none",
	  .unit = "MB",
	  .values = { RING_MB },
	  .figure = "JCT ratio",
	  .rule = "it completes",
	  .parts = 1,
	  .fits = fits_links,
	  .next = next_failure,
	  .write = write_failure,
	  .measure = measure_failure },
	{ .name = "deadlock",
	  .doc = "AllToAll of all hosts, one run instead of 300 s",
	  .unit = "MB",
	  .values = { RING_MB },
	  .figure = "ms",
	  .rule = "it completes",
	  .parts = 1,
	  .fits = fits_ranks,
	  .write = write_alltoall,
	  .measure = measure_alltoall },
	{ .name = "soak",
	  .doc = "AllReduce and AllToAll of 1 MB in turn at 80 % load, iterations instead of 24 h; how much their times "
		 "vary",
	  .unit = "iterations",
	  .values = { 50 },
	  .figure = "% variation",
	  .rule = "no loss, at most 5 %",
	  .parts = 1,
	  .fits = fits_ranks,
	  .write = write_soak,
	  .measure = measure_soak },
};

const size_t ai_ntests = ARRAY_LEN(ai_tests);
