/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/exporter.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/record/buffer.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/record_hdr.h"
#include "emulation/recorder/gaps.h"

/* The configuration. */

static const struct cfg_field exporter_fields[] = {
	CFG_FIELD("budget", CFG_BYTES, offsetof(struct exporter_config, budget), .def = "1250MB",
		  .doc = "Bytes per second of the run's time that telemetry may use: the default is the rate of a 10 Gbps "
			 "port of the analyzer. 0: unlimited."),
	CFG_FIELD("burst", CFG_BYTES, offsetof(struct exporter_config, burst_bytes), .def = "0", .max = 1 << 30,
		  .doc = "Bytes that may leave at once after a pause. 0: the budget of one millisecond, at least 4608."),
	CFG_FIELD(
		"queue", CFG_BYTES, offsetof(struct exporter_config, queue_bytes), .def = "1MB", .max = 1 << 30,
		.doc = "Bytes that may wait for the budget; the excess is dropped, the least relevant first, and counted."),
	CFG_FIELD("switch_budget", CFG_BYTES, offsetof(struct exporter_config, switch_budget), .def = "0",
		  .doc = "Bytes per second that each switch may export: the excess over them, and a millisecond's worth at "
			 "once, "
			 "is dropped, the least relevant of a report first, and counted. 0: unlimited."),
	CFG_FIELD("pod_budget", CFG_BYTES, offsetof(struct exporter_config, pod_budget), .def = "0",
		  .doc = "The same for the switches of a pod together (networks of three tiers). 0: unlimited."),
};

const struct cfg_table exporter_cfg_table = {
	.path = "exporter",
	.doc = "Bandwidth of telemetry from switches and hosts to the analyzer.",
	.size = sizeof(struct exporter_config),
	.fields = exporter_fields,
	.nfields = ARRAY_LEN(exporter_fields),
};

int
exporter_check(const struct exporter_config *config, struct err *err)
{
	if (config->burst_bytes == 0 || config->burst_bytes >= EXPORTER_BURST_MIN)
		return 0;
	return cfg_fail(&config->where, "burst", err, "%llu B hold no frame: at least %d, or 0 for a default",
			(unsigned long long)config->burst_bytes, EXPORTER_BURST_MIN);
}

uint64_t
exporter_burst_bytes(const struct exporter_config *config)
{
	return config->burst_bytes != 0 ? config->burst_bytes : budget_burst_bytes(config->budget);
}

uint64_t
exporter_window_bytes(const struct exporter_config *config)
{
	uint64_t budget_bytes = budget_window_bytes(config->budget) + EXPORTER_BURST_MIN;
	uint64_t burst_bytes = exporter_burst_bytes(config);

	return budget_bytes > burst_bytes ? budget_bytes : burst_bytes;
}

/* Records of many nodes in one order: (time, node, sequence). */

struct recmerge_ref {
	uint64_t time_ps;
	uint32_t node, seq;
	size_t offset; /* in data; the first arrival is first where the rest is equal */
};

/* Holds copies, so that nodes may report on while records wait for their turn. Zero-initialise. */
struct recmerge {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	struct recmerge_ref *refs;
	size_t nrefs, cap_refs;
};

/* The record at an index after recmerge_sort(). */
static inline const struct rec_hdr *
recmerge_at(const struct recmerge *merge, size_t index)
{
	return (const struct rec_hdr *)(const void *)(merge->data + merge->refs[index].offset);
}

static void append(struct recmerge *merge, const struct rec_hdr *hdr);
static int compare(const void *a, const void *b);

static void
recmerge_fini(struct recmerge *merge)
{
	free(merge->data);
	free(merge->refs);
	*merge = (struct recmerge){ 0 };
}

/* Takes all records of a buffer over and empties it. Memory exhaustion ends the program with a message. */
static void
recmerge_add(struct recmerge *merge, struct recbuf *buf)
{
	for (size_t offset = 0; offset < buf->used_bytes;) {
		const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)(buf->data + offset);

		assert(hdr->size >= sizeof(*hdr) && hdr->size % 8 == 0 && hdr->size <= buf->used_bytes - offset);
		append(merge, hdr);
		offset += hdr->size;
	}
	buf->used_bytes = 0;
}

