/* SPDX-License-Identifier: BSD-3-Clause */
/* A corrupt FIB: whose packets a switch swallows, by which ports, for how long, and that no port counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define SOURCES 8

/* Leaves A and B, spines S and T; A:1 and A:2 lead to S and T, then a0 to a7; B likewise with b0 and b1. */
static const char network[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"A\", \"B\", \"S\", \"T\" ]; "
	"hosts = [ \"a0\", \"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", \"a7\", \"b0\", \"b1\" ]; links = ( \"A S\", "
	"\"A T\", "
	"\"a0 A\", \"a1 A\", \"a2 A\", \"a3 A\", \"a4 A\", \"a5 A\", \"a6 A\", \"a7 A\", \"B S\", \"B T\", \"b0 B\", \"b1 "
	"B\" ); };";

static enum balance_kind balance;

static int
plain(void **state)
{
	balance = BALANCE_ECMP;
	return 0;
}

/* Flow 2i leads from host ai to b0, 2i + 1 to b1. */
static void
start(struct frig *rig, const char *fault)
{
	char text[2048];
	struct cfg *cfg;

	snprintf(text, sizeof(text),
		 "%s faults = ( { kind = \"fib-corruption\"; %s } ); load_balancing = { kind = \"%s\"; };", network, fault,
		 balance_kinds[balance]->name);
	frig_init(rig, text);
	cfg = cfg_load_string(text, "test.cfg", &rig->err);
	if (cfg == NULL || balance_bind(&rig->config.balance, cfg, &rig->err) < 0)
		fail_msg("%s", rig->err.text);
	cfg_destroy(cfg);
	for (char i = 0; i < SOURCES; i++) {
		char from[3] = { 'a', (char)('0' + i) };

		frig_flow(rig, from, "b0", 3);
		frig_flow(rig, from, "b1", 3);
	}
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* What vanished is not held against the port that it arrived by. */
static void
nothing_is_charged(const struct frig *rig)
{
	for (uint32_t i = 0; i < rig->topo->nnodes; i++) {
		const struct sw *sw = rig->switches[i];

		for (uint32_t k = 0; sw != NULL && k < sw->account.nclasses * sw->account.nports; k++)
			assert_int_equal(sw->account.ingress[k].bytes + sw->account.ingress[k].headroom_bytes, 0);
	}
}

/* Every flow sends 10 frames. @param got  [2 * SOURCES] what came of each */
static void
send_all(struct frig *rig, uint32_t got[2 * SOURCES])
{
	static const char *const names[] = { "b0", "b1" };

	memset(got, 0, 2 * SOURCES * sizeof(*got));
	for (uint32_t flow = 0; flow < 2 * SOURCES; flow++)
		frig_send(rig, flow, 0, 1000, 10);
	frig_run(rig, 400 * US);
	for (size_t h = 0; h < ARRAY_LEN(names); h++)
		for (size_t i = 0; i < frig_host(rig, names[h])->ngot; i++)
			got[frig_host(rig, names[h])->got[i].flow]++;
	assert_true(frig_conserves(rig));
	nothing_is_charged(rig);
}

static void
none_counts(const struct frig *rig, const char *name, uint32_t lost)
{
	const struct sw *sw = frig_switch(rig, name);

	assert_int_equal(sw->node.count.lost_packets, lost);
	for (uint16_t port = 0; port < sw->node.nports; port++)
		for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
			assert_int_equal(sw->ports[port].telem.drops->of[reason].packets, 0);
}

static void
one_pair_vanishes(void **state)
{
	uint32_t got[2 * SOURCES];
	struct frig rig;

	(void)state;
	start(&rig, "switch = \"A\"; src = \"a2\"; dst = \"b1\";");
	send_all(&rig, got);
	for (uint32_t flow = 0; flow < 2 * SOURCES; flow++)
		assert_int_equal(got[flow], flow == 5 ? 0 : 10);
	none_counts(&rig, "A", 10);
	assert_int_equal(rig.faults.faults[0].ops->affected(rig.faults.faults[0].params, &rig.env), 10);
	frig_stop(&rig);
}

/* What is hit is hit with all its packets, and what is not with none; some are, as the share says. */
static void
a_share_of_the_pairs_vanishes(void **state)
{
	uint32_t hit = 0, total = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t got[2 * SOURCES];
		struct frig rig;

		start(&rig, "switch = \"B\"; share = 0.25;");
		frig_switch(&rig, "B")->fib.stream += seed;
		send_all(&rig, got);
		for (uint32_t flow = 0; flow < 2 * SOURCES; flow++) {
			assert_true(got[flow] == 0 || got[flow] == 10);
			hit += got[flow] == 0;
			total++;
		}
		frig_stop(&rig);
	}
	/* 320 draws: the standard deviation is 7.7 */
	assert_in_range(hit, total / 4 - 30, total / 4 + 30);
}

/* By one ingress, or by one egress, of the spine that half of the flows take. */
static void
check_ports(void)
{
	static const char *const faults[] = { "switch = \"B\"; in = \"B:1\";", "switch = \"A\"; out = \"A:1\";" };
	uint32_t got[2 * SOURCES], by_s = 0;
	struct frig rig;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		uint32_t lost = 0;

		start(&rig, faults[i]);
		send_all(&rig, got);
		for (uint32_t flow = 0; flow < 2 * SOURCES; flow++)
			lost += 10 - got[flow];
		assert_in_range(lost, 10, 10 * (2 * SOURCES - 1));
		if (i != 0 && balance == BALANCE_ECMP)
			assert_int_equal(lost, by_s); /* the same spine, the same flows */
		by_s = lost;
		none_counts(&rig, i == 0 ? "B" : "A", lost);
		frig_stop(&rig);
	}
}

