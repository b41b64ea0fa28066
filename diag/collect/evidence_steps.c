/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in order of jobs and iterations, and their steps: the schedule with the hosts' reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/large_pages.h"
#include "common/minmax.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"

/* Reports, packed: a mask of the record's words that are not 0, and these words. */

#define REPORT_WORDS (sizeof(struct rec_step) / sizeof(uint32_t))
#define MASK_WORDS 2
#define FIRST_WORDS 4096
#define CACHE_LINE 64 /* bytes */

_Static_assert(REPORT_WORDS <= 32 * MASK_WORDS && sizeof(struct rec_step) % sizeof(uint32_t) == 0,
	       "a mask has a bit a word");

/* Makes words 0 that others repeat in most records. Its inverse is unfold(). */
static void
fold(struct rec_step *report)
{
	report->hdr.type = report->hdr.size = 0;
	report->hdr.time_ps ^= report->end_ps;
	report->end_ps ^= report->start_ps;
	report->acked_bytes ^= report->bytes;
}

static void
unfold(struct rec_step *report)
{
	report->acked_bytes ^= report->bytes;
	report->end_ps ^= report->start_ps;
	report->hdr.time_ps ^= report->end_ps;
	report->hdr.type = REC_STEP;
	report->hdr.size = sizeof(*report);
}

static int
reserve_words(struct ev_vec *vec, struct err *err)
{
	uint64_t cap = vec->cap == 0 ? FIRST_WORDS : 2 * (uint64_t)vec->cap;
	void *data;

	if (vec->cap - vec->count >= MASK_WORDS + REPORT_WORDS)
		return 0;
	if (cap * sizeof(uint32_t) > EV_MAX_BYTES)
		return err_set(err, -E2BIG, "more than %llu B of reports of steps", EV_MAX_BYTES);
	data = realloc(vec->data, cap * sizeof(uint32_t));
	if (data == NULL)
		return err_set(err, -ENOMEM, "out of memory for %llu words of reports of steps", (unsigned long long)cap);
	vec->data = large_pages_advise(data, cap * sizeof(uint32_t));
	vec->cap = (uint32_t)cap;
	return 0;
}

int
evidence_add_report(struct evidence *ev, const struct rec_step *report, struct err *err)
{
	struct rec_step folded = *report;
	uint32_t words[REPORT_WORDS], *to, used = MASK_WORDS;
	uint64_t mask = 0;
	int rc = reserve_words(&ev->reports, err);

	if (rc != 0)
		return rc;
	fold(&folded);
	memcpy(words, &folded, sizeof(words));
	to = EV_AT(ev->reports, uint32_t, ev->reports.count);
	for (uint32_t w = 0; w < REPORT_WORDS; w++) { /* without a branch, which no processor could predict */
		to[used] = words[w];
		used += words[w] != 0;
		mask |= (uint64_t)(words[w] != 0) << w;
	}
	memcpy(to, &mask, sizeof(mask));
	ev->reports.count += used;
	return 0;
}

/* @return where the next one is */
static uint32_t
unpack(const struct evidence *ev, uint32_t at, struct rec_step *report)
{
	const uint32_t *from = EV_AT(ev->reports, uint32_t, at);
	uint32_t words[REPORT_WORDS] = { 0 }, used = MASK_WORDS;
	uint64_t mask;

	memcpy(&mask, from, sizeof(mask));
	for (; mask != 0; mask &= mask - 1)
		words[__builtin_ctzll(mask)] = from[used++];
	memcpy(report, words, sizeof(*report));
	unfold(report);
	return at + used;
}

void
evidence_prefetch_report(const struct evidence *ev, uint32_t step)
{
	const char *at;

	if (step >= ev->nsteps || ev->report_of[step] == EV_NONE)
		return;
	at = ev_vec_at(&ev->reports, sizeof(uint32_t), ev->report_of[step]);
	__builtin_prefetch(at);
	__builtin_prefetch(at + CACHE_LINE);
}

bool
evidence_report(const struct evidence *ev, uint32_t step, struct rec_step *report)
{
	if (ev->report_of[step] == EV_NONE) {
		memset(report, 0, sizeof(*report));
		return false;
	}
	unpack(ev, ev->report_of[step], report);
	return true;
}

uint64_t
evidence_ledger_ps(const struct evidence *ev, uint32_t step, enum ledger_entry entry)
{
#define MEMBER(id, value, name, member, title, meaning) [id] = offsetof(struct rec_step, member),
	static const size_t members[LEDGER_ENTRIES] = { LEDGER_ROWS(MEMBER) };
	struct rec_step report;
	uint64_t ps;

	evidence_report(ev, step, &report);
	memcpy(&ps, (const char *)&report + members[entry], sizeof(ps));
	return ps;
}

