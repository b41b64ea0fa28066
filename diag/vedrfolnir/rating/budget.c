/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/minmax.h"
#include "diag/vedrfolnir/rating/rating.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 64 /* of bisection: a double has fewer bits */

/* Those that can be measured first, claims of one flow side by side. */
static int
cmp_claim(const void *pa, const void *pb)
{
	const struct budget_claim *a = pa, *b = pb;

	if (a->rest != b->rest)
		return a->rest ? 1 : -1;
	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return ORDER(a->part, b->part);
}

/* Claims that are one. */
struct group {
	uint32_t count;
	double most_ps, waited_ps;
};

static struct group
group_at(const struct budget_claim *claims, uint32_t first, uint32_t end)
{
	struct group group = { 0, 0, 0 };

	for (uint32_t i = first; i < end; i++) {
		if (group.count != 0 && (claims[i].flow == BUDGET_NO_FLOW || claims[i].flow != claims[first].flow))
			break;
		group.most_ps = fmax(group.most_ps, claims[i].most_ps);
		group.waited_ps += claims[i].waited_ps;
		group.count++;
	}
	return group;
}

/* The sum of all shares if a group gets this price for each picosecond that the step waited for it. */
static double
sum_at(const struct budget_claim *claims, uint32_t count, double price)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < count;) {
		struct group group = group_at(claims, i, count);

		sum_ps += fmin(group.most_ps, price * group.waited_ps);
		i += group.count;
	}
	return sum_ps;
}

/* The price at which all together get the lost time. */
static double
find_price(const struct budget_claim *claims, uint32_t count, double lost_ps)
{
	double low = 0, high = 1;

	while (sum_at(claims, count, high) < lost_ps && high < 1e300)
		high *= 2;
	for (int i = 0; i < ROUNDS; i++) {
		double middle = low + (high - low) / 2;

		if (sum_at(claims, count, middle) > lost_ps)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static double
share_out(struct budget_claim *claims, uint32_t count, double lost_ps)
{
	double most_ps = 0, price, given_ps = 0;

	for (uint32_t i = 0; i < count; i++)
		claims[i].waited_ps =
			fmax(claims[i].waited_ps, claims[i].most_ps * 1e-9); /* none is lost for want of a wait */
	for (uint32_t i = 0; i < count;) {
		struct group group = group_at(claims, i, count);

		most_ps += group.most_ps;
		i += group.count;
	}
	price = most_ps > lost_ps ? find_price(claims, count, lost_ps) : INFINITY;
	for (uint32_t i = 0; i < count;) {
		struct group group = group_at(claims, i, count);
		double share_ps = group.waited_ps > 0 ? fmin(group.most_ps, price * group.waited_ps) : 0;

		for (uint32_t g = i; g < i + group.count; g++)
			claims[g].share_ps = share_ps > 0 ? share_ps * (claims[g].waited_ps / group.waited_ps) : 0;
		given_ps += share_ps;
		i += group.count;
	}
	return given_ps;
}

void
budget_split(struct budget_claim *claims, uint32_t count, double lost_ps)
{
	uint32_t measured = 0;
	double left_ps, most_ps = 0;

	if (count > 1)
		qsort(claims, count, sizeof(*claims), cmp_claim);
	while (measured < count && !claims[measured].rest)
		measured++;
	left_ps = fmax(0, lost_ps - share_out(claims, measured, lost_ps));
	for (uint32_t i = measured; i < count; i++)
		most_ps += claims[i].most_ps;
	for (uint32_t i = measured; i < count; i++)
		claims[i].share_ps = most_ps > left_ps ? left_ps * claims[i].most_ps / most_ps : claims[i].most_ps;
}
