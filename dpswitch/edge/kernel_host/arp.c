/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/kernel_host/arp.h"

#include <endian.h>
#include <string.h>

#include "common/wire/arp.h"
#include "dpswitch/edge/kernel_host/lookup.h"

bool
arp_reply(const struct topo *topo, const uint8_t *bytes, size_t size_bytes, uint32_t asker, uint8_t reply[ETH_MIN_BYTES])
{
	struct wire_eth eth;
	struct wire_arp arp;
	size_t at = sizeof(eth);
	uint32_t node, target;
	uint16_t nic;

	if (size_bytes < at + sizeof(arp))
		return false;
	memcpy(&eth, bytes, sizeof(eth));
	if (eth.type == htobe16(ETH_TYPE_VLAN))
		at += sizeof(struct wire_vlan);
	if (size_bytes < at + sizeof(arp))
		return false;
	memcpy(&arp, bytes + at, sizeof(arp));
	target = be32toh(arp.target_ip);
	if (arp.hardware != htobe16(ARP_HARDWARE_ETHERNET) || arp.protocol != htobe16(ETH_TYPE_IPV4) ||
	    arp.hardware_bytes != ETH_ADDR_BYTES || arp.protocol_bytes != sizeof(uint32_t) ||
	    arp.operation != htobe16(ARP_REQUEST) || target == asker || !topo_find_nic(topo, target, &node, &nic))
		return false;
	memcpy(eth.dst, eth.src, sizeof(eth.dst));
	topo_nic_mac(node, nic, eth.src);
	eth.type = htobe16(ETH_TYPE_ARP);
	memcpy(arp.target_mac, arp.sender_mac, sizeof(arp.target_mac));
	arp.target_ip = arp.sender_ip;
	topo_nic_mac(node, nic, arp.sender_mac);
	arp.sender_ip = htobe32(target);
	arp.operation = htobe16(ARP_REPLY);
	memset(reply, 0, ETH_MIN_BYTES);
	memcpy(reply, &eth, sizeof(eth));
	memcpy(reply + sizeof(eth), &arp, sizeof(arp));
	return true;
}
