/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/boundary.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "emulation/emulation.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/* Contents of data segments from other boundary, while their descriptors travel (dpswitch/fabric/body.h). */

static void
release(struct bodies *bodies, const struct pkt *p)
{
	struct segments *segments = (struct segments *)bodies;
	bool used;

	assert(p->arg < segments->cap);
	used = atomic_exchange_explicit(&segments->slots[p->arg].used, false, memory_order_release);
	assert(used); /* else it was given back twice */
}

static bool
read_segment(const struct bodies *bodies, uint32_t handle, struct body *body)
{
	return segments_read((const struct segments *)bodies, handle, body);
}

static const struct body_ops ops = { release, read_segment };

static void
segments_init(struct segments *segments)
{
	*segments = (struct segments){ .base.ops = &ops };
}

static void
segments_fini(struct segments *segments)
{
	for (size_t i = 0; i < segments->cap; i++)
		free(segments->slots[i].bytes);
	free(segments->slots);
	free(segments->free);
	*segments = (struct segments){ 0 };
}

bool
segments_read(const struct segments *segments, uint32_t handle, struct body *body)
{
	if (handle >= segments->cap || !atomic_load_explicit(&segments->slots[handle].used, memory_order_relaxed))
		return false;
	*body = segments->slots[handle].body;
	return true;
}

/* The arg of a descriptor, with or without contents. */
static uint32_t
segments_imm(const struct segments *segments, const struct pkt *p)
{
	return p->flags & PKT_BYTES ? segments->slots[p->arg].body.imm : p->arg;
}

/* Finds those that have been released, and makes more where these are few. Between windows. */
static void
refill(struct segments *segments)
{
	size_t cap = segments->cap;

	for (size_t i = cap; i-- > 0;)
		if (!atomic_load_explicit(&segments->slots[i].used, memory_order_acquire))
			segments->free[segments->nfree++] = (uint32_t)i;
	if (segments->nfree > cap / 2)
		return;
	segments->slots =
		grow(segments->slots, &segments->cap, cap + 1, sizeof(*segments->slots), "contents of other partitions");
	segments->free = grow(segments->free, &segments->free_cap, segments->cap, sizeof(*segments->free), "their handles");
	memset(segments->slots + cap, 0, (segments->cap - cap) * sizeof(*segments->slots));
	for (size_t i = segments->cap; i-- > cap;)
		segments->free[segments->nfree++] = (uint32_t)i;
}

/* A descriptor gets contents of its own: PKT_BYTES. @param flow  that it belongs to */
static void
segments_put(struct segments *segments, struct pkt *p, const struct pkt_message *message, const struct flow *flow)
{
	struct segment *slot;
	uint32_t handle;

	if (segments->nfree == 0)
		refill(segments);
	handle = segments->free[--segments->nfree];
	slot = &segments->slots[handle];
	slot->bytes = grow(slot->bytes, &slot->cap_bytes, p->payload_bytes + 1u, 1, "contents of other partitions");
	memcpy(slot->bytes, message->payload, p->payload_bytes);
	slot->body = (struct body){
		.opcode = p->opcode,
		.labelled = true,
		.dst_qpn = flow->dst_qpn,
		.src_qpn = flow->src_qpn,
		.imm = p->arg,
		.va = message->va,
		.dma_bytes = message->dma_bytes,
		.payload = slot->bytes,
		.payload_bytes = p->payload_bytes,
	};
	atomic_store_explicit(&slot->used, true, memory_order_relaxed);
	p->arg = handle;
	p->flags |= PKT_BYTES;
}

/* Frames that leave, and frames that enter. */

int
boundary_init(struct boundary *boundary, const struct scenario *scenario, const uint32_t *partition_of, uint32_t partition)
{
	const struct topo *topo = scenario->topo;

	*boundary = (struct boundary){
		.scenario = scenario,
		.partition_of = partition_of,
		.bare = scenario->nexternal == 0 && !scenario->roce.real_payload,
		.crossings = calloc(topo->nports + 1u, sizeof(*boundary->crossings)),
		.crossing_of = calloc(topo->nports + 1u, sizeof(*boundary->crossing_of)),
		.leaving = calloc(topo->nports + 1u, sizeof(*boundary->leaving)),
	};
	segments_init(&boundary->segments);
	if (boundary->crossings == NULL || boundary->crossing_of == NULL || boundary->leaving == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];

		boundary->crossing_of[i] = TOPO_NONE;
		if (partition_of[port->node] == partition || partition_of[port->peer] != partition)
			continue;
		boundary->crossing_of[i] = boundary->count;
		boundary->leaving[boundary->count] = port->peer_port;
		boundary->crossings[boundary->count++] =
			(struct boundary_crossing){ .port = i, .from = partition_of[port->node] };
	}
	return 0;
}