static void
append(struct recmerge *merge, const struct rec_hdr *hdr)
{
	merge->data = grow(merge->data, &merge->cap_bytes, merge->used_bytes + hdr->size, 1, "records");
	merge->refs = grow(merge->refs, &merge->cap_refs, merge->nrefs + 1, sizeof(*merge->refs), "records");
	merge->refs[merge->nrefs++] = (struct recmerge_ref){
		.time_ps = hdr->time_ps,
		.node = hdr->node,
		.seq = hdr->seq,
		.offset = merge->used_bytes,
	};
	memcpy(merge->data + merge->used_bytes, hdr, hdr->size);
	merge->used_bytes += hdr->size;
}

/*
 * Sorts the held records.
 * @param before_ps  nothing older than this will be added any more
 * @return how many records are older than before_ps: these are in their final order, from index 0
 */
static size_t
recmerge_sort(struct recmerge *merge, uint64_t before_ps)
{
	size_t count = 0;

	if (merge->nrefs > 1)
		qsort(merge->refs, merge->nrefs, sizeof(*merge->refs), compare);
	while (count < merge->nrefs && merge->refs[count].time_ps < before_ps)
		count++;
	return count;
}

static int
compare(const void *a, const void *b)
{
	const struct recmerge_ref *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Forgets the first records; the rest stays for the next recmerge_sort(). */
static void
recmerge_consume(struct recmerge *merge, size_t count)
{
	struct recmerge rest = { 0 };

	assert(count <= merge->nrefs);
	if (count == 0)
		return;
	if (count == merge->nrefs) {
		merge->used_bytes = 0;
		merge->nrefs = 0;
		return;
	}
	for (size_t i = count; i < merge->nrefs; i++)
		append(&rest, recmerge_at(merge, i));
	recmerge_fini(merge);
	*merge = rest;
}

/* Records that wait for the budget: one first-in first-out queue per class, class 0 the most relevant. */

#define RECQUEUE_CLASSES GAPS_CLASSES

struct recqueue_class {
	uint8_t *data;
	size_t head_bytes, tail_bytes, cap_bytes;
};

/* Zero-initialise. The caller bounds it: see recqueue_victim(). */
struct recqueue {
	struct recqueue_class classes[RECQUEUE_CLASSES];
	uint64_t records, bytes;
};

/* Where a walk over all records is, in the order in which recqueue_head() and recqueue_pop() give them. Begins zero. */
struct recqueue_walk {
	uint32_t class;
	size_t bytes; /* behind the head of its class */
};

static const struct rec_hdr *oldest(const struct recqueue_class *class);

static void
recqueue_fini(struct recqueue *queue)
{
	for (uint32_t i = 0; i < RECQUEUE_CLASSES; i++)
		free(queue->classes[i].data);
	*queue = (struct recqueue){ 0 };
}

/* Appends a copy. Memory exhaustion ends the program with a message. */
static void
recqueue_put(struct recqueue *queue, uint32_t class, const struct rec_hdr *hdr)
{
	struct recqueue_class *c = &queue->classes[class];

	/*
	 * Move to the front once the bytes that left are as many as those that remain: every byte moves at most once
	 * on average.
	 */
	if (c->head_bytes > 0 && c->head_bytes >= c->tail_bytes - c->head_bytes) {
		memmove(c->data, c->data + c->head_bytes, c->tail_bytes - c->head_bytes);
		c->tail_bytes -= c->head_bytes;
		c->head_bytes = 0;
	}
	c->data = grow(c->data, &c->cap_bytes, c->tail_bytes + hdr->size, 1, "records");
	memcpy(c->data + c->tail_bytes, hdr, hdr->size);
	c->tail_bytes += hdr->size;
	queue->records++;
	queue->bytes += hdr->size;
}

/* @return the oldest record of the most relevant class, NULL when the queue is empty; *class is set to its class */
static const struct rec_hdr *
recqueue_head(const struct recqueue *queue, uint32_t *class)
{
	for (uint32_t i = 0; i < RECQUEUE_CLASSES; i++) {
		const struct rec_hdr *hdr = oldest(&queue->classes[i]);

		if (hdr != NULL) {
			*class = i;
			return hdr;
		}
	}
	return NULL;
}

/* @return the next record; NULL: there is no more */
static const struct rec_hdr *
recqueue_next(const struct recqueue *queue, struct recqueue_walk *walk)
{
	for (; walk->class < RECQUEUE_CLASSES; walk->class ++, walk->bytes = 0) {
		const struct recqueue_class *c = &queue->classes[walk->class];
		const struct rec_hdr *hdr;

		if (c->head_bytes + walk->bytes == c->tail_bytes)
			continue;
		hdr = (const struct rec_hdr *)(const void *)(c->data + c->head_bytes + walk->bytes);
		walk->bytes += hdr->size;
		return hdr;
	}
	return NULL;
}

/*
 * The record to drop: the oldest record of the least relevant class. Rows are cumulative and later ones replace
 * earlier ones, so the oldest is worth least.
 * @return NULL when the queue is empty
 */
static const struct rec_hdr *
recqueue_victim(const struct recqueue *queue, uint32_t *class)
{
	for (uint32_t i = RECQUEUE_CLASSES; i-- > 0;) {
		const struct rec_hdr *hdr = oldest(&queue->classes[i]);

		if (hdr != NULL) {
			*class = i;
			return hdr;
		}
	}
	return NULL;
}

static const struct rec_hdr *
oldest(const struct recqueue_class *class)
{
	if (class->head_bytes == class->tail_bytes)
		return NULL;
	return (const struct rec_hdr *)(const void *)(class->data + class->head_bytes);
}

/* Removes the oldest record of a class, which must have one. Pointers into that class are void then. */
static void
recqueue_pop(struct recqueue *queue, uint32_t class)
{
	struct recqueue_class *c = &queue->classes[class];
	const struct rec_hdr *hdr = oldest(c);

	assert(hdr != NULL);
	assert(queue->records > 0 && queue->bytes >= hdr->size);
	queue->records--;
	queue->bytes -= hdr->size;
	c->head_bytes += hdr->size;
}

/* Reports on their path to the outputs, packed into frames (common/record/frame.h). */

/* Zero-initialise. */
struct framing {
	struct recframe open;
	uint8_t *data; /* frames that are closed, each where 8 bytes begin */
	size_t end_bytes, cap_bytes;
	uint64_t sent_ps;
	/* of those that are closed */
	uint64_t frames, bytes;
	uint64_t telemetry_frames, telemetry_bytes; /* those of REC_TELEMETRY */
};

static size_t
aligned(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void
close_frame(struct framing *framing)
{
	const struct rec_hdr *frame = recframe_end(&framing->open);
	bool telemetry = record_is(framing->open.last.type, REC_TELEMETRY);

	framing->data = grow(framing->data, &framing->cap_bytes, framing->end_bytes + aligned(frame->size), 1, "frames");
	memcpy(framing->data + framing->end_bytes, frame, frame->size);
	framing->end_bytes += aligned(frame->size);
	framing->frames++;
	framing->bytes += frame->size;
	framing->telemetry_frames += telemetry;
	framing->telemetry_bytes += telemetry ? frame->size : 0;
}

static void
framing_fini(struct framing *framing)
{
	free(framing->data);
	framing->data = NULL;
}

/* Clears it, and begins anew. @param sent_ps  when the frames are sent */
static void
framing_begin(struct framing *framing, uint64_t sent_ps)
{
	framing->end_bytes = 0;
	framing->frames = framing->bytes = framing->telemetry_frames = framing->telemetry_bytes = 0;
	framing->sent_ps = sent_ps;
	recframe_begin(&framing->open, sent_ps);
}

/* @param rec  a report that stays where it is until framing_end() */
static void
framing_add(struct framing *framing, const struct rec_hdr *rec)
{
	if (recframe_put(&framing->open, rec))
		return;
	close_frame(framing);
	recframe_begin(&framing->open, framing->sent_ps);
	if (!recframe_put(&framing->open, rec))
		assert(!"a record that no frame holds");
}

static void
framing_end(struct framing *framing)
{
	if (framing->open.records != 0)
		close_frame(framing);
	recframe_begin(&framing->open, framing->sent_ps);
}

/* @param at  0, changed to where the next one is. @return a frame; NULL: there is no more */
static const struct rec_hdr *
framing_next(const struct framing *framing, size_t *at)
{
	const struct rec_hdr *frame = (const void *)(framing->data + *at);

	if (*at == framing->end_bytes)
		return NULL;
	*at += aligned(frame->size);
	return frame;
}

/* The exporter. */

/* Of the bucket, for the reports at the end. */
#define RESERVE_BYTES (REC_REPORT_KINDS * sizeof(struct rec_gap))

_Static_assert(EXPORTER_BURST_MIN >= REC_FRAME_MAX_BYTES + 2 * RESERVE_BYTES, "any frame leaves in the end");

struct exporter {
	struct recmerge merge;
	struct recqueue queue;
	struct sink sink;
	struct bucket bucket;         /* unused without a budget */
	struct departures departures; /* likewise */
	struct meters meters;
	bool limited;
	uint64_t queue_bytes, switch_budget, pod_budget;
	struct gaps gaps;
	struct exporter_count counts[RECORD_KINDS]; /* by enum rec_type */
	struct framing framing;                     /* of a group, or of the waiting records */
	uint64_t ready_ps;      /* when the first frame of the waiting records may leave, if it is known: else 0 */
	uint32_t ready_records; /* in it */
	uint64_t offered_bytes, reports, report_bytes, frames, frame_bytes, header_bytes;
	uint64_t peak_interval, interval_bytes, peak_bytes;
	uint64_t paced_ps;                           /* up to then everything was flushed */
	uint32_t seq, nchecks;                       /* seq: of records that the exporter itself makes */
	struct record_check *checks[EXPORTER_SHOWN]; /* [nchecks] that receive the stream head */
};

static void offer_until(struct exporter *e, uint64_t before_ps);
static size_t same_time(const struct exporter *e, size_t first, size_t end);
static void offer_group(struct exporter *e, size_t first, size_t end);
static void count_offered(struct exporter *e, uint64_t time_ps);
static void shrink(struct exporter *e, uint64_t limit_bytes);
static void drain(struct exporter *e, uint64_t until_ps);
static uint32_t frame_waiting(struct exporter *e, uint32_t most, uint64_t sent_ps);
static void send_frames(struct exporter *e, uint64_t now_ps);
static void count_sent(struct exporter *e, const struct rec_hdr *hdr, uint64_t now_ps);
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
	e->switch_budget = config->switch_budget;
	e->pod_budget = config->pod_budget;
	e->queue_bytes = config->queue_bytes;
	if (e->limited) {
		bucket_init(&e->bucket, config->budget, exporter_burst_bytes(config));
		e->departures.most_bytes = exporter_window_bytes(config);
	}
	e->header_bytes += sizeof(head);
	return e;
}

void
exporter_destroy(struct exporter *e)
{
	if (e == NULL)
		return;
	sink_fini(&e->sink);
	framing_fini(&e->framing);
	recqueue_fini(&e->queue);
	recmerge_fini(&e->merge);
	departures_fini(&e->departures);
	meters_fini(&e->meters);
	free(e);
}

int
exporter_police(struct exporter *e, const bool *is_switch, const uint32_t *pods, uint32_t nnodes, struct err *err)
{
	if (e->switch_budget == 0 && e->pod_budget == 0)
		return 0;
	if (meters_init(&e->meters, e->switch_budget, e->pod_budget, is_switch, pods, nnodes) < 0)
		return err_set(err, -ENOMEM, "out of memory for the budgets of %u nodes", nnodes);
	return 0;
}

void
exporter_set_clock(struct exporter *e, bool real_time, bool (*hurried)(void))
{
	sink_set_clock(&e->sink, real_time, hurried);
}

void
exporter_measure(struct exporter *e, uint64_t zero_ns)
{
	sink_measure(&e->sink, zero_ns);
}

void
exporter_header(struct exporter *e, void *rec, uint16_t type, size_t size_bytes)
{
	assert(record_is_header(type));
	put_own(e, rec, type, size_bytes, 0);
	e->header_bytes += size_bytes;
	for (uint32_t i = 0; i < e->nchecks; i++)
		record_check(e->checks[i], rec, NULL); /* readers refuse one that does not pass, with the reason */
}

void
exporter_show(struct exporter *e, struct record_check *check)
{
	assert(check == NULL || e->nchecks < EXPORTER_SHOWN);
	if (check != NULL)
		e->checks[e->nchecks++] = check;
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
	if (now_ps - e->paced_ps >= EXPORTER_PACE_PS) {
		e->paced_ps = now_ps;
		sink_flush(&e->sink);
	}
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
	uint32_t class = 0;

	offer_until(e, TIME_NEVER);
	drain(e, end->end_ps);
	while ((hdr = recqueue_head(&e->queue, &class)) != NULL) {
		drop(e, hdr);
		recqueue_pop(&e->queue, class);
	}
	if (e->limited)
		bucket_take(&e->bucket, e->gaps.due_bytes);
	send_gaps(e, end->end_ps);
	exporter_stats(e, &stats);
	assert(stats.all.offered_records == stats.all.sent_records + stats.all.dropped_records);
	end->offered_bytes = stats.offered_bytes;
	end->sent_bytes = stats.frame_bytes + stats.gap_bytes;
	end->kept_reports = stats.reports;
	end->kept_bytes = stats.report_bytes;
	end->collected_reports += stats.reports;
	end->collected_bytes += stats.report_bytes;
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

/* The records of one node and time, in order of relevance, the oldest first. */
static void
order_by_relevance(struct exporter *e, size_t first, size_t end)
{
	struct recmerge_ref *refs = e->merge.refs;

	for (size_t i = first + 1; i < end; i++) { /* few, and mostly in order */
		struct recmerge_ref ref = refs[i];
		uint32_t relevance = record_kinds[recmerge_at(&e->merge, i)->type].relevance;
		size_t at = i;

		for (; at > first && record_kinds[recmerge_at(&e->merge, at - 1)->type].relevance > relevance; at--)
			refs[at] = refs[at - 1];
		refs[at] = ref;
	}
}

/*
 * What of a node's report its meters allow: the first records of it, where the whole does not fit by relevance.
 * @return where they end
 */
static size_t
meter(struct exporter *e, size_t first, size_t end)
{
	uint64_t time_ps = e->merge.refs[first].time_ps,
		 left_bytes = meters_left(&e->meters, e->merge.refs[first].node, time_ps);
	uint64_t taken_bytes = 0;
	size_t fits = first;

	for (int ordered = 0; ordered < 2 && fits < end; ordered++) {
		if (ordered)
			order_by_relevance(e, first, end);
		framing_begin(&e->framing, time_ps);
		taken_bytes = 0;
		for (fits = first; fits < end; fits++) {
			framing_add(&e->framing, recmerge_at(&e->merge, fits));
			if (e->framing.bytes + recframe_end(&e->framing.open)->size > left_bytes)
				break;
			taken_bytes = e->framing.bytes + recframe_end(&e->framing.open)->size;
		}
	}
	meters_take(&e->meters, e->merge.refs[first].node, taken_bytes);
	return fits;
}

/* Drops what switches and pods may not send. @return the end of what is left of the group */
static size_t
police(struct exporter *e, size_t first, size_t end)
{
	size_t kept = first;

	for (size_t at = first, next; at < end; at = next) {
		uint32_t node = e->merge.refs[at].node;
		size_t fits;

		for (next = at + 1; next < end && e->merge.refs[next].node == node;)
			next++;
		fits = meters_limit(&e->meters, node) ? meter(e, at, next) : next;
		for (size_t i = fits; i < next; i++)
			drop(e, recmerge_at(&e->merge, i));
		memmove(&e->merge.refs[kept], &e->merge.refs[at], (fits - at) * sizeof(*e->merge.refs));
		kept += fits - at;
	}
	return kept;
}

/* Now, by the budget and by the bytes of the last millisecond? */
static bool
may_leave(const struct exporter *e, uint64_t bytes)
{
	return bytes <= bucket_bytes(&e->bucket) && bytes <= e->departures.most_bytes &&
	       departures_ready_ps(&e->departures, bytes) <= e->bucket.at_ps;
}

static void
frame_group(struct exporter *e, size_t first, size_t end)
{
	framing_begin(&e->framing, e->merge.refs[first].time_ps);
	for (size_t i = first; i < end; i++)
		framing_add(&e->framing, recmerge_at(&e->merge, i));
	framing_end(&e->framing);
}

/* Sent as it stands if the budget takes the whole group, else by relevance. */
static void
offer_group(struct exporter *e, size_t first, size_t end)
{
	uint64_t time_ps = e->merge.refs[first].time_ps;

	drain(e, time_ps);
	for (size_t i = first; i < end; i++) {
		assert(record_is_report(recmerge_at(&e->merge, i)->type));
		e->counts[recmerge_at(&e->merge, i)->type].offered_records++;
	}
	frame_group(e, first, end);
	count_offered(e, time_ps);
	if (e->meters.nnodes != 0) {
		end = police(e, first, end);
		if (end == first)
			return;
		frame_group(e, first, end);
	}
	if (!e->limited || (e->queue.records == 0 && may_leave(e, e->framing.bytes + e->gaps.due_bytes + RESERVE_BYTES))) {
		send_frames(e, time_ps);
		for (size_t i = first; i < end; i++)
			count_sent(e, recmerge_at(&e->merge, i), time_ps);
		return;
	}
	for (size_t i = first; i < end; i++) {
		const struct rec_hdr *hdr = recmerge_at(&e->merge, i);

		recqueue_put(&e->queue, record_kinds[hdr->type].relevance, hdr);
	}
	e->ready_ps = 0;
	drain(e, time_ps);
	shrink(e, e->queue_bytes);
}

/* The record that was offered last is framed. */
static void
count_offered(struct exporter *e, uint64_t time_ps)
{
	uint64_t interval = time_ps / EXPORTER_PEAK_PS;

	e->offered_bytes += e->framing.bytes;
	e->reports += e->framing.telemetry_frames;
	e->report_bytes += e->framing.telemetry_bytes;
	if (interval != e->peak_interval) {
		e->peak_interval = interval;
		e->interval_bytes = 0;
	}
	e->interval_bytes += e->framing.bytes;
	if (e->interval_bytes > e->peak_bytes)
		e->peak_bytes = e->interval_bytes;
}

/* Drops the least relevant, the oldest first. */
static void
shrink(struct exporter *e, uint64_t limit_bytes)
{
	while (e->queue.bytes > limit_bytes) {
		uint32_t class = 0;
		const struct rec_hdr *victim = recqueue_victim(&e->queue, &class);

		drop(e, victim);
		recqueue_pop(&e->queue, class);
		e->ready_ps = 0;
	}
}

/* When that many bytes may leave. */
static uint64_t
leaves_at_ps(const struct exporter *e, uint64_t bytes)
{
	uint64_t by_budget_ps = bucket_ready_ps(&e->bucket, bytes),
		 by_window_ps = departures_ready_ps(&e->departures, bytes);

	return by_budget_ps > by_window_ps ? by_budget_ps : by_window_ps;
}

/* Sends the waiting records, each frame of them at the time at which the budget allows it. */
static void
drain(struct exporter *e, uint64_t until_ps)
{
	if (!e->limited)
		return;
	while (e->queue.records != 0) {
		if (e->ready_ps == 0) { /* the time adds few bytes to a frame: take the latest possible time */
			e->ready_records = frame_waiting(e, UINT32_MAX, RECORD_MAX_PS);
			e->ready_ps =
				leaves_at_ps(e, e->framing.bytes + RESERVE_BYTES + gaps_toll(&e->gaps, e->frame_bytes));
		}
		if (e->ready_ps > until_ps)
			break;
		bucket_fill(&e->bucket, e->ready_ps);
		frame_waiting(e, e->ready_records, e->ready_ps);
		send_frames(e, e->ready_ps);
		for (uint32_t i = 0; i < e->ready_records; i++) {
			uint32_t class = 0;

			count_sent(e, recqueue_head(&e->queue, &class), e->ready_ps);
			recqueue_pop(&e->queue, class);
		}
		e->ready_ps = 0;
	}
	bucket_fill(&e->bucket, until_ps);
}

/* Frames the waiting records, in order of relevance, up to one frame. @return how many records are in it */
static uint32_t
frame_waiting(struct exporter *e, uint32_t most, uint64_t sent_ps)
{
	struct recqueue_walk walk = { 0 };
	const struct rec_hdr *hdr;
	uint32_t count = 0;

	framing_begin(&e->framing, sent_ps);
	while (count < most && (hdr = recqueue_next(&e->queue, &walk)) != NULL && recframe_put(&e->framing.open, hdr))
		count++;
	framing_end(&e->framing);
	return count;
}

/* Sends the frame, behind the gap records of losses. */
static void
send_frames(struct exporter *e, uint64_t now_ps)
{
	uint64_t toll_bytes = gaps_toll(&e->gaps, e->frame_bytes);
	const struct rec_hdr *frame;

	if (toll_bytes > 0)
		send_gaps(e, now_ps);
	if (e->limited) {
		bucket_take(&e->bucket, e->framing.bytes + toll_bytes);
		departures_note(&e->departures, now_ps, e->framing.bytes + toll_bytes);
	}
	for (size_t at = 0; (frame = framing_next(&e->framing, &at)) != NULL;)
		sink_put(&e->sink, frame);
	e->frames += e->framing.frames;
	e->frame_bytes += e->framing.bytes;
}

static void
count_sent(struct exporter *e, const struct rec_hdr *hdr, uint64_t now_ps)
{
	e->counts[hdr->type].sent_records++;
	e->counts[hdr->type].deferred_records += now_ps > hdr->time_ps;
}

static void
drop(struct exporter *e, const struct rec_hdr *hdr)
{
	e->counts[hdr->type].dropped_records++;
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
		.offered_bytes = e->offered_bytes,
		.reports = e->reports,
		.report_bytes = e->report_bytes,
		.frames = e->frames,
		.frame_bytes = e->frame_bytes,
		.gap_records = e->gaps.reported_records,
		.gap_bytes = e->gaps.reported_bytes,
		.header_bytes = e->header_bytes,
		.stream_bytes = e->frame_bytes + e->header_bytes + e->gaps.reported_bytes,
	};
	for (uint32_t i = 0; i < RECORD_KINDS; i++) {
		const struct exporter_count *count = &e->counts[i];

		stats->kinds[i] = *count;
		stats->all.offered_records += count->offered_records;
		stats->all.sent_records += count->sent_records;
		stats->all.dropped_records += count->dropped_records;
		stats->all.deferred_records += count->deferred_records;
	}
}

const struct sink *
exporter_outputs(const struct exporter *e)
{
	return &e->sink;
}

uint64_t
exporter_peak(const struct exporter *e)
{
	return e->peak_bytes * (PS_PER_S / EXPORTER_PEAK_PS);
}
