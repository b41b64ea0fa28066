/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "common/grow.h"
#include "telemetry/volumes/judge.h"

#define DEFAULT_PPM 10000 /* threshold and tolerance */

/* One leaf, and which rows are its senders'. */
struct leaf {
	const struct fp_grid *grid;
	uint32_t number;
	uint32_t rows[FP_MAX_LEAVES]; /* [count] */
	uint16_t count;
	struct judge judge;
	struct volume_count *counts; /* [paths * count] */
};

static uint32_t
ppm(double share)
{
	return (uint32_t)(share * DETECT_PPM + 0.5);
}

/* Fills in an iteration. @return whether anything was predicted of it */
static bool
load(struct leaf *leaf, uint32_t iteration)
{
	uint64_t predicted = 0;

	for (uint16_t s = 0; s < leaf->count; s++)
		for (uint16_t path = 0; path < leaf->grid->paths; path++) {
			const struct fp_cell *cell = fp_cell(leaf->grid, iteration, leaf->rows[s], path);
			uint32_t at = volumes_cell(&leaf->judge.volumes, path, s);

			leaf->counts[at] = (struct volume_count){ cell->bytes.seen, cell->packets };
			leaf->judge.predict.bytes[at] = cell->bytes.predicted;
			predicted += cell->bytes.predicted;
		}
	return predicted != 0;
}

static void
take(const struct leaf *leaf, uint32_t iteration, struct fp_outcome *outcome)
{
	for (uint32_t i = 0; i < leaf->judge.nalarms; i++) {
		const struct judge_alarm *alarm = &leaf->judge.alarms[i];
		const struct locate_place *place = &alarm->place;

		outcome->alarms =
			grow(outcome->alarms, &outcome->cap, outcome->count + 1, sizeof(*outcome->alarms), "alarms");
		outcome->alarms[outcome->count++] = (struct fp_alarm){
			.iteration = iteration,
			.leaf = leaf->number,
			.path = alarm->port,
			.sender = place->sender != VOLUMES_NO_SENDER ? leaf->judge.volumes.keys[place->sender] : FP_NO_LEAF,
			.place = place->where,
			.drop_ppm = ppm(place->drop),
			.low_ppm = ppm(place->drop_low),
			.high_ppm = ppm(place->drop_high),
		};
	}
}

static int
begin(struct leaf *leaf, enum rec_detector detector)
{
	const struct judge_config config = {
		.volumes = { .ports = (uint16_t)leaf->grid->paths, .senders = leaf->count, .grace_ps = 1, .idle_ps = 1 },
		.predict = { .source = PREDICT_DECLARED, .learn = 1 },
		.threshold_ppm = DEFAULT_PPM,
		.tolerance_ppm = DEFAULT_PPM,
		.scores = { .detector = detector, .rate = FP_REPLAY_RATE },
	};
	int ret = judge_init(&leaf->judge, &config);

	leaf->counts = calloc((size_t)leaf->grid->paths * leaf->count, sizeof(*leaf->counts));
	if (leaf->counts == NULL)
		ret = -ENOMEM;
	for (uint16_t s = 0; ret == 0 && s < leaf->count; s++) {
		volumes_sender(&leaf->judge.volumes, leaf->grid->rows[leaf->rows[s]].sender);
		for (uint16_t path = 0; path < leaf->grid->paths; path++)
			leaf->judge.scores.lost[volumes_cell(&leaf->judge.volumes, path, s)] =
				leaf->grid->lost[leaf->rows[s] * leaf->grid->paths + path];
	}
	return ret;
}

static int
replay_leaf(struct leaf *leaf, enum rec_detector detector, struct fp_outcome *outcome)
{
	int ret = begin(leaf, detector);

	for (uint32_t i = 0; ret == 0 && i < leaf->grid->iterations; i++) {
		struct volumes_slot slot = { .used = true, .iteration = i, .counts = leaf->counts };

		if (!load(leaf, i))
			continue;
		judge_iteration(&leaf->judge, &slot);
		take(leaf, i, outcome);
	}
	judge_fini(&leaf->judge);
	free(leaf->counts);
	return ret;
}

int
fp_replay(const struct fp_grid *grid, enum rec_detector detector, struct fp_outcome *outcome)
{
	int ret = 0;

	*outcome = (struct fp_outcome){ 0 };
	for (uint32_t number = 0; ret == 0 && number < FP_MAX_LEAVES; number++) {
		struct leaf leaf = { .grid = grid, .number = number };

		for (uint32_t row = 0; row < grid->nrows; row++)
			if (grid->rows[row].leaf == number)
				leaf.rows[leaf.count++] = row;
		if (leaf.count != 0)
			ret = replay_leaf(&leaf, detector, outcome);
	}
	return ret;
}
