/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found before a run: the numbers are of the switches as they are made, and the remedies remove the findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulation/preflight.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

#define MAX_SETS 16

/* Three hosts at a switch, two of them to the third. */
#define TWO_TO_ONE                                                                                                         \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\" ]; rate = \"100Gbps\"; "    \
	"delay = \"1us\"; links = ( \"a s\", \"b s\", \"c s\" ); };\n"                                                     \
	"flows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; }, { src = \"b\"; dst = \"c\"; "            \
	"sport = 20002; bytes = \"1MB\"; } );\n"
/* Likewise, in two classes. */
#define TWO_CLASSES                                                                                                        \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\" ]; rate = \"100Gbps\"; "    \
	"delay = \"1us\"; links = ( \"a s\", \"b s\", \"c s\" ); };\n"                                                     \
	"flows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; }, { src = \"b\"; dst = \"c\"; "            \
	"sport = 20002; bytes = \"1MB\"; prio = 4; } );\n"
/* Two switches in a row, two hosts at each; all send to the last. */
#define TWO_SWITCHES                                                                                                       \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\" ]; switches = [ \"s\", \"t\" ]; rate = "   \
	"\"100Gbps\"; delay = \"1us\"; links = ( \"a s\", \"b s\", \"s t 150Gbps\", \"c t\", \"d t\" ); };\n"              \
	"flows = ( { src = \"a\"; dst = \"d\"; sport = 20001; bytes = \"1MB\"; }, { src = \"b\"; dst = \"d\"; sport "      \
	"= 20002; bytes = \"1MB\"; }, { src = \"c\"; dst = \"d\"; sport = 20003; bytes = \"1MB\"; } );\n"
#define WITHOUT_WINDOW TWO_TO_ONE "host = { window = \"none\"; };\n"
#define NS3 "--set switch.profile=ns3 --set host.profile=ns3 "
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
	char path[] = "/tmp/preflight-XXXXXX", words[20480], *rest = words, *word;
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
	for (int i = 0; i < found->count; i++)
		if (strstr(found->findings[i].text, " 0 more") != NULL)
			fail_msg("no further place is one: %s", found->findings[i].text);
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
	char both[20480];

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
	for (int i = 0; i < again.count; i++)
		if (of(&found, again.findings[i].check) == NULL)
			fail_msg("%s makes %s: %s", f->remedy, again.findings[i].check, again.findings[i].text);
}

/* The remedy of a check is this one, and helps. */
static void
expect_remedy(const char *text, const char *sets, const char *check, const char *remedy)
{
	const struct preflight_finding *f;
	struct found found;

	look(text, sets, &found);
	f = of(&found, check);
	if (f == NULL) {
		fail_msg("no %s", check);
		return;
	}
	expect(text, sets, check, f->inert, "");
	assert_string_equal(f->remedy, remedy);
}

