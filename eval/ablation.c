/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/eval.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"

#define OURS "vedrfolnir"

/* Fig. 12: RTT threshold and number of detections. */
static uint32_t
list_threshold(char names[VARIANT_MAX][VARIANT_NAME])
{
	uint32_t count = 0;

	for (int percent = 120; percent <= 240; percent += 30)
		for (int detections = 1; detections <= 5; detections++)
			snprintf(names[count++], VARIANT_NAME, OURS "+rtt_percent=%d+detections=%d", percent, detections);
	return count;
}

static uint32_t
list_values(char names[VARIANT_MAX][VARIANT_NAME], const char *key, const char *const *values, size_t nvalues)
{
	uint32_t count = 0;

	snprintf(names[count++], VARIANT_NAME, OURS);
	for (size_t i = 0; i < nvalues; i++)
		snprintf(names[count++], VARIANT_NAME, OURS "+%s=%s", key, values[i]);
	return count;
}

/* Fig. 13a: a threshold for each step's path against one for all. */
static uint32_t
list_fixed(char names[VARIANT_MAX][VARIANT_NAME])
{
	static const char *const values[] = { "10us", "20us", "30us", "40us", "60us", "80us", "120us" };

	return list_values(names, "rtt_fixed", values, ARRAY_LEN(values));
}

/* Fig. 13b: detections of a step, handed over or not, against the number of causes. */
static uint32_t
list_allocation(char names[VARIANT_MAX][VARIANT_NAME])
{
	uint32_t count = 0;

	for (int detections = 1; detections <= 5; detections++) {
		snprintf(names[count++], VARIANT_NAME, OURS "+detections=%d", detections);
		snprintf(names[count++], VARIANT_NAME, OURS "+detections=%d+transfer=false", detections);
	}
	snprintf(names[count++], VARIANT_NAME, OURS "+detections=255+lag_percent=0");
	snprintf(names[count++], VARIANT_NAME, "hawkeye-minr");
	return count;
}

/* The estimate of w(f_i,f_j) that hardware's rows allow against the matrix that counts every packet. */
static uint32_t
list_contention(char names[VARIANT_MAX][VARIANT_NAME])
{
	static const char *const values[] = { "exact" };

	return list_values(names, "telemetry.contention", values, ARRAY_LEN(values));
}

static uint32_t
list_budget(char names[VARIANT_MAX][VARIANT_NAME])
{
	static const char *const values[] = { "1KB", "10KB", "100KB", "300KB", "1MB", "3MB", "10MB", "30MB", "100MB" };

	return list_values(names, "exporter.budget", values, ARRAY_LEN(values));
}

/* The detection of the paper and its poster, without additions. */
static uint32_t
list_rules(char names[VARIANT_MAX][VARIANT_NAME])
{
	static const char *const rules[] = { OURS, "vedrfolnir-paper+detections=3", "vedrfolnir-poster" };

	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		snprintf(names[i], VARIANT_NAME, "%s", rules[i]);
	return ARRAY_LEN(rules);
}

const struct ablation ablations[] = {
	{ "threshold", "RTT threshold 120 to 240 % x detections 1 to 5 (Fig. 12)", list_threshold },
	{ "fixed", "each step's threshold against one for all (Fig. 13a)", list_fixed },
	{ "allocation", "number of detections, with and without handing over (Fig. 13b)", list_allocation },
	{ "contention", "the paper's replay estimate against the exact matrix", list_contention },
	{ "budget", "telemetry's budget from 1 KB a second up", list_budget },
	{ "rules", "our rule against the paper's, three detections a step, and its poster's", list_rules },
	{ NULL, NULL, NULL },
};

const struct ablation *
ablation_find(const char *name)
{
	for (const struct ablation *ablation = ablations; ablation->name != NULL; ablation++)
		if (strcmp(ablation->name, name) == 0)
			return ablation;
	return NULL;
}