void
boundary_fini(struct boundary *boundary)
{
	for (uint32_t i = 0; boundary->crossings != NULL && i < boundary->count; i++) {
		free(boundary->crossings[i].frames);
		free(boundary->crossings[i].pauses);
	}
	free(boundary->crossings);
	free(boundary->crossing_of);
	free(boundary->leaving);
	segments_fini(&boundary->segments);
	*boundary = (struct boundary){ 0 };
}

/* The store for the bytes of packets. */
static struct bodies *
bodies_of(const struct boundary *boundary)
{
	return boundary->emulation->fabric->config.bodies;
}

static struct link *
link_of(const struct boundary *boundary, uint32_t port)
{
	return &boundary->emulation->fabric->links[port];
}

/* The MAC at our end of a cable has counted the window before. */
static void
count_sent(struct boundary_crossing *crossing, struct link *link)
{
	link->sent_frames += crossing->sent.frames;
	link->sent_bytes += crossing->sent.bytes;
	for (uint32_t c = 0; c < ARRAY_LEN(crossing->sent.pauses); c++)
		link->sent_pauses[c] += crossing->sent.pauses[c];
	memset(&crossing->sent, 0, sizeof(crossing->sent));
}

void
boundary_stop(struct boundary *boundary)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i];

		for (; crossing->frames_head < crossing->frames_used; crossing->frames_head++)
			body_release(bodies_of(boundary), &crossing->frames[crossing->frames_head].p);
		count_sent(crossing, link_of(boundary, boundary->leaving[i]));
	}
}

void
boundary_renew(struct boundary *boundary)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i],
					 fresh = { .port = crossing->port, .from = crossing->from };

		fresh.frames = crossing->frames;
		fresh.frames_cap = crossing->frames_cap;
		fresh.pauses = crossing->pauses;
		fresh.pauses_cap = crossing->pauses_cap;
		*crossing = fresh;
	}
	boundary->crossed = (struct partition_crossed){ 0 };
}

uint64_t
boundary_next_ps(const struct boundary *boundary)
{
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < boundary->count; i++) {
		const struct boundary_crossing *crossing = &boundary->crossings[i];

		if (crossing->frames_head < crossing->frames_used &&
		    crossing->frames[crossing->frames_head].p.time_ps < next_ps)
			next_ps = crossing->frames[crossing->frames_head].p.time_ps;
		if (crossing->pauses_head < crossing->pauses_used &&
		    crossing->pauses[crossing->pauses_head].time_ps < next_ps)
			next_ps = crossing->pauses[crossing->pauses_head].time_ps;
	}
	return next_ps;
}

static bool
lost_in_transit(const struct boundary_crossing *crossing, const struct link *link, uint64_t time_ps)
{
	return crossing->down_ps != 0 && time_ps - link->delay_ps < crossing->down_ps;
}

static int
enter_frames(struct boundary *boundary, struct boundary_crossing *crossing, const struct window *window, struct err *err)
{
	struct link *link = link_of(boundary, crossing->port);
	struct partition_crossed *crossed = &boundary->crossed;
	uint32_t parity = window->parity ^ 1;

	for (; crossing->frames_head < crossing->frames_used; crossing->frames_head++) {
		const struct boundary_frame *frame = &crossing->frames[crossing->frames_head];
		uint64_t left_ps = frame->p.time_ps - link->delay_ps;

		/* Faults affect those that are on the cable already, as in a fabric that is not partitioned. */
		if (frame->p.time_ps >= window->end_ps &&
		    (left_ps >= window->start_ps || !link_has_room(link, parity, false)))
			break;
		crossed->in_packets++;
		crossed->in_bytes += frame->p.wire_bytes;
		if (lost_in_transit(crossing, link, frame->p.time_ps)) {
			body_release(bodies_of(boundary), &frame->p);
			link->down_packets++;
			link->down_bytes += frame->p.wire_bytes;
			continue;
		}
		if (!link_has_room(link, parity, false))
			return err_set(err, -EPROTO, "it sends more frames than its cable carries");
		if (frame->p.flags & PKT_INT)
			link_send_int(link, parity, &frame->p, &frame->header, frame->p.time_ps - link->delay_ps);
		else
			link_send(link, parity, &frame->p, frame->p.time_ps - link->delay_ps);
	}
	if (crossing->frames_head == crossing->frames_used)
		crossing->frames_head = crossing->frames_used = 0;
	return 0;
}

