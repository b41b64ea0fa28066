/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/hardware/study.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/prng.h"
#include "common/run_files.h"

/*
 * Sixteen servers with a NIC of 400 Gbps each in four racks, under four spines. Sources do not state delays, buffers in
 * use, thresholds or parameters of the congestion control: those of the profiles stand in for them.
 */
#define RACKS                                                                                                              \
	"topology = { kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = \"400Gbps\"; delay = "     \
	"\"500ns\"; };\n"
#define SWITCH "tomahawk5"
#define NIC "thor-ultra"
#define MTU 4096
#define LINE_GBPS 400.0

#define MRC "arXiv 2605.04333"

/* Messages and their number outstanding fill all buffers of the paths. */
#define MESSAGE "8MB"
#define DEPTH 64

#define TRANSPORT(name_, doc_, cc_, qps_)                                                                                  \
	{                                                                                                                  \
		.name = (name_), .doc = (doc_), .cc = (cc_), .qps = (qps_)                                                 \
	}

static const struct hw_transport pfc = TRANSPORT("pfc-1qp", "PFC, 1 QP", "none", 1),
				 pfc_4 = TRANSPORT("pfc-4qp", "PFC, 4 QPs", "none", 4),
				 pfc_8 = TRANSPORT("pfc-8qp", "PFC, 8 QPs", "none", 8),
				 pfc_16 = TRANSPORT("pfc-16qp", "PFC, 16 QPs", "none", 16),
				 dcqcn = TRANSPORT("dcqcn-1qp", "PFC and DCQCN, 1 QP", "dcqcn", 1),
				 dcqcn_4 = TRANSPORT("dcqcn-4qp", "PFC and DCQCN, 4 QPs", "dcqcn", 4),
				 dcqcn_8 = TRANSPORT("dcqcn-8qp", "PFC and DCQCN, 8 QPs", "dcqcn", 8),
				 dcqcn_16 = TRANSPORT("dcqcn-16qp", "PFC and DCQCN, 16 QPs", "dcqcn", 16);
static const struct hw_transport sprayed = {
	.name = "sprayed", .doc = "sprayed, selective repeat, DCQCN", .cc = "dcqcn", .qps = 1, .sprayed = true
};

/* ---- flows that send all the time ---- */

/* Source ports lie above those that protocols have, and below those that collectives get. */
#define FIRST_SPORT 16384
#define SPORTS 28672

static void
put_flow(FILE *file, const struct hw_case *of, struct prng *prng, uint32_t src, uint32_t dst, bool last)
{
	const struct hw_transport *transport = of->row->transport;
	uint32_t sport = FIRST_SPORT + (uint32_t)prng_below(prng, SPORTS - transport->qps);

	fprintf(file,
		"  { src = \"h%u\"; dst = \"h%u\"; sport = %u; qps = %u; bytes = \"" MESSAGE
		"\"; depth = %d; mode = \"repeat\"; "
		"until = \"%uus\"; }%s\n",
		src, dst, sport, transport->qps, DEPTH, of->duration_us, last ? "" : ",");
}

/* Adds the goodput of a flow's line in flows.csv, in Gbps, to its receiver's. */
static int
take_line(const char *line, const struct hw_case *of, double *by_receiver, struct err *err)
{
	unsigned long long acked;
	unsigned dst;

	if (sscanf(line, "-,h%*u,h%u,%*u,%*u,%*u,%llu,", &dst, &acked) != 2 || dst >= HW_MAX_VALUES)
		return err_set(err, -EINVAL, "no flow of the experiment: %.60s", line);
	by_receiver[dst] += (double)acked * 8 / (of->duration_us * 1e3);
	return 0;
}

/* @param by_receiver  [HW_MAX_VALUES] Gbps */
static int
read_goodputs(const struct hw_case *of, const char *dir, double *by_receiver, struct err *err)
{
	char path[PATH_MAX], line[512];
	FILE *file;
	int ret = 0;

	memset(by_receiver, 0, HW_MAX_VALUES * sizeof(*by_receiver));
	snprintf(path, sizeof(path), "%s/" RUN_FLOWS, dir);
	file = input_fopen(path, NULL);
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		ret = err_set(err, -EINVAL, "%s: cannot be read; remove the folder", path);
	while (ret == 0 && fgets(line, sizeof(line), file) != NULL)
		ret = take_line(line, of, by_receiver, err);
	if (file != NULL)
		fclose(file);
	return ret;
}

