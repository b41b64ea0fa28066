/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/hash.h"
#include "common/outfile.h"
#include "common/prng.h"
#include "eval/flowpulse/score.h"

#define WIRE_BYTES (FP_MTU_BYTES + 90.0) /* of a packet, about */
#define RATE_GBPS 100.0
#define STEP_NS 10000.0 /* of a step without data, about */
#define OTHERS_LAST 3.0 /* times the duration of the iterations alone: beside other data they take longer */

static uint32_t
ranks_of(const struct fp_spec *spec)
{
	return spec->fabric.leaves * spec->fabric.hosts_per_leaf;
}

/* Packets of one step. */
static uint64_t
step_packets(const struct fp_spec *spec)
{
	double packets = round(spec->packets * spec->fabric.spines / (ranks_of(spec) - 1));

	return packets > 1 ? (uint64_t)packets : 1;
}

double
fp_spec_packets(const struct fp_spec *spec)
{
	return (double)step_packets(spec) * (ranks_of(spec) - 1) / spec->fabric.spines;
}

void
fp_spec_point(const struct fp_spec *spec, char point[FP_NAME])
{
	snprintf(point, FP_NAME, "%ux%u-%s-%.0f", spec->fabric.leaves, spec->fabric.spines, spec->spraying,
		 fp_spec_packets(spec));
}

void
fp_spec_name(const struct fp_spec *spec, char name[FP_NAME])
{
	char point[FP_NAME];

	fp_spec_point(spec, point);
	snprintf(name, FP_NAME, "%s%s%s-%.80s-%u-%" PRIu64, spec->purpose, spec->export != NULL ? "-" : "",
		 spec->export != NULL ? spec->export : "", point, spec->iterations, spec->seed);
}

uint32_t
fp_spec_faults(const struct fp_spec *spec, struct fp_fault *faults)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < spec->nlinks; i++)
		if (!spec->links[i].is_known)
			faults[count++] = (struct fp_fault){ spec->links[i].row, spec->links[i].path, spec->links[i].drop };
	return count;
}

void
fp_spec_note_losses(const struct fp_spec *spec, struct fp_grid *grid)
{
	uint32_t leaves = spec->fabric.leaves;

	for (uint32_t i = 0; i < spec->nlinks; i++) {
		const struct fp_link *link = &spec->links[i];
		uint32_t sender = (link->row + leaves - 1) % leaves;

		for (uint32_t row = 0; row < grid->nrows && link->is_known && link->path < grid->paths; row++) {
			float *lost = &grid->lost[row * grid->paths + link->path];

			if (link->is_up ? grid->rows[row].sender == sender : grid->rows[row].leaf == link->row)
				*lost = (float)(1 - (1 - (double)*lost) * (1 - link->drop));
		}
	}
}

static bool
is_down(const struct fp_spec *spec, uint32_t row, uint32_t path)
{
	for (uint32_t i = 0; i < spec->nlinks; i++)
		if (spec->links[i].is_known && spec->links[i].path == path &&
		    (spec->links[i].row == row || (spec->links[i].row + 1) % spec->fabric.leaves == row))
			return true;
	return false;
}

void
fp_spec_add_faults(struct fp_spec *spec, const double *drops, uint32_t ndrops)
{
	/* With more rates than rows the next run continues where this one ends: all rates have their turn. */
	uint64_t rows = spec->fabric.leaves / 2, turn = rows < ndrops ? spec->seed * rows : spec->seed / 2;
	struct prng prng;

	prng_init(&prng, spec->seed, spec->fabric.leaves);
	for (uint32_t row = spec->seed % 2; row < spec->fabric.leaves && spec->nlinks < FP_MAX_FAULTS; row += 2) {
		uint32_t path = (uint32_t)prng_below(&prng, spec->fabric.spines);

		while (is_down(spec, row, path))
			path = (path + 1) % spec->fabric.spines;
		spec->links[spec->nlinks++] = (struct fp_link){
			.row = row, .path = path, .is_up = prng_next(&prng) & 1, .drop = drops[(row / 2 + turn) % ndrops]
		};
	}
}

/* Time of a number of iterations, about: steps one after another, each its data and the delay of its path once. */
static double
time_ns(const struct fp_spec *spec, double iterations)
{
	return iterations * (ranks_of(spec) - 1) * ((double)step_packets(spec) * WIRE_BYTES * 8 / RATE_GBPS + STEP_NS);
}