static int
enter_pauses(struct boundary *boundary, struct boundary_crossing *crossing, const struct window *window, struct err *err)
{
	struct link *link = link_of(boundary, crossing->port);
	uint32_t parity = window->parity ^ 1;

	for (; crossing->pauses_head < crossing->pauses_used &&
	       crossing->pauses[crossing->pauses_head].time_ps < window->end_ps;
	     crossing->pauses_head++) {
		const struct pause_frame *pause = &crossing->pauses[crossing->pauses_head];

		if (lost_in_transit(crossing, link, pause->time_ps))
			continue;
		if (!link_has_room(link, parity, true))
			return err_set(err, -EPROTO, "it sends more PAUSE frames than its cable carries");
		crossing->pausing =
			pause->xoff ? crossing->pausing | pause->prio_mask : crossing->pausing & (uint8_t)~pause->prio_mask;
		link_send_pause(link, parity, pause->prio_mask, pause->xoff, pause->time_ps - link->delay_ps);
	}
	if (crossing->pauses_head == crossing->pauses_used)
		crossing->pauses_head = crossing->pauses_used = 0;
	return 0;
}

static void
put_pause(struct boundary *boundary, uint32_t port, uint64_t time_ps, uint8_t prio_mask, bool xoff)
{
	const struct topo_port *from = &boundary->scenario->topo->ports[port];
	const struct partition_pause pause = { .time_ps = time_ps, .port = port, .prio_mask = prio_mask, .xoff = xoff };

	channel_put(boundary->channels[boundary->partition_of[from->peer]], PARTITION_PAUSE, &pause, sizeof(pause), NULL,
		    0);
}

/*
 * A fault has mended the cable. Our end comes up with those classes paused that the other end last asked to hold. The
 * other end receives what ours holds one delay later: headroom absorbs what it sends until then.
 */
static void
mended(struct boundary *boundary, struct boundary_crossing *crossing, uint32_t leaving, const struct window *window)
{
	const struct topo_port *port = &boundary->scenario->topo->ports[leaving];
	struct node *node = boundary->emulation->fabric->nodes[port->node];
	struct link *link = link_of(boundary, crossing->port);
	uint64_t time_ps = window->start_ps + link_of(boundary, leaving)->delay_ps;
	uint8_t held = node->ops->pausing(node, port->index);

	if (crossing->pausing != 0)
		link_send_pause(link, window->parity ^ 1, crossing->pausing, true, window->start_ps - link->delay_ps);
	put_pause(boundary, leaving, time_ps, (uint8_t)~held, false);
	if (held != 0)
		put_pause(boundary, leaving, time_ps, held, true);
}

int
boundary_entering(struct boundary *boundary, const struct window *window, uint32_t *from, struct err *err)
{

	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i];
		bool down = link_of(boundary, crossing->port)->down;
		int ret;

		if (down && !crossing->down)
			crossing->down_ps = window->start_ps;
		if (!down && crossing->down)
			mended(boundary, crossing, boundary->leaving[i], window);
		crossing->down = down;
		ret = enter_pauses(boundary, crossing, window, err);
		if (ret == 0)
			ret = enter_frames(boundary, crossing, window, err);
		*from = crossing->from;
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* @return the additional bytes of a message's segment; 0: it has no contents */
static size_t
contents_of(const struct boundary *boundary, const struct pkt *p, uint8_t *more)
{
	struct partition_contents contents = { 0 };
	struct pkt_message message = { 0 };
	struct body body;

	if (p->type == PKT_DATA && !(p->flags & PKT_BYTES))
		embedded_describe(boundary->emulation->shared, &boundary->scenario->roce, p, &message);
	else if (p->type == PKT_DATA && segments_read(&boundary->segments, p->arg, &body))
		message = (struct pkt_message){ .va = body.va, .dma_bytes = body.dma_bytes, .payload = body.payload };
	if (message.payload == NULL)
		return 0;
	contents.va = message.va;
	contents.dma_bytes = message.dma_bytes;
	memcpy(more, &contents, sizeof(contents));
	memcpy(more + sizeof(contents), message.payload, p->payload_bytes);
	return sizeof(contents) + p->payload_bytes;
}

static struct partition_packet
packet_of(const struct pkt *p)
{
	return (struct partition_packet){
		.time_ps = p->time_ps,
		.flow = p->flow,
		.psn = p->id,
		.arg = p->arg,
		.wire_bytes = p->wire_bytes,
		.payload_bytes = p->payload_bytes,
		.opcode = p->opcode,
		.syndrome = p->syndrome,
		.type = p->type,
		.prio = p->prio,
		.flags = p->flags,
		.ttl = p->ttl,
	};
}

