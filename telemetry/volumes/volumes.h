/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse's monitor in a switch (5.1): bytes of a measured collective by the port that they came in by, of those whose peer
 * is a switch of the tier above, by the switch behind which their sender is, and by iteration. Fixed memory: two iterations
 * of ports * senders cells. It sees packets by their tag alone, and begins and ends iterations by it:
 *
 *   - an iteration begins with the first packet of another number, up to 7 ahead of the last (numbers are modulo 16);
 *   - the one before it ends then; what still comes of it within the grace counts, and it is judged when the grace is over;
 *   - one that no other follows ends once nothing has come for the idle time, is judged as much later, and at the latest
 *     when the run ends. Quiet shorter than the longest iteration so far is none.
 *
 * What is counted does not depend on how time is cut into windows, as long as none is longer than grace and idle time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/units.h"

#define VOLUMES_NO_SENDER UINT16_MAX
#define VOLUMES_NUMBERS 16 /* tags count iterations modulo this */
#define VOLUMES_AHEAD 7    /* numbers that may be left out: a switch that iterations pass by */

/* Why an iteration, or what came of one sender in it, was not compared with the prediction: an assumption did not hold. */
enum volumes_flaw {
	VOLUMES_TAGS = 1 << 0, /* iterations that are neither this one nor the one before: several collectives are tagged */
	VOLUMES_SENDERS = 1 << 1, /* more sending leaves than there is room for */
	VOLUMES_ROUTES = 1 << 2,  /* routes changed meanwhile */
	VOLUMES_OVERLAP = 1 << 3, /* the iteration before was not over when the next began */
	VOLUMES_UNKNOWN = 1 << 4, /* of a sender: nothing is predicted of it */
	VOLUMES_DEMAND = 1 << 5,  /* of a sender: all ports together saw another volume than was to come */
};

struct volumes_config {
	uint16_t ports;   /* monitored */
	uint16_t senders; /* room for so many */
	uint64_t grace_ps, idle_ps;
};

struct volume_count {
	uint64_t bytes, packets;
};

/* An iteration that is counted. */
struct volumes_slot {
	bool used;
	uint8_t number;              /* of its tag */
	uint32_t iteration;          /* from 0: the number of the first, and on from there */
	bool new_task;               /* its number follows none: what was learned of earlier ones is of no use */
	uint32_t flaws;              /* bits of enum volumes_flaw */
	uint64_t begin_ps, last_ps;  /* its first and last packet */
	struct volume_count *counts; /* [ports * senders] */
};

struct volumes {
	struct volumes_config config;
	uint32_t *keys; /* [nsenders] what senders are known by outside */
	uint16_t nsenders;
	struct volumes_slot slots[2];
	uint8_t current;   /* the slot of the iteration that runs */
	uint64_t judge_ps; /* the other slot's, if used: when its grace is over */
	uint64_t until_ps; /* of the one that runs: when it is judged, if nothing more comes; TIME_NEVER: it is not quiet */
	uint64_t ended_ps; /* when quiet had ended the other slot's, while it was not judged yet; TIME_NEVER */
	uint64_t before_ps;    /* last packet of it before this window, 0: none */
	uint64_t first_ps;     /* first packet of it in this window, TIME_NEVER: none */
	uint64_t longest_ps;   /* from the first to the last packet of an iteration */
	bool task_over;        /* the one that ran has been judged because it was quiet: any number begins a new task */
	uint64_t late_packets; /* of the iteration before, after its grace; of one that quiet had ended */
	uint64_t lost_packets; /* of senders that there was no room for */
};

/* @return 0 or -ENOMEM */
int volumes_init(struct volumes *v, const struct volumes_config *config);
/* Also of one that is zero. */
void volumes_fini(struct volumes *v);

static inline uint32_t
volumes_cell(const struct volumes *v, uint16_t port, uint16_t sender)
{
	return (uint32_t)port * v->config.senders + sender;
}

/* @return the index of the sender known by a key, learned if it is new; VOLUMES_NO_SENDER: there is no room for it */
uint16_t volumes_sender(struct volumes *v, uint32_t key);

/* A packet that is not of the iteration that runs, or comes when that is over. */
void volumes_other(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps);

/*
 * A tagged packet has come. Packets of one window may come in any order.
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
	if (time_ps < v->first_ps)
		v->first_ps = time_ps;
}

/* A window is over: what began in it, and whether it is quiet. To be called after each that may have had tagged packets. */
void volumes_window(struct volumes *v, uint64_t end_ps);
/* @return when volumes_due() may have something to say, if nothing comes; TIME_NEVER */
uint64_t volumes_next_ps(const struct volumes *v);
/*
 * An iteration that is over, and that no packet counts to any more: the earlier one first. Ask again after
 * volumes_release(). @param at_ps  set to when it was over  @return NULL: there is none
 */
struct volumes_slot *volumes_due(struct volumes *v, uint64_t now_ps, uint64_t *at_ps);
/* No more packets come: those that are counted now are over. @return as volumes_due() */
struct volumes_slot *volumes_last(struct volumes *v);
/* What volumes_due() returned has been read. */
void volumes_release(struct volumes *v, struct volumes_slot *slot);
/* Routes have changed, between windows: what is counted now cannot be compared. */
void volumes_routes_changed(struct volumes *v);
