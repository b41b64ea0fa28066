/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dpswitch/fabric_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/minmax.h"
#include "common/units.h"

/* Room for one more element of an array; element counts double. */
#define GROW(array, count)                                                                                                 \
	do {                                                                                                               \
		if (((count) & ((count)-1)) == 0) {                                                                        \
			(array) = realloc((array), ((count) != 0 ? 2 * (count) : 1) * sizeof(*(array)));                   \
			assert_non_null(array);                                                                            \
		}                                                                                                          \
	} while (0)

static struct frig_host *
host_of(const struct node *node)
{
	return (struct frig_host *)(uintptr_t)node;
}

static uint32_t
serialize_ps(const struct frig_host *host, uint32_t wire_bytes)
{
	return (uint32_t)units_serialize_ps(wire_bytes, host->node.tx[0]->rate_bps, 0);
}

/* When the next frame of a list starts, TIME_NEVER while it is paused or there is none. */
static uint64_t
frame_ps(const struct frig_host *host, const struct frig_frames *list)
{
	const struct frig_frame *frame = &list->frames[list->next];

	if (list->next == list->count || (host->paused >> frame->p.prio & 1))
		return TIME_NEVER;
	return max_u64(frame->at_ps, max_u64(host->free_ps, host->floor_ps));
}

/* The list whose frame starts first. @param start_ps  set to when */
static struct frig_frames *
next_frames(struct frig_host *host, uint64_t *start_ps)
{
	uint64_t control_ps = frame_ps(host, &host->control), data_ps = frame_ps(host, &host->data);

	*start_ps = control_ps <= data_ps ? control_ps : data_ps;
	return control_ps <= data_ps ? &host->control : &host->data;
}

static void
send_frame(struct frig_host *host, struct frig_frames *list, uint64_t start_ps, const struct window *window)
{
	struct pkt p = list->frames[list->next++].p;

	host->free_ps = start_ps + serialize_ps(host, p.wire_bytes);
	if (p.flags & PKT_INT)
		link_send_int(host->node.tx[0], window->parity, &p, &(struct int_header){ .count = 0 }, host->free_ps);
	else
		link_send(host->node.tx[0], window->parity, &p, host->free_ps);
	p.time_ps = host->free_ps + host->node.tx[0]->delay_ps;
	GROW(host->sent, host->nsent);
	host->sent[host->nsent++] = p;
	host->node.count.born_packets++;
	host->node.count.born_bytes += p.wire_bytes;
	host->node.count.tx_packets++;
	host->node.count.tx_bytes += p.wire_bytes;
}

static void
take_arrivals(struct frig_host *host, uint64_t end_ps)
{
	struct link *rx = host->node.rx[0];
	struct pkt *pkts;
	uint32_t count = link_arrivals(rx, end_ps, &pkts);

	for (uint32_t i = 0; i < count; i++) {
		GROW(host->ints, host->ngot);
		if (pkts[i].flags & PKT_INT)
			host->ints[host->ngot] = *link_int(rx, &pkts[i]);
		GROW(host->got, host->ngot);
		host->got[host->ngot++] = pkts[i];
		host->node.count.rx_packets++;
		host->node.count.rx_bytes += pkts[i].wire_bytes;
		host->node.count.consumed_packets++;
		host->node.count.consumed_bytes += pkts[i].wire_bytes;
		host->node.count.progress += pkts[i].wire_bytes;
		host->node.digest = host->node.digest * 31 + pkts[i].time_ps + pkts[i].flow + pkts[i].flags;
	}
	link_consume(rx, count, 0);
}

static void
host_run(struct node *node, const struct window *window)
{
	struct frig_host *host = host_of(node);
	const struct pause_frame *pauses;
	uint32_t npauses, taken = 0;

	link_receive(node->rx[0], window->parity);
	take_arrivals(host, window->end_ps);
	npauses = link_pauses(node->rx[0], window->end_ps, &pauses);
	for (;;) {
		uint64_t start_ps;
		struct frig_frames *list = next_frames(host, &start_ps);
		uint64_t pause_ps = taken < npauses ? pauses[taken].time_ps : TIME_NEVER;

		if (pause_ps <= start_ps && taken < npauses) {
			const struct pause_frame *frame = &pauses[taken++];

			GROW(host->pauses, host->npauses);
			host->pauses[host->npauses++] = *frame;
			host->paused =
				frame->xoff ? host->paused | frame->prio_mask : host->paused & (uint8_t)~frame->prio_mask;
			host->floor_ps = pause_ps;
			continue;
		}
		if (start_ps >= window->end_ps)
			break;
		send_frame(host, list, start_ps, window);
	}
	link_consume(node->rx[0], 0, npauses);
	for (; host->next_own < host->nown && host->own[host->next_own].at_ps < window->end_ps; host->next_own++) {
		const struct frig_own_pause *own = &host->own[host->next_own];

		host->holding = own->xoff ? host->holding | own->prio_mask : host->holding & (uint8_t)~own->prio_mask;
		link_send_pause(node->tx[0], window->parity, own->prio_mask, own->xoff, own->at_ps + node->tx[0]->pause_ps);
	}
}

static uint64_t
host_next_ps(const struct node *node)
{
	struct frig_host *host = host_of(node);
	uint64_t own_ps = host->next_own < host->nown ? host->own[host->next_own].at_ps : TIME_NEVER;
	uint64_t next_ps;

	next_frames(host, &next_ps);
	return own_ps < next_ps ? own_ps : next_ps;
}

static void
host_held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	(void)node;
	(void)packets;
	(void)bytes;
}

static uint8_t
host_pausing(const struct node *node, uint16_t port)
{
	return ((const struct frig_host *)node)->holding;
}

static void
host_link_changed(struct node *node, uint16_t port, uint8_t held, uint64_t now_ps)
{
	((struct frig_host *)node)->paused = held;
}

static const struct node_ops host_ops = {
	.run = host_run,
	.next_ps = host_next_ps,
	.held = host_held,
	.pausing = host_pausing,
	.link_changed = host_link_changed,
};

struct frig_host *
frig_host_create(const struct topo *topo, const struct flow_table *flows, uint32_t id)
{
	struct frig_host *host = calloc(1, sizeof(*host));

	assert_non_null(host);
	host->node = (struct node){
		.ops = &host_ops,
		.id = id,
		.nports = topo->nodes[id].nports,
		.topo = topo,
		.flows = flows,
		.status = NODE_RUNNING,
	};
	recbuf_init(&host->node.records, id);
	return host;
}

void
frig_host_destroy(struct frig_host *host)
{
	if (host == NULL)
		return;
	recbuf_fini(&host->node.records);
	free(host->control.frames);
	free(host->data.frames);
	free(host->own);
	free(host->got);
	free(host->ints);
	free(host->sent);
	free(host->pauses);
	free(host);
}

void
frig_host_send(struct frig_host *host, uint64_t at_ps, const struct pkt *p)
{
	struct frig_frames *list = p->prio == 0 ? &host->control : &host->data;

	GROW(list->frames, list->count);
	list->frames[list->count++] = (struct frig_frame){ at_ps, *p };
}

void
frig_host_pause(struct frig_host *host, uint64_t at_ps, uint8_t prio_mask, bool xoff)
{
	GROW(host->own, host->nown);
	host->own[host->nown++] = (struct frig_own_pause){ at_ps, prio_mask, xoff };
}
