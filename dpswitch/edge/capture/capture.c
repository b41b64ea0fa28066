/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/capture/capture.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/units.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/pcapng.h"

/* Frames that arrive about in order of time, with their bytes, and leave in exact order. */

struct reorder_frame {
	uint64_t time_ps;
	uint64_t seq; /* orders equals by arrival; set by reorder_put() */
	size_t at;    /* of its bytes; set by reorder_put() */
	size_t captured_bytes, frame_bytes;
	uint32_t interface;
	uint8_t direction;
};

/* Zeroed: empty. */
struct reorder {
	struct reorder_frame *frames; /* [count] */
	size_t count, cap;
	uint8_t *bytes; /* [nbytes] of all */
	size_t nbytes, bytes_cap;
	uint64_t seq;
};

enum { IN, OUT };

struct capture {
	struct capture_config config;
	struct pcapng *file;
	struct capture_count *counts; /* [config.nports] */
	struct reorder reorder;       /* frames that wait until no earlier one can arrive */
	uint64_t limit_ps;
	uint64_t room_bytes; /* for frames */
	uint64_t file_bytes; /* once closed */
};

static void reorder_fini(struct reorder *r);
static uint8_t *reorder_slot(struct reorder *r, size_t max_bytes);
static void reorder_put(struct reorder *r, const struct reorder_frame *frame);
static void reorder_flush(struct reorder *r, uint64_t end_ps,
			  void (*take)(void *ctx, const struct reorder_frame *frame, const uint8_t *bytes), void *ctx);

/* Describes the ports as pcapng interfaces. */
static void
introduce(struct capture *capture)
{
	const struct topo *topo = capture->config.fabric->config.topo;

	for (uint32_t i = 0; i < capture->config.nports; i++) {
		const struct topo_port *port = &topo->ports[capture->config.ports[i]];
		bool host = topo->nodes[port->node].kind == TOPO_HOST;
		char name[64], peer[64], description[192];

		capture->counts[i].port = capture->config.ports[i];
		topo_port_name(topo, capture->config.ports[i], name);
		topo_port_name(topo, port->peer_port, peer);
		snprintf(description, sizeof(description), "%s %s, port %u, cable to %s", host ? "host" : "switch",
			 topo->nodes[port->node].name, port->index + 1u, peer);
		pcapng_interface(capture->file, name, description, port->rate_bps, capture->config.snap_bytes);
	}
}

struct capture *
capture_create(const struct capture_config *config, struct err *err)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	uint32_t *ports = calloc(config->nports + 1u, sizeof(*ports));
	uint64_t around_bytes;
	int error = ENOMEM;

	if (capture == NULL || ports == NULL)
		goto fail;
	capture->config = *config;
	capture->config.ports = memcpy(ports, config->ports, config->nports * sizeof(*ports));
	capture->counts = calloc(config->nports + 1u, sizeof(*capture->counts));
	if (capture->counts == NULL)
		goto fail;
	capture->file = pcapng_create(config->path, config->application, config->comment);
	if (capture->file == NULL) {
		error = errno;
		goto fail;
	}
	pcapng_set_clock(capture->file, config->real_time, config->hurried);
	introduce(capture);
	around_bytes = pcapng_bytes(capture->file) + (uint64_t)config->nports * pcapng_statistics_bytes();
	capture->room_bytes = config->limit_bytes > around_bytes ? config->limit_bytes - around_bytes : 0;
	capture->limit_ps = TIME_NEVER;
	return capture;
fail:
	err_set(err, -error, "%s: %s", config->path, strerror(error));
	if (capture != NULL)
		free(capture->counts);
	free(capture);
	free(ports);
	errno = error;
	return NULL;
}

void
capture_destroy(struct capture *capture)
{
	if (capture == NULL)
		return;
	if (capture->file != NULL)
		pcapng_destroy(capture->file);
	free((uint32_t *)capture->config.ports);
	free(capture->counts);
	reorder_fini(&capture->reorder);
	free(capture);
}

/* Queues the frame whose bytes, as far as they are known, are in the slot. */
static void
queue(struct capture *capture, uint32_t interface, int direction, uint64_t time_ps, size_t captured_bytes,
      size_t frame_bytes)
{
	uint32_t snap_bytes = capture->config.snap_bytes;
	struct reorder_frame frame = {
		.time_ps = time_ps,
		.captured_bytes = snap_bytes != 0 && captured_bytes > snap_bytes ? snap_bytes : captured_bytes,
		.frame_bytes = frame_bytes,
		.interface = interface,
		.direction = (uint8_t)direction,
	};

	assert(frame_bytes <= PCAPNG_MAX_BYTES);
	reorder_put(&capture->reorder, &frame);
}

/* Once the limit is reached frames are counted and not made. */
static bool
is_full(const struct capture *capture)
{
	return capture->limit_ps != TIME_NEVER;
}

