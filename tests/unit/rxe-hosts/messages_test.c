/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated flows in the plan and at their sending host: connections are shared, one message at a time, in order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/units.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "rxe-hosts/steps/messages.h"
#include "tests/unit/rxe-hosts/scripted_device.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"
#include "workload/traffic/generator.h"
#include "workload/workload.h"

#define US PS_PER_US

static struct star star;
static struct scripted_device dev;
static struct messages messages;
static struct plan *plan;
static struct generator generator;
static struct traffic traffic;
static struct err err;

/* Four messages from host 1 to 0 and one to 2, all of 125 kB: 10 us at 100 Gbit/s each, so 40 us are taken for busy. */
static struct traffic_flow flows[] = {
	{ .start_ps = 1 * US, .bytes = 125000, .src_node = 1, .dst_node = 0 },
	{ .start_ps = 2 * US, .bytes = 125000, .src_node = 1, .dst_node = 0 },
	{ .start_ps = 3 * US, .bytes = 125000, .src_node = 1, .dst_node = 0 },
	{ .start_ps = 90 * US, .bytes = 125000, .src_node = 1, .dst_node = 0 },
	{ .start_ps = 2 * US, .bytes = 125000, .src_node = 1, .dst_node = 2 },
};

static struct plan *
make(uint32_t connections, const char *background)
{
	struct plan_options options = { .data_prio = 3, .judge = true, .traffic = &traffic };
	static const struct workload none;
	struct cfg *cfg = cfg_load_string(background, "s.cfg", &err);
	size_t count;
	void *list;

	generator = (struct generator){ .name = "g", .prio = -1, .dport = 4791, .connections = connections };
	traffic = (struct traffic){
		.generators = { &generator },
		.ngenerators = 1,
		.flows = flows,
		.nflows = 5,
	};
	star_init(&star, 3);
	err.text[0] = '\0';
	assert_int_equal(cfg_bind_list(cfg, &background_table, NULL, &list, &count, &err), 0);
	plan = plan_create(&star.topo, &options, &none, list, count, &err);
	free(list);
	cfg_destroy(cfg);
	return plan;
}

static int
teardown(void **state)
{
	messages_fini(&messages);
	messages = (struct messages){ 0 };
	plan_destroy(plan);
	plan = NULL;
	return 0;
}

static void completed(void *ctx, const struct wc *wc);
static const struct device_client client = { .completed = completed };

static void
begin(uint32_t connections)
{
	assert_non_null(make(connections, ""));
	scripted_init(&dev, 1);
	dev.device.ops->set_client(&dev.device, &client);
	assert_int_equal(messages_init(&messages, plan, 1), 0);
}

static void
completed(void *ctx, const struct wc *wc)
{
	struct wc seen = *wc;

	seen.retransmits = 3;
	if (wc->opcode == WC_SENT)
		messages_sent(&messages, &dev.device, &seen);
	else
		messages_failed(&messages, wc);
}

static void
connections_are_shared_in_turn(void **state)
{
	const uint32_t first = 0, other = 2;

	begin(2);
	assert_int_equal(plan->flows.count, 3); /* two to host 0, and one to host 2, which one message needs */
	assert_int_equal(plan->nmessages, 5);
	for (uint32_t i = 1; i < 5; i++)
		assert_true(plan->messages[i].start_ps >= plan->messages[i - 1].start_ps);
	assert_int_equal(plan->flows.flows[0].sport, PLAN_FIRST_TRAFFIC_SPORT);
	assert_int_equal(plan->flows.flows[1].sport, PLAN_FIRST_TRAFFIC_SPORT + 1);
	assert_int_equal(plan->flows.flows[other].sport, PLAN_FIRST_TRAFFIC_SPORT);
	assert_int_equal(plan->flows.flows[other].dst_node, 2);
	assert_int_equal(plan->flows.flows[first].kind, FLOW_TRAFFIC);
	assert_int_equal(plan->flows.flows[first].prio, 3);
	assert_int_equal(plan->messages[0].flow, 0); /* 1 us */
	assert_int_equal(plan->messages[1].flow, 1); /* 2 us, to host 0: its turn */
	assert_int_equal(plan->messages[2].flow, 2); /* 2 us, to host 2 */
	assert_int_equal(plan->messages[3].flow, 0); /* 3 us: both are busy, this one for the shorter time */
	assert_int_equal(plan->messages[4].flow, 1); /* 90 us */
	assert_int_equal(plan->messages[0].next, 3);
	assert_int_equal(plan->messages[3].next, PLAN_NONE);
	assert_int_equal(plan->first_message[1], 0);
	assert_int_equal(plan->first_message[2], 5);
	assert_int_equal(plan->first_message[0], 0);
	scripted_fini(&dev);
}