#define LEDGER_WHOLE 0.99 /* of a step's time: entries of this sum leave nothing unknown */

bool
evidence_has_ledger(const struct evidence *ev, uint32_t step)
{
	struct rec_step report;
	double sum_ps = 0;

	evidence_report(ev, step, &report);
	for (int i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += (double)evidence_ledger_ps(ev, step, i);
	return report.end_ps > report.start_ps && sum_ps >= LEDGER_WHOLE * (double)(report.end_ps - report.start_ps);
}

/* Collectives by job and iteration. */

static int evidence_join_deps(struct evidence *ev, const struct rec_schedule *const *schedules, struct err *err);

static int
cmp_collective(const void *pa, const void *pb)
{
	const struct rec_collective *a = pa, *b = pb;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->iteration != b->iteration)
		return a->iteration < b->iteration ? -1 : 1;
	return ORDER(a->id, b->id);
}

static int
cmp_place(const void *pa, const void *pb)
{
	const struct ev_place *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return ORDER(a->iteration, b->iteration);
}

static int
order_collectives(struct evidence *ev, struct err *err)
{
	uint32_t count = ev->collectives.count;

	ev->places = evidence_alloc(count, sizeof(*ev->places), err);
	if (ev->places == NULL)
		return -ENOMEM;
	if (count > 1)
		qsort(ev->collectives.data, count, sizeof(struct rec_collective), cmp_collective);
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, i);

		ev->places[i] = (struct ev_place){ rec->id, rec->iteration, i };
	}
	if (count > 1)
		qsort(ev->places, count, sizeof(*ev->places), cmp_place);
	return 0;
}

uint32_t
evidence_collective(const struct evidence *ev, uint32_t id, uint32_t iteration)
{
	const struct ev_place want = { .id = id, .iteration = iteration };
	const struct ev_place *place = ev->collectives.count != 0
					       ? bsearch(&want, ev->places, ev->collectives.count, sizeof(want), cmp_place)
					       : NULL;

	return place != NULL ? place->index : EV_NONE;
}

/* Steps, from the schedule. */

static int
cmp_step(const struct ev_step *step, uint32_t rank, uint32_t number)
{
	if (step->rank != rank)
		return step->rank < rank ? -1 : 1;
	return ORDER(step->step, number);
}

/* Where a step is if all ranks have as many; perhaps beyond those of the collective. */
static inline uint64_t
guess_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number)
{
	uint32_t lo = ev->first_steps[collective], hi = ev->first_steps[collective + 1];
	uint32_t ranks = EV_AT(ev->collectives, struct rec_collective, collective)->ranks;

	return ranks != 0 ? lo + (uint64_t)((hi - lo) / ranks) * rank + number - 1 : hi;
}

