/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/record/frame.h"

/* In the order in which their rows follow each other in a reply. The first is also called in telem_enqueue(). */
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
	if (polled_init(&t->polled, config->host) < 0)
		return -ENOMEM;
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
		if (i != 0 && row->on_enqueue != NULL)
			t->more_enqueue |= 1u << i;
	}
	return 0;
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
telem_more_enqueue(const struct telem_port *t, const struct telem_batch *batch)
{
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
	if (extent == TELEM_ROWS) /* else what left by the port is still to be told */
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
