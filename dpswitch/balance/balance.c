/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/balance/balance.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "common/array.h"
#include "common/pkt_chance.h"

#define BALANCE_ROW(id, name, symbol, doc) [id] = &balance_##symbol,
const struct balance_ops *const balance_kinds[BALANCE_COUNT] = { BALANCE_KINDS(BALANCE_ROW) };

/* Keys of the group. */
struct balance_group {
	struct cfg_where where;
	int kind, hash, seeds, encapsulation;
	int64_t entropy_bits;
	struct cfg_strings fields;
};

enum seeds { SEEDS_OWN, SEEDS_SHARED };
enum encapsulation { ENCAPSULATION_NONE, ENCAPSULATION_VXLAN };

#define KIND_CHOICE(id, word, symbol, meaning) { .name = word, .value = id, .doc = meaning },
static const struct cfg_choice kinds[] = { BALANCE_KINDS(KIND_CHOICE){ 0 } };
#define HASH_CHOICE(id, word, meaning) { .name = word, .value = id, .doc = meaning },
static const struct cfg_choice hashes[] = { ROUTE_HASHES(HASH_CHOICE){ 0 } };
static const struct cfg_choice seeds[] = {
	{ .name = "own", .value = SEEDS_OWN, .doc = "each switch has a different seed" },
	{ .name = "shared",
	  .value = SEEDS_SHARED,
	  .doc = "all switches have the same seed: switches in a row choose alike, and some of their ports are never used "
		 "(polarization)" },
	{ 0 },
};

static const struct cfg_choice encapsulations[] = {
	{ .name = "none", .value = ENCAPSULATION_NONE, .doc = "a packet's own headers" },
	{ .name = "vxlan",
	  .value = ENCAPSULATION_VXLAN,
	  .doc = "the outer ones of VXLAN, from host to host: the outer source port is a hash of the inner headers" },
	{ 0 },
};

#define S struct balance_group
static const struct cfg_field fields[] = {
	CFG_FIELD("kind", CFG_ENUM, offsetof(S, kind), .def = "ecmp", .choices = kinds,
		  .doc = "Unit that is balanced over ports of equal cost (flow, packet or flowlet), and how its port is "
			 "chosen. Pinned flows keep their path"),
	CFG_FIELD("hash", CFG_ENUM, offsetof(S, hash), .def = "crc32c", .choices = hashes, .doc = "Hash function of ECMP"),
	CFG_FIELD("fields", CFG_STRINGS, offsetof(S, fields), .def = "",
		  .doc = "Header fields that are hashed: \"src\", \"dst\" (addresses), \"sport\", \"dport\" (UDP), with "
			 "host.ip_version = 6 \"flow-label\"; default: all. Flows of one pair of hosts differ in the "
			 "source port, or in the label"),
	CFG_FIELD("encapsulation", CFG_ENUM, offsetof(S, encapsulation), .def = "none", .choices = encapsulations,
		  .doc = "Headers that switches see and hash. Packets do not grow by it"),
	CFG_FIELD("entropy_bits", CFG_INT, offsetof(S, entropy_bits), .def = "14", .max = ROUTE_VXLAN_BITS,
		  .doc = "With vxlan: bits of that hash that are used; two hosts have 2^n outer source ports between them. "
			 "RFC 7348 uses all dynamic ports, 14 bits; 0: one port for all flows"),
	CFG_FIELD("seeds", CFG_ENUM, offsetof(S, seeds), .def = "own", .choices = seeds,
		  .doc = "Seeds of the hash, derived from the run's seed"),
};
#undef S

const struct cfg_table balance_table = {
	.path = "load_balancing",
	.doc = "How a switch chooses among ports of equal cost.",
	.size = sizeof(struct balance_group),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

#define FIELD_ROW(id, bit, word) { word, id },
static const struct {
	const char *name;
	uint8_t bit;
} hashed[] = { ROUTE_FIELDS(FIELD_ROW) };

/* @return 0 or -EINVAL with err set */
static int
hash_field(const struct balance_group *group, const char *name, uint8_t *left_out, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(hashed); i++) {
		if (strcmp(hashed[i].name, name) != 0)
			continue;
		*left_out &= (uint8_t)~hashed[i].bit;
		return 0;
	}
	return cfg_fail(&group->where, "fields", err,
			"\"%s\" is nothing that is hashed: \"src\", \"dst\", \"sport\", \"dport\", \"flow-label\" are",
			name);
}

/* The parameters of all kinds are checked, those of one are kept. */
static int
bind_kinds(struct balance_params *params, const struct cfg *cfg, struct err *err)
{
	for (int k = 0; k < BALANCE_COUNT; k++) {
		const struct cfg_table *table = balance_kinds[k]->table;
		uint64_t own[BALANCE_PARAMS_WORDS] = { 0 };
		int ret;

		if (table == NULL)
			continue;
		assert(table->size <= sizeof(own));
		ret = cfg_bind(cfg, table, own, err);
		if (ret < 0)
			return ret;
		if (balance_kinds[k] == params->ops)
			memcpy(params->own, own, sizeof(own));
	}
	return 0;
}

int
balance_bind(struct balance_params *params, const struct cfg *cfg, struct err *err)
{
	struct balance_group group;
	int ret = cfg_bind(cfg, &balance_table, &group, err);

	if (ret < 0)
		return ret;
	*params = (struct balance_params){
		.ops = balance_kinds[group.kind],
		.hashing = { .function = (uint8_t)group.hash,
			     .vxlan = group.encapsulation == ENCAPSULATION_VXLAN,
			     .entropy_bits = (uint8_t)group.entropy_bits,
			     .alike = group.seeds == SEEDS_SHARED },
	};
	for (size_t i = 0; group.fields.count != 0 && i < ARRAY_LEN(hashed); i++)
		params->hashing.left_out |= hashed[i].bit;
	for (size_t i = 0; ret == 0 && i < group.fields.count; i++)
		ret = hash_field(&group, group.fields.items[i], &params->hashing.left_out, err);
	params->names_label = group.fields.count != 0 && (params->hashing.left_out & ROUTE_LABEL) == 0;
	return ret == 0 ? bind_kinds(params, cfg, err) : ret;
}

uint32_t
balance_draw(const struct balance *balance, const struct pkt *p, uint32_t count)
{
	return (uint32_t)((unsigned __int128)pkt_draw(balance->stream, balance->flows, p) * count >> 64);
}
