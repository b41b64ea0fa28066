/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ports of one sender's packets show of each other: too few of them, too little by each, faults at several. */
#include "tests/unit/telemetry/volumes_rig.h"
#include "tests/unit/unit.h"

/* One port receives again what was lost there, and none of three shows its noise: that nothing is missing means nothing. */
static void
few_ports_prove_nothing(void **state)
{
	static const struct {
		enum rec_detector detector;
		uint16_t ports;
		bool few;
	} cases[] = { { REC_DETECTOR_THRESHOLD, 1, true }, { REC_DETECTOR_THRESHOLD, 2, false },
		      { REC_DETECTOR_NOISE, 3, true },     { REC_DETECTOR_NOISE, 4, false },
		      { REC_DETECTOR_POOLED, 3, true },    { REC_DETECTOR_POOLED, 8, false } };
	struct judge_config config = rig_config(PREDICT_DECLARED);

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct rig rig;

		config.scores.detector = cases[c].detector;
		rig_init(&rig, &config, 2, 12);
		for (uint16_t port = cases[c].ports; port < RIG_PORTS; port++)
			rig.is_known_faulty[port][1] = true;
		rig_declare_all(&rig, 8000);
		rig.loss[0][1] = cases[c].few ? 0.1 : 0;
		assert_int_equal(rig_iterate(&rig, 8000), JUDGE_COMPARED);
		assert_int_equal(rig.judge.flaws[0], 0);
		assert_int_equal(rig.judge.flaws[1], cases[c].few ? VOLUMES_FLAW(REC_FLAW_FEW) : 0);
		assert_int_equal(rig.judge.nalarms, 0);
		judge_fini(&rig.judge);
	}
}

/* One packet by eight ports is to be an eighth of its bytes at each, which are no whole ones. */
static void
rounding_is_no_other_demand(void **state)
{
	const struct judge_config config = rig_config(PREDICT_DECLARED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 1, 13);
	rig_declare_all(&rig, 1);
	for (uint16_t port = 0; port < RIG_PORTS; port++)
		rig.judge.predict.bytes[volumes_cell(&rig.judge.volumes, port, 0)] += 3;
	assert_int_equal(rig_iterate(&rig, 1), JUDGE_COMPARED);
	assert_int_equal(rig.judge.flaws[0] & VOLUMES_FLAW(REC_FLAW_DEMAND), 0);
	assert_int_equal(rig_iterate(&rig, 2), JUDGE_COMPARED);
	assert_int_equal(rig.judge.flaws[0], VOLUMES_FLAW(REC_FLAW_DEMAND));
	judge_fini(&rig.judge);
}

/* Three ports of eight lose from the first iteration on: each is among those that the others' noise is learned from. */
static void
faults_at_several_ports_do_not_hide_each_other(void **state)
{
	const struct judge_config config = rig_config(PREDICT_DECLARED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 1, 14);
	rig_declare_all(&rig, 40000);
	for (uint16_t port = 1; port < 4; port++)
		rig.local_loss[port] = 0.03 + 0.01 * port;
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(rig_iterate(&rig, 40000), JUDGE_COMPARED);
		if (i < 3)
			continue;
		assert_int_equal(rig.judge.nalarms, 3);
		for (uint32_t a = 0; a < 3; a++) {
			const struct locate_place *place = &rig.judge.alarms[a].place;

			assert_int_equal(rig.judge.alarms[a].port, a + 1);
			assert_true(place->drop_low < 0.04 + 0.01 * a && place->drop_high > 0.04 + 0.01 * a);
		}
	}
	judge_fini(&rig.judge);
}

UNIT_TEST(volumes_ports)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_ports_prove_nothing),
		cmocka_unit_test(rounding_is_no_other_demand),
		cmocka_unit_test(faults_at_several_ports_do_not_hide_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
