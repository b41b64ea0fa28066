/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "incast": several senders start a flow to one receiver at one instant. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "workload/traffic/generator.h"

struct incast {
	struct generator common;
	int64_t degree, receivers;
	uint64_t period_ps;
};

static const struct cfg_field fields[] = {
	GENERATOR_FIELDS,
	GENERATOR_SETS,
	CFG_FIELD("degree", CFG_INT, offsetof(struct incast, degree), .min = 1, .max = TOPO_MAX_NODES,
		  .doc = "Number of senders that start a flow to a receiver at the same time; they are picked anew each "
			 "time."),
	CFG_FIELD("receivers", CFG_INT, offsetof(struct incast, receivers), .def = "0", .max = TOPO_MAX_NODES,
		  .doc = "Number of receivers, picked anew each time; 0: all"),
	CFG_FIELD("period", CFG_TIME, offsetof(struct incast, period_ps), .def = "0ns",
		  .doc = "Again every period, until the end; 0: once."),
};

static const struct cfg_table table = {
	.path = "generators",
	.doc = "At start, and again every period, degree senders picked at random start a flow each to every receiver, or "
	       "to some picked at random.",
	.list = true,
	.size = sizeof(struct incast),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

/* The senders of one receiver: all others. @return how many */
static uint32_t
senders_of(const struct generator *g, const struct endpoint *dst, struct endpoint *senders)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->from.count; i++)
		if (!endpoint_same(&g->from.ends[i], dst))
			senders[count++] = g->from.ends[i];
	return count;
}

static int
check(const struct incast *incast, struct err *err)
{
	const struct generator *g = &incast->common;

	if (incast->period_ps != 0 && g->until_ps == 0)
		return cfg_fail(&g->where, NULL, err, "until is missing: it would repeat every period without end");
	if (incast->period_ps == 0 && g->until_ps != 0)
		return cfg_fail(&g->where, "until", err, "needs a period");
	return 0;
}

/* Moves number of the ends, picked at random, to their front: Fisher-Yates, as far as needed. */
static struct endpoint
pick(struct endpoint *ends, uint32_t i, uint32_t count, struct prng *prng)
{
	uint32_t at = i + (uint32_t)prng_below(prng, count - i);
	struct endpoint picked = ends[at];

	ends[at] = ends[i];
	return ends[i] = picked;
}

/* One instant at one receiver. @param senders  [count] its own */
static int
aim_once(const struct incast *incast, struct traffic *traffic, const struct endpoint *dst, struct endpoint *senders,
	 uint32_t count, uint64_t now_ps, struct prng *prng, struct err *err)
{
	const struct generator *g = &incast->common;
	int ret = 0;

	if (incast->degree > count)
		return cfg_fail(&g->where, "degree", err, "%u, but %s has %u senders; at most that would be right",
				(uint32_t)incast->degree, traffic->topo->nodes[dst->node].name, count);
	for (uint32_t i = 0; i < (uint32_t)incast->degree && ret == 0; i++) {
		struct endpoint src = pick(senders, i, count, prng);

		ret = traffic_add(traffic, g, &src, dst, now_ps, size_cdf_draw(&g->cdf, prng), err);
	}
	return ret;
}

/* All that goes to one receiver. @param senders  scratch, for all of them */
static int
aim_at(const struct incast *incast, struct traffic *traffic, const struct endpoint *dst, struct endpoint *senders,
       struct err *err)
{
	const struct generator *g = &incast->common;
	uint32_t count = senders_of(g, dst, senders);
	uint64_t now_ps = g->start_ps;
	struct prng prng;
	int ret;

	generator_chance(g, traffic, dst, &prng);
	do {
		ret = aim_once(incast, traffic, dst, senders, count, now_ps, &prng, err);
		now_ps += incast->period_ps;
	} while (ret == 0 && incast->period_ps != 0 && now_ps < g->until_ps);
	return ret;
}

/* Some of the receivers, anew each time. @param senders  scratch, for all of them */
static int
aim_at_some(const struct incast *incast, struct traffic *traffic, struct endpoint *senders, struct err *err)
{
	const struct generator *g = &incast->common;
	struct endpoint *receivers = calloc(g->to.count + 1u, sizeof(*receivers));
	uint64_t now_ps = g->start_ps;
	struct prng prng;
	int ret = receivers != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u receivers", g->to.count);

	if (ret == 0 && incast->receivers > g->to.count)
		ret = cfg_fail(&g->where, "receivers", err, "%u of %u; at most all would be right",
			       (uint32_t)incast->receivers, g->to.count);
	generator_chance(g, traffic, NULL, &prng);
	for (uint32_t i = 0; ret == 0 && i < g->to.count; i++)
		receivers[i] = g->to.ends[i];
	do {
		for (uint32_t i = 0; ret == 0 && i < (uint32_t)incast->receivers; i++) {
			struct endpoint dst = pick(receivers, i, g->to.count, &prng);

			ret = aim_once(incast, traffic, &dst, senders, senders_of(g, &dst, senders), now_ps, &prng, err);
		}
		now_ps += incast->period_ps;
	} while (ret == 0 && incast->period_ps != 0 && now_ps < g->until_ps);
	free(receivers);
	return ret;
}

static int
generate(const struct generator *g, struct traffic *traffic, struct err *err)
{
	const struct incast *incast = (const struct incast *)g;
	struct endpoint *senders = calloc(g->from.count + 1u, sizeof(*senders));
	int ret = senders != NULL ? check(incast, err) : err_set(err, -ENOMEM, "out of memory for %u hosts", g->from.count);

	if (ret == 0 && incast->receivers != 0)
		ret = aim_at_some(incast, traffic, senders, err);
	for (uint32_t i = 0; i < g->to.count && ret == 0 && incast->receivers == 0; i++)
		ret = aim_at(incast, traffic, &g->to.ends[i], senders, err);
	free(senders);
	return ret;
}

const struct generator_ops generator_incast = {
	.kind = "incast",
	.table = &table,
	.generate = generate,
};
