/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

const struct fp_method_ops fp_threshold = { "threshold", "a share of what is predicted", judge_threshold, false };
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
