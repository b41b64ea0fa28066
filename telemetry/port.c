/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/record/frame.h"
#include "common/wire/record.h"

/* The polling packets that a port was asked by. */

void
polled_init(struct polled *polled, bool host)
{
	polled->events = NULL;
	polled->sets = host ? 1 : POLLED_SETS;
	polled->ways = host ? POLLED_HOST_WAYS : POLLED_WAYS;
}

size_t
polled_bytes(bool host)
{
	size_t sets = host ? 1 : POLLED_SETS, ways = host ? POLLED_HOST_WAYS : POLLED_WAYS;

	return sets * ways * (sizeof(uint32_t) + sizeof(uint8_t));
}

void
polled_fini(struct polled *polled)
{
	free(polled->events);
	*polled = (struct polled){ 0 };
}

static void
make_room(struct polled *polled)
{
	size_t room = (size_t)polled->sets * polled->ways;

	polled->events = calloc(room, sizeof(*polled->events) + sizeof(uint8_t));
	if (polled->events == NULL)
		log_fatal("out of memory for the polling packets at a port");
}

uint8_t
polled_fresh(struct polled *polled, uint32_t event, uint8_t flags)
{
	size_t set = (uint32_t)((event * 0x9e3779b97f4a7c15ULL) >> 32) % polled->sets * (size_t)polled->ways;
	uint32_t *events;
	uint8_t *asked;

	if (polled->events == NULL)
		make_room(polled);
	events = &polled->events[set];
	asked = (uint8_t *)(polled->events + (size_t)polled->sets * polled->ways) + set;
	for (uint32_t i = 0; i < polled->ways; i++) {
		if (events[i] == event) {
			uint8_t fresh = flags & (uint8_t)~asked[i];

			asked[i] |= flags;
			return fresh;
		}
	}
	memmove(events + 1, events, (polled->ways - 1) * sizeof(*events));
	memmove(asked + 1, asked, polled->ways - 1);
	events[0] = event;
	asked[0] = flags;
	return flags;
}

void
polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
	      bool repeated, struct recbuf *records, uint64_t now_ps)
{
	struct rec_poll rec;

	if (poll->arg & POLL_QUIET)
		return;
	rec = (struct rec_poll){
		.hdr.event = poll->id,
		.victim = flow_tuple(&flows->flows[poll->flow]),
		.in_port = in_port,
		.out_port = out_port,
		.flags = (uint16_t)poll->arg,
		.out_paused = paused,
		.repeated = repeated,
		.ttl = poll->ttl,
	};
	recbuf_put(records, &rec, REC_POLL, sizeof(rec), now_ps);
}

void
polled_passage(const struct pkt *poll, const struct flow_table *flows, struct rec_passage *rec, struct recbuf *records,
	       uint64_t now_ps)
{
	rec->hdr.event = poll->id;
	rec->flow = flow_tuple(&flows->flows[poll->flow]);
	recbuf_put(records, rec, REC_PASSAGE, sizeof(*rec), now_ps);
}

/* The port and its collectors. */

/* Collectors in the order of their rows in a reply. The first is also called in telem_enqueue(). */
static const struct collector *const collectors[] = {
	&collector_epochs,
	&collector_drops,
};
_Static_assert(ARRAY_LEN(collectors) <= TELEM_MAX_COLLECTORS, "a port has room for all");

struct telem_config
telem_config_of_host(const struct telem_config *of_switches, uint16_t nports)
{
	struct telem_config config = { .drops_only = true };

	if (of_switches != NULL)
		config = *of_switches;
	config.nports = nports;
	config.host = true;
	return config;
}

int
telem_init(struct telem_port *t, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	memset(t, 0, sizeof(*t));
	t->config = config;
	polled_init(&t->polled, config->host);
	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++) {
		const struct collector *row = collectors[i];

		if (row->is_on != NULL && !row->is_on(config))
			continue;
		t->state[i] = i == 0 ? &t->epochs : calloc(1, row->state_bytes);
		if (t->state[i] == NULL || row->init(t->state[i], config, flows, port) < 0) {
			telem_fini(t);
			return -ENOMEM;
		}
		if (row == &collector_drops)
			t->drops = t->state[i];
		if (row->on_enqueue != NULL && (i != 0 || config->exact || config->class_of != NULL))
			t->more_enqueue |= 1u << i;
	}
	return 0;
}

size_t
telem_port_bytes(const struct telem_config *config, uint32_t slots)
{
	size_t bytes = sizeof(struct telem_port) + polled_bytes(config->host);

	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (collectors[i]->is_on == NULL || collectors[i]->is_on(config))
			bytes += collectors[i] == &collector_epochs ? epochs_bytes(config, slots)
								    : collectors[i]->state_bytes;
	return bytes;
}

void
telem_fini(struct telem_port *t)
{
	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++) {
		if (t->state[i] == NULL)
			continue;
		if (collectors[i]->fini != NULL)
			collectors[i]->fini(t->state[i]);
		if (i != 0)
			free(t->state[i]);
	}
	polled_fini(&t->polled);
	memset(t, 0, sizeof(*t));
}

void
telem_more_enqueue(struct telem_port *t, const struct telem_batch *batch)
{
	if (t->more_enqueue & 1)
		epochs_observe(&t->epochs, batch);
	for (uint32_t i = 1; i < ARRAY_LEN(collectors); i++)
		if (t->more_enqueue >> i & 1)
			collectors[i]->on_enqueue(t->state[i], batch);
}

void
telem_add(struct telem_port *t, const struct telem_batch *batch)
{
	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL && collectors[i]->on_enqueue != NULL)
			collectors[i]->on_enqueue(t->state[i], batch);
}

