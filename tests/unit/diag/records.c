/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/printable.h"
#include "common/prng.h"
#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "diag/registry.h"
#include "diag/report/json.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "tests/unit/diag/strict_json.h"
#include "tests/unit/unit.h"

void
records_append(struct records *r, const void *data, size_t size_bytes)
{
	if (r->used_bytes + size_bytes > r->cap_bytes) {
		r->cap_bytes = 2 * (r->used_bytes + size_bytes);
		r->data = realloc(r->data, r->cap_bytes);
		assert_non_null(r->data);
	}
	memcpy(r->data + r->used_bytes, data, size_bytes);
	r->used_bytes += size_bytes;
}

void
records_init(struct records *r)
{
	const struct rec_stream hdr = { REC_MAGIC, REC_VERSION, sizeof(hdr) };

	memset(r, 0, sizeof(*r));
	records_append(r, &hdr, sizeof(hdr));
}

void
records_fini(struct records *r)
{
	free(r->data);
	memset(r, 0, sizeof(*r));
}

void
records_put(struct records *r, void *rec, uint16_t type, size_t size_bytes, uint32_t node, uint64_t time_ps)
{
	struct rec_hdr *hdr = rec;

	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->node = node;
	hdr->time_ps = time_ps;
	hdr->seq = r->seq++;
	r->reports += record_is_report(type);
	r->report_bytes += record_is_report(type) ? size_bytes : 0;
	records_append(r, rec, size_bytes);
}

void
records_run(struct records *r)
{
	struct rec_run run = { .name = "test",
			       .epochs_kept = 2,
			       .epoch_ps = RECORDS_EPOCH_PS,
			       .frame_bytes = 1348,
			       .payload_bytes = 1300,
			       .ack_bytes = 60,
			       .detections = 3,
			       .rtt_percent = 120 };

	RECORDS_PUT(r, run, REC_RUN, REC_NONE, 0);
}

void
records_node(struct records *r, uint32_t node, const char *name, bool host, uint32_t nports)
{
	struct rec_node rec = { .kind = host, .nports = nports };

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	RECORDS_PUT(r, rec, REC_NODE, node, 0);
}

uint32_t
records_ip(uint32_t node)
{
	return 0x0a000001u + node;
}

void
records_link(struct records *r, uint32_t a, uint16_t port_a, bool host_a, uint32_t b, uint16_t port_b, bool host_b)
{
	struct rec_port one = { .port = port_a,
				.peer_port = port_b,
				.peer = b,
				.ip = host_a ? records_ip(a) : 0,
				.rate_bps = RECORDS_RATE_BPS,
				.delay_ps = 2 * PS_PER_US };
	struct rec_port two = { .port = port_b,
				.peer_port = port_a,
				.peer = a,
				.ip = host_b ? records_ip(b) : 0,
				.rate_bps = RECORDS_RATE_BPS,
				.delay_ps = 2 * PS_PER_US };

	RECORDS_PUT(r, one, REC_PORT, a, 0);
	RECORDS_PUT(r, two, REC_PORT, b, 0);
}

struct rec_tuple
records_tuple(uint32_t src, uint32_t dst, uint16_t sport)
{
	return (struct rec_tuple){ records_ip(src), records_ip(dst), sport, sport, 0 };
}

void
records_route(struct records *r, struct rec_tuple flow, const uint32_t (*hops)[2], uint32_t count)
{
	for (uint32_t h = 0; h < count; h++) {
		struct rec_route rec = { .flow = flow, .hop = (uint16_t)h, .port = (uint16_t)hops[h][1] };

		RECORDS_PUT(r, rec, REC_ROUTE, hops[h][0], 0);
	}
}

void
records_collective(struct records *r, uint32_t ranks, uint32_t steps)
{
	struct rec_collective rec = { .ranks = ranks > 1 ? ranks : 2,
				      .steps = ranks * steps,
				      .rank_steps = steps,
				      .bytes = 1000000,
				      .name = "c0",
				      .job_name = "job" };

	RECORDS_PUT(r, rec, REC_COLLECTIVE, REC_NONE, 0);
}