/* All remedies together leave no finding. */
static void
expect_mended(const char *text, const char *sets)
{
	struct found found;
	char all[20480];

	look(text, sets, &found);
	assert_int_not_equal(found.count, 0);
	snprintf(all, sizeof(all), "%s", sets);
	for (int i = 0; i < found.count; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", found.findings[i].remedy);
	look(text, all, &found);
	if (found.count != 0)
		fail_msg("%s leave %s: %s", all, found.findings[0].check, found.findings[0].text);
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
	expect(WITHOUT_WINDOW, NS3, "ecn-behind-pfc", true,
	       "host.cc = \"dcqcn\" cannot act: at 1 of the 1 ports that several ingresses fill, PFC pauses before ECN "
	       "marks. "
	       "s:3, class 3, with 2 of them busy: XOFF at 68096 B each, which are 136192 B in its queue; kmin 400000 B");
	expect(WITHOUT_WINDOW "switch = { pfc = { model = \"static\"; }; };", NS3, "ecn-behind-pfc", true,
	       "XOFF at 69632 B each");
	expect_none(WITHOUT_WINDOW, NS3 "--set host.cc=swift");
	expect_none(TWO_TO_ONE, "");
	expect_none(WITHOUT_WINDOW, NS3 "--set switch.ecn.kmin=136191");
	expect(WITHOUT_WINDOW, NS3 "--set switch.ecn.kmin=136192", "ecn-behind-pfc", true, "kmin 136192 B");
}

/* Two windows of 50 kB cannot make a queue of 400 kB. */
static void
ecn_behind_windows(void **state)
{
	expect(TWO_TO_ONE "switch = { buffer = \"32MB\"; };", NS3 "--set host.window=50000", "ecn-behind-window", true,
	       "s:3, of 2 flows: at most 110348 B in flight; kmin 400000 B");
	expect_none(TWO_TO_ONE "switch = { buffer = \"32MB\"; };", NS3 "--set host.window=200000");
}

static void
nothing_to_mark(void **state)
{
	struct found found;

	look(ONE, "--set host.timeout=100ms", &found);
	assert_int_equal(found.count, 1);
	assert_non_null(of(&found, "no-contention"));
	assert_false(found.findings[0].inert);
	assert_string_equal(found.findings[0].remedy, "");
	assert_string_equal(found.findings[0].no_remedy,
			    "it lacks traffic, not a setting: a flow or a collective that shares a port with these");
}

/* Thresholds beyond what any chip holds: they are at fault, and not its buffer. */
static void
thresholds_beyond_the_chip(void **state)
{
	const char *absurd = "--set switch.ecn.kmin=1GB --set switch.ecn.kmax=2GB";
	const char *row = "--set 'switch.wred=( { class = 3; kmin = \"1GB\"; kmax = \"2GB\"; pmax = 0.5; } )'";
	struct found found;
	uint64_t xoff;

	(void)state;
	look(TWO_TO_ONE, absurd, &found);
	xoff = strtoull(strstr(of(&found, "ecn-behind-pfc")->text, "XOFF at ") + strlen("XOFF at "), NULL, 10);
	for (int scales = 0; scales < 2; scales++) {
		char sets[256], kmin[128];

		snprintf(sets, sizeof(sets), "%s --set switch.ecn.scales=%s --set switch.ecn.rate=50Gbps", absurd,
			 scales ? "true" : "false");
		snprintf(kmin, sizeof(kmin), "--set switch.ecn.kmin=%" PRIu64, scales ? xoff / 2 : xoff);
		expect_remedy(TWO_TO_ONE, sets, "ecn-behind-pfc", kmin);
		snprintf(kmin, sizeof(kmin),
			 "--set 'switch.wred.[0]={ class = 3; kmin = %" PRIu64 "; kmax = 2000000000; pmax = 0.5; }'",
			 scales ? xoff / 2 : xoff);
		snprintf(sets, sizeof(sets), "%s --set switch.ecn.scales=%s --set switch.ecn.rate=50Gbps", row,
			 scales ? "true" : "false");
		expect_remedy(TWO_TO_ONE, sets, "ecn-behind-pfc", kmin);
	}
	/* A buffer that is given and smaller than chips are may grow. */
	look(TWO_TO_ONE, "--set switch.buffer=2MB", &found);
	assert_non_null(strstr(of(&found, "ecn-behind-pfc")->remedy, "--set switch.buffer="));
}

/* CNPs are lost where none are sent; a cable has one rate. */
static void
faults_that_change_nothing(void **state)
{
	static const char cnps[] =
		TWO_TO_ONE "faults = ( { kind = \"loss\"; port = \"s:1\"; rate = 1.0; packets = \"cnps\"; } );\n";
	static const char rates[] = TWO_TO_ONE
		"faults = ( { kind = \"link-rate\"; port = \"s:3\"; rate = \"50Gbps\"; start = \"10us\"; duration = "
		"\"20us\"; }, { kind = \"link-rate\"; port = \"c:1\"; rate = \"25Gbps\"; start = \"20us\"; duration = "
		"\"20us\"; } );\n";

	(void)state;
	expect_none(cnps, "");
	expect_none(cnps, "--set host.cc=none --set 'faults.[0].packets=\"acks\"'");
	expect_none(cnps, "--set host.cc=none --set 'faults.[0].enabled=false'");
	expect(cnps, "--set host.cc=none", "fault-idle", true,
	       "faults.[0] (loss at s:1) is of CNPs alone, and hosts send none: host.cc = \"none\"");
	expect_remedy(cnps, "--set host.cc=swift", "fault-idle", "--set host.cc=dcqcn --set host.dcqcn.echo=cnp");
	expect_remedy(cnps, "--set host.dcqcn.echo=ack", "fault-idle", "--set host.dcqcn.echo=cnp");
	expect(rates, "", "fault-replaced", false, "faults.[0] (link-rate at s:3) and faults.[1]");
	expect_remedy(rates, "", "fault-replaced", "--set 'faults.[1].enabled=false'");
	expect_none(rates, "--set 'faults.[1].port=\"a:1\"'");
	expect_none(rates, "--set 'faults.[1].start=\"30us\"'");
	/* The first begins again, and is on by then: 10 to 30 us, 40 to 60 us. */
	expect(rates, "--set 'faults.[1].start=\"30us\"' --set 'faults.[0].period=\"30us\"'", "fault-replaced", false, "");
	expect_none(rates, "--set 'faults.[1].start=\"30us\"' --set 'faults.[0].period=\"40us\"'");
	/* Without an end it lasts. */
	expect(rates, "--set 'faults.[1].start=\"1ms\"' --set 'faults.[0].duration=\"0us\"'", "fault-replaced", false, "");
}

static void
probes_leave_most_of_a_link(void **state)
{
	static const char text[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "
				   "\"%s\"; delay = \"50us\"; };\n"
				   "pingmesh = { enabled = true; time_factor = %s; };\n"
				   "flows = ( { src = \"h0\"; dst = \"h2\"; sport = 50000; bytes = \"1MB\"; } );\n";
	char slow[512], fast[512];
	struct found found;

	(void)state;
	snprintf(slow, sizeof(slow), text, "200Mbps", "0.002");
	expect(slow, "", "probes-heavy", true, "% of the link of h0:1, 0.2 Gbps");
	snprintf(fast, sizeof(fast), text, "100Gbps", "0.002");
	look(fast, "", &found);
	assert_null(of(&found, "probes-heavy"));
}

/* Without flows that meet, what others would find: as many ingresses as a switch has. */
static void
ecn_of_ports_that_nothing_fills(void **state)
{
	const char *text = "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\" ]; rate "
			   "= \"100Gbps\"; "
			   "delay = \"1us\"; links = ( \"a s\", \"b s\", \"c s\" ); };\n"
			   "flows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; } );\n"
			   "host = { window = \"none\"; };\n";
	struct found found;

	(void)state;
	expect(text, NS3, "ecn-behind-pfc", false,
	       "at 3 of the 3 ports that all others of their switch could fill, PFC pauses before ECN marks. s:1, class 3, "
	       "with 2 "
	       "of them busy: XOFF at 68096 B each");
	expect(text, "--set switch.pfc.enabled=false", "ecn-behind-drop", false,
	       "at 3 of the 3 ports that all others of their switch could fill, queues of a class without PFC drop");
	expect(text, "--set switch.ecn.enabled=false", "ecn-off", false, "at 3 of the 3 ports that all others");
	look(text, "", &found);
	assert_int_equal(found.count, 1);
	assert_non_null(of(&found, "no-contention"));
}

/* Also where single switches have their own thresholds, as imported ones do. */
static void
ecn_that_is_off(void **state)
{
	static const char one_port[] = TWO_TO_ONE "ports = ( { names = [ \"s:3\" ]; ecn = { enabled = false; }; } );\n";
	struct found found;

	(void)state;
	expect(TWO_TO_ONE, "--set switch.ecn.enabled=false", "ecn-off", true,
	       "host.cc = \"dcqcn\" cannot act: at 1 of the 1 ports that several ingresses fill, nothing is marked: ECN of "
	       "class 3 is off. One is s:3");
	expect(one_port, "", "ecn-off", true, "is off. One is s:3");
	look(one_port, "", &found);
	assert_string_equal(found.findings[0].remedy, "--set 'ports.[0].ecn.enabled=true'");
	expect_none(TWO_TO_ONE, "--set switch.ecn.enabled=false --set host.cc=swift");
	expect(TWO_TO_ONE
	       "switch = { ecn = { enabled = false; scales = false; }; };\nswitches = ( { names = [ \"s\" ]; buffer = "
	       "\"1MB\"; wred = ( \"3 600KB 700KB\" ); } );\n",
	       "", "ecn-behind-pfc", true, "kmin 600000 B");
}

static void
timer_below_the_round_trip(void **state)
{
	expect(ONE, "--set host.timeout=4ms", "timer-below-rtt", false,
	       "host.timeout is 4ms, and the longest round trip without queues 10.00");
}

static void
headroom_rows_that_are_short(void **state)
{
	const char *row = "--set 'switch.pfc.headrooms=[ \"100Gbps 300m 20480\" ]' --set switch.buffer=32MB";

	/* The cable needs 2 x 1.6 us at 100 Gbps, 40,000 B, three frames of 1,126 B and a PAUSE: 43,462 B. */
	expect(WITHOUT_WINDOW, row, "headroom-short", false,
	       "(100Gbps, 1us) has 20480 B and is short by 23 KiB: the cable needs");
	expect_none(WITHOUT_WINDOW, "--set 'switch.pfc.headrooms=[ \"100Gbps 300m 60000\" ]' --set switch.buffer=32MB");
	/* The row that is taken is the one that is short: the shortest cable that is long enough. */
	expect_remedy(WITHOUT_WINDOW
		      "switches = ( { names = [ \"s\" ]; buffer = \"32MB\"; pfc = { headrooms = ( \"100Gbps 40m 9KB\", "
		      "\"100Gbps 300m 20KB\", \"100Gbps 2000m 9KB\" ); }; } );\n",
		      "", "headroom-short", "--set 'switches.[0].pfc.headrooms.[1]=\"100Gbps 300m 43462\"'");
}

/* Remedies are of the switch that needs them. */
static void
a_switch_of_its_own_has_its_own_remedy(void **state)
{
	const char *two =
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\", \"e\", \"f\" ]; switches = [ "
		"\"s\", \"t\" ]; rate = \"100Gbps\"; delay = \"1us\"; links = ( \"a s\", \"b s\", \"c s\", \"d t\", \"e "
		"t\", "
		"\"f t\", \"s t 400Gbps\" ); };\nflows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; }, "
		"{ src = "
		"\"b\"; dst = \"c\"; sport = 20002; bytes = \"1MB\"; }, { src = \"d\"; dst = \"f\"; sport = 20003; bytes = "
		"\"1MB\"; }, { src = \"e\"; dst = \"f\"; sport = 20004; bytes = \"1MB\"; } );\nswitches = ( { names = [ "
		"\"t\" "
		"]; buffer = \"2MB\"; ecn = { kmin = \"2MB\"; kmax = \"4MB\"; }; } );\n";
	struct found found;

	(void)state;
	expect(two, "", "ecn-behind-pfc", false, "at 1 of the 2 ports that several ingresses fill");
	look(two, "", &found);
	assert_non_null(strstr(of(&found, "ecn-behind-pfc")->remedy, "--set 'switches.[0].buffer="));
}

/* Two cables of 400 us: 3 x 100 Gbps x 400 us, 15 MB each, and a short one. */
static void
a_chip_too_small_for_its_cables(void **state)
{
	const char *text = "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\" ]; "
			   "rate = \"100Gbps\"; delay = \"400us\"; links = ( \"a s\", \"b s\", \"c s\" ); };\n"
			   "flows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; }, { src = \"b\"; dst "
			   "= \"c\"; sport = 20002; bytes = \"1MB\"; } );\n";

	expect(text, "", "buffer-short", false,
	       "of s, of 1 such switches, leaves nothing of the profile's buffer of 32712448B: it has ");
	expect(text, "--set switch.profile=trident3", "buffer-short", false, "of s, ");
	expect(TWO_TO_ONE, "--set switch.buffer=400KB --set host.cc=none", "buffer-short", false,
	       "the usual headroom of the cables of s, of 1 such switches, leaves nothing of a buffer of 400KB");
	expect_none(text, NS3 "--set host.cc=none");
}

#define ONE_MAP "--set 'switches.[0].names=[ \"s\" ]' --set host.cc=none "

static void
data_in_a_lossy_class(void **state)
{
	struct found found;

	expect(TWO_TO_ONE, "--set host.data_prio=5 --set switch.buffer=32MB", "lossy-class", false,
	       "data of a to c is in class 5, which has no PFC");
	expect(TWO_TO_ONE, "--set switch.pfc.enabled=false --set switch.lossy_queue=256KiB", "lossy-class", false,
	       "data of a to c is in class 3, and PFC is off: what a queue of 256KiB cannot hold is lost");
	expect_none(TWO_TO_ONE, "--set switch.pfc.enabled=false --set 'switches.[0].names=[ \"s\" ]' --set "
				"switches.[0].pfc.enabled=true");
	/* A map leads it into one with PFC: hosts do not hold it back, and no queue is lossy. */
	look(TWO_TO_ONE, "--set host.data_prio=5 --set 'switch.class_map=[ \"40:3\" ]'", &found);
	assert_null(of(&found, "lossy-class"));
	expect(TWO_TO_ONE, "--set host.data_prio=5 --set 'switch.class_map=[ \"40:3\" ]'", "class-map-differs", false,
	       "enters s:1 in class 3");
	/* A map of one switch of two: the flow that it leaves alone is in a lossy queue. */
	expect(TWO_SWITCHES, ONE_MAP "--set host.data_prio=5 --set 'switches.[0].class_map=[ \"40:3\" ]'", "lossy-class",
	       false, "data of c to d is in class 5, which has no PFC");
	expect_mended(TWO_SWITCHES, ONE_MAP "--set host.data_prio=5 --set 'switches.[0].class_map=[ \"40:3\" ]'");
}

/* Maps of two switches: into two classes with PFC, and into one with and one without. */
static void
maps_of_two_switches(void **state)
{
	static const char both[] =
		ONE_MAP "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switches.[1].names=[ \"t\" "
			"]' --set 'switches.[0].class_map=[ \"24:4\" ]' ";
	char sets[1024];

	(void)state;
	snprintf(sets, sizeof(sets), "%s--set 'switches.[1].class_map=[ \"24:3\", \"32:3\" ]'", both);
	expect(TWO_SWITCHES, sets, "class-map-differs", false,
	       "data of a to d enters s:1 in class 4, and waits in another class in front of it");
	expect_mended(TWO_SWITCHES, sets);
	snprintf(sets, sizeof(sets), "%s--set 'switches.[1].class_map=[ \"24:2\" ]'", both);
	expect(TWO_SWITCHES, sets, "class-map-lossy", false, "class_map at t:1 leads it into class 2, which has none");
	expect_mended(TWO_SWITCHES, sets);
}

static void
single_ports_that_do_not_fit(void **state)
{
	struct found found;

	(void)state;
	expect(TWO_TO_ONE, "--set 'switches.[0].names=[ \"s\" ]' --set switches.[0].pfc.enabled=false", "lossy-port", false,
	       "data of a to c in class 3, which has PFC elsewhere, enters s:1, where it has none: what does not fit is "
	       "lost; "
	       "so it is at 1 more port");
	expect(TWO_TO_ONE, "--set 'ports.[0].names=[ \"s:2\" ]' --set 'ports.[0].pfc.priorities=[ \"4\" ]'", "lossy-port",
	       false, "enters s:2");
	expect(TWO_TO_ONE, "--set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].mtu=1000", "mtu-short", false,
	       "more than the MTU of s:3 lets pass (mtu 1000)");
	expect_none(TWO_TO_ONE, "--set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].mtu=1500 --set host.cc=none");
	/* A port that no PAUSE holds, in front of one that sends it; not where the switch behind it has no PFC either. */
	expect_remedy(TWO_SWITCHES,
		      "--set host.cc=none --set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].pfc.enabled=false",
		      "pause-ignored", "--set 'ports.[0].pfc.enabled=true'");
	expect(TWO_SWITCHES, "--set 'ports.[0].names=[ \"s:3\" ]' --set 'ports.[0].pfc.priorities=[ \"4\" ]'",
	       "pause-ignored", false,
	       "data of a to d leaves s:3, which has no PFC for its class, and enters a port that has");
	look(TWO_SWITCHES,
	     "--set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].pfc.enabled=false --set 'switches.[0].names=[ \"t\" ]' "
	     "--set "
	     "switches.[0].pfc.enabled=false",
	     &found);
	assert_null(of(&found, "pause-ignored"));
	look(TWO_SWITCHES,
	     "--set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].pfc.asymmetric=true --set "
	     "'ports.[0].pfc.priorities=[ \"4\" ]'",
	     &found);
	assert_null(of(&found, "pause-ignored"));
	/* The smallest of several counts, and that of a switch is its ports' but where they have another. */
	expect_remedy(TWO_SWITCHES,
		      "--set host.mtu=4096 --set 'ports.[0].names=[ \"t:3\" ]' --set ports.[0].mtu=1500 --set "
		      "'ports.[1].names=[ \"s:1\" ]' --set ports.[1].mtu=3000",
		      "mtu-short", "--set host.mtu=1024");
	expect_remedy(TWO_SWITCHES, "--set 'ports.[0].names=[ \"t:3\" ]' --set ports.[0].mtu=250", "mtu-short",
		      "--set 'ports.[0].mtu=1088'");
}

static void
a_watchdog_without_pfc(void **state)
{
	(void)state;
	expect(TWO_TO_ONE, "--set switch.pfc.enabled=false --set switch.watchdog.enabled=true", "watchdog-idle", false,
	       "no port that has one has PFC");
	expect(TWO_TO_ONE,
	       "--set 'ports.[0].names=[ \"s:1\" ]' --set ports.[0].watchdog.enabled=true --set "
	       "ports.[0].pfc.enabled=false",
	       "watchdog-idle", false, "it watches nothing");
	expect_none(TWO_TO_ONE, "--set switch.watchdog.enabled=true");
}

/* Three ingresses: thrice 2 x 1.1 us, and 4608 B at 100 Gbps. The peers of hosts have no watchdog. */
static void
a_watchdog_too_fast(void **state)
{
	static const char text[] =
		"topology = { kind = \"leaf-spine\"; leaves = 3; spines = 3; hosts_per_leaf = 3; rate = \"100Gbps\"; delay "
		"= "
		"\"500ns\"; };\nflows = ( { src = \"h0\"; dst = \"h8\"; sport = 1; bytes = \"8MB\"; }, { src = \"h1\"; dst "
		"= "
		"\"h8\"; sport = 2; bytes = \"8MB\"; }, { src = \"h4\"; dst = \"h8\"; sport = 3; bytes = \"8MB\"; } );\n";

	(void)state;
	expect(text, "--set switch.watchdog.enabled=true --set switch.watchdog.detection_time=7us", "watchdog-short", false,
	       "takes a pause of 7us for a storm, and one lasts 7.70592us when 3 ingresses fill a port of its peer");
	expect_none(text, "--set switch.watchdog.enabled=true --set switch.watchdog.detection_time=8us");
	expect_none(text, "--set switch.watchdog.detection_time=7us");
	/* Where no flows fill a port, as if all other ports did. */
	expect(text,
	       "--set 'flows=( { src = \"h0\"; dst = \"h8\"; sport = 1; bytes = \"8MB\"; } )' --set "
	       "switch.watchdog.enabled=true --set switch.watchdog.detection_time=7us",
	       "watchdog-short", false, "takes a pause of 7us for a storm");
	expect_none(TWO_TO_ONE, "--set switch.watchdog.enabled=true --set switch.watchdog.detection_time=1us");
}

static void
cnps_that_wait_for_data(void **state)
{
	(void)state;
	expect(TWO_TO_ONE, "--set 'switch.strict=[ \"5\" ]'", "cnp-class-shared", false,
	       "CNPs have class 6 (host.dcqcn.cnp_prio), which switch.strict does not name: they wait in turn with data, "
	       "and "
	       "behind that of strict classes");
	expect(TWO_TO_ONE, "--set switch.strict=[]", "cnp-class-shared", false, "in turn with data");
	expect_none(TWO_TO_ONE, "--set 'switch.strict=[ \"5\", \"6\" ]'");
	expect_none(TWO_TO_ONE, "--set switch.strict=[] --set host.dcqcn.cnp_prio=0");
}

static void
class_maps_that_lead_astray(void **state)
{
	(void)state;
	expect(TWO_TO_ONE, "--set 'switch.class_map=[ \"24:1\", \"40:4\" ]'", "class-map-lossy", false,
	       "data of a to c is in class 3, which has PFC; class_map at s:1 leads it into class 1, which has none: what "
	       "does "
	       "not fit is lost; so it is at 1 more port");
	expect(TWO_TO_ONE,
	       "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'ports.[0].names=[ \"s:2\" ]' --set "
	       "'ports.[0].class_map=[ \"24:4\" ]'",
	       "class-map-differs", false,
	       "data of b to c enters s:2 in class 4, and waits in another class in front of it, by their class maps: a "
	       "PAUSE "
	       "of class 4 does not hold it back");
	expect_none(TWO_TO_ONE, "--set 'switch.class_map=[ \"24:3\", \"40:4\" ]'");
	/* Of a port that has the map of all switches, and another setting of its own. */
	expect_remedy(TWO_TO_ONE,
		      "--set 'switch.class_map=[ \"24:1\" ]' --set 'ports.[0].names=[ \"s:1\" ]' --set ports.[0].mtu=9000 "
		      "--set 'ports.[1].names=[ \"s:2\" ]' --set 'ports.[1].class_map=[]'",
		      "class-map-lossy", "--set 'ports.[0].class_map=[ \"24:3\" ]'");
	/* Of switches on the way: what is mended there no longer differs from the next. */
	expect_mended(TWO_SWITCHES, "--set 'switches.[0].names=[ \"s\" ]' --set 'switches.[0].class_map=[ \"24:2\" ]'");
	expect_mended(TWO_SWITCHES, "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switch.class_map=[ \"24:4\" ]'");
	/* Of flows in several classes: one row each, in one map. */
	expect_remedy(TWO_CLASSES,
		      "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switch.class_map=[ \"24:1\", \"32:2\", "
		      "\"40:2\" ]'",
		      "class-map-lossy", "--set 'switch.class_map=[ \"24:3\", \"32:4\", \"40:2\" ]'");
	expect_remedy(TWO_CLASSES,
		      "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'ports.[0].names=[ \"s:1\", \"s:2\" ]' "
		      "--set 'ports.[0].pfc.priorities=[ \"5\" ]'",
		      "lossy-port", "--set 'ports.[0].pfc.priorities=[ \"3\", \"4\", \"5\" ]'");
	/* Of a switch where the class itself has no PFC: its map alone would exchange one warning for another. */
	expect_mended(TWO_TO_ONE, "--set 'switches.[0].names=[ \"s\" ]' --set 'switches.[0].class_map=[ \"24:1\" ]' --set "
				  "'switches.[0].pfc.priorities=[ \"4\" ]'");
}

/* Four flows, each down and up again: s0 l1 s1 l2, and back to s0. */
#define PINNED(kind)                                                                                                       \
	"topology = { kind = \"" kind "; };\npaths = ( { src = \"h0\"; dst = \"h2\"; data = [ \"l0:2\", \"s0:2\", "        \
	"\"l1:3\", \"s1:3\", \"l2:1\" ]; }, { src "                                                                        \
	"= \"h2\"; dst = \"h0\"; data = [ \"l2:3\", \"s1:2\", \"l1:2\", \"s0:1\", \"l0:1\" ]; }, { src = \"h1\"; dst = "   \
	"\"h0\"; data = [ \"l1:2\", \"s0:3\", \"l2:3\", \"s1:1\", \"l0:1\" ]; }, { src = \"h0\"; dst = \"h1\"; data = [ "  \
	"\"l0:3\", \"s1:3\", \"l2:2\", \"s0:2\", \"l1:1\" ]; } );\nflows = ( { src = \"h0\"; dst = \"h2\"; sport = "       \
	"20001; bytes = \"1MB\"; }, { src = \"h2\"; dst = \"h0\"; sport = 20001; bytes = \"1MB\"; }, { src = \"h1\"; "     \
	"dst = \"h0\"; sport = 20001; bytes = \"1MB\"; }, { src = \"h0\"; dst = \"h1\"; sport = 20001; bytes = \"1MB\"; "  \
	"} "                                                                                                               \
	");\n"

#define RING                                                                                                               \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\", \"e\" ]; switches = [ \"s\", \"t\", "     \
	"\"u\", "                                                                                                          \
	"\"v\", \"w\" ]; links = ( \"a s\", \"b t\", \"c u\", \"d v\", \"e w\", \"s t\", \"t u\", \"u v\", \"v w\", \"w "  \
	"s\" ); "                                                                                                          \
	"};\nflows = ( { src = \"a\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; } );\n"

/* A switch without PFC pauses nothing, and no buffer waits for its. */
static void
circles_of_single_switches(void **state)
{
	static const char all[] = "--set switch.pfc.enabled=false --set 'switches.[0].names=[ \"s\", \"t\", \"u\", \"v\", "
				  "\"w\" ]' --set switches.[0].pfc.enabled=true";
	struct found found;

	(void)state;
	expect_remedy(RING, all, "buffer-circle", "--set routing.kind=up-down");
	look(RING, "--set 'switches.[0].names=[ \"v\" ]' --set switches.[0].pfc.enabled=false", &found);
	assert_null(of(&found, "buffer-circle"));
	look(RING, "--set 'ports.[0].names=[ \"v:2\", \"v:3\" ]' --set 'ports.[0].pfc.priorities=[ \"4\" ]'", &found);
	assert_null(of(&found, "buffer-circle"));
	look(RING, "--set switch.pfc.enabled=false", &found);
	assert_null(of(&found, "buffer-circle"));
	/* Of another class than the hosts' own. */
	expect_remedy(RING, "--set flows.[0].prio=5 --set 'switch.pfc.priorities=[ \"5\" ]'", "buffer-circle",
		      "--set routing.kind=up-down");
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
	/* Equal-cost paths that cut links leave go down and up again. */
	expect_remedy(
		"topology = { kind = \"leaf-spine\"; leaves = 4; spines = 2; hosts_per_leaf = 1; };\nflows = ( { src = "
		"\"h0\"; dst = \"h3\"; sport = 20001; bytes = \"1MB\"; } );\nfaults = ( { kind = \"link-down\"; port = "
		"\"l0:2\"; known = true; }, { kind = \"link-down\"; port = \"l3:3\"; known = true; } );\n",
		"", "buffer-circle", "--set routing.kind=up-down");
	/* Pins that do. */
	expect_remedy(PINNED("leaf-spine\"; leaves = 3; spines = 2; hosts_per_leaf = 1"), "", "buffer-circle",
		      "--set 'paths=()'");
	/* Both: in a ring of leaves, too. */
	expect_remedy(
		PINNED("explicit\"; hosts = [ \"h0\", \"h1\", \"h2\", \"h3\" ]; switches = [ \"l0\", \"l1\", \"l2\", "
		       "\"s0\", \"s1\", \"t\" ]; links = ( \"h0 l0\", \"l0 s0\", \"l0 s1\", \"h1 l1\", \"l1 s0\", "
		       "\"l1 s1\", \"h2 l2\", \"l2 s0\", \"l2 s1\", \"l0 l1\", \"l1 l2\", \"l2 t\", \"t l0\", \"h3 t\" )"),
		"", "buffer-circle", "--set routing.kind=up-down --set 'paths=()'");
}

#define GENERATED(kind, more)                                                                                              \
	"topology = { kind = \"" kind "\"; " more " };\nflows = ( { src = \"h0\"; dst = \"h1\"; sport = 20001; bytes = "   \
	"\"1MB\"; } );\n"
#define LEAVES(more)                                                                                                       \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = \"100Gbps\"; " more        \
	" };\nflows = ( { src = \"h0\"; dst = \"h1\"; sport = 20001; bytes = \"1MB\"; } );\n"

static void
more_hosts_than_uplinks(void **state)
{
	const char *text =
		"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = \"100Gbps\"; "
		"uplink_rate = \"100Gbps\"; };\nflows = ( { src = \"h0\"; dst = \"h1\"; sport = 20001; bytes = "
		"\"1MB\"; } );\n";
	struct found found;

	expect(text, "", "oversubscription", false,
	       "hosts can send 2.00 times what leaves their switch: at l0, of 2 such, 400Gbps of hosts above 200Gbps");
	expect_remedy(LEAVES(""), "", "oversubscription", "--set topology.uplink_rate=200Gbps");
	expect_remedy(LEAVES("oversubscription = 2.0;"), "", "oversubscription", "--set topology.oversubscription=1.0");
	expect_none(LEAVES("uplink_rate = \"200Gbps\";"), "--set host.cc=none");
	/* Every generator that can have it; expect() applies the remedy, and no warning is left. */
	expect_remedy(GENERATED("fat-tree", "k = 4; host_rate = \"200Gbps\";"), "", "oversubscription",
		      "--set topology.rate=200Gbps");
	expect_remedy(GENERATED("rail", "hosts = 4; nics = 2; hosts_per_group = 2; spines = 1;"), "", "oversubscription",
		      "--set topology.uplink_rate=200Gbps");
	expect_remedy(GENERATED("dual-tor", "hosts = 8; hosts_per_rack = 4; spines = 3;"), "", "oversubscription",
		      "--set topology.uplink_rate=133334Mbps");
	expect_remedy(LEAVES("oversubscription = 2.0; uplink_rate = \"100Gbps\";"), "", "oversubscription",
		      "--set topology.uplink_rate=200Gbps --set topology.oversubscription=1.0");
	/* Links that are written out one by one. */
	expect_remedy(TWO_SWITCHES, "", "oversubscription", "--set 'topology.links.[2]=\"s t 200Gbps 1000000ps\"'");
	/* No cable has 12 Tbps: 10 Tbps are the most. */
	look("topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\" ]; switches = [ \"s\", \"t\" ]; "
	     "rate = \"6Tbps\"; delay = \"1us\"; links = ( \"a s\", \"b s\", \"s t\", \"c t\", \"d t\" ); };\n"
	     "flows = ( { src = \"a\"; dst = \"d\"; sport = 20001; bytes = \"1MB\"; } );\n",
	     "", &found);
	assert_non_null(of(&found, "oversubscription"));
	assert_string_equal(of(&found, "oversubscription")->remedy, "");
	assert_string_equal(of(&found, "oversubscription")->no_remedy,
			    "no key of this topology gives links between switches the rate that is missing: more of them");
}

#define POOLS(pool, profile, more)                                                                                         \
	TWO_TO_ONE "switch = { buffer_pool = ( " pool " ); buffer_profile = ( { name = \"p\"; pool = \"l\"; " profile      \
		   " } ); buffer_pg = ( \"3 p\" ); " more " };\n"

/* At 100 Gbps and 1 us a cable needs 43,462 B; three groups of 44,000 B. */
static void
pools_and_profiles(void **state)
{
	(void)state;
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }", "xoff = 8000;", ""), "", "headroom-short",
	       false, "buffer_profile \"p\" has xoff 8000 B and is short by");
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; mode = \"dynamic\"; xoff = 60000; }",
		     "xoff = 44000;", ""),
	       "", "headroom-oversubscribed", false,
	       "the groups of pool \"l\" of s may need 132000 B of shared headroom when all are paused at once; it has "
	       "60000 B");
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }", "xoff = 44000; size = 1000;",
		     "buffer = 9000000;"),
	       "", "pools-oversubscribed", false, "ingress pools, reserves and headroom of s take");
	/* By a port's own group: one of 1 MB is more than the others leave. */
	expect_none(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }",
			  "xoff = 44000; }, { name = \"r\"; pool = \"l\"; size = 1000000; xoff = 44000;",
			  "buffer = 11000000;"),
		    "--set host.cc=none");
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }",
		     "xoff = 44000; }, { name = \"r\"; pool = \"l\"; size = 1000000; xoff = 44000;", "buffer = 11000000;"),
	       "--set host.cc=none --set 'ports.[0].names=[ \"s:2\" ]' --set 'ports.[0].buffer_pg=( \"3 r\" )'",
	       "pools-oversubscribed", false, "ingress pools, reserves and headroom of s take 11132KB; its buffer is 11MB");
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"100KB\"; }", "xoff = 44000;", ""), "", "ecn-behind-pfc",
	       true, "PFC pauses before ECN marks");
	expect(TWO_TO_ONE "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = \"10MB\"; }, { name = "
			  "\"e\"; type = \"egress\"; size = \"1MB\"; mode = \"static\"; } ); buffer_profile = ( { "
			  "name = \"p\"; "
			  "pool = \"l\"; xoff = 44000; }, { name = \"q\"; pool = \"e\"; static_th = \"1MB\"; } ); "
			  "buffer_pg = ( \"3 p\" ); buffer_queue = ( \"3 q\" ); };\n",
	       "", "lossless-queue-short", false,
	       "class 3 has PFC, and its queue at s:1 may hold 1000000 B by buffer_profile \"q\", where the ingresses hold "
	       "up to "
	       "10132000 B");
	expect_none(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; mode = \"dynamic\"; xoff = 132000; }",
			  "xoff = 44000;", "buffer = 11000000;"),
		    "");
}

