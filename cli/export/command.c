/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab export: a run's results in the formats of other tools. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/export/export.h"
#include "cli/store/runs.h"
#include "cli/store/tables.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "store/schema.h"

const struct export_format export_formats[] = {
	{ .name = "perfetto",
	  .doc = "a trace for ui.perfetto.dev and trace_processor: steps, flows, queues, pauses, findings",
	  .needs_store = true,
	  .is_binary = true,
	  .write = export_perfetto },
	{ .name = "openmetrics",
	  .doc = "counters at the end of the run, in OpenMetrics' text",
	  .needs_store = true,
	  .write = export_openmetrics },
	{ .name = "prometheus",
	  .doc = "the same in Prometheus' text, for node_exporter's textfile collector",
	  .needs_store = true,
	  .write = export_prometheus },
	{ .name = "nccl",
	  .doc = "times of collectives in the JSON of nccl-tests",
	  .needs_store = true,
	  .write = export_nccl },
	{ .name = "csv",
	  .doc = "every table of the store as CSV, a file each in the folder --out",
	  .needs_store = true,
	  .write_folder = export_csv },
	{ .name = "pcapng",
	  .doc = "frames of DIR/capture.pcapng by time, port and kind",
	  .is_binary = true,
	  .has_frames = true,
	  .write = export_pcapng },
	{ 0 },
};

struct export_options {
	struct export export;
	const struct export_format *format;
	const char *run, *out;
	bool of_frames;
};

static const struct argp_option argp_options[] = {
	{ "out", 'o', "PATH", 0, "Write to PATH (default: stdout)", 0 },
	{ "from", 'f', "TIME", 0, "pcapng: frames from this time of the run on: \"1.5ms\"", 0 },
	{ "to", 't', "TIME", 0, "pcapng: frames before this time", 0 },
	{ "port", 'p', "PORT", 0, "pcapng: frames of this captured port", 0 },
	{ "sport", 's', "N", 0, "pcapng: frames with this UDP source port", 0 },
	{ "frames", 'k', "KIND", 0, "pcapng: frames of this kind: pfc, roce, data, ack, cnp, other", 0 },
	{ 0 },
};

static uint64_t
parse_time(const struct argp_state *state, const char *option, const char *text)
{
	uint64_t time_ps;

	if (units_parse_time(text, &time_ps) < 0)
		args_error(state, "%s %s: give a time with its unit, as 1.5ms", option, text);
	return time_ps;
}

/* The names of all formats. @return buf */
static const char *
format_names(char *buf, size_t cap)
{
	size_t used = 0;

	for (const struct export_format *format = export_formats; format->name != NULL && used < cap; format++)
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", used != 0 ? ", " : "", format->name);
	return buf;
}

static void
set_argument(struct export_options *options, const char *arg, const struct argp_state *state)
{
	char names[128];

	if (options->format != NULL && options->run != NULL)
		args_error(state, "one run at a time: \"%s\" is the second", arg);
	if (options->format != NULL) {
		options->run = arg;
		return;
	}
	for (const struct export_format *format = export_formats; format->name != NULL; format++)
		if (strcmp(format->name, arg) == 0)
			options->format = format;
	if (options->format == NULL)
		args_error(state, "\"%s\": there is no such format; there are: %s", arg,
			   format_names(names, sizeof(names)));
}

