/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes bytes to nodes: messages with their lengths in front, first one of GlobalMetadata, then Nodes. */
#include <chakra.pb-c.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectives/import/chakra.h"
#include "collectives/import/program.h"
#include "common/array.h"
#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"

/*
 * A node's bytes before they are decoded: what means nothing here, such as names, tensors and attributes of other
 * tools, is left out without a copy, and the rest is bounded. With the bound on nodes a trace takes less memory than 64
 * MiB and 40 times its size.
 */

#define CHAKRA_MAX_USED_BYTES (4u << 20) /* of a node */
#define CHAKRA_MAX_ATTRIBUTES 64u        /* of a node, that mean something */
#define CHAKRA_MAX_ATTRIBUTE_BYTES 4096u

/* Does an attribute of this name mean something? */
typedef bool chakra_is_used(const uint8_t *name, size_t length);

/* Field numbers of Node, of its inner messages (chakra.proto), and protobuf's wire types. */
enum {
	NODE_ID = 1,
	NODE_TYPE = 3,
	NODE_CONTROL = 4,
	NODE_DATA = 5,
	NODE_DURATION = 7,
	NODE_INPUTS = 8,
	NODE_ATTRIBUTE = 10
};
enum { ATTRIBUTE_NAME = 1, INPUTS_VALUES = 1 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BLOCK = 2, WIRE_FIXED32 = 5 };

/* A field of a message: where it begins, and where its value does. */
struct wire_field {
	uint32_t number, type;
	const uint8_t *begin, *value;
	size_t value_bytes;
};

