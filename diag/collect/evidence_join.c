/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over sorted records: nodes and ports get ids. */
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
	if (node >= ev->nnodes || index >= ev->nodes[node].nports)
		return EV_NONE;
	return ev->nodes[node].first_port + index;
}

char *
evidence_port_name(const struct evidence *ev, uint32_t port, char *buf)
{
	const struct ev_port *p = &ev->ports[port];

	snprintf(buf, 48, "%s:%u", ev->nodes[p->node].name, p->index + 1u);
	return buf;
}

#define ENDPOINT_NAME 48 /* 37 are used: a name, a colon, a port number */

/* NICs with addresses of their own; those of a bond have one. */
static bool
has_several_addresses(const struct evidence *ev, const struct ev_node *node)
{
	return node->nports > 1 && ev->ports[node->first_port].ip != ev->ports[node->first_port + 1].ip;
}

static void
endpoint_name(const struct evidence *ev, uint32_t port, uint32_t ip, char *buf)
{
	if (port != EV_NONE && has_several_addresses(ev, &ev->nodes[ev->ports[port].node]))
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

static void
describe_ports(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->port_recs.count; i++) {
		const struct rec_port *rec = EV_AT(ev->port_recs, struct rec_port, i);
		struct ev_port *port = &ev->ports[evidence_port(ev, rec->hdr.node, rec->port)];

		port->ip = rec->ip;
		port->rate_bps = rec->rate_bps;
		port->delay_ps = rec->delay_ps;
		if (rec->peer == REC_NONE)
			continue;
		port->peer = evidence_port(ev, rec->peer, rec->peer_port);
		port->peer_node = rec->peer;
	}
}

int
evidence_join_nodes(struct evidence *ev, struct err *err)
{
	uint32_t total = 0;

	ev->nnodes = ev->node_recs.count;
	ev->nodes = evidence_alloc(ev->nnodes, sizeof(*ev->nodes), err);
	if (ev->nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->nnodes; i++) {
		const struct rec_node *rec = EV_AT(ev->node_recs, struct rec_node, i);
		struct ev_node *node = &ev->nodes[i];

		copy_name(node->name, rec->name);
		node->host = rec->kind == 1;
		node->first_port = total;
		node->nports = rec->nports;
		total += rec->nports;
	}
	ev->nports = total;
	ev->ports = evidence_alloc(total, sizeof(*ev->ports), err);
	if (ev->ports == NULL)
		return -ENOMEM;
	for (uint32_t n = 0; n < ev->nnodes; n++) {
		for (uint32_t p = 0; p < ev->nodes[n].nports; p++)
			ev->ports[ev->nodes[n].first_port + p] =
				(struct ev_port){ .node = n, .index = (uint16_t)p, .peer = EV_NONE, .peer_node = EV_NONE };
	}
	describe_ports(ev);
	return 0;
}