/* ---- a victim of an incast ---- */

#define TARGET 0
#define VICTIM 1

/* Seven hosts of other racks send to one; an eighth, of a third rack, to an idle neighbour of that one. */
static void
write_victim(const struct hw_case *of, FILE *file)
{
	struct prng prng;

	prng_init(&prng, of->seed, 0);
	fputs(RACKS "flows = (\n", file);
	for (uint32_t src = 4; src <= 10; src++)
		put_flow(file, of, &prng, src, TARGET, false);
	put_flow(file, of, &prng, 12, VICTIM, true);
	fputs(");\n", file);
}

static int
measure_victim(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	double by_receiver[HW_MAX_VALUES];
	int ret = read_goodputs(of, dir, by_receiver, err);

	values[0] = by_receiver[VICTIM];
	return ret < 0 ? ret : 1;
}

static const struct hw_row victim_rows[] = {
	{ &pfc, "30 to 100, by the paths", 30, 100 },
	{ &pfc_8, "30 to 100", 30, 100 },
	{ &dcqcn, "down by about 25 %", 0.7 * LINE_GBPS, 0.8 * LINE_GBPS },
	{ &dcqcn_8, "less affected on average, 100 in single seconds", 100, LINE_GBPS },
	{ &sprayed, "no effect (MRC)", 0.9 * LINE_GBPS, LINE_GBPS },
};

/* ---- a permutation ---- */

#define PAIRS 8

static void
write_permutation(const struct hw_case *of, FILE *file)
{
	struct prng prng;

	prng_init(&prng, of->seed, 1);
	fputs(RACKS "flows = (\n", file);
	for (uint32_t src = 0; src < PAIRS; src++)
		put_flow(file, of, &prng, src, PAIRS + src, src + 1 == PAIRS);
	fputs(");\n", file);
}

static int
measure_permutation(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	double by_receiver[HW_MAX_VALUES];
	int ret = read_goodputs(of, dir, by_receiver, err);

	memcpy(values, by_receiver + PAIRS, PAIRS * sizeof(*values));
	return ret < 0 ? ret : PAIRS;
}

static const struct hw_row permutation_rows[] = {
	{ &pfc, "some 390, some a half or a third of it", 130, 390 },
	{ &pfc_8, "little better than with 1 QP", 0, 0 },
	{ &dcqcn, "as without DCQCN", 130, 390 },
	{ &dcqcn_8, "better than PFC alone", 0, 0 },
	{ &sprayed, "390 for all (MRC)", 380, LINE_GBPS },
};

/* ---- links that are cut one after another ---- */

/*
 * Four hosts of a rack send to hosts of the three others. Each quarter of the run begins with one more of their leaf's four
 * uplinks down. A quarter stands for a second: NICs' timeout and the switches' convergence are scaled as it is.
 */
#define UPLINKS 4
#define QUARTER_US 1e6
#define TIMEOUT_US 67e3
#define CONVERGENCE_US 100e3

static void
write_links(const struct hw_case *of, FILE *file)
{
	static const uint32_t receivers[UPLINKS] = { 4, 8, 12, 5 };
	double quarter_us = of->duration_us / 4.0;
	struct prng prng;

	prng_init(&prng, of->seed, 2);
	fputs(RACKS "flows = (\n", file);
	for (uint32_t src = 0; src < UPLINKS; src++)
		put_flow(file, of, &prng, src, receivers[src], src + 1 == UPLINKS);
	fprintf(file, ");\nrouting = { convergence = \"%.0fus\"; };\nfaults = (\n",
		CONVERGENCE_US * quarter_us / QUARTER_US);
	for (uint32_t i = 1; i < UPLINKS; i++)
		fprintf(file, "  { kind = \"link-down\"; port = \"l0:%u\"; start = \"%.0fus\"; }%s\n", UPLINKS + i,
			i * quarter_us, i + 1 < UPLINKS ? "," : "");
	fputs(");\n", file);
}

/*
 * Measures the goodput relative to the links that are up: over the run, these carry as much as one link does in ten
 * quarters.
 */
static int
measure_links(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	double by_receiver[HW_MAX_VALUES], all = 0;
	int ret = read_goodputs(of, dir, by_receiver, err);

	for (uint32_t i = 0; i < HW_MAX_VALUES; i++)
		all += by_receiver[i];
	values[0] = 100 * all / (LINE_GBPS * (4 + 3 + 2 + 1) / 4);
	return ret < 0 ? ret : 1;
}

