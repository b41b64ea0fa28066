/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion control in a scenario: what is refused, with its place and what would be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario/scenario.h"
#include "tests/unit/unit.h"

#define FLOWS "flows = ( { src = \"a\"; dst = \"b\"; sport = 50000; bytes = 1000; } );\n"
#define PAIR                                                                                                               \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S\" ]; hosts = [ \"a\", "   \
	"\"b\" ]; links = ( \"a S\", \"b S 40Gbps\" ); };\n" FLOWS
/* One switch more than fit. */
#define LINE_OF_SIX                                                                                                        \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S\", \"T\", \"U\", \"V\", " \
	"\"W\", \"X\" ]; hosts = [ \"a\", \"b\" ]; links = ( \"a S\", \"S T\", \"T U\", \"U V\", \"V W\", \"W X\", "       \
	"\"X b\" ); };\n" FLOWS

static struct scenario *
load(const char *text, struct err *err)
{
	char path[] = "/tmp/cc-test-XXXXXX";
	struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *scenario;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	scenario = scenario_load(&options, err);
	unlink(path);
	return scenario;
}

/* @param place  "LINE: rest of the message" */
static void
expect_error(const char *text, const char *place)
{
	struct err err = { "" };
	const char *colon;

	assert_null(load(text, &err));
	colon = strchr(err.text, ':');
	if (colon == NULL || strncmp(colon + 1, place, strlen(place)) != 0)
		fail_msg("%s\nexpected %s", err.text, place);
}

static void
the_old_key_names_the_new(void **state)
{
	expect_error(PAIR "host = {\n dcqcn = { enabled = false; }; };",
		     "4: host.dcqcn.enabled: is no key any more; write host.cc = \"none\" in place of false");
}

static void
unknown_algorithms_name_the_known(void **state)
{
	expect_error(PAIR "host = { cc = \"bbr\"; };",
		     "3: host.cc: found \"bbr\"; one of dcqcn|hpcc|swift|timely|none would be right");
	expect_error(PAIR "host = { hpcc = { etta = 0.9; }; };", "3: host.hpcc.etta: unknown key; did you mean \"eta\"?");
}

/* Also where another algorithm is chosen: nobody carries a wrong value along. */
static void
odd_parameters_are_refused_with_their_place(void **state)
{
	expect_error(PAIR "host = { hpcc = {\n eta = 0.0; }; };", "4: host.hpcc.eta: found 0; 0.01 to 1 would be right");
	expect_error(PAIR "host = { hpcc = { max_stage = -1; }; };", "3: host.hpcc.max_stage: found -1; 0 to 1000 ");
	expect_error(PAIR "host = { hpcc = { wai = \"2MB\"; }; };", "3: host.hpcc.wai: ");
	expect_error(PAIR "host = { hpcc = { min_rate = \"0bps\"; }; };", "3: host.hpcc.min_rate: ");
	expect_error(PAIR "host = { swift = { max_mdf = 1.0; }; };", "3: host.swift.max_mdf: ");
	expect_error(PAIR "host = { swift = {\n fs_min_cwnd = 200.0; }; };",
		     "4: host.swift.fs_min_cwnd: 200 lies not below fs_max_cwnd 100");
	expect_error(PAIR "host = { swift = { max_cwnd = 0.5; }; };", "3: host.swift.max_cwnd: 0.5 is less than a packet");
	expect_error(PAIR "host = { timely = { t_low = \"1ms\"; }; };", "3: host.timely.t_low: lies not below t_high");
	expect_error(PAIR "host = { timely = { segment = 0; }; };", "3: host.timely.segment: ");
	expect_error(PAIR "host = { dcqcn = { alpha_interval = \"0us\"; }; };",
		     "3: host.dcqcn.alpha_interval: every interval");
	expect_error(PAIR "host = {\n dcqcn = {\n decrease_interval = \"0us\"; }; };",
		     "5: host.dcqcn.decrease_interval: every interval");
	expect_error(PAIR "host = { dcqcn = {\n increase_timer = \"0us\"; }; };",
		     "4: host.dcqcn.increase_timer: every interval");
	expect_error(PAIR "host = { dcqcn = {\n cnp_scope = \"port\"; echo = \"ack\"; }; };",
		     "4: host.dcqcn.cnp_scope: \"port\" needs echo");
	expect_error(PAIR "host = { cc = \"none\";\n window = \"x\"; };", "4: host.window: \"x\" must be \"bdp\"");
	expect_error(PAIR "host = { cc = \"none\";\n mtu = 77; };", "4: host.mtu: 77 is no path MTU");
	expect_error(PAIR "host = { dcqcn = { g = 2.0; }; };", "3: host.dcqcn.g: found 2; 1e-06 to 1 would be right");
}

static void
telemetry_has_room_for_five_switches(void **state)
{
	struct err err = { "" };
	struct scenario *scenario;

	expect_error(LINE_OF_SIX "host = {\n cc = \"hpcc\"; };",
		     "4: host.cc: \"hpcc\" has room for 5 switches in its packets, and a sends to b through 6");
	scenario = load(LINE_OF_SIX "host = { cc = \"swift\"; };", &err);
	assert_non_null(scenario);
	assert_null(scenario->roce.cc.rates);
	scenario_destroy(scenario);
}

static void
hosts_with_their_own_kernel_send_no_telemetry(void **state)
{
	expect_error(PAIR "timing = { pipeline = \"30us\"; }; hosts = ( { names = [ \"a\", \"b\" ]; kind = \"guest\"; } "
			  ");\nhost = { cc = \"hpcc\"; };",
		     "4: host.cc: \"hpcc\" needs telemetry in packets and ACKs, which host a with its own kernel cannot");
}

/*
 * 1024 B: 1148 B on the wire with telemetry, 1168 B with RETH and immediate; ACKs of 128 B. Over 100 Gbps and 40 Gbps,
 * each a microsecond of cable and what the receiver takes.
 */
static void
the_network_is_measured(void **state)
{
	struct err err = { "" };
	struct scenario *scenario = load(PAIR "timing = { pipeline = \"0ps\"; };\nhost = { cc = \"hpcc\"; };", &err);
	uint64_t fast_ps = (1168 + 128) * 80, slow_ps = (1168 + 128) * 200;

	if (scenario == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(scenario->roce.cc.base_rtt_ps, 4 * PS_PER_US + fast_ps + slow_ps);
	assert_int_equal(scenario->roce.cc.rates->count, 2);
	assert_int_equal(scenario->roce.cc.rates->bps[0], 100000000000ULL);
	assert_int_equal(scenario->roce.cc.rates->bps[1], 40000000000ULL);
	assert_int_equal(scenario->roce.cc.frame_bytes, 1148);
	scenario_destroy(scenario);
}

UNIT_TEST(scenario_cc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_old_key_names_the_new),
		cmocka_unit_test(unknown_algorithms_name_the_known),
		cmocka_unit_test(odd_parameters_are_refused_with_their_place),
		cmocka_unit_test(telemetry_has_room_for_five_switches),
		cmocka_unit_test(hosts_with_their_own_kernel_send_no_telemetry),
		cmocka_unit_test(the_network_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