/* The inverse of eth_wire_bytes(), but for padding. */
static size_t
frame_of_wire(uint32_t wire_bytes)
{
	const uint32_t around_bytes = ETH_PREAMBLE_BYTES + ETH_FCS_BYTES + ETH_GAP_BYTES;

	return wire_bytes > around_bytes ? wire_bytes - around_bytes : 0;
}

static void
take_packets(struct capture *capture, uint32_t interface, int direction, const struct pkt *pkts, uint32_t npkts,
	     uint64_t back_ps)
{
	struct capture_count *count = &capture->counts[interface];

	count->frames[direction] += npkts;
	if (is_full(capture)) {
		count->missing += npkts;
		return;
	}
	for (uint32_t i = 0; i < npkts; i++) {
		const struct pkt *p = &pkts[i];
		uint8_t *slot = reorder_slot(&capture->reorder, PCAPNG_MAX_BYTES);
		size_t known_bytes = capture->config.frame(capture->config.ctx, p, slot, PCAPNG_MAX_BYTES);
		size_t frame_bytes = known_bytes != 0 ? known_bytes : frame_of_wire(p->wire_bytes);

		queue(capture, interface, direction, p->time_ps - back_ps, known_bytes, frame_bytes);
	}
}

/* A PFC frame's source: a host's MAC is 02:00 and its IP, as in its packets; a switch's 06:00, node (2), port (2). */
static void
mac_of_port(const struct topo *topo, uint32_t port_id, uint8_t mac[ETH_ADDR_BYTES])
{
	const struct topo_port *port = &topo->ports[port_id];
	bool host = topo->nodes[port->node].kind == TOPO_HOST;
	uint32_t low = host ? topo_nic_ip(port->node, port->index) : port->node << 16 | (port->index + 1u);

	mac[0] = host ? 0x02 : 0x06;
	mac[1] = 0x00;
	for (int i = 0; i < 4; i++)
		mac[2 + i] = (uint8_t)(low >> (24 - 8 * i));
}

static void
take_pauses(struct capture *capture, uint32_t interface, int direction, const struct pause_frame *pauses, uint32_t npauses,
	    uint64_t back_ps)
{
	const struct topo *topo = capture->config.fabric->config.topo;
	uint32_t port = capture->config.ports[interface];
	struct capture_count *count = &capture->counts[interface];

	count->frames[direction] += npauses;
	count->pfc_frames[direction] += npauses;
	if (is_full(capture)) {
		count->missing += npauses;
		return;
	}
	for (uint32_t i = 0; i < npauses; i++) {
		struct pfc_fields fields = { .class_enable = pauses[i].prio_mask };

		mac_of_port(topo, direction == OUT ? port : topo->ports[port].peer_port, fields.src_mac);
		for (uint32_t c = 0; c < PFC_CLASSES; c++)
			fields.quanta[c] = pauses[i].xoff ? PFC_QUANTA_MAX : 0;
		pfc_frame_build(&fields, reorder_slot(&capture->reorder, ETH_MIN_BYTES));
		queue(capture, interface, direction, pauses[i].time_ps - back_ps, ETH_MIN_BYTES, ETH_MIN_BYTES);
	}
}

static void
write_frame(void *ctx, const struct reorder_frame *frame, const uint8_t *bytes)
{
	struct capture *capture = ctx;
	uint32_t captured_bytes = (uint32_t)frame->captured_bytes, block_bytes = pcapng_frame_bytes(captured_bytes);

	if (is_full(capture) || block_bytes > capture->room_bytes) {
		if (!is_full(capture))
			capture->limit_ps = frame->time_ps;
		capture->counts[frame->interface].missing++;
		return;
	}
	if (pcapng_frame(capture->file, frame->interface, frame->direction == OUT ? PCAPNG_OUTBOUND : PCAPNG_INBOUND,
			 frame->time_ps, bytes, captured_bytes, (uint32_t)frame->frame_bytes))
		capture->room_bytes -= block_bytes;
	else
		capture->counts[frame->interface].lagged++;
}

void
capture_sent(struct capture *capture, const struct window *window)
{
	const struct fabric *fabric = capture->config.fabric;
	uint64_t pipeline_ps = fabric->config.pipeline_ps;

	for (uint32_t i = 0; i < capture->config.nports; i++) {
		const struct link *link = &fabric->links[capture->config.ports[i]];
		const struct link_lane *lane = &link->lane[window->parity];

		take_packets(capture, i, OUT, lane->pkts, lane->npkts, link->delay_ps);
		take_pauses(capture, i, OUT, link->lane_pauses[window->parity], link->npauses[window->parity],
			    link->delay_ps);
	}
	/* Later frames are sent after this window, or have reached a MAC that long before the next one. */
	if (window->end_ps > pipeline_ps)
		reorder_flush(&capture->reorder, window->end_ps - pipeline_ps, write_frame, capture);
}

