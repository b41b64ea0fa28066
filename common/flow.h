/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of all flows of a run. Built before the fabric starts, immutable afterwards but for the spare slots behind
 * the planned flows: those are given to unplanned flows, when they are first seen at the edge.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/layout.h"

enum flow_kind {
	FLOW_COLLECTIVE, /* a rank's data to one peer */
	FLOW_BACKGROUND, /* traffic the diagnosis knows nothing of beforehand */
	FLOW_TRAFFIC,    /* a connection on which messages of a generator take turns */
	FLOW_CONTROL,    /* notification packets between two hosts */
	FLOW_PROBE,      /* R-Pingmesh's agents probe by it, in one direction; replies take the reverse path */
	FLOW_UNPLANNED,  /* a spare slot: of an unplanned flow that a kernel host began */
};

#define ROCEV2_UDP_PORT 4791

/* A 5-tuple and the host:nic endpoints behind its addresses. */
struct flow {
	uint32_t src_node, dst_node; /* topology node ids, both hosts */
	uint16_t src_nic, dst_nic;   /* port index on each host, 0-based */
	uint32_t src_ip, dst_ip;     /* IPv4, host byte order; from topo_nic_ip() */
	uint16_t sport, dport;       /* labels: bytes on a wire use ROCEV2_UDP_PORT as destination */
	uint32_t src_qpn, dst_qpn;
	uint8_t prio;
	uint8_t kind;     /* enum flow_kind */
	uint8_t protocol; /* IP protocol; 0: UDP */
};

/* @return the flow as records name it */
struct rec_tuple flow_tuple(const struct flow *flow);

struct flow_table {
	struct flow *flows; /* [count + spares] */
	uint32_t count;     /* planned */
	uint32_t spares;
	bool labelled; /* all hosts are embedded: of packets with bytes, too, PKT_RETRANSMIT says whether they are that */
};

/* Flow ids are below: what arrays by flow have elements for. */
static inline uint32_t
flow_table_slots(const struct flow_table *table)
{
	return table->count + table->spares;
}

/* Makes the spare slots, once, before the table is used. @return 0 or -ENOMEM */
int flow_table_reserve(struct flow_table *table, uint32_t spares);

/* Which of a run's planned flows has a 5-tuple, and in which direction: for queries by headers alone. */

struct flow_index;

/* @param table  unchanged until flow_index_destroy(); spare slots are not looked at. @return NULL with errno ENOMEM */
struct flow_index *flow_index_create(const struct flow_table *table);
void flow_index_destroy(struct flow_index *index); /* also of NULL */

/*
 * Finds the planned flow of a tuple. If the data of one flow and the ACKs of another have the same tuple, the data's
 * flow is returned; if several flows have it, the first.
 * @param reverse  set: the tuple is that of its ACKs
 * @return the flow's number, FLOW_NONE if no planned flow has it
 */
#define FLOW_NONE UINT32_MAX
uint32_t flow_index_find(const struct flow_index *index, const struct rec_tuple *tuple, bool *reverse);

/* Flows as a collector of sampled packets knows them (common/wire/switch_manage.h). */

struct swm_sample;

/*
 * Does a packet show a flow that its sender sends? Those of TCP and UDP do; of RoCEv2 the requests of a reliable
 * connection do, and neither its answers, which go by the other host's flow, nor datagrams, as probes are.
 */
bool sample_is_of_flow(const struct swm_sample *sample);
