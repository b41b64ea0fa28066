/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/traffic/generator.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/prng.h"
#include "common/units.h"

static int make_sizes(struct generator *generator, const struct cfg *cfg, struct err *err);

int
generator_init(struct generator *g, const char *kind, const struct cfg *cfg, const struct topo *topo, struct err *err)
{
	bool sets = g->src.count != 0 || g->dst.count != 0;
	int ret = 0;

	if (g->name == NULL)
		g->name = kind;
	if (sets && (g->src.count == 0 || g->dst.count == 0 || g->hosts.count != 0))
		return cfg_fail(&g->where, NULL, err, "found %s; hosts alone, or src and dst, would be right",
				g->hosts.count != 0 ? "hosts beside src or dst" : "one of src and dst");
	if (g->until_ps != 0 && g->until_ps <= g->start_ps)
		return cfg_fail(&g->where, "until", err, "%llu ns is not after its start at %llu ns",
				(unsigned long long)(g->until_ps / PS_PER_NS),
				(unsigned long long)(g->start_ps / PS_PER_NS));
	ret = endpoint_list(topo, sets ? &g->src : &g->hosts, &g->where, sets ? "src" : "hosts", &g->from.ends,
			    &g->from.count, err);
	if (ret == 0)
		ret = endpoint_list(topo, sets ? &g->dst : &g->hosts, &g->where, sets ? "dst" : "hosts", &g->to.ends,
				    &g->to.count, err);
	if (ret == 0 && g->to.count == 1 && g->from.count == 1 && endpoint_same(g->from.ends, g->to.ends))
		ret = cfg_fail(&g->where, sets ? "dst" : "hosts", err, "\"%s\" alone; a host sends to others, name more",
			       topo->nodes[g->to.ends->node].name);
	return ret == 0 ? make_sizes(g, cfg, err) : ret;
}

void
generator_fini(struct generator *g)
{
	free(g->from.ends);
	free(g->to.ends);
	size_cdf_fini(&g->cdf);
}

static int
make_sizes(struct generator *g, const struct cfg *cfg, struct err *err)
{
	int given = (g->sizes != 0) + (g->sizes_file != NULL) + (g->bytes != 0);
	char *path;
	int ret;

	if (given != 1)
		return cfg_fail(&g->where, NULL, err, "found %s of sizes, sizes_file and bytes; exactly one would be right",
				given == 0 ? "none" : "several");
	if (g->bytes != 0)
		size_cdf_fixed(&g->cdf, g->fixed, g->bytes);
	else if (g->sizes != 0)
		g->cdf = traffic_sizes_cdf(g->sizes);
	if (g->sizes_file == NULL)
		return 0;
	path = cfg_resolve(cfg, g->sizes_file);
	if (path == NULL)
		return err_set(err, -ENOMEM, "out of memory for %s", g->sizes_file);
	ret = size_cdf_read(&g->cdf, path, g->sizes_file, err);
	free(path);
	return ret;
}

static uint64_t
digest_text(uint64_t digest, const char *text)
{
	for (; *text != '\0'; text++)
		digest = digest_u64(digest, (unsigned char)*text);
	return digest_u64(digest, 256);
}

void
generator_chance(const struct generator *g, const struct traffic *traffic, const struct endpoint *end, struct prng *prng)
{
	uint64_t stream = digest_text(digest_u64(DIGEST_INIT, (uint64_t)g->seed), g->name);

	if (end != NULL)
		stream = digest_u64(digest_text(stream, traffic->topo->nodes[end->node].name), end->nic);
	prng_init(prng, traffic->seed, stream);
}

/* Poisson arrivals, of kinds that are given by a load. */

#define LOAD_ONE 1000000000u /* loads count in 1e-9 */

static uint64_t
nic_rate(const struct traffic *traffic, const struct endpoint *at)
{
	return topo_port_of(traffic->topo, at->node, at->nic)->rate_bps;
}

int
arrivals_check(const struct arrivals_cfg *arrivals, const struct generator *g, const struct traffic *traffic,
	       struct err *err)
{
	if ((arrivals->load > 0) == (arrivals->rate_bps != 0))
		return cfg_fail(&g->where, NULL, err, "found %s; exactly one of load and rate, above 0, would be right",
				arrivals->load > 0 ? "both" : "neither");
	if (arrivals->rate_bps == 0 && arrivals->load * LOAD_ONE < 1)
		return cfg_fail(&g->where, "load", err, "%g is next to nothing; 1e-9 and more would be right",
				arrivals->load);
	if (g->until_ps == 0)
		return cfg_fail(&g->where, NULL, err, "until is missing: flows would have no end");
	for (uint32_t i = 0; i < g->from.count; i++) {
		uint64_t most_bps = nic_rate(traffic, &g->from.ends[i]);
		char asked[32], most[32];

		if (arrivals->rate_bps <= most_bps)
			continue;
		return cfg_fail(&g->where, "rate", err, "%s is more than a sender's NIC has; at most %s would be right",
				units_format_rate(arrivals->rate_bps, asked, sizeof(asked)),
				units_format_rate(most_bps, most, sizeof(most)));
	}
	return 0;
}

/* The mean time between two flows of a sender. @return 2^-EXPONENTIAL_MEAN_BITS ps */
static uint64_t
arrivals_gap(const struct arrivals_cfg *arrivals, const struct generator *g, uint64_t rate_bps)
{
	unsigned __int128 bit_ps = (unsigned __int128)size_cdf_mean(&g->cdf) * 8 * PS_PER_S; /* in 1/CDF_MEAN_ONE */
	unsigned __int128 share = LOAD_ONE, gap;

	_Static_assert(CDF_MEAN_ONE == 1 << 16 && EXPONENTIAL_MEAN_BITS == 20, "the factor below is 2^(20 - 16)");
	if (arrivals->rate_bps != 0)
		rate_bps = arrivals->rate_bps;
	else
		share = (uint64_t)llround(arrivals->load * LOAD_ONE);
	gap = bit_ps * 16 * LOAD_ONE / (rate_bps * share);
	return gap < UINT64_MAX ? (uint64_t)gap : UINT64_MAX;
}

/* @return one of them that is not src */
static const struct endpoint *
pick(const struct endpoints *to, const struct endpoint *src, struct prng *prng)
{
	uint32_t self = to->count, at;

	for (uint32_t i = 0; i < to->count && self == to->count; i++)
		if (endpoint_same(&to->ends[i], src))
			self = i;
	at = (uint32_t)prng_below(prng, self < to->count ? to->count - 1 : to->count);
	return &to->ends[at >= self ? at + 1 : at];
}

int
arrivals_make(const struct arrivals_cfg *arrivals, const struct generator *g, struct traffic *traffic,
	      const struct endpoint *src, const struct endpoints *to, struct err *err)
{
	uint64_t gap = arrivals_gap(arrivals, g, nic_rate(traffic, src)), now_ps = g->start_ps;
	struct prng prng;
	int ret = 0;

	generator_chance(g, traffic, src, &prng);
	for (now_ps += exponential_ps(&prng, gap); now_ps < g->until_ps && ret == 0; now_ps += exponential_ps(&prng, gap)) {
		uint64_t bytes = size_cdf_draw(&g->cdf, &prng);

		ret = traffic_add(traffic, g, src, pick(to, src, &prng), now_ps, bytes, err);
	}
	return ret;
}
