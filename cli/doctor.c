/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab doctor: which kinds of hosts this machine can run, by trying each. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <libsmartcols/libsmartcols.h>

#include "cli/command.h"
#include "cli/guests.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/private_dir.h"

struct checkup {
	const char *scenario_kind; /* as a scenario spells it */
	const char *kind;          /* as the launcher does; NULL: part of dpswitch, always there */
	unsigned timeout_ms;
	const char *what;
	bool chosen, works;
	uint64_t took_ms;
	struct err err;
};

static struct checkup checkups[] = {
	{ "embedded", NULL, 0, "a RoCEv2 host inside the fabric, virtual or real time", false, true, 0, { "" } },
	{ "guest", "uml", 30000, "user-mode Linux with soft-RoCE", false, false, 0, { "" } },
	{ "qemu", "qemu", 90000, "QEMU with Debian's kernel; slow without KVM", false, false, 0, { "" } },
	{ "netns", "netns", 10000, "a network namespace on this machine's own soft-RoCE", false, false, 0, { "" } },
};

#define NCHECKUPS ARRAY_LEN(checkups)

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case 'j':
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < NCHECKUPS; i++)
			if (strcmp(checkups[i].scenario_kind, arg) == 0) {
				checkups[i].chosen = true;
				return 0;
			}
		argp_error(state, "no kind of host \"%s\": there are embedded, guest, qemu and netns", arg);
		return 0;
	case ARGP_KEY_NO_ARGS:
		for (size_t i = 0; i < NCHECKUPS; i++)
			checkups[i].chosen = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[KIND...]",
	.doc = "Says which kinds of hosts this machine can run and what the others miss, by booting one of each and adding "
	       "a "
	       "soft-RoCE device in it. Exit status 0 if a host with a kernel of its own works, of the kinds asked about, "
	       "else 1.",
};

static void
check(struct checkup *checkup, const struct guests_paths *paths, const char *dir)
{
	struct guest_config config = {
		.kind = checkup->kind, .dir = dir, .init = paths->init, .kernel = paths->kernel, .hold_fd = -1
	};
	uint64_t start_ns = clock_now_ns();

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "trying %s, for at most %u s\n", checkup->scenario_kind, checkup->timeout_ms / 1000);
	checkup->works = guest_probe(&config, checkup->timeout_ms, &checkup->err) == 0;
	checkup->took_ms = (clock_now_ns() - start_ns) / 1000000;
}

static int
check_all(struct err *err)
{
	struct guests_paths paths;
	struct private_dir dir;
	int rc = guests_find(&paths, err);

	if (rc == 0)
		rc = private_dir_create(&dir, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < NCHECKUPS; i++)
		if (checkups[i].chosen && checkups[i].kind != NULL)
			check(&checkups[i], &paths, dir.path);
	private_dir_remove(&dir);
	return 0;
}

static int
print_table(void)
{
	struct libscols_table *table = scols_new_table();

	if (table == NULL || scols_table_new_column(table, "KIND", 0, 0) == NULL ||
	    scols_table_new_column(table, "WORKS", 0, 0) == NULL ||
	    scols_table_new_column(table, "BOOT (ms)", 0, SCOLS_FL_RIGHT) == NULL ||
	    scols_table_new_column(table, "WHAT IT IS, OR WHAT IT MISSES", 0, SCOLS_FL_WRAP) == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < NCHECKUPS; i++) {
		const struct checkup *checkup = &checkups[i];
		struct libscols_line *line;
		char took[24] = "";

		if (!checkup->chosen)
			continue;
		line = scols_table_new_line(table, NULL);
		if (checkup->works && checkup->kind != NULL)
			snprintf(took, sizeof(took), "%llu", (unsigned long long)checkup->took_ms);
		if (line == NULL || scols_line_set_data(line, 0, checkup->scenario_kind) < 0 ||
		    scols_line_set_data(line, 1, checkup->works ? "yes" : "no") < 0 ||
		    scols_line_set_data(line, 2, took) < 0 ||
		    scols_line_set_data(line, 3, checkup->works ? checkup->what : checkup->err.text) < 0)
			return -ENOMEM;
	}
	scols_print_table(table);
	scols_unref_table(table);
	return 0;
}

static int
print_json(void)
{
	json_t *kinds = json_array();
	int rc;

	for (size_t i = 0; i < NCHECKUPS; i++) {
		const struct checkup *checkup = &checkups[i];
		json_t *kind;

		if (!checkup->chosen)
			continue;
		kind = json_pack("{s:s, s:b, s:s}", "kind", checkup->scenario_kind, "works", checkup->works, "what",
				 checkup->what);

		if (checkup->works && checkup->kind != NULL)
			json_object_set_new(kind, "boot_ms", json_integer((json_int_t)checkup->took_ms));
		if (!checkup->works)
			json_object_set_new(kind, "missing", json_string(checkup->err.text));
		json_array_append_new(kinds, kind);
	}
	rc = json_dumpf(kinds, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(kinds);
	return rc;
}

int
command_doctor(int argc, char **argv)
{
	struct err err = { 0 };
	bool json = false;

	argv[0] = "rocelab doctor";
	if (argp_parse(&argp, argc, argv, 0, NULL, &json) != 0)
		return EXIT_USAGE;
	if (check_all(&err) < 0 || (json ? print_json() : print_table()) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < NCHECKUPS; i++)
		if (checkups[i].chosen && checkups[i].kind != NULL && checkups[i].works)
			return EXIT_DONE;
	return EXIT_FAILED;
}
