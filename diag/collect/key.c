/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/key.h"

#include "common/wire/record.h"

_Static_assert(RECORD_MAX_NODES <= 1 << 16, "a node has 16 bits in a key");

static inline uint64_t
pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static inline uint64_t
at_port(const struct rec_hdr *hdr, uint16_t port, uint32_t low)
{
	return (uint64_t)hdr->node << 48 | (uint64_t)port << 32 | low;
}

static inline uint64_t
addresses(const struct rec_tuple *tuple)
{
	return pair(tuple->src_ip, tuple->dst_ip);
}

static inline uint32_t
udp_ports(const struct rec_tuple *tuple)
{
	return (uint32_t)tuple->sport << 16 | tuple->dport;
}

static struct rec_key
key_node(const void *rec)
{
	return (struct rec_key){ { ((const struct rec_hdr *)rec)->node } };
}

static struct rec_key
key_port(const void *rec)
{
	const struct rec_port *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, 0) } };
}

static struct rec_key
key_collective(const void *rec)
{
	const struct rec_collective *r = rec;

	return (struct rec_key){ { pair(r->id, r->iteration) } };
}

static struct rec_key
key_schedule(const void *rec)
{
	const struct rec_schedule *r = rec;

	return (struct rec_key){ { pair(r->collective, r->iteration), pair(r->rank, r->step) } };
}

static struct rec_key
key_route(const void *rec)
{
	const struct rec_route *r = rec;

	return (struct rec_key){ { addresses(&r->flow), pair(udp_ports(&r->flow), (uint32_t)r->reverse << 16 | r->hop) } };
}

static struct rec_key
key_ecmp(const void *rec)
{
	return (struct rec_key){ { ((const struct rec_ecmp *)rec)->set } };
}

static struct rec_key
key_step(const void *rec)
{
	const struct rec_step *r = rec;

	return (struct rec_key){ { pair(r->collective, r->iteration), pair(r->hdr.node, r->step), addresses(&r->flow),
				   udp_ports(&r->flow) } };
}

static struct rec_key
key_port_row(const void *rec)
{
	const struct rec_port_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first) } };
}

static struct rec_key
key_flow_row(const void *rec)
{
	const struct rec_flow_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), addresses(&r->flow), udp_ports(&r->flow) } };
}

static struct rec_key
key_meter_row(const void *rec)
{
	const struct rec_meter_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), r->in_port } };
}

static struct rec_key
key_matrix_row(const void *rec)
{
	const struct rec_matrix_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), addresses(&r->flow),
				   pair(udp_ports(&r->flow), r->other.src_ip),
				   pair(r->other.dst_ip, udp_ports(&r->other)) } };
}

static struct rec_key
key_drop_row(const void *rec)
{
	const struct rec_drop_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->reason) } };
}

struct rec_key
key_state(const void *rec)
{
	const struct rec_port_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, 0), r->hdr.time_ps, r->hdr.seq } };
}

struct rec_key
key_flow_state(const void *rec)
{
	const struct rec_flow_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), r->hdr.time_ps } };
}

struct rec_key
key_time(const void *rec)
{
	const struct rec_hdr *hdr = rec;

	return (struct rec_key){ { hdr->time_ps, pair(hdr->node, hdr->seq) } };
}

/* Types whose later records replace earlier ones of the same key. */
static key_fn *const keys[RECORD_KINDS] = {
	[REC_NODE] = key_node,
	[REC_PORT] = key_port,
	[REC_COLLECTIVE] = key_collective,
	[REC_SCHEDULE] = key_schedule,
	[REC_ROUTE] = key_route,
	[REC_ECMP] = key_ecmp,
	[REC_STEP] = key_step,
	[REC_PORT_ROW] = key_port_row,
	[REC_FLOW_ROW] = key_flow_row,
	[REC_METER_ROW] = key_meter_row,
	[REC_MATRIX_ROW] = key_matrix_row,
	[REC_DROP_ROW] = key_drop_row,
};

key_fn *
key_of(uint16_t type)
{
	return keys[type];
}
