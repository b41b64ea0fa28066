/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/msccl_xml.h"

#include <assert.h>
#include <errno.h>
#include <expat.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/program.h"
#include "collectives/schedule.h"
#include "common/array.h"
#include "common/units.h"

#define TYPE_ROW(id, name, receives, reduces, sends, local) [id] = { name, receives, reduces, sends, local },
const struct msccl_type_row msccl_types[] = { MSCCL_TYPES(TYPE_ROW) };

static const char *const buffer_names[] = { "i", "o", "s" };
static const char *const type_names[] = {
#define TYPE_NAME(id, name, receives, reduces, sends, local) [id] = name,
	MSCCL_TYPES(TYPE_NAME)
};

/* One attribute: a whole number from min to max, a word of words, or, with neither, a text. */
struct attribute {
	const char *name;
	size_t offset;
	int64_t min, max;
	const char *const *words;
	size_t nwords;
	bool text, optional;
	int64_t def; /* of an optional one */
};

struct element {
	const char *name;
	const struct attribute *attributes;
	size_t nattributes;
};

#define NUMBER(struct_, field, key, min_, max_)                                                                            \
	{                                                                                                                  \
		.name = key, .offset = offsetof(struct_, field), .min = min_, .max = max_                                  \
	}
#define WORD(struct_, field, key, words_)                                                                                  \
	{                                                                                                                  \
		.name = key, .offset = offsetof(struct_, field), .words = words_, .nwords = ARRAY_LEN(words_)              \
	}
#define TEXT(struct_, field, key)                                                                                          \
	{                                                                                                                  \
		.name = key, .offset = offsetof(struct_, field), .text = true                                              \
	}
#define IGNORED SIZE_MAX

/*
 * Attributes about copies within a GPU have no effect on the network: proto, nchannels, nthreadblocks, maxcount, redop.
 */
static const struct attribute algo_attributes[] = {
	TEXT(struct msccl_algo, name, "name"),
	TEXT(struct msccl_algo, coll, "coll"),
	NUMBER(struct msccl_algo, nchunksperloop, "nchunksperloop", 1, MSCCL_MAX_CHUNKS),
	NUMBER(struct msccl_algo, ngpus, "ngpus", 2, COLL_MAX_RANKS),
	NUMBER(struct msccl_algo, inplace, "inplace", 0, 1),
	{ "outofplace", offsetof(struct msccl_algo, outofplace), 0, 1, NULL, 0, false, true, 0 },
	{ "minBytes", offsetof(struct msccl_algo, min_bytes), 0, INT64_MAX, NULL, 0, false, true, 0 },
	{ "maxBytes", offsetof(struct msccl_algo, max_bytes), 0, INT64_MAX, NULL, 0, false, true, 0 },
	{ .name = "proto", .offset = IGNORED, .optional = true },
	{ .name = "nchannels", .offset = IGNORED, .optional = true },
	{ .name = "nthreadblocks", .offset = IGNORED, .optional = true },
	{ .name = "maxcount", .offset = IGNORED, .optional = true },
	{ .name = "redop", .offset = IGNORED, .optional = true },
};

static const struct attribute gpu_attributes[] = {
	NUMBER(struct msccl_gpu, id, "id", 0, COLL_MAX_RANKS - 1),
	NUMBER(struct msccl_gpu, chunks[MSCCL_INPUT], "i_chunks", 0, MSCCL_MAX_CHUNKS),
	NUMBER(struct msccl_gpu, chunks[MSCCL_OUTPUT], "o_chunks", 0, MSCCL_MAX_CHUNKS),
	NUMBER(struct msccl_gpu, chunks[MSCCL_SCRATCH], "s_chunks", 0, MSCCL_MAX_CHUNKS),
};

static const struct attribute block_attributes[] = {
	NUMBER(struct msccl_block, id, "id", 0, MSCCL_MAX_BLOCKS - 1),
	NUMBER(struct msccl_block, send, "send", -1, COLL_MAX_RANKS - 1),
	NUMBER(struct msccl_block, recv, "recv", -1, COLL_MAX_RANKS - 1),
	NUMBER(struct msccl_block, chan, "chan", 0, UINT16_MAX),
};