/*
 * The data that travels with a descriptor, and the fields that change for that.
 * @return additional bytes; -ENOBUFS: the packet ends here, which is counted
 */
static int
put_contents(struct boundary *boundary, const struct pkt *p, struct partition_frame *frame, uint8_t *more, size_t cap)
{
	size_t size = 0;

	if (p->type == PKT_UD && boundary->scenario->nexternal == 0) {
		size = embedded_datagram_get(boundary->emulation->shared, p, more);
		frame->has_contents = size != 0;
	} else if (boundary->scenario->nexternal != 0) {
		const struct host_driver *kernel_driver = &boundary->emulation->drivers.rows[1];
		bool known = !(p->flags & PKT_BYTES) && p->flow < boundary->scenario->plan->flows.count;

		if (!known)
			size = kernel_driver->ops->bytes(kernel_driver->ctx, p, more, cap);
		frame->has_bytes = size != 0;
		body_release(bodies_of(boundary), p);
		if (size == 0 && !known)
			return -ENOBUFS;
	} else if (boundary->scenario->roce.real_payload) {
		size = contents_of(boundary, p, more);
		frame->has_contents = size != 0;
		frame->packet.arg = segments_imm(&boundary->segments, p);
		body_release(bodies_of(boundary), p);
	}
	frame->packet.flags &= (uint8_t)~PKT_BYTES;
	return (int)size;
}

static void
put_frame(struct boundary *boundary, uint32_t port, const struct pkt *p, const struct int_header *header)
{
	uint32_t to = boundary->partition_of[boundary->scenario->topo->ports[port].peer];
	uint8_t more[sizeof(struct partition_int) + sizeof(struct partition_contents) + UINT16_MAX];
	struct partition_frame frame = { .packet = packet_of(p), .port = port };
	size_t size = 0;
	int contents;

	if (p->flags & PKT_INT) {
		struct partition_int ints = { .path = header->path, .count = header->count };

		memcpy(ints.hops, header->hops, sizeof(ints.hops));
		memcpy(more, &ints, sizeof(ints));
		size = sizeof(ints);
	}
	contents = put_contents(boundary, p, &frame, more + size, sizeof(more) - size);
	boundary->crossed.out_packets++;
	boundary->crossed.out_bytes += p->wire_bytes;
	if (contents < 0)
		boundary->crossed.ended_packets++;
	else
		channel_put(boundary->channels[to], PARTITION_FRAME, &frame, sizeof(frame), more, size + (size_t)contents);
}

#define LANE_PACKETS ((PARTITION_MAX_BODY - sizeof(struct partition_lane)) / sizeof(struct partition_packet))

/* @return whether a packet's descriptor is all that crosses of it */
static bool
is_bare(const struct boundary *boundary, const struct pkt *p)
{
	return boundary->bare && !(p->flags & PKT_INT) && p->type != PKT_UD;
}

static void
put_bare(struct boundary *boundary, uint32_t port, const struct pkt *packets, uint32_t count)
{
	uint32_t to = boundary->partition_of[boundary->scenario->topo->ports[port].peer];
	const struct partition_lane head = { .port = port };
	uint8_t *at = channel_place(boundary->channels[to], PARTITION_LANE,
				    sizeof(head) + count * sizeof(struct partition_packet));

	boundary->crossed.out_packets += count;
	if (at != NULL)
		memcpy(at, &head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		const struct partition_packet packet = packet_of(&packets[i]);

		boundary->crossed.out_bytes += packet.wire_bytes;
		if (at != NULL)
			memcpy(at + sizeof(head) + i * sizeof(packet), &packet, sizeof(packet));
	}
}

/* What a port put on its cable in a window leaves. */
static void
put_lane(struct boundary *boundary, uint32_t port, uint32_t parity)
{
	struct link *link = link_of(boundary, port);
	const struct link_lane *lane = &link->lane[parity];
	const struct pause_frame *pauses = link->lane_pauses[parity];

	for (uint32_t n = 0; n < link->npauses[parity]; n++)
		put_pause(boundary, port, pauses[n].time_ps, pauses[n].prio_mask, pauses[n].xoff);
	for (uint32_t n = 0, bare; n < lane->npkts; n += bare != 0 ? bare : 1) {
		for (bare = 0; n + bare < lane->npkts && bare < LANE_PACKETS && is_bare(boundary, &lane->pkts[n + bare]);)
			bare++;
		if (bare != 0)
			put_bare(boundary, port, &lane->pkts[n], bare);
		else
			put_frame(boundary, port, &lane->pkts[n], link->inband ? &link->lane_ints[parity][n] : NULL);
	}
	link_empty_lane(link, parity);
}

