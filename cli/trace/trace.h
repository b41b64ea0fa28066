/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab trace: declarations that its files share. */
#pragma once

#include <argp.h>
#include <jansson.h>

#include "common/wire/drop.h"
#include "operator/tracer/tracer.h"
#include "scenario/scenario.h"
#include "topo/advise.h"

#define TRACE_MAX_HOSTS 1024
#define TRACE_MAX_FILES 256

struct trace_options {
	struct scenario_options scenario;
	const char *paths[1 + TRACE_MAX_FILES]; /* the scenario, or a run's folder; with --merge, the files to be merged */
	size_t npaths;
	const char *hosts, *job, *serve, *sockets, *out, *connections;
	struct tracer_config tracer;
	uint64_t at_ps;  /* TIME_NEVER: before all faults */
	uint64_t rtt_ps; /* TIME_NEVER: the scenario's */
	uint64_t for_ps, timeout_ps;
	uint32_t greeting_rtts;         /* UINT32_MAX: the scenario's */
	uint32_t partition, partitions; /* --partition, from 1 */
	bool merge, json, show_paths, show_links;
};

extern const char *const trace_drop_names[REC_DROP_REASONS]; /* as files and lists have them */
extern const struct argp trace_argp;                         /* its input is a struct trace_options */

/* The final knowledge, for display. */
struct trace_view {
	const struct scenario *scenario;
	const struct trace_options *options;
	const struct tracer_result *result;
	struct topo_load *load; /* its metric is taken by layer */
	bool measured;          /* it was traced now, and not merged: times and messages mean something */
};

void trace_print(const struct trace_view *view);
/* @return NULL: out of memory */
json_t *trace_json(const struct trace_view *view);

/*
 * Merges the files of the tracer's instances (IV-B). Files that cannot be of this scenario are refused.
 * @return 0 or negative errno with err set: the file and its fault
 */
int trace_merge(const struct topo *topo, const char *const *files, size_t count, struct tracer_result *result,
		struct err *err);

/* Runs --advise, which is no longer among the arguments. @return an exit code */
int trace_advise(int argc, char **argv);