/* Where packets are sprayed, those alone are lost that take the spine. */
static void
ports_limit_it(void **state)
{
	(void)state;
	for (balance = 0; balance < BALANCE_COUNT; balance++)
		check_ports();
}

/* From 20 us on, for 8 us, of frames of 80 ns; the ACKs of the reverse path are other packets. */
static void
it_ends_when_it_is_mended(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, "switch = \"A\"; dst = \"b0\"; start = \"20us\"; duration = \"8us\";");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	assert_int_equal(frig_host(&rig, "b0")->ngot, 900);
	none_counts(&rig, "A", 100);
	assert_int_equal(frig_switch(&rig, "A")->fib.on, 0);
	frig_stop(&rig);
}

static void
refused(const char *fault, const char *why)
{
	char text[2048];
	struct frig rig;

	snprintf(text, sizeof(text), "%s\nfaults = ( { kind = \"fib-corruption\"; %s } );", network, fault);
	frig_init(&rig, text);
	frig_flow(&rig, "a0", "b0", 3);
	assert_int_equal(frig_start(&rig), -1);
	if (strstr(rig.err.text, why) == NULL || strstr(rig.err.text, "test.cfg:2") == NULL)
		fail_msg("\"%s\" is not in \"%s\"", why, rig.err.text);
	frig_stop(&rig);
}

static void
what_cannot_be_is_refused(void **state)
{
	(void)state;
	refused("switch = \"a0\";", "\"a0\" is no switch");
	refused("switch = \"A\"; in = \"B:1\";", "\"B:1\" is no port of switch \"A\"");
	refused("switch = \"A\"; out = \"A:99\";", "\"A:99\" is no port");
	refused("switch = \"A\"; dst = \"T\";", "\"T\" is no host");
	refused("switch = \"A\"; share = 1.5;", "1.5");
}

UNIT_TEST(fib)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_pair_vanishes),
		cmocka_unit_test(a_share_of_the_pairs_vanishes),
		cmocka_unit_test_teardown(ports_limit_it, plain),
		cmocka_unit_test(it_ends_when_it_is_mended),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