static void
check(const struct export_options *options, const struct argp_state *state)
{
	char names[128];

	if (options->format == NULL)
		args_error(state, "give a format (%s), and the folder of a run", format_names(names, sizeof(names)));
	if (options->format->write_folder != NULL && options->out == NULL)
		args_error(state, "%s: give a folder with --out", options->format->name);
	if (options->format->is_binary && options->out == NULL && isatty(STDOUT_FILENO))
		args_error(state, "%s is not for a terminal: give --out FILE", options->format->name);
	if (options->of_frames && !options->format->has_frames)
		args_error(state, "--from, --to, --port, --sport and --frames select frames: %s has none",
			   options->format->name);
	if (options->export.to_ps <= options->export.from_ps)
		args_error(state, "--to is not after --from");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct export_options *options = state->input;

	options->of_frames |= key > 0 && key < 128 && strchr("ftpsk", key) != NULL;
	switch (key) {
	case 'o':
		options->out = arg;
		return 0;
	case 'f':
		options->export.from_ps = parse_time(state, "--from", arg);
		return 0;
	case 't':
		options->export.to_ps = parse_time(state, "--to", arg);
		return 0;
	case 'p':
		options->export.port = arg;
		return 0;
	case 's':
		options->export.sport = (int64_t)args_number(state, "--sport", arg, 0, UINT16_MAX);
		return 0;
	case 'k':
		if (!export_is_frame_kind(arg))
			args_error(state, "--frames %s: give pfc, roce, data, ack, cnp or other", arg);
		options->export.frames = arg;
		return 0;
	case ARGP_KEY_ARG:
		set_argument(options, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_formats(FILE *to)
{
	fputs("Formats:\n", to);
	for (const struct export_format *format = export_formats; format->name != NULL; format++)
		fprintf(to, "  %-12s %s\n", format->name, format->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, list_formats);
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "FORMAT [RUN]",
	.doc = "Writes the results of a run for other tools, RUN being the folder that `rocelab run` wrote (default: the "
	       "latest "
	       "in out/). docs/exports.md has the formats.\v",
	.help_filter = help_filter,
};

int
export_nccl(const struct export *export, FILE *to, struct err *err)
{
	static const char *const args[] = { "rocelab", "export", "nccl", NULL };
	sqlite3_stmt *stmt = store_select(
		export->db, "SELECT " NCCL_COLUMNS " FROM collectives GROUP BY job, collective ORDER BY job, collective",
		err);
	int ret = stmt != NULL ? nccl_print(stmt, true, args, to, err) : -EINVAL;

	sqlite3_finalize(stmt);
	return ret;
}

/* @return 0 or negative errno with err set */
static int
write_table(const struct export *export, const char *table, const char *dir, struct err *err)
{
	char sql[64], name[64];
	struct outfile out;
	sqlite3_stmt *stmt;
	int ret;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	snprintf(name, sizeof(name), "%s.csv", table);
	stmt = store_select(export->db, sql, err);
	ret = stmt != NULL ? outfile_open(&out, dir, name, err) : -EINVAL;
	if (ret == 0)
		ret = outfile_close(&out, tables_print(stmt, TABLES_CSV, 0, out.file, err), err);
	sqlite3_finalize(stmt);
	return ret;
}

int
export_csv(const struct export *export, const char *dir, struct err *err)
{
	int ret = run_dir_make(dir, err);

	for (uint32_t i = 0; ret >= 0 && i < STORE_TABLES; i++)
		ret = write_table(export, store_schemas[i].name, dir, err);
	return ret < 0 ? ret : 0;
}

/* @return 0 or negative errno with err set */
static int
write_out(const struct export_options *options, struct err *err)
{
	const struct export_format *format = options->format;
	struct outfile out;
	int ret;

	if (format->write_folder != NULL)
		return format->write_folder(&options->export, options->out, err);
	if (options->out == NULL) {
		ret = format->write(&options->export, stdout, err);
		return ret == 0 && fflush(stdout) != 0 ? err_set(err, -errno, "stdout: %s", strerror(errno)) : ret;
	}
	ret = outfile_open_path(&out, options->out, err);
	return ret < 0 ? ret : outfile_close(&out, format->write(&options->export, out.file, err), err);
}

int
command_export(int argc, char **argv)
{
	struct export_options options = { .export = { .to_ps = UINT64_MAX, .sport = -1 } };
	char latest[PATH_MAX];
	struct err err = { 0 };
	int ret = 0;

	argv[0] = "rocelab export";
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	if (options.run == NULL) {
		ret = latest_run("out", false, latest, &err);
		options.run = latest;
	}
	options.export.dir = options.run;
	if (ret == 0 && options.format->needs_store) {
		options.export.db = store_read(options.run, &err);
		ret = options.export.db != NULL ? 0 : -EINVAL;
	}
	if (ret == 0)
		ret = write_out(&options, &err);
	sqlite3_close(options.export.db);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret == 0 ? EXIT_DONE : ret == -EINVAL || ret == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
}
