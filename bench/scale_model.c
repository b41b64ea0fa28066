/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/scale_model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LEAST_PIVOT 1e-12 /* of columns whose length is 1 */

/* How often a run has each term, in 1e9: a coefficient in ns gives seconds. */
static void
terms_of(const struct scale_sample *sample, double terms[SCALE_TERMS])
{
	terms[SCALE_HOP] = sample->hops / 1e9;
	terms[SCALE_SPREAD] = sample->hops * log2(fmax(sample->nodes, 1)) / 1e9;
	terms[SCALE_NODE] = sample->windows * sample->nodes / 1e9;
	terms[SCALE_BUILD] = sample->nodes / 1e9;
	terms[SCALE_FLOW] = sample->flows / 1e9;
}

/*
 * Gauss with pivots on the diagonal: the matrix is symmetric and not negative.
 * @return -1, or a term that is a multiple of others: runs are too much alike
 */
static int
solve(double matrix[SCALE_TERMS][SCALE_TERMS + 1], const bool used[SCALE_TERMS], double *result)
{
	for (int i = 0; i < SCALE_TERMS; i++) {
		if (!used[i])
			continue;
		if (matrix[i][i] < LEAST_PIVOT)
			return i;
		for (int k = 0; k < SCALE_TERMS; k++) {
			double factor = matrix[k][i] / matrix[i][i];

			for (int j = i; used[k] && k != i && j <= SCALE_TERMS; j++)
				matrix[k][j] -= factor * matrix[i][j];
		}
	}
	for (int i = 0; i < SCALE_TERMS; i++)
		result[i] = used[i] ? matrix[i][SCALE_TERMS] / matrix[i][i] : 0;
	return -1;
}

/* The normal equations of the terms that are used; columns have length 1, so that pivots compare. @return as solve() */
static int
fit(const struct scale_sample *samples, size_t count, const bool used[SCALE_TERMS], double *result)
{
	int alike;
	double matrix[SCALE_TERMS][SCALE_TERMS + 1] = { 0 }, length[SCALE_TERMS] = { 0 }, terms[SCALE_TERMS];

	for (size_t s = 0; s < count; s++) {
		terms_of(&samples[s], terms);
		for (int i = 0; i < SCALE_TERMS; i++)
			length[i] += terms[i] / samples[s].cpu_s * terms[i] / samples[s].cpu_s;
	}
	for (size_t s = 0; s < count; s++) {
		terms_of(&samples[s], terms);
		for (int i = 0; i < SCALE_TERMS; i++)
			terms[i] /= samples[s].cpu_s * sqrt(length[i]);
		for (int i = 0; i < SCALE_TERMS; i++) {
			for (int j = 0; j < SCALE_TERMS; j++)
				matrix[i][j] += terms[i] * terms[j];
			matrix[i][SCALE_TERMS] += terms[i];
		}
	}
	alike = solve(matrix, used, result);
	if (alike >= 0)
		return alike;
	for (int i = 0; i < SCALE_TERMS; i++)
		result[i] /= sqrt(length[i]);
	return -1;
}

int
scale_model_fit(const struct scale_sample *samples, size_t count, struct scale_model *model)
{
	bool used[SCALE_TERMS] = { true, true, true, true, true };

	if (count <= SCALE_TERMS)
		return -ENODATA;
	for (int rounds = 0; rounds < SCALE_TERMS; rounds++) {
		int worst = fit(samples, count, used, model->ns);

		for (int i = 0; worst < 0 && i < SCALE_TERMS; i++)
			if (model->ns[i] < 0)
				worst = i;
		if (worst < 0)
			return 0;
		used[worst] = false;
	}
	return -ENODATA;
}

double
scale_model_time(const struct scale_model *model, const struct scale_sample *sample)
{
	double terms[SCALE_TERMS], sum = 0;

	terms_of(sample, terms);
	for (int i = 0; i < SCALE_TERMS; i++)
		sum += model->ns[i] * terms[i];
	return sum;
}

struct scale_forecast
scale_model_forecast(const struct scale_model *model, const struct scale_sample *work, const struct scale_cluster *cluster)
{
	struct scale_sample share = *work;
	double machines = cluster->machines, away = machines > 1 ? cluster->crossing * (1 - 1 / machines) : 0;

	share.hops /= machines;
	share.flows /= machines;
	share.nodes /= machines; /* a machine builds, and keeps in its caches, its own alone */
	return (struct scale_forecast){
		.work_s = scale_model_time(model, &share) / (cluster->cores * cluster->efficiency),
		.sync_s = machines > 1 ? work->windows * cluster->sync_ns / 1e9 : 0,
		.message_s = share.hops * away * cluster->message_ns / 1e9 / (cluster->cores * cluster->efficiency),
	};
}
