/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree without some of its groups. */
#include <errno.h>
#include <stdlib.h>

#include "common/cfg/cfg_tree.h"

struct copying {
	struct cfg *cfg; /* made */
	const struct cfg_where *without;
	size_t count;
};

static bool
is_left_out(const struct copying *c, const struct cfg_node *node)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->without[i].node == node)
			return true;
	return false;
}

/* What a copied node holds is the new tree's own; those left out go. @param from  the node that it was copied from */
static int
adopt(struct copying *c, const struct cfg_node *from, struct cfg_node *node)
{
	size_t kept = 0;
	int ret = 0;

	node->file = cfg_intern(c->cfg, from->file);
	if (node->file == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < node->nkids; i++) {
		if (is_left_out(c, from->kids[i])) {
			cfg_node_destroy(node->kids[i]);
			continue;
		}
		ret = ret == 0 ? adopt(c, from->kids[i], node->kids[i]) : ret;
		node->kids[kept++] = node->kids[i];
	}
	node->nkids = kept;
	return ret == 0 ? cfg_node_collect_strings(node) : ret;
}

struct cfg *
cfg_copy(const struct cfg *cfg, const struct cfg_where *without, size_t count, struct err *err)
{
	struct copying copying = { calloc(1, sizeof(struct cfg)), without, count };
	struct cfg *made = copying.cfg;

	if (made != NULL && cfg_intern(made, cfg_file(cfg)) != NULL && (made->root = cfg_node_copy(cfg->root)) != NULL &&
	    adopt(&copying, cfg->root, made->root) == 0) {
		made->overrides = cfg->overrides;
		return made;
	}
	if (made != NULL)
		cfg_destroy(made);
	err_set(err, -ENOMEM, "%s: out of memory", cfg_file(cfg));
	errno = ENOMEM;
	return NULL;
}
