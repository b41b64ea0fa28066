/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/program.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/printable.h"
#include "common/stdio_guard.h"
#include "common/units.h"

int
program_begin(void)
{
	stdio_guard();
	argp_err_exit_status = EXIT_USAGE;
	return log_open() < 0 ? EXIT_USAGE : EXIT_DONE;
}

/* Arguments. */

void
args_print_exit_codes(FILE *to)
{
#define EXIT_CODE_PRINT(name, value, text) fprintf(to, "  %-3d  %s\n", value, text);
	fputs("Exit codes:\n", to);
	EXIT_CODES(EXIT_CODE_PRINT)
#undef EXIT_CODE_PRINT
}

/* The text that follows all others in --help. */
static char *
exit_codes_help(int key, const char *text, void *input)
{
	char *table = NULL;
	size_t size;
	FILE *to;

	(void)input;
	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)(uintptr_t)text;
	to = open_memstream(&table, &size);
	if (to == NULL)
		return NULL;
	args_print_exit_codes(to);
	fclose(to);
	return table;
}

/* Hands the input on to the one child. */
static error_t
pass_input(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

/* A field of a list, before a tab or the end of its line. */
static void
list_text(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if (*text == '\n')
			fputs("\\n", stdout);
		else
			putchar(*text == '\t' ? ' ' : *text);
}

/* The tables of a command, as PROGRAM_LIST_OPTIONS has them. */
static void
list_options(const struct argp *argp, void *input)
{
	const char *doc = argp->doc != NULL ? argp->doc : "", *behind = strchr(doc, '\v');
	size_t before = behind != NULL ? (size_t)(behind - doc) : strlen(doc);
	char *first = strndup(doc, before), *filtered = NULL;

	behind = behind != NULL ? behind + 1 : "";
	if (argp->help_filter != NULL)
		filtered = argp->help_filter(ARGP_KEY_HELP_POST_DOC, behind, input);
	fputs("args\t", stdout);
	list_text(argp->args_doc);
	fputs("\ndoc\t", stdout);
	list_text(first);
	fputs("\nmore\t", stdout);
	list_text(filtered != NULL ? filtered : behind);
	for (const struct argp_option *o = argp->options; o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL);
	     o++) {
		if (o->name == NULL) {
			fputs("\ngroup\t", stdout);
			list_text(o->doc);
			continue;
		}
		printf("\noption\t%s\t%c\t", o->name, o->key > ' ' && o->key < 127 ? o->key : '-');
		list_text(o->arg);
		putchar('\t');
		list_text(o->doc);
	}
	putchar('\n');
	if (filtered != behind)
		free(filtered);
	free(first);
}

static bool
is_option(const struct argp_option *row)
{
	return row->name != NULL && row->key != 0 && (row->flags & (OPTION_ALIAS | OPTION_DOC)) == 0;
}

/* A parser takes an option for another one of the same key. */
static bool
keys_differ(const struct argp_option *options)
{
	for (const struct argp_option *a = options; a != NULL && (a->name != NULL || a->doc != NULL); a++)
		for (const struct argp_option *b = a + 1; b->name != NULL || b->doc != NULL; b++)
			if (a->key == b->key && is_option(a) && is_option(b))
				return false;
	return true;
}

/* getopt(3) prints the name of an option that there is not as it was given. */
static void
refuse_unprintable_options(int argc, char **argv)
{
	char name[PLAIN_LINE_BYTES], odd[PLAIN_NAME_BYTES];

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[i], "="), argv[i]);
		if (plain_find_unprintable(name, odd)) {
			log_refusal("unrecognized option '%s', with %s", plain_line(name).text, odd);
			exit(EXIT_USAGE);
		}
	}
}

error_t
args_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	const struct argp_child children[] = { { .argp = argp }, { 0 } };
	const struct argp whole = { .parser = pass_input, .children = children, .help_filter = exit_codes_help };

	assert(keys_differ(argp->options));
	if (argc == 2 && strcmp(argv[1], PROGRAM_LIST_OPTIONS) == 0) {
		list_options(argp, input);
		exit(EXIT_DONE);
	}
	if (log_command() != NULL)
		argv[0] = (char *)(uintptr_t)log_command();
	else if (strchr(argv[0], '/') != NULL) /* as log.h begins lines; getopt(3) would print the path */
		argv[0] = program_invocation_short_name;
	refuse_unprintable_options(argc, argv);
	return argp_parse(&whole, argc, argv, flags, NULL, input);
}

void
args_error(const struct argp_state *state, const char *fmt, ...)
{
	char text[LOG_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	argp_error(state, "%s", plain_line(text).text);
}

uint64_t
args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!number_parse(text, min, max, &value))
		args_error(state, "%s %s: give a number from %" PRIu64 " to %" PRIu64, option, text, min, max);
	return value;
}

#define HELP_COLUMNS 78 /* argp wraps longer lines, at their last word */
#define HELP_INDENT 48  /* at most, of what a row of a list continues with */

/* A row of a list, in lines of HELP_COLUMNS: its last column goes on below itself. */
static void
write_row(const char *row, size_t left, FILE *to)
{
	size_t indent = 4;

	for (size_t i = 2; i < left && i < HELP_INDENT; i++)
		indent = row[i] != ' ' && row[i - 1] == ' ' && row[i - 2] == ' ' && i > 2 ? i : indent;
	for (size_t margin = 0; left + margin > HELP_COLUMNS; margin = indent) {
		size_t end = HELP_COLUMNS - margin;

		while (end > indent && row[end] != ' ')
			end--;
		if (row[end] != ' ')
			break;
		fprintf(to, "%.*s\n%*s", (int)end, row, (int)indent, "");
		row += end + 1;
		left -= end + 1;
	}
	fprintf(to, "%.*s\n", (int)left, row);
}

char *
args_help_list(int key, const char *text, void (*list)(FILE *to))
{
	char *whole = NULL, *rows = NULL;
	size_t size, all;
	FILE *to, *wide;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	wide = open_memstream(&rows, &all);
	to = wide != NULL ? open_memstream(&whole, &size) : NULL;
	if (to == NULL) {
		if (wide != NULL)
			fclose(wide);
		free(rows);
		return (char *)(uintptr_t)text;
	}
	list(wide);
	fclose(wide);
	for (const char *row = rows, *end; *row != '\0'; row = *end != '\0' ? end + 1 : end) {
		end = strchrnul(row, '\n');
		if (row[0] == ' ')
			write_row(row, (size_t)(end - row), to);
		else
			fprintf(to, "%.*s\n", (int)(end - row), row);
	}
	fputs(text, to);
	fclose(to);
	free(rows);
	return whole;
}