void
boundary_leaving(struct boundary *boundary, const struct window *window)
{
	for (uint32_t i = 0; i < boundary->count; i++)
		put_lane(boundary, boundary->leaving[i], window->parity);
}

/* ---- lanes of the same windows ---- */

static void
put_held(struct boundary *boundary, uint32_t port)
{
	const struct topo_port *at = &boundary->scenario->topo->ports[port];
	const struct node *node = boundary->emulation->fabric->nodes[at->node];
	const struct partition_held held = { .port = port, .prio_mask = node->ops->pausing(node, at->index) };

	channel_put(boundary->channels[boundary->partition_of[at->peer]], PARTITION_HELD, &held, sizeof(held), NULL, 0);
}

void
boundary_leaving_lanes(struct boundary *boundary, const struct window *window)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i];
		struct link *link = link_of(boundary, boundary->leaving[i]);
		uint64_t frames, bytes, pauses[ARRAY_LEN(crossing->sent.pauses)];

		count_sent(crossing, link);
		frames = link->sent_frames;
		bytes = link->sent_bytes;
		memcpy(pauses, link->sent_pauses, sizeof(pauses));
		put_lane(boundary, boundary->leaving[i], window->parity);
		crossing->sent.frames = link->sent_frames - frames;
		crossing->sent.bytes = link->sent_bytes - bytes;
		for (uint32_t c = 0; c < ARRAY_LEN(pauses); c++)
			crossing->sent.pauses[c] = link->sent_pauses[c] - pauses[c];
		link->sent_frames = frames;
		link->sent_bytes = bytes;
		memcpy(link->sent_pauses, pauses, sizeof(pauses));
		if (link->down)
			put_held(boundary, boundary->leaving[i]);
	}
}

static int
enter_lane(struct boundary *boundary, struct boundary_crossing *crossing, uint32_t parity, struct err *err)
{
	struct link *link = link_of(boundary, crossing->port);

	if (crossing->pauses_used > link->pause_cap || crossing->frames_used > link->lane_cap)
		return err_set(err, -EPROTO, "it sends more frames than its cable carries");
	for (; crossing->pauses_head < crossing->pauses_used; crossing->pauses_head++) {
		const struct pause_frame *pause = &crossing->pauses[crossing->pauses_head];

		link_send_pause(link, parity, pause->prio_mask, pause->xoff, pause->time_ps - link->delay_ps);
	}
	for (; crossing->frames_head < crossing->frames_used; crossing->frames_head++) {
		const struct boundary_frame *frame = &crossing->frames[crossing->frames_head];

		boundary->crossed.in_packets++;
		boundary->crossed.in_bytes += frame->p.wire_bytes;
		if (frame->p.flags & PKT_INT)
			link_send_int(link, parity, &frame->p, &frame->header, frame->p.time_ps - link->delay_ps);
		else
			link_send(link, parity, &frame->p, frame->p.time_ps - link->delay_ps);
	}
	crossing->pauses_head = crossing->pauses_used = 0;
	crossing->frames_head = crossing->frames_used = 0;
	return 0;
}

int
boundary_enter_lanes(struct boundary *boundary, const struct window *window, uint32_t *from, struct err *err)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		int ret = enter_lane(boundary, &boundary->crossings[i], window->parity, err);

		*from = boundary->crossings[i].from;
		if (ret < 0)
			return ret;
	}
	return 0;
}

uint8_t
boundary_held(const struct boundary *boundary, uint32_t port)
{
	uint32_t at = boundary->crossing_of[port];

	return at != TOPO_NONE ? boundary->crossings[at].held : 0;
}

int
boundary_on_held(struct boundary *boundary, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_held held;
	uint32_t at;

	memcpy(&held, message->body, sizeof(held));
	at = held.port < boundary->scenario->topo->nports ? boundary->crossing_of[held.port] : TOPO_NONE;
	if (at == TOPO_NONE || boundary->crossings[at].from != from)
		return err_set(err, -EPROTO, "HELD: port = %u is not at a cable between its partition and this one",
			       held.port);
	boundary->crossings[at].held = held.prio_mask;
	return 0;
}

/* ---- frames of other partitions ---- */

#define LATEST_PS (1ULL << 62)

