/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): the hash of the ECMP choice. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* @return the CRC of size_bytes at data, initial value and final inversion included */
uint32_t crc32c(const void *data, size_t size_bytes);
