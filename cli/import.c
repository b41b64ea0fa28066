/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab import: files of other programs, as a scenario. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "collectives/import/hpcc.h"
#include "collectives/import/import.h"
#include "collectives/import/sonic.h"
#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/units.h"

#define MAX_FILES 1100 /* COLL_MAX_RANKS traces, and some */
#define LEAF_HOSTS 8
#define NO_DSCP 64
#define MADE_BY "// Made by rocelab import" /* how a scenario begins that this command may write over */

struct import_command {
	const char *kind, *out, *groups, *local_rate;
	const char *files[MAX_FILES];
	size_t nfiles;
	uint64_t bytes, dscp;
	bool has_algorithm, has_channels;
	struct import_options options;
};

static const struct argp_option options[] = {
	{ "out", 'o', "SCENARIO", 0, "Write the scenario there, not to standard output", 0 },
	{ "bytes", 'b', "SIZE", 0, "msccl: the vector of a rank, as nccl-tests counts it", 0 },
	{ "local-rate", 'r', "RATE", 0, "msccl: rate at which a rank reduces and copies; default: no time", 0 },
	{ "algorithm", 'a', "NAME", 0, "chakra: algorithm of collectives, as in scenarios; default: ring", 0 },
	{ "groups", 'g', "FILE", 0, "chakra: process groups (JSON), if the trace lacks them", 0 },
	{ "channels", 'c', "NUMBER", 0, "chakra, goal: queue pairs between two ranks, which tags share; default: 16", 0 },
	{ "dscp", 'd', "NUMBER", 0, "sonic: DSCP of RoCE data in that network; default: 26", 0 },
	{ 0 },
};

static bool
find_kind(const char *name, enum import_kind *kind)
{
	for (size_t i = 0; i < ENUM_COUNT(IMPORT_KINDS); i++) {
		if (strcmp(import_format((enum import_kind)i)->kind, name) == 0) {
			*kind = (enum import_kind)i;
			return true;
		}
	}
	return false;
}

static void
set_algorithm(struct import_command *given, const char *name, const struct argp_state *state)
{
	for (size_t i = 0; i < ENUM_COUNT(COLL_ALGORITHMS); i++) {
		if (strcmp(coll_algorithm_name((enum coll_algorithm)i), name) == 0) {
			given->options.algorithm = (enum coll_algorithm)i;
			given->has_algorithm = true;
			return;
		}
	}
	args_error(state, "no algorithm \"%s\"", name);
}

