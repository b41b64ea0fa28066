/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

static const struct cfg_field switches_fields[] = {
	CFG_FIELD("names", CFG_STRINGS, offsetof(struct switches_group, names), .doc = "Switches of the topology"),
};

/* One group of "ports". */
struct ports_group {
	struct cfg_where where;
	struct cfg_strings names;
	uint64_t mtu_bytes;
};

static const struct cfg_field ports_fields[] = {
	CFG_FIELD("names", CFG_STRINGS, offsetof(struct ports_group, names),
		  .doc = "Ports of switches, as \"l0:3\", in both directions"),
	CFG_FIELD("mtu", CFG_BYTES, offsetof(struct ports_group, mtu_bytes), .def = "0", .max = 65535,
		  .doc = "Largest IP packet, with the 802.1Q tag of a kernel host's frame; larger ones are dropped there "
			 "and counted (mtu). 0: every size "
			 "passes"),
};

const struct cfg_table switches_cfg = {
	.path = "switches",
	.doc = "Settings of single switches, in place of those of all: keys and groups of `switch`. An absent one has the "
	       "value of the element's profile, else that of `switch`.",
	.list = true,
	.size = sizeof(struct switches_group),
	.fields = switches_fields,
	.nfields = ARRAY_LEN(switches_fields),
};

const struct cfg_table ports_cfg = {
	.path = "ports",
	.doc = "Settings of single ports of switches, in place of their switch's.",
	.list = true,
	.size = sizeof(struct ports_group),
	.fields = ports_fields,
	.nfields = ARRAY_LEN(ports_fields),
};

/* The tables of the groups in an element of a list. */
struct override_tables {
	const struct cfg_table *own, *pfc, *ecn, *wred, *watchdog, *groups, *queues;
};

static const struct override_tables of_switches = { &switches_switch_cfg, &switches_pfc_cfg,      &switches_ecn_cfg,
						    &switches_wred_cfg,   &switches_watchdog_cfg, &switches_pg_cfg,
						    &switches_queue_cfg };
static const struct override_tables of_ports = { &ports_switch_cfg,   &ports_pfc_cfg, &ports_ecn_cfg,  &ports_wred_cfg,
						 &ports_watchdog_cfg, &ports_pg_cfg,  &ports_queue_cfg };

/* Rows of one list, in place of those of their classes. */
static int
put_wreds(struct switch_settings *settings, const struct switch_wred_params *rows, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		for (size_t j = 0; j < i; j++)
			if (rows[j].class == rows[i].class)
				return cfg_fail(&rows[i].where, "class", err, "%d is in an earlier row: one row a class",
						(int)rows[i].class);
		while (at < settings->nwreds && settings->wreds[at].class != rows[i].class)
			at++;
		settings->wreds[at] = rows[i];
		settings->nwreds += at == settings->nwreds;
	}
	return 0;
}

/* Rows over those that settings have, and the profiles that all of them name. */
static int
bind_rows(struct switch_settings *settings, const struct cfg *cfg, const struct cfg_where *element,
	  const struct cfg_table *groups, const struct cfg_table *queues, struct err *err)
{
	int ret = buffer_rows_bind(&settings->groups, cfg, element, groups, err);

	ret = ret == 0 ? buffer_rows_bind(&settings->queues, cfg, element, queues, err) : ret;
	return ret == 0 ? buffer_rows_resolve(settings->buffers, &settings->groups, &settings->queues, err) : ret;
}

/* Pools and profiles of all switches (element NULL), or of an element of "switches", over those that settings have. */
static int
bind_buffers(struct switch_setup *setup, struct switch_settings *settings, const struct cfg *cfg,
	     const struct cfg_where *element, struct err *err)
{
	struct switch_buffers_own *own = calloc(1, sizeof(*own));
	bool any = false;
	int ret;

	if (own == NULL)
		return err_set(err, -ENOMEM, "out of memory for buffer pools");
	if (settings->buffers != NULL)
		own->buffers = *settings->buffers;
	ret = buffers_bind(&own->buffers, cfg, element, &any, err);
	if (!any) {
		free(own);
		return ret;
	}
	own->next = setup->buffers;
	setup->buffers = own;
	settings->buffers = &own->buffers;
	return ret;
}

