/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/hardware/study.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "common/array.h"
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

static const struct hw_transport pfc = { "pfc-1qp", "PFC, 1 QP", "none", 1, false },
				 pfc_8 = { "pfc-8qp", "PFC, 8 QPs", "none", 8, false },
				 pfc_16 = { "pfc-16qp", "PFC, 16 QPs", "none", 16, false },
				 dcqcn = { "dcqcn-1qp", "PFC and DCQCN, 1 QP", "dcqcn", 1, false },
				 dcqcn_8 = { "dcqcn-8qp", "PFC and DCQCN, 8 QPs", "dcqcn", 8, false },
				 dcqcn_16 = { "dcqcn-16qp", "PFC and DCQCN, 16 QPs", "dcqcn", 16, false },
				 sprayed = { "sprayed", "sprayed, selective repeat, DCQCN", "dcqcn", 1, true };

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
	file = fopen(path, "r");
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

/* ---- a ring over 64 ranks, by queue pairs ---- */

#define RANKS 64
#define RING_BYTES 64000000.0

/* Each rank's neighbour is in another rack. */
static void
write_ring(const struct hw_case *of, FILE *file)
{
	fprintf(file,
		"topology = { kind = \"leaf-spine\"; leaves = 16; spines = 4; hosts_per_leaf = 4; rate = \"400Gbps\"; "
		"delay = "
		"\"500ns\"; };\n"
		"collectives = ( { op = \"allreduce\"; algorithm = \"ring\"; bytes = %.0f; ranks = [ \"h[0-63]\" ]; stride "
		"= 5; "
		"channels = %u; } );\n",
		RING_BYTES, of->row->transport->qps);
}

/* The bus bandwidth, as a part of a link's rate. */
static int
measure_ring(const struct hw_case *of, const char *dir, double *values, struct err *err)
{
	char path[PATH_MAX];
	json_t *run, *job;
	double took_ns;

	(void)of;
	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	run = json_load_file(path, 0, NULL);
	job = json_array_get(json_object_get(run, "jobs"), 0);
	took_ns = json_number_value(json_object_get(job, "end_ns")) - json_number_value(json_object_get(job, "start_ns"));
	json_decref(run);
	if (took_ns <= 0)
		return err_set(err, -EINVAL, "%s: has no job that ended; remove the folder", path);
	values[0] = 100 * (2 * (RANKS - 1.0) / RANKS * RING_BYTES * 8 / took_ns) / LINE_GBPS;
	return 1;
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
	  .source = MRC ", figure 16",
	  .unit = "% of the link",
	  .note = "the order of ranks (here each neighbour is in another rack), the number of racks, the message size",
	  .write = write_ring,
	  .measure = measure_ring,
	  ROWS(ring_rows) },
};
const uint32_t hw_nexperiments = ARRAY_LEN(hw_experiments);

void
hw_write(const struct hw_experiment *experiment, const struct hw_case *of, FILE *file)
{
	const struct hw_transport *transport = of->row->transport;

	fprintf(file, "// %s: %s (%s)\n", experiment->name, transport->doc, experiment->source);
	fprintf(file, "name = \"%s\";\nseed = %" PRIu64 "L;\n", experiment->name, of->seed);
	fprintf(file,
		"switch = { profile = \"" SWITCH "\"; };\nhost = { profile = \"" NIC "\"; mtu = %d; cc = \"%s\";%s };\n",
		MTU, transport->cc, transport->sprayed ? " transport = \"selective\";" : "");
	if (transport->sprayed)
		fputs("load_balancing = { kind = \"adaptive\"; };\n", file);
	if (experiment->write != write_ring)
		fprintf(file, "limits = { virtual_time = \"%uus\"; };\n", of->duration_us);
	experiment->write(of, file);
}
