/* SPDX-License-Identifier: BSD-3-Clause */
/* corpus NAME FOLDER: writes the seeds of a fuzz target, one file each, so that it starts behind the first checks. */
#include "tests/fuzz/corpus.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"

static const struct {
	const char *name;
	bool (*write)(const char *folder);
} targets[] = {
	{ "answer", answer_seeds },       { "cfg", cfg_seeds },       { "controller", controller_seeds },
	{ "guest", guest_seeds },         { "manage", manage_seeds }, { "plugin", plugin_seeds },
	{ "partition", partition_seeds }, { "record", record_seeds }, { "roce", roce_seeds },
	{ "msccl", msccl_seeds },         { "goal", goal_seeds },     { "chakra", chakra_seeds },
	{ "hpcc", hpcc_seeds },           { "sonic", sonic_seeds },
};

bool
write_seed(const char *folder, const char *name, const void *data, size_t size_bytes)
{
	char path[4096];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (file == NULL) {
		perror(path);
		return false;
	}
	good = fwrite(data, 1, size_bytes, file) == size_bytes;
	return fclose(file) == 0 && good;
}

bool
cfg_seeds(const char *folder)
{
	static const char text[] =
		"# every kind of value\n"
		"run: { seed = 7; name = \"x\"; quick = true; share = 1.5; };\n"
		"switch.pfc: { headroom = \"64KiB\"; xoff = 4096; };\n"
		"topology: { links = ( { a = \"1\"; b = \"2\"; rate = \"100Gbps\"; delay = \"2us\"; } ); };\n"
		"flows = ( { src = \"1\"; dst = \"2\"; bytes = \"360MB\"; start = \"1.5ms\"; path = [ \"1:1\", \"2:1\" ]; "
		"} );\n"
		"faults = ( { kind = \"pfc-storm\"; port = \"2:1\"; at = \"1ms\"; for = \"20ms\"; } );\n";

	return write_seed(folder, "values", text, sizeof(text) - 1);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(targets); i++)
		if (strcmp(argv[1], targets[i].name) == 0)
			return !targets[i].write(argv[2]);
	fprintf(stderr, "usage: corpus "
			"answer|cfg|controller|guest|manage|plugin|partition|record|roce|msccl|goal|chakra|hpcc|sonic "
			"FOLDER\n");
	return 2;
}
