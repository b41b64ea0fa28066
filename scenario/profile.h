/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: the switch and the hosts that a scenario names by a word. A profile is a file in scenario/profiles/, which
 * reads like the groups of a scenario, and its line in meson.build. It supplies the values that the scenario does not
 * give.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "topo/topo.h"

/* Value of the key "profile": the row of the table, from 1, or the choice by rate. */
#define PROFILE_AUTO 0

/* One of scenario/profiles/, part of the program. */
struct profile {
	const char *name;      /* NULL: the end of the table */
	const char *file;      /* in messages */
	const char *text;      /* libconfig */
	uint64_t buffer_bytes; /* of a switch; 0: sized from its ports */
};

extern const struct profile switch_profiles[], host_profiles[];
extern const struct cfg_choice switch_profile_choices[], host_profile_choices[];

/* The key "profile" of the groups "switch" and "host". */
extern const struct cfg_table switch_profile_cfg, host_profile_cfg;
/* The same in the elements of "switches"; there it has no default. */
extern const struct cfg_table switches_profile_cfg;

/* @return the profile of its name, NULL: there is none */
const struct profile *profile_find(const struct profile *profiles, const char *name);

/* Is it the size of a chip that a profile describes? */
bool profiles_have_chip(uint64_t buffer_bytes);
/* @return the largest buffer of a chip that a profile describes */
uint64_t profiles_largest_chip(void);

/* Is a key of a scenario's tree a host profile's, and not the user's? @param where  of the key */
bool profiles_gave_host(const struct cfg_where *where);

/*
 * Adds to a scenario's tree what its profiles have and it does not give.
 * @param topo          its topology, whose fastest link decides where the word is "auto"
 * @param kernel_hosts  some of its hosts have their own kernel
 * @return 0, -EINVAL or -ENOMEM with err set: file:line, the value, the nearest word
 */
int profiles_apply(struct cfg *cfg, const struct topo *topo, bool kernel_hosts, struct err *err);
