/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/switch_answer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "dpswitch/pipeline/route.h"
#include "dpswitch/pipeline/switch.h"

_Static_assert(sizeof(struct swm_list) + SWM_MAX_QUERIES * sizeof(struct swm_query) <= SWM_MAX_REQUEST, "EGRESS");
_Static_assert(sizeof(struct swm_list) + SWM_MAX_QUERIES * SWM_EGRESS_ROWS * sizeof(struct swm_egress) <= SWM_MAX_REPLY,
	       "EGRESSES");
_Static_assert(ROUTE_SET_PARTS <= SWM_EGRESS_ROWS, "ports of equal cost");
_Static_assert(sizeof(struct swm_list) + TOPO_MAX_PORTS * sizeof(struct swm_port) <= SWM_MAX_REPLY, "PORTS");
_Static_assert(sizeof(struct swm_flows) + SWM_MAX_FLOWS * sizeof(struct swm_flow) <= SWM_MAX_REPLY, "FLOW_LIST");
_Static_assert(sizeof(struct swm_samples) + SWM_MAX_SAMPLES * sizeof(struct swm_sample) <= SWM_MAX_REPLY, "SAMPLE_LIST");
_Static_assert(TOPO_MAX_PORTS <= UINT8_MAX, "a port fits a byte of struct swm_egress");

/* A request's body, and where its reply is made. */
struct exchange {
	const struct answer_device *device;
	uint32_t tag;
	const void *body;
	size_t size; /* of the body */
	struct swm_hdr *hdr;
	void *reply; /* behind hdr */
};

static size_t
finish(const struct exchange *x, enum swm_type type, size_t size)
{
	*x->hdr = (struct swm_hdr){ SWM_MAGIC, SWM_VERSION, (uint16_t)type, (uint32_t)size, x->tag };
	return sizeof(*x->hdr) + size;
}

static size_t __attribute__((format(printf, 2, 3))) refuse(const struct exchange *x, const char *format, ...)
{
	struct swm_refused *refused = x->reply;
	va_list args;

	memset(refused, 0, sizeof(*refused));
	va_start(args, format);
	vsnprintf(refused->text, sizeof(refused->text), format, args);
	va_end(args);
	return finish(x, SWM_REFUSED, sizeof(*refused));
}

static const char *
name_of(const struct exchange *x)
{
	return x->device->topo->nodes[x->device->node].name;
}

/* Repeats an answer for each part of its set of ports. @return the number of its rows */
static uint32_t
add_members(struct swm_egress *rows, const uint8_t *members, uint32_t count)
{
	const struct swm_egress answer = rows[0];
	uint32_t next = 0, n = 0;

	do {
		struct route_set_part part;

		next = route_set_part(members, count, next, &part);
		rows[n] = answer;
		memcpy(rows[n].members, part.bits, sizeof(rows[n].members));
		rows[n].first = part.first;
		rows[n++].more = next < count;
	} while (next < count);
	return n;
}

uint32_t
answer_headers(const struct sw *sw, const struct flow_index *index, const struct swm_query *query, struct swm_egress *rows)
{
	const struct switch_query asked = {
		.tuple = { .src_ip = query->src_ip, .dst_ip = query->dst_ip, .sport = query->sport, .dport = query->dport },
		.in_port = query->in_port,
	};
	struct swm_egress *egress = &rows[0];
	struct switch_lookup found;

	*egress = (struct swm_egress){ .port = SWM_NO_PORT };

	switch (switch_lookup_tuple(sw, index, &asked, &found)) {
	case LOOKUP_NO_ADDRESS:
		egress->result = SWM_NO_ADDRESS;
		return 1;
	case LOOKUP_NO_INGRESS:
		egress->result = SWM_NO_INGRESS;
		return 1;
	case LOOKUP_KNOWN:
	default:
		break;
	}
	egress->pinned = found.is_pinned;
	if (found.egress == SWITCH_EGRESS_DROP) {
		egress->result = SWM_DROPPED;
		egress->reason = (uint8_t)found.reason;
		egress->port = found.drop_port != LOOKUP_NO_PORT ? found.drop_port : SWM_NO_PORT;
	} else if (found.egress == SWITCH_EGRESS_SPRAY) {
		egress->result = SWM_SPRAYED;
	} else {
		egress->result = SWM_FORWARDED;
		egress->port = found.egress;
	}
	return add_members(rows, found.members, found.nmembers);
}

