/* SPDX-License-Identifier: BSD-3-Clause */
/* The finished runs of rerun.h, in one SQLite file: stored runs are not made again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct rerun_store;

/* A case run again without some of its suspects: when a job was done. */
struct rerun_result {
	const char *family;
	uint32_t index;
	uint64_t without; /* a mask of suspects */
	uint32_t draw;    /* of packets' chance */
	uint32_t job;
	uint64_t time_ns; /* since the job's start; until the end of the run where it was not done */
	bool complete;
};

/*
 * Opens or makes a store.
 * @param of  of what the results are, as one text: " odd, seed 3"
 * @return NULL with err set: it cannot be opened, or has results of something else
 */
struct rerun_store *rerun_store_open(const char *path, const char *of, struct err *err);
void rerun_store_close(struct rerun_store *store);

/* @return 0, or -EIO with err set */
int rerun_store_add(struct rerun_store *store, const struct rerun_result *result, struct err *err);
/* @param result  all up to job is set, the rest is filled in @return whether there is one */
bool rerun_store_find(struct rerun_store *store, struct rerun_result *result);