/* Data of a class that is not the hosts' own, and that a map leads into another, is marked by that class's thresholds. */
static void
ecn_of_other_classes(void **state)
{
	(void)state;
	expect(TWO_TO_ONE,
	       "--set 'flows.[0-1].prio=4' --set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set "
	       "'switch.wred=( \"4 100MB 200MB\" )'",
	       "ecn-behind-pfc", true, "s:3, class 4, with 2 of them busy");
	expect(TWO_TO_ONE, "--set 'flows.[0-1].prio=4' --set 'switch.wred=( \"4 3MB 4MB\" )'", "ecn-behind-drop", true,
	       "s:3: its queue holds 1048576 B; kmin 3000000 B");
	expect(TWO_TO_ONE,
	       "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switch.class_map=[ \"24:4\" ]' --set "
	       "'switch.wred=( \"4 100MB 200MB\" )'",
	       "ecn-behind-pfc", true, "s:3, class 4, with 2 of them busy");
	/* A class that nothing sends in. */
	expect_none(TWO_TO_ONE, "--set 'switch.wred=( \"4 100MB 200MB\" )'");
	/* No flow at all: the hosts' own class. */
	expect(TWO_TO_ONE,
	       NS3 "--set 'flows=()' --set 'collectives=( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"1MB\"; "
		   "enabled = false; } )' --set host.window=none",
	       "ecn-behind-pfc", false, "s:1, class 3, with 2 of them busy");
	/* One flow in each of two classes: together they fill the port. */
	expect(TWO_CLASSES, "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switch.wred=( \"4 100MB 200MB\" )'",
	       "ecn-behind-pfc", false,
	       "at 1 of the 2 queues that several ingresses fill, PFC pauses before ECN marks. s:3, "
	       "class 4, with 1 of them busy");
}