void
records_schedule(struct records *r, uint32_t rank, uint32_t step, uint32_t src, uint32_t dst, uint32_t depends,
		 uint64_t expect_ps)
{
	struct rec_schedule rec = { .step = step,
				    .rank = rank,
				    .flow = records_tuple(src, dst, 10000),
				    .bytes = 360000000,
				    .peer = rank == 0,
				    .own_step = step - 1,
				    .depends_rank = depends,
				    .depends_step = depends == REC_NONE ? 0 : step - 1,
				    .ideal_ps = expect_ps,
				    .expect_ps = expect_ps,
				    .base_rtt_ps = 10 * PS_PER_US };

	r->rank_of[src] = rank;
	RECORDS_PUT(r, rec, REC_SCHEDULE, src, 0);
}

void
records_class(struct records *r, uint32_t prio)
{
	for (size_t at = sizeof(struct rec_stream); at < r->used_bytes;) {
		struct rec_schedule *sched = (void *)(r->data + at);

		if (sched->hdr.type == REC_SCHEDULE)
			sched->prio = prio;
		at += sched->hdr.size;
	}
}

void
records_step(struct records *r, uint32_t step, uint32_t src, uint32_t waited_for, uint64_t start_ps, uint64_t end_ps)
{
	bool own = waited_for == REC_NONE;
	struct rec_step rec = { .step = step,
				.rank = r->rank_of[src],
				.waited_collective = step > 1 ? 0 : REC_NONE,
				.waited_rank = step > 1 ? r->rank_of[own ? src : waited_for] : REC_NONE,
				.waited_step = step - 1,
				.bytes = 360000000,
				.acked_bytes = 360000000,
				.start_ps = start_ps,
				.end_ps = end_ps };

	RECORDS_PUT(r, rec, REC_STEP, src, end_ps);
}

struct rec_port_row
records_port_row(uint16_t port, uint32_t first, uint32_t last, uint64_t packets, uint64_t depth_sum, uint32_t depth_max)
{
	return (struct rec_port_row){ .port = port,
				      .epoch_first = first,
				      .epoch_last = last,
				      .from_ps = first * RECORDS_EPOCH_PS,
				      .to_ps = (last + 1) * RECORDS_EPOCH_PS,
				      .packets = packets,
				      .bytes = packets * 1348,
				      .depth_sum = depth_sum,
				      .depth_max = depth_max };
}

struct rec_flow_row
records_flow_row(uint16_t port, struct rec_tuple flow, uint32_t first, uint32_t last, uint64_t packets, uint64_t depth_sum)
{
	return (struct rec_flow_row){ .flow = flow,
				      .port = port,
				      .epoch_first = first,
				      .epoch_last = last,
				      .packets = packets,
				      .bytes = packets * 1348,
				      .depth_sum = depth_sum };
}

struct rec_meter_row
records_meter_row(uint16_t in_port, uint16_t port, uint32_t first, uint32_t last, uint64_t bytes)
{
	return (struct rec_meter_row){
		.in_port = in_port, .port = port, .epoch_first = first, .epoch_last = last, .bytes = bytes
	};
}

void
records_put_port(struct records *r, uint32_t node, struct rec_port_row row)
{
	RECORDS_PUT(r, row, REC_PORT_ROW, node, row.to_ps);
}

void
records_put_flow(struct records *r, uint32_t node, struct rec_flow_row row)
{
	RECORDS_PUT(r, row, REC_FLOW_ROW, node, (row.epoch_last + 1) * RECORDS_EPOCH_PS);
}

void
records_put_meter(struct records *r, uint32_t node, struct rec_meter_row row)
{
	RECORDS_PUT(r, row, REC_METER_ROW, node, (row.epoch_last + 1) * RECORDS_EPOCH_PS);
}

void
records_end(struct records *r, uint32_t reason, uint64_t end_ps)
{
	struct rec_end rec = { .reason = reason,
			       .clock_error_ps = r->clock_error_ps,
			       .at_node = REC_NONE,
			       .end_ps = end_ps,
			       .offered_bytes = r->report_bytes,
			       .sent_bytes = r->report_bytes,
			       .offered_records = r->reports,
			       .sent_records = r->reports };

	RECORDS_PUT(r, rec, REC_END, REC_NONE, end_ps);
}

