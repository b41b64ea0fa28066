/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place of a fault, as in the paper's Fig. 4: which link do leaves name, by each detector? With one sender a leaf
 * it is unknown which of the two links of the path lost packets, and the pair is right; with two senders only the link
 * is. Runs use the threshold as detector; the results of the other detectors follow from the counts.
 */
#include "eval/flowpulse/study.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/wire/volume.h"
#include "eval/flowpulse/grid.h"
#include "telemetry/volumes/judge.h"

#define FP_REPLAY_RATE 1e-4 /* false alarms of a sender at a leaf in an iteration: the scenario's default */

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

#define PLACES_PACKETS 5000
#define FIB_PACKETS 1000
#define FLOWS_LEAVES 16
#define FLOWS_PACKETS 2000
#define PARTS 4          /* draws of links */
#define LEAVES_A_FAULT 8 /* far enough apart for each to be an experiment: two leaves see the loss of a sender's leaf */

#define DETECTORS ENUM_COUNT(REC_DETECTORS)
static const char *const detectors[] = { REC_DETECTORS(ENUM_NAME) };

struct places {
	uint64_t trials;              /* iterations of faults */
	uint64_t right;               /* the link, or with one sender the pair, and nothing else at that leaf */
	uint64_t vague;               /* the pair where the link was identifiable */
	uint64_t wrong;               /* another link */
	uint64_t missed;              /* no alarm */
	uint64_t clean, false_leaves; /* iterations of leaves that no fault concerns, and those of them with an alarm */
	uint64_t rates, held;         /* alarms of the right place; those whose interval holds the drop rate */
};

/* The fault is a link that drops; or a spine without the route to one leaf's host, for the packets of one other. */
struct cause {
	double drop;
	bool is_fib;
	bool is_down; /* the link is one to a leaf; else either */
};

/* The pairs of sender and receiver, and their name in rows. */
struct traffic {
	struct fp_point point;
	uint32_t rings, stride;
	uint32_t senders, flows; /* that a leaf receives of; that leave a leaf at a time */
};

static void
add_faults(struct fp_spec *spec, const struct cause *cause)
{
	struct prng prng;

	prng_init(&prng, spec->seed, LEAVES_A_FAULT);
	for (uint32_t row = 0; row < spec->fabric.leaves; row += LEAVES_A_FAULT)
		spec->links[spec->nlinks++] =
			(struct fp_link){ .row = row,
					  .path = (uint32_t)prng_below(&prng, spec->fabric.spines),
					  .is_up = !cause->is_down && ((prng_next(&prng) & 1) != 0 || cause->is_fib),
					  .is_fib = cause->is_fib,
					  .drop = cause->drop };
}

/*
 * @return whether an alarm at the link's receiver names it; with one sender, its pair. To its receiver, a spine that
 *         drops one sender's packets is the sender's link to that spine.
 */
static bool
names(const struct fp_alarm *alarm, const struct fp_spec *spec, const struct fp_link *link, uint32_t senders)
{
	uint32_t sender = (link->row + spec->fabric.leaves - 1) % spec->fabric.leaves;

	if (alarm->path != link->path)
		return false;
	if (senders == 1)
		return alarm->place == REC_LOSS_PAIR && alarm->sender == sender;
	return link->is_up ? alarm->place == REC_LOSS_REMOTE && alarm->sender == sender : alarm->place == REC_LOSS_LOCAL;
}

static void
judge(struct places *places, const struct fp_spec *spec, const struct fp_outcome *outcome, const struct fp_link *link,
      uint32_t senders, uint32_t iteration)
{
	bool right = false, vague = false, wrong = false;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct fp_alarm *alarm = &outcome->alarms[i];

		if (alarm->leaf != link->row || alarm->iteration != iteration)
			continue;
		if (names(alarm, spec, link, senders)) {
			right = true;
			places->rates++;
			places->held += alarm->low_ppm <= 1e6 * link->drop && 1e6 * link->drop <= alarm->high_ppm;
		} else if (alarm->path == link->path && alarm->place == REC_LOSS_PAIR) {
			vague = true;
		} else {
			wrong = true;
		}
	}
	places->trials++;
	places->wrong += wrong;
	places->vague += vague && !wrong;
	places->right += right && !vague && !wrong;
	places->missed += !right && !vague && !wrong;
}

