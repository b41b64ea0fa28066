/* SPDX-License-Identifier: BSD-3-Clause */
/* What every port, a switch's or a NIC's, keeps and tells of the polling packets that it meets (VEDRFOLNIR III-C3). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "common/record/buffer.h"
#include "common/wire/record_rows.h"

/*
 * Events that a switch's port remembers having answered: so many sets, chosen by a hash of the event, of so many each. On a
 * cycle of pauses, an event that is forgotten while it is under way goes round until its TTL ends. A NIC's has one set.
 */
#define POLLED_SETS 64
#define POLLED_WAYS 8
#define POLLED_HOST_WAYS 16

struct polled_event {
	uint32_t event;
	uint8_t flags;
};

struct polled {
	struct polled_event *events; /* [sets * ways] in each set the latest first */
	uint32_t sets, ways;
};

/* @return 0 or -ENOMEM */
int polled_init(struct polled *polled, bool host);
/* Also of one that is zero. */
void polled_fini(struct polled *polled);

/* Notes that the port is asked about an event. @return those of the flags with which it had not been asked yet */
uint8_t polled_fresh(struct polled *polled, uint32_t event, uint8_t flags);

/*
 * Puts the record that a polling packet passed, unless it is one of a flood (POLL_QUIET).
 * @param in_port, out_port  where it came in, and the egress that it concerns; REC_NO_PORT: none
 * @param paused    that egress is, or was within the kept epochs, paused
 * @param repeated  that egress had answered the event before
 */
void polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
		   bool repeated, struct recbuf *records, uint64_t now_ps);

/* Does who a polling packet passes tell of what has passed? Where packets were sent again, on both ways, of no flood. */
static inline bool
polled_asks_passage(const struct pkt *poll)
{
	return (poll->arg & POLL_VICTIM) && (poll->arg & (POLL_ACKS | POLL_BACK)) && !(poll->arg & POLL_QUIET);
}

/* Puts the record of that. @param rec  with what was counted; flow and event are set here */
void polled_passage(const struct pkt *poll, const struct flow_table *flows, struct rec_passage *rec, struct recbuf *records,
		    uint64_t now_ps);
