/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/chakra_wire.h"

#include <errno.h>
#include <string.h>

/* Field numbers of Node, of what is in it (chakra.proto), and protobuf's wire types. */
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

bool
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

/* Of a node's inputs the values are used alone. @return the field of the last ones; of no bytes: there are none */
static struct wire_field
values_of(const struct wire_field *inputs)
{
	struct wire_field field, values = { .value_bytes = 0 };

	for (size_t at = 0; at < inputs->value_bytes && read_field(inputs->value, inputs->value_bytes, &at, &field);)
		if (field.number == INPUTS_VALUES && field.type == WIRE_BLOCK)
			values = field;
	return values;
}

/* Is there something in the field that means something? One that does not have the schema's type is the decoder's to refuse. */
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

/* Puts a field to *used, without what is not used of inputs. */
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

int
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