static int
bind_all(struct switch_settings *all, const struct cfg *cfg, struct err *err)
{
	void *rows = NULL;
	size_t count = 0;
	int ret = cfg_bind(cfg, &switch_cfg, &all->params, err);

	ret = ret == 0 ? cfg_bind(cfg, &switch_pfc_cfg, &all->pfc, err) : ret;
	ret = ret == 0 ? cfg_bind(cfg, &switch_ecn_cfg, &all->ecn, err) : ret;
	ret = ret == 0 ? cfg_bind(cfg, &switch_watchdog_cfg, &all->watchdog, err) : ret;
	ret = ret == 0 ? cfg_bind_list(cfg, &switch_wred_cfg, NULL, &rows, &count, err) : ret;
	ret = ret == 0 ? put_wreds(all, rows, count, err) : ret;
	free(rows);
	return ret;
}

/* An element of a list, over settings that it may change. */
static int
bind_over(struct switch_settings *settings, const struct cfg *cfg, const struct cfg_where *element,
	  const struct override_tables *tables, struct err *err)
{
	void *rows = NULL;
	size_t count = 0;
	int ret = cfg_bind_over(element, tables->own, &settings->params, err);

	ret = ret == 0 ? cfg_bind_over(element, tables->pfc, &settings->pfc, err) : ret;
	ret = ret == 0 ? cfg_bind_over(element, tables->ecn, &settings->ecn, err) : ret;
	ret = ret == 0 ? cfg_bind_over(element, tables->watchdog, &settings->watchdog, err) : ret;
	ret = ret == 0 ? cfg_bind_list_in(cfg, element, tables->wred, &rows, &count, err) : ret;
	ret = ret == 0 ? put_wreds(settings, rows, count, err) : ret;
	free(rows);
	return ret == 0 ? bind_rows(settings, cfg, element, tables->groups, tables->queues, err) : ret;
}

/* @return room for the settings of one more, a copy of others; NULL: out of memory */
static struct switch_settings *
add_own(struct switch_setup *setup, const struct switch_settings *base)
{
	struct switch_settings *own = malloc(sizeof(*own));
	struct switch_settings **grown;

	if (own == NULL)
		return NULL;
	grown = realloc(setup->own, (setup->nown + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(own);
		return NULL;
	}
	setup->own = grown;
	setup->own[setup->nown++] = own;
	*own = *base;
	return own;
}

static int
load_switches(struct switch_setup *setup, const struct cfg *cfg, const struct topo *topo, struct err *err)
{
	const struct switches_group *groups;
	void *bound = NULL;
	size_t count = 0;
	int ret = cfg_bind_list(cfg, &switches_cfg, NULL, &bound, &count, err);

	groups = bound;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		const struct switches_group *group = &groups[i];
		struct switch_settings *own = add_own(setup, &setup->all);

		if (own == NULL)
			ret = err_set(err, -ENOMEM, "out of memory for %zu groups of switches", count);
		ret = ret == 0 ? bind_buffers(setup, own, cfg, &group->where, err) : ret;
		ret = ret == 0 ? bind_over(own, cfg, &group->where, &of_switches, err) : ret;
		if (ret == 0 && group->names.count == 0)
			ret = cfg_fail(&group->where, "names", err, "is empty; names of switches would be right");
		for (size_t n = 0; ret == 0 && n < group->names.count; n++) {
			uint32_t node = topo_find(topo, group->names.items[n]);

			if (node == TOPO_NONE || topo->nodes[node].kind != TOPO_SWITCH)
				ret = cfg_fail(&group->where, "names", err, "\"%s\" is no switch of this topology",
					       group->names.items[n]);
			else if (setup->of_node[node] != NULL)
				ret = cfg_fail(&group->where, "names", err,
					       "\"%s\" is named already; one element a switch would be right",
					       group->names.items[n]);
			else
				setup->of_node[node] = own;
		}
	}
	free(bound);
	return ret;
}

