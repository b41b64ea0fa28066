/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/ai_fabric.h"

#include <inttypes.h>
#include <math.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"

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
	return fits_ranks(f, value) && f->link != TOPO_NONE;
}

static bool
fits_three(const struct ai_fabric *f, uint32_t value)
{
	(void)value;
	return f->hosts >= 3;
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

/* Without load, then beside a permutation of all other hosts at line rate. */
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

/* At line rate, each of the ring's steps behind the longest delay without queues. */
static double
ideal_ns(const struct ai_fabric *f, double bytes)
{
	return 2 * (f->hosts - 1.0) * rtt_ns(f) / 2 + 2 * (f->hosts - 1.0) / f->hosts * bytes * 8 / f->rate_bps * 1e9;
}

static void
write_failure(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to)
{
	char port[64];

	write_allreduce(f, row, part, to);
	if (part == 1)
		fprintf(to, "faults = ( { kind = \"link-down\"; port = \"%s\"; start = \"%.0fns\"; } );\n",
			topo_port_name(f->scenario->topo, f->link, port), ideal_ns(f, ring_bytes(f, row->value)) / 4);
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

/* From just below the threshold upwards until a packet is marked, then by halves to one packet; then a long queue. */
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

static void
measure_incast(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[0];

	r->figure = 100 * row->value * INCAST_BYTES * 8 / a->most_ns * 1e9 / f->rate_bps;
	r->outcome = passes(a, a->drops == 0 && a->retransmits == 0 && r->figure >= 90);
	snprintf(r->note, sizeof(r->note), "longest queue %.0f KB, %" PRIu64 " PAUSE frames, %" PRIu64 " drops",
		 (double)a->peak_bytes / 1000, a->pauses, a->drops);
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
		 "behind the packet that left: %.0f B unmarked, %.0f B marked; above it %" PRIu64 " of %.0f marked",
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

	r->figure = a->job_ns[0] / ideal_ns(f, ring_bytes(f, row->value));
	r->outcome = passes(a, r->figure <= 1.15);
	snprintf(r->note, sizeof(r->note), "uplinks: max/mean %.2f", uplink_mmr(a));
}

static void
measure_tenants(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = row->figures;

	(void)f;
	r->figure = fmax(a[0].job_ns[0] / a[1].job_ns[0], a[0].job_ns[1] / a[2].job_ns[0]);
	r->outcome = passes(a, r->figure <= 1.05);
	snprintf(r->note, sizeof(r->note), "uplinks: max/mean %.2f, and %.2f, %.2f with each alone", uplink_mmr(&a[0]),
		 uplink_mmr(&a[1]), uplink_mmr(&a[2]));
}

static void
measure_failure(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *r)
{
	const struct ai_figures *a = &row->figures[1];

	r->figure = a->job_ns[0] / row->figures[0].job_ns[0];
	r->outcome = passes(a, true);
	snprintf(r->note, sizeof(r->note),
		 "%.2f ms more; %" PRIu64 " packets lost within %.2f ms, %" PRIu64
		 " timeouts of %.3g ms; routes converge in %.3g "
		 "ms",
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
	  .rule = "more than 0, at most 1; all marked above",
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
	{ .name = "polarisation",
	  .doc = "ECMP: each host sends 16 MB to one half the fabric away, by Q queue pairs",
	  .unit = "QPs",
	  .values = { 1, 2, 4, 8, 16, 32 },
	  .figure = "Jain's index of uplinks",
	  .rule = "none",
	  .parts = 1,
	  .fits = fits_pairs,
	  .write = write_pairs,
	  .measure = measure_pairs },
	{ .name = "allreduce",
	  .doc = "ring AllReduce of all hosts, beside its time at line rate",
	  .unit = "MB",
	  .values = { 1, 4, 16, 64 },
	  .figure = "JCT ratio",
	  .rule = "at most 1.15 (1.05: good)",
	  .parts = 1,
	  .fits = fits_ranks,
	  .write = write_allreduce,
	  .measure = measure_allreduce },
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
	  .doc = "AllReduce while a link between switches fails, beside none",
	  .unit = "MB",
	  .values = { RING_MB },
	  .figure = "JCT ratio",
	  .rule = "it completes",
	  .parts = 2,
	  .fits = fits_links,
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