#define NO_FIGURE "no published figure found"

static const struct hw_row links_rows[] = {
	{ &pfc, NO_FIGURE, 0, 0 },
	{ &pfc_8, NO_FIGURE, 0, 0 },
	{ &dcqcn, NO_FIGURE, 0, 0 },
	{ &dcqcn_8, NO_FIGURE, 0, 0 },
	{ &sprayed, "MRC rides out failures of links", 0, 0 },
};

/* ---- a ring over 64 ranks, by queue pairs ---- */

#define RANKS 64
#define RING_BYTES 64000000.0
#define FABRIC                                                                                                             \
	"topology = { kind = \"leaf-spine\"; leaves = 16; spines = 4; hosts_per_leaf = 4; rate = \"400Gbps\"; delay = "    \
	"\"500ns\"; };\n"

/* Each rank's neighbour is in another rack. */
static void
write_ring(const struct hw_case *of, FILE *file)
{
	fprintf(file,
		FABRIC
		"collectives = ( { op = \"allreduce\"; algorithm = \"ring\"; bytes = %.0f; ranks = [ \"h[0-63]\" ]; stride "
		"= 5; "
		"channels = %u; } );\n",
		RING_BYTES, of->row->transport->qps);
}

/* @return the time of the run's only job; 0 with err set: it did not end */
static double
job_ns(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	json_t *run, *job;
	double took_ns;

	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	run = input_json(path, 0, NULL);
	job = json_array_get(json_object_get(run, "jobs"), 0);
	took_ns = json_number_value(json_object_get(job, "end_ns")) - json_number_value(json_object_get(job, "start_ns"));
	json_decref(run);
	if (took_ns > 0)
		return took_ns;
	err_set(err, -EINVAL, "%s: has no job that ended; remove the folder", path);
	return 0;
}

/* The bus bandwidth, as a part of a link's rate. @param factor  as nccl-tests has it */
static int
measure_bus(const char *dir, double bytes, double factor, double *values, struct err *err)
{
	double took_ns = job_ns(dir, err);

	values[0] = took_ns > 0 ? 100 * (factor * bytes * 8 / took_ns) / LINE_GBPS : 0;
	return took_ns > 0 ? 1 : -EINVAL;
}

static int
measure_ring(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	(void)of;
	return measure_bus(dir, RING_BYTES, 2 * (RANKS - 1.0) / RANKS, values, err);
}

static const struct hw_row ring_rows[] = {
	{ &pfc, "RoCE, 1 QP: about half of the possible rate", 0, 0 },
	{ &pfc_8, "RoCE, 8 QPs: the most", 0, 0 },
	{ &pfc_16, "no gain beyond 8 QPs", 0, 0 },
	{ &dcqcn, "as above: the source does not state DCQCN's part", 0, 0 },
	{ &dcqcn_8, "", 0, 0 },
	{ &dcqcn_16, "", 0, 0 },
	{ &sprayed, "", 0, 0 },
};

/* ---- an AllToAll of 64 ranks, by queue pairs ---- */

#define ALLTOALL_BYTES 16000000.0

static void
write_alltoall(const struct hw_case *of, FILE *file)
{
	fprintf(file,
		FABRIC
		"collectives = ( { op = \"alltoall\"; algorithm = \"linear\"; bytes = %.0f; ranks = [ \"h[0-63]\" ]; "
		"channels = %u; } );\n",
		ALLTOALL_BYTES, of->row->transport->qps);
}

static int
measure_alltoall(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	(void)of;
	return measure_bus(dir, ALLTOALL_BYTES, (RANKS - 1.0) / RANKS, values, err);
}

#define GRAPH_ALONE "in a graph without values (figure 17)"

static const struct hw_row alltoall_rows[] = {
	{ &pfc, GRAPH_ALONE, 0, 0 },     { &pfc_4, GRAPH_ALONE, 0, 0 },   { &dcqcn, GRAPH_ALONE, 0, 0 },
	{ &dcqcn_4, GRAPH_ALONE, 0, 0 }, { &sprayed, GRAPH_ALONE, 0, 0 },
};

/* ---- DCQCN's parameters, one by one ---- */

/* A value of another document, in place of the profiles': with one QP a sender, and with eight. */
#define TRIAL(name_, doc_, host_, sw_)                                                                                     \
	{ .name = "1qp-" name_, .doc = doc_ ", 1 QP", .cc = "dcqcn", .qps = 1, .host = (host_), .sw = (sw_) },             \
	{                                                                                                                  \
		.name = "8qp-" name_, .doc = doc_ ", 8 QPs", .cc = "dcqcn", .qps = 8, .host = (host_), .sw = (sw_)         \
	}