/* @return the first given option that does not apply to this kind; NULL: none */
static const char *
strange_option(const struct import_command *given)
{
	const struct {
		const char *name;
		bool given, taken;
	} kept[] = {
		{ "--bytes", given->bytes != 0, strcmp(given->kind, "msccl") == 0 },
		{ "--local-rate", given->local_rate != NULL, strcmp(given->kind, "msccl") == 0 },
		{ "--algorithm", given->has_algorithm, strcmp(given->kind, "chakra") == 0 },
		{ "--groups", given->groups != NULL, strcmp(given->kind, "chakra") == 0 },
		{ "--channels", given->has_channels,
		  strcmp(given->kind, "chakra") == 0 || strcmp(given->kind, "goal") == 0 },
		{ "--dscp", given->dscp != NO_DSCP, strcmp(given->kind, "sonic") == 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (kept[i].given && !kept[i].taken)
			return kept[i].name;
	return NULL;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct import_command *given = state->input;
	uint64_t number;

	switch (key) {
	case 'o':
		given->out = arg;
		return 0;
	case 'b':
		if (units_parse_bytes(arg, &given->bytes) != 0 || given->bytes == 0)
			args_error(state, "--bytes %s: a size, as 1MB, would be right", arg);
		return 0;
	case 'r':
		if (units_parse_rate(arg, &given->options.local_bps) != 0 || given->options.local_bps == 0)
			args_error(state, "--local-rate %s: a rate, as 1Tbps, would be right", arg);
		given->local_rate = arg;
		return 0;
	case 'a':
		set_algorithm(given, arg, state);
		return 0;
	case 'g':
		given->groups = arg;
		return 0;
	case 'c':
		if (!number_parse(arg, 1, IMPORT_MAX_CHANNELS, &number))
			args_error(state, "--channels %s: 1 to %d would be right", arg, IMPORT_MAX_CHANNELS);
		given->options.max_channels = (uint32_t)number;
		given->has_channels = true;
		return 0;
	case 'd':
		if (!number_parse(arg, 0, NO_DSCP - 1, &given->dscp))
			args_error(state, "--dscp %s: 0 to %d would be right", arg, NO_DSCP - 1);
		return 0;
	case ARGP_KEY_ARG:
		if (given->kind == NULL)
			given->kind = arg;
		else if (given->nfiles == MAX_FILES)
			args_error(state, "more than %d files", MAX_FILES);
		else
			given->files[given->nfiles++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (given->nfiles == 0)
			args_error(state, "give a kind and its files");
		if (strcmp(given->kind, "hpcc") != 0 && strcmp(given->kind, "sonic") != 0 &&
		    !find_kind(given->kind, &given->options.kind))
			args_error(state, "\"%s\": there are msccl, chakra, goal, hpcc and sonic", given->kind);
		if (strange_option(given) != NULL)
			args_error(state, "%s does not apply to %s: leave it out", strange_option(given), given->kind);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "msccl ALGORITHM.xml --bytes SIZE\nchakra FOLDER|PATH/NAME|NAME.*.et\ngoal SCHEDULE.goal\n"
		    "hpcc CONFIG.txt [TOPOLOGY.txt FLOW.txt]\nhpcc TOPOLOGY.txt FLOW.txt\n"
		    "sonic CONFIG_DB.json... [BUFFERS.json] [QOS.json] [pg_profile_lookup.ini]",
	.doc = "Reads a file of another tool, checks that it can be run, and writes a scenario that runs it: a schedule on "
	       "a leaf-spine network, or a whole network with its flows.",
};

/* "dir/name.3.et" of several files: "dir/name". */
static const char *
trace_prefix(const struct import_command *given, char buf[PATH_MAX], struct err *err)
{
	size_t stem = 0;

	if (given->nfiles == 1)
		return given->files[0];
	for (size_t i = 0; i < given->nfiles; i++) {
		const char *file = given->files[i], *end = strrchr(file, '.');
		const char *dot = end != NULL && strcmp(end, ".et") == 0 ? memrchr(file, '.', (size_t)(end - file)) : NULL;

		if (dot == NULL || dot - file >= PATH_MAX ||
		    (i != 0 && ((size_t)(dot - file) != stem || strncmp(file, buf, stem) != 0))) {
			err_set(err, -EINVAL, "%s: all of NAME.RANK.et, with one NAME, would be right", file);
			return NULL;
		}
		stem = (size_t)(dot - file);
		snprintf(buf, PATH_MAX, "%.*s", (int)stem, file);
	}
	return buf;
}

/* Makes the path by which the scenario names a file: relative if it is below the scenario's folder, else absolute. */
static int
scenario_path(const char *out, const char *path, char buf[PATH_MAX], struct err *err)
{
	char folder[PATH_MAX], copy[PATH_MAX], absolute[PATH_MAX], found[PLAIN_NAME_BYTES], *slash;
	const char *base = strrchr(path, '/');
	size_t length;

	/* The last part may be a prefix, for which no file exists. */
	snprintf(copy, sizeof(copy), "%.*s", base != NULL ? (int)(base - path + 1) : 1, base != NULL ? path : ".");
	if (realpath(copy, absolute) == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	length = strlen(absolute);
	if (snprintf(buf, PATH_MAX, "%s%s%s", absolute, absolute[length - 1] != '/' ? "/" : "",
		     base != NULL ? base + 1 : path) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: too long", path);
	if (strpbrk(buf, "\"\\") != NULL || plain_find_unprintable(buf, found))
		return err_set(err, -EINVAL,
			       "%s: a path of printable characters without quotes and backslashes would be right", path);
	if (out == NULL)
		return 0;
	snprintf(copy, sizeof(copy), "%s", out);
	slash = strrchr(copy, '/');
	if (slash != NULL)
		slash[1] = '\0';
	if (realpath(slash != NULL ? copy : ".", folder) == NULL)
		return err_set(err, -errno, "%s: %s", out, strerror(errno));
	length = strlen(folder);
	if (strncmp(buf, folder, length) == 0 && buf[length] == '/')
		memmove(buf, buf + length + 1, strlen(buf + length + 1) + 1);
	return 0;
}

static void
write_network(uint32_t ranks, FILE *to)
{
	uint32_t leaves = (ranks + LEAF_HOSTS - 1) / LEAF_HOSTS;

	fprintf(to,
		"topology = { kind = \"leaf-spine\"; leaves = %" PRIu32 "; spines = %" PRIu32 "; hosts_per_leaf = %" PRIu32
		"; rate = \"100Gbps\"; delay = \"1us\"; };\n\n",
		leaves, leaves > 1 ? (uint32_t)LEAF_HOSTS : 1u, leaves > 1 ? (uint32_t)LEAF_HOSTS : ranks);
}

static int
write_scenario(const struct import_command *given, const struct coll_schedule *schedule, FILE *to, struct err *err)
{
	const struct import_format *format = import_format(given->options.kind);
	char path[PATH_MAX], groups[PATH_MAX];
	int rc = scenario_path(given->out, given->options.path, path, err);

	if (rc == 0 && given->groups != NULL)
		rc = scenario_path(given->out, given->groups, groups, err);
	if (rc != 0)
		return rc;
	fprintf(to, MADE_BY " %s: %" PRIu32 " ranks, %" PRIu32 " steps.\n\n", format->kind, schedule->ranks,
		coll_all_steps(schedule));
	write_network(schedule->ranks, to);
	fprintf(to, "collectives = (\n  {\n    ranks = [ \"h[0-%" PRIu32 "]\" ];\n", schedule->ranks - 1);
	if (format->sized)
		fprintf(to, "    bytes = %" PRIu64 "L;\n", given->bytes);
	if (given->options.kind == IMPORT_CHAKRA)
		fprintf(to, "    algorithm = \"%s\";\n", coll_algorithm_name(given->options.algorithm));
	fprintf(to, "    schedule = {\n      kind = \"%s\";\n      file = \"%s\";\n", format->kind, path);
	if (given->local_rate != NULL)
		fprintf(to, "      local_rate = \"%s\";\n", given->local_rate);
	if (given->groups != NULL)
		fprintf(to, "      groups = \"%s\";\n", groups);
	if (!format->sized)
		fprintf(to, "      channels = %" PRIu32 ";\n", given->options.max_channels);
	fprintf(to, "    };\n  }\n);\n");
	return 0;
}

static int
import_schedule_file(struct import_command *given, FILE *to, struct err *err)
{
	const struct import_format *format = import_format(given->options.kind);
	struct coll_schedule *schedule;
	char prefix[PATH_MAX];
	int rc;

	if (format->sized && given->bytes == 0)
		return err_set(err, -EINVAL, "%s counts in chunks: give the length of the vector with --bytes",
			       format->kind);
	if (format->sized && given->bytes % IMPORT_ELEM_BYTES != 0)
		return err_set(err, -EINVAL, "--bytes: %" PRIu64 " B is not a whole number of elements of %d B",
			       given->bytes, IMPORT_ELEM_BYTES);
	if (given->options.kind != IMPORT_CHAKRA && given->nfiles != 1)
		return err_set(err, -EINVAL, "%s takes one file", format->kind);
	given->options.path = given->options.kind == IMPORT_CHAKRA ? trace_prefix(given, prefix, err) : given->files[0];
	if (given->options.path == NULL)
		return -EINVAL;
	given->options.elem_bytes = format->sized ? IMPORT_ELEM_BYTES : 1;
	given->options.count_elems = given->bytes / given->options.elem_bytes;
	given->options.groups_path = given->groups;
	schedule = import_schedule(&given->options, err);
	if (schedule == NULL)
		return -errno;
	rc = write_scenario(given, schedule, to, err);
	coll_schedule_destroy(schedule);
	return rc;
}

static int
import_network(const struct import_command *given, FILE *to, struct err *err)
{
	const struct hpcc_files files = {
		.config = given->nfiles != 2 ? given->files[0] : NULL,
		.topology = given->nfiles == 2 ? given->files[0] : given->files[1],
		.flow = given->nfiles == 2 ? given->files[1] : given->files[2],
	};

	if (given->nfiles > 3)
		return err_set(err, -EINVAL, "hpcc takes three files at most");
	return hpcc_import(&files, to, err);
}

static int
import_switches(const struct import_command *given, FILE *to, struct err *err)
{
	const struct sonic_files files = { .paths = given->files,
					   .count = given->nfiles,
					   .dscp = given->dscp != NO_DSCP ? (uint32_t)given->dscp : SONIC_DSCP };

	return sonic_import(&files, to, err);
}

/* Files that this command has not written, an input of it among them, are not overwritten. */
static int
check_out(const char *path, struct err *err)
{
	char begin[sizeof(MADE_BY)] = "";
	struct err why = { 0 };
	FILE *file = input_fopen(path, &why);
	struct stat st;

	if (file == NULL)
		return 0; /* there is none, or opening it for writing reports the reason */
	if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
	    (fgets(begin, sizeof(begin), file) == NULL || strcmp(begin, MADE_BY) != 0) && st.st_size != 0)
		err_set(err, -EEXIST,
			"%s is there, and no scenario that rocelab import made: it is not replaced; another --out, or "
			"removing it, would be right",
			path);
	fclose(file);
	return err->text[0] != '\0' ? -EEXIST : 0;
}

static int
write_out(const char *path, const char *text, size_t length, struct err *err)
{
	struct outfile out;
	int rc;

	if (path == NULL) {
		if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0)
			return err_set(err, -EIO, "standard output: %s", strerror(errno));
		return 0;
	}
	rc = check_out(path, err);
	if (rc == 0)
		rc = outfile_open_path(&out, path, err);
	if (rc != 0)
		return rc;
	fwrite(text, 1, length, out.file); /* outfile_close() looks at the file's errors */
	return outfile_close(&out, 0, err);
}

/* A scenario that is refused leaves no file. */
static int
import(struct import_command *given, struct err *err)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);
	int rc;

	if (memory == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = strcmp(given->kind, "hpcc") == 0    ? import_network(given, memory, err)
	     : strcmp(given->kind, "sonic") == 0 ? import_switches(given, memory, err)
						 : import_schedule_file(given, memory, err);
	if (fclose(memory) != 0 && rc == 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = write_out(given->out, text, length, err);
	free(text);
	return rc;
}

int
command_import(int argc, char **argv)
{
	struct import_command given = { .dscp = NO_DSCP,
					.options = { .algorithm = COLL_RING, .max_channels = IMPORT_CHANNELS } };
	struct err err = { 0 };
	int rc;

	argv[0] = "rocelab import";
	if (args_parse(&argp, argc, argv, 0, &given) != 0)
		return EXIT_USAGE;
	rc = import(&given, &err);
	if (rc != 0)
		log_error("%s", err.text);
	return rc == 0 ? EXIT_DONE : EXIT_USAGE;
}
