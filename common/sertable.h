/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization times by frame length, so that the packet path never divides by a rate. */
#pragma once

#include <stdint.h>

#define SERTABLE_FRAMES 10240 /* no frame is that long: 9000 B of payload and 1000 B of headers at most */

struct sertable {
	uint64_t rate_bps;
	uint32_t ps[SERTABLE_FRAMES]; /* [wire bytes] */
};

/* The tables of the rates of one run. Built before the fabric starts, or between windows; immutable afterwards. */
struct sertables {
	struct sertable **tables; /* [count] */
	uint32_t count;
	uint64_t quantum_ps;
};

/* Slowest rate at which the longest frame still fits 32 bits of picoseconds. */
#define SERTABLE_MIN_RATE_BPS 20000000ULL

/* @return the table of a rate, made if it is new; NULL with errno ENOMEM, or ERANGE below SERTABLE_MIN_RATE_BPS */
const struct sertable *sertables_get(struct sertables *tables, uint64_t rate_bps);
void sertables_fini(struct sertables *tables);
