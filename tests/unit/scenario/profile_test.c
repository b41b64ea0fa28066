/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles of switches and hosts: what they hold, and what a scenario has of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

static struct scenario *
load(const char *rate, const char *more, struct err *err)
{
	char path[] = "/tmp/profile-test-XXXXXX";
	struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *scenario;

	assert_non_null(file);
	fprintf(file,
		"topology = { kind = \"explicit\"; rate = \"%s\"; delay = \"1us\"; switches = [ \"S\" ]; hosts = [ \"a\", "
		"\"b\" ]; links = ( \"a S\", \"b S 10Gbps\" ); };\n"
		"flows = ( { src = \"a\"; dst = \"b\"; sport = 50000; bytes = 1000; } );\n%s",
		rate, more);
	fclose(file);
	scenario = scenario_load(&options, err);
	unlink(path);
	return scenario;
}

static void
expect_error(const char *more, const char *message)
{
	struct err err = { "" };

	assert_null(load("100Gbps", more, &err));
	if (strstr(err.text, message) == NULL)
		fail_msg("%s\nexpected %s", err.text, message);
}

/* A document that others can read, the word for what has none, or why the value does not matter. */
static bool
names_source(const char *comment)
{
	static const char *const words[] = { "assumed", "SONiC",     "Cumulus Linux", "IBTA",    "RoCEv2 annex",
					     "Linux",   "perftest",  "mlxconfig",     "NVIDIA",  "ns-3 model",
					     "SIGCOMM", "no effect", "by the row",    "Juniper", "Broadcom" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(comment, words[i]) != NULL)
			return true;
	return false;
}

/* A file holds known keys alone, in their limits, and names the source of every value, or says "assumed". */
static void
check_file(const struct profile *profile, const struct cfg_table *const *tables, size_t ntables)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	struct err err = { "" };
	struct cfg *cfg = cfg_load_string(profile->text, profile->file, &err);
	char *text = strdup(profile->text), *rest = text;
	uint64_t values[1024];

	assert_non_null(cfg);
	if (cfg_check(cfg, known, scenario_tables(known, SCENARIO_MAX_TABLES), &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < ntables; i++) {
		assert_true(tables[i]->size <= sizeof(values));
		if (cfg_bind(cfg, tables[i], values, &err) != 0)
			fail_msg("%s", err.text);
	}
	cfg_destroy(cfg);
	for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
		if (strstr(line, " = ") != NULL && strstr(line, "= {") == NULL && strstr(line, "; // ") == NULL &&
		    strstr(line, "[ // ") == NULL)
			fail_msg("%s: no source: %s", profile->file, line);
		else if (strstr(line, " = ") != NULL && strstr(line, "= {") == NULL && !names_source(strstr(line, "// ")))
			fail_msg("%s: neither a source nor \"assumed\": %s", profile->file, line);
	free(text);
}

static void
files_name_their_sources(void **state)
{
	static const struct cfg_table *const of_switches[] = { &switch_cfg, &switch_pfc_cfg, &switch_ecn_cfg };
	const struct cfg_table *const of_hosts[] = { &roce_table, cc_algorithms[CC_DCQCN]->table };

	for (const struct profile *profile = switch_profiles; profile->name != NULL; profile++)
		check_file(profile, of_switches, 3);
	for (const struct profile *profile = host_profiles; profile->name != NULL; profile++)
		check_file(profile, of_hosts, 2);
	assert_null(profile_find(switch_profiles, "cx7"));
	assert_non_null(profile_find(host_profiles, "cx7"));
}