/* The limits of a class without PFC where there are pools: its own, and that of its profile. */
static void
pools_of_a_lossy_class(void **state)
{
	static const char text[] = TWO_TO_ONE
		"host = { data_prio = 4; };\nswitch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = "
		"\"10MB\"; }, { name = \"e\"; type = \"egress\"; size = \"4MB\"; } ); buffer_profile = ( { name = "
		"\"p\"; pool = \"l\"; xoff = 50000; }, { name = \"q\"; pool = \"e\"; dynamic_th = -3; } ); "
		"buffer_pg = ( \"3 p\" ); buffer_queue = ( \"4 q\" ); wred = ( \"4 600KB 700KB\" ); };\n";

	(void)state;
	/* 4 MB over 1 + 8: 444 kB. */
	expect_remedy(text, "", "ecn-behind-drop", "--set 'switch.buffer_profile.[1].size=1200000'");
	expect_remedy(text, "--set switch.lossy_queue=500KB", "ecn-behind-drop",
		      "--set switch.lossy_queue=1200000 --set 'switch.buffer_profile.[1].size=1200000'");
	/* With PFC it has a group, and a queue that does not drop first. */
	expect_remedy(text, "", "lossy-class",
		      "--set 'switch.pfc.priorities=[ \"3\", \"4\" ]' --set 'switch.buffer_profile.[1].size=10150000' "
		      "--set 'switch.buffer_pg.[1]=\"4 p\"'");
}