/* @return index into steps, EV_NONE: there is none. @param collective  index, or EV_NONE */
static uint32_t
evidence_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number)
{
	uint32_t lo, hi;
	uint64_t guess;

	if (collective == EV_NONE)
		return EV_NONE;
	lo = ev->first_steps[collective];
	hi = ev->first_steps[collective + 1];
	guess = guess_step(ev, collective, rank, number);
	if (guess < hi && cmp_step(&ev->steps[guess], rank, number) == 0)
		return (uint32_t)guess;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int order = cmp_step(&ev->steps[mid], rank, number);

		if (order == 0)
			return mid;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

static uint32_t
collective_of(const struct evidence *ev, const struct rec_schedule *rec)
{
	return evidence_collective(ev, rec->collective, rec->iteration);
}

static bool
is_of_same(const struct rec_schedule *a, const struct rec_schedule *b)
{
	return a->collective == b->collective && a->iteration == b->iteration;
}

/*
 * The schedule is sorted by (collective's id, iteration, rank, step): a collective's part of it moves as a whole.
 * @param schedules  [collectives.count] set to the first record of each
 */
static void
take_schedule(struct evidence *ev, const struct rec_schedule **schedules)
{
	const struct rec_schedule *rec = ev->schedule.data;
	uint32_t count = 0, collective = EV_NONE, flow = EV_NONE;

	for (uint32_t first = 0; first < ev->nsteps; first += count) {
		for (count = 1; first + count < ev->nsteps && is_of_same(&rec[first], &rec[first + count]); count++)
			;
		collective = collective_of(ev, &rec[first]);
		ev->first_steps[collective + 1] = count;
		schedules[collective] = &rec[first];
	}
	for (uint32_t c = 0; c < ev->collectives.count; c++)
		ev->first_steps[c + 1] += ev->first_steps[c];
	for (uint32_t c = 0; c < ev->collectives.count; c++) {
		for (uint32_t i = ev->first_steps[c]; i < ev->first_steps[c + 1]; i++) {
			const struct rec_schedule *of = &schedules[c][i - ev->first_steps[c]];

			/* Most steps are of the flow of the step before. */
			if (of->peer != of->rank &&
			    (flow == EV_NONE || evidence_tuple_cmp(&ev->flows[flow].tuple, &of->flow) != 0))
				flow = evidence_flow(ev, &of->flow);
			ev->steps[i] = (struct ev_step){
				.bytes = of->bytes,
				.ideal_ps = of->ideal_ps,
				.expect_ps = of->expect_ps,
				.base_rtt_ps = of->base_rtt_ps,
				.collective = c,
				.flow = of->peer != of->rank ? flow : EV_NONE,
				.host = of->hdr.node,
				.rank = of->rank,
				.step = of->step,
				.peer = of->peer,
				.channel = of->channel,
				.prio = of->prio,
				.spread_ns = of->spread_ns,
				.waited_for = EV_NONE,
			};
		}
	}
}

/* Steps' reports. */

/* The order of step records, and which of them replace each other: those of the same key. */
static int
cmp_report(const struct rec_step *a, const struct rec_step *b)
{
	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (a->iteration != b->iteration)
		return a->iteration < b->iteration ? -1 : 1;
	if (a->hdr.node != b->hdr.node)
		return a->hdr.node < b->hdr.node ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return ORDER(a->step, b->step);
}

/* Reports that match no schedule, by their places. */
static int
cmp_stray(const void *pa, const void *pb, void *arg)
{
	struct rec_step a, b;
	int cmp;

	unpack(arg, *(const uint32_t *)pa, &a);
	unpack(arg, *(const uint32_t *)pb, &b);
	cmp = cmp_report(&a, &b);
	return cmp != 0 ? cmp : evidence_cmp_time(&a.hdr, &b.hdr);
}

static void
note_end(struct evidence *ev, const struct rec_step *report)
{
	ev->steps_end_ps = max_u64(ev->steps_end_ps, max_u64(report->start_ps, report->end_ps));
}

/* Counts them, each of those that replace each other once. */
static void
count_strays(struct evidence *ev, uint32_t *strays, uint32_t count)
{
	struct rec_step report, next;

	if (count > 1)
		qsort_r(strays, count, sizeof(*strays), cmp_stray, ev);
	for (uint32_t i = 0; i < count; i++) {
		unpack(ev, strays[i], &report);
		if (i + 1 < count)
			unpack(ev, strays[i + 1], &next);
		if (i + 1 < count && cmp_report(&report, &next) == 0)
			continue;
		ev->unscheduled_steps++;
		note_end(ev, &report);
	}
}

/* Reports arrive in the order of completion, steps are in that of ranks: each report is of a distant step. */
#define REPORTS_AHEAD 32

/* Some reports side by side: the steps that they name are prefetched before the first is taken. */
struct batch {
	struct rec_step reports[REPORTS_AHEAD];
	uint32_t at[REPORTS_AHEAD];         /* their places */
	uint32_t collective[REPORTS_AHEAD]; /* EV_NONE: not described */
	uint32_t count;
};

static void
prefetch_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number)
{
	uint64_t guess = collective != EV_NONE ? guess_step(ev, collective, rank, number) : ev->nsteps;

	if (guess < ev->nsteps) {
		__builtin_prefetch(&ev->steps[guess].rank);
		__builtin_prefetch(&ev->report_of[guess], 1);
	}
}

/* @return where the next one begins */
static uint32_t
fill_batch(const struct evidence *ev, uint32_t at, struct batch *batch)
{
	for (batch->count = 0; batch->count < REPORTS_AHEAD && at < ev->reports.count; batch->count++) {
		struct rec_step *report = &batch->reports[batch->count];
		uint32_t collective;

		batch->at[batch->count] = at;
		at = unpack(ev, at, report);
		collective = evidence_collective(ev, report->collective, report->iteration);
		batch->collective[batch->count] = collective;
		prefetch_step(ev, collective, report->rank, report->step);
		if (report->waited_step != 0 && report->waited_collective == report->collective)
			prefetch_step(ev, collective, report->waited_rank, report->waited_step);
	}
	return at;
}

static uint32_t
awaited(const struct evidence *ev, const struct rec_step *report)
{
	if (report->waited_step == 0)
		return EV_NONE;
	return evidence_step(ev, evidence_collective(ev, report->waited_collective, report->iteration), report->waited_rank,
			     report->waited_step);
}