/* A number as protobuf writes it, 7 bits a byte, at *at, which moves behind it. @return whether there is one */
static bool
chakra_varint(const uint8_t *bytes, size_t size, size_t *at, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 70 && *at < size; shift += 7) {
		uint8_t byte = bytes[(*at)++];

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* @return false: there is no whole field at *at */
static bool
read_field(const uint8_t *bytes, size_t size, size_t *at, struct wire_field *field)
{
	uint64_t key, length = 0;

	field->begin = bytes + *at;
	if (!chakra_varint(bytes, size, at, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
		return false;
	field->number = (uint32_t)(key >> 3);
	field->type = (uint32_t)(key & 7);
	field->value = bytes + *at;
	if (field->type == WIRE_VARINT) {
		if (!chakra_varint(bytes, size, at, &length))
			return false;
		length = (size_t)(bytes + *at - field->value);
		*at -= (size_t)length;
	} else if (field->type == WIRE_BLOCK) {
		if (!chakra_varint(bytes, size, at, &length))
			return false;
		field->value = bytes + *at;
	} else if (field->type == WIRE_FIXED64 || field->type == WIRE_FIXED32) {
		length = field->type == WIRE_FIXED64 ? 8 : 4;
	} else {
		return false;
	}
	if (length > size - *at)
		return false;
	field->value_bytes = (size_t)length;
	*at += (size_t)length;
	return true;
}

/* The last name counts, as of any field that is there twice. */
static bool
is_used_attribute(const struct wire_field *attribute, chakra_is_used *is_used)
{
	struct wire_field field;
	bool used = false;

	for (size_t at = 0; at < attribute->value_bytes;) {
		if (!read_field(attribute->value, attribute->value_bytes, &at, &field))
			return true; /* the decoder refuses it */
		if (field.number == ATTRIBUTE_NAME && field.type == WIRE_BLOCK)
			used = is_used(field.value, field.value_bytes);
	}
	return used;
}

/* @return the last "values" field of a node's inputs, the only part that is used; value_bytes 0: there is none */
static struct wire_field
values_of(const struct wire_field *inputs)
{
	struct wire_field field, values = { .value_bytes = 0 };

	for (size_t at = 0; at < inputs->value_bytes && read_field(inputs->value, inputs->value_bytes, &at, &field);)
		if (field.number == INPUTS_VALUES && field.type == WIRE_BLOCK)
			values = field;
	return values;
}

/*
 * @return whether the field holds anything that is used. One of another type than the schema's is left to the decoder,
 *         which refuses it.
 */
static bool
is_kept(const struct wire_field *field, chakra_is_used *is_used)
{
	switch (field->number) {
	case NODE_ID:
	case NODE_TYPE:
	case NODE_CONTROL:
	case NODE_DATA:
	case NODE_DURATION:
		return true;
	case NODE_INPUTS:
		return field->type != WIRE_BLOCK || values_of(field).value_bytes != 0;
	case NODE_ATTRIBUTE:
		return field->type != WIRE_BLOCK || is_used_attribute(field, is_used);
	default:
		return false;
	}
}

/* Puts a field to *used, without the unused fields of inputs. */
static void
keep_field(uint8_t *bytes, size_t *used, const struct wire_field *field)
{
	const uint8_t *end = field->value + field->value_bytes;
	struct wire_field values;
	uint64_t inner;

	if (field->number != NODE_INPUTS || field->type != WIRE_BLOCK) {
		memmove(bytes + *used, field->begin, (size_t)(end - field->begin));
		*used += (size_t)(end - field->begin);
		return;
	}
	values = values_of(field);
	inner = (uint64_t)(values.value + values.value_bytes - values.begin);
	end = values.begin + inner;
	bytes[(*used)++] = NODE_INPUTS << 3 | WIRE_BLOCK; /* shorter than what it stands for: it moves to the front */
	for (uint64_t left = inner; left > 0x7f; left >>= 7)
		bytes[(*used)++] = (uint8_t)(left | 0x80);
	bytes[(*used)++] = (uint8_t)(inner >> 7 * ((63 - __builtin_clzll(inner)) / 7));
	memmove(bytes + *used, values.begin, (size_t)(end - values.begin));
	*used += (size_t)inner;
}

/*
 * Moves the used fields of a node to the front of its bytes.
 * @param used  set: its length
 * @return 0; -EINVAL: it is no message; -E2BIG: more than the limits above
 */
static int
chakra_keep_used(uint8_t *bytes, size_t size, chakra_is_used *is_used, size_t *used)
{
	uint32_t attributes = 0;

	*used = 0;
	for (size_t at = 0; at < size;) {
		struct wire_field field;
		size_t length;

		if (!read_field(bytes, size, &at, &field))
			return -EINVAL;
		if (!is_kept(&field, is_used))
			continue;
		attributes += field.number == NODE_ATTRIBUTE;
		length = (size_t)(bytes + at - field.begin);
		if (attributes > CHAKRA_MAX_ATTRIBUTES || length > CHAKRA_MAX_USED_BYTES - *used ||
		    (field.number == NODE_ATTRIBUTE && length > CHAKRA_MAX_ATTRIBUTE_BYTES))
			return -E2BIG;
		keep_field(bytes, used, &field);
	}
	return 0;
}

#define ENDING ".et"

/* "NAME.12.et" -> length of "NAME" and 12. @return whether it is one */
static bool
split_name(const char *name, size_t *stem, uint64_t *rank)
{
	size_t length = strlen(name), ending = strlen(ENDING);
	char number[16];
	const char *dot;

	if (length <= ending || strcmp(name + length - ending, ENDING) != 0)
		return false;
	dot = memrchr(name, '.', length - ending);
	if (dot == NULL || dot == name)
		return false;
	if ((size_t)snprintf(number, sizeof(number), "%.*s", (int)(name + length - ending - dot - 1), dot + 1) >=
	    sizeof(number))
		return false;
	*stem = (size_t)(dot - name);
	return number_parse(number, 0, UINT32_MAX, rank);
}

/* The one stem of a folder's traces, or the prefix before ".RANK.et" of a path. @return malloc'd; NULL with err set */
static char *
find_stem(struct chakra *chakra, DIR *folder)
{
	const struct dirent *entry;
	char *stem = NULL;
	uint64_t rank;
	size_t length;

	while ((entry = readdir(folder)) != NULL) {
		if (!split_name(entry->d_name, &length, &rank))
			continue;
		if (stem == NULL) {
			stem = strndup(entry->d_name, length);
		} else if (strlen(stem) != length || strncmp(stem, entry->d_name, length) != 0) {
			err_set(chakra->err, -EINVAL,
				"%s has traces of \"%s\" and of \"%.*s\": select one with PATH/NAME, without .RANK" ENDING,
				chakra->options->path, stem, (int)length, entry->d_name);
			free(stem);
			return NULL;
		}
		if (stem == NULL)
			return NULL;
	}
	if (stem == NULL)
		err_set(chakra->err, -EINVAL, "%s has no NAME.RANK" ENDING, chakra->options->path);
	return stem;
}

static int
list_files(struct chakra *chakra, const char *folder, const char *stem)
{
	uint64_t rank;
	size_t length;

	chakra->paths = calloc(COLL_MAX_RANKS + 1, sizeof(*chakra->paths));
	if (chakra->paths == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r <= COLL_MAX_RANKS; r++) {
		struct stat st;
		char *path;

		if (asprintf(&path, "%s%s%s.%" PRIu32 ENDING, folder, *folder != '\0' ? "/" : "", stem, r) < 0)
			return -ENOMEM;
		if (stat(path, &st) != 0) {
			free(path);
			break;
		}
		chakra->paths[r] = path;
		chakra->ranks = r + 1;
	}
	if (chakra->ranks == 0 && split_name(stem, &length, &rank))
		return err_set(chakra->err, -EINVAL,
			       "%s is the trace of one rank; PATH/NAME, without .RANK" ENDING
			       ", or its folder, would be right",
			       chakra->options->path);
	if (chakra->ranks < 2)
		return err_set(chakra->err, -EINVAL, "%s%s%s.%" PRIu32 ENDING " is missing: a trace is of 2 ranks at least",
			       folder, *folder != '\0' ? "/" : "", stem, chakra->ranks);
	if (chakra->ranks > COLL_MAX_RANKS)
		return err_set(chakra->err, -EINVAL, "%s: more than %d ranks", chakra->options->path, COLL_MAX_RANKS);
	return 0;
}

/* A rank behind a gap would be left out silently. */
static int
check_gap(struct chakra *chakra, DIR *folder, const char *stem)
{
	const struct dirent *entry;
	uint64_t rank;
	size_t length;

	rewinddir(folder);
	while ((entry = readdir(folder)) != NULL)
		if (split_name(entry->d_name, &length, &rank) && strlen(stem) == length &&
		    strncmp(stem, entry->d_name, length) == 0 && rank >= chakra->ranks)
			return err_set(chakra->err, -EINVAL, "%s: there is %s, but no %s.%" PRIu32 ENDING,
				       chakra->options->path, entry->d_name, stem, chakra->ranks);
	return 0;
}

int
chakra_find_files(struct chakra *chakra)
{
	const char *path = chakra->options->path, *slash = strrchr(path, '/');
	DIR *folder = opendir(path);
	char *where = NULL, *stem = NULL;
	int rc = -ENOMEM;

	if (folder != NULL) {
		where = strdup(path);
		stem = find_stem(chakra, folder);
	} else {
		where = slash != NULL ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup("");
		stem = strdup(slash != NULL ? slash + 1 : path);
		if (where != NULL)
			folder = opendir(*where != '\0' ? where : ".");
		if (where != NULL && folder == NULL)
			rc = err_set(chakra->err, -errno, "%s: %s", path, strerror(errno));
	}
	if (chakra->err->text[0] != '\0')
		rc = -EINVAL;
	else if (where != NULL && stem != NULL)
		rc = list_files(chakra, where, stem);
	if (rc == 0)
		rc = check_gap(chakra, folder, stem);
	if (folder != NULL)
		closedir(folder);
	free(where);
	free(stem);
	return rc;
}

/*
 * Process groups: { "NAME": [ranks], ... } of a file, as astra-sim has it, or what PyTorch's traces keep in the inputs of
 * a metadata node: [{"pg_name": "NAME", "ranks": [ranks], ...}, ...], no ranks being all of them.
 */

/* @return the slot of a group, or the free slot where it belongs */
static uint32_t *
slot_of(const struct chakra *chakra, const char *name)
{
	uint64_t hash = DIGEST_INIT;

	for (const char *at = name; *at != '\0'; at++)
		hash = digest_u64(hash, (uint8_t)*at);
	for (;; hash++) {
		uint32_t *slot = &chakra->slots[hash & (chakra->nslots - 1)];

		if (*slot == UINT32_MAX || strcmp(chakra->groups[*slot].name, name) == 0)
			return slot;
	}
}

const struct chakra_group *
chakra_find_group(const struct chakra *chakra, const char *name)
{
	uint32_t slot = *slot_of(chakra, name);

	return slot != UINT32_MAX ? &chakra->groups[slot] : NULL;
}

/* Room for one more, half of all slots free. @return false without memory */
static bool
make_slots(struct chakra *chakra)
{
	size_t nslots = chakra->nslots != 0 ? 2 * chakra->nslots : 64;
	uint32_t *slots;

	if (chakra->ngroups < chakra->nslots / 2)
		return true;
	slots = realloc(chakra->slots, nslots * sizeof(*slots));
	if (slots == NULL)
		return false;
	chakra->slots = slots;
	chakra->nslots = nslots;
	memset(slots, 0xff, nslots * sizeof(*slots));
	for (uint32_t i = 0; i < chakra->ngroups; i++)
		*slot_of(chakra, chakra->groups[i].name) = i;
	return true;
}

int
chakra_add_group(struct chakra *chakra, const struct chakra_group *group)
{
	if (!import_room(&chakra->groups, &chakra->group_room, chakra->ngroups, sizeof(*chakra->groups)) ||
	    !make_slots(chakra))
		return -ENOMEM;
	*slot_of(chakra, group->name) = (uint32_t)chakra->ngroups;
	chakra->groups[chakra->ngroups++] = *group;
	return 0;
}

static int
read_ranks(const struct chakra *chakra, const char *place, const char *name, const json_t *list, uint32_t *ranks)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		json_int_t rank = json_typeof(item) == JSON_INTEGER ? json_integer_value(item) : -1;

		if (rank < 0 || rank >= (json_int_t)chakra->ranks)
			return err_set(chakra->err, -EINVAL,
				       "%s: group \"%s\": member %zu is no rank of the trace, 0 to %" PRIu32, place, name,
				       i + 1, chakra->ranks - 1);
		ranks[i] = (uint32_t)rank;
		for (size_t before = 0; before < i; before++)
			if (ranks[before] == ranks[i])
				return err_set(chakra->err, -EINVAL, "%s: group \"%s\" has rank %" PRIu32 " twice", place,
					       name, ranks[i]);
	}
	return 0;
}

/* Every rank's trace may define a group: they have to agree. */
static int
add_group(struct chakra *chakra, const char *place, const char *name, const json_t *list)
{
	const struct chakra_group *same = chakra_find_group(chakra, name);
	size_t count = json_array_size(list);
	struct chakra_group group = { .nranks = (uint32_t)count };
	int rc;

	if (*name == '\0' || strlen(name) >= sizeof(group.name) || count > chakra->ranks)
		return err_set(chakra->err, -EINVAL, "%s: group \"%.32s\" of %zu ranks; the trace has %" PRIu32, place,
			       name, count, chakra->ranks);
	if (chakra->ngroups == CHAKRA_MAX_GROUPS)
		return err_set(chakra->err, -EINVAL, "%s: more than %d groups", place, CHAKRA_MAX_GROUPS);
	snprintf(group.name, sizeof(group.name), "%s", name);
	group.ranks = calloc(count + 1, sizeof(*group.ranks));
	if (group.ranks == NULL)
		return -ENOMEM;
	rc = read_ranks(chakra, place, name, list, group.ranks);
	if (rc == 0 && same != NULL &&
	    (same->nranks != group.nranks || memcmp(same->ranks, group.ranks, count * sizeof(*group.ranks)) != 0))
		rc = err_set(chakra->err, -EINVAL, "%s: group \"%s\" has other ranks than it had before", place, name);
	if (rc == 0 && same == NULL) {
		rc = chakra_add_group(chakra, &group);
		if (rc == 0)
			return 0;
	}
	free(group.ranks);
	return rc;
}

/*
 * The groups that a metadata node of PyTorch defines in its inputs; an input that is no such list defines none. @return
 * as above
 */
static int
chakra_groups_of_inputs(struct chakra *chakra, const char *values, const char *place)
{
	const char *begins = strstr(values, "[{"), *ends = begins, *next;
	json_t *list;
	int rc = 0;

	while (ends != NULL && (next = strstr(ends + 1, "}]")) != NULL)
		ends = next;
	if (begins == NULL || ends == begins)
		return 0;
	list = json_loadb(begins, (size_t)(ends + 2 - begins), JSON_REJECT_DUPLICATES, NULL);
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		const json_t *name = json_object_get(json_array_get(list, i), "pg_name");
		const json_t *ranks = json_object_get(json_array_get(list, i), "ranks");

		/* A group without ranks is that of all ranks, and need not be kept. */
		if (json_is_string(name) && json_array_size(ranks) != 0)
			rc = add_group(chakra, place, json_string_value(name), ranks);
	}
	json_decref(list);
	return rc;
}

