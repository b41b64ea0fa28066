/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a diagnoser is: a row of diag/registry.c. It sees the evidence, which is what real switches and hosts could report,
 * and what is known of the run, and says what it makes of them in a section of the verdict; never truth, scenario or
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
	/* Sets what value says in the diagnoser's options. @return 0, or -EINVAL with err saying what would be right */
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
	size_t options_bytes; /* of what set() writes to and diagnose() reads: zeroed, these are the defaults */
	/*
	 * DIAGNOSER_READS() of the kinds of records that it rests on: what polls, probes, tags and monitors of switches and
	 * hosts tell. Where nothing of them came it is not asked.
	 */
	uint64_t reads;
	/*
	 * @param options  never NULL, if it has any
	 * @param section  zeroed but for by
	 * @return 0 or negative errno with err; what was allocated is freed with the section
	 */
	int (*diagnose)(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
	void (*destroy)(void *own);
	struct diagnoser_writers writers;
};
