/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's bytes before they are decoded: what means nothing here, such as names, tensors and attributes of other tools, is left
 * out without a copy, and the rest is bounded. With the bound on nodes in chakra_node.c a trace takes less memory than 64 MiB
 * and 40 times its size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAKRA_MAX_USED_BYTES (4u << 20) /* of a node */
#define CHAKRA_MAX_ATTRIBUTES 64u        /* of a node, that mean something */
#define CHAKRA_MAX_ATTRIBUTE_BYTES 4096u

/* Does an attribute of this name mean something? */
typedef bool chakra_is_used(const uint8_t *name, size_t length);

/* A number as protobuf writes it, 7 bits a byte, at *at, which moves behind it. @return whether there is one */
bool chakra_varint(const uint8_t *bytes, size_t size, size_t *at, uint64_t *value);

/*
 * Moves what is used of a node to the front of its bytes.
 * @param used  set: its length
 * @return 0; -EINVAL: it is no message; -E2BIG: more than the limits above
 */
int chakra_keep_used(uint8_t *bytes, size_t size, chakra_is_used *is_used, size_t *used);
