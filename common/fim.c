/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/fim.h"

#include <math.h>

void
fim_even(struct fim_link *links, size_t count)
{
	double flows[FIM_MAX_GROUPS] = { 0 }, rate_bps[FIM_MAX_GROUPS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (links[i].rate_bps != 0)
			flows[links[i].group] += links[i].flows;
		rate_bps[links[i].group] += (double)links[i].rate_bps;
	}
	for (size_t i = 0; i < count; i++) {
		uint16_t group = links[i].group;

		links[i].ideal = links[i].rate_bps == 0 ? 0 : flows[group] * ((double)links[i].rate_bps / rate_bps[group]);
	}
}

struct fim
fim_of(const struct fim_link *links, size_t count, uint16_t group)
{
	struct fim fim = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct fim_link *link = &links[i];

		if ((group != FIM_ALL && link->group != group) || link->rate_bps == 0 || link->ideal <= 0)
			continue;
		fim.least = fim.links == 0 || link->flows < fim.least ? link->flows : fim.least;
		fim.most = link->flows > fim.most ? link->flows : fim.most;
		fim.ideal += link->ideal;
		fim.percent += fabs(link->flows - link->ideal) / link->ideal;
		fim.links++;
	}
	if (fim.links != 0) {
		fim.ideal /= fim.links;
		fim.percent *= 100.0 / fim.links;
	}
	return fim;
}

double
fim_expected(uint64_t flows, uint64_t links)
{
	double n = (double)flows, p = 1.0 / (double)links, above, term;
	int sign;

	if (flows == 0 || links < 2)
		return 0;
	/*
	 * De Moivre: E|X - np| = 2 v C(n, v) p^v (1 - p)^(n - v + 1), where v is the first whole number above np. By
	 * logarithms, because its factors leave the range of a double from n of about 1,000 on.
	 */
	above = (double)(flows / links + 1);
	term = log(2 * above) + lgamma_r(n + 1, &sign) - lgamma_r(above + 1, &sign) - lgamma_r(n - above + 1, &sign);
	term += above * log(p) + (n - above + 1) * log1p(-p);
	return 100 * exp(term) / (n * p);
}