/* Remedies where the usual setting is not the one that limits. */
static void
remedies_of_what_limits(void **state)
{
	(void)state;
	/* A threshold in bytes, and one of a pool that fills the chip. */
	expect_remedy(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }",
			    "xoff = 50000; mode = \"static\"; static_th = 100000;", ""),
		      "", "ecn-behind-pfc", "--set 'switch.buffer_profile.[0].static_th=1048576'");
	expect_remedy(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }", "xoff = 50000; dynamic_th = -6;", ""),
		      "", "ecn-behind-pfc", "--set 'switch.buffer_profile.[0].dynamic_th=0'");
	/* Headroom alone is more than the buffer. */
	expect_remedy(
		POOLS("{ name = \"l\"; type = \"ingress\"; size = \"3MB\"; }", "xoff = 5000000;", "buffer = \"10MB\";"), "",
		"pools-oversubscribed", "--set switch.buffer=18000000");
	/* A chip of one switch. */
	expect_remedy(TWO_TO_ONE "switches = ( { names = [ \"s\" ]; profile = \"trident3\"; } );\n",
		      "--set topology.delay=400us", "buffer-short", "--set 'switches.[0].buffer=0'");
	/* A port whose MTU is below the least path MTU. */
	expect_remedy(TWO_TO_ONE, "--set host.mtu=4096 --set 'ports.[0].names=[ \"s:3\" ]' --set ports.[0].mtu=300",
		      "mtu-short", "--set 'ports.[0].mtu=4160'");
	/* Switches that have PFC of their own, for other classes: theirs, too. */
	expect_remedy(
		TWO_SWITCHES,
		"--set host.data_prio=5 --set 'switches.[0].names=[ \"s\" ]' --set "
		"'switches.[0].pfc.priorities=[ \"3\" ]'",
		"lossy-class",
		"--set 'switches.[0].pfc.priorities=[ \"3\", \"5\" ]' --set 'switch.pfc.priorities=[ \"3\", \"5\" ]'");
	/* The classes that PFC would have stay. */
	expect_remedy(TWO_TO_ONE, "--set switch.pfc.enabled=false --set 'switch.pfc.priorities=[ \"3\", \"4\" ]'",
		      "lossy-class", "--set switch.pfc.enabled=true");
	/* PFC of one of two switches on the way. */
	expect_remedy(
		TWO_SWITCHES,
		"--set switch.pfc.enabled=false --set 'switches.[0].names=[ \"s\" ]' --set switches.[0].pfc.enabled=true",
		"lossy-port", "--set switch.pfc.enabled=true");
}

