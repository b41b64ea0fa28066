/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as config_db.json, as tables of all switches, and as pg_profile_lookup.ini: a scenario, or a message. */
#include "collectives/import/sonic.h"
#include "common/array.h"
#include "tests/fuzz/import_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
import_files(const void *files, FILE *to, struct err *err)
{
	return sonic_import(files, to, err);
}

static void
import(const char *const *paths, size_t count)
{
	const struct sonic_files files = { .paths = paths, .count = count, .dscp = SONIC_DSCP };

	input_import(import_files, &files);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char config[] =
		"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"s0\"}}, \"PORT\": {\"Ethernet0\": {\"speed\": "
		"\"100000\"}, "
		"\"Ethernet4\": {\"speed\": \"100000\"}}, \"DEVICE_NEIGHBOR\": {\"Ethernet4\": {\"name\": \"b\"}}, "
		"\"PORT_QOS_MAP\": {\"Ethernet4\": {\"pfc_enable\": \"3\"}}}";
	char any[64], rows[64], other[64];

	input_file("any.json", data, size, any);
	input_file("any.ini", data, size, rows);
	input_file("config.json", (const uint8_t *)config, sizeof(config) - 1, other);
	import((const char *[]){ other, any }, 2);
	import((const char *[]){ other, rows }, 2);
	import((const char *[]){ any }, 1);
	return 0;
}
