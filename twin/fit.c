/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/trial.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"
#include "twin/model.h"

#define MAX_TRIALS 12 /* of a round */
#define MAX_FITTED 2  /* flows of a round */
#define NEAR 0.02     /* an error of all jobs that needs no correction */

/* A round: models that differ from the best one in one respect. */
struct round {
	struct twin_model models[MAX_TRIALS];
	struct twin_trial trials[MAX_TRIALS];
	size_t count;
};

/* What is brought down: the mean over jobs of the differences of their steps and of their time. */
static double
score(const struct twin_error *errors, uint32_t njobs)
{
	double sum = 0;

	for (uint32_t j = 0; j < njobs; j++)
		sum += twin_error_job(&errors[j]) + twin_error_steps(&errors[j]);
	return sum;
}

/* As near as one more draw of chance would be? */
static bool
is_near(const struct twin_error *errors, uint32_t njobs)
{
	bool near = true;

	for (uint32_t j = 0; j < njobs; j++)
		near &= twin_error_job(&errors[j]) <= fmax(NEAR, twin_error_chance(&errors[j])) &&
			twin_error_steps(&errors[j]) <= fmax(NEAR, twin_error_chance_steps(&errors[j]));
	return near;
}

/* @return NULL: no room for another */
static struct twin_model *
add(struct round *round, const struct twin_model *of)
{
	struct twin_model *model = &round->models[round->count];

	if (round->count == MAX_TRIALS)
		return NULL;
	*model = *of;
	model->flows = calloc((size_t)of->nflows + 1, sizeof(*model->flows));
	if (model->flows == NULL)
		return NULL;
	memcpy(model->flows, of->flows, of->nflows * sizeof(*model->flows));
	round->trials[round->count].errors = calloc((size_t)of->njobs + 1, sizeof(*round->trials[round->count].errors));
	round->trials[round->count].model = model;
	round->count++;
	return round->trials[round->count - 1].errors != NULL ? model : NULL;
}

static void
round_fini(struct round *round)
{
	for (size_t i = 0; i < round->count; i++) {
		free(round->models[i].flows);
		free(round->trials[i].errors);
	}
}

/* Do draws of chance differ at all? */
static bool
is_random(const struct twin_error *errors, uint32_t njobs)
{
	bool random = false;

	for (uint32_t j = 0; j < njobs; j++)
		random |= twin_error_chance(&errors[j]) > 0 || twin_error_chance_steps(&errors[j]) > 0;
	return random;
}

/* Is there something to correct? */
static bool
is_open(const struct twin_model *model)
{
	bool open = false;

	for (uint32_t i = 0; i < model->nflows; i++)
		open |= !model->flows[i].counted;
	for (uint32_t i = 0; i < model->nfaults; i++)
		open |= model->faults[i].slack_ps != 0;
	return open;
}

/* A flow starts earlier or later, or is smaller or larger. */
static void
vary_flow(struct round *round, const struct twin_model *of, uint32_t index, double size, double shift_ps)
{
	struct twin_model *model = add(round, of);
	struct twin_flow *flow;

	if (model == NULL)
		return;
	flow = &model->flows[index];
	flow->bytes = (uint64_t)((double)flow->bytes * size);
	flow->start_ps = (uint64_t)fmax(0, (double)flow->start_ps + shift_ps);
}

/* A fault whose end nobody saw lasts longer or shorter. */
static void
vary_fault(struct round *round, const struct twin_model *of, uint32_t index, double share)
{
	const struct twin_fault *fault = &of->faults[index];
	double duration_ps = (double)fault->duration_ps + share * (double)fault->slack_ps;
	struct twin_model *model = duration_ps >= PS_PER_NS ? add(round, of) : NULL;

	if (model != NULL)
		model->faults[index].duration_ps = (uint64_t)duration_ps;
}

