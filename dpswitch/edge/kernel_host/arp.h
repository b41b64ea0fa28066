/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP (RFC 826) toward external hosts: the edge knows every NIC's addresses and answers for all of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/eth.h"
#include "topo/topo.h"

/*
 * @param bytes  a frame of type ARP, tagged or not
 * @param asker  address of the NIC that it came from: questions about itself (a probe for duplicates) get no answer
 * @param reply  filled in
 * @return false if it is no request for the address of another NIC of the topology
 */
bool arp_reply(const struct topo *topo, const uint8_t *bytes, size_t size_bytes, uint32_t asker,
	       uint8_t reply[ETH_MIN_BYTES]);
