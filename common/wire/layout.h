/* SPDX-License-Identifier: BSD-3-Clause */
/* What a compiler has to agree to of a struct on the wire: where each member begins, and how long the whole is. */
#pragma once

#include <stddef.h>

/* @param at  bytes from the struct's begin  @param ...  what lists of fields say besides */
#define WIRE_AT(type, at, member, ...) _Static_assert(offsetof(struct type, member) == (at), #type "." #member);
#define WIRE_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type);