/* @return the boundary cable that it arrived by; NULL with err set: it is none of theirs, or the time is impossible */
static struct boundary_crossing *
crossing_of(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, enum partition_type type, uint32_t port,
	    uint64_t time_ps, struct err *err)
{
	const struct topo *topo = boundary->scenario->topo;
	uint32_t at = port < topo->nports ? boundary->crossing_of[port] : TOPO_NONE;
	struct boundary_crossing *crossing = at != TOPO_NONE ? &boundary->crossings[at] : NULL;
	bool pause = type == PARTITION_PAUSE;
	const char *what = pause ? "PAUSE" : type == PARTITION_LANE ? "LANE" : "FRAME";
	uint64_t least_ps;

	if (crossing == NULL || crossing->from != from) {
		err_set(err, -EPROTO, "%s: port = %u is not at a cable between its partition and this one", what, port);
		return NULL;
	}
	least_ps = max_u64(leaves_ps + boundary->emulation->fabric->links[port].delay_ps,
			   pause ? crossing->last_pause_ps : crossing->last_ps);
	if (time_ps >= least_ps && time_ps < LATEST_PS)
		return crossing;
	err_set(err, -EPROTO, "%s: time_ps = %" PRIu64 "; right would be %" PRIu64 " at least", what, time_ps, least_ps);
	return NULL;
}

/*
 * The checks of a descriptor that the rest of the program relies on.
 * @param has_bytes  of a kernel host. @return NULL, or the field that is wrong
 */
static const char *
invalid_field(const struct boundary *boundary, const struct partition_packet *f, bool has_bytes)
{
	const struct scenario *sc = boundary->scenario;

	if (f->type >= PKT_TYPES || f->type == PKT_UNKNOWN)
		return "type";
	if ((f->type == PKT_UD || f->type == PKT_EXPIRED) && !sc->pingmesh.enabled)
		return "type";
	if ((f->flags & PKT_BYTES) || ((f->flags & PKT_INT) && (sc->roce.cc.rates == NULL || has_bytes)))
		return "flags";
	if (f->prio >= SWITCH_CLASSES)
		return "prio";
	if (f->wire_bytes < sc->min_frame_bytes || f->wire_bytes > sc->largest_frame_bytes)
		return "wire_bytes";
	if (f->payload_bytes > sc->roce.mtu_bytes || (f->payload_bytes > f->wire_bytes && f->type != PKT_EXPIRED))
		return "payload_bytes";
	if ((f->type == PKT_POLL && f->arg > POLL_FLAGS) ||
	    (f->type == PKT_EXPIRED &&
	     !topo_is_switch_port(sc->topo, f->arg >> EXPIRED_NODE_SHIFT, f->arg & EXPIRED_PORT_MASK)))
		return "arg";
	return f->ttl == 0 || f->ttl > PKT_TTL_INIT ? "ttl" : NULL;
}

/* The same of a packet of a planned flow. */
static const char *
flow_flaw(const struct boundary *boundary, const struct partition_packet *packet)
{
	return packet->flow < boundary->scenario->plan->flows.count ? invalid_field(boundary, packet, false) : "flow";
}

/* The descriptor here. */
static struct pkt
pkt_of(const struct partition_packet *packet)
{
	return (struct pkt){
		.time_ps = packet->time_ps,
		.flow = packet->flow,
		.id = packet->psn,
		.arg = packet->arg,
		.wire_bytes = packet->wire_bytes,
		.payload_bytes = packet->payload_bytes,
		.opcode = packet->opcode,
		.syndrome = packet->syndrome,
		.type = packet->type,
		.prio = packet->prio,
		.flags = packet->flags & (uint8_t)~PKT_BYTES,
		.ttl = packet->ttl,
	};
}

/* @return bytes of the header of telemetry; negative errno with err set */
static int
take_header(struct boundary_frame *frame, const uint8_t *more, size_t size, struct err *err)
{
	struct partition_int ints;

	if (!(frame->p.flags & PKT_INT))
		return 0;
	if (size < sizeof(ints))
		return err_set(err, -EPROTO, "FRAME: %zu B behind it; right would be a header of telemetry", size);
	memcpy(&ints, more, sizeof(ints));
	if (ints.count > INT_MAX_HOPS)
		return err_set(err, -EPROTO, "FRAME: count = %u hops; right would be %d at most", ints.count, INT_MAX_HOPS);
	memcpy(frame->header.hops, ints.hops, sizeof(ints.hops));
	frame->header.path = ints.path;
	frame->header.count = ints.count;
	return sizeof(ints);
}

static int
take_contents(struct boundary *boundary, struct pkt *p, const uint8_t *more, size_t size, struct err *err)
{
	struct partition_contents contents;
	struct pkt_message message;

	if (!boundary->scenario->roce.real_payload || p->type != PKT_DATA || size != sizeof(contents) + p->payload_bytes)
		return err_set(err, -EPROTO, "FRAME: %zu B of contents for %u B of payload", size, p->payload_bytes);
	memcpy(&contents, more, sizeof(contents));
	message = (struct pkt_message){
		.va = contents.va,
		.dma_bytes = contents.dma_bytes,
		.payload = more + sizeof(contents),
	};
	segments_put(&boundary->segments, p, &message, &boundary->scenario->plan->flows.flows[p->flow]);
	return 0;
}

