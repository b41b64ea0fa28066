/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over sorted records: nodes, ports and flows get ids. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

static void
copy_name(char *to, const char *from)
{
	size_t len = strnlen(from, REC_NAME_LEN);

	for (size_t i = 0; i < len; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[len] = '\0';
}

void *
evidence_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of evidence", count, size_bytes);
	return p;
}

uint32_t
evidence_port(const struct evidence *ev, uint32_t node, uint16_t index)
{
	if (node >= ev->nnodes || !ev->nodes[node].known || index >= ev->nodes[node].nports)
		return EV_NONE;
	return ev->nodes[node].first_port + index;
}

uint32_t
evidence_flow(const struct evidence *ev, const struct rec_tuple *tuple)
{
	uint32_t lo = 0, hi = ev->nflows;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int cmp = evidence_tuple_cmp(&ev->flows[mid].tuple, tuple);

		if (cmp == 0)
			return mid;
		if (cmp < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

char *
evidence_port_name(const struct evidence *ev, uint32_t port, char *buf)
{
	const struct ev_port *p = &ev->ports[port];

	snprintf(buf, 48, "%s:%u", ev->nodes[p->node].name, p->index + 1u);
	return buf;
}

#define ENDPOINT_NAME 48 /* 37 are used: a name, a colon, a port number */

static void
endpoint_name(const struct evidence *ev, uint32_t port, uint32_t ip, char *buf)
{
	if (port != EV_NONE && ev->nodes[ev->ports[port].node].nports > 1)
		evidence_port_name(ev, port, buf);
	else if (port != EV_NONE)
		snprintf(buf, ENDPOINT_NAME, "%s", ev->nodes[ev->ports[port].node].name);
	else
		snprintf(buf, ENDPOINT_NAME, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
}

char *
evidence_flow_name(const struct evidence *ev, uint32_t flow, char *buf)
{
	const struct ev_flow *f = &ev->flows[flow];
	char src[ENDPOINT_NAME], dst[ENDPOINT_NAME];

	endpoint_name(ev, f->src_port, f->tuple.src_ip, src);
	endpoint_name(ev, f->dst_port, f->tuple.dst_ip, dst);
	snprintf(buf, 96, "%.38s->%.38s/%u>%u", src, dst, f->tuple.sport, f->tuple.dport);
	return buf;
}

static int
describe_ports(struct evidence *ev, struct err *err)
{
	for (uint32_t i = 0; i < ev->port_recs.count; i++) {
		const struct rec_port *rec = EV_AT(ev->port_recs, struct rec_port, i);
		uint32_t id = evidence_port(ev, rec->hdr.node, rec->port);
		struct ev_port *port;

		if (id == EV_NONE)
			return err_set(err, -EINVAL, "port record of node %u port %u, which no node record has",
				       rec->hdr.node, rec->port);
		port = &ev->ports[id];
		port->known = true;
		port->ip = rec->ip;
		port->rate_bps = rec->rate_bps;
		port->delay_ps = rec->delay_ps;
		if (rec->peer == REC_NONE)
			continue;
		port->peer = evidence_port(ev, rec->peer, rec->peer_port);
		if (port->peer == EV_NONE)
			return err_set(err, -EINVAL, "port %u of node %u leads to port %u of node %u: there is none",
				       rec->port, rec->hdr.node, rec->peer_port, rec->peer);
		port->peer_node = rec->peer;
	}
	return 0;
}

/* Reports without a port: their nodes must be known all the same. */
static int
check_reporters(const struct evidence *ev, struct err *err)
{
	const struct {
		const struct ev_vec *vec;
		size_t size_bytes;
	} kinds[] = {
		{ &ev->step_recs, sizeof(struct rec_step) },
		{ &ev->triggers, sizeof(struct rec_trigger) },
		{ &ev->notifies, sizeof(struct rec_notify) },
		{ &ev->polls, sizeof(struct rec_poll) },
	};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (uint32_t i = 0; i < kinds[k].vec->count; i++) {
			const struct rec_hdr *hdr = ev_vec_at(kinds[k].vec, kinds[k].size_bytes, i);

			if (hdr->node >= ev->nnodes || !ev->nodes[hdr->node].known)
				return err_set(err, -EINVAL, "record type %u of node %u, which is not described",
					       hdr->type, hdr->node);
		}
	}
	return 0;
}

int
evidence_join_nodes(struct evidence *ev, struct err *err)
{
	int rc;

	uint32_t count = ev->node_recs.count;
	uint32_t total = 0;

	if (count != 0)
		ev->nnodes = EV_AT(ev->node_recs, struct rec_node, count - 1)->hdr.node + 1;
	ev->nodes = evidence_alloc(ev->nnodes, sizeof(*ev->nodes), err);
	if (ev->nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_node *rec = EV_AT(ev->node_recs, struct rec_node, i);
		struct ev_node *node = &ev->nodes[rec->hdr.node];

		copy_name(node->name, rec->name);
		node->known = true;
		node->host = rec->kind == 1;
		node->first_port = total;
		node->nports = rec->nports;
		total += rec->nports;
		if (total > EV_MAX_PORTS)
			return err_set(err, -EINVAL, "more than %u ports", EV_MAX_PORTS);
	}
	ev->nports = total;
	ev->ports = evidence_alloc(total, sizeof(*ev->ports), err);
	if (ev->ports == NULL)
		return -ENOMEM;
	for (uint32_t n = 0; n < ev->nnodes; n++) {
		for (uint32_t p = 0; p < ev->nodes[n].nports; p++)
			ev->ports[ev->nodes[n].first_port + p] = (struct ev_port){
				.node = n, .index = (uint16_t)p, .peer = EV_NONE, .peer_node = EV_NONE };
	}
	rc = describe_ports(ev, err);
	return rc != 0 ? rc : check_reporters(ev, err);
}

struct address {
	uint32_t ip, port;
};

static int
cmp_address(const void *pa, const void *pb)
{
	const struct address *a = pa, *b = pb;

	if (a->ip != b->ip)
		return a->ip < b->ip ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

static uint32_t
port_of_ip(const struct address *addresses, uint32_t count, uint32_t ip)
{
	uint32_t lo = 0, hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (addresses[mid].ip == ip)
			return addresses[mid].port;
		if (addresses[mid].ip < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

static int
resolve_addresses(struct evidence *ev, struct err *err)
{
	struct address *addresses = evidence_alloc(ev->nports, sizeof(*addresses), err);
	uint32_t count = 0;

	if (addresses == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < ev->nports; p++) {
		if (ev->ports[p].ip != 0)
			addresses[count++] = (struct address){ ev->ports[p].ip, p };
	}
	qsort(addresses, count, sizeof(*addresses), cmp_address);
	for (uint32_t f = 0; f < ev->nflows; f++) {
		struct ev_flow *flow = &ev->flows[f];

		flow->src_port = port_of_ip(addresses, count, flow->tuple.src_ip);
		flow->dst_port = port_of_ip(addresses, count, flow->tuple.dst_ip);
		flow->src = flow->src_port != EV_NONE ? ev->ports[flow->src_port].node : EV_NONE;
		flow->dst = flow->dst_port != EV_NONE ? ev->ports[flow->dst_port].node : EV_NONE;
	}
	free(addresses);
	return 0;
}

static int
cmp_flow(const void *a, const void *b)
{
	return evidence_tuple_cmp(&((const struct ev_flow *)a)->tuple, &((const struct ev_flow *)b)->tuple);
}

/* Where each kind of record that names a flow keeps its tuple. */
static const struct {
	size_t vec, size_bytes, tuple;
} tuple_sources[] = {
	{ offsetof(struct evidence, schedule), sizeof(struct rec_schedule), offsetof(struct rec_schedule, flow) },
	{ offsetof(struct evidence, routes), sizeof(struct rec_route), offsetof(struct rec_route, flow) },
	{ offsetof(struct evidence, triggers), sizeof(struct rec_trigger), offsetof(struct rec_trigger, flow) },
	{ offsetof(struct evidence, polls), sizeof(struct rec_poll), offsetof(struct rec_poll, victim) },
	{ offsetof(struct evidence, flow_rows), sizeof(struct rec_flow_row), offsetof(struct rec_flow_row, flow) },
	{ offsetof(struct evidence, matrix_rows), sizeof(struct rec_matrix_row),
	  offsetof(struct rec_matrix_row, flow) },
	{ offsetof(struct evidence, matrix_rows), sizeof(struct rec_matrix_row),
	  offsetof(struct rec_matrix_row, other) },
	{ offsetof(struct evidence, drops), sizeof(struct rec_drop_row), offsetof(struct rec_drop_row, last) },
};
#define NSOURCES (sizeof(tuple_sources) / sizeof(tuple_sources[0]))

/* A link that was cut while nothing waited for it: there is no last packet. */
static bool
is_empty_drop(const void *rec)
{
	return ((const struct rec_hdr *)rec)->type == REC_DROP_ROW && ((const struct rec_drop_row *)rec)->packets == 0;
}

int
evidence_join_flows(struct evidence *ev, struct err *err)
{
	uint64_t cap = 0;
	uint32_t count = 0, kept = 0;

	for (size_t s = 0; s < NSOURCES; s++)
		cap += ((const struct ev_vec *)((const char *)ev + tuple_sources[s].vec))->count;
	ev->flows = cap < UINT32_MAX ? evidence_alloc(cap, sizeof(*ev->flows), err) : NULL;
	if (ev->flows == NULL)
		return err_set(err, -ENOMEM, "out of memory for %" PRIu64 " flows", cap);
	for (size_t s = 0; s < NSOURCES; s++) {
		const struct ev_vec *vec = (const struct ev_vec *)((const char *)ev + tuple_sources[s].vec);

		for (uint32_t i = 0; i < vec->count; i++) {
			const char *rec = ev_vec_at(vec, tuple_sources[s].size_bytes, i);

			if (is_empty_drop(rec))
				continue;
			memcpy(&ev->flows[count].tuple, rec + tuple_sources[s].tuple, sizeof(struct rec_tuple));
			ev->flows[count++].tuple.reserved = 0;
		}
	}
	qsort(ev->flows, count, sizeof(*ev->flows), cmp_flow);
	for (uint32_t i = 0; i < count; i++) {
		if (kept == 0 || cmp_flow(&ev->flows[kept - 1], &ev->flows[i]) != 0)
			ev->flows[kept++] = ev->flows[i];
	}
	ev->nflows = kept;
	if (kept != 0) { /* many rows name few flows */
		struct ev_flow *fit = realloc(ev->flows, kept * sizeof(*fit));

		if (fit != NULL)
			ev->flows = fit;
	}
	for (uint32_t i = 0; i < ev->schedule.count; i++) {
		uint32_t f = evidence_flow(ev, &EV_AT(ev->schedule, struct rec_schedule, i)->flow);

		ev->flows[f].collective = true;
	}
	return resolve_addresses(ev, err);
}