/* @return whether it replaces another one */
static bool
take_report(struct evidence *ev, uint32_t index, uint32_t at, const struct rec_step *report)
{
	struct rec_step before;
	bool second = evidence_report(ev, index, &before);

	if (second && evidence_cmp_time(&before.hdr, &report->hdr) >= 0)
		return false;
	ev->report_of[index] = at;
	ev->steps[index].waited_for = awaited(ev, report);
	note_end(ev, report);
	return second;
}

static int
add_stray(struct ev_vec *strays, uint32_t at, struct err *err)
{
	if (strays->count == strays->cap) {
		uint32_t cap = strays->cap == 0 ? 64 : 2 * strays->cap;
		void *data = realloc(strays->data, cap * sizeof(at));

		if (data == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u unscheduled steps", cap);
		strays->data = data;
		strays->cap = cap;
	}
	*EV_AT(*strays, uint32_t, strays->count++) = at;
	return 0;
}

/* The end of all steps, of which some reports replaced others. */
static void
note_ends(struct evidence *ev)
{
	struct rec_step report;

	ev->steps_end_ps = 0;
	for (uint32_t i = 0; i < ev->nsteps; i++)
		if (evidence_report(ev, i, &report))
			note_end(ev, &report);
}

/* The latest report of each step, and what the step waited for. */
static int
take_reports(struct evidence *ev, struct err *err)
{
	struct ev_vec strays = { NULL, 0, 0 };
	struct batch batch;
	bool replaced = false;
	int rc = 0;

	for (uint32_t at = 0; rc == 0 && at < ev->reports.count;) {
		at = fill_batch(ev, at, &batch);
		for (uint32_t i = 0; rc == 0 && i < batch.count; i++) {
			const struct rec_step *report = &batch.reports[i];
			uint32_t index = evidence_step(ev, batch.collective[i], report->rank, report->step);

			/* A host reports its own ranks alone. */
			if (index != EV_NONE && ev->steps[index].host == report->hdr.node)
				replaced |= take_report(ev, index, batch.at[i], report);
			else
				rc = add_stray(&strays, batch.at[i], err);
		}
	}
	if (replaced)
		note_ends(ev);
	if (rc == 0)
		count_strays(ev, strays.data, strays.count);
	free(strays.data);
	return rc;
}

int
evidence_join_steps(struct evidence *ev, struct err *err)
{
	const struct rec_schedule **schedules;
	int rc = order_collectives(ev, err);

	if (rc != 0)
		return rc;
	ev->nsteps = ev->schedule.count;
	ev->steps = evidence_alloc(ev->nsteps, sizeof(*ev->steps), err);
	ev->report_of = evidence_alloc(ev->nsteps, sizeof(*ev->report_of), err);
	ev->first_steps = evidence_alloc((size_t)ev->collectives.count + 1, sizeof(*ev->first_steps), err);
	schedules = evidence_alloc(ev->collectives.count, sizeof(*schedules), err);
	if (ev->steps == NULL || ev->report_of == NULL || ev->first_steps == NULL || schedules == NULL) {
		rc = -ENOMEM;
	} else {
		memset(ev->report_of, 0xff, ev->nsteps * sizeof(*ev->report_of)); /* EV_NONE */
		take_schedule(ev, schedules);
		rc = evidence_join_deps(ev, schedules, err);
	}
	free(schedules);
	free(ev->schedule.data);
	ev->schedule = (struct ev_vec){ NULL, 0, 0 };
	return rc == 0 ? take_reports(ev, err) : rc;
}

/*
 * The dependencies of each step: of its own schedule record, of DEPEND records, and the step before it on its channel.
 */

#define OF_SCHEDULE 2                 /* dependencies that a SCHEDULE record has */
#define DEPS_A_STEP (OF_SCHEDULE + 1) /* and the step before on the channel */

/* Local steps by (collective, rank, channel, step). */
static int
cmp_local(const void *pa, const void *pb, void *arg)
{
	const struct evidence *ev = arg;
	const struct ev_step *a = &ev->steps[*(const uint32_t *)pa], *b = &ev->steps[*(const uint32_t *)pb];

	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->channel != b->channel)
		return a->channel < b->channel ? -1 : 1;
	return ORDER(a->step, b->step);
}