/* Makes room for frames that have arrived. @return 0; -EPROTO with err set: more than their cable holds */
static int
make_room(struct boundary *boundary, struct boundary_crossing *crossing, size_t count, struct err *err)
{
	const struct fabric *fabric = boundary->emulation->fabric;
	const struct link *link = &fabric->links[crossing->port];
	size_t most = link->lane_cap * (2 * link->delay_ps / fabric->window_ps + 4);

	if (crossing->frames_used - crossing->frames_head + count > most)
		return err_set(err, -EPROTO, "FRAME: %zu are in flight on one cable, which holds fewer", most);
	if (crossing->frames_head > crossing->frames_used / 2) {
		memmove(crossing->frames, crossing->frames + crossing->frames_head,
			(crossing->frames_used - crossing->frames_head) * sizeof(*crossing->frames));
		crossing->frames_used -= crossing->frames_head;
		crossing->frames_head = 0;
	}
	crossing->frames = grow(crossing->frames, &crossing->frames_cap, crossing->frames_used + count,
				sizeof(*crossing->frames), "frames of other partitions");
	return 0;
}

static int
keep_frame(struct boundary *boundary, struct boundary_crossing *crossing, const struct boundary_frame *frame,
	   struct err *err)
{
	int ret = make_room(boundary, crossing, 1, err);

	if (ret < 0)
		return ret;
	crossing->frames[crossing->frames_used++] = *frame;
	crossing->last_ps = frame->p.time_ps;
	return 0;
}

/* A packet of kernel hosts, checked by its bytes, or a flow's tuple. @return 0; 1: it ends here; -EPROTO with err set */
static int
adopt(struct boundary *boundary, struct pkt *p, const struct partition_frame *f, const uint8_t *bytes, size_t size,
      struct err *err)
{
	const struct scenario *sc = boundary->scenario;
	const struct host_driver *kernel_driver = &boundary->emulation->drivers.rows[1];
	struct err why = { 0 };
	const struct partition_packet *packet = &f->packet;
	bool control = packet->type == PKT_POLL || packet->type == PKT_NOTIFY || packet->type == PKT_EXPIRED;
	const char *flaw = control ? invalid_field(boundary, packet, true) : NULL;
	int ret;

	if (flaw != NULL)
		return err_set(err, -EPROTO, "FRAME: %s cannot be", flaw);
	if (sc->nexternal == 0 || f->has_contents || packet->wire_bytes < sc->min_frame_bytes || packet->ttl == 0)
		return err_set(err, -EPROTO, "FRAME: with bytes, ttl = %u, %u B on the wire cannot be", packet->ttl,
			       packet->wire_bytes);
	ret = kernel_driver->ops->adopt(kernel_driver->ctx, p, bytes, size, &why);
	if (ret == -EPROTO)
		return err_set(err, ret, "FRAME: %s", why.text);
	if (ret == -ENOBUFS)
		return err_set(err, -EPROTO, "FRAME: its hosts have more frames in flight here than there is room for");
	if (ret < 0) {
		boundary->crossed.ended_packets++;
		return 1;
	}
	if (p->wire_bytes <= sc->largest_frame_bytes)
		return 0;
	return err_set(err, -EPROTO, "FRAME: %u B on the wire; right would be %u at most", p->wire_bytes,
		       sc->largest_frame_bytes);
}

/* A packet that its descriptor describes, but for its telemetry and contents. @return 0; -EPROTO with err set */
static int
take_over(struct boundary *boundary, struct boundary_frame *frame, const struct partition_frame *f, const uint8_t *more,
	  size_t size, struct err *err)
{
	const char *flaw = flow_flaw(boundary, &f->packet);
	int of;

	if (flaw != NULL)
		return err_set(err, -EPROTO, "FRAME: %s cannot be", flaw);
	of = take_header(frame, more, size, err);
	if (of < 0)
		return of;
	if (f->has_contents && f->packet.type == PKT_UD)
		return embedded_datagram_put(boundary->emulation->shared, &frame->p, more + of, size - (size_t)of) == 0
			       ? 0
			       : err_set(err, -EPROTO, "FRAME: %zu B are no contents of a datagram", size - (size_t)of);
	if (f->has_contents)
		return take_contents(boundary, &frame->p, more + of, size - (size_t)of, err);
	return size == (size_t)of ? 0 : err_set(err, -EPROTO, "FRAME: %zu unexpected bytes behind it", size - (size_t)of);
}

