/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that the composition root brings along (emulation/hosts.h): a driver of the test's own, in real time, without
 * EAL.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "tests/unit/emulation/hosts_rig.h"
#include "tests/unit/unit.h"

#define MIXED                                                                                                              \
	PAIR "hosts = ( { names = [ \"a\" ]; kind = \"guest\"; } ); "                                                      \
	     "collectives = ( { op = \"allreduce\"; bytes = \"4KB\"; payload = \"real\"; } );"

/* And one lcore, where embedded hosts are beside them. */
static void
kernel_hosts_need_a_driver(void **state)
{
	struct scenario *scenario = hosts_load(MIXED);
	struct fake fake = { 0 };
	const struct host_driver driver = { &fake_hosts, &fake };
	struct emulation_options options = { .lcores = 1, .phase = EMULATION_RUN, .services = run_services };
	struct err err = { "" };

	assert_int_equal(scenario->nexternal, 1);
	assert_null(emulation_create(scenario, &options, &err));
	assert_int_equal(errno, ENOTSUP);
	options.kernel_host = &driver;
	options.lcores = 2;
	err.text[0] = '\0';
	assert_null(emulation_create(scenario, &options, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, "--lcores 2"));
	assert_int_equal(fake.fabrics, 0);
	scenario_destroy(scenario);
}

/* Before the run nobody starts, closes or reports; it ends once the driver is ready. */
static void
the_first_phase_lasts_until_hosts_are_ready(void **state)
{
	struct scenario *scenario = hosts_load_pair();
	struct fake fake = { .busy = 5 };
	const struct host_driver driver = { &fake_hosts, &fake };
	const struct emulation_options options = { .lcores = 1, .phase = EMULATION_PREPARE, .kernel_host = &driver };
	struct err err = { "" };
	struct emulation *emulation = emulation_create(scenario, &options, &err);

	assert_non_null(emulation);
	emulation_begin(emulation, NULL, clock_now_ns());
	fabric_run(emulation->fabric, 0);
	assert_int_equal(emulation->fabric->end_reason, REC_END_COMPLETE);
	assert_true(fake.serviced >= 5);
	assert_false(emulation->pacer.pending(emulation->pacer.ctx)); /* a machine that is late does not ask */
	assert_true(fake.asked_pending > 0);
	assert_int_equal(fake.started + fake.closed, 0);
	assert_false(fake.reported);
	emulation_destroy(emulation);
	assert_int_equal(fake.fabrics, 0);
	scenario_destroy(scenario);
}

/* @return the offered records */
static uint64_t
run(struct fake *fake, enum rec_end_reason reason)
{
	struct scenario *scenario = hosts_load_pair();
	const struct host_driver driver = { &fake_hosts, fake };
	const struct emulation_options options = {
		.lcores = 1, .phase = EMULATION_RUN, .services = run_services, .kernel_host = &driver
	};
	struct err err = { "" };
	struct exporter *exporter = exporter_create(&scenario->exporter, NULL, 0, &err);
	struct emulation *emulation = emulation_create(scenario, &options, &err);
	uint64_t offered;

	assert_non_null(exporter);
	assert_non_null(emulation);
	emulation_begin(emulation, exporter, clock_now_ns());
	assert_int_equal(fake->started, 2);
	fabric_run(emulation->fabric, 0);
	emulation_end(emulation);
	assert_int_equal(emulation->fabric->end_reason, reason);
	if (reason == REC_END_HOST_LOST)
		assert_string_equal(emulation->result.error_text, "host a: gone");
	assert_int_equal(fake->closed, 2);
	offered = emulation->result.export.all.offered_records;
	emulation_destroy(emulation);
	exporter_destroy(exporter);
	scenario_destroy(scenario);
	return offered;
}

static void
a_run_ends_with_its_programs_and_has_their_reports(void **state)
{
	struct fake fake = { .busy = 5 };

	assert_int_equal(run(&fake, REC_END_COMPLETE), 1);
	assert_int_equal(fake.nodes, 2);
	assert_int_equal(fake.fabrics, 0);
}

static void
a_host_that_is_lost_ends_the_run(void **state)
{
	struct fake fake = { .busy = UINT32_MAX, .fails = 4 };

	run(&fake, REC_END_HOST_LOST);
	assert_true(fake.serviced >= 4);
}

static void
every_kind_of_kernel_host_has_a_cable(void **state)
{
	const struct host_config given = { .port = "net_af_packet0,iface=eth1" };
	const struct host_cable cable = { &given, "/run/x", "h1", 7 };
	char text[128];

	assert_null(host_kinds[HOST_EMBEDDED].port);
	for (int kind = HOST_EMBEDDED + 1; kind < (int)ENUM_COUNT(HOST_KINDS); kind++) {
		const struct host_kind_row *row = &host_kinds[kind];

		assert_true(row->remote == (row->guest == NULL));
		assert_true((row->nic != NULL) == (row->guest != NULL));
		row->port(&cable, text, sizeof(text));
		assert_true(text[0] != '\0');
	}
	host_kinds[HOST_GUEST].port(&cable, text, sizeof(text));
	assert_string_equal(text, "vhost:/run/x/h1.vhost");
	host_kinds[HOST_NETNS].port(&cable, text, sizeof(text));
	assert_string_equal(text, "net_tap_7,iface=rl-h1");
	host_kinds[HOST_NETNS].nic(&cable, text, sizeof(text));
	assert_string_equal(text, "rl-h1");
	host_kinds[HOST_PORT].port(&cable, text, sizeof(text));
	assert_string_equal(text, given.port);
	assert_string_equal(host_kind_name(HOST_QEMU), "qemu");
}

UNIT_TEST(hosts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_hosts_need_a_driver),
		cmocka_unit_test(the_first_phase_lasts_until_hosts_are_ready),
		cmocka_unit_test(a_run_ends_with_its_programs_and_has_their_reports),
		cmocka_unit_test(a_host_that_is_lost_ends_the_run),
		cmocka_unit_test(every_kind_of_kernel_host_has_a_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