/* @return whether a leaf receives data by a link that drops */
static bool
is_concerned(const struct fp_spec *spec, uint32_t leaf)
{
	for (uint32_t i = 0; i < spec->nlinks; i++) {
		uint32_t behind = (leaf + spec->fabric.leaves - spec->links[i].row) % spec->fabric.leaves;

		if (behind == 0 ||
		    (spec->rings > 1 && spec->links[i].is_up && !spec->links[i].is_fib && behind == FP_STRIDE - 1))
			return true;
	}
	return false;
}

/* Alarms of leaves that have no reason for any. */
static void
judge_clean(struct places *places, const struct fp_spec *spec, const struct fp_outcome *outcome, uint32_t iterations)
{
	uint32_t last_leaf = FP_NO_LEAF, last_iteration = 0;

	for (uint32_t leaf = 0; leaf < spec->fabric.leaves; leaf++)
		places->clean += is_concerned(spec, leaf) ? 0 : iterations;
	for (size_t i = 0; i < outcome->count; i++) {
		const struct fp_alarm *alarm = &outcome->alarms[i];

		if (is_concerned(spec, alarm->leaf) || (alarm->leaf == last_leaf && alarm->iteration == last_iteration))
			continue;
		last_leaf = alarm->leaf;
		last_iteration = alarm->iteration;
		places->false_leaves++;
	}
}

/* One run, by every detector. @return 0 or -ENOMEM */
static int
judge_run(struct places *places, const struct fp_spec *spec, const struct fp_grid *grid, uint32_t senders)
{
	int ret = 0;

	for (uint32_t d = 0; ret == 0 && d < DETECTORS; d++) {
		struct fp_outcome outcome;

		ret = fp_replay(grid, (enum rec_detector)d, &outcome);
		for (uint32_t i = 0; ret == 0 && i < grid->iterations; i++)
			for (uint32_t l = 0; l < spec->nlinks; l++)
				judge(&places[d], spec, &outcome, &spec->links[l], senders, i);
		if (ret == 0)
			judge_clean(&places[d], spec, &outcome, grid->iterations);
		free(outcome.alarms);
	}
	return ret;
}

static void
add_row(const struct fp_set *set, const char *detector, const struct traffic *traffic, double drop,
	const struct places *places, json_t *rows)
{
	json_t *row = fp_row_begin(set);

	if (traffic->flows != 0) {
		json_object_set_new(row, "hosts_a_leaf", json_integer(traffic->point.fabric.hosts_per_leaf));
		json_object_set_new(row, "flows_a_leaf", json_integer(traffic->flows));
	}
	json_object_set_new(row, "senders_a_leaf", json_integer(traffic->senders));
	json_object_set_new(row, "drop_percent", json_real(100 * drop));
	json_object_set_new(row, "detector", json_string(detector));
	json_object_set_new(row, "trials", json_integer((json_int_t)places->trials));
	fp_row_percent(row, "right_percent", places->right, places->trials);
	fp_row_percent(row, "vague_percent", places->vague, places->trials);
	fp_row_percent(row, "wrong_percent", places->wrong, places->trials);
	fp_row_percent(row, "missed_percent", places->missed, places->trials);
	fp_row_percent(row, "rate_in_interval_percent", places->held, places->rates);
	json_object_set_new(row, "clean_trials", json_integer((json_int_t)places->clean));
	fp_row_percent(row, "false_percent", places->false_leaves, places->clean);
	json_array_append_new(rows, row);
}