static const struct attribute step_attributes[] = {
	NUMBER(struct msccl_step, s, "s", 0, INT32_MAX),
	WORD(struct msccl_step, type, "type", type_names),
	WORD(struct msccl_step, srcbuf, "srcbuf", buffer_names),
	NUMBER(struct msccl_step, srcoff, "srcoff", -1, MSCCL_MAX_CHUNKS),
	WORD(struct msccl_step, dstbuf, "dstbuf", buffer_names),
	NUMBER(struct msccl_step, dstoff, "dstoff", -1, MSCCL_MAX_CHUNKS),
	NUMBER(struct msccl_step, cnt, "cnt", 0, MSCCL_MAX_CHUNKS),
	NUMBER(struct msccl_step, depid, "depid", -1, MSCCL_MAX_BLOCKS - 1),
	NUMBER(struct msccl_step, deps, "deps", -1, INT32_MAX),
	NUMBER(struct msccl_step, hasdep, "hasdep", 0, 1),
};

static const struct element elements[] = {
	/* by depth: each stands within the one before */
	{ "algo", algo_attributes, ARRAY_LEN(algo_attributes) },
	{ "gpu", gpu_attributes, ARRAY_LEN(gpu_attributes) },
	{ "tb", block_attributes, ARRAY_LEN(block_attributes) },
	{ "step", step_attributes, ARRAY_LEN(step_attributes) },
};

struct reader {
	XML_Parser parser;
	const char *path;
	struct msccl_algo *algo;
	size_t depth;
	size_t gpu_room, block_room, step_room;
	struct err *err;
	int rc; /* of the first failure */
};

static int
line_of(const struct reader *reader)
{
	return (int)XML_GetCurrentLineNumber(reader->parser); /* of IMPORT_MAX_BYTES at most */
}

static void
stop(struct reader *reader, int rc)
{
	reader->rc = rc;
	XML_StopParser(reader->parser, XML_FALSE);
}

static void list_words(const struct attribute *attribute, char *buf, size_t cap);

static int
refuse_value(const struct reader *reader, const char *element, const struct attribute *attribute, const char *value)
{
	char right[128];

	if (attribute->words != NULL)
		list_words(attribute, right, sizeof(right));
	else if (attribute->text)
		snprintf(right, sizeof(right), "a text of less than %d bytes", MSCCL_NAME);
	else
		snprintf(right, sizeof(right), "a number from %" PRId64 " to %" PRId64, attribute->min, attribute->max);
	return err_set(reader->err, -EINVAL, "%s:%d: %s.%s: found \"%.64s\"; %s would be right", reader->path,
		       line_of(reader), element, attribute->name, value, right);
}

static void
list_words(const struct attribute *attribute, char *buf, size_t cap)
{
	size_t used = 0;

	for (size_t i = 0; i < attribute->nwords; i++) {
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", i != 0 ? ", " : "one of ", attribute->words[i]);
		assert(used < cap);
	}
}

static bool
read_number(const char *text, int64_t min, int64_t max, int64_t *value)
{
	uint64_t magnitude;

	if (strcmp(text, "-1") == 0 && min < 0) {
		*value = -1;
		return true;
	}
	if (!number_parse(text, min > 0 ? (uint64_t)min : 0, (uint64_t)max, &magnitude))
		return false;
	*value = (int64_t)magnitude;
	return true;
}

static bool
read_word(const struct attribute *attribute, const char *text, int64_t *value)
{
	for (size_t i = 0; i < attribute->nwords; i++) {
		if (strcmp(attribute->words[i], text) == 0) {
			*value = (int64_t)i;
			return true;
		}
	}
	return false;
}

static int
bind_attribute(const struct reader *reader, const char *element, const struct attribute *attribute, const char *value,
	       void *out)
{
	void *field;
	bool good;

	if (attribute->offset == IGNORED)
		return 0;
	field = (char *)out + attribute->offset;
	if (attribute->text) {
		good = strlen(value) < MSCCL_NAME;
		if (good)
			strcpy(field, value);
	} else {
		good = attribute->words != NULL ? read_word(attribute, value, field)
						: read_number(value, attribute->min, attribute->max, field);
	}
	return good ? 0 : refuse_value(reader, element, attribute, value);
}

/* Checks that every required attribute is there, and no unknown one. expat refuses those that stand twice. */
static int
bind_element(const struct reader *reader, const struct element *element, const char **given, void *out)
{
	int rc = 0;

	for (size_t g = 0; given[g] != NULL; g += 2) {
		bool known = false;

		for (size_t i = 0; i < element->nattributes; i++)
			known |= strcmp(element->attributes[i].name, given[g]) == 0;
		if (!known)
			return err_set(reader->err, -EINVAL, "%s:%d: %s has an attribute \"%.64s\" that is unknown here",
				       reader->path, line_of(reader), element->name, given[g]);
	}
	for (size_t i = 0; i < element->nattributes && rc == 0; i++) {
		const struct attribute *attribute = &element->attributes[i];
		size_t g = 0;

		while (given[g] != NULL && strcmp(given[g], attribute->name) != 0)
			g += 2;
		if (given[g] != NULL)
			rc = bind_attribute(reader, element->name, attribute, given[g + 1], out);
		else if (!attribute->optional)
			rc = err_set(reader->err, -EINVAL, "%s:%d: %s has no attribute \"%s\"", reader->path,
				     line_of(reader), element->name, attribute->name);
		else if (attribute->offset != IGNORED)
			*(int64_t *)((char *)out + attribute->offset) = attribute->def;
	}
	return rc;
}