/* The receiver's node would take the lane in first thing in this window; doing it now changes nothing for it. */
void
capture_arriving(struct capture *capture, const struct window *window)
{
	const struct fabric *fabric = capture->config.fabric;
	const struct topo *topo = fabric->config.topo;

	for (uint32_t i = 0; i < capture->config.nports; i++) {
		struct link *link = &fabric->links[topo->ports[capture->config.ports[i]].peer_port];
		const struct pause_frame *pauses;
		struct pkt *pkts;
		uint32_t npkts, npauses;

		link_receive(link, window->parity);
		npkts = link_arrivals(link, window->end_ps, &pkts);
		npauses = link_pauses(link, window->end_ps, &pauses);
		take_packets(capture, i, IN, pkts, npkts, fabric->config.pipeline_ps);
		take_pauses(capture, i, IN, pauses, npauses, fabric->config.pipeline_ps);
	}
}

int
capture_close(struct capture *capture, uint64_t end_ps)
{
	int ret;

	reorder_flush(&capture->reorder, TIME_NEVER, write_frame, capture);
	for (uint32_t i = 0; i < capture->config.nports; i++) {
		const struct capture_count *count = &capture->counts[i];

		pcapng_statistics(capture->file, i, end_ps, count->frames[IN] + count->frames[OUT],
				  count->missing + count->lagged);
	}
	capture->file_bytes = pcapng_bytes(capture->file);
	ret = pcapng_destroy(capture->file);
	capture->file = NULL;
	return ret;
}

void
capture_sum(const struct capture *capture, struct capture_totals *totals)
{
	*totals = (struct capture_totals){ .bytes = capture->file_bytes, .limit_ps = capture->limit_ps };
	for (uint32_t i = 0; i < capture->config.nports; i++) {
		totals->frames += capture->counts[i].frames[IN] + capture->counts[i].frames[OUT];
		totals->missing += capture->counts[i].missing;
		totals->lagged += capture->counts[i].lagged;
	}
}

const struct capture_count *
capture_counts(const struct capture *capture, uint32_t *nports)
{
	*nports = capture->config.nports;
	return capture->counts;
}

/* Frames in the order of time. */

static void
reorder_fini(struct reorder *r)
{
	free(r->frames);
	free(r->bytes);
	*r = (struct reorder){ 0 };
}

/* Room for the bytes of the next frame; until the next call. Aborts without memory. */
static uint8_t *
reorder_slot(struct reorder *r, size_t max_bytes)
{
	r->bytes = grow(r->bytes, &r->bytes_cap, r->nbytes + max_bytes, 1, "captured frames");
	return r->bytes + r->nbytes;
}

/* Takes a frame whose captured bytes are in the slot. */
static void
reorder_put(struct reorder *r, const struct reorder_frame *frame)
{
	struct reorder_frame *mine;

	r->frames = grow(r->frames, &r->cap, r->count + 1, sizeof(*r->frames), "captured frames");
	mine = &r->frames[r->count++];
	*mine = *frame;
	mine->seq = r->seq++;
	mine->at = r->nbytes;
	r->nbytes += frame->captured_bytes;
}

static int
compare(const void *a, const void *b)
{
	const struct reorder_frame *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Moves the bytes of those that are left to the front. They are few, and their bytes lie in no order. */
static void
compact(struct reorder *r)
{
	size_t nbytes = 0;
	uint8_t *bytes;

	for (size_t i = 0; i < r->count; i++)
		nbytes += r->frames[i].captured_bytes;
	bytes = malloc(nbytes + 1);
	if (bytes == NULL)
		log_fatal("out of memory for %zu B of captured frames", nbytes);
	nbytes = 0;
	for (size_t i = 0; i < r->count; i++) {
		struct reorder_frame *frame = &r->frames[i];

		memcpy(bytes + nbytes, r->bytes + frame->at, frame->captured_bytes);
		frame->at = nbytes;
		nbytes += frame->captured_bytes;
	}
	memcpy(r->bytes, bytes, nbytes);
	r->nbytes = nbytes;
	free(bytes);
}

/* Hands over those of before end_ps, in order, and forgets them. */
static void
reorder_flush(struct reorder *r, uint64_t end_ps,
	      void (*take)(void *ctx, const struct reorder_frame *frame, const uint8_t *bytes), void *ctx)
{
	size_t done = 0;

	if (r->count == 0)
		return;
	qsort(r->frames, r->count, sizeof(*r->frames), compare);
	for (; done < r->count && r->frames[done].time_ps < end_ps; done++)
		take(ctx, &r->frames[done], r->bytes + r->frames[done].at);
	if (done == 0)
		return;
	r->count -= done;
	memmove(r->frames, r->frames + done, r->count * sizeof(*r->frames));
	compact(r);
}