void
records_evidence(const struct records *r, struct evidence *ev)
{
	struct err err = { 0 };
	struct stream stream;

	evidence_init(ev);
	stream_init(&stream, ev);
	if (stream_feed(&stream, r->data, r->used_bytes, &err) != 0 || stream_finish(&stream, &err) != 0)
		fail_msg("%s", err.text);
	if (ev->left_out != 0)
		fail_msg("%s", ev->left_out_why.text);
	stream_fini(&stream);
}

static int
report_text(const struct verdict *v, FILE *to)
{
	return text_write(v, NULL, to);
}

static int
report_page(const struct verdict *v, FILE *to)
{
	return page_write(v, PAGE_DATA_MARK, to);
}

/* @return what a writer wrote, to be freed */
static char *
written(int (*write)(const struct verdict *v, FILE *to), const struct verdict *v)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(write(v, to), 0);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

/* Whatever the stream says, a report is UTF-8 without controls. */
static void
assert_lines(char *text)
{
	size_t size = strlen(text) + 1;
	char *safe = malloc(size);

	assert_non_null(safe);
	assert_string_equal(printable_text(text, safe, size), text);
	free(safe);
	free(text);
}

static void
assert_json(char *text)
{
	const char *where;

	if (!strict_json(text, &where))
		fail_msg("a report is no JSON from byte %zu on: %s", (size_t)(where - text), text);
	assert_lines(text);
}

static void
write_lines(const struct verdict *v)
{
	assert_lines(written(report_text, v));
	for (uint32_t i = 0; i < v->nsections; i++)
		for (uint32_t f = 0; f < v->sections[i].by->writers.nfiles; f++)
			assert_lines(written(v->sections[i].by->writers.files[f].write, v));
}

void
records_report(const struct verdict *v)
{
	assert_json(written(json_write, v));
	assert_json(written(report_page, v));
	write_lines(v);
}

/* JSON and its page take three times as long as all else. @return whether it is this one's turn */
static bool
is_whole(void)
{
	static uint32_t every, n;

	if (every == 0)
		every = 6 / unit_wide(1, 6, "verdicts by chance whose JSON and page are written, of six");
	return n++ % every == 0;
}

char *
records_text(const struct verdict *v)
{
	char *text = NULL;
	size_t size, end = 0;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(text_write(v, NULL, to), 0);
	fclose(to);
	for (char *c = text; *c != '\0'; c++)
		*c = *c == '\n' ? ' ' : *c;
	for (const char *from = text; *from != '\0'; from++)
		if (from[0] != ' ' || from[1] != ' ')
			text[end++] = *from;
	text[end] = '\0';
	return text;
}

#define SHAKEN 12 /* streams like one */
#define SHAKEN_MAX_BYTES (64u << 10)
#define MAX_CHANGES 8

/* @return index of another record of this kind, itself where there is none */
static uint32_t
another(const struct records *r, const size_t *at, uint32_t count, uint32_t of, struct prng *prng)
{
	uint32_t start = (uint32_t)prng_below(prng, count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = (start + i) % count;

		if (n != of && memcmp(r->data + at[n], r->data + at[of], sizeof(uint16_t)) == 0)
			return n;
	}
	return of;
}

/* One field of a record: another's, or its own but for a little, twice, half of it or nothing. */
static void
change(struct records *r, size_t rec, size_t other, struct prng *prng)
{
	const struct rec_hdr *hdr = (const struct rec_hdr *)(void *)(r->data + rec);
	const struct record_kind *kind = &record_kinds[hdr->type];
	const struct record_field *field = kind->nfields != 0 ? &kind->fields[prng_below(prng, kind->nfields)] : NULL;
	uint8_t *to = r->data + rec + (field != NULL ? field->at : 0);
	uint64_t value = 0, by;

	if (field == NULL)
		return;
	if (field->size > sizeof(value) || (rec != other && prng_below(prng, 2) == 0)) {
		memcpy(to, r->data + other + field->at, field->size);
		return;
	}
	memcpy(&value, to, field->size);
	by = prng_below(prng, 6);
	value = by == 0 ? 0 : by == 1 ? 1 : by == 2 ? value / 2 : by == 3 ? value * 2 : by == 4 ? value + 1 : value - 1;
	memcpy(to, &value, field->size);
}