int
chakra_read_groups(struct chakra *chakra)
{
	const char *path = chakra->options->groups_path, *name;
	json_error_t error;
	json_t *root, *list;
	size_t length;
	char *text;
	int rc = 0;

	if (path == NULL)
		return 0;
	text = import_read_text(path, &length, chakra->err);
	if (text == NULL)
		return -errno;
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (root == NULL)
		return err_set(chakra->err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	if (json_typeof(root) != JSON_OBJECT)
		rc = err_set(chakra->err, -EINVAL, "%s: {\"GROUP\": [RANK, ...], ...} would be right", path);
	json_object_foreach(root, name, list) {
		if (rc == 0 && json_array_size(list) == 0)
			rc = err_set(chakra->err, -EINVAL, "%s: group \"%.32s\" has no list of ranks", path, name);
		if (rc == 0)
			rc = add_group(chakra, path, name, list);
	}
	json_decref(root);
	return rc;
}

/* Nodes. */

#define MAX_MESSAGE_BYTES (64u << 20)
/*
 * Nodes and dependencies of a file: a base, and one more for each number of bytes. With the bounds of a node this
 * bounds memory by its size.
 */
#define LEAST_NODES 65536u
#define LEAST_DEPS 65536u
#define BYTES_A_NODE 32u
#define BYTES_A_DEP 8u
#define MAX_US (PROGRAM_MAX_PS / PS_PER_US)

/* Attributes that mean something here, whatever type of whole number they have. */
static const struct {
	const char *name;
	size_t offset;
	uint64_t max;
} numbers[] = {
	{ "comm_type", offsetof(struct chakra_node, comm_type), UINT32_MAX },
	{ "comm_size", offsetof(struct chakra_node, comm_size), PROGRAM_MAX_COUNT },
	{ "comm_src", offsetof(struct chakra_node, comm_src), UINT32_MAX },
	{ "comm_dst", offsetof(struct chakra_node, comm_dst), UINT32_MAX },
	{ "comm_tag", offsetof(struct chakra_node, comm_tag), UINT32_MAX },
	{ "num_ops", offsetof(struct chakra_node, num_ops), INT64_MAX },
	{ "root_rank", offsetof(struct chakra_node, root), UINT32_MAX },
};
/* Names of groups: MLCommons' and its older schema's. */
static const char *const group_names[] = { "pg_name", "comm_group", "process_group" };

static bool
is_used(const uint8_t *name, size_t length)
{
	bool used = length == strlen("is_cpu_op") && memcmp(name, "is_cpu_op", length) == 0;

	for (size_t i = 0; i < ARRAY_LEN(group_names); i++)
		used |= length == strlen(group_names[i]) && memcmp(name, group_names[i], length) == 0;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		used |= length == strlen(numbers[i].name) && memcmp(name, numbers[i].name, length) == 0;
	return used;
}

/* @return whether the attribute is a whole number; *value is UINT64_MAX where it is negative */
static bool
whole_number(const Chakra__Attribute *attribute, uint64_t *value)
{
	int64_t number;

	switch (attribute->value_case) {
	case CHAKRA__ATTRIBUTE__VALUE_UINT32_VAL:
		*value = attribute->uint32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL:
		*value = attribute->uint64_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_FIXED32_VAL:
		*value = attribute->fixed32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_FIXED64_VAL:
		*value = attribute->fixed64_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_INT32_VAL:
		number = attribute->int32_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_INT64_VAL:
		number = attribute->int64_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_SINT32_VAL:
		number = attribute->sint32_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_SINT64_VAL:
		number = attribute->sint64_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_SFIXED32_VAL:
		number = attribute->sfixed32_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_SFIXED64_VAL:
		number = attribute->sfixed64_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL:
		*value = attribute->bool_val;
		return true;
	default:
		return false;
	}
	*value = number < 0 ? UINT64_MAX : (uint64_t)number;
	return true;
}

static int
read_group(const struct chakra *chakra, uint32_t rank, const Chakra__Attribute *attribute, struct chakra_node *node)
{
	uint64_t number;

	if (attribute->value_case == CHAKRA__ATTRIBUTE__VALUE_STRING_VAL) {
		if (strlen(attribute->string_val) >= sizeof(node->group))
			return chakra_fail(chakra, rank, node, "has a group \"%.32s...\"; names have less than %zu bytes",
					   attribute->string_val, sizeof(node->group));
		snprintf(node->group, sizeof(node->group), "%s", attribute->string_val);
		return 0;
	}
	if (!whole_number(attribute, &number))
		return chakra_fail(chakra, rank, node, "has a %s that is neither a text nor a number", attribute->name);
	snprintf(node->group, sizeof(node->group), "%" PRIu64, number);
	return 0;
}

static int
read_attribute(const struct chakra *chakra, uint32_t rank, const Chakra__Attribute *attribute, struct chakra_node *node)
{
	uint64_t value;

	for (size_t i = 0; i < ARRAY_LEN(group_names); i++)
		if (strcmp(attribute->name, group_names[i]) == 0)
			return read_group(chakra, rank, attribute, node);
	if (strcmp(attribute->name, "is_cpu_op") == 0)
		node->cpu = whole_number(attribute, &value) && value != 0;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (strcmp(attribute->name, numbers[i].name) != 0)
			continue;
		if (!whole_number(attribute, &value))
			return chakra_fail(chakra, rank, node, "has a %s that is no whole number", attribute->name);
		if (value > numbers[i].max)
			return chakra_fail(chakra, rank, node, "has a %s that is negative or more than %" PRIu64,
					   attribute->name, numbers[i].max);
		*(uint64_t *)((char *)node + numbers[i].offset) = value;
	}
	return 0;
}