static size_t
answer_egress(const struct exchange *x)
{
	const struct swm_list *asked = x->body;
	const struct swm_query *queries = (const void *)(asked + 1);
	struct swm_list *list = x->reply;
	struct swm_egress *rows = (void *)(list + 1);
	uint32_t count = 0;

	if (x->device->sw == NULL)
		return refuse(x, "%s is a host: only switches report the egress of headers", name_of(x));
	if (x->size < sizeof(*asked) || asked->count > SWM_MAX_QUERIES ||
	    x->size != sizeof(*asked) + asked->count * sizeof(*queries))
		return refuse(x,
			      "EGRESS of %zu B; right would be a list of at most %u queries, %zu B each, with its length",
			      x->size, SWM_MAX_QUERIES, sizeof(*queries));
	for (uint32_t i = 0; i < asked->count; i++)
		count += answer_headers(x->device->sw, x->device->index, &queries[i], &rows[count]);
	*list = (struct swm_list){ .count = count };
	return finish(x, SWM_EGRESSES, sizeof(*list) + count * sizeof(*rows));
}

/* Reasons that an ingress counts: the packet could not be used, or found no room. The others are an egress's. */
static const uint8_t in_errors[] = { REC_DROP_CORRUPT };
static const uint8_t in_discards[] = { REC_DROP_NO_BUFFER, REC_DROP_TTL, REC_DROP_MTU };
static const uint8_t out_discards[] = { REC_DROP_LINK_DOWN, REC_DROP_NO_ROUTE, REC_DROP_BLACKHOLE, REC_DROP_QUEUE_FULL,
					REC_DROP_WATCHDOG };

static uint64_t
drops_of(const struct switch_port *port, const uint8_t *reasons, size_t count)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < count; i++)
		packets += port->telem.drops->of[reasons[i]].packets;
	return packets;
}

struct swm_port
answer_port(const struct sw *sw, uint16_t index)
{
	const struct switch_port *port = &sw->ports[index];
	uint64_t packets = 0, bytes = 0;

	egress_held(&port->egress, &packets, &bytes);
	return (struct swm_port){
		.speed_bps = port->egress.tx->rate_bps,
		.port = index,
		.is_up = !port->egress.tx->down,
		.rx_pause = port->egress.paused,
		.tx_pause = switch_pausing(sw, index),
		.in_pkts = sw->node.rx[index]->received_frames,
		.out_pkts = port->egress.tx->sent_frames,
		.in_octets = sw->node.rx[index]->received_bytes,
		.out_octets = port->egress.sent_bytes,
		.in_errors = drops_of(port, in_errors, ARRAY_LEN(in_errors)),
		.in_discards = drops_of(port, in_discards, ARRAY_LEN(in_discards)),
		.out_discards = drops_of(port, out_discards, ARRAY_LEN(out_discards)),
		.queue_octets = bytes,
	};
}

static size_t
answer_counters(const struct exchange *x)
{
	const struct sw *sw = x->device->sw;
	struct swm_list *list = x->reply;
	struct swm_port *rows = (void *)(list + 1);

	if (sw == NULL)
		return refuse(x, "%s is a host: only switches have counters of ports here", name_of(x));
	if (x->size != 0)
		return refuse(x, "COUNTERS of %zu B; right would be no body", x->size);
	*list = (struct swm_list){ .count = sw->node.nports };
	for (uint16_t i = 0; i < sw->node.nports; i++)
		rows[i] = answer_port(sw, i);
	return finish(x, SWM_PORTS, sizeof(*list) + sw->node.nports * sizeof(*rows));
}