void
telem_pause(struct telem_port *t, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL && collectors[i]->on_pause != NULL)
			collectors[i]->on_pause(t->state[i], classes, what, now_ps);
}

void
telem_drop(struct telem_port *t, const struct pkt *p, enum rec_drop reason, uint64_t now_ps)
{
	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL && collectors[i]->on_drop != NULL)
			collectors[i]->on_drop(t->state[i], p, reason, now_ps);
}

bool
telem_roll(struct telem_port *t, uint64_t now_ps, uint64_t *digest)
{
	bool sums = true;

	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL && collectors[i]->on_epoch != NULL)
			sums &= collectors[i]->on_epoch(t->state[i], now_ps, digest);
	return sums;
}

void
telem_reporter_init(struct telem_reporter *to, uint32_t node, const struct flow_table *flows, struct recbuf *records,
		    struct report_count *count)
{
	*to = (struct telem_reporter){ .node = node, .flows = flows, .records = records, .count = count };
	recbuf_init(&to->spare, node);
	to->spare.discarded = true;
}

void
telem_reporter_fini(struct telem_reporter *to)
{
	recbuf_fini(&to->spare);
}

/* Is what a port replies now kept? Then the next of its kind is not, for a while. */
static bool
keep(struct telem_port *t, enum telem_extent extent, uint64_t now_ps)
{
	uint64_t next_ps = now_ps + t->config->retain_ps;

	if (extent == TELEM_DROPS)
		return true;
	if (now_ps < (extent == TELEM_ROWS ? t->keep_ps : t->keep_state_ps))
		return false;
	t->keep_state_ps = next_ps;
	if (extent == TELEM_ROWS) /* else what left by the port is not reported yet */
		t->keep_ps = next_ps;
	return true;
}

bool
telem_reply(struct telem_port *t, struct telem_reporter *to, enum telem_extent extent, const struct telem_present *present,
	    uint32_t event, uint64_t now_ps, uint32_t asked)
{
	const struct telem_query query = {
		.extent = extent,
		.event = event,
		.now_ps = now_ps,
		.present = present,
		.kept = keep(t, extent, now_ps),
	};
	struct recbuf *records = query.kept ? to->records : &to->spare;
	size_t from = records->used_bytes;
	uint32_t unkept = query.kept ? asked - 1 : asked;

	for (uint32_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL)
			collectors[i]->report(t->state[i], &query, records);
	if (unkept != 0) {
		to->count->unkept_reports += unkept;
		to->count->unkept_bytes += unkept * recframe_bytes_of(records->data + from, records->used_bytes - from);
	}
	to->spare.used_bytes = 0;
	return query.kept;
}

void
telem_late(struct telem_port *t, struct telem_reporter *to, uint64_t now_ps, bool last)
{
	for (uint32_t i = 0; t->config->late_looks && i < ARRAY_LEN(collectors); i++)
		if (t->state[i] != NULL && collectors[i]->late != NULL)
			collectors[i]->late(t->state[i], now_ps, last, to->records);
}

/* Polling packets at a host's port. */

/* Flags of an event that a host's port remembers. */
#define ASKED 1
#define SENT_BACK 2

static void
reply(const struct telem_poll *at, enum telem_extent extent, uint32_t event)
{
	telem_reply(at->port, at->to, extent, at->present, event, at->now_ps, 1);
}

uint32_t
telem_poll_leaves(const struct telem_poll *at, const struct pkt *poll, bool paused)
{
	bool back = poll->arg & POLL_BACK; /* the event's request was made here on arrival */
	bool repeated = !back && polled_fresh(&at->port->polled, poll->id, ASKED) == 0;

	paused |= telem_has_epochs(at->port) && epochs_was_paused(&at->port->epochs, at->to->flows->flows[poll->flow].prio);
	polled_record(poll, at->to->flows, REC_NO_PORT, at->index, paused, repeated, at->to->records, at->now_ps);
	reply(at, TELEM_ROWS, poll->id);
	return paused && !back ? poll->arg | POLL_PFC : poll->arg; /* ACKs are never paused */
}

bool
telem_poll_turns(struct telem_port *port, const struct pkt *poll, struct pkt *back)
{
	if ((poll->arg & (POLL_VICTIM | POLL_ACKS)) != (POLL_VICTIM | POLL_ACKS) || (poll->flags & PKT_REVERSE) != 0 ||
	    polled_fresh(&port->polled, poll->id, SENT_BACK) == 0)
		return false;
	*back = *poll;
	back->arg = POLL_VICTIM | POLL_BACK | (poll->arg & POLL_QUIET);
	back->flags = PKT_REVERSE;
	back->ttl = PKT_TTL_INIT;
	return true;
}

bool
telem_poll_asks(struct telem_port *port, const struct pkt *poll, enum telem_extent *extent)
{
	*extent = poll->arg & POLL_PFC ? TELEM_ROWS : TELEM_DROPS; /* the victim's faults here: a wrong ICRC */
	if (polled_fresh(&port->polled, poll->id, ASKED) == 0)
		return false;
	return *extent == TELEM_ROWS || (!(poll->arg & POLL_QUIET) && port_drops_any(port->drops));
}

void
telem_poll_reply(const struct telem_poll *at, const struct pkt *poll, enum telem_extent extent)
{
	polled_record(poll, at->to->flows, at->index, REC_NO_PORT, false, false, at->to->records, at->now_ps);
	reply(at, extent, poll->id);
}

void
telem_poll_unasked(const struct telem_poll *at)
{
	reply(at, TELEM_ROWS, 0);
}