static int
add_deps(struct chakra *chakra, struct chakra_trace *trace, struct chakra_node *node, const uint64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!import_room(&trace->deps, &trace->dep_room, trace->ndeps, sizeof(*trace->deps)))
			return -ENOMEM;
		trace->deps[trace->ndeps++] = ids[i];
		node->ndeps++;
	}
	return 0;
}

static int
add_node(struct chakra *chakra, uint32_t rank, const Chakra__Node *from, uint64_t offset)
{
	struct chakra_trace *trace = &chakra->traces[rank];
	struct chakra_node node = {
		.id = from->id,
		.offset = offset,
		.type = from->type,
		.comm_type = CHAKRA_ABSENT,
		.comm_size = CHAKRA_ABSENT,
		.comm_src = CHAKRA_ABSENT,
		.comm_dst = CHAKRA_ABSENT,
		.first_dep = trace->ndeps,
		.ncontrol = from->n_ctrl_deps,
	};
	char place[PROGRAM_PLACE];
	int rc = 0;

	if (from->duration_micros > MAX_US)
		return chakra_fail(chakra, rank, &node, "takes %" PRIu64 " us; %llu us at most would be right",
				   from->duration_micros, MAX_US);
	node.duration_ps = from->duration_micros * PS_PER_US;
	for (size_t i = 0; i < from->n_attr && rc == 0; i++)
		rc = read_attribute(chakra, rank, from->attr[i], &node);
	if (rc == 0)
		rc = add_deps(chakra, trace, &node, from->ctrl_deps, from->n_ctrl_deps);
	if (rc == 0)
		rc = add_deps(chakra, trace, &node, from->data_deps, from->n_data_deps);
	if (rc == 0 && node.type == CHAKRA_METADATA && from->inputs != NULL) {
		snprintf(place, sizeof(place), "%.160s: node %" PRIu64 " at byte %" PRIu64, chakra->paths[rank], node.id,
			 offset);
		rc = chakra_groups_of_inputs(chakra, from->inputs->values, place);
	}
	if (rc == 0 && !import_room(&trace->nodes, &trace->node_room, trace->nnodes, sizeof(*trace->nodes)))
		rc = -ENOMEM;
	if (rc == 0)
		trace->nodes[trace->nnodes++] = node;
	return rc;
}