static size_t
answer_samples(const struct exchange *x)
{
	const struct sw *sw = x->device->sw;
	const struct swm_sampled *asked = x->body;
	struct swm_samples *list = x->reply;

	if (sw == NULL)
		return refuse(x, "%s is a host: only switches sample packets", name_of(x));
	if (x->size != sizeof(*asked))
		return refuse(x, "SAMPLES of %zu B; right would be %zu B", x->size, sizeof(*asked));
	if (sw->samples == NULL)
		return refuse(x, "%s samples no packets: set switch.sampling", name_of(x));
	if (!switch_samples_list(sw->samples, asked->port, list, (void *)(list + 1)))
		return refuse(x, "port %u of %s is none to a host; others are not sampled", asked->port, name_of(x));
	return finish(x, SWM_SAMPLE_LIST, sizeof(*list) + list->count * sizeof(struct swm_sample));
}

static bool
matches(const struct swm_flow *flow, const struct swm_filter *filter)
{
	return (filter->dst_ip == 0 || filter->dst_ip == flow->dst_ip) &&
	       (filter->job == SWM_ANY || filter->job == flow->job) &&
	       (filter->dport == 0 || filter->dport == flow->dport) &&
	       (filter->protocol == 0 || filter->protocol == flow->protocol);
}

static size_t
answer_flows(const struct exchange *x)
{
	const struct host_flows *flows = &x->device->flows;
	const struct swm_filter *filter = x->body;
	struct swm_flows *list = x->reply;
	struct swm_flow *rows = (void *)(list + 1), flow;
	uint32_t count;

	if (x->device->sw != NULL)
		return refuse(x, "%s is a switch: only hosts have flows", name_of(x));
	if (x->size != sizeof(*filter))
		return refuse(x, "FLOWS of %zu B; right would be %zu B", x->size, sizeof(*filter));
	count = flows->count(flows->ctx);
	*list = (struct swm_flows){ .from = filter->from };
	for (uint32_t i = 0; i < count; i++) {
		if (!flows->get(flows->ctx, i, &flow) || !matches(&flow, filter))
			continue;
		if (list->total++ >= filter->from && list->count < SWM_MAX_FLOWS)
			rows[list->count++] = flow;
	}
	return finish(x, SWM_FLOW_LIST, sizeof(*list) + list->count * sizeof(*rows));
}

static struct exchange
begin(const struct answer_device *device, void *reply)
{
	struct swm_hdr *hdr = reply;

	return (struct exchange){ .device = device, .hdr = hdr, .reply = hdr + 1 };
}

size_t
answer_hello(const struct answer_device *device, void *reply)
{
	const struct topo_node *node = &device->topo->nodes[device->node];
	struct exchange x = begin(device, reply);
	struct swm_hello *hello = x.reply;

	*hello = (struct swm_hello){
		.node = device->node,
		.device = node->kind == TOPO_SWITCH ? SWM_SWITCH : SWM_HOST,
		.ports = node->nports,
	};
	snprintf(hello->name, sizeof(hello->name), "%s", node->name);
	return finish(&x, SWM_HELLO, sizeof(*hello));
}

size_t
answer_request(const struct answer_device *device, const void *request, size_t size, void *reply)
{
	const struct swm_hdr *asked = request;
	struct exchange x = begin(device, reply);

	if (size < sizeof(*asked) || asked->magic != SWM_MAGIC || asked->size != size - sizeof(*asked))
		return refuse(&x, "%zu B; right would be a header of %zu B with the size of the message", size,
			      sizeof(*asked));
	x.tag = asked->tag;
	x.body = asked + 1;
	x.size = asked->size;
	if (asked->version != SWM_VERSION)
		return refuse(&x, "version %u; right would be %u", asked->version, SWM_VERSION);
	switch (asked->type) {
	case SWM_EGRESS:
		return answer_egress(&x);
	case SWM_COUNTERS:
		return answer_counters(&x);
	case SWM_FLOWS:
		return answer_flows(&x);
	case SWM_SAMPLES:
		return answer_samples(&x);
	default:
		return refuse(&x, "type %u; right would be EGRESS (%u), COUNTERS (%u), FLOWS (%u) or SAMPLES (%u)",
			      asked->type, SWM_EGRESS, SWM_COUNTERS, SWM_FLOWS, SWM_SAMPLES);
	}
}