/* The reference's switches and hosts are what the tables of keys hold by default. */
static void
ns3_is_the_keys_defaults(void **state)
{
	struct err err = { "" };
	struct cfg *empty = cfg_load_string("", "empty", &err);
	struct scenario *sc = load("100Gbps", "switch = { profile = \"ns3\"; }; host = { profile = \"ns3\"; };", &err);
	struct switch_params sw;
	struct switch_pfc_params pfc;
	struct switch_ecn_params ecn;
	struct roce_cfg host;
	struct cc_params cc;
	const size_t keys = sizeof(struct cfg_where);

	assert_non_null(sc);
	assert_int_equal(cfg_bind(empty, &switch_cfg, &sw, &err), 0);
	assert_int_equal(cfg_bind(empty, &switch_pfc_cfg, &pfc, &err), 0);
	assert_int_equal(cfg_bind(empty, &switch_ecn_cfg, &ecn, &err), 0);
	assert_int_equal(cfg_bind(empty, &roce_table, &host, &err), 0);
	assert_int_equal(cc_bind(&cc, CC_DCQCN, empty, &err), 0);
	assert_memory_equal((char *)&sc->switches.all.params + keys, (char *)&sw + keys, sizeof(sw) - keys);
	assert_memory_equal((char *)&sc->switches.all.pfc + keys, (char *)&pfc + keys, sizeof(pfc) - keys);
	assert_memory_equal((char *)&sc->switches.all.ecn + keys, (char *)&ecn + keys, sizeof(ecn) - keys);
	assert_string_equal(sc->host.window, host.window);
	sc->host.window = host.window;
	assert_memory_equal((char *)&sc->host + keys, (char *)&host + keys, offsetof(struct roce_cfg, selective) - keys);
	assert_memory_equal((char *)sc->cc.own + keys, (char *)cc.own + keys, sizeof(cc.own) - keys);
	scenario_destroy(sc);
	cfg_destroy(empty);
}

static void
the_scenario_overrides_single_keys(void **state)
{
	struct err err = { "" };
	struct scenario *sc = load("100Gbps",
				   "switch = { profile = \"tomahawk3\"; pfc = { alpha = 0.5; }; };\n"
				   "host = { profile = \"cx7\"; dcqcn = { ai = \"40Mbps\"; }; };",
				   &err);

	assert_non_null(sc);
	assert_int_equal(sc->switches.all.params.buffer_bytes, 66394076);
	assert_true(sc->switches.all.pfc.alpha == 0.5);
	assert_int_equal(sc->switches.all.pfc.reserve_bytes, 2540);
	assert_int_equal(sc->switches.all.pfc.headrooms.count, 10);
	assert_int_equal(sc->switches.all.ecn.kmin_bytes, 1 << 20);
	assert_false(sc->switches.all.ecn.scales);
	assert_int_equal(sc->roce.window_bytes, 0);
	assert_false(sc->roce.window_is_bdp);
	assert_int_equal(sc->roce.ack_every, 256);
	assert_int_equal(sc->cc.echo, CC_ECHO_CNP);
	scenario_destroy(sc);
}

/* Profiles of real hardware have CNPs in class 6, which switches serve before data; that class is for nothing else. */
static void
cnps_have_a_class_of_their_own(void **state)
{
	static const char *const takes[] = {
		"host = { data_prio = 6; };",
		"switch = { class_map = [ \"24:6\" ]; };",
		"switches = ( { names = [ \"S\" ]; class_map = [ \"24:6\" ]; } );",
		"switch = { pfc = { priorities = [ \"3\", \"6\" ]; }; };",
	};
	struct err err = { "" };
	struct scenario *sc =
		load("100Gbps", "switch = { profile = \"trident3\"; }; host = { profile = \"cx6dx\"; };", &err);

	assert_non_null(sc);
	assert_int_equal(sc->strict, 1 << 6);
	assert_int_equal(sc->roce.cc.cnp_prio, 6);
	scenario_destroy(sc);
	sc = load("100Gbps", "host = { cc = \"swift\"; data_prio = 6; };", &err);
	assert_non_null(sc);
	assert_int_equal(sc->roce.cc.cnp_prio, 0);
	scenario_destroy(sc);
	sc = load("100Gbps", "host = { data_prio = 6; dcqcn = { cnp_prio = 0; }; };", &err);
	assert_non_null(sc);
	scenario_destroy(sc);
	/* The user's word is refused where it cannot be; a profile's gives way. */
	expect_error("host = { data_prio = 6; dcqcn = { cnp_prio = 6; }; };",
		     "host.dcqcn.cnp_prio: CNPs have class 6, and data of a to b has it, too");
	expect_error("host = { dcqcn = { cnp_prio = 6; }; }; switch = { class_map = [ \"24:6\" ]; };",
		     "CNPs have class 6, and data of a to b has it, too");
	expect_error(
		"host = { dcqcn = { cnp_prio = 6; }; }; switches = ( { names = [ \"S\" ]; class_map = [ \"24:6\" ]; } );",
		"data of a to b has it, too");
	expect_error("host = { dcqcn = { cnp_prio = 6; }; }; switch = { pfc = { priorities = [ \"3\", \"6\" ]; }; };",
		     "CNPs have class 6, which has PFC");
	for (size_t i = 0; i < ARRAY_LEN(takes); i++) {
		sc = load("100Gbps", takes[i], &err);
		assert_non_null(sc);
		assert_int_equal(sc->roce.cc.cnp_prio, 0);
		scenario_destroy(sc);
	}
	expect_error("host = { dcqcn = { cnp_prio = 8; }; };", "cnp_prio");
}

