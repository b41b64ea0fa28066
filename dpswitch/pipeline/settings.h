/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a fabric's switches: those of all, and what single switches and ports have in place of them (lists
 * "switches" and "ports").
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "dpswitch/pipeline/buffer_cfg.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "topo/topo.h"

/* Settings of a switch, or of one of its ports. */
struct switch_settings {
	struct switch_params params;
	struct switch_pfc_params pfc;
	struct switch_ecn_params ecn;
	struct switch_wred_params wreds[SWITCH_CLASSES - 1]; /* [nwreds] a class has one at most */
	size_t nwreds;
	struct switch_watchdog_params watchdog;
	const struct switch_buffers *buffers; /* NULL: no pools are configured. The setup's; of a port, its switch's */
	struct buffer_rows groups, queues;
	uint8_t class_of[SWITCH_CLASSES]; /* in which a port serves what arrives, by that of its host */
	uint64_t mtu_bytes;               /* largest IP packet; 0: any. Of ports alone */
};

/* Pools and profiles of all switches, or of an element of "switches". */
struct switch_buffers_own {
	struct switch_buffers_own *next;
	struct switch_buffers buffers;
};

struct switch_setup {
	struct switch_settings all;
	struct switch_settings **own;           /* [nown] */
	const struct switch_settings **of_node; /* [nodes] NULL: all. The array itself NULL: nobody has its own */
	const struct switch_settings **of_port; /* [ports by global id] NULL: its switch's */
	uint32_t nown;
	bool maps_classes; /* some switch or port serves another class */
	struct switch_buffers_own *buffers;
};

/* One group of "switches". */
struct switches_group {
	struct cfg_where where;
	struct cfg_strings names;
};

/* The lists' own keys. Those that stand in them as in the groups of all switches: switch_cfg.h. */
extern const struct cfg_table switches_cfg, ports_cfg;

/*
 * Binds all settings.
 * @param setup  zero; owned, switch_setup_fini()
 * @return 0, -ENOMEM, or -EINVAL with err set: a name that is none, one that is there twice, a class with two rows
 */
int switch_setup_load(struct switch_setup *setup, const struct cfg *cfg, const struct topo *topo, struct err *err);
void switch_setup_fini(struct switch_setup *setup);

/* @return what a switch has */
static inline const struct switch_settings *
switch_settings_of(const struct switch_setup *setup, uint32_t node)
{
	return setup->of_node != NULL && setup->of_node[node] != NULL ? setup->of_node[node] : &setup->all;
}

/* @return what a switch's port has, by its global id */
static inline const struct switch_settings *
switch_settings_at(const struct switch_setup *setup, const struct topo *topo, uint32_t port)
{
	if (setup->of_port != NULL && setup->of_port[port] != NULL)
		return setup->of_port[port];
	return switch_settings_of(setup, topo->ports[port].node);
}
