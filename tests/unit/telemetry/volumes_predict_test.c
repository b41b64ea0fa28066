/* SPDX-License-Identifier: BSD-3-Clause */
/* What is to come by each port: d / (s - f), the demand measured, and loads learned and learned again (5.2, Fig. 3). */
#include "tests/unit/telemetry/volumes_rig.h"
#include "tests/unit/unit.h"

static uint64_t
predicted(const struct rig *rig, uint16_t port, uint16_t sender)
{
	return rig->judge.predict.bytes[volumes_cell(&rig->judge.volumes, port, sender)];
}

static void
measured_demand_is_split_among_the_spines_left(void **state)
{
	struct judge_config config = rig_config(PREDICT_MEASURED);
	struct rig rig;

	(void)state;
	config.predict.learn = 2;
	rig_init(&rig, &config, 2, 1);
	rig.is_known_faulty[2][1] = rig.is_known_faulty[5][1] = true;
	rig.loss[0][0] = 0.3; /* what is measured is the demand: a fault that is there already is found all the same */
	rig_shares(&rig);
	assert_int_equal(rig_iterate(&rig, 2400), JUDGE_LEARNED);
	assert_int_equal(rig_iterate(&rig, 2400), JUDGE_LEARNED);
	assert_int_equal(predicted(&rig, 0, 0), 300 * PACKET_BYTES);
	assert_int_equal(predicted(&rig, 2, 1), 0);
	assert_in_range(predicted(&rig, 3, 1), 400 * PACKET_BYTES - 1, 400 * PACKET_BYTES);
	assert_int_equal(rig_iterate(&rig, 2400), JUDGE_COMPARED);
	assert_int_equal(rig.judge.nalarms, 1);
	assert_int_equal(rig.judge.alarms[0].port, 0);
	judge_fini(&rig.judge);
}

static void
loads_are_learned_as_they_are(void **state)
{
	struct judge_config config = rig_config(PREDICT_LEARNED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 2, 2);
	rig.loss[0][0] = 0.3; /* a gray fault that is known: no alarm */
	rig_shares(&rig);
	assert_int_equal(rig_iterate(&rig, 8000), JUDGE_LEARNED);
	assert_true(predicted(&rig, 0, 0) < 800 * PACKET_BYTES);
	assert_in_range(predicted(&rig, 0, 1), 999 * PACKET_BYTES, 1001 * PACKET_BYTES);
	judge_fini(&rig.judge);
}

/* Fig. 3: a fault while loads are learned, which heals; then a new one at the same place. */
static void
a_fault_that_heals_is_learned(void **state)
{
	struct judge_config config = rig_config(PREDICT_LEARNED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 2, 3);
	rig_shares(&rig);
	rig.local_loss[3] = 0.05;
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_LEARNED);
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.nalarms, 0);
	rig.local_loss[3] = 0;
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_RELEARNED);
	assert_in_range(predicted(&rig, 3, 0), 9995 * PACKET_BYTES, 10005 * PACKET_BYTES);
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.nalarms, 0);
	rig.local_loss[3] = 0.05;
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.nalarms, 1);
	assert_int_equal(rig.judge.alarms[0].port, 3);
	judge_fini(&rig.judge);
}

/* One of two faults heals, while another port fails: what fails makes loads less even than what heals makes them even. */
static void
a_larger_fault_is_not_learned(void **state)
{
	struct judge_config config = rig_config(PREDICT_LEARNED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 2, 4);
	rig_shares(&rig);
	rig.local_loss[3] = 0.03;
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_LEARNED);
	rig.local_loss[3] = 0;
	rig.local_loss[6] = 0.06;
	assert_int_equal(rig_iterate(&rig, 80000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.nalarms, 1);
	assert_int_equal(rig.judge.alarms[0].port, 6);
	judge_fini(&rig.judge);
}

static void
another_task_is_learned_again(void **state)
{
	struct judge_config config = rig_config(PREDICT_LEARNED);
	struct rig rig;

	(void)state;
	rig_init(&rig, &config, 1, 5);
	rig_shares(&rig);
	rig.number = 12;
	assert_int_equal(rig_iterate(&rig, 8000), JUDGE_LEARNED);
	assert_int_equal(rig_iterate(&rig, 8000), JUDGE_COMPARED);
	rig.number = 0; /* after 13: 3 ahead, the same task with another demand */
	assert_int_equal(rig_iterate(&rig, 4000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.flaws[0], VOLUMES_FLAW(REC_FLAW_DEMAND));
	rig.number = 15; /* behind */
	assert_int_equal(rig_iterate(&rig, 4000), JUDGE_LEARNED);
	assert_int_equal(rig_iterate(&rig, 4000), JUDGE_COMPARED);
	assert_int_equal(rig.judge.flaws[0], 0);
	judge_fini(&rig.judge);
}

UNIT_TEST(volumes_predict)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_demand_is_split_among_the_spines_left),
		cmocka_unit_test(loads_are_learned_as_they_are),
		cmocka_unit_test(a_fault_that_heals_is_learned),
		cmocka_unit_test(a_larger_fault_is_not_learned),
		cmocka_unit_test(another_task_is_learned_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
