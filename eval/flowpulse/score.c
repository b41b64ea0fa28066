/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/volumes/detect_noise.h"

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

/* The row's noise in an iteration, as known before it; of the very first, as the iteration itself has it. */
static struct detect_noise
noise_at(const struct active *active, const struct detect_trim *trim, struct detect_learned *learned, double *missing,
	 double predicted, bool is_random)
{
	double room[FP_MAX_PATHS];

	if (is_random)
		return detect_noise_random(predicted, active->count);
	memcpy(room, missing, active->count * sizeof(*room));
	return detect_noise_before(learned, trim, room);
}

/* Calls each() for every port and iteration of a row, with what is missing. */
static void
each_score(const struct fp_grid *grid, uint32_t row, bool is_random,
	   void (*each)(void *ctx, uint32_t iteration, uint32_t path, double missing, const struct detect_noise *noise),
	   void *ctx)
{
	struct detect_learned learned = { 0 };
	double missing[FP_MAX_PATHS];
	struct detect_trim trim;
	struct active active;

	find_active(grid, row, &active);
	if (active.count < DETECT_MIN_PORTS)
		return;
	detect_trim_init(&trim, active.count);
	for (uint32_t i = 0; i < grid->iterations; i++) {
		struct detect_noise noise;
		double predicted = 0;
		bool is_sound = true;

		for (uint32_t a = 0; a < active.count; a++) {
			const struct fp_cell *cell = fp_cell(grid, i, row, active.paths[a]);

			missing[a] = detect_missing(&cell->bytes, active.packet_bytes);
			predicted += (double)cell->bytes.predicted / active.packet_bytes / active.count;
			is_sound &= cell->is_sound != 0;
		}
		if (!is_sound)
			continue;
		noise = noise_at(&active, &trim, &learned, missing, predicted, is_random);
		for (uint32_t a = 0; a < active.count; a++)
			each(ctx, i, active.paths[a], missing[a], &noise);
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
add_faulty(struct fp_tally *tally, const struct fp_method *method, const struct fp_grid *grid, const struct fp_fault *fault,
	   const uint8_t *found)
{
	uint32_t block = method->block != 0 ? method->block : 1;

	for (uint32_t i = 0; i < grid->iterations; i++) {
		tally->trials++;
		for (uint32_t p = 0; p < grid->paths; p++) {
			tally->found += p == fault->path && found[i * grid->paths + p] != 0;
			tally->wrong += p != fault->path && found[i * grid->paths + p] != 0;
		}
	}
	for (uint32_t first = 0; first + block <= grid->iterations; first += block) {
		uint32_t i = first;

		while (i < first + block && found[i * grid->paths + fault->path] == 0)
			i++;
		tally->blocks++;
		if (i == first + block)
			continue;
		tally->found_blocks++;
		tally->delay += i - first + 1;
		tally->delay_ps += (double)fp_cell(grid, i, fault->row, fault->path)->end_ps -
				   (first != 0 ? (double)fp_cell(grid, first - 1, fault->row, fault->path)->end_ps : 0);
	}
}

int
fp_tally_add(struct fp_tally *tally, const struct fp_method *method, const struct fp_grid *grid,
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
			add_faulty(tally, method, grid, fault, found);
			continue;
		}
		tally->clean += grid->iterations;
		for (size_t c = 0; c < cells; c++) {
			tally->ports += fp_cell(grid, (uint32_t)(c / grid->paths), row, (uint32_t)(c % grid->paths))
						->bytes.predicted != 0;
			tally->false_ports += found[c] != 0;
			alarmed[c / grid->paths] |= found[c] != 0;
		}
	}
	for (uint32_t i = 0; i < grid->iterations; i++) {
		tally->iterations++;
		tally->false_iterations += alarmed[i];
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
