/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/traffic/generator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
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
