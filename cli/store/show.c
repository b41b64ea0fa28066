/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab show: counters of a run, as operators know them from switches and hosts. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/store/runs.h"
#include "cli/store/tables.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "store/schema.h"
#include "store/store.h"

#define WORDS_BYTES 128
#define SHOWN_ROWS 1000

struct show_options {
	char words[WORDS_BYTES]; /* all arguments, with blanks between them */
	const char *run;         /* the last, where it is not of a view; NULL: the latest run */
	const struct view *view;
	const char *port;
	int64_t at_ns; /* -1: the end */
	uint64_t most;
	enum tables_format format;
	bool history, live;
	uint64_t every_ns; /* --every: the time between two; 0: once */
};

static const struct argp_option options[] = {
	{ "port", 'p', "PORT", 0, "Show this port (\"node:number\"), or all ports of a node", 0 },
	{ "at", 'a', "TIME", 0, "Show counters at this time of the run, by their series: \"1.5ms\"", 0 },
	{ "history", 'H', NULL, 0, "pfc counters: the same as pfc history", 0 },
	{ "live", 'l', NULL, 0, "Ask a run that goes on for its counters as they are now", 0 },
	{ "every", 'e', "TIME", 0, "Repeat at this interval, as \"1s\", until the run ends", 0 },
	{ "limit", 'n', "N", 0, "Print at most N rows of a table (default 1000; 0: all)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "csv", 'c', NULL, 0, "Print CSV", 0 },
	{ 0 },
};

/* @return the view that text begins with, the longest; *rest is set behind its words. NULL: none */
static const struct view *
find_view(const char *text, const char **rest)
{
	const struct view *found = NULL;

	for (const struct view *view = views; view->words != NULL; view++) {
		size_t length = strlen(view->words);

		if (strncmp(text, view->words, length) != 0 || (text[length] != '\0' && text[length] != ' '))
			continue;
		if (found != NULL && strlen(found->words) > length)
			continue;
		found = view;
		*rest = text + length + strspn(text + length, " ");
	}
	return found;
}

/* @return whether the view's first word is that of a text. @param length  of the text's; 0: any word matches */
static bool
begins(const struct view *view, const char *text, size_t length)
{
	return length == 0 || (strncmp(view->words, text, length) == 0 && view->words[length] == ' ');
}

/*
 * The only view of a first word: "interfaces" is "interfaces counters", alone or before a run's folder.
 * @param names  the views of that word, or all where there are none
 * @return NULL: there are several, or none
 */
static const struct view *
complete_view(const char *text, const char **rest, char *names, size_t cap)
{
	const struct view *found = NULL;
	size_t length = strcspn(text, " "), count = 0, used = 0;

	for (const struct view *view = views; view->words != NULL && length != 0; view++)
		count += begins(view, text, length);
	for (const struct view *view = views; view->words != NULL; view++) {
		if (!begins(view, text, count != 0 ? length : 0))
			continue;
		found = view;
		if (used < cap)
			used += (size_t)snprintf(names + used, cap - used, "%s%s", used != 0 ? ", " : "", view->words);
	}
	*rest = text + length + strspn(text + length, " ");
	return count == 1 && (**rest == '\0' || access(*rest, F_OK) == 0) ? found : NULL;
}

static void
choose(struct show_options *show, const struct argp_state *state)
{
	char names[512];
	const char *rest;

	show->view = find_view(show->words, &rest);
	if (show->view == NULL)
		show->view = complete_view(show->words, &rest, names, sizeof(names));
	if (show->view == NULL && show->words[0] == '\0')
		args_error(state, "give a view: %s", names);
	if (show->view == NULL)
		args_error(state, "\"%s\" is no view; there are: %s", show->words, names);
	if (*rest != '\0')
		show->run = rest;
	if (show->history && strcmp(show->view->words, "pfc counters") == 0)
		show->view = find_view("pfc history", &rest);
	if (show->at_ns >= 0 && !show->view->timed)
		args_error(state, "--at: \"%s\" has no series", show->view->words);
	if (show->live && show->at_ns >= 0)
		args_error(state, "%s has no --at", show->every_ns != 0 ? "--every" : "--live");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct show_options *show = state->input;
	size_t used = strlen(show->words);
	uint64_t at_ps;

	switch (key) {
	case 'p':
		show->port = arg;
		return 0;
	case 'a':
		if (units_parse_time(arg, &at_ps) < 0)
			args_error(state, "--at %s: give a time with its unit, as 1.5ms", arg);
		show->at_ns = (int64_t)(at_ps / PS_PER_NS);
		return 0;
	case 'H':
		show->history = true;
		return 0;
	case 'e':
		if (units_parse_time(arg, &at_ps) < 0 || at_ps < PS_PER_MS)
			args_error(state, "--every %s: give a time with its unit, 1ms at least", arg);
		show->every_ns = at_ps / PS_PER_NS;
		show->live = true;
		return 0;
	case 'l':
		show->live = true;
		return 0;
	case 'n':
		show->most = args_number(state, "--limit", arg, 0, INT64_MAX);
		return 0;
	case 'j':
		show->format = TABLES_JSON;
		return 0;
	case 'c':
		show->format = TABLES_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (used + strlen(arg) + 2 > sizeof(show->words))
			args_error(state, "\"%s\": too many words", arg);
		snprintf(show->words + used, sizeof(show->words) - used, "%s%s", used != 0 ? " " : "", arg);
		return 0;
	case ARGP_KEY_END:
		choose(show, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_views(FILE *to)
{
	fputs("Views:\n", to);
	for (const struct view *view = views; view->words != NULL; view++)
		fprintf(to, "  %-26s %s\n", view->words, view->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, list_views);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "VIEW [RUN]",
	.doc = "Shows counters of a run, RUN being the folder that `rocelab run` wrote (default: the latest in out/; with "
	       "--live, of those that go on).\v",
	.help_filter = help_filter,
};

/* @return 0 or negative errno with err set */
static int
print_one(const struct show_options *show, sqlite3 *db, size_t index, struct err *err)
{
	const char *before = show->at_ns >= 0 ? views_at_time : views_at_end, *sql = show->view->tables[index].sql;
	size_t size = strlen(before) + strlen(sql) + 1;
	char *text = malloc(size);
	sqlite3_stmt *stmt = NULL;
	int ret = -ENOMEM;

	if (text != NULL) {
		snprintf(text, size, "%s%s", before, sql);
		stmt = store_select(db, text, err);
		ret = stmt != NULL ? 0 : -EINVAL;
	}
	if (ret == 0 && show->port != NULL)
		sqlite3_bind_text(stmt, sqlite3_bind_parameter_index(stmt, ":port"), show->port, -1, SQLITE_STATIC);
	if (ret == 0 && show->at_ns >= 0)
		sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":at"), show->at_ns);
	if (ret == 0)
		ret = tables_print(stmt, show->format, show->most, stdout, err);
	sqlite3_finalize(stmt);
	free(text);
	return ret < 0 ? err_set(err, ret, "out of memory") : 0;
}

/* Several tables of a view: an object with a key each; for people one below the other. */
static int
print_view(const struct show_options *show, sqlite3 *db, struct err *err)
{
	bool several = show->view->tables[1].sql != NULL, json = show->format == TABLES_JSON;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < VIEW_TABLES && show->view->tables[i].sql != NULL; i++) {
		const char *heading = show->view->tables[i].heading;

		if (several && json)
			printf("%s\"%s\": ", i == 0 ? "{" : ",\n", show->view->tables[i].key);
		else if (i != 0)
			putchar('\n');
		if (show->format == TABLES_TEXT && heading != NULL && heading[0] != '\0')
			puts(heading);
		ret = print_one(show, db, i, err);
	}
	if (json)
		puts(several ? "}" : "");
	return ret;
}

/* @return 0, or -EINVAL with err set: this run has no such port or node */
static int
check_port(const struct show_options *show, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *stmt;
	bool found;

	if (show->port == NULL)
		return 0;
	stmt = store_select(db, "SELECT 1 FROM ports JOIN nodes USING (node) WHERE ? IN (ports.name, nodes.name)", err);
	if (stmt == NULL)
		return -EINVAL;
	sqlite3_bind_text(stmt, 1, show->port, -1, SQLITE_STATIC);
	found = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return found ? 0 : err_set(err, -EINVAL, "--port %s: the run has no such port or node", show->port);
}

/* @return the counters of a run that goes on, or NULL with err set: it does not */
static sqlite3 *
ask_live(const struct show_options *show, struct err *err)
{
	const char *dir = show->run;
	struct err why = { 0 };
	char path[PATH_MAX];
	sqlite3 *db;
	int fd;

	if (snprintf(path, sizeof(path), "%s/" RUN_LIVE, dir) >= (int)sizeof(path)) {
		err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
		return NULL;
	}
	fd = unix_connect(path, "run that goes on", &why);
	if (fd < 0) {
		err_set(err, fd, "no run goes on in %s (%s); without %s the counters of its end are shown", dir,
			strerror(-fd), show->every_ns != 0 ? "--every" : "--live");
		return NULL;
	}
	db = snapshot_read(fd, err);
	close(fd);
	return db;
}

/* @return 0 or negative errno with err set */
static int
show_once(const struct show_options *show, struct err *err)
{
	sqlite3 *db = show->live ? ask_live(show, err) : store_read(show->run, err);
	int ret = db != NULL ? check_port(show, db, err) : -EINVAL;

	if (ret == 0)
		ret = print_view(show, db, err);
	sqlite3_close(db);
	return ret;
}

/* Until the run has ended, which is no error once it was shown. @return as above */
static int
show_again(const struct show_options *show, struct err *err)
{
	struct err end = { 0 };
	int ret = show_once(show, err);

	while (ret == 0 && show->every_ns != 0) {
		fflush(stdout);
		clock_sleep_until_ns(clock_now_ns() + show->every_ns);
		if (isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		if (show_once(show, &end) < 0)
			break;
	}
	return ret;
}

int
command_show(int argc, char **argv)
{
	struct show_options show = { .at_ns = -1, .most = SHOWN_ROWS };
	char latest[PATH_MAX];
	struct err err = { 0 };
	int ret = 0;

	argv[0] = "rocelab show";
	if (args_parse(&argp, argc, argv, 0, &show) != 0)
		return EXIT_USAGE;
	if (show.run == NULL) {
		ret = latest_run("out", show.live, latest, &err);
		show.run = latest;
	}
	if (ret == 0)
		ret = show_again(&show, &err);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret == 0 ? EXIT_DONE : EXIT_USAGE;
}