/* One of the flows whose size is not a count, in turn; nflows: there is none. */
static uint32_t
uncounted(const struct twin_model *of, uint32_t number)
{
	uint32_t count = 0, index = 0;

	for (uint32_t i = 0; i < of->nflows; i++)
		count += !of->flows[i].counted;
	if (count == 0 || number >= 2 * count)
		return of->nflows;
	for (number %= count; of->flows[index].counted || number-- != 0; index++) {}
	return index;
}

/* A later round: the flows in turn, by steps that become finer. */
static void
vary(struct round *round, const struct twin_model *of, uint32_t number)
{
	double step = pow(0.5, number / 2);
	double shift_ps = step * 0.25 * (double)of->ev->run.epoch_ps;

	for (uint32_t i = 0, n = 0; i < of->nfaults && n < 2; i++) {
		if (of->faults[i].slack_ps == 0)
			continue;
		vary_fault(round, of, i, 0.5 * step);
		vary_fault(round, of, i, -0.5 * step);
		n++;
	}

	for (uint32_t n = 0; n < MAX_FITTED; n++) {
		uint32_t index = uncounted(of, n + number % 2 * MAX_FITTED);

		if (index == of->nflows)
			continue;
		vary_flow(round, of, index, 1 + 0.2 * step, 0);
		vary_flow(round, of, index, 1 - 0.2 * step, 0);
		vary_flow(round, of, index, 1, shift_ps);
		vary_flow(round, of, index, 1, -shift_ps);
	}
}

/* Runs a round, and takes the best of it where it is better. @return 0 or negative errno with err */
static int
run_round(struct round *round, struct twin_model *best, struct twin_error *errors, struct twin_work *work, struct err *err)
{
	int ret = round->count != 0 ? twin_trials_run(round->trials, round->count, work, err) : 0;

	for (size_t i = 0; ret == 0 && i < round->count; i++) {
		const struct twin_model *model = &round->models[i];

		if (!round->trials[i].ran || score(round->trials[i].errors, best->njobs) >= score(errors, best->njobs))
			continue;
		memcpy(best->flows, model->flows, best->nflows * sizeof(*best->flows));
		memcpy(best->faults, model->faults, sizeof(best->faults));
		memcpy(errors, round->trials[i].errors, best->njobs * sizeof(*errors));
	}
	round_fini(round);
	return ret;
}

/*
 * After two draws: one is enough where they are alike; else there are as many as there is time for, with their errors.
 * @return 0 or negative errno with err
 */
static int
draw_more(struct round *round, struct twin_model *model, struct twin_error *errors, struct twin_work *work, struct err *err)
{
	struct err late = { 0 };

	if (!is_random(errors, model->njobs)) {
		model->draws = 1;
		return 0;
	}
	model->draws = TWIN_DRAWS;
	while (model->draws > 2 && twin_work_check(work, (uint64_t)MAX_TRIALS * model->draws, &late) < 0)
		model->draws /= 2;
	*round = (struct round){ .count = 0 };
	for (uint32_t j = 0; j < model->njobs; j++)
		errors[j] = (struct twin_error){ .complete = false };
	add(round, model);
	return run_round(round, model, errors, work, err);
}

int
twin_fit(struct twin_model *model, struct twin_work *work, struct twin_error *errors, struct err *err)
{
	struct round *round = calloc(1, sizeof(*round));
	struct err late = { 0 };
	int ret = round != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for runs of the twin");

	model->draws = 2;
	for (uint32_t j = 0; j < model->njobs; j++)
		errors[j] = (struct twin_error){ .complete = false };
	for (uint32_t number = 0; ret == 0 && number <= TWIN_ROUNDS; number++) {
		if (number != 0 && (!is_open(model) || is_near(errors, model->njobs)))
			break;
		*round = (struct round){ .count = 0 };
		if (number != 0 && twin_work_check(work, (uint64_t)MAX_TRIALS * model->draws, &late) < 0)
			break;
		if (number == 0)
			add(round, model);
		else
			vary(round, model, number - 1);
		ret = run_round(round, model, errors, work, err);
		if (number == 0 && ret == 0)
			ret = draw_more(round, model, errors, work, err);
	}
	free(round);
	return ret;
}