static void
write_link(const struct fp_spec *spec, const struct fp_link *link, FILE *to)
{
	uint32_t leaves = spec->fabric.leaves, sender = (link->row + leaves - 1) % leaves;

	if (link->is_fib) {
		fprintf(to, "  { kind = \"fib-corruption\"; switch = \"s%u\"; src = \"h%u\"; dst = \"h%u\"; }", link->path,
			sender * spec->fabric.hosts_per_leaf, link->row * spec->fabric.hosts_per_leaf);
		return;
	}
	if (link->is_known && link->drop == 0)
		fprintf(to, "  { kind = \"link-down\"; known = true; ");
	else
		fprintf(to, "  { kind = \"loss\"; silent = true; %srate = %.9g; ", link->is_known ? "known = true; " : "",
			link->drop);
	if (link->iterations > 0)
		fprintf(to, "duration = \"%.0fns\"; ", time_ns(spec, link->iterations));
	if (link->is_up)
		fprintf(to, "port = \"l%u:%u\"; }", sender, spec->fabric.hosts_per_leaf + link->path + 1);
	else
		fprintf(to, "port = \"s%u:%u\"; }", link->path, link->row + 1);
}

static void
write_text(const struct fp_spec *spec, FILE *to)
{
	const struct fp_fabric *fabric = &spec->fabric;

	fprintf(to, "seed = %" PRIu64 "L;\n", spec->seed % PRNG_SEEDS);
	fprintf(to,
		"topology = { kind = \"leaf-spine\"; leaves = %u; spines = %u; hosts_per_leaf = %u; rate = \"%.0fGbps\"; "
		"delay = \"1us\"; };\n",
		fabric->leaves, fabric->spines, fabric->hosts_per_leaf, RATE_GBPS);
	fprintf(to, "load_balancing = { kind = \"%s\"; };\n", spec->spraying);
	fprintf(to, "host = { transport = \"selective\"; cc = \"none\"; mtu = %d; %s};\n", FP_MTU_BYTES,
		spec->own_class ? "measured_prio = 5; " : "");
	if (spec->own_class)
		fprintf(to, "switch = { strict = [ \"5\" ]; pfc = { priorities = [ \"3\", \"5\" ]; }; };\n");
	if (spec->load > 0)
		fprintf(to,
			"generators = ( { kind = \"poisson\"; sizes = \"websearch\"; load = %.3g; until = \"%.0fns\"; } "
			");\n",
			spec->load, time_ns(spec, OTHERS_LAST * spec->iterations));
	fprintf(to, "jobs = (\n  { name = \"ring\"; iterations = %u; measured = true; collectives = (\n", spec->iterations);
	for (uint32_t ring = 0; ring < spec->rings; ring++)
		fprintf(to,
			"      { op = \"allgather\"; algorithm = \"ring\"; step_bytes = %" PRIu64 "; stride = %d; }%s\n",
			step_packets(spec) * FP_MTU_BYTES,
			ring != 0           ? FP_STRIDE
			: spec->stride != 0 ? (int)spec->stride
					    : 1,
			ring + 1 < spec->rings ? "," : "");
	fprintf(to, "  ); }\n);\n");
	fprintf(to, "flowpulse = { enabled = true; prediction = \"%s\"; export = \"%s\"; };\n", spec->prediction,
		spec->export != NULL ? spec->export : "counts");
	fprintf(to, "detection = { policy = \"off\"; };\nexporter = { budget = \"0B\"; };\n");
	if (spec->nlinks == 0)
		return;
	fprintf(to, "faults = (\n");
	for (uint32_t i = 0; i < spec->nlinks; i++) {
		write_link(spec, &spec->links[i], to);
		fprintf(to, "%s\n", i + 1 < spec->nlinks ? "," : "");
	}
	fprintf(to, ");\n");
}

int
fp_spec_write(const struct fp_spec *spec, const char *dir, struct err *err)
{
	struct outfile out;
	int ret = outfile_open(&out, dir, "case.cfg", err);

	if (ret < 0)
		return ret;
	write_text(spec, out.file);
	return outfile_close(&out, 0, err);
}
