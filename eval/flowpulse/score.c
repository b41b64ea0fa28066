/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/study.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/outfile.h"
#include "common/prng.h"
#include "telemetry/volumes/detect.h"

/* Paths of a row that something is predicted of. */
struct active {
	uint32_t paths[FP_MAX_PATHS], count;
	double packet_bytes;
};

static void
find_active(const struct fp_grid *grid, uint32_t row, struct active *active)
{
	double bytes = 0, packets = 0;

	active->count = 0;
	for (uint32_t i = 0; i < grid->iterations; i++)
		for (uint32_t p = 0; p < grid->paths; p++) {
			bytes += (double)fp_cell(grid, i, row, p)->bytes.seen;
			packets += (double)fp_cell(grid, i, row, p)->packets;
		}
	for (uint32_t p = 0; p < grid->paths && grid->iterations != 0; p++)
		if (fp_cell(grid, grid->iterations - 1, row, p)->bytes.predicted != 0)
			active->paths[active->count++] = p;
	active->packet_bytes = packets > 0 ? bytes / packets : 1;
}

static void
judge_threshold(const struct fp_method *method, const struct detect_cusum_limits *limits, const struct fp_grid *grid,
		uint32_t row, uint8_t *found)
{
	for (uint32_t i = 0; i < grid->iterations; i++)
		for (uint32_t p = 0; p < grid->paths; p++) {
			const struct fp_cell *cell = fp_cell(grid, i, row, p);

			found[i * grid->paths + p] =
				cell->is_sound &&
				detect_threshold(&cell->bytes, (uint32_t)lround(method->threshold * DETECT_PPM));
		}
}

/* One iteration of a row, by its active paths. */
struct scoring {
	struct active active;
	double missing[FP_MAX_PATHS], packets[FP_MAX_PATHS]; /* [active.count] packets */
	float lost[FP_MAX_PATHS];                            /* [active.count] as is known */
	struct detect_losses losses;
	bool is_random;
	struct detect_ports ports;
	struct detect_learned learned;
	struct detect_trim trims[FP_MAX_PATHS + 1];
	float squares[FP_MAX_PATHS];
};

/* @return whether the iteration can be compared */
static bool
load_iteration(struct scoring *scoring, const struct fp_grid *grid, uint32_t iteration, uint32_t row)
{
	const struct active *active = &scoring->active;
	bool is_sound = true;

	scoring->losses = (struct detect_losses){ 0 };
	for (uint32_t a = 0; a < active->count; a++) {
		const struct fp_cell *cell = fp_cell(grid, iteration, row, active->paths[a]);

		scoring->missing[a] = detect_missing(&cell->bytes, active->packet_bytes);
		scoring->packets[a] = (double)cell->bytes.predicted / active->packet_bytes;
		scoring->lost[a] = grid->lost[row * grid->paths + active->paths[a]];
		scoring->losses.packets += scoring->packets[a];
		scoring->losses.variance += scoring->packets[a] * (double)scoring->lost[a];
		is_sound &= cell->is_sound != 0;
	}
	return is_sound;
}

/* A port's noise, as spraying has it or as learned. */
static struct detect_noise
noise_at(const struct scoring *scoring, uint32_t at)
{
	struct detect_noise noise;

	if (scoring->is_random)
		return detect_noise_random(scoring->packets[at], scoring->packets[at] / scoring->losses.packets);
	noise = detect_noise_learned(&scoring->learned, &scoring->ports, at);
	return detect_noise_lossy(&noise, &scoring->losses, scoring->packets[at], (double)scoring->lost[at]);
}

/*
 * Calls each() for every port and iteration of a row, with the missing packets and the noise as known before; of the
 * first, its own.
 */
