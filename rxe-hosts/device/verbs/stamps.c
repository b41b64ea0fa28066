/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/stamps.h"

#include <endian.h>
#include <string.h>

#include "common/flow.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"

#define IP_AT sizeof(struct wire_eth)
#define UDP_AT (IP_AT + sizeof(struct wire_ipv4))
#define BTH_AT (UDP_AT + sizeof(struct wire_udp))
#define IMM_AT (BTH_AT + sizeof(struct wire_bth) + sizeof(struct wire_deth))
#define CONTENTS_AT (IMM_AT + sizeof(struct wire_immdt))

bool
stamp_key_of_frame(struct stamp_key *key, const uint8_t *frame, size_t bytes, bool out)
{
	struct wire_eth eth;
	struct wire_ipv4 ip;
	struct wire_udp udp;
	struct wire_bth bth;
	struct wire_immdt imm;
	size_t around = CONTENTS_AT - IP_AT + ICRC_BYTES, total, pad;

	if (bytes < CONTENTS_AT)
		return false;
	memcpy(&eth, frame, sizeof(eth));
	memcpy(&ip, frame + IP_AT, sizeof(ip));
	memcpy(&udp, frame + UDP_AT, sizeof(udp));
	memcpy(&bth, frame + BTH_AT, sizeof(bth));
	memcpy(&imm, frame + IMM_AT, sizeof(imm));
	total = be16toh(ip.total_bytes);
	pad = (bth.flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT;
	if (be16toh(eth.type) != ETH_TYPE_IPV4 || ip.version_ihl != IPV4_VERSION_IHL || ip.protocol != IPV4_PROTOCOL_UDP ||
	    be16toh(udp.dport) != ROCEV2_UDP_PORT || bth.opcode != ROCE_UD_SEND_ONLY_IMM || total < around + pad ||
	    total - around - pad > DEVICE_UD_BYTES || bytes < CONTENTS_AT + (total - around - pad))
		return false;
	*key = stamp_key_of(be32toh(imm.imm), frame + CONTENTS_AT, (uint16_t)(total - around - pad), out);
	return true;
}

struct stamp_key
stamp_key_of(uint32_t imm, const void *contents, uint16_t bytes, bool out)
{
	struct stamp_key key = { .imm = imm, .bytes = bytes, .out = out };

	memcpy(key.contents, contents, bytes);
	return key;
}

static bool
same(const struct stamp_key *a, const struct stamp_key *b)
{
	return a->imm == b->imm && a->bytes == b->bytes && a->out == b->out &&
	       memcmp(a->contents, b->contents, a->bytes) == 0;
}

void
stamps_put(struct stamps *stamps, const struct stamp_key *key, uint64_t time_ns)
{
	uint32_t at = stamps->tail++ % STAMPS_KEPT;

	if (stamps->tail - stamps->head > STAMPS_KEPT) {
		stamps->unused += !stamps->kept[at].used;
		stamps->head++;
	}
	stamps->kept[at].key = *key;
	stamps->kept[at].time_ns = time_ns;
	stamps->kept[at].used = false;
}

uint64_t
stamps_take(struct stamps *stamps, const struct stamp_key *key)
{
	for (uint32_t i = stamps->head; i != stamps->tail; i++) {
		uint32_t at = i % STAMPS_KEPT;

		if (stamps->kept[at].used || !same(&stamps->kept[at].key, key))
			continue;
		stamps->kept[at].used = true;
		while (stamps->head != stamps->tail && stamps->kept[stamps->head % STAMPS_KEPT].used)
			stamps->head++;
		return stamps->kept[at].time_ns;
	}
	return 0;
}
