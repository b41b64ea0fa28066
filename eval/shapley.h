/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who regains what of the time that several causes cost together (Shapley, A Value for n-Person Games, 1953). Sets of causes
 * are masks, bit i for cause i; what a set is worth is the time regained without it.
 */
#pragma once

#include <stdint.h>

#define SHAPLEY_MAX 6 /* causes: all 64 sets are run */

/*
 * The mean, over all orders in which causes go, of what each regains when its turn comes. The shares sum to what all are
 * worth together.
 * @param worth   [1 << count] of every set, worth[0] is 0
 * @param count   causes, 1 to SHAPLEY_MAX
 * @param shares  [count] filled in, in the unit of worth
 */
void shapley(const double *worth, uint32_t count, double *shares);
/*
 * Do two ratings order causes alike? Kendall's tau-b (The Treatment of Ties in Ranking Problems, 1945): 1 the same order,
 * -1 the reverse, 0 no relation, or one of them has no order at all.
 * @param a, b  [count]
 */
double kendall_tau(const double *a, const double *b, uint32_t count);
