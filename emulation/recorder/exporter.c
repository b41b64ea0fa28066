/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/exporter.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/record/kinds.h"
#include "emulation/recorder/bucket.h"
#include "emulation/recorder/gaps.h"
#include "emulation/recorder/recmerge.h"
#include "emulation/recorder/recqueue.h"
#include "emulation/recorder/sink.h"

struct exporter {
	struct recmerge merge;
	struct recqueue queue;
	struct sink sink;
	struct bucket bucket; /* unused without a budget */
	bool limited;
	uint64_t queue_bytes;
	struct gaps gaps;
	struct exporter_count counts[RECORD_KINDS]; /* by enum rec_type */
	uint64_t sent_bytes, header_bytes;
	uint64_t peak_interval, interval_bytes, peak_bytes;
	uint32_t seq;               /* of records that the exporter itself makes */
	struct record_check *check; /* NULL: nobody wants to know what is described */
};

static void offer_until(struct exporter *e, uint64_t before_ps);
static size_t same_time(const struct exporter *e, size_t first, size_t end);
static void offer_group(struct exporter *e, size_t first, size_t end);
static void count_offered(struct exporter *e, const struct rec_hdr *hdr);
static void enqueue(struct exporter *e, const struct rec_hdr *hdr);
static void shrink(struct exporter *e, uint32_t for_class, uint64_t limit_bytes);
static void drain(struct exporter *e, uint64_t until_ps);
static void send_record(struct exporter *e, const struct rec_hdr *hdr, uint64_t now_ps);
static void drop(struct exporter *e, const struct rec_hdr *hdr);
static void send_gaps(struct exporter *e, uint64_t now_ps);
static void put_own(struct exporter *e, void *rec, uint16_t type, size_t size_bytes, uint64_t time_ps);

