/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules from files that others wrote. A format is a row here and its file: struct import_format. All of them fill a
 * struct program (program.h), of which one module makes the schedule; what cannot be carried out is refused before
 * anything runs, with the place in the file.
 */
#pragma once

#include <stdbool.h>

#include "collectives/schedule.h"

#define IMPORT_MAX_BYTES (1u << 30) /* of one file */
#define IMPORT_CHANNELS 16          /* default for a pair of ranks */
#define IMPORT_MAX_CHANNELS 64
#define IMPORT_ELEM_BYTES 4 /* of formats that are sized */

/* Value, name, the file's symbol. */
#define IMPORT_KINDS(ROW)                                                                                                  \
	ROW(IMPORT_MSCCL, 0, "msccl", msccl)                                                                               \
	ROW(IMPORT_CHAKRA, 1, "chakra", chakra)                                                                            \
	ROW(IMPORT_GOAL, 2, "goal", goal)

enum import_kind { IMPORT_KINDS(ENUM_VALUE) };

/* The scenario's parameters besides the file. */
struct import_options {
	enum import_kind kind;
	const char *path;     /* as it is opened */
	uint64_t count_elems; /* vector of a rank; 0 where the file has the lengths itself */
	uint32_t elem_bytes;
	uint64_t local_bps;            /* at which a rank adds or copies; 0: in no time */
	uint32_t max_channels;         /* of a pair of ranks, where the file has tags; 0: any number */
	const char *groups_path;       /* chakra: process groups; NULL: as the trace has them */
	enum coll_algorithm algorithm; /* chakra: of collectives, which a trace does not spell out */
};

struct import_format {
	const char *kind;
	const char *doc;
	bool sized;  /* lengths are in chunks of a vector, whose length the scenario gives; else in bytes */
	bool stages; /* knows how to give messages places of their own first */
	/*
	 * Reads the file and makes the schedule.
	 * @param staged  every message is put at a place of its own, from which it is taken at the point given by the
	 *                file
	 * @return NULL with err and errno set
	 */
	struct coll_schedule *(*read)(const struct import_options *options, bool staged, struct err *err);
};

#define IMPORT_EXTERN(id, value, name, symbol) extern const struct import_format import_##symbol;
IMPORT_KINDS(IMPORT_EXTERN)

const struct import_format *import_format(enum import_kind kind);

/*
 * The schedule of a file. Where the file names an operation that is known here, it is proved to do it
 * (coll_schedule_check()).
 * @return NULL with err (the place in the file, the value found, a right value) and errno set: EINVAL, E2BIG, ENOMEM,
 *         EPROTO: it does not do that
 */
struct coll_schedule *import_schedule(const struct import_options *options, struct err *err);

/* The whole of a file, NUL-terminated, the caller's to free. @return NULL with err and errno set */
char *import_read(const char *path, size_t *length, struct err *err);

/* A text file as import_read() gives it, without a byte-order mark before it. */
char *import_read_text(const char *path, size_t *length, struct err *err);