static int
load_port(struct switch_setup *setup, const struct cfg *cfg, const struct topo *topo, const struct ports_group *group,
	  const char *name, struct err *err)
{
	uint32_t port = topo_find_port(topo, name);
	struct switch_settings *own;

	if (port == TOPO_NONE)
		return cfg_fail(&group->where, "names", err, "\"%s\" is no port of this topology, as \"switch:1\" is one",
				name);
	if (topo->nodes[topo->ports[port].node].kind != TOPO_SWITCH)
		return cfg_fail(&group->where, "names", err, "\"%s\" is a host's port; name the switch's end of its cable",
				name);
	if (setup->of_port[port] != NULL)
		return cfg_fail(&group->where, "names", err, "\"%s\" is named already; one element a port would be right",
				name);
	own = add_own(setup, switch_settings_of(setup, topo->ports[port].node));
	if (own == NULL)
		return err_set(err, -ENOMEM, "out of memory for the settings of port %s", name);
	own->mtu_bytes = group->mtu_bytes;
	setup->of_port[port] = own;
	return bind_over(own, cfg, &group->where, &of_ports, err);
}

static int
load_ports(struct switch_setup *setup, const struct cfg *cfg, const struct topo *topo, struct err *err)
{
	const struct ports_group *groups;
	void *bound = NULL;
	size_t count = 0;
	int ret = cfg_bind_list(cfg, &ports_cfg, NULL, &bound, &count, err);

	groups = bound;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if (groups[i].names.count == 0)
			ret = cfg_fail(&groups[i].where, "names", err, "is empty; ports as \"switch:1\" would be right");
		for (size_t n = 0; ret == 0 && n < groups[i].names.count; n++)
			ret = load_port(setup, cfg, topo, &groups[i], groups[i].names.items[n], err);
	}
	free(bound);
	return ret;
}

/* Lists of words that are rows. */
static int
load_rows(struct switch_setup *setup, struct switch_settings *settings, struct err *err)
{
	const struct cfg_strings *of_all = &setup->all.pfc.headrooms;
	uint8_t weight_of[SWITCH_CLASSES];
	int ret = switch_class_map(&settings->params, settings->class_of, err);

	setup->maps_classes |= settings->params.class_map.count != 0;
	if (ret == 0)
		ret = switch_weights(&settings->params, weight_of, err);
	if (ret == 0 && (settings == &setup->all || settings->pfc.headrooms.items != of_all->items))
		ret = switch_headroom_rows(&settings->pfc, err);
	return ret;
}

int
switch_setup_load(struct switch_setup *setup, const struct cfg *cfg, const struct topo *topo, struct err *err)
{
	int ret = bind_all(&setup->all, cfg, err);

	setup->of_node = calloc(topo->nnodes + 1u, sizeof(*setup->of_node));
	setup->of_port = calloc(topo->nports + 1u, sizeof(*setup->of_port));
	if (ret == 0 && (setup->of_node == NULL || setup->of_port == NULL))
		ret = err_set(err, -ENOMEM, "out of memory for the settings of %u ports", topo->nports);
	ret = ret == 0 ? bind_buffers(setup, &setup->all, cfg, NULL, err) : ret;
	ret = ret == 0 ? bind_rows(&setup->all, cfg, NULL, &switch_pg_cfg, &switch_queue_cfg, err) : ret;
	ret = ret == 0 ? load_switches(setup, cfg, topo, err) : ret;
	ret = ret == 0 ? load_ports(setup, cfg, topo, err) : ret;
	ret = ret == 0 ? load_rows(setup, &setup->all, err) : ret;
	for (uint32_t i = 0; ret == 0 && i < setup->nown; i++)
		ret = load_rows(setup, setup->own[i], err);
	return ret;
}

void
switch_setup_fini(struct switch_setup *setup)
{
	for (uint32_t i = 0; i < setup->nown; i++)
		free(setup->own[i]);
	while (setup->buffers != NULL) {
		struct switch_buffers_own *own = setup->buffers;

		setup->buffers = own->next;
		free(own);
	}
	free(setup->own);
	free(setup->of_node);
	free(setup->of_port);
}
