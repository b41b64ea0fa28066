/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader of the packed form of reports, with no code in common with its writer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/record/buffer.h"
#include "common/units.h"

#define EPOCH_PS PS_PER_MS
#define NOW_PS (7 * EPOCH_PS + 123456789)

/* Rows as they were put into a buffer at NOW_PS by one port after the other. */
void unpack(struct recbuf *out, const uint8_t *packed, size_t bytes);