static int
read_node(struct chakra *chakra, uint32_t rank, uint8_t *bytes, size_t size, size_t offset)
{
	Chakra__Node *node;
	size_t used;
	int rc = chakra_keep_used(bytes, size, is_used, &used);

	if (rc == -E2BIG)
		return err_set(chakra->err, -EINVAL,
			       "%s: byte %zu: a node of more than %u attributes, one of more than %u B, or %u MiB of "
			       "dependencies and inputs; split it, or remove duplicates",
			       chakra->paths[rank], offset, CHAKRA_MAX_ATTRIBUTES, CHAKRA_MAX_ATTRIBUTE_BYTES,
			       CHAKRA_MAX_USED_BYTES >> 20);
	node = rc == 0 ? chakra__node__unpack(NULL, used, bytes) : NULL;
	if (node == NULL)
		return err_set(chakra->err, -EINVAL, "%s: byte %zu: no Node of Chakra's schema", chakra->paths[rank],
			       offset);
	rc = add_node(chakra, rank, node, offset);
	chakra__node__free_unpacked(node, NULL);
	return rc;
}

static int
read_messages(struct chakra *chakra, uint32_t rank, uint8_t *bytes, size_t size)
{
	const uint64_t most_nodes = min_u64(LEAST_NODES + size / BYTES_A_NODE, PROGRAM_MAX_OPS);
	const uint64_t most_deps = min_u64(LEAST_DEPS + size / BYTES_A_DEP, PROGRAM_MAX_WAITS);
	size_t at = 0;
	int rc = 0;

	for (uint64_t count = 0; at < size && rc == 0; count++) {
		size_t begin = at;
		uint64_t length;

		if (!chakra_varint(bytes, size, &at, &length) || length > size - at)
			return err_set(chakra->err, -EINVAL, "%s: byte %zu: the file ends within a message, or is no trace",
				       chakra->paths[rank], begin);
		if (length > MAX_MESSAGE_BYTES)
			return err_set(chakra->err, -EINVAL,
				       "%s: byte %zu: a message of %" PRIu64 " B; %u MiB at most would be right",
				       chakra->paths[rank], begin, length, MAX_MESSAGE_BYTES >> 20);
		if (count > most_nodes)
			return err_set(chakra->err, -EINVAL,
				       "%s: byte %zu: more than %" PRIu64
				       " nodes in %zu B; %u and one for each %u B, at most %u, would be right",
				       chakra->paths[rank], begin, most_nodes, size, LEAST_NODES, BYTES_A_NODE,
				       PROGRAM_MAX_OPS);
		if (count != 0)
			rc = read_node(chakra, rank, bytes + at, (size_t)length, begin);
		if (rc == 0 && chakra->traces[rank].ndeps > most_deps)
			return err_set(chakra->err, -EINVAL,
				       "%s: byte %zu: more than %" PRIu64
				       " dependencies in %zu B; %u and one for each %u B, at most %u, would be right",
				       chakra->paths[rank], begin, most_deps, size, LEAST_DEPS, BYTES_A_DEP,
				       PROGRAM_MAX_WAITS);
		at += (size_t)length;
	}
	if (rc == 0 && size == 0)
		rc = err_set(chakra->err, -EINVAL, "%s is empty", chakra->paths[rank]);
	return rc;
}

int
chakra_read_trace(struct chakra *chakra, uint32_t rank)
{
	size_t size;
	char *bytes = import_read(chakra->paths[rank], &size, chakra->err);
	int rc;

	if (bytes == NULL)
		return -errno;
	rc = read_messages(chakra, rank, (uint8_t *)bytes, size);
	free(bytes);
	return rc;
}

int
chakra_fail(const struct chakra *chakra, uint32_t rank, const struct chakra_node *node, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(chakra->err, -EINVAL, "%s: node %" PRIu64 " at byte %" PRIu64 " %s", chakra->paths[rank], node->id,
		       node->offset, message);
}
