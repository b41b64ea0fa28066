/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of less than chance makes. */
#include "diag/report/text.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/unit.h"

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
					  .dispersion_ppm = 1000000,
					  .noise = REC_NOISE_LEARNED };

	RECORDS_PUT(r, alarm, REC_VOLUME_ALARM, leaf, (iteration + 1) * PS_PER_MS);
}

/* What chance makes as well is no finding, unless there is so much of it that it does not; it is reported either way. */
static void
what_chance_makes_is_no_finding(void **state)
{
	(void)state;
	for (uint32_t iterations = 1; iterations <= 400; iterations += 399) {
		char *reported = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&reported, &size);
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
		assert_true((strstr(reported, "which chance makes as well") != NULL) == (iterations == 1));
		free(reported);
		verdict_destroy(v);
	}
}

/* Nor are a few alarms of packets that lean on each other, however much is missing: those of a fault come again. */
static void
what_is_scattered_is_no_finding(void **state)
{
	static const struct {
		uint32_t iterations, first, every, dispersion_ppm, ports;
		bool is_finding;
	} cases[] = {
		{ 1, 1, 1, 6000000, 0, false },
		{ 1, 1, 1, 500000, 0, true },
		{ 2, 1, 6, 6000000, 0, false },
		{ 2, 1, 1, 6000000, 0, false },
		{ 3, 1, 1, 6000000, 0, true },
		/* Of 16 ports in nine iterations 1.6 is more than an estimate of 1 strays to, of four it is not. */
		{ 1, 8, 1, 1600000, 16, false },
		{ 1, 8, 1, 1600000, 4, true },
		{ 3, 8, 1, 1600000, 16, true },
		/* Four times in 2^32 iterations. */
		{ 4, 0, 0x55555555, 6000000, 0, false },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct records r;
		struct verdict *v;

		struct rec_monitored monitored = { .ports = cases[c].ports, .senders = 1, .compared = 20 };

		put_network(&r);
		RECORDS_PUT(&r, monitored, REC_MONITORED, 1, 30 * PS_PER_MS);
		for (uint32_t i = 0; i < cases[c].iterations; i++) {
			struct rec_volume_alarm alarm = { .port = 1,
							  .place = REC_LOSS_LOCAL,
							  .sender = REC_NONE,
							  .iteration = cases[c].first + i * cases[c].every,
							  .pooled = 1,
							  .predicted = 4000000,
							  .seen = 3200000,
							  .expected = 4000000,
							  .got = 3200000,
							  .packets = 3200,
							  .drop_ppm = 200000,
							  .low_ppm = 120000,
							  .high_ppm = 280000,
							  .dispersion_ppm = cases[c].dispersion_ppm,
							  .noise = REC_NOISE_LEARNED };

			RECORDS_PUT(&r, alarm, REC_VOLUME_ALARM, 1, (cases[c].first + i + 1) * PS_PER_MS);
		}
		v = diagnose(&r);
		assert_int_equal(v->nfindings, cases[c].is_finding);
		assert_int_equal(own_of(v)->ndoubtful, !cases[c].is_finding);
		verdict_destroy(v);
	}
}

UNIT_TEST(flowpulse_significance)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_chance_makes_is_no_finding),
					    cmocka_unit_test(what_is_scattered_is_no_finding) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
