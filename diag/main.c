/* SPDX-License-Identifier: BSD-3-Clause */
/* analyzer: reads one record stream, writes the verdict and its reports. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/program.h"
#include "diag/collect/evidence.h"
#include "diag/collect/stream.h"
#include "diag/detection.h"
#include "diag/plugin/plugin.h"
#include "diag/registry.h"
#include "diag/report/facts.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "web/page.h"

struct options {
	const char *listen, *read, *out, *plugin, *costs, *cpu, *arrivals;
	const char *plugin_asked; /* the one plugin that --diagnoser names; NULL: none */
	bool print, times, quiet;
	bool allow_left_out;
	bool alone;              /* --diagnoser named some of ours */
	int done;                /* -1: none */
	uint64_t times_cpu_ns;   /* that times to detection took */
	struct diagnosis *asked; /* [nasked], with room for PLUGIN_PROGRAMS more */
	uint32_t nasked;
	bool *named;   /* [ndiagnosers] by --diagnoser; if none is, all run */
	void **chosen; /* [ndiagnosers] their options */
};

static const struct argp_option own_options[] = {
	{ "listen", 'l', "SOCKET", 0, "Wait for one connection on a unix socket's path, or HOST:PORT", 0 },
	{ "read", 'r', "FILE", 0, "Read a recorded stream", 0 },
	{ "out", 'o', "DIR", 0, "Where verdict.json and the reports go; made if absent", 0 },
	{ "plugins", 'O', "FILE", 0, "Read the findings of plugin diagnosers from FILE (plugins.json), if it exists", 0 },
	{ "costs", 'C', "FILE", 0, "Take the costs of findings from runs of the twin (twin.json), where FILE has them", 0 },
	{ "print", 'p', NULL, 0, "Print the report for people as well", 0 },
	{ "diagnoser", 'D', "NAME", 0,
	  "Ask this one, and no other that is not named; may be given again (default: all); \"./NAME\": of --plugins", 0 },
	{ "detection-times", 't', NULL, 0,
	  "Report the earliest time at which each finding could be reported: diagnoses up to 48 prefixes of the stream, by "
	  "bisection; with --read",
	  0 },
	{ "cpu", 'c', "FILE", 0,
	  "Write what processor time it took, start to end, but for times to detection: { \"cpu_s\": }", 0 },
	{ "arrivals", 'A', "FILE", 0,
	  "Write when the bytes of the stream were read, and when their records were in the evidence, to FILE (CSV); with "
	  "--listen",
	  0 },
	{ "allow-left-out", 'x', NULL, 0,
	  "Exit with 0, not 1, if a plugin of --plugins was excluded: it failed, or a finding of it names an unknown "
	  "object",
	  0 },
	{ "quiet", 'q', NULL, 0, "Do not warn about incomplete evidence; the verdict reports it", 0 },
	{ "done", 'd', "FD", 0, "A descriptor to close when the reports are written, before they are printed", 0 },
};

/* An option of a diagnoser. @return ARGP_ERR_UNKNOWN: of none */
static error_t
parse_diagnosers(const struct options *options, int key, const char *arg, struct argp_state *state)
{
	for (uint32_t i = 0; i < ndiagnosers; i++) {
		for (uint32_t o = 0; o < diagnosers[i].noptions; o++) {
			const struct diagnoser_option *option = &diagnosers[i].options[o];
			struct err err = { 0 };

			if (option->key != key)
				continue;
			if (option->set(options->chosen[i], arg, &err) != 0)
				args_error(state, "--%s=%s: %s", option->name, arg, err.text);
			return 0;
		}
	}
	return ARGP_ERR_UNKNOWN;
}

/* --diagnoser */
static void
name_diagnoser(struct options *options, const char *name, const struct argp_state *state)
{
	char names[256] = "";
	size_t used = 0;

	if (strncmp(name, "./", 2) == 0) {
		options->plugin_asked = name;
		return;
	}
	for (uint32_t i = 0; i < ndiagnosers; i++) {
		if (strcmp(diagnosers[i].name, name) == 0) {
			options->named[i] = true;
			return;
		}
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i != 0 ? ", " : "",
						 diagnosers[i].name);
	}
	args_error(state, "--diagnoser %s: it is none of %s", name, names);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'l':
		options->listen = arg;
		return 0;
	case 'r':
		options->read = arg;
		return 0;
	case 'o':
		options->out = arg;
		return 0;
	case 'O':
		options->plugin = arg;
		return 0;
	case 'C':
		options->costs = arg;
		return 0;
	case 'p':
		options->print = true;
		return 0;
	case 'D':
		name_diagnoser(options, arg, state);
		return 0;
	case 't':
		options->times = true;
		return 0;
	case 'c':
		options->cpu = arg;
		return 0;
	case 'A':
		options->arrivals = arg;
		return 0;
	case 'x':
		options->allow_left_out = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'd':
		options->done = (int)args_number(state, "--done", arg, STDERR_FILENO + 1, INT_MAX);
		return 0;
	case ARGP_KEY_END:
		if ((options->listen == NULL) == (options->read == NULL))
			args_error(state, "give either --listen or --read");
		if (options->out == NULL)
			args_error(state, "give --out");
		if (options->times && options->read == NULL)
			args_error(state, "--detection-times takes a recorded stream: give --read");
		if (options->arrivals != NULL && options->listen == NULL)
			args_error(state, "--arrivals takes a live stream: give --listen");
		return 0;
	default:
		return parse_diagnosers(options, key, arg, state);
	}
}