#define PARAMETER(key, value) "dcqcn = { " key " = " value "; };"

static const struct hw_transport trials[] = {
	TRIAL("profiles", "the profiles' values", NULL, NULL),
	TRIAL("cnp-port", "cnp_scope port", PARAMETER("cnp_scope", "\"port\""), NULL),
	TRIAL("cnp-50us", "cnp_interval 50us", PARAMETER("cnp_interval", "\"50us\""), NULL),
	TRIAL("limiter", "rate_at_once false", "rate_at_once = false;", NULL),
	TRIAL("alpha-55us", "alpha_interval 55us", PARAMETER("alpha_interval", "\"55us\""), NULL),
	TRIAL("g-256", "g 1/256", PARAMETER("g", "0.00390625"), NULL),
	TRIAL("decrease-50us", "decrease_interval 50us", PARAMETER("decrease_interval", "\"50us\""), NULL),
	TRIAL("bytes-none", "byte_reset 0", PARAMETER("byte_reset", "0"), NULL),
	TRIAL("bytes-10mb", "byte_reset 10MB", PARAMETER("byte_reset", "\"10MB\""), NULL),
	TRIAL("timer-55us", "increase_timer 55us", PARAMETER("increase_timer", "\"55us\""), NULL),
	TRIAL("ai-40mbps", "ai 40Mbps", PARAMETER("ai", "\"40Mbps\""), NULL),
	TRIAL("recovery-5", "fast_recovery 5", PARAMETER("fast_recovery", "5"), NULL),
	TRIAL("clamp", "clamp_target true", PARAMETER("clamp_target", "true"), NULL),
	TRIAL("min-100mbps", "min_rate 100Mbps", PARAMETER("min_rate", "\"100Mbps\""), NULL),
	TRIAL("ecn-1mb", "ECN 1 to 2 MiB, 5 %", NULL, "ecn = { kmin = \"1MiB\"; kmax = \"2MiB\"; };"),
	TRIAL("ecn-cumulus", "ECN at 1501500 B", NULL, "ecn = { kmin = 1501500; kmax = 1501500; };"),
	TRIAL("ecn-dcqcn", "ECN 5 to 200 KB, 1 %", NULL, "ecn = { kmin = \"5KB\"; kmax = \"200KB\"; pmax = 0.01; };"),
};

#define DCQCN_PAPER "Zhu et al., SIGCOMM 2015"
#define SOURCE_OF(index, text)                                                                                             \
	{ &trials[2 * (index)], text, 0, 0 },                                                                              \
	{                                                                                                                  \
		&trials[2 * (index) + 1], text, 0, 0                                                                       \
	}

static const struct hw_row trial_rows[] = {
	SOURCE_OF(0, "docs/profiles.md"),
	SOURCE_OF(1, "mstflint: MIN_TIME_BETWEEN_CNPS is a port's"),
	SOURCE_OF(2, DCQCN_PAPER ", 3.1: N"),
	SOURCE_OF(3, "a limiter that takes a new rate from the next packet on"),
	SOURCE_OF(4, DCQCN_PAPER ", 3.1: K"),
	SOURCE_OF(5, DCQCN_PAPER ", figure 14: g"),
	SOURCE_OF(6, DCQCN_PAPER ", 3.1: a decrease a CNP"),
	SOURCE_OF(7, "mlxconfig: 0 disables it"),
	SOURCE_OF(8, DCQCN_PAPER ", figure 14: B"),
	SOURCE_OF(9, DCQCN_PAPER ", figure 14: T"),
	SOURCE_OF(10, DCQCN_PAPER ", 3.1: R_AI"),
	SOURCE_OF(11, DCQCN_PAPER ", 3.1: F"),
	SOURCE_OF(12, "mlxconfig: CLAMP_TGT_RATE 1"),
	SOURCE_OF(13, "ns-3 model of HPCC: RateBound"),
	SOURCE_OF(14, "SONiC, qos_config.j2: AZURE_LOSSLESS"),
	SOURCE_OF(15, "NVIDIA Cumulus, RoCE: ECN threshold"),
	SOURCE_OF(16, DCQCN_PAPER ", figure 14: Kmin, Kmax, Pmax"),
};

