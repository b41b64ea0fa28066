/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all flows of a run. Built before the fabric starts, immutable afterwards. */
#pragma once

#include <stdint.h>

enum flow_kind {
	FLOW_COLLECTIVE, /* a rank's data to one peer */
	FLOW_BACKGROUND, /* traffic the diagnosis knows nothing of beforehand */
	FLOW_CONTROL,    /* notification packets between two hosts */
};

#define ROCEV2_UDP_PORT 4791

/* A 5-tuple (the protocol is UDP) and the host:nic endpoints behind its addresses. */
struct flow {
	uint32_t src_node, dst_node; /* topology node ids, both hosts */
	uint16_t src_nic, dst_nic;   /* port index on each host, 0-based */
	uint32_t src_ip, dst_ip;     /* IPv4, host byte order; from topo_nic_ip() */
	uint16_t sport, dport;       /* labels: bytes on a wire use ROCEV2_UDP_PORT as destination */
	uint32_t src_qpn, dst_qpn;
	uint8_t prio;
	uint8_t kind; /* enum flow_kind */
};

struct flow_table {
	struct flow *flows; /* [count] */
	uint32_t count;
};
