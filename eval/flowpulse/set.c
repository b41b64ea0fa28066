/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/set.h"

#include <errno.h>
#include <math.h>

#include "common/prng.h"

#define RUN_ITERATIONS 200 /* of one run at most: its recording holds every step */
#define FAULTY_PARTS 4     /* as many draws of links at least, where there are iterations for it */

static struct fp_spec
spec_of(const struct fp_study *study, const struct fp_point *point, const char *purpose, uint32_t part)
{
	return (struct fp_spec){ .purpose = purpose,
				 .fabric = point->fabric,
				 .spraying = point->spraying,
				 .prediction = "analytical",
				 .rings = 1,
				 .packets = point->packets * study->scale,
				 .seed = study->seed * FP_MAX_PARTS + part };
}

/* Asks for one more run. */
static int
add_part(struct fp_study *study, const struct fp_spec *spec, struct fp_set *set, struct err *err)
{
	uint32_t part = set->nparts++;
	int ret = fp_need(study, spec, &set->parts[part].grid, err);

	set->packets = fp_spec_packets(spec);
	set->parts[part].nfaults = fp_spec_faults(spec, set->parts[part].faults);
	set->is_ready &= set->parts[part].grid != NULL;
	return ret;
}

int
fp_set_clean(struct fp_study *study, const struct fp_point *point, uint32_t iterations, struct fp_set *set, struct err *err)
{
	int ret = 0;

	*set = (struct fp_set){ .point = point, .is_ready = true };
	for (uint32_t done = 0; ret == 0 && done < iterations && set->nparts < FP_MAX_PARTS;) {
		struct fp_spec spec = spec_of(study, point, "clean", set->nparts);

		spec.iterations = iterations - done < RUN_ITERATIONS ? iterations - done : RUN_ITERATIONS;
		done += spec.iterations;
		ret = add_part(study, &spec, set, err);
	}
	return ret;
}

static void
add_known(struct fp_spec *spec, const struct fp_known *known)
{
	struct prng prng;

	prng_init(&prng, spec->seed, known->links);
	for (uint32_t i = 0; i < known->links; i++) {
		uint32_t row = (uint32_t)prng_below(&prng, spec->fabric.leaves);

		spec->links[spec->nlinks++] = (struct fp_link){ .row = row,
								.path = (uint32_t)prng_below(&prng, spec->fabric.spines),
								.is_known = true,
								.drop = known->drop };
	}
}

int
fp_set_faulty(struct fp_study *study, const struct fp_point *point, const char *purpose, const double *drops,
	      uint32_t ndrops, uint32_t trials, const struct fp_known *known, struct fp_set *set, struct err *err)
{
	uint32_t rows = point->fabric.leaves / 2, iterations = (trials * ndrops + rows - 1) / rows;
	uint32_t parts = iterations < FAULTY_PARTS ? iterations : FAULTY_PARTS;
	int ret = 0;

	while ((iterations + parts - 1) / parts > RUN_ITERATIONS)
		parts++;
	*set = (struct fp_set){ .point = point, .is_ready = true };
	for (uint32_t part = 0; ret == 0 && part < parts && part < FP_MAX_PARTS; part++) {
		struct fp_spec spec = spec_of(study, point, purpose, part);

		spec.iterations = (iterations + parts - 1) / parts;
		if (known != NULL)
			add_known(&spec, known);
		fp_spec_add_faults(&spec, drops, ndrops);
		ret = add_part(study, &spec, set, err);
	}
	return ret;
}

int
fp_set_outcomes(const struct fp_set *set, const struct fp_method *method, double drop, struct fp_outcomes *outcomes,
		struct err *err)
{
	int ret = 0;

	*outcomes = (struct fp_outcomes){ 0 };
	for (uint32_t i = 0; ret == 0 && i < set->nparts; i++)
		ret = fp_outcomes_add(outcomes, method, set->parts[i].grid, set->parts[i].faults, set->parts[i].nfaults,
				      drop);
	return ret < 0 ? err_set(err, ret, "out of memory") : 0;
}

json_t *
fp_row_begin(const struct fp_set *set)
{
	char fabric[32];

	snprintf(fabric, sizeof(fabric), "%ux%u", set->point->fabric.leaves, set->point->fabric.spines);
	return json_pack("{s:s, s:s, s:I}", "fabric", fabric, "spraying", set->point->spraying, "packets_a_port",
			 (json_int_t)llround(set->packets));
}

void
fp_row_percent(json_t *row, const char *key, uint64_t part, uint64_t of)
{
	json_object_set_new(row, key, of != 0 ? json_real(100.0 * (double)part / (double)of) : json_null());
}
