/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/watchdog.h"

#include <errno.h>
#include <stdlib.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"

/* One queue: an egress and class. */
struct watchdog_queue {
	uint64_t since_ps; /* its peer asked to hold it, or let it go */
	uint64_t packets;  /* dropped in this storm */
	struct watchdog_count count;
};

struct watchdog_port {
	const struct switch_watchdog_params *params;
	uint8_t classes; /* bit p: class p is watched */
	uint8_t held;    /* its peer asks to hold it */
	uint8_t storms;  /* it is in a storm */
	struct watchdog_queue queues[SWITCH_CLASSES];
};

struct watchdog {
	uint64_t next_ps;
	uint16_t nports;
	struct watchdog_port ports[];
};

int
watchdog_create(struct sw *sw, struct watchdog **made)
{
	const struct topo *topo = sw->config->topo;
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog) + sw->node.nports * sizeof(watchdog->ports[0]));
	bool any = false;

	*made = NULL;
	if (watchdog == NULL)
		return -ENOMEM;
	watchdog->next_ps = TIME_NEVER;
	watchdog->nports = sw->node.nports;
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct watchdog_port *port = &watchdog->ports[i];

		port->params =
			&switch_settings_at(sw->config->setup, topo, topo->nodes[sw->node.id].first_port + i)->watchdog;
		port->classes = port->params->enabled ? account_configured(sw, i) : 0;
		any |= port->classes != 0;
	}
	if (any)
		*made = watchdog;
	else
		free(watchdog);
	return 0;
}

void
watchdog_destroy(struct watchdog *watchdog)
{
	free(watchdog);
}

uint64_t
watchdog_next_ps(const struct watchdog *watchdog)
{
	return watchdog->next_ps;
}

/* When a queue is to be looked at, as things are. */
static uint64_t
due_ps(const struct watchdog_port *port, uint8_t prio)
{
	uint64_t since_ps = port->queues[prio].since_ps;

	if (((port->held ^ port->storms) >> prio & 1) == 0) /* it works, or the storm goes on */
		return TIME_NEVER;
	if ((port->storms >> prio & 1) == 0)
		return since_ps + port->params->detection_ps;
	return port->params->action == REC_WATCHDOG_ALERT ? since_ps : since_ps + port->params->restoration_ps;
}

void
watchdog_note(struct sw *sw, uint16_t index, uint8_t classes, bool xoff, uint64_t now_ps)
{
	struct watchdog_port *port = &sw->watchdog->ports[index];
	uint8_t changed = classes & port->classes & (xoff ? (uint8_t)~port->held : port->held);

	port->held ^= changed;
	for (; changed != 0; changed &= (uint8_t)(changed - 1)) {
		uint8_t prio = (uint8_t)__builtin_ctz(changed);

		port->queues[prio].since_ps = now_ps;
		sw->watchdog->next_ps = min_u64(sw->watchdog->next_ps, due_ps(port, prio));
	}
}

bool
watchdog_drops(const struct watchdog *watchdog, uint16_t port, uint8_t prio)
{
	return watchdog != NULL && watchdog->ports[port].params->action == REC_WATCHDOG_DROP &&
	       (watchdog->ports[port].storms >> prio & 1) != 0;
}

void
watchdog_count(struct watchdog *watchdog, uint16_t port, uint8_t prio)
{
	watchdog->ports[port].queues[prio].packets++;
}

bool
watchdog_count_of(const struct watchdog *watchdog, uint16_t index, uint8_t prio, struct watchdog_count *count)
{
	const struct watchdog_port *port = watchdog != NULL ? &watchdog->ports[index] : NULL;

	if (port == NULL || (port->classes >> prio & 1) == 0)
		return false;
	*count = port->queues[prio].count;
	count->storms = port->storms >> prio & 1;
	count->last_packets = port->queues[prio].packets;
	if (count->storms)
		count->packets += count->last_packets;
	return true;
}

static void
report(struct sw *sw, uint16_t index, uint8_t prio, enum rec_watchdog_event event, uint64_t now_ps)
{
	const struct watchdog_port *port = &sw->watchdog->ports[index];
	struct rec_watchdog rec = { .port = index,
				    .prio = prio,
				    .event = event,
				    .action = (uint16_t)port->params->action,
				    .since_ps = port->queues[prio].since_ps,
				    .packets = port->queues[prio].packets };

	recbuf_put(&sw->node.records, &rec, REC_WATCHDOG, sizeof(rec), now_ps);
	sw->node.digest = digest_u64(sw->node.digest, now_ps ^ (uint64_t)index << 56 ^ (uint64_t)prio << 53 ^ event);
}

/* Applies or reverts the watchdog's action at a queue. */
static void
act(struct sw *sw, uint16_t index, uint8_t prio, bool on, uint64_t now_ps)
{
	struct watchdog_port *port = &sw->watchdog->ports[index];
	struct egress_rules *rules = &sw->rules[index];
	struct switch_port *egress = &sw->ports[index];
	uint8_t bit = (uint8_t)(1u << prio), before = port->storms;

	port->storms = on ? port->storms | bit : port->storms & (uint8_t)~bit;
	if (port->params->action == REC_WATCHDOG_FORWARD) {
		rules->obeys = on ? rules->obeys & (uint8_t)~bit : rules->obeys | bit;
		if (on)
			switch_note_pause(sw, egress, egress->egress.paused & (uint8_t)~bit, now_ps);
	}
	if (port->params->action != REC_WATCHDOG_DROP)
		return;
	sw->guards += (uint32_t)(port->storms != 0) - (uint32_t)(before != 0);
	rules->limit_bytes[prio] = on ? 0 : UINT64_MAX;
	if (on)
		port->queues[prio].packets = switch_flush(sw, index, prio, REC_DROP_WATCHDOG, now_ps);
	sw->limit_bytes[prio] = UINT64_MAX;
	for (uint16_t i = 0; i < sw->node.nports; i++)
		sw->limit_bytes[prio] = min_u64(sw->limit_bytes[prio], sw->rules[i].limit_bytes[prio]);
}

static void
look(struct sw *sw, uint16_t index, uint8_t prio, uint64_t now_ps)
{
	struct watchdog_port *port = &sw->watchdog->ports[index];
	struct watchdog_queue *queue = &port->queues[prio];

	if (due_ps(port, prio) > now_ps)
		return;
	if (port->storms >> prio & 1) {
		report(sw, index, prio, REC_WATCHDOG_RESTORED, now_ps);
		queue->count.restored++;
		queue->count.packets += queue->packets;
		act(sw, index, prio, false, now_ps);
	} else {
		queue->packets = 0;
		queue->count.detected++;
		act(sw, index, prio, true, now_ps);
		report(sw, index, prio, REC_WATCHDOG_DETECTED, now_ps);
	}
}

void
watchdog_run(struct sw *sw, uint64_t now_ps)
{
	struct watchdog *watchdog = sw->watchdog;

	watchdog->next_ps = TIME_NEVER;
	for (uint16_t i = 0; i < watchdog->nports; i++)
		for (uint8_t classes = watchdog->ports[i].classes; classes != 0; classes &= (uint8_t)(classes - 1)) {
			uint8_t prio = (uint8_t)__builtin_ctz(classes);

			look(sw, i, prio, now_ps);
			watchdog->next_ps = min_u64(watchdog->next_ps, due_ps(&watchdog->ports[i], prio));
		}
}
