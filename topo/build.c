/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of topology kinds. */
#include "topo/build.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "topo/builder.h"
#include "topo/check.h"
#include "topo/pins.h"

static const struct topo_generator *const generators[] = {
	&topo_explicit, &topo_dual_tor, &topo_fat_tree, &topo_leaf_spine, &topo_rail, &topo_ns3,
};
#define NGENERATORS ARRAY_LEN(generators)

struct kind {
	struct cfg_where where;
	const char *kind;
};

static const struct cfg_field kind_fields[] = {
	{ "kind", CFG_STRING, offsetof(struct kind, kind), "", 0, 0, NULL, "What makes the topology." },
};

static const struct cfg_table kind_table = {
	.path = "topology",
	.doc = "The network.",
	.size = sizeof(struct kind),
	.fields = kind_fields,
	.nfields = 1,
};

static const struct topo_generator *
find_generator(const struct cfg *cfg, struct kind *kind, struct err *err)
{
	char all[256] = "";

	if (cfg_bind(cfg, &kind_table, kind, err) != 0)
		return NULL;
	for (size_t i = 0; i < NGENERATORS; i++) {
		if (kind->kind != NULL && strcmp(generators[i]->kind, kind->kind) == 0)
			return generators[i];
		strcat(all, i == 0 ? "" : ", ");
		strcat(all, generators[i]->kind);
	}
	if (kind->where.node == NULL)
		cfg_fail(&kind->where, "topology", err, "is missing; a group with kind = one of %s would be right", all);
	else if (kind->kind == NULL)
		cfg_fail(&kind->where, NULL, err, "kind is missing; one of %s would be right", all);
	else
		cfg_fail(&kind->where, "kind", err, "found \"%s\"; one of %s would be right", kind->kind, all);
	return NULL;
}

int
topo_build(const struct cfg *cfg, struct topo **topo, struct err *err)
{
	const struct topo_generator *generator;
	struct builder builder;
	struct kind kind;
	int rc;

	*topo = NULL;
	generator = find_generator(cfg, &kind, err);
	if (generator == NULL)
		return -EINVAL;
	rc = builder_init(&builder, &kind.where, err);
	if (rc != 0)
		return rc;
	rc = generator->build(cfg, &builder);
	if (rc == 0) {
		*topo = builder_finish(&builder);
		rc = *topo != NULL ? topo_check(*topo, err) : -ENOMEM;
	}
	builder_fini(&builder);
	if (rc != 0) {
		topo_destroy(*topo);
		*topo = NULL;
	}
	return rc;
}

size_t
topo_tables(struct cfg_known *known, size_t cap)
{
	size_t count = 0;

	for (size_t i = 0; i < NGENERATORS; i++) {
		if (count < cap)
			known[count] = (struct cfg_known){ generators[i]->table, generators[i]->kind };
		count++;
		if (generators[i]->links != NULL && count++ < cap)
			known[count - 1] = (struct cfg_known){ generators[i]->links, NULL };
	}
	if (count < cap)
		known[count] = (struct cfg_known){ &route_pins_table, NULL };
	return count + 1;
}