static void
each_score(const struct fp_grid *grid, uint32_t row, bool is_random,
	   void (*each)(void *ctx, uint32_t iteration, uint32_t path, double missing, const struct detect_noise *noise),
	   void *ctx)
{
	struct scoring scoring = { .is_random = is_random };

	scoring.learned.squares = scoring.squares;
	find_active(grid, row, &scoring.active);
	if (scoring.active.count < DETECT_MIN_PORTS)
		return;
	scoring.ports =
		(struct detect_ports){ .count = scoring.active.count, .lost = scoring.lost, .trims = scoring.trims };
	for (uint32_t i = 0; i < grid->iterations; i++) {
		bool first = scoring.learned.iterations <= 0;

		if (!load_iteration(&scoring, grid, i, row))
			continue;
		if (first && !is_random)
			detect_learn(&scoring.learned, &scoring.ports, scoring.missing);
		for (uint32_t a = 0; a < scoring.active.count; a++) {
			struct detect_noise noise = noise_at(&scoring, a);

			each(ctx, i, scoring.active.paths[a], scoring.missing[a], &noise);
		}
		if (!first && !is_random)
			detect_learn(&scoring.learned, &scoring.ports, scoring.missing);
	}
}

struct judging {
	const struct fp_method *method;
	uint32_t paths;
	uint8_t *found;
	double limit;
	const struct detect_cusum_limits *limits;
	struct detect_cusum sums[FP_MAX_PATHS];
};

static void
judge_once(void *ctx, uint32_t iteration, uint32_t path, double missing, const struct detect_noise *noise)
{
	struct judging *judging = ctx;

	judging->found[iteration * judging->paths + path] = detect_score(missing, noise) > judging->limit;
}

static void
judge_pooled(void *ctx, uint32_t iteration, uint32_t path, double missing, const struct detect_noise *noise)
{
	struct judging *judging = ctx;
	uint32_t block = judging->method->block, found;

	if (block != 0 && iteration % block == 0)
		memset(&judging->sums[path], 0, sizeof(judging->sums[path]));
	found = detect_cusum_add(&judging->sums[path], judging->limits, missing, noise);
	judging->found[iteration * judging->paths + path] = (uint8_t)(found < UINT8_MAX ? found : UINT8_MAX);
}

static void
judge_row(const struct fp_method *method, const struct detect_cusum_limits *limits, const struct fp_grid *grid,
	  uint32_t row, uint8_t *found, bool is_random)
{
	struct judging judging = { .method = method, .paths = grid->paths, .found = found, .limits = limits };

	judging.limit = detect_limit(method->rate, 1);
	each_score(grid, row, is_random, method->ops->is_pooled ? judge_pooled : judge_once, &judging);
}

static void
judge_random(const struct fp_method *method, const struct detect_cusum_limits *limits, const struct fp_grid *grid,
	     uint32_t row, uint8_t *found)
{
	judge_row(method, limits, grid, row, found, true);
}

static void
judge_learned(const struct fp_method *method, const struct detect_cusum_limits *limits, const struct fp_grid *grid,
	      uint32_t row, uint8_t *found)
{
	judge_row(method, limits, grid, row, found, false);
}

const struct fp_method_ops fp_threshold = { "threshold", "a share of the predicted volume", judge_threshold, false };
const struct fp_method_ops fp_random = { "random", "noise of random spraying", judge_random, false };
const struct fp_method_ops fp_learned = { "learned", "noise that the leaf learned", judge_learned, false };
const struct fp_method_ops fp_pooled_random = { "pooled", "noise of random spraying, iterations pooled", judge_random,
						true };
const struct fp_method_ops fp_pooled_learned = { "pooled learned", "noise that the leaf learned, iterations pooled",
						 judge_learned, true };

static const struct fp_fault *
fault_of(const struct fp_fault *faults, uint32_t nfaults, uint32_t row)
{
	for (uint32_t i = 0; i < nfaults; i++)
		if (faults[i].row == row)
			return &faults[i];
	return NULL;
}

