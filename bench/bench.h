/* SPDX-License-Identifier: BSD-3-Clause */
/* What all benchmarks have in common. */
#pragma once

#define BENCH_MAX_REPEATS 20
