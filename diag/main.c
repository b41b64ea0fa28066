/* SPDX-License-Identifier: BSD-3-Clause */
/* analyzer: reads one record stream, writes the verdict and its reports. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/args.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/stdio_guard.h"
#include "diag/collect/evidence.h"
#include "diag/collect/source.h"
#include "diag/collect/stream.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "diag/verdict.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_BAD_INPUT = 2 };

struct options {
	const char *listen, *read, *out;
	bool print;
	int done; /* -1: none */
	struct vedrfolnir_options verdict;
};

static const struct argp_option argp_options[] = {
	{ "listen", 'l', "SOCKET", 0, "Wait for one connection on a unix socket's path, or HOST:PORT", 0 },
	{ "read", 'r', "FILE", 0, "Read a recorded stream", 0 },
	{ "out", 'o', "DIR", 0, "Where verdict.json and the reports go; made if absent", 0 },
	{ "print", 'p', NULL, 0, "Print the report for people as well", 0 },
	{ "done", 'd', "FD", 0, "A descriptor to close when the reports are written, before they are printed", 0 },
	{ "port-share", 's', "receivers|senders", 0,
	  "Weight of a halted port's edge to a congested one: the congested one's share of what the halted one sends "
	  "(receivers, the default), or the halted one's share of what all feed to the congested one (senders)",
	  0 },
	{ 0 },
};

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
	case 'p':
		options->print = true;
		return 0;
	case 'd':
		options->done = (int)args_number(state, "--done", arg, STDERR_FILENO + 1, INT_MAX);
		return 0;
	case 's':
		if (strcmp(arg, "receivers") != 0 && strcmp(arg, "senders") != 0)
			argp_error(state, "--port-share=%s: use receivers or senders", arg);
		options->verdict.share_by_senders = strcmp(arg, "senders") == 0;
		return 0;
	case ARGP_KEY_END:
		if ((options->listen == NULL) == (options->read == NULL))
			argp_error(state, "give either --listen or --read");
		if (options->out == NULL)
			argp_error(state, "give --out");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Diagnoses what slowed a collective, from one record stream and nothing else.",
};

static int
diagnose(const struct options *options, const struct evidence *ev, struct err *err)
{
	struct verdict *verdict = NULL;
	int rc = verdict_build(ev, &options->verdict, &verdict, err);

	if (rc == 0)
		rc = report_write(verdict, options->out, err);
	if (options->done >= 0)
		close(options->done);
	if (rc == 0 && options->print && text_write(verdict, options->out, stdout) != 0)
		rc = err_set(err, -EIO, "cannot print the verdict");
	if (rc == 0 && verdict->incomplete[0] != '\0')
		log_warning("the evidence is incomplete: %s", verdict->incomplete);
	verdict_destroy(verdict);
	return rc;
}

/*
 * A live stream ends when its run does, and whoever wants the run to end wants the verdict on it: the first signal is for
 * those who send.
 */
static int
accept_stream(const char *address, struct err *err)
{
	sigset_t before;
	int fd = source_accept(address, &before, err);

	interrupt_catch(NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

int
main(int argc, char **argv)
{
	struct options options = { .done = -1 };
	struct err err = { 0 };
	struct evidence ev;
	int fd, rc, status = EXIT_DONE;

	stdio_guard();
	argp_err_exit_status = EXIT_BAD_INPUT;
	if (log_open() < 0)
		return EXIT_BAD_INPUT;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	fd = options.read != NULL ? source_open_file(options.read, &err) : accept_stream(options.listen, &err);
	if (fd < 0) {
		log_error("%s", err.text);
		return EXIT_BAD_INPUT;
	}
	evidence_init(&ev);
	rc = stream_read_fd(fd, &ev, &err);
	close(fd);
	log_debug("the stream ended: %d; %s its end record", rc, ev.ended ? "with" : "without");
	if (rc != 0) {
		status = EXIT_BAD_INPUT;
	} else if (diagnose(&options, &ev, &err) != 0) {
		status = EXIT_FAILED;
	}
	if (status != EXIT_DONE)
		log_error("%s", err.text);
	evidence_fini(&ev);
	return status;
}