/* The program's own options and those of all diagnosers. @return NULL: out of memory */
static struct argp_option *
list_options(void)
{
	size_t count = ARRAY_LEN(own_options), at = ARRAY_LEN(own_options);
	struct argp_option *list;

	for (uint32_t i = 0; i < ndiagnosers; i++)
		count += diagnosers[i].noptions;
	list = calloc(count + 1, sizeof(*list));
	if (list == NULL)
		return NULL;
	memcpy(list, own_options, sizeof(own_options));
	for (uint32_t i = 0; i < ndiagnosers; i++) {
		for (uint32_t o = 0; o < diagnosers[i].noptions; o++) {
			const struct diagnoser_option *option = &diagnosers[i].options[o];

			list[at++] = (struct argp_option){
				.name = option->name, .key = option->key, .arg = option->value, .doc = option->meaning
			};
		}
	}
	return list;
}

/* @return 0, or -ENOMEM with err */
static int
options_init(struct options *options, struct err *err)
{
	*options = (struct options){ .done = -1 };
	options->asked = calloc(ndiagnosers + PLUGIN_PROGRAMS, sizeof(*options->asked));
	options->chosen = calloc(ndiagnosers, sizeof(*options->chosen));
	options->named = calloc(ndiagnosers, sizeof(*options->named));
	if (options->asked == NULL || options->chosen == NULL || options->named == NULL)
		return err_set(err, -ENOMEM, "out of memory for options");
	for (uint32_t i = 0; i < ndiagnosers; i++) {
		options->chosen[i] = calloc(1, diagnosers[i].options_bytes + 1);
		if (options->chosen[i] == NULL)
			return err_set(err, -ENOMEM, "out of memory for options");
	}
	return 0;
}

/* Those that are named, or all. */
static void
ask(struct options *options)
{
	bool any = options->plugin_asked != NULL;

	for (uint32_t i = 0; i < ndiagnosers; i++)
		options->alone |= options->named[i];
	any |= options->alone;
	for (uint32_t i = 0; i < ndiagnosers; i++)
		if (options->named[i] || !any)
			options->asked[options->nasked++] =
				(struct diagnosis){ .by = &diagnosers[i], .options = options->chosen[i] };
}

static void
options_fini(struct options *options)
{
	for (uint32_t i = 0; options->chosen != NULL && i < ndiagnosers; i++)
		free(options->chosen[i]);
	free(options->chosen);
	free(options->named);
	free(options->asked);
}

