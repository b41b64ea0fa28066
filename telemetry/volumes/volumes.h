/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse's monitor in a switch (5.1): bytes of a measured collective by ingress port, at ports whose peer is a
 * switch of the tier above, by the switch behind which their sender is, and by iteration. Fixed memory: three
 * iterations of ports * senders cells. It sees packets by their tag alone, and begins and ends iterations by it:
 *
 *   - an iteration begins with the first packet of another number, up to 7 ahead of the last (numbers are modulo 16);
 *   - the one before it is over for a sender when its next begins. It is over for all when it is over for all senders
 *     that it had, or when one more begins: ranks wait for data, not for each other, and some may be an iteration ahead.
 *     Packets of it that arrive within the grace after that count, and it is judged when the grace is over;
 *   - one that no other follows ends once no packet has arrived for the idle time. It is judged after the same time
 *     again, and at the latest when the run ends. Quiet shorter than the longest iteration so far is none.
 *
 * The counts do not depend on the division of time into windows, as long as none is longer than grace and idle time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/units.h"
#include "common/wire/volume.h"

#define VOLUMES_NO_SENDER UINT16_MAX
#define VOLUMES_NUMBERS 16 /* tags count iterations modulo this */
#define VOLUMES_AHEAD 7    /* numbers that may be left out: a switch that iterations pass by */

/* A set of reasons why an iteration, or one sender's share of it, is not compared with the prediction. */
#define VOLUMES_FLAW(flaw) (1u << (flaw))

struct volumes_config {
	uint16_t ports;   /* monitored */
	uint16_t senders; /* number of senders that fit */
	uint64_t grace_ps, idle_ps;
};

struct volume_count {
	uint64_t bytes, packets;
};

#define VOLUMES_SLOTS 3 /* iterations that are counted at a time */

/* An iteration that is counted. */
struct volumes_slot {
	bool used;
	bool new_task;               /* its number follows none: knowledge of earlier ones is of no use */
	uint8_t number;              /* of its tag */
	uint32_t iteration;          /* from 0: the number of the first, and on from there */
	uint32_t flaws;              /* VOLUMES_FLAW() of them */
	uint64_t last_ps;            /* its last packet */
	uint64_t judge_ps;           /* when its grace is over; TIME_NEVER: that is not known yet */
	uint64_t *first_ps;          /* [senders] their first packets, TIME_NEVER: none */
	struct volume_count *counts; /* [ports * senders] */
};

struct volumes {
	struct volumes_config config;
	uint32_t *keys; /* [nsenders] the senders' ids in records */
	uint16_t nsenders;
	struct volumes_slot slots[VOLUMES_SLOTS];
	uint8_t current;     /* the slot of the iteration that began last; those before it are the ones that began before */
	bool task_over;      /* quiet has ended what ran: any number that follows none begins a new task */
	uint64_t until_ps;   /* when silence ends the running iteration; TIME_NEVER: no silence */
	uint64_t ended_ps;   /* the same of what ran before the iteration that began in this window; TIME_NEVER */
	uint64_t before_ps;  /* last packet before this window, 0: none */
	uint64_t first_ps;   /* first packet in this window, TIME_NEVER: none */
	uint64_t longest_ps; /* from the first to the last packet of an iteration */
	uint64_t late_packets; /* of iterations that are over */
	uint64_t lost_packets; /* of senders that there was no room for */
};

/* @return 0 or -ENOMEM */
int volumes_init(struct volumes *v, const struct volumes_config *config);
/* Also for a zeroed struct. */
void volumes_fini(struct volumes *v);

static inline uint32_t
volumes_cell(const struct volumes *v, uint16_t port, uint16_t sender)
{
	return (uint32_t)port * v->config.senders + sender;
}

/* @return the index of the sender known by a key, learned if it is new; VOLUMES_NO_SENDER: there is no room for it */
uint16_t volumes_sender(struct volumes *v, uint32_t key);

/* A packet that is not of the running iteration, or arrives when that is over. */
void volumes_other(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps);

/*
 * A tagged packet has arrived. Packets of one window may arrive in any order.
 * @param port    of config.ports
 * @param sender  VOLUMES_NO_SENDER: one that there is no room for
 * @param number  of its iteration, modulo VOLUMES_NUMBERS
 */
static inline void
volumes_add(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps)
{
	struct volumes_slot *slot = &v->slots[v->current];
	struct volume_count *count;

	if (__builtin_expect(number != slot->number || !slot->used || time_ps >= v->until_ps || sender == VOLUMES_NO_SENDER,
			     0)) {
		volumes_other(v, port, sender, number, bytes, time_ps);
		return;
	}
	count = &slot->counts[volumes_cell(v, port, sender)];
	count->bytes += bytes;
	count->packets++;
	if (time_ps > slot->last_ps)
		slot->last_ps = time_ps;
	if (time_ps < slot->first_ps[sender])
		slot->first_ps[sender] = time_ps;
	if (time_ps < v->first_ps)
		v->first_ps = time_ps;
}

/*
 * A window is over: what began in it, and whether it is quiet. To be called after each that may have had tagged
 * packets.
 */
void volumes_window(struct volumes *v, uint64_t end_ps);
/* @return when volumes_due() may have something to report, if nothing arrives; TIME_NEVER */
uint64_t volumes_next_ps(const struct volumes *v);
/*
 * An iteration that is over, and that no packet counts to any more: the earlier one first. Ask again after
 * volumes_release(). @param at_ps  set to when it was over  @return NULL: there is none
 */
struct volumes_slot *volumes_due(struct volumes *v, uint64_t now_ps, uint64_t *at_ps);
/* No more packets arrive: the iterations that are counted now are over. @return as volumes_due() */
struct volumes_slot *volumes_last(struct volumes *v);
/* Frees the slot that volumes_due() returned, once it has been read. */
void volumes_release(struct volumes *v, struct volumes_slot *slot);
/* Routes have changed, between windows: the iterations that are counted now cannot be compared. */
void volumes_routes_changed(struct volumes *v);
