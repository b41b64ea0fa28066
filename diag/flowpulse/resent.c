/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/resent.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/tag.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/run/fill.h"

#define CLEARS_PACKETS 10 /* that would have been lost: by chance none is, once in 22,000 times */

static int
cmp_rows(const void *pa, const void *pb)
{
	const struct resent_row *a = pa, *b = pb;

	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (a->iteration != b->iteration)
		return a->iteration < b->iteration ? -1 : 1;
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	return a->dst < b->dst ? -1 : a->dst > b->dst;
}

/* Rows of one pair and iteration become one. */
static void
merge(struct resent *resent)
{
	uint32_t kept = 0;

	if (resent->nrows > 1)
		qsort(resent->rows, resent->nrows, sizeof(*resent->rows), cmp_rows);
	for (uint32_t i = 0; i < resent->nrows; i++) {
		const struct resent_row *row = &resent->rows[i];
		struct resent_row *last = kept != 0 ? &resent->rows[kept - 1] : NULL;

		if (last == NULL || cmp_rows(last, row) != 0) {
			resent->rows[kept++] = *row;
			continue;
		}
		last->packets += row->packets;
		last->bytes += row->bytes;
		last->first_ps = min_u64(last->first_ps, row->first_ps);
		last->last_ps = max_u64(last->last_ps, row->last_ps);
		last->unacked_bytes += row->unacked_bytes;
		last->is_whole &= row->is_whole;
	}
	resent->nrows = kept;
}

int
resent_init(struct resent *resent, const struct paths *paths, const struct evidence *ev, struct err *err)
{
	*resent = (struct resent){ .paths = paths, .rows = run_alloc(ev->nsteps, sizeof(*resent->rows), err) };
	if (resent->rows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		const struct ev_step *step = &ev->steps[i];
		const struct ev_flow *flow = step->flow != EV_NONE ? &ev->flows[step->flow] : NULL;
		const struct rec_step *report = step->report;

		if (flow == NULL || flow->src == EV_NONE || flow->dst == EV_NONE)
			continue;
		resent->rows[resent->nrows++] = (struct resent_row){
			.collective = step->sched->collective,
			.iteration = step->sched->iteration,
			.src = flow->src,
			.dst = flow->dst,
			.packets = report != NULL ? report->retransmits : 0,
			.bytes = report != NULL ? report->bytes : 0,
			.first_ps = report == NULL                           ? 0
				    : report->start_ps != 0 || !report->open ? report->start_ps
									     : UINT64_MAX,
			.last_ps = report != NULL && !report->open ? report->end_ps : 0,
			.unacked_bytes = report == NULL ? step->sched->bytes
					 : report->open ? report->bytes - min_u64(report->acked_bytes, report->bytes)
							: 0,
			.is_whole = report != NULL && !report->open,
		};
	}
	merge(resent);
	return 0;
}

void
resent_fini(struct resent *resent)
{
	free(resent->rows);
	*resent = (struct resent){ 0 };
}

/* Is a host below the switch that represents a group: a leaf, or a pod? A host with several NICs is below several. */
static bool
is_below(const struct resent *resent, uint32_t host, uint32_t node, bool is_pod)
{
	const struct run *run = resent->paths->run;

	if (host >= run->nnodes || node >= run->nnodes)
		return false;
	for (uint32_t i = 0; i < run->nodes[host].nports; i++) {
		uint32_t leaf = run->ports[run->nodes[host].first_port + i].peer_node;

		if (leaf == node || (is_pod && leaf != RUN_NONE && resent->paths->pod[leaf] == resent->paths->pod[node]))
			return true;
	}
	return false;
}

static bool
is_concerned(const struct resent *resent, const struct resent_row *row, const struct rec_volume_alarm *alarm)
{
	bool is_pod = paths_is_of_pods(resent->paths, alarm->hdr.node);

	return is_below(resent, row->dst, alarm->hdr.node, is_pod) &&
	       (alarm->sender == REC_NONE || is_below(resent, row->src, alarm->sender, is_pod));
}

/* @return the first row of the next collective */
static uint32_t
end_of_collective(const struct resent *resent, uint32_t first)
{
	uint32_t end = first;

	while (end < resent->nrows && resent->rows[end].collective == resent->rows[first].collective)
		end++;
	return end;
}

/*
 * Tags have iterations modulo 16, and a monitor numbers a task's from the first that it sees: an alarm is about the
 * latest iteration of this remainder that had begun.
 * @return false: none of the collective's had
 */