static int
places_of(struct fp_study *study, const char *purpose, const struct traffic *traffic, const struct cause *cause,
	  json_t *rows, struct err *err)
{
	const struct fp_point *point = &traffic->point;
	uint32_t faults = point->fabric.leaves / LEAVES_A_FAULT, iterations = (study->trials + faults - 1) / faults;
	uint32_t parts = iterations < PARTS ? iterations : PARTS;
	struct fp_set set = { .point = point, .is_ready = true };
	struct places places[DETECTORS] = { 0 };
	int ret = 0;

	for (uint32_t part = 0; ret == 0 && part < parts; part++) {
		struct fp_spec spec = { .purpose = purpose,
					.fabric = point->fabric,
					.spraying = point->spraying,
					.prediction = "analytical",
					.rings = traffic->rings,
					.stride = traffic->stride,
					.packets = point->packets * study->scale,
					.iterations = (iterations + parts - 1) / parts,
					.seed = study->seed * FP_MAX_PARTS + part };
		const struct fp_grid *grid;

		add_faults(&spec, cause);
		ret = fp_need(study, &spec, &grid, err);
		if (ret == 0 && grid != NULL && judge_run(places, &spec, grid, traffic->senders) < 0)
			ret = err_set(err, -ENOMEM, "out of memory");
		set.is_ready &= grid != NULL;
		set.packets = fp_spec_packets(&spec);
	}
	for (uint32_t d = 0; ret == 0 && set.is_ready && d < DETECTORS; d++)
		add_row(&set, detectors[d], traffic, cause->drop, &places[d], rows);
	return ret;
}

/* Rings over one host a leaf. */
static struct traffic
rings_of(uint32_t rings, double packets)
{
	return (struct traffic){ .point = { fp_papers_point.fabric, fp_papers_point.spraying, packets },
				 .rings = rings,
				 .senders = rings };
}

int
fp_exp_places(struct fp_study *study, json_t *rows, struct err *err)
{
	static const double drops[] = { 0.005, 0.01, 0.015, 0.02, 0.05 };
	int ret = 0;

	for (uint32_t rings = 1; rings <= 2; rings++)
		for (size_t d = 0; ret == 0 && d < ARRAY_LEN(drops); d++) {
			const struct traffic traffic = rings_of(rings, PLACES_PACKETS);
			char purpose[32];

			snprintf(purpose, sizeof(purpose), "places%u-%.0f", rings, 1e4 * drops[d]);
			ret = places_of(study, purpose, &traffic, &(struct cause){ .drop = drops[d] }, rows, err);
		}
	return ret;
}

int
fp_exp_fib(struct fp_study *study, json_t *rows, struct err *err)
{
	int ret = 0;

	for (uint32_t rings = 1; ret == 0 && rings <= 2; rings++) {
		const struct traffic traffic = rings_of(rings, FIB_PACKETS);
		char purpose[32];

		snprintf(purpose, sizeof(purpose), "fib%u", rings);
		ret = places_of(study, purpose, &traffic, &(struct cause){ .drop = 1, .is_fib = true }, rows, err);
	}
	return ret;
}

/*
 * One ring over one host a leaf; over two, of which the second alone sends out of the leaf; and over two that both do,
 * at once, to the next leaf and to the one behind it.
 */
int
fp_exp_flows(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct traffic traffics[] = {
		{ { { FLOWS_LEAVES, 16, 1 }, "adaptive", FLOWS_PACKETS }, 1, 1, 1, 1 },
		{ { { FLOWS_LEAVES, 16, 2 }, "adaptive", FLOWS_PACKETS }, 1, 1, 1, 1 },
		{ { { FLOWS_LEAVES, 16, 2 }, "adaptive", FLOWS_PACKETS }, 1, 3, 2, 2 },
	};
	static const double drops[] = { 0.02, 0.05, 0.2 };
	int ret = 0;

	for (size_t t = 0; t < ARRAY_LEN(traffics); t++)
		for (size_t d = 0; ret == 0 && d < ARRAY_LEN(drops); d++) {
			char purpose[32];

			snprintf(purpose, sizeof(purpose), "flows%uof%u-%.0f", traffics[t].flows,
				 traffics[t].point.fabric.hosts_per_leaf, 1e4 * drops[d]);
			ret = places_of(study, purpose, &traffics[t], &(struct cause){ .drop = drops[d], .is_down = true },
					rows, err);
		}
	return ret;
}
