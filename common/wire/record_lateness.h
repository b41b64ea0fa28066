/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of how late the machine was that runs a fabric in real time: its packet threads and hosts with their own kernel waited
 * for a processor, windows opened late. Reported unasked, of all of the run's time; in virtual time there are none.
 */
#pragma once

#include <stdint.h>

#include "common/wire/enum.h"
#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

/*
 * A thread that runs the fabric's windows; the processes of a host with its own kernel; the fabric's windows.
 * Value, number, name.
 */
#define REC_LATENESS_KINDS(ROW)                                                                                            \
	ROW(REC_LATENESS_LCORE, 0, "lcore")                                                                                \
	ROW(REC_LATENESS_HOST, 1, "host")                                                                                  \
	ROW(REC_LATENESS_WINDOWS, 2, "windows")

enum rec_lateness_kind { REC_LATENESS_KINDS(ENUM_VALUE) };

/*
 * hdr.node: the host; of an lcore or of windows, a node that this program runs. The kernel counts a wait for a processor when it
 * ends: late_ps of [from_ps, to_ps) may have begun before from_ps, by late_ps at most.
 */
struct rec_lateness {
	struct rec_hdr hdr;
	uint32_t kind;     /* enum rec_lateness_kind */
	uint32_t lcore;    /* of its program; REC_NONE: of no lcore */
	uint32_t part;     /* of the fabric, from 0 */
	uint32_t measured; /* 0: nobody knows how late it was in that time */
	uint64_t from_ps, to_ps;
	uint64_t
		late_ps; /* waited for a processor, by all tasks together; of windows: the time in which the fabric was behind */
	uint64_t most_ps;               /* of windows: how late one opened; else 0 */
	uint32_t windows, late_windows; /* opened, and of these late ones; else 0 */
};

#define REC_LATENESS_FIELDS(F, T)                                                                                          \
	F(T, 24, kind, ENUM(REC_LATENESS_KINDS))                                                                           \
	F(T, 28, lcore, ANY)                                                                                               \
	F(T, 32, part, ANY)                                                                                                \
	F(T, 36, measured, FLAG)                                                                                           \
	F(T, 40, from_ps, PAST)                                                                                            \
	F(T, 48, to_ps, UNTIL)                                                                                             \
	F(T, 56, late_ps, TIME)                                                                                            \
	F(T, 64, most_ps, TIME)                                                                                            \
	F(T, 72, windows, ANY)                                                                                             \
	F(T, 76, late_windows, ANY)
#define REC_LATENESS_KEY(K, T)

REC_LATENESS_FIELDS(WIRE_AT, rec_lateness)
WIRE_SIZE(rec_lateness, 80)