static void
a_message_waits_for_its_connection(void **state)
{
	begin(2);
	assert_int_equal(messages_next_ps(&messages), 1 * US);
	messages_wake(&messages, &dev.device, 1 * US);
	assert_int_equal(dev.nposts, 1);
	assert_int_equal(messages_next_ps(&messages), 2 * US);
	messages_wake(&messages, &dev.device, 3 * US);
	assert_int_equal(dev.nposts, 3); /* the last of the three that came waits */
	assert_int_equal(messages.sending, 3);
	assert_false(messages.states[3].begun);
	scripted_ack(&dev, 0, 50 * US);
	assert_int_equal(dev.nposts, 4);
	assert_int_equal(dev.posts[3].flow, 0);
	assert_int_equal(messages.states[0].end_ps, 50 * US);
	assert_int_equal(messages.states[0].retransmits, 3);
	assert_int_equal(messages.states[3].begin_ps, 50 * US);
	scripted_ack(&dev, 1, 60 * US); /* what follows there has not come yet */
	assert_int_equal(dev.nposts, 4);
	messages_wake(&messages, &dev.device, 90 * US);
	assert_int_equal(dev.nposts, 5);
	assert_int_equal(dev.nresets, 5); /* each begins at line rate */
	assert_int_equal(messages_next_ps(&messages), TIME_NEVER);
	assert_int_equal(messages.left, 3);
	scripted_ack(&dev, 2, 91 * US);
	scripted_ack(&dev, 3, 92 * US);
	scripted_ack(&dev, 4, 93 * US);
	assert_int_equal(messages.left, 0);
	assert_int_equal(messages.sending, 0);
	scripted_fini(&dev);
}

/* Where no collective is, each is a step to its host's agent, and reported. */
static void
judged_messages_are_steps(void **state)
{
	struct detection_config detection = { .policy = REC_POLICY_VEDRFOLNIR, .detections = 2, .rtt_percent = 120 };
	struct rec_collective header;
	struct rec_schedule schedule;
	struct plan_judged judged;
	const struct rec_step *step;
	struct ledger_audit audit = { 0 };
	struct agent agent;

	begin(2);
	assert_true(plan->judged);
	for (uint32_t f = 0; f < plan->flows.count; f++)
		plan->of[f].base_rtt_ps = 8 * US;
	for (uint32_t i = 0; i < plan->nmessages; i++)
		plan->messages[i].ideal_ps = 20 * US;
	assert_int_equal(agent_init(&agent, &dev.device, &detection, 1, 1 + messages.nconnections), 0);
	messages_watch(&messages, &agent, &audit, 1);
	traffic.topo = &star.topo;
	plan_generator_record(plan, &traffic, 0, &header);
	assert_int_equal(header.op, COLL_FLOWS);
	assert_int_equal(header.ranks, 3);
	assert_int_equal(header.steps, 5);
	assert_int_equal(header.rank_steps, 5);
	assert_int_equal(header.bytes, 625000);
	assert_string_equal(header.name, "g");
	assert_string_equal(header.job_name, "flows");
	judged = plan_judged_message(plan, 3);
	plan_judged_record(plan, &judged, &schedule);
	assert_int_equal(schedule.step, 4);
	assert_int_equal(schedule.rank, 1);
	assert_int_equal(schedule.peer, 0);
	assert_int_equal(schedule.expect_ps, 20 * US);
	assert_int_equal(schedule.flow.sport, PLAN_FIRST_TRAFFIC_SPORT);
	messages_wake(&messages, &dev.device, 3 * US);
	messages_rtt(&messages, 1, 200 * US, 60 * US); /* far above the threshold, and late */
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.polls[0].flow, 1);
	scripted_ack(&dev, 1, 90 * US);
	step = scripted_record(&dev, REC_STEP, 0);
	assert_non_null(step);
	assert_int_equal(step->rank, 1);
	assert_int_equal(step->step, 2);
	assert_int_equal(step->start_ps, 3 * US);
	assert_int_equal(step->end_ps, 90 * US);
	assert_int_equal(step->waited_step, 0);
	assert_int_equal(step->open, 0);
	messages_close(&messages, &dev.device, 100 * US);
	step = scripted_record(&dev, REC_STEP, 1);
	assert_non_null(step);
	assert_int_equal(step->step, 1);
	assert_int_equal(step->open, 1);
	step = scripted_record(&dev, REC_STEP, 3); /* came, and waits for the one before */
	assert_non_null(step);
	assert_int_equal(step->step, 4);
	assert_int_equal(step->start_ps, 0);
	assert_null(scripted_record(&dev, REC_STEP, 4)); /* that of 90 us has not come */
	agent_fini(&agent);
	scripted_fini(&dev);
}

