/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/frame/pfc_frame.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static const uint8_t pfc_dst[ETH_ADDR_BYTES] = PFC_DST;

void
pfc_frame_build(const struct pfc_fields *fields, uint8_t bytes[ETH_MIN_BYTES])
{
	struct wire_pfc pfc = {
		.eth.type = htobe16(ETH_TYPE_MAC_CONTROL),
		.opcode = htobe16(PFC_OPCODE),
		.class_enable = htobe16(fields->class_enable),
	};

	memcpy(pfc.eth.dst, pfc_dst, sizeof(pfc.eth.dst));
	memcpy(pfc.eth.src, fields->src_mac, sizeof(pfc.eth.src));
	for (int i = 0; i < PFC_CLASSES; i++)
		pfc.quanta[i] = fields->class_enable >> i & 1 ? htobe16(fields->quanta[i]) : 0;
	memcpy(bytes, &pfc, sizeof(pfc));
}

int
pfc_frame_parse(const uint8_t *bytes, size_t size_bytes, struct pfc_fields *fields)
{
	const size_t head_bytes = offsetof(struct wire_pfc, class_enable);
	struct wire_pfc pfc;

	if (size_bytes < head_bytes)
		return -ENOENT;
	memcpy(&pfc, bytes, head_bytes);
	if (pfc.eth.type != htobe16(ETH_TYPE_MAC_CONTROL) || pfc.opcode != htobe16(PFC_OPCODE))
		return -ENOENT;
	if (size_bytes != sizeof(pfc) || memcmp(pfc.eth.dst, pfc_dst, sizeof(pfc_dst)) != 0)
		return -EBADMSG;
	memcpy(&pfc, bytes, sizeof(pfc));
	if (be16toh(pfc.class_enable) > 0xff)
		return -EBADMSG;
	memcpy(fields->src_mac, pfc.eth.src, sizeof(fields->src_mac));
	fields->class_enable = (uint8_t)be16toh(pfc.class_enable);
	for (int i = 0; i < PFC_CLASSES; i++)
		fields->quanta[i] = fields->class_enable >> i & 1 ? be16toh(pfc.quanta[i]) : 0;
	return 0;
}
