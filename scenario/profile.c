/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/profile.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"

struct profile_cfg {
	struct cfg_where where;
	int value; /* PROFILE_AUTO, or a row from 1 */
};

static const struct cfg_field switch_fields[] = {
	CFG_FIELD(
		"profile", CFG_ENUM, offsetof(struct profile_cfg, value), .def = "ns3", .choices = switch_profile_choices,
		.doc = "The switch whose values the keys of switch, switch.pfc and switch.ecn have that the scenario does "
		       "not give (docs/profiles.md)"),
};

static const struct cfg_field host_fields[] = {
	CFG_FIELD("profile", CFG_ENUM, offsetof(struct profile_cfg, value), .def = "ns3", .choices = host_profile_choices,
		  .doc = "The NIC whose values the keys of host and host.dcqcn have that the scenario does not give "
			 "(docs/profiles.md)"),
};

const struct cfg_table switch_profile_cfg = {
	.path = "switch",
	.size = sizeof(struct profile_cfg),
	.fields = switch_fields,
	.nfields = ARRAY_LEN(switch_fields),
};

const struct cfg_table host_profile_cfg = {
	.path = "host",
	.size = sizeof(struct profile_cfg),
	.fields = host_fields,
	.nfields = ARRAY_LEN(host_fields),
};

/* "auto": the first row whose rate the topology's fastest link does not exceed. */
static const struct pair {
	uint64_t rate_bps;
	const char *on_switches, *on_hosts;
} pairs[] = {
	{ .rate_bps = 100000000000, .on_switches = "trident3", .on_hosts = "cx6dx" },
	{ .rate_bps = 200000000000, .on_switches = "spectrum2", .on_hosts = "cx7" },
	{ .rate_bps = 400000000000, .on_switches = "tomahawk5", .on_hosts = "cx7" },
	{ .rate_bps = UINT64_MAX, .on_switches = "tomahawk5", .on_hosts = "thor-ultra" },
};

static const struct pair *
pair_of(const struct topo *topo)
{
	const struct pair *pair = pairs;
	uint64_t fastest_bps = 0;

	for (uint32_t i = 0; i < topo->nports; i++)
		fastest_bps = topo->ports[i].rate_bps > fastest_bps ? topo->ports[i].rate_bps : fastest_bps;
	while (fastest_bps > pair->rate_bps)
		pair++;
	return pair;
}

const struct profile *
profile_find(const struct profile *profiles, const char *name)
{
	for (; profiles->name != NULL; profiles++)
		if (strcmp(profiles->name, name) == 0)
			return profiles;
	return NULL;
}

static int
apply(struct cfg *cfg, const struct profile *profile, struct err *err)
{
	struct cfg *from = cfg_load_string(profile->text, profile->file, err);
	char origin[64];
	int ret;

	if (from == NULL)
		return -EINVAL;
	snprintf(origin, sizeof(origin), "profile %s", profile->name);
	ret = cfg_add_missing(cfg, from, origin, err);
	cfg_destroy(from);
	return ret;
}

/* @param chosen  the name for "auto" */
static int
apply_word(struct cfg *cfg, const struct cfg_table *table, const struct profile *profiles, const char *chosen,
	   struct err *err)
{
	struct profile_cfg word;
	const struct profile *profile;
	int ret = cfg_bind(cfg, table, &word, err);

	if (ret < 0)
		return ret;
	profile = word.value == PROFILE_AUTO ? profile_find(profiles, chosen) : &profiles[word.value - 1];
	assert(profile != NULL && "a row of pairs[]");
	return apply(cfg, profile, err);
}

int
profiles_apply(struct cfg *cfg, const struct topo *topo, struct err *err)
{
	const struct pair *pair = pair_of(topo);
	int ret = apply_word(cfg, &switch_profile_cfg, switch_profiles, pair->on_switches, err);

	return ret == 0 ? apply_word(cfg, &host_profile_cfg, host_profiles, pair->on_hosts, err) : ret;
}