static bool
find_iteration(const struct resent *resent, uint32_t first, uint32_t end, const struct rec_volume_alarm *alarm,
	       uint32_t *iteration)
{
	bool found = false;

	for (uint32_t i = first; i < end; i++)
		if (resent->rows[i].iteration % TAG_ITERATIONS == alarm->iteration % TAG_ITERATIONS &&
		    resent->rows[i].first_ps < alarm->hdr.time_ps) {
			*iteration = resent->rows[i].iteration;
			found = true;
		}
	return found;
}

/* Of the rows, in order, the next one that an alarm concerns. @param row  NULL: the first @return NULL: no other */
static const struct resent_row *
next_concerned(const struct resent *resent, const struct rec_volume_alarm *alarm, const struct resent_row *row)
{
	uint32_t first = 0, after = row != NULL ? (uint32_t)(row - resent->rows) + 1 : 0;

	for (uint32_t end; first < resent->nrows; first = end) {
		uint32_t last = 0;

		end = end_of_collective(resent, first);
		if (end <= after || !find_iteration(resent, first, end, alarm, &last))
			continue;
		for (uint32_t i = first > after ? first : after; i < end; i++) {
			const struct resent_row *next = &resent->rows[i];

			if (next->iteration <= last && last - next->iteration < alarm->pooled &&
			    is_concerned(resent, next, alarm))
				return next;
		}
	}
	return NULL;
}

uint64_t
resent_of(const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	const struct resent_row *row = next_concerned(resent, alarm, NULL);
	uint64_t sum = 0;

	if (row == NULL)
		return RESENT_UNKNOWN;
	for (; row != NULL; row = next_concerned(resent, alarm, row)) {
		if (!row->is_whole)
			return RESENT_UNKNOWN;
		sum += row->packets;
	}
	return sum;
}

/* That all RNICs of a host can send in some time. */
static double
sendable_bytes(const struct run *run, uint32_t host, uint64_t ps)
{
	double bits = 0;

	for (uint32_t i = 0; i < run->nodes[host].nports; i++)
		bits += (double)run->ports[run->nodes[host].first_port + i].rate_bps * (double)ps / (double)PS_PER_S;
	return bits / 8;
}

uint64_t
resent_undelivered_bytes(const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	const struct resent_row *row = next_concerned(resent, alarm, NULL);
	uint64_t judged_ps = alarm->hdr.time_ps, sum = 0;

	for (; row != NULL; row = next_concerned(resent, alarm, row)) {
		sum += row->unacked_bytes;
		if (row->last_ps > judged_ps)
			sum += min_u64(row->bytes - min_u64(row->unacked_bytes, row->bytes),
				       (uint64_t)sendable_bytes(resent->paths->run, row->src, row->last_ps - judged_ps));
	}
	return sum;
}

uint64_t
resent_began_ps(const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	const struct resent_row *row = next_concerned(resent, alarm, NULL);
	uint64_t first_ps = UINT64_MAX;

	for (; row != NULL; row = next_concerned(resent, alarm, row))
		first_ps = min_u64(first_ps, row->first_ps);
	return first_ps;
}

bool
resent_clears(const struct resent *resent, const struct rec_volume_alarm *alarm, uint32_t ports)
{
	double bytes = 0, packet_bytes = alarm->packets != 0 ? (double)alarm->got / (double)alarm->packets : 0;

	if (alarm->place != REC_LOSS_REMOTE || paths_is_of_pods(resent->paths, alarm->hdr.node))
		return false;
	for (uint32_t first = 0, end; first < resent->nrows; first = end) {
		uint32_t iteration = 0;

		end = end_of_collective(resent, first);
		if (!find_iteration(resent, first, end, alarm, &iteration))
			continue;
		for (uint32_t i = first; i < end; i++) {
			const struct resent_row *row = &resent->rows[i];

			if (row->iteration != iteration || !is_below(resent, row->src, alarm->sender, false) ||
			    is_below(resent, row->dst, alarm->hdr.node, false) ||
			    is_below(resent, row->dst, alarm->sender, false))
				continue;
			if (!row->is_whole || row->packets != 0)
				return false;
			bytes += (double)row->bytes;
		}
	}
	return packet_bytes > 0 && bytes / packet_bytes / ports * alarm->drop_ppm / REC_PPM >= CLEARS_PACKETS;
}
