/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test of a sender's volumes at each number of ports, and that monitors of two and three ports keep to it. */
#include "telemetry/volumes/judge.h"
#include "tests/unit/telemetry/volumes_rig.h"
#include "tests/unit/unit.h"

static void
each_test_states_what_it_needs(void **state)
{
	static const struct {
		uint32_t ports;
		bool is_random, can[VOLUMES_TESTS]; /* threshold, random, learned, half */
	} cases[] = {
		{ 1, false, { false, false, false, false } }, { 1, true, { false, false, false, false } },
		{ 2, false, { true, false, false, false } },  { 2, true, { true, true, false, false } },
		{ 3, false, { true, false, false, false } },  { 3, true, { true, true, false, false } },
		{ 4, false, { true, false, true, true } },    { 4, true, { true, true, false, false } },
		{ 32, false, { true, false, true, true } },   { 33, false, { true, false, true, false } },
		{ 256, false, { true, false, true, false } }, { 257, false, { true, false, false, false } },
		{ 257, true, { true, true, false, false } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct volumes_basis basis = { cases[i].ports, cases[i].is_random };

		for (uint32_t test = 0; test < VOLUMES_TESTS; test++)
			assert_int_equal(volumes_can_judge(test, &basis), cases[i].can[test]);
		assert_int_equal(volumes_knows_noise(&basis),
				 cases[i].can[VOLUMES_TEST_RANDOM] || cases[i].can[VOLUMES_TEST_LEARNED]);
	}
}

/* @return alarms of so many iterations by two or three spines @param noise  set to what is known of the last one's */
static uint32_t
count_alarms(uint32_t spines, bool is_random, double loss, enum rec_detector detector, enum rec_noise *noise)
{
	struct judge_config config = rig_config(PREDICT_DECLARED);
	uint32_t alarms = 0;
	struct rig rig;

	config.scores = (struct scores_config){ .detector = detector, .rate = 1e-4, .is_random = is_random };
	rig_init(&rig, &config, 2, 11);
	for (uint16_t s = 0; s < 2; s++)
		for (uint16_t port = (uint16_t)spines; port < RIG_PORTS; port++)
			rig.is_known_faulty[port][s] = true;
	rig_declare_all(&rig, 800);
	rig.random = is_random;
	rig.local_loss[1] = loss;
	for (uint32_t i = 0; i < 50; i++) {
		assert_int_equal(rig_iterate(&rig, 800), JUDGE_COMPARED);
		alarms += rig.judge.nalarms;
		if (rig.judge.nalarms != 0)
			*noise = rig.judge.alarms[0].noise;
	}
	judge_fini(&rig.judge);
	return alarms;
}

/* With 400 packets a port chance alone makes 5 %. */
static void
noise_of_two_and_three_ports_is_known_of_random_spraying_alone(void **state)
{
	(void)state;
	for (uint32_t spines = 2; spines <= 3; spines++) {
		enum rec_noise noise = REC_NOISE_LEARNED;

		assert_int_equal(count_alarms(spines, true, 0, REC_DETECTOR_THRESHOLD, &noise), 0);
		assert_int_equal(count_alarms(spines, true, 0, REC_DETECTOR_NOISE, &noise), 0);
		assert_true(count_alarms(spines, true, 0.5, REC_DETECTOR_THRESHOLD, &noise) >= 50);
		assert_int_equal(noise, REC_NOISE_RANDOM);
		assert_true(count_alarms(spines, true, 0.15, REC_DETECTOR_POOLED, &noise) >= 5);
		/* Of others the threshold alone can judge, and says that it does not know their noise. */
		assert_true(count_alarms(spines, false, 0.1, REC_DETECTOR_THRESHOLD, &noise) >= 50);
		assert_int_equal(noise, REC_NOISE_UNKNOWN);
		assert_int_equal(count_alarms(spines, false, 0.1, REC_DETECTOR_NOISE, &noise), 0);
	}
}

UNIT_TEST(volumes_preconditions)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_test_states_what_it_needs),
		cmocka_unit_test(noise_of_two_and_three_ports_is_known_of_random_spraying_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
