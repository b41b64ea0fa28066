/* SPDX-License-Identifier: BSD-3-Clause */
/* From bytes to nodes: messages with their lengths in front, first one of GlobalMetadata, then Nodes. */
#include <chakra.pb-c.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/chakra.h"
#include "collectives/import/chakra_wire.h"
#include "collectives/import/room.h"
#include "common/array.h"
#include "common/units.h"

#define MAX_MESSAGE_BYTES (64u << 20)
/* Nodes and dependencies of a file: some, and one for each so many bytes. With chakra_wire.h this bounds memory by its size. */
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
		if (trace->ndeps == PROGRAM_MAX_WAITS)
			return err_set(chakra->err, -E2BIG, "more than %u dependencies", PROGRAM_MAX_WAITS);
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
	if (rc == 0 && trace->nnodes == PROGRAM_MAX_OPS)
		rc = chakra_fail(chakra, rank, &node, "is one too many: a trace has at most %u", PROGRAM_MAX_OPS);
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
			       "dependencies and inputs; split it, or leave out what is there twice",
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
	size_t at = 0;
	int rc = 0;

	for (uint64_t count = 0; at < size && rc == 0; count++) {
		size_t begin = at;
		uint64_t length;

		if (!chakra_varint(bytes, size, &at, &length) || length > size - at || length > MAX_MESSAGE_BYTES)
			return err_set(chakra->err, -EINVAL, "%s: byte %zu: the file ends within a message, or is no trace",
				       chakra->paths[rank], begin);
		if (count > LEAST_NODES + size / BYTES_A_NODE)
			return err_set(
				chakra->err, -EINVAL,
				"%s: byte %zu: more than %zu nodes in %zu B; %u and one for each %u B would be right",
				chakra->paths[rank], begin, LEAST_NODES + size / BYTES_A_NODE, size, LEAST_NODES,
				BYTES_A_NODE);
		if (count != 0)
			rc = read_node(chakra, rank, bytes + at, (size_t)length, begin);
		if (rc == 0 && chakra->traces[rank].ndeps > LEAST_DEPS + size / BYTES_A_DEP)
			return err_set(chakra->err, -EINVAL,
				       "%s: byte %zu: more than %zu dependencies in %zu B; %u and one for each %u B would "
				       "be right",
				       chakra->paths[rank], begin, LEAST_DEPS + size / BYTES_A_DEP, size, LEAST_DEPS,
				       BYTES_A_DEP);
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
