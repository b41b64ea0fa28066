/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that all structs on the wire share: layout checks, lists of values, ids of nodes, ports and flows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Assert a member's offset and a struct's size.
 * @param at   bytes from the struct's begin
 * @param ...  further columns of lists of fields, ignored
 */
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

/* Ids of nodes, ports and flows in records, and in data that is not written yet. */

#define REC_NONE UINT32_MAX /* no node */
#define REC_NO_PORT UINT16_MAX
#define REC_NAME_LEN 32

/* A flow as headers show it. The protocol is UDP. */
struct rec_tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint32_t reserved;
};

WIRE_AT(rec_tuple, 0, src_ip)
WIRE_AT(rec_tuple, 4, dst_ip)
WIRE_AT(rec_tuple, 8, sport)
WIRE_AT(rec_tuple, 10, dport)
WIRE_AT(rec_tuple, 12, reserved)
WIRE_SIZE(rec_tuple, 16)
