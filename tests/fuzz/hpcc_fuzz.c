/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as config.txt, and as flow.txt, of HPCC's simulator: a scenario that loads, or a message. */
#include "collectives/import/hpcc.h"
#include "tests/fuzz/import_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
import_files(const void *files, FILE *to, struct err *err)
{
	return hpcc_import(files, to, err);
}

static void
import(const char *config, const char *topology, const char *flow)
{
	const struct hpcc_files files = { .config = config, .topology = topology, .flow = flow };

	input_import(import_files, &files);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char topology[] = "4 1 3\n0\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n0 3 25Gbps 1us 0\n";
	static const char flow[] = "2\n1 2 3 100 5000 2\n3 2 4 100 7000 2.5\n";
	char any[64], names[64], flows[64];

	input_file("any", data, size, any);
	input_file("topology", (const uint8_t *)topology, sizeof(topology) - 1, names);
	input_file("flow", (const uint8_t *)flow, sizeof(flow) - 1, flows);
	import(any, names, flows);
	import(NULL, names, any);
	return 0;
}
