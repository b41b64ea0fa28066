/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports a run's results to formats of other tools. A format is a row in export_formats[], and a file. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct export
{
	const char *dir; /* of the run */
	sqlite3 *db;     /* its store; NULL where the format needs none */
	/* Selection of frames, for formats that have frames: */
	const char *port; /* NULL: all */
	uint64_t from_ps, to_ps;
	int64_t sport;      /* UDP source port; -1: any */
	const char *frames; /* one of export_frame_kinds; NULL: all */
};

struct export_format {
	const char *name, *doc;
	bool needs_store;
	bool is_binary;
	bool has_frames; /* it takes --from, --to, --port, --sport and --frames */
	/* Writes one stream; NULL: it writes a folder. @return 0 or negative errno with err set */
	int (*write)(const struct export *export, FILE *to, struct err *err);
	int (*write_folder)(const struct export *export, const char *dir, struct err *err);
};

extern const struct export_format export_formats[]; /* ends with one without a name */

int export_perfetto(const struct export *export, FILE *to, struct err *err);
int export_openmetrics(const struct export *export, FILE *to, struct err *err);
int export_prometheus(const struct export *export, FILE *to, struct err *err);
int export_nccl(const struct export *export, FILE *to, struct err *err);
int export_csv(const struct export *export, const char *dir, struct err *err);
int export_pcapng(const struct export *export, FILE *to, struct err *err);

/* "pfc", "data" ...: @return is there such a kind */
bool export_is_frame_kind(const char *name);