#define OWN_POOLS(name, size, shared, xoff)                                                                                \
	"{ names = [ \"" name "\" ]; buffer = " size "; buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = " size  \
	"; xoff = " shared "; } ); buffer_profile = ( { name = \"p\"; pool = \"l\"; xoff = " xoff                          \
	"; } ); buffer_pg = ( \"3 p\" ); }"

/* What is wrong at several places has a remedy for each. */
static void
remedies_are_for_all_places(void **state)
{
	static const char *const pools = TWO_SWITCHES "switches = ( " OWN_POOLS(
		"s", "9000000", "50000", "8000") ", " OWN_POOLS("t", "100000", "20000", "9000") " );\n";

	(void)state;
	expect(pools, "", "headroom-short", false, "so it is at 5 more groups");
	expect(pools, "--set switches.[0].buffer_profile.[0].xoff=70000 --set switches.[1].buffer_profile.[0].xoff=70000",
	       "headroom-oversubscribed", false, "so it is at 1 more pool");
	expect(pools, "", "pools-oversubscribed", false, "so it is at 1 more switch");
	expect(pools, "--set switches.[0].buffer_pool.[0].size=100KB", "ecn-behind-pfc", true, "at 2 of the 2 ports");
	expect(TWO_SWITCHES,
	       "--set 'switches.[0].names=[ \"s\" ]' --set switches.[0].pfc.enabled=false --set "
	       "'switches.[1].names=[ \"t\" ]' --set 'switches.[1].pfc.priorities=[ \"5\" ]'",
	       "lossy-port", false, "so it is at 3 more ports");
	expect(TWO_SWITCHES,
	       "--set 'switches.[0].names=[ \"s\" ]' --set 'switches.[0].class_map=[ \"24:1\" ]' --set "
	       "'switches.[1].names=[ \"t\" ]' --set 'switches.[1].class_map=[ \"24:2\" ]'",
	       "class-map-lossy", false, "so it is at 3 more ports");
	expect(TWO_SWITCHES,
	       "--set host.mtu=4096 --set 'ports.[0].names=[ \"s:1\" ]' --set ports.[0].mtu=3000 --set "
	       "'ports.[1].names=[ \"t:2\" ]' --set ports.[1].mtu=1500",
	       "mtu-short", false, "so it is at 1 more port");
	expect(TWO_SWITCHES, "--set 'switch.pfc.headrooms=[ \"100Gbps 300m 30000\", \"200Gbps 300m 40000\" ]'",
	       "headroom-short", false, "so it is at");
}

