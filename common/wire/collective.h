/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations and algorithms of collectives: in records (struct rec_collective). */
#pragma once

enum rec_algorithm { REC_RING, REC_HALVING_DOUBLING };
enum rec_op { REC_ALLGATHER, REC_REDUCESCATTER, REC_ALLREDUCE };