/* @param before  [nsteps] set of local steps  @param local  [nsteps] to work in */
static void
find_local(const struct evidence *ev, uint32_t *before, uint32_t *local)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ev->nsteps; i++) {
		if (ev->steps[i].flow == EV_NONE)
			local[count++] = i;
	}
	if (count > 1)
		qsort_r(local, count, sizeof(*local), cmp_local, (void *)(uintptr_t)ev);
	for (uint32_t i = 1; i < count; i++) {
		const struct ev_step *a = &ev->steps[local[i - 1]], *b = &ev->steps[local[i]];

		if (a->collective == b->collective && a->rank == b->rank && a->channel == b->channel)
			before[local[i]] = local[i - 1];
	}
}

/* The step before each on its channel, EV_NONE: the first. Of a collective, each channel of a pair has its own flow. */
static int
find_before(const struct evidence *ev, uint32_t *before, struct err *err)
{
	uint32_t size = ev->nflows > ev->nsteps ? ev->nflows : ev->nsteps;
	uint32_t *last = evidence_alloc(size, sizeof(*last), err);

	if (last == NULL)
		return -ENOMEM;
	memset(last, 0xff, size * sizeof(*last));
	memset(before, 0xff, ev->nsteps * sizeof(*before));
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		uint32_t flow = ev->steps[i].flow;

		if (flow == EV_NONE)
			continue;
		if (last[flow] != EV_NONE && ev->steps[last[flow]].collective == ev->steps[i].collective &&
		    ev->steps[last[flow]].rank == ev->steps[i].rank)
			before[i] = last[flow];
		last[flow] = i;
	}
	find_local(ev, before, last);
	free(last);
	return 0;
}

/* To the step whose dependencies are being listed. @param among  the number of first ones that may be the same one */
static void
add_dep(struct evidence *ev, struct ev_step *step, uint32_t on, uint32_t among)
{
	if (on == EV_NONE || on == (uint32_t)(step - ev->steps))
		return;
	for (uint32_t i = 0; i < step->ndeps && i < among; i++) {
		if (ev->deps[step->first_dep + i] == on)
			return;
	}
	ev->deps[ev->ndeps++] = on;
	step->ndeps++;
}

static int
cmp_depend(const struct rec_depend *depend, const struct rec_schedule *sched)
{
	if (depend->collective != sched->collective)
		return depend->collective < sched->collective ? -1 : 1;
	if (depend->iteration != sched->iteration)
		return depend->iteration < sched->iteration ? -1 : 1;
	if (depend->rank != sched->rank)
		return depend->rank < sched->rank ? -1 : 1;
	return ORDER(depend->step, sched->step);
}

/* The first of the step's records; they are sorted like the schedule. */
static uint32_t
first_depend(const struct evidence *ev, const struct rec_schedule *sched)
{
	uint32_t lo = 0, hi = ev->depends.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cmp_depend(EV_AT(ev->depends, struct rec_depend, mid), sched) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
list_deps(struct evidence *ev, struct ev_step *step, const struct rec_schedule *sched, uint32_t before)
{
	step->first_dep = ev->ndeps;
	if (sched->own_step != 0)
		add_dep(ev, step, evidence_step(ev, step->collective, sched->rank, sched->own_step), OF_SCHEDULE);
	if (sched->depends_rank != REC_NONE)
		add_dep(ev, step, evidence_step(ev, step->collective, sched->depends_rank, sched->depends_step),
			OF_SCHEDULE);
	for (uint32_t d = sched->depends != 0 ? first_depend(ev, sched) : ev->depends.count; d < ev->depends.count; d++) {
		const struct rec_depend *rec = EV_AT(ev->depends, struct rec_depend, d);

		if (cmp_depend(rec, sched) != 0)
			break;
		add_dep(ev, step,
			evidence_step(ev, evidence_collective(ev, rec->on_collective, rec->iteration), rec->on_rank,
				      rec->on_step),
			OF_SCHEDULE); /* of themselves no two are alike */
	}
	add_dep(ev, step, before, step->ndeps);
}

/* @param schedules  [collectives.count] their records, in the order of the steps */
static int
evidence_join_deps(struct evidence *ev, const struct rec_schedule *const *schedules, struct err *err)
{
	uint32_t *before = evidence_alloc(ev->nsteps, sizeof(*before), err);
	int rc = -ENOMEM;

	ev->deps = evidence_alloc((size_t)DEPS_A_STEP * ev->nsteps + ev->depends.count, sizeof(*ev->deps), err);
	if (before != NULL && ev->deps != NULL)
		rc = find_before(ev, before, err);
	for (uint32_t i = 0; rc == 0 && i < ev->nsteps; i++) {
		struct ev_step *step = &ev->steps[i];

		list_deps(ev, step, &schedules[step->collective][i - ev->first_steps[step->collective]], before[i]);
	}
	free(before);
	return rc;
}
