/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A diagnoser is a row of diag/registry.c. It reads the evidence, which real switches and hosts could report, and the
 * known facts of the run, and writes its conclusions to a section of the verdict. It never reads truth, scenario or
 * another diagnoser. To add one: its file, its row, its test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "diag/run/run.h"
#include "diag/section.h"

struct evidence;
struct json_t;
struct text;
struct verdict;

/* An option of the analyzer. */
struct diagnoser_option {
	const char *name; /* "port-share": --port-share=VALUE */
	int key;          /* 's': -s VALUE; a number beyond all letters: none */
	const char *value, *meaning;
	/* Sets the value in the diagnoser's options. @return 0, or -EINVAL with err naming what would be right */
	int (*set)(void *options, const char *value, struct err *err);
};

/* A file of its own in the directory of reports. */
struct diagnoser_file {
	const char *name;
	int (*write)(const struct verdict *v, FILE *to); /* @return 0, -ENOMEM or -EIO */
};

/* How a section is reported beyond its findings; NULL: not at all. Each @return 0, -ENOMEM or -EIO */
struct diagnoser_writers {
	int (*json)(const struct verdict *v, const struct section *section, struct json_t *root); /* keys of verdict.json */
	int (*text)(const struct text *text, const struct section *section); /* paragraphs between findings and evidence */
	const struct diagnoser_file *files;
	uint32_t nfiles;
};

#define DIAGNOSER_READS(kind) (UINT64_C(1) << (kind))

struct diagnoser {
	const char *name;
	const struct diagnoser_option *options;
	uint32_t noptions;
	size_t options_bytes; /* of the options that set() writes and diagnose() reads; zeroed: the defaults */
	/*
	 * DIAGNOSER_READS() of the kinds of records that it rests on: reports of polls, probes, tags and monitors of
	 * switches and hosts. If none of them was received it does not run.
	 */
	uint64_t reads;
	/*
	 * @param options  never NULL, if it has any
	 * @param section  zeroed but for by
	 * @return 0 or negative errno with err; allocated memory is freed with the section
	 */
	int (*diagnose)(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
	void (*destroy)(void *own);
	struct diagnoser_writers writers;
};