/* Its report has what its sender knew when it failed, however long the run goes on. */
static void
a_failed_message_is_reported_as_it_ended(void **state)
{
	struct detection_config detection = { .policy = REC_POLICY_VEDRFOLNIR, .detections = 2, .rtt_percent = 120 };
	const struct rec_step *step;
	struct ledger_audit audit = { 0 };
	struct agent agent;
	struct wc failed = { .time_ps = 9 * US, .bytes = 1000, .retransmits = 5, .opcode = WC_ERROR };

	begin(2);
	assert_int_equal(agent_init(&agent, &dev.device, &detection, 0, messages.nconnections), 0);
	messages_watch(&messages, &agent, &audit, 0);
	messages_wake(&messages, &dev.device, 1 * US);
	failed.flow = plan->messages[0].flow;
	failed.times.waited_ps = 2 * US;
	failed.times.ledger_ps[LEDGER_TIMEOUT] = 8 * US;
	messages_failed(&messages, &failed);
	messages_close(&messages, &dev.device, 100 * US);
	step = scripted_record(&dev, REC_STEP, 0);
	assert_non_null(step);
	assert_int_equal(step->open, 1);
	assert_int_equal(step->acked_bytes, 1000);
	assert_int_equal(step->retransmits, 5);
	assert_int_equal(step->waited_ns, 2000);
	assert_int_equal(step->timeout_ps, 8 * US);
	assert_int_equal(messages.states[0].retransmits, 5);
	assert_int_equal(audit.steps, 1);
	assert_int_equal(audit.wrong, 0);
	agent_fini(&agent);
	scripted_fini(&dev);
}

static void
a_failed_connection_takes_its_messages_along(void **state)
{
	begin(2);
	messages_wake(&messages, &dev.device, 2 * US);
	scripted_fail(&dev, 0, 1000, 2 * US);
	assert_int_equal(messages.left, 3); /* that of 3 us has not come, and will never begin */
	messages_wake(&messages, &dev.device, 3 * US);
	assert_int_equal(dev.nposts, 3);
	scripted_ack(&dev, 1, 10 * US);
	scripted_ack(&dev, 2, 10 * US);
	messages_wake(&messages, &dev.device, 90 * US);
	scripted_ack(&dev, 3, 100 * US);
	assert_int_equal(messages.left, 0);
	assert_int_equal(messages.states[0].end_ps, 0);
	scripted_fini(&dev);
}

/* Background flows of mode once are judged too, each as a step of the list; one that repeats is not. */
static void
listed_flows_are_judged(void **state)
{
	struct plan_judged judged;
	struct rec_collective header;
	struct rec_schedule schedule;

	assert_non_null(make(2, "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 7; },"
				" { src = \"1\"; dst = \"2\"; sport = 9; bytes = 5; mode = \"repeat\"; until = \"1us\"; },"
				" { src = \"2\"; dst = \"0\"; sport = 9; bytes = 8; },"
				" { src = \"1\"; dst = \"2\"; sport = 8; bytes = 9; } );"));
	assert_int_equal(plan->backgrounds[0].step, 1);
	assert_int_equal(plan->backgrounds[1].step, 0);
	assert_int_equal(plan->backgrounds[2].step, 1);
	assert_int_equal(plan->backgrounds[3].step, 2);
	assert_true(plan_backgrounds_record(plan, &star.topo, &header));
	assert_int_equal(header.id, 1); /* behind the generator's */
	assert_int_equal(header.steps, 3);
	assert_int_equal(header.rank_steps, 2);
	assert_int_equal(header.bytes, 24);
	judged = plan_judged_background(plan, &plan->backgrounds[3]);
	plan_judged_record(plan, &judged, &schedule);
	assert_int_equal(schedule.collective, 1);
	assert_int_equal(schedule.step, 2);
	assert_int_equal(schedule.peer, 2);
	assert_int_equal(schedule.bytes, 9);
	assert_int_equal(schedule.flow.sport, 8);
}

static void
ports_written_elsewhere_are_refused(void **state)
{
	assert_null(make(2, "flows = (\n { src = \"1\"; dst = \"0\"; sport = 20001; bytes = 1; } );"));
	assert_string_equal(err.text,
			    "s.cfg:2: flows.[0].sport: flow 1->0/20001>4791 exists already; give it another port");
}

UNIT_TEST(messages)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(connections_are_shared_in_turn, teardown),
		cmocka_unit_test_teardown(a_message_waits_for_its_connection, teardown),
		cmocka_unit_test_teardown(judged_messages_are_steps, teardown),
		cmocka_unit_test_teardown(a_failed_message_is_reported_as_it_ended, teardown),
		cmocka_unit_test_teardown(a_failed_connection_takes_its_messages_along, teardown),
		cmocka_unit_test_teardown(listed_flows_are_judged, teardown),
		cmocka_unit_test_teardown(ports_written_elsewhere_are_refused, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
