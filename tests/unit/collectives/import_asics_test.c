/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices of several ASICs that run SONiC: a file for each ASIC, and one of the host's namespace. */
#include "common/array.h"
#include "tests/unit/collectives/sonic_rig.h"
#include "tests/unit/unit.h"

#define ASIC(name, asic, ports, neighbors)                                                                                 \
	"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"" name "\", \"asic_name\": \"" asic                        \
	"\"}}, \"PORT\": {" ports "}, \"DEVICE_NEIGHBOR\": {" neighbors "}, "                                              \
	"\"DEVICE_NEIGHBOR_METADATA\": {\"ASIC9\": {\"type\": \"Asic\"}, \"server\": {\"type\": \"Server\"}}}"
#define ASIC_PORT(name, alias, asic_port)                                                                                  \
	"\"" name "\": {\"speed\": 1000, \"alias\": \"" alias "\", \"asic_port_name\": \"" asic_port "\"}"
#define NEIGHBOR(port, name, end) "\"" port "\": {\"name\": \"" name "\", \"port\": \"" end "\"}"

/*
 * Each ASIC of a device is a switch; the others name it as ASICs do, switches outside by the device and a port. One without
 * a file is no host, and what only begins like an ASIC's name is one.
 */
static void
a_device_has_several_asics(void **state)
{
	const char *texts[] = {
		ASIC("d", "asic0",
		     ASIC_PORT("E0", "Eth1/1", "Eth0-ASIC0") ", " ASIC_PORT("B0", "", "Eth4-ASIC0") ", " ASIC_PORT(
			     "B4", "", "Eth5-ASIC0") ", " ASIC_PORT("B8", "", "Eth6-ASIC0"),
		     NEIGHBOR("E0", "server", "eth0") ", " NEIGHBOR("B0", "ASIC1", "Eth0-ASIC1") ", " NEIGHBOR(
			     "B4", "asic7", "Eth1") ", " NEIGHBOR("B8", "ASIC9", "Eth1")),
		ASIC("d", "asic1",
		     ASIC_PORT("E0", "Eth1/2", "Eth8-ASIC1") ", " ASIC_PORT("B0", "", "Eth0-ASIC1") ", " ASIC_PORT(
			     "E4", "", "") ", " ASIC_PORT("E8", "", ""),
		     NEIGHBOR("E0", "l0", "E0") ", " NEIGHBOR("B0", "ASIC0", "B0") ", " NEIGHBOR(
			     "E4", "asic", "eth0") ", " NEIGHBOR("E8", "asics", "eth0")),
		SWITCH("l0", "1000", "up", "d", "Eth1/2", "5m"),
		"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"d\"}}}",
	};
	static const char *const cables[] = { "\"d-asic0 server ", "\"d-asic0 d-asic1 ", "\"d-asic1 l0 ", "\"d-asic1 asic ",
					      "\"d-asic1 asics " };
	struct err err = { 0 };
	char *text = run_many(texts, ARRAY_LEN(texts), &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(cables); i++)
		has(text, cables[i]);
	assert_null(strstr(text, "asic7"));
	assert_null(strstr(text, "ASIC9"));
	assert_null(strstr(text, "\"d\""));
	free(text);
	/* Both ends describe a cable: one that names no port of the device leads elsewhere. */
	for (int named = 0; named < 2; named++) {
		texts[2] =
			named ? SWITCH("l0", "1000", "up", "d", "Eth9", "5m") : SWITCH("l0", "1000", "up", "d", "", "5m");
		err = (struct err){ 0 };
		assert_null(run_many(texts, ARRAY_LEN(texts), &err));
		has(err.text, "the same cable in both would be right");
	}
	texts[0] = ASIC("c2345678901234567890123456789", "asic0", ASIC_PORT("E0", "", ""), NEIGHBOR("E0", "h", "e"));
	texts[1] = ASIC("c2345678901234567890123456789", "asic1", ASIC_PORT("E0", "", ""), NEIGHBOR("E0", "h", "e"));
	err = (struct err){ 0 };
	assert_null(run_many(texts, 2, &err));
	has(err.text, "hostname, '-' and asic_name together: 1 to 31 letters");
}

/* Ports without neighbors lead to hosts: of several switches nothing would connect those. */
static void
nothing_connects_several_switches(void **state)
{
	const char *texts[] = { ASIC("d", "asic0", ASIC_PORT("E0", "", "") ", " ASIC_PORT("E4", "", ""), ""),
				ASIC("d", "asic1", ASIC_PORT("E0", "", "") ", " ASIC_PORT("E4", "", ""), "") };
	struct err err = { 0 };
	char *text;

	(void)state;
	assert_null(run_many(texts, 2, &err));
	has(err.text, "nothing connects d-asic0 and d-asic1: DEVICE_NEIGHBOR with the ports between them, or one file");
	err = (struct err){ 0 };
	text = run_many(texts, 1, &err);
	if (text == NULL)
		fail_msg("%s", err.text);
	free(text);
}

UNIT_TEST(import_asics)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_has_several_asics),
		cmocka_unit_test(nothing_connects_several_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