struct exporter *
exporter_create(const struct exporter_config *config, const struct output_target *targets, uint32_t count, struct err *err)
{
	struct rec_stream head = { .magic = REC_MAGIC, .version = REC_VERSION, .size = sizeof(head) };
	struct exporter *e = NULL;
	int rc = exporter_check(config, err);

	if (rc == 0 && (e = calloc(1, sizeof(*e))) == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for the exporter");
	if (rc == 0)
		rc = sink_init(&e->sink, targets, count, &head, err);
	if (rc != 0) {
		free(e);
		errno = -rc;
		return NULL;
	}
	e->limited = config->budget != 0;
	e->queue_bytes = config->queue_bytes;
	if (e->limited)
		bucket_init(&e->bucket, config->budget, exporter_burst_bytes(config));
	e->header_bytes += sizeof(head);
	return e;
}

void
exporter_destroy(struct exporter *e)
{
	if (e == NULL)
		return;
	sink_fini(&e->sink);
	recqueue_fini(&e->queue);
	recmerge_fini(&e->merge);
	free(e);
}

void
exporter_set_clock(struct exporter *e, bool real_time, bool (*hurried)(void))
{
	sink_set_clock(&e->sink, real_time, hurried);
}

void
exporter_header(struct exporter *e, void *rec, uint16_t type, size_t size_bytes)
{
	assert(record_is_header(type));
	put_own(e, rec, type, size_bytes, 0);
	e->header_bytes += size_bytes;
	if (e->check != NULL)
		record_check(e->check, rec,
			     NULL); /* what does not pass there is refused by every reader, with the reason */
}

void
exporter_show(struct exporter *e, struct record_check *check)
{
	e->check = check;
}

void
exporter_collect(struct exporter *e, struct recbuf *const bufs[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bufs[i]->used_bytes > 0)
			recmerge_add(&e->merge, bufs[i]);
}

void
exporter_advance(struct exporter *e, uint64_t now_ps)
{
	offer_until(e, now_ps);
	drain(e, now_ps);
}

void
exporter_flush(struct exporter *e)
{
	sink_flush(&e->sink);
}

void
exporter_finish(struct exporter *e, struct rec_end *end)
{
	struct exporter_stats stats;
	const struct rec_hdr *hdr;
	uint32_t class;

	offer_until(e, TIME_NEVER);
	drain(e, end->end_ps);
	while ((hdr = recqueue_head(&e->queue, &class)) != NULL) {
		drop(e, hdr);
		recqueue_pop(&e->queue, class);
	}
	send_gaps(e, end->end_ps);
	exporter_stats(e, &stats);
	assert(stats.all.offered_bytes == stats.all.sent_bytes + stats.all.dropped_bytes);
	assert(stats.all.offered_records == stats.all.sent_records + stats.all.dropped_records);
	end->offered_bytes = stats.all.offered_bytes;
	end->sent_bytes = stats.all.sent_bytes;
	end->offered_records = stats.all.offered_records;
	end->sent_records = stats.all.sent_records;
	end->deferred_records = stats.all.deferred_records;
	end->dropped_records = stats.all.dropped_records;
	end->recording_errno = (uint16_t)sink_settle(&e->sink);
	end->hdr.node = REC_NONE;
	put_own(e, end, REC_END, sizeof(*end), end->end_ps);
	e->header_bytes += sizeof(*end);
	sink_fini(&e->sink);
}

/* Everything older than before_ps, group by group of one time, in order. */
static void
offer_until(struct exporter *e, uint64_t before_ps)
{
	size_t count = recmerge_sort(&e->merge, before_ps);

	for (size_t first = 0, end; first < count; first = end) {
		end = same_time(e, first, count);
		offer_group(e, first, end);
	}
	recmerge_consume(&e->merge, count);
}

static size_t
same_time(const struct exporter *e, size_t first, size_t end)
{
	uint64_t time_ps = e->merge.refs[first].time_ps;
	size_t next = first + 1;

	while (next < end && e->merge.refs[next].time_ps == time_ps)
		next++;
	return next;
}

/* Sent as it stands if the budget takes the whole group, else by relevance. */
static void
offer_group(struct exporter *e, size_t first, size_t end)
{
	uint64_t time_ps = e->merge.refs[first].time_ps, bytes = 0;

	drain(e, time_ps);
	for (size_t i = first; i < end; i++) {
		const struct rec_hdr *hdr = recmerge_at(&e->merge, i);

		count_offered(e, hdr);
		bytes += hdr->size;
	}
	if (!e->limited || (e->queue.records == 0 && bytes + e->gaps.due_bytes <= bucket_bytes(&e->bucket))) {
		for (size_t i = first; i < end; i++)
			send_record(e, recmerge_at(&e->merge, i), time_ps);
		return;
	}
	for (size_t i = first; i < end; i++)
		enqueue(e, recmerge_at(&e->merge, i));
	drain(e, time_ps);
	shrink(e, 0, e->queue_bytes);
}

static void
count_offered(struct exporter *e, const struct rec_hdr *hdr)
{
	uint64_t interval = hdr->time_ps / EXPORTER_PEAK_PS;

	assert(record_is_report(hdr->type));
	e->counts[hdr->type].offered_records++;
	e->counts[hdr->type].offered_bytes += hdr->size;
	if (interval != e->peak_interval) {
		e->peak_interval = interval;
		e->interval_bytes = 0;
	}
	e->interval_bytes += hdr->size;
	if (e->interval_bytes > e->peak_bytes)
		e->peak_bytes = e->interval_bytes;
}

/* May exceed the queue's limit by what the bucket can take at once; drain() and shrink() follow. */
static void
enqueue(struct exporter *e, const struct rec_hdr *hdr)
{
	uint32_t class = record_kinds[hdr->type].relevance;
	uint64_t limit_bytes = e->queue_bytes + bucket_bytes(&e->bucket);

	if (hdr->size > limit_bytes || hdr->size + REC_REPORT_KINDS * sizeof(struct rec_gap) > e->bucket.burst_bytes) {
		drop(e, hdr);
		return;
	}
	shrink(e, class, limit_bytes - hdr->size);
	if (e->queue.bytes + hdr->size <= limit_bytes)
		recqueue_put(&e->queue, class, hdr);
	else
		drop(e, hdr);
}

/* Gives up what is least relevant, but nothing that is more relevant than for_class. */
static void
shrink(struct exporter *e, uint32_t for_class, uint64_t limit_bytes)
{
	while (e->queue.bytes > limit_bytes) {
		uint32_t class;
		const struct rec_hdr *victim = recqueue_victim(&e->queue, for_class, &class);

		if (victim == NULL)
			return;
		drop(e, victim);
		recqueue_pop(&e->queue, class);
	}
}

/* Sends what waits, each record at the time at which the budget allows it. */
static void
drain(struct exporter *e, uint64_t until_ps)
{
	const struct rec_hdr *hdr;
	uint32_t class;

	if (!e->limited)
		return;
	while ((hdr = recqueue_head(&e->queue, &class)) != NULL) {
		uint64_t ready_ps = bucket_ready_ps(&e->bucket, hdr->size + gaps_toll(&e->gaps, e->sent_bytes));

		if (ready_ps > until_ps)
			break;
		bucket_fill(&e->bucket, ready_ps);
		send_record(e, hdr, ready_ps);
		recqueue_pop(&e->queue, class);
	}
	bucket_fill(&e->bucket, until_ps);
}

static void
send_record(struct exporter *e, const struct rec_hdr *hdr, uint64_t now_ps)
{
	struct exporter_count *count = &e->counts[hdr->type];
	uint64_t toll_bytes = gaps_toll(&e->gaps, e->sent_bytes);

	if (toll_bytes > 0)
		send_gaps(e, now_ps);
	if (e->limited)
		bucket_take(&e->bucket, hdr->size + toll_bytes);
	sink_put(&e->sink, hdr);
	count->sent_records++;
	count->sent_bytes += hdr->size;
	count->deferred_records += now_ps > hdr->time_ps;
	e->sent_bytes += hdr->size;
}

static void
drop(struct exporter *e, const struct rec_hdr *hdr)
{
	struct exporter_count *count = &e->counts[hdr->type];

	count->dropped_records++;
	count->dropped_bytes += hdr->size;
	gaps_note(&e->gaps, hdr);
}

static void
send_gaps(struct exporter *e, uint64_t now_ps)
{
	struct rec_gap gap;

	while (gaps_take(&e->gaps, &gap)) {
		gap.hdr.node = REC_NONE;
		put_own(e, &gap, REC_GAP, sizeof(gap), now_ps);
	}
}

/* A record of the exporter's own, or one that it numbers. */
static void
put_own(struct exporter *e, void *rec, uint16_t type, size_t size_bytes, uint64_t time_ps)
{
	struct rec_hdr *hdr = rec;

	assert(size_bytes % 8 == 0 && size_bytes >= sizeof(*hdr) && size_bytes <= UINT16_MAX);
	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->time_ps = time_ps;
	hdr->seq = e->seq++;
	sink_put(&e->sink, hdr);
}

void
exporter_stats(const struct exporter *e, struct exporter_stats *stats)
{
	*stats = (struct exporter_stats){
		.waiting_records = e->queue.records,
		.waiting_bytes = e->queue.bytes,
		.header_bytes = e->header_bytes,
		.gap_records = e->gaps.told_records,
		.gap_bytes = e->gaps.told_bytes,
		.stream_bytes = e->sent_bytes + e->header_bytes + e->gaps.told_bytes,
	};
	for (uint32_t i = 0; i < RECORD_KINDS; i++) {
		const struct exporter_count *count = &e->counts[i];

		stats->kinds[i] = *count;
		stats->all.offered_records += count->offered_records;
		stats->all.offered_bytes += count->offered_bytes;
		stats->all.sent_records += count->sent_records;
		stats->all.sent_bytes += count->sent_bytes;
		stats->all.dropped_records += count->dropped_records;
		stats->all.dropped_bytes += count->dropped_bytes;
		stats->all.deferred_records += count->deferred_records;
	}
}

struct output_stats
exporter_output(const struct exporter *e, const struct output_ops *ops)
{
	return sink_stats(&e->sink, ops);
}

uint64_t
exporter_peak(const struct exporter *e)
{
	return e->peak_bytes * (PS_PER_S / EXPORTER_PEAK_PS);
}
