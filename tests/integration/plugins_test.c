/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs from outside that follow a run with hosts of their own kernel, in real time. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/wire/record.h"
#include "emulation/plugins.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "tests/unit/emulation/exporter_rig.h"
#include "tests/unit/emulation/hosts_rig.h"
#include "tests/unit/unit.h"

/* A program that follows the run and does nothing. */
static void
write_program(char path[])
{
	static const char text[] = "#!/bin/sh\nexec sleep 60\n";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), (int)sizeof(text) - 1);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
}

static uint32_t
expect_order(int fd)
{
	const struct bench recorded = { .fd = fd };
	size_t size, at = sizeof(struct rec_stream);
	uint8_t *data = bench_records(&recorded, &size);
	const struct rec_hdr *hdr;
	uint64_t last_ps = 0;
	uint32_t count = 0;

	while ((hdr = bench_next(data, size, &at)) != NULL) {
		if (hdr->type != REC_NOTIFY)
			continue;
		assert_true(hdr->time_ps >= last_ps);
		last_ps = hdr->time_ps;
		count++;
	}
	free(data);
	return count;
}

/*
 * At an epoch's end, hosts may still report what happened since they were asked last: who follows the run waits for
 * that.
 */
static void
reports_are_in_order_where_a_program_follows_the_run(void **state)
{
	char program[] = "/tmp/hosts-test-XXXXXX", recording[] = "/tmp/hosts-test-XXXXXX";
	const char *const programs[] = { program };
	struct scenario *scenario = hosts_load_pair();
	struct fake fake = { .busy = 400, .reports_late = true };
	const struct host_driver driver = { &fake_hosts, &fake };
	const struct emulation_options options = {
		.lcores = 1, .phase = EMULATION_RUN, .services = run_services, .kernel_host = &driver
	};
	struct err err = { "" };
	struct emulation *emulation = emulation_create(scenario, &options, &err);
	struct output_target targets[1 + PLUGIN_PROGRAMS] = { { .ops = &output_recording, .path = recording } };
	int fd = mkstemp(recording); /* the recording is another of that name */
	struct plugins *plugins;
	struct exporter *exporter;

	assert_non_null(emulation);
	write_program(program);
	plugins = plugins_create(emulation, programs, 1, &err);
	assert_non_null(plugins);
	exporter = exporter_create(&scenario->exporter, targets, 1 + plugins_targets(plugins, targets + 1), &err);
	assert_non_null(exporter);
	plugins_begin(plugins, emulation);
	emulation_begin(emulation, exporter, clock_now_ns());
	fabric_run(emulation->fabric, 0);
	emulation_end(emulation);
	assert_true(service_plugins.next_ps(plugins, 0) > 3 * scenario->telemetry.epoch_ps); /* it had turns */
	emulation_destroy(emulation);
	exporter_destroy(exporter);
	plugins_destroy(plugins);
	scenario_destroy(scenario);
	close(fd);
	fd = open(recording, O_RDONLY);
	assert_in_range(expect_order(fd), 100, 100000);
	close(fd);
	unlink(program);
	unlink(recording);
}

UNIT_TEST(plugins)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_in_order_where_a_program_follows_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
