/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found before a run: the numbers are of the switches as they are made, and the remedies remove the findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulation/preflight.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

#define MAX_SETS 8

/* Three hosts at a switch, two of them to the third. */
#define TWO_TO_ONE                                                                                                         \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\" ]; rate = \"100Gbps\"; "    \
	"delay = \"1us\"; links = ( \"a s\", \"b s\", \"c s\" ); };\n"                                                     \
	"flows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; }, { src = \"b\"; dst = \"c\"; "            \
	"sport = 20002; bytes = \"1MB\"; } );\n"
#define WITHOUT_WINDOW TWO_TO_ONE "host = { window = \"none\"; };\n"
#define ONE                                                                                                                \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\" ]; rate = \"10Gbps\"; delay = "    \
	"\"1us\"; links = ( \"a s\", \"b s 10Gbps 5ms\" ); };\n"                                                           \
	"flows = ( { src = \"a\"; dst = \"b\"; sport = 20001; bytes = \"1MB\"; } );\n"

struct found {
	struct preflight_finding findings[PREFLIGHT_FINDINGS];
	int count;
};

/* @param sets  options as a remedy has them: "--set a=b --set c=d", or "" */
static void
look(const char *text, const char *sets, struct found *found)
{
	char path[] = "/tmp/preflight-XXXXXX", words[512], *rest = words, *word;
	struct scenario_options options = { .path = path };
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = run_services };
	struct err err = { "" };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *scenario;
	struct emulation *emulation;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	snprintf(words, sizeof(words), "%s", sets);
	while ((word = strstr(rest, "--set ")) != NULL) {
		rest = word + strlen("--set ");
		word = rest[0] == '\'' ? ++rest : rest;
		rest += strcspn(rest, word[-1] == '\'' ? "'" : " ");
		if (*rest != '\0')
			*rest++ = '\0';
		assert_true(options.nsets < MAX_SETS);
		options.sets[options.nsets++] = word;
	}
	scenario = scenario_load(&options, &err);
	unlink(path);
	emulation = scenario != NULL ? emulation_create(scenario, &how, &err) : NULL;
	if (emulation == NULL)
		fail_msg("%s", err.text);
	found->count = preflight(emulation, found->findings);
	assert_in_range(found->count, 0, PREFLIGHT_FINDINGS);
	emulation_destroy(emulation);
	scenario_destroy(scenario);
}

/* @return the finding of a check; NULL: there is none */
static const struct preflight_finding *
of(const struct found *found, const char *check)
{
	for (int i = 0; i < found->count; i++)
		if (strcmp(found->findings[i].check, check) == 0)
			return &found->findings[i];
	return NULL;
}

static void
expect(const char *text, const char *sets, const char *check, bool inert, const char *part)
{
	struct found found, again;
	const struct preflight_finding *f;
	char both[512];

	look(text, sets, &found);
	f = of(&found, check);
	if (f == NULL)
		fail_msg("no %s", check);
	if (strstr(f->text, part) == NULL)
		fail_msg("%s\nexpected %s", f->text, part);
	assert_int_equal(f->inert, inert);
	if (f->remedy[0] == '\0')
		return;
	snprintf(both, sizeof(both), "%s %s", sets, f->remedy);
	look(text, both, &again);
	if (of(&again, check) != NULL)
		fail_msg("%s does not help: %s", f->remedy, of(&again, check)->text);
}

static void
expect_none(const char *text, const char *sets)
{
	struct found found;

	look(text, sets, &found);
	if (found.count != 0)
		fail_msg("%s: %s", found.findings[0].check, found.findings[0].text);
}