static int
read_options(struct options *options, int argc, char **argv, struct err *err)
{
	struct argp_option *list = list_options();
	const struct argp argp = {
		.options = list,
		.parser = parse,
		.doc = "Diagnoses what slowed a collective, from one record stream and nothing else.",
	};
	int rc = options_init(options, err);

	if (list == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for options");
	if (rc == 0)
		args_parse(&argp, argc, argv, 0, options);
	if (rc == 0)
		ask(options);
	free(list);
	return rc;
}

static int
add_times(struct options *options, struct verdict *verdict, struct err *err)
{
	uint64_t before_ns = clock_cpu_ns();
	size_t size_bytes;
	const void *stream = source_map(options->read, &size_bytes, err);
	int rc;

	if (stream == NULL)
		return -errno;
	rc = detection_times(stream, size_bytes, options->asked, options->nasked, verdict, err);
	munmap((void *)(uintptr_t)stream, size_bytes);
	options->times_cpu_ns = clock_cpu_ns() - before_ns;
	return rc;
}

/* Plugins' reports on the run, which its stream does not have. */
struct others {
	struct plugin_report report;
	struct diagnoser rows[PLUGIN_PROGRAMS];
};

/* @param options  its asked has room for them. A verdict without them is better than none. */
static void
ask_others(struct options *options, struct others *others)
{
	static const struct diagnoser_writers writers = { .json = plugin_json, .text = plugin_text };
	struct diagnosis rows[PLUGIN_PROGRAMS];
	struct err err = { "" };

	*others = (struct others){ 0 };
	if (options->plugin == NULL)
		return;
	if (plugin_report_read(options->plugin, &others->report, &err) != 0) {
		log_warning("%s: the verdict does not include it", err.text);
		plugin_report_fini(&others->report);
	}
	plugin_rows(&others->report, &writers, others->rows, rows);
	for (uint32_t i = 0; i < others->report.count; i++)
		if (options->plugin_asked != NULL ? strcmp(rows[i].by->name, options->plugin_asked) == 0 : !options->alone)
			options->asked[options->nasked++] = rows[i];
}

/* @return EXIT_DONE; EXIT_FAILED: a program was left out; or negative errno with err */
static int
diagnose(struct options *options, struct evidence *ev, struct err *err)
{
	char missing[FACTS_INCOMPLETE];
	struct verdict *verdict = NULL;
	struct others others;
	int rc;

	ask_others(options, &others);
	rc = verdict_build(ev, options->asked, options->nasked, &verdict, err);
	evidence_fini(ev); /* the verdict points at none of it, and the page takes room */
	if (rc == 0 && options->times)
		rc = add_times(options, verdict, err);
	if (rc == 0 && options->costs != NULL)
		rc = costs_apply(verdict, options->costs, err);
	if (rc == 0)
		rc = report_write(verdict, options->out, web_page, err);
	if (options->done >= 0)
		close(options->done);
	if (rc == 0 && options->print && text_write(verdict, options->out, stdout) != 0)
		rc = err_set(err, -EIO, "cannot print the verdict");
	if (rc == 0 && !options->quiet)
		plugin_print(verdict, options->read != NULL); /* a live run has printed it */
	if (rc == 0 && !options->quiet && !verdict_complete(verdict))
		log_warning("the evidence is incomplete: %s", facts_incomplete(verdict, missing));
	if (rc == 0 && !options->allow_left_out && plugin_left_out(verdict) != 0)
		rc = EXIT_FAILED;
	verdict_destroy(verdict);
	plugin_report_fini(&others.report);
	return rc;
}

/*
 * A live stream ends with its run, and the end of the run is the time for the verdict: the first signal is for the
 * senders.
 */
static int
accept_stream(const char *address, struct err *err)
{
	sigset_t before;
	int fd = source_accept(address, &before, err);

	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

/* Reads the stream to its end, and notes the times of its portions where they are wanted. @return 0 or negative errno */
static int
read_stream(const struct options *options, int fd, struct evidence *ev, struct err *err)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	struct outfile out;
	int rc;

	if (options->arrivals == NULL)
		return stream_read_fd(fd, ev, NULL, err);
	/* A run has removed the files of an earlier one before it sends anything. */
	while (poll(&source, 1, -1) < 0 && errno == EINTR)
		;
	rc = outfile_open_path(&out, options->arrivals, err);
	if (rc < 0)
		return rc;
	fputs("end_bytes,read_ns,joined_ns\n", out.file);
	rc = stream_read_fd(fd, ev, out.file, err);
	return outfile_close(&out, rc, err);
}

/* @return an exit code */
static int
analyze(struct options *options)
{
	struct err err = { 0 };
	struct evidence ev;
	int fd = options->read != NULL ? source_open_file(options->read, &err) : accept_stream(options->listen, &err);
	int status = EXIT_DONE, rc;

	if (fd == -EINTR) { /* nobody asks what it waited for: a user, or a fabric that refused to begin and has said why */
		log_debug("%s", err.text);
		return EXIT_INTERRUPTED;
	}
	if (fd < 0) {
		log_refusal("%s", err.text);
		return EXIT_USAGE;
	}
	evidence_init(&ev);
	rc = read_stream(options, fd, &ev, &err);
	close(fd);
	log_debug("the stream ended: %d; %s its end record", rc, ev.ended ? "with" : "without");
	if (rc != 0)
		status = EXIT_USAGE;
	else if (diagnose(options, &ev, &err) != EXIT_DONE)
		status = EXIT_FAILED;
	if (status == EXIT_USAGE && options->read != NULL)
		log_refusal("%s", err.text);
	else if (err.text[0] != '\0')
		log_error("%s", err.text);
	evidence_fini(&ev);
	return status;
}

/* @return 0 or negative errno with err */
static int
write_cpu(const struct options *options, struct err *err)
{
	struct outfile out;
	int rc = outfile_open_path(&out, options->cpu, err);

	if (rc < 0)
		return rc;
	fprintf(out.file, "{ \"cpu_s\": %.6f }\n", (double)(clock_cpu_ns() - options->times_cpu_ns) / 1e9);
	return outfile_close(&out, 0, err);
}

int
main(int argc, char **argv)
{
	struct options options;
	struct err err = { 0 };
	int status = EXIT_FAILED;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (read_options(&options, argc, argv, &err) == 0)
		status = analyze(&options);
	else
		log_error("%s", err.text);
	if (status == EXIT_DONE && options.cpu != NULL && write_cpu(&options, &err) < 0) {
		log_error("%s", err.text);
		status = EXIT_FAILED;
	}
	options_fini(&options);
	return status;
}