int
boundary_on_frame(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		  struct err *err)
{
	const uint8_t *more = message->body + sizeof(struct partition_frame);
	size_t size = message->size - sizeof(struct partition_frame);
	struct partition_frame f;
	struct boundary_frame frame = { 0 };
	struct boundary_crossing *crossing;
	int ret;

	memcpy(&f, message->body, sizeof(f));
	crossing = crossing_of(boundary, from, leaves_ps, PARTITION_FRAME, f.port, f.packet.time_ps, err);
	if (crossing == NULL)
		return -EPROTO;
	frame.p = pkt_of(&f.packet);
	ret = f.has_bytes ? adopt(boundary, &frame.p, &f, more, size, err)
			  : take_over(boundary, &frame, &f, more, size, err);
	if (ret == 0)
		ret = keep_frame(boundary, crossing, &frame, err);
	if (ret < 0)
		body_release(boundary->emulation->fabric->config.bodies, &frame.p);
	return ret < 0 ? ret : 0;
}

/* A bare packet behind those that its cable holds, which has room. @return 0; -EPROTO with err set */
static int
keep_bare(const struct boundary *boundary, struct boundary_crossing *crossing, const struct partition_packet *packet,
	  struct err *err)
{
	const char *flaw = flow_flaw(boundary, packet);
	struct pkt *p = &crossing->frames[crossing->frames_used].p;

	if (packet->time_ps < crossing->last_ps || packet->time_ps >= LATEST_PS)
		return err_set(err, -EPROTO, "LANE: time_ps = %" PRIu64 "; right would be %" PRIu64 " at least",
			       packet->time_ps, crossing->last_ps);
	if (flaw != NULL)
		return err_set(err, -EPROTO, "LANE: %s cannot be", flaw);
	*p = pkt_of(packet);
	if (!is_bare(boundary, p))
		return err_set(err, -EPROTO, "LANE: a packet of type %u has more than its descriptor", packet->type);
	crossing->frames_used++;
	crossing->last_ps = packet->time_ps;
	return 0;
}

int
boundary_on_lane(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		 struct err *err)
{
	size_t size = message->size - sizeof(struct partition_lane), count = size / sizeof(struct partition_packet);
	struct boundary_crossing *crossing;
	struct partition_packet packet;
	struct partition_lane head;
	int ret;

	memcpy(&head, message->body, sizeof(head));
	memcpy(&packet, message->body + sizeof(head), sizeof(packet));
	if (size % sizeof(packet) != 0)
		return err_set(err, -EPROTO, "LANE of %u B", message->size);
	crossing = crossing_of(boundary, from, leaves_ps, PARTITION_LANE, head.port, packet.time_ps, err);
	if (crossing == NULL)
		return -EPROTO;
	ret = make_room(boundary, crossing, count, err);
	for (size_t i = 0; i < count && ret == 0; i++) {
		memcpy(&packet, message->body + sizeof(head) + i * sizeof(packet), sizeof(packet));
		ret = keep_bare(boundary, crossing, &packet, err);
	}
	return ret;
}

int
boundary_on_pause(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		  struct err *err)
{
	struct partition_pause pause;
	struct boundary_crossing *crossing;

	memcpy(&pause, message->body, sizeof(pause));
	crossing = crossing_of(boundary, from, leaves_ps, PARTITION_PAUSE, pause.port, pause.time_ps, err);
	if (crossing == NULL)
		return -EPROTO;
	if (crossing->pauses_used - crossing->pauses_head >= 4 * boundary->emulation->fabric->links[pause.port].pauses_cap)
		return err_set(err, -EPROTO, "PAUSE: more are in flight on one cable than it holds");
	if (crossing->pauses_head > crossing->pauses_used / 2) {
		memmove(crossing->pauses, crossing->pauses + crossing->pauses_head,
			(crossing->pauses_used - crossing->pauses_head) * sizeof(*crossing->pauses));
		crossing->pauses_used -= crossing->pauses_head;
		crossing->pauses_head = 0;
	}
	crossing->pauses = grow(crossing->pauses, &crossing->pauses_cap, crossing->pauses_used + 1,
				sizeof(*crossing->pauses), "pauses of other partitions");
	crossing->pauses[crossing->pauses_used++] =
		(struct pause_frame){ .time_ps = pause.time_ps, .prio_mask = pause.prio_mask, .xoff = pause.xoff != 0 };
	crossing->last_pause_ps = pause.time_ps;
	return 0;
}