/* The automatic pool is 640,000 B, four windows of 1.6 us over alpha: an eighth of it over 1 + 2/8 is 64,000 B. */
static void
ecn_behind_pfc(void **state)
{
	expect(WITHOUT_WINDOW, "", "ecn-behind-pfc", true,
	       "host.cc = \"dcqcn\" cannot act: at 1 of the 1 ports that several ingresses fill, PFC pauses before ECN "
	       "marks. "
	       "s:3, with 2 of them busy: XOFF at 68096 B each, which are 136192 B in its queue; kmin 400000 B");
	expect(WITHOUT_WINDOW "switch = { pfc = { model = \"static\"; }; };", "", "ecn-behind-pfc", true,
	       "XOFF at 69632 B each");
	expect_none(WITHOUT_WINDOW, "--set host.cc=swift");
	expect_none(TWO_TO_ONE, "--set switch.profile=auto --set host.profile=auto");
	expect_none(WITHOUT_WINDOW, "--set switch.ecn.kmin=136191");
	expect(WITHOUT_WINDOW, "--set switch.ecn.kmin=136192", "ecn-behind-pfc", true, "kmin 136192 B");
}

/* Two windows of 50 kB cannot make a queue of 400 kB. */
static void
ecn_behind_windows(void **state)
{
	expect(TWO_TO_ONE "switch = { buffer = \"32MB\"; };", "--set host.window=50000", "ecn-behind-window", true,
	       "s:3, of 2 flows: at most 110348 B in flight; kmin 400000 B");
	expect_none(TWO_TO_ONE "switch = { buffer = \"32MB\"; };", "--set host.window=200000");
}

static void
nothing_to_mark(void **state)
{
	struct found found;

	look(ONE, "--set host.timeout=100ms", &found);
	assert_int_equal(found.count, 1);
	assert_non_null(of(&found, "no-contention"));
	assert_false(found.findings[0].inert);
}

static void
timer_below_the_round_trip(void **state)
{
	expect(ONE, "", "timer-below-rtt", false, "host.timeout is 4ms, and the longest round trip without queues 10.00");
}

static void
headroom_rows_that_are_short(void **state)
{
	const char *row = "--set 'switch.pfc.headrooms=[ \"100Gbps 300m 20480\" ]' --set switch.buffer=32MB";

	/* The cable needs 2 x 1.6 us at 100 Gbps, 40,000 B, three frames of 1,126 B and a PAUSE: 43,462 B. */
	expect(WITHOUT_WINDOW, row, "headroom-short", false,
	       "(100Gbps, 1us) has 20480 B and is short by 23 KiB: the cable needs");
	expect_none(WITHOUT_WINDOW, "--set 'switch.pfc.headrooms=[ \"100Gbps 300m 60000\" ]' --set switch.buffer=32MB");
}

static void
data_in_a_lossy_class(void **state)
{
	expect(TWO_TO_ONE, "--set host.data_prio=5 --set switch.buffer=32MB", "lossy-class", false,
	       "data of a to c is in class 5, which has no PFC");
}

static void
buffers_in_a_circle(void **state)
{
	expect("topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\", \"e\" ]; switches = [ \"s\", "
	       "\"t\", "
	       "\"u\", \"v\", \"w\" ]; links = ( \"a s\", \"b t\", \"c u\", \"d v\", \"e w\", \"s t\", \"t u\", \"u v\", "
	       "\"v "
	       "w\", \"w s\" ); };\nflows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; } );\n",
	       "", "buffer-circle", false, "a circle of 5 buffers");
}

static void
more_hosts_than_uplinks(void **state)
{
	const char *text =
		"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = \"100Gbps\"; "
		"uplink_rate = \"100Gbps\"; };\nflows = ( { src = \"h0\"; dst = \"h1\"; sport = 20001; bytes = "
		"\"1MB\"; } );\n";

	expect(text, "", "oversubscription", false,
	       "hosts can send 2.00 times what leaves their switch: at l0, of 2 such, 400Gbps of hosts above 200Gbps");
}

UNIT_TEST(preflight)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecn_behind_pfc),
		cmocka_unit_test(ecn_behind_windows),
		cmocka_unit_test(nothing_to_mark),
		cmocka_unit_test(timer_below_the_round_trip),
		cmocka_unit_test(headroom_rows_that_are_short),
		cmocka_unit_test(data_in_a_lossy_class),
		cmocka_unit_test(buffers_in_a_circle),
		cmocka_unit_test(more_hosts_than_uplinks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
