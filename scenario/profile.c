/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/profile.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "dpswitch/pipeline/settings.h"
#include "rxe-hosts/roce/cc/cc.h"

struct profile_cfg {
	struct cfg_where where;
	int value; /* PROFILE_AUTO, or a row from 1 */
};

static const struct cfg_field switch_fields[] = {
	CFG_FIELD(
		"profile", CFG_ENUM, offsetof(struct profile_cfg, value), .def = "auto", .choices = switch_profile_choices,
		.doc = "The switch whose values the keys of switch, switch.pfc and switch.ecn have that the scenario does "
		       "not give (docs/profiles.md)"),
};

static const struct cfg_field host_fields[] = {
	CFG_FIELD("profile", CFG_ENUM, offsetof(struct profile_cfg, value), .def = "auto", .choices = host_profile_choices,
		  .doc = "The NIC whose values the keys of host and host.dcqcn have that the scenario does not give "
			 "(docs/profiles.md)"),
};

const struct cfg_table switch_profile_cfg = {
	.path = "switch",
	.size = sizeof(struct profile_cfg),
	.fields = switch_fields,
	.nfields = ARRAY_LEN(switch_fields),
};

const struct cfg_table switches_profile_cfg = {
	.path = "switches",
	.list = true,
	.size = sizeof(struct profile_cfg),
	.fields = switch_fields,
	.nfields = ARRAY_LEN(switch_fields),
	.over = "switch",
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

/* Hosts with their own kernel have links as fast as a machine can imitate, and buffers in proportion. */
static const struct pair scaled = { .on_switches = "ns3", .on_hosts = "ns3" };

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

bool
profiles_gave_host(const struct cfg_where *where)
{
	for (const struct profile *p = host_profiles; p->name != NULL; p++)
		if (strcmp(where->file, p->file) == 0)
			return true;
	return false;
}

bool
profiles_have_chip(uint64_t buffer_bytes)
{
	for (const struct profile *profile = switch_profiles; profile->name != NULL; profile++)
		if (profile->buffer_bytes == buffer_bytes && buffer_bytes != 0)
			return true;
	return false;
}

uint64_t
profiles_largest_chip(void)
{
	uint64_t most = 0;

	for (const struct profile *profile = switch_profiles; profile->name != NULL; profile++)
		most = max_u64(most, profile->buffer_bytes);
	return most;
}

/* A profile's keys of the switch without those that single switches do not have: their class of CNPs is that of all. */
static struct cfg *
without_strict(struct cfg *from, struct err *err)
{
	struct cfg_where group = cfg_where_key(from, "switch"), key = cfg_where_key(from, "switch.strict");
	struct cfg *copy;

	if (!cfg_has(&group, "strict"))
		return from;
	copy = cfg_copy(from, &key, 1, err);
	cfg_destroy(from);
	return copy;
}

/* @param path  of the group that has what the profile has in its group from_path */
static int
apply(struct cfg *cfg, const char *path, const struct profile *profile, const char *from_path, struct err *err)
{
	struct cfg *from = cfg_load_string(profile->text, profile->file, err);
	char origin[64];
	int ret;

	if (from != NULL && path[0] != '\0')
		from = without_strict(from, err);
	if (from == NULL)
		return -EINVAL;
	snprintf(origin, sizeof(origin), "profile %s", profile->name);
	ret = cfg_add_missing(cfg, path, from, from_path, origin, err);
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
	return apply(cfg, "", profile, "", err);
}

/* Elements of "switches" that name a profile of their own. */
static int
apply_elements(struct cfg *cfg, const char *chosen, struct err *err)
{
	const struct switches_group *groups;
	void *bound = NULL;
	size_t count = 0;
	int ret = cfg_bind_list(cfg, &switches_cfg, NULL, &bound, &count, err);

	groups = bound;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct profile_cfg word = { .value = PROFILE_AUTO };
		char path[CFG_WHERE_PATH];

		if (!cfg_has(&groups[i].where, "profile"))
			continue;
		ret = cfg_bind_over(&groups[i].where, &switches_profile_cfg, &word, err);
		if (ret == 0)
			ret = apply(cfg, cfg_where_path(&groups[i].where, path),
				    word.value == PROFILE_AUTO ? profile_find(switch_profiles, chosen)
							       : &switch_profiles[word.value - 1],
				    "switch", err);
	}
	free(bound);
	return ret;
}

struct cc_word {
	struct cfg_where where;
	int cc; /* enum cc_kind */
};

static const struct cfg_field cc_fields[] = {
	CFG_FIELD("cc", CFG_ENUM, offsetof(struct cc_word, cc), .choices = cc_choices),
};

static const struct cfg_table cc_table = {
	.path = "host",
	.size = sizeof(struct cc_word),
	.fields = cc_fields,
	.nfields = ARRAY_LEN(cc_fields),
};

/* A NIC's coalesced ACKs are for its own congestion control: one that the scenario names may live on every ACK. */
static int
ack_each(struct cfg *cfg, struct err *err)
{
	struct cfg_where host = cfg_where_key(cfg, "host");
	struct cc_word word;
	struct cfg *from;
	int ret;

	if (!cfg_has(&host, "cc"))
		return 0;
	ret = cfg_bind(cfg, &cc_table, &word, err);
	if (ret < 0 || cc_algorithms[word.cc]->acked == NULL)
		return ret;
	from = cfg_load_string("host = { ack_every = 1; };", "host.cc", err);
	if (from == NULL)
		return -EINVAL;
	ret = cfg_add_missing(cfg, "", from, "", "for host.cc", err);
	cfg_destroy(from);
	return ret;
}

int
profiles_apply(struct cfg *cfg, const struct topo *topo, bool kernel_hosts, struct err *err)
{
	const struct pair *pair = kernel_hosts ? &scaled : pair_of(topo);
	int ret = apply_word(cfg, &switch_profile_cfg, switch_profiles, pair->on_switches, err);

	ret = ret == 0 ? apply_elements(cfg, pair->on_switches, err) : ret;
	ret = ret == 0 ? ack_each(cfg, err) : ret;
	return ret == 0 ? apply_word(cfg, &host_profile_cfg, host_profiles, pair->on_hosts, err) : ret;
}