_Static_assert(ARRAY_LEN(trial_rows) == ARRAY_LEN(trials), "a source a value");
_Static_assert(ARRAY_LEN(trial_rows) <= HW_MAX_ROWS, "HW_MAX_ROWS");

#define ROWS(rows_) .rows = (rows_), .nrows = ARRAY_LEN(rows_)

const struct hw_experiment hw_experiments[] = {
	{ .name = "victim",
	  .doc = "goodput of a flow to an idle node beside the target of a 7-to-1 incast across spines",
	  .source = MRC ", 5.2.8: Tomahawk 5, Thor Ultra",
	  .unit = "Gbps",
	  .note = "buffer thresholds, delays, the QPs' depth and DCQCN's parameters",
	  .write = write_victim,
	  .measure = measure_victim,
	  ROWS(victim_rows) },
	{ .name = "permutation",
	  .doc = "goodput of eight flows from two racks to two others",
	  .source = MRC ", figure 20",
	  .unit = "Gbps",
	  .note = "as above",
	  .write = write_permutation,
	  .measure = measure_permutation,
	  ROWS(permutation_rows) },
	{ .name = "ring",
	  .doc = "bus bandwidth of a ring AllReduce over 64 ranks, 64 MB, by queue pairs between neighbours",
	  .source = MRC ", 5.2.7, figure 16, a graph: Tomahawk 5, AMD Pollara (Thor Ultra here)",
	  .unit = "% of the link",
	  .note = "the order of ranks (here each neighbour is in another rack), the number of racks, one plane, not four",
	  .write = write_ring,
	  .measure = measure_ring,
	  ROWS(ring_rows) },
	{ .name = "alltoall",
	  .doc = "bus bandwidth of an AllToAll of 64 ranks, 16 MB, all pairs at once, by queue pairs of a pair",
	  .source = MRC ", 5.2.7, figure 17, a graph: Tomahawk 5, AMD Pollara (Thor Ultra here)",
	  .unit = "% of the link",
	  .note = "as above; more than 4 queue pairs a pair are more than a run of minutes carries",
	  .write = write_alltoall,
	  .measure = measure_alltoall,
	  ROWS(alltoall_rows) },
	{ .name = "links",
	  .doc = "goodput of a rack's four hosts while its four uplinks but one fail one after another",
	  .source = MRC ", its failures of links",
	  .unit = "% of what the links carry that are up",
	  .note = "a second between two cuts, convergence in 100 ms, timeout 67 ms; all scaled to a quarter of --duration "
		  "a "
		  "second",
	  .write = write_links,
	  .measure = measure_links,
	  ROWS(links_rows) },
	{ .name = "dcqcn",
	  .doc = "the victim's goodput with one parameter of DCQCN, or of marking, of another document; published: what "
		 "the "
		 "value is from",
	  .source = MRC ", 5.2.8: with 1 QP 293, about 25 % less than the link's rate",
	  .unit = "Gbps",
	  .note = "which algorithm and values the NICs had",
	  .write = write_victim,
	  .measure = measure_victim,
	  ROWS(trial_rows) },
};
const uint32_t hw_nexperiments = ARRAY_LEN(hw_experiments);

void
hw_write(const struct hw_experiment *experiment, const struct hw_case *of, FILE *file)
{
	const struct hw_transport *transport = of->row->transport;

	fprintf(file, "// %s: %s (%s)\n", experiment->name, transport->doc, experiment->source);
	fprintf(file, "name = \"%s\";\nseed = %" PRIu64 "L;\n", experiment->name, of->seed);
	fprintf(file,
		"switch = { profile = \"" SWITCH "\"; %s};\nhost = { profile = \"" NIC "\"; mtu = %d; cc = \"%s\";%s%s%s",
		transport->sw != NULL ? transport->sw : "", MTU, transport->cc,
		transport->sprayed ? " transport = \"selective\";" : "", transport->host != NULL ? " " : "",
		transport->host != NULL ? transport->host : "");
	if (experiment->write == write_links)
		fprintf(file, " timeout = \"%.0fus\";", TIMEOUT_US * (of->duration_us / 4.0) / QUARTER_US);
	fputs(" };\n", file);
	if (transport->sprayed)
		fputs("load_balancing = { kind = \"adaptive\"; };\n", file);
	if (experiment->write != write_ring && experiment->write != write_alltoall)
		fprintf(file, "limits = { virtual_time = \"%uus\"; };\n", of->duration_us);
	experiment->write(of, file);
}
