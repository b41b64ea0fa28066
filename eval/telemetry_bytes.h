/* SPDX-License-Identifier: BSD-3-Clause */
/* What a system's records took of the analyzer's socket. */
#pragma once

#include <stdint.h>

#include <jansson.h>

/*
 * @param verdict  verdict.json
 * @param kinds    bits by enum rec_type, as struct system_row has them
 * @return bytes of the records that crossed the socket and are of these kinds, as they were packed
 */
int64_t telemetry_bytes(const json_t *verdict, uint64_t kinds);