/* By the fastest link, of the topology's two rates. */
static void
auto_goes_by_the_fastest_link(void **state)
{
	static const struct {
		const char *rate;
		uint64_t buffer_bytes;
	} cases[] = { { "40Gbps", 32712448 },
		      { "100Gbps", 32712448 },
		      { "200Gbps", 34287552 },
		      { "400Gbps", 165660324 },
		      { "800Gbps", 165660324 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		struct scenario *sc = load(cases[i].rate, i % 2 ? "" : "switch = { profile = \"auto\"; };", &err);

		assert_non_null(sc);
		assert_int_equal(sc->switches.all.params.buffer_bytes, cases[i].buffer_bytes);
		assert_int_equal(sc->roce.ack_every, 256);
		scenario_destroy(sc);
	}
}

/* Links of a rate that a machine can imitate, and buffers in proportion. */
static void
hosts_with_their_own_kernel_have_the_keys_defaults(void **state)
{
	struct err err = { "" };
	struct scenario *sc = load("40Mbps", "hosts = ( { kind = \"guest\"; } ); timing = { pipeline = \"30us\"; };", &err);

	if (sc == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sc->switches.all.params.buffer_bytes, 0);
	assert_true(sc->roce.window_is_bdp);
	scenario_destroy(sc);
	sc = load("40Mbps", "hosts = ( { kind = \"embedded\"; } );", &err);
	assert_non_null(sc);
	assert_int_equal(sc->switches.all.params.buffer_bytes, 32712448);
	assert_true(sc->switches.all.params.is_chips);
	scenario_destroy(sc);
	sc = load("40Mbps",
		  "hosts = ( { kind = \"guest\"; } ); timing = { pipeline = \"30us\"; }; switch = { profile = "
		  "\"trident3\"; };",
		  &err);
	assert_non_null(sc);
	assert_int_equal(sc->switches.all.params.buffer_bytes, 32712448);
	scenario_destroy(sc);
}

static void
wrong_words_are_refused(void **state)
{
	expect_error("switch = {\n profile = \"tomahawk33\"; };",
		     ":4: switch.profile: found \"tomahawk33\"; did you mean \"tomahawk3\"? One of auto|ns3|");
	expect_error("host = {\n profile = \"cx8\"; };", ":4: host.profile: found \"cx8\"; did you mean \"cx7\"? One of ");
	expect_error("host = { profile = \"tomahawk3\"; };", "host.profile: found \"tomahawk3\"; one of auto|cx6dx|");
}

/* Coalesced ACKs would starve an algorithm that lives on each. */
static void
an_algorithm_that_lives_on_acks_has_one_a_packet(void **state)
{
	static const struct {
		const char *more;
		uint32_t ack_every;
	} cases[] = { { "host = { cc = \"hpcc\"; };", 1 },    { "host = { cc = \"swift\"; };", 1 },
		      { "host = { cc = \"timely\"; };", 1 },  { "host = { cc = \"none\"; };", 256 },
		      { "host = { cc = \"dcqcn\"; };", 256 }, { "host = { cc = \"swift\"; ack_every = 4; };", 4 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		struct scenario *sc = load("100Gbps", cases[i].more, &err);

		assert_non_null(sc);
		assert_int_equal(sc->roce.ack_every, cases[i].ack_every);
		scenario_destroy(sc);
	}
}

static void
headroom_goes_by_rate_and_cable(void **state)
{
	const char *rows[] = { "400Gbps 300m 900", "100Gbps 40m 100", "100Gbps 5m 50", "400Gbps 40m 400" };
	struct switch_pfc_params pfc = { .headrooms = { rows, 4 } };
	static const struct {
		uint64_t rate_bps, delay_ps, bytes;
	} cases[] = {
		{ 100000000000, 25000, 50 },   /* 5 m */
		{ 100000000000, 25001, 100 },  /* longer */
		{ 25000000000, 1000, 50 },     /* the next rate's row */
		{ 100000000000, 200001, 900 }, /* only the faster one's cable is as long */
		{ 400000000000, 0, 400 },      /* the shortest that there is */
		{ 400000000000, 1500001, 0 },  /* longer than any */
		{ 800000000000, 25000, 0 },    /* faster than any */
	};
	struct err err = { "" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct topo_port cable = { .rate_bps = cases[i].rate_bps, .delay_ps = cases[i].delay_ps };
		uint64_t bytes;

		switch_headroom_row(&pfc, &cable, &bytes, NULL);
		assert_int_equal(bytes, cases[i].bytes);
	}
	for (const char **bad = (const char *[]){ "100Gbps 40 100", "100Gbps 40m", "100 40m 100", "100Gbps 40m 1 2", NULL };
	     *bad != NULL; bad++) {
		rows[0] = *bad;
		assert_int_equal(switch_headroom_rows(&pfc, &err), -EINVAL);
	}
}

/* Its values go before those of all, and its element's before its. */
static void
a_switch_has_a_profile_of_its_own(void **state)
{
	struct err err = { "" };
	struct scenario *sc =
		load("100Gbps",
		     "switch = { profile = \"ns3\"; pfc = { alpha = 0.5; reserve = 1; }; };\n"
		     "switches = ( { names = [ \"S\" ]; profile = \"tomahawk3\"; pfc = { reserve = 3000; }; } );",
		     &err);
	const struct switch_settings *own;

	(void)state;
	assert_non_null(sc);
	own = switch_settings_of(&sc->switches, topo_find(sc->topo, "S"));
	assert_int_equal(own->params.buffer_bytes, 66394076);
	assert_true(own->pfc.alpha == 0.25);
	assert_int_equal(own->pfc.reserve_bytes, 3000);
	assert_int_equal(sc->switches.all.params.buffer_bytes, 0);
	assert_true(sc->switches.all.pfc.alpha == 0.5);
	scenario_destroy(sc);
	expect_error("switches = ( { names = [ \"S\" ]; profile = \"tomahawk9\"; } );", "switches.[0].profile: found");
	expect_error("switches = ( { names = [ \"S\" ]; strict = [ \"6\" ]; } );", "switches.[0].strict");
}

UNIT_TEST(profile)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_name_their_sources),
		cmocka_unit_test(ns3_is_the_keys_defaults),
		cmocka_unit_test(the_scenario_overrides_single_keys),
		cmocka_unit_test(cnps_have_a_class_of_their_own),
		cmocka_unit_test(a_switch_has_a_profile_of_its_own),
		cmocka_unit_test(auto_goes_by_the_fastest_link),
		cmocka_unit_test(hosts_with_their_own_kernel_have_the_keys_defaults),
		cmocka_unit_test(wrong_words_are_refused),
		cmocka_unit_test(an_algorithm_that_lives_on_acks_has_one_a_packet),
		cmocka_unit_test(headroom_goes_by_rate_and_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