/* Places that differ in their number alone are one option, however many they are. */
static void
a_remedy_of_many_places_fits(void **state)
{
	char text[65536] =
		"topology = { kind = \"leaf-spine\"; leaves = 90; spines = 4; hosts_per_leaf = 1; };\ncollectives = ( { "
		"op = \"allgather\"; algorithm = \"ring\"; bytes = \"9MB\"; } );\nswitches = ( ";

	(void)state;
	for (int i = 0; i < 90; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s{ names = [ \"l%d\" ]; class_map = [ \"24:1\" ]; }",
			 i != 0 ? ", " : "", i);
	}
	strcat(text, " );\n");
	expect_remedy(text, "", "class-map-lossy", "--set 'switches.[0-89].class_map=[ \"24:3\" ]'");
	expect_remedy(text, "--set 'switches.[7].class_map=[]' --set 'switches.[2,88].class_map=[ \"24:2\", \"40:4\" ]'",
		      "class-map-lossy",
		      "--set 'switches.[0-1,3-6,8-87,89].class_map=[ \"24:3\" ]' --set 'switches.[2,88].class_map=[ "
		      "\"24:3\", \"40:4\" ]'");
}

/* A group of the class has to be there, too: as at another port. */
static void
a_port_without_a_group(void **state)
{
	(void)state;
	expect(POOLS("{ name = \"l\"; type = \"ingress\"; size = \"10MB\"; }", "xoff = 44000;", ""),
	       "--set 'ports.[0].names=[ \"s:2\" ]' --set ports.[0].pfc.enabled=false --set 'ports.[0].buffer_pg=[]'",
	       "lossy-port", false, "enters s:2");
	/* Of two classes each: rows behind the port's own, beside those of all. */
	for (int own = 0; own < 2; own++) {
		char remedy[256];

		snprintf(
			remedy, sizeof(remedy),
			"--set 'ports.[0].pfc.priorities=[ \"3\", \"4\", \"5\" ]' --set 'ports.[0].buffer_pg.[%d]=\"3 p\"' "
			"--set 'ports.[0].buffer_pg.[%d]=\"4 p\"'",
			own, own + 1);
		expect_remedy(TWO_CLASSES
			      "switch = { pfc = { priorities = [ \"3\", \"4\" ]; }; buffer_pool = ( { name = "
			      "\"l\"; type = \"ingress\"; size = \"10MB\"; } ); buffer_profile = ( { name = \"p\"; "
			      "pool = \"l\"; xoff = 44000; } ); buffer_pg = ( \"5 p\" ); };\nports = ( { names = [ "
			      "\"s:1\", \"s:2\" ]; pfc = { priorities = [ \"5\" ]; }; }, { names = [ \"s:3\" ]; "
			      "buffer_pg = ( \"3 p\", \"4 p\" ); } );\n",
			      own == 0 ? "" : "--set 'ports.[0].buffer_pg=( \"6 p\" )'", "lossy-port", remedy);
	}
}

/* A queue of a class without PFC that drops at kmin, or before. */
static void
ecn_behind_drops(void **state)
{
	struct found found;

	(void)state;
	expect(TWO_TO_ONE, "--set switch.pfc.enabled=false --set switch.ecn.kmin=1MB --set switch.lossy_queue=1MB",
	       "ecn-behind-drop", true,
	       "host.cc = \"dcqcn\" cannot act: at 1 of the 1 ports that several ingresses fill, queues of a class without "
	       "PFC "
	       "drop before ECN marks. s:3: its queue holds 1000000 B; kmin 1000000 B");
	look(TWO_TO_ONE, "--set switch.pfc.enabled=false --set switch.ecn.kmin=1MB --set switch.lossy_queue=1001KB",
	     &found);
	assert_null(of(&found, "ecn-behind-drop"));
}

/* 400 Gbps over 200 us: 20.4 MB of payload in a round trip, of which 16,384 packets of 1,024 B are 16.8 MB. */
#define LONG_LINK                                                                                                          \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\", \"t\" ]; rate = \"400Gbps\"; "    \
	"delay = \"1us\"; links = ( \"a s\", \"b t\", \"s t 400Gbps 200us\" ); };\n"                                       \
	"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"80MB\"; } );\n"

static void
windows_that_do_not_fill_the_path(void **state)
{
	struct found found;

	(void)state;
	expect_remedy(LONG_LINK, "", "window-below-bdp", "--set host.mtu=2048");
	expect_remedy(LONG_LINK, "--set host.window=none", "window-below-bdp", "--set host.mtu=2048");
	expect_remedy(LONG_LINK, "--set host.window=10MB", "window-below-bdp", "--set host.mtu=2048 --set host.window=bdp");
	expect_remedy(LONG_LINK, "--set host.window=10MB --set host.mtu=4096", "window-below-bdp", "--set host.window=bdp");
	expect_remedy(LONG_LINK, "--set host.mtu=1000 --set host.data_overhead=48", "window-below-bdp",
		      "--set host.mtu=1245");
	expect(LONG_LINK, "", "window-below-bdp", false, "so it is of 1 more flow");
	/* A path that is longer than any MTU helps. */
	expect_remedy(LONG_LINK, "--set 'topology.links=( \"a s\", \"b t\", \"s t 400Gbps 2ms\" )'", "window-below-bdp",
		      "");
	/* Messages that are in flight as a whole; paths that are short enough. */
	look(LONG_LINK, "--set collectives.[0].bytes=30MB", &found);
	assert_null(of(&found, "window-below-bdp"));
	look(LONG_LINK, "--set 'topology.links=( \"a s\", \"b t\", \"s t 400Gbps 150us\" )'", &found);
	assert_null(of(&found, "window-below-bdp"));
}

UNIT_TEST(preflight)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecn_behind_pfc),
		cmocka_unit_test(ecn_behind_windows),
		cmocka_unit_test(ecn_behind_drops),
		cmocka_unit_test(remedies_are_for_all_places),
		cmocka_unit_test(a_remedy_of_many_places_fits),
		cmocka_unit_test(a_port_without_a_group),
		cmocka_unit_test(pools_and_profiles),
		cmocka_unit_test(nothing_to_mark),
		cmocka_unit_test(ecn_of_ports_that_nothing_fills),
		cmocka_unit_test(ecn_that_is_off),
		cmocka_unit_test(timer_below_the_round_trip),
		cmocka_unit_test(headroom_rows_that_are_short),
		cmocka_unit_test(a_switch_of_its_own_has_its_own_remedy),
		cmocka_unit_test(a_chip_too_small_for_its_cables),
		cmocka_unit_test(data_in_a_lossy_class),
		cmocka_unit_test(maps_of_two_switches),
		cmocka_unit_test(single_ports_that_do_not_fit),
		cmocka_unit_test(cnps_that_wait_for_data),
		cmocka_unit_test(class_maps_that_lead_astray),
		cmocka_unit_test(a_watchdog_without_pfc),
		cmocka_unit_test(a_watchdog_too_fast),
		cmocka_unit_test(thresholds_beyond_the_chip),
		cmocka_unit_test(faults_that_change_nothing),
		cmocka_unit_test(probes_leave_most_of_a_link),
		cmocka_unit_test(ecn_of_other_classes),
		cmocka_unit_test(pools_of_a_lossy_class),
		cmocka_unit_test(remedies_of_what_limits),
		cmocka_unit_test(circles_of_single_switches),
		cmocka_unit_test(buffers_in_a_circle),
		cmocka_unit_test(more_hosts_than_uplinks),
		cmocka_unit_test(windows_that_do_not_fill_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