/* A row with a fault: each iteration by itself, and blocks of them until the fault is found. */
static void
add_faulty(struct fp_outcomes *outcomes, const struct fp_method *method, const struct fp_grid *grid,
	   const struct fp_fault *fault, const uint8_t *found)
{
	uint32_t block = method->block != 0 ? method->block : 1, begin = (uint32_t)(method->after * grid->iterations);

	for (uint32_t i = begin; i < grid->iterations; i++) {
		outcomes->trials++;
		for (uint32_t p = 0; p < grid->paths; p++) {
			outcomes->found += p == fault->path && found[i * grid->paths + p] != 0;
			outcomes->wrong += p != fault->path && found[i * grid->paths + p] != 0;
		}
	}
	for (uint32_t first = begin; first + block <= grid->iterations; first += block) {
		uint32_t i = first;

		while (i < first + block && found[i * grid->paths + fault->path] == 0)
			i++;
		outcomes->blocks++;
		if (i == first + block)
			continue;
		outcomes->found_blocks++;
		outcomes->delay += i - first + 1;
		outcomes->delay_ps += (double)fp_cell(grid, i, fault->row, fault->path)->end_ps -
				      (first != 0 ? (double)fp_cell(grid, first - 1, fault->row, fault->path)->end_ps : 0);
	}
}

int
fp_outcomes_add(struct fp_outcomes *outcomes, const struct fp_method *method, const struct fp_grid *grid,
		const struct fp_fault *faults, uint32_t nfaults, double drop)
{
	size_t cells = (size_t)grid->iterations * grid->paths;
	uint8_t *found = calloc(cells + 1, 1), *alarmed = calloc(grid->iterations + 1u, 1);
	struct detect_cusum_limits limits = { 0 };

	if (method->ops->is_pooled)
		detect_cusum_limits(&limits, method->rate);
	if (found == NULL || alarmed == NULL) {
		free(found);
		free(alarmed);
		return -ENOMEM;
	}
	for (uint32_t row = 0; row < grid->nrows; row++) {
		const struct fp_fault *fault = fault_of(faults, nfaults, row);

		if (fault != NULL && drop >= 0 && fault->drop != drop)
			continue;
		memset(found, 0, cells);
		method->ops->judge(method, &limits, grid, row, found);
		if (fault != NULL) {
			add_faulty(outcomes, method, grid, fault, found);
			continue;
		}
		outcomes->clean += grid->iterations;
		for (size_t c = 0; c < cells; c++) {
			outcomes->ports += fp_cell(grid, (uint32_t)(c / grid->paths), row, (uint32_t)(c % grid->paths))
						   ->bytes.predicted != 0;
			outcomes->false_ports += found[c] != 0;
			alarmed[c / grid->paths] |= found[c] != 0;
		}
	}
	for (uint32_t i = 0; i < grid->iterations; i++) {
		outcomes->iterations++;
		outcomes->false_iterations += alarmed[i];
	}
	free(found);
	free(alarmed);
	return 0;
}

void
fp_noise(const struct fp_grid *grid, uint32_t block, double *variance, double *packets)
{
	double squares = 0, predicted = 0, count = 0, blocks = 0;

	for (uint32_t row = 0; row < grid->nrows; row++) {
		struct active active;

		find_active(grid, row, &active);
		for (uint32_t a = 0; a < active.count; a++) {
			double missing = 0;

			for (uint32_t i = 0; i < grid->iterations; i++) {
				const struct volume_sample *bytes = &fp_cell(grid, i, row, active.paths[a])->bytes;

				missing += detect_missing(bytes, active.packet_bytes);
				predicted += (double)bytes->predicted / active.packet_bytes;
				count++;
				if ((i + 1) % block != 0)
					continue;
				squares += missing * missing;
				missing = 0;
				blocks++;
			}
		}
	}
	*variance = blocks > 0 ? squares / blocks : 0;
	*packets = count > 0 ? predicted / count : 0;
}

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
