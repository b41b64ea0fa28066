/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of less than chance makes. */
#include "diag/report/text.h"
#include "tests/unit/diag/flowpulse_rig.h"

/* The same 2 %, of 400 packets whose number chance alone makes differ by 5 %. */
static void
put_faint_alarm(struct records *r, uint32_t leaf, uint32_t spine, uint32_t iteration)
{
	struct rec_volume_alarm alarm = { .port = (uint16_t)(1 + spine),
					  .place = REC_LOSS_LOCAL,
					  .sender = REC_NONE,
					  .iteration = iteration,
					  .pooled = 1,
					  .predicted = 400000,
					  .seen = 392000,
					  .expected = 400000,
					  .got = 392000,
					  .packets = 392,
					  .drop_ppm = 20000,
					  .high_ppm = 120000,
					  .dispersion_ppm = 1000000 };

	RECORDS_PUT(r, alarm, REC_VOLUME_ALARM, leaf, (iteration + 1) * PS_PER_MS);
}

/* What chance makes as well is no finding, unless there is so much of it that it does not; it is told either way. */
static void
what_chance_makes_is_no_finding(void **state)
{
	(void)state;
	for (uint32_t iterations = 1; iterations <= 40; iterations += 39) {
		char *said = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&said, &size);
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_alarm(&r, 0, 1, REC_LOSS_LOCAL, REC_NONE, 2);
		for (uint32_t i = 1; i <= iterations; i++)
			put_faint_alarm(&r, 1, 0, i);
		v = diagnose(&r);
		assert_int_equal(v->nfindings, iterations == 1 ? 1 : 2);
		assert_int_equal(own_of(v)->nfaults, v->nfindings);
		assert_int_equal(own_of(v)->ndoubtful, 2 - v->nfindings);
		for (uint32_t i = 0; i < v->nfindings; i++)
			assert_true(v->findings[i].start_ps != UINT64_MAX);
		assert_int_equal(text_write(v, NULL, to), 0);
		fclose(to);
		assert_true((strstr(said, "which chance makes as well") != NULL) == (iterations == 1));
		free(said);
		verdict_destroy(v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_chance_makes_is_no_finding) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