/* Room for one more. @return it, zeroed, or NULL without memory */
static void *
append(void *array, size_t *cap, size_t *count, size_t elem_bytes)
{
	if (!import_room(array, cap, *count, elem_bytes))
		return NULL;
	return memset(*(char **)array + (*count)++ * elem_bytes, 0, elem_bytes);
}

static int
add_gpu(struct reader *reader, const char **given)
{
	struct msccl_algo *algo = reader->algo;
	struct msccl_gpu *gpu = append(&algo->gpus, &reader->gpu_room, &algo->ngpus_read, sizeof(*gpu));

	if (gpu == NULL)
		return -ENOMEM;
	gpu->line = line_of(reader);
	gpu->first_block = algo->nblocks;
	return bind_element(reader, &elements[1], given, gpu);
}

static int
add_block(struct reader *reader, const char **given)
{
	struct msccl_algo *algo = reader->algo;
	struct msccl_block *block = append(&algo->blocks, &reader->block_room, &algo->nblocks, sizeof(*block));

	if (block == NULL)
		return -ENOMEM;
	algo->gpus[algo->ngpus_read - 1].nblocks++;
	block->line = line_of(reader);
	block->first_step = algo->nsteps;
	return bind_element(reader, &elements[2], given, block);
}

static int
add_step(struct reader *reader, const char **given)
{
	struct msccl_algo *algo = reader->algo;
	struct msccl_step *step = append(&algo->steps, &reader->step_room, &algo->nsteps, sizeof(*step));

	if (step == NULL)
		return -ENOMEM;
	algo->blocks[algo->nblocks - 1].nsteps++;
	step->line = line_of(reader);
	return bind_element(reader, &elements[3], given, step);
}

static void
element_begins(void *arg, const char *name, const char **given)
{
	struct reader *reader = arg;
	int rc;

	assert(reader->rc == 0); /* a parser that is stopped begins no element */
	if (reader->depth == ARRAY_LEN(elements) || strcmp(name, elements[reader->depth].name) != 0) {
		rc = err_set(reader->err, -EINVAL, "%s:%d: found <%.64s>; %s would be right", reader->path, line_of(reader),
			     name,
			     reader->depth == 0                    ? "<algo>"
			     : reader->depth == 1                  ? "<gpu>"
			     : reader->depth == 2                  ? "<tb>"
			     : reader->depth < ARRAY_LEN(elements) ? "<step>"
								   : "nothing within a step");
	} else if (reader->depth == 0) {
		reader->algo->line = line_of(reader);
		rc = bind_element(reader, &elements[0], given, reader->algo);
	} else {
		rc = (reader->depth == 1 ? add_gpu : reader->depth == 2 ? add_block : add_step)(reader, given);
	}
	reader->depth++;
	if (rc != 0)
		stop(reader, rc);
}

static void
element_ends(void *arg, const char *name)
{
	((struct reader *)arg)->depth--;
}

int
msccl_parse(const char *text, size_t length, const char *path, struct msccl_algo *algo, struct err *err)
{
	struct reader reader = { .parser = XML_ParserCreate(NULL), .path = path, .algo = algo, .err = err };
	enum XML_Status status;

	*algo = (struct msccl_algo){ 0 };
	assert(length <= INT_MAX);
	if (reader.parser == NULL)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	XML_SetUserData(reader.parser, &reader);
	XML_SetElementHandler(reader.parser, element_begins, element_ends);
	status = XML_Parse(reader.parser, text, (int)length, XML_TRUE);
	if (reader.rc == -ENOMEM)
		err_set(err, -ENOMEM, "%s: out of memory", path);
	else if (reader.rc == 0 && status != XML_STATUS_OK)
		reader.rc = err_set(err, -EINVAL, "%s:%d: no XML: %s", path, line_of(&reader),
				    XML_ErrorString(XML_GetErrorCode(reader.parser)));
	XML_ParserFree(reader.parser);
	return reader.rc;
}

void
msccl_fini(struct msccl_algo *algo)
{
	free(algo->gpus);
	free(algo->blocks);
	free(algo->steps);
}