static uint16_t
type_at(const struct records *r, size_t at)
{
	return ((const struct rec_hdr *)(const void *)(r->data + at))->type;
}

/* @return index of a record: each kind is as likely, but that one in eight describes the network */
static uint32_t
some(const struct records *r, const size_t *at, uint32_t count, struct prng *prng)
{
	uint32_t chosen = 0;

	for (uint32_t tries = 0; tries < 8; tries++) {
		uint16_t type;

		chosen = (uint32_t)prng_below(prng, count);
		type = (uint16_t)prng_below(prng, RECORD_KINDS);
		for (uint32_t i = 0; i < count && type_at(r, at[chosen]) != type; i++)
			chosen = (chosen + 1) % count;
		if (!record_is(type_at(r, at[chosen]), REC_TOPOLOGY))
			break;
	}
	return chosen;
}

/* All records but for some reports, which are missing or there twice, numbered anew. */
static void
copy(const struct records *r, const size_t *at, uint32_t count, struct records *to, struct prng *prng)
{
	uint64_t among = prng_below(prng, 2) == 0 ? count : 8;

	records_append(to, r->data, sizeof(struct rec_stream));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t times = prng_below(prng, 2 * among), from = to->used_bytes;
		const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)(r->data + at[i]);

		for (times = !record_is_report(hdr->type) || times > 1 ? 1 : 2 * times; times > 0; times--) {
			records_append(to, hdr, hdr->size);
			((struct rec_hdr *)(void *)(to->data + from))->seq = to->seq++;
			from = to->used_bytes;
		}
	}
}

/* @return their number; at[i]: where record i begins */
static uint32_t
find_all(const struct records *r, size_t *at)
{
	uint32_t count = 0;

	for (size_t next = sizeof(struct rec_stream); next < r->used_bytes;) {
		const struct rec_hdr *hdr = (const struct rec_hdr *)(void *)(r->data + next);

		at[count++] = next;
		next += hdr->size;
	}
	return count;
}

static void
check_findings(const struct verdict *v)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];

		assert_true(f->confidence >= 0 && f->confidence <= 1);
		assert_true(f->start_ps <= f->end_ps);
		assert_true(f->root_port == RUN_NONE || f->root_port < v->run.nports);
		for (uint32_t k = 0; k < f->nports; k++)
			assert_true(f->ports[k] < v->run.nports);
		for (uint32_t k = 0; k < f->nflows; k++)
			assert_true(f->flows[k] < v->run.nflows);
		for (uint32_t k = 0; k < f->nsteps; k++)
			assert_true(f->steps[k] < v->run.nsteps);
	}
}

void
records_diagnose_any(const struct records *r)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct stream stream;
	struct evidence ev;
	int rc;

	evidence_init(&ev);
	stream_init(&stream, &ev);
	rc = stream_feed(&stream, r->data, r->used_bytes, &err);
	if (rc == 0)
		rc = stream_finish(&stream, &err);
	stream_fini(&stream);
	if (rc == 0)
		rc = registry_diagnose(&ev, &v, &err);
	evidence_fini(&ev);
	if (rc != 0) {
		assert_true(err.text[0] != '\0');
		return;
	}
	check_findings(v);
	(is_whole() ? records_report : write_lines)(v);
	verdict_destroy(v);
}

void
records_shake(const struct records *r)
{
	size_t *at;
	uint32_t count;

	if (r->used_bytes > SHAKEN_MAX_BYTES)
		return;
	at = malloc(r->used_bytes * sizeof(*at));
	assert_non_null(at);
	count = find_all(r, at);
	for (uint32_t seed = 0; seed < SHAKEN; seed++) {
		struct records other = { 0 }, whole = { 0 };
		struct prng prng;

		prng_init(&prng, seed, r->used_bytes);
		records_append(&other, r->data, r->used_bytes);
		for (uint64_t n = 1 + prng_below(&prng, MAX_CHANGES); n > 0; n--) {
			uint32_t which = some(&other, at, count, &prng);

			change(&other, at[which], at[another(&other, at, count, which, &prng)], &prng);
		}
		copy(&other, at, count, &whole, &prng);
		records_diagnose_any(&whole);
		records_fini(&whole);
		records_fini(&other);
	}
	free(at);
}
