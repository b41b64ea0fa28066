/* SPDX-License-Identifier: BSD-3-Clause */
/* What a compiler has to agree to of a struct on the wire: where each member begins, and how long the whole is. */
#pragma once

#include <stddef.h>

/* @param at  bytes from the struct's begin  @param ...  further columns of lists of fields */
#define WIRE_AT(type, at, member, ...) _Static_assert(offsetof(struct type, member) == (at), #type "." #member);
#define WIRE_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type);

/*
 * An enumeration on the wire is one list of rows. Its values, its names, its range in checks and its words in scenarios
 * are made from the list:
 *   #define THINGS(ROW) ROW(THING_A, 0, "a", ...) ROW(THING_B, 1, "b", ...)
 * A row begins with identifier, value (from 0 on, without a gap) and name; the list defines the rest.
 */

/* enum thing { THINGS(ENUM_VALUE) }; */
#define ENUM_VALUE(id, value, ...) id = (value),

/* static const char *const names[] = { THINGS(ENUM_NAME) }; */
#define ENUM_NAME(id, value, name, ...) [value] = (name),

/* How many values the list has: an integer constant. */
#define ENUM_COUNT(LIST) (0 LIST(ENUM_ONE))
#define ENUM_ONE(...) +1
