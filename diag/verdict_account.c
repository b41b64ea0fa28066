/* SPDX-License-Identifier: BSD-3-Clause */
/* How complete the evidence is, and what the verdict says about the network as a whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "diag/verdict_internal.h"
#include "diag/verdict_losses.h"

static bool
is_telemetry(uint32_t kind)
{
	return kind >= REC_POLL && kind <= REC_DROP_ROW;
}

static int
fill_kinds(struct verdict_overhead *over, const struct evidence *ev, struct err *err)
{
	over->kinds = verdict_alloc(RECORD_KINDS, sizeof(*over->kinds), err);
	if (over->kinds == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; k < RECORD_KINDS; k++) {
		struct verdict_kind kind = { k, ev->kinds[k].records, ev->kinds[k].bytes, 0, 0 };

		for (uint32_t g = 0; g < ev->gaps.count; g++) {
			const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, g);

			if (gap->kind != k)
				continue;
			kind.dropped += gap->dropped;
			kind.dropped_bytes += gap->dropped_bytes;
		}
		over->records += kind.records;
		if (is_telemetry(k))
			over->row_bytes += kind.bytes;
		if (kind.records != 0 || kind.dropped != 0)
			over->kinds[over->nkinds++] = kind;
	}
	return 0;
}

static bool
is_report(uint32_t kind)
{
	return kind >= REC_STEP && kind <= REC_DROP_ROW;
}

/*
 * The share of the reports' bytes that arrived, times that of the steps of which anything did: STEP records that the
 * budget kept back are in the first already. Of a stream that broke off nobody knows.
 */
static double
completeness(const struct verdict *v, const struct evidence *ev)
{
	uint64_t arrived_bytes = 0, dropped_bytes = 0, dropped_steps = 0, missing = 0;
	double share = 1;

	if (!ev->ended)
		return 0;
	for (uint32_t k = 0; k < v->overhead.nkinds; k++) {
		const struct verdict_kind *kind = &v->overhead.kinds[k];

		arrived_bytes += is_report(kind->kind) ? kind->bytes : 0;
		dropped_bytes += kind->dropped_bytes;
		dropped_steps += kind->kind == REC_STEP ? kind->dropped : 0;
	}
	for (uint32_t i = 0; i < v->nsteps; i++)
		missing += !v->steps[i].reported;
	if (ev->end.offered_bytes > arrived_bytes)
		share = (double)arrived_bytes / (double)ev->end.offered_bytes;
	else if (dropped_bytes != 0) /* of a stream in which something came twice */
		share = (double)arrived_bytes / (double)(arrived_bytes + dropped_bytes);
	return missing > dropped_steps ? share * (1 - (double)(missing - dropped_steps) / v->nsteps) : share;
}

static void
fill_overhead(struct verdict_overhead *over, const struct evidence *ev)
{
	uint64_t lost = 0, arrived = 0;

	for (uint32_t k = 0; k < over->nkinds; k++) {
		lost += over->kinds[k].dropped;
		arrived += is_report(over->kinds[k].kind) ? over->kinds[k].records : 0;
	}
	over->left_out = ev->left_out;
	if (ev->ended && ev->end.sent_records > arrived + ev->left_out)
		over->astray = ev->end.sent_records - arrived - ev->left_out;
	over->report_bytes = ev->ended ? ev->end.sent_bytes : ev->bytes;
	over->dropped = ev->ended ? ev->end.dropped_records : lost;
	if (ev->ended) {
		over->polling_packets = ev->end.polling_packets;
		over->polling_bytes = ev->end.polling_bytes;
		over->notification_packets = ev->end.notification_packets;
		over->notification_bytes = ev->end.notification_bytes;
		over->deferred = ev->end.deferred_records;
		over->triggers = ev->end.detections;
		over->reports = ev->end.kept_reports;
		over->telemetry_bytes = ev->end.kept_bytes;
		over->reports_collected = ev->end.collected_reports;
		over->telemetry_bytes_collected = ev->end.collected_bytes;
		over->bandwidth_bytes = over->telemetry_bytes + over->polling_bytes + over->notification_bytes;
	}
}

/* sums[i]: telemetry bytes of the first i time stamps. @return bytes that arrived in [from, to] */
static uint64_t
sent_within(const struct evidence *ev, const uint64_t *sums, uint64_t from_ps, uint64_t to_ps)
{
	uint32_t bound[2];

	for (int end = 0; end < 2; end++) { /* first stamp not before from, first stamp after to */
		uint32_t lo = 0, hi = ev->sent.count;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;
			uint64_t at_ps = EV_AT(ev->sent, struct ev_sent, mid)->time_ps;

			if (end == 0 ? at_ps < from_ps : at_ps <= to_ps)
				lo = mid + 1;
			else
				hi = mid;
		}
		bound[end] = lo;
	}
	return bound[1] > bound[0] ? sums[bound[1]] - sums[bound[0]] : 0;
}

static int
fill_completeness(struct verdict *v, const struct evidence *ev, struct err *err)
{
	uint64_t *sums = verdict_alloc((size_t)ev->sent.count + 1, sizeof(*sums), err);
	struct losses losses;
	int rc = losses_init(&losses, ev, err);

	if (sums == NULL || rc != 0) {
		free(sums);
		losses_fini(&losses);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ev->sent.count; i++)
		sums[i + 1] = sums[i] + EV_AT(ev->sent, struct ev_sent, i)->bytes;
	for (uint32_t i = 0; i < v->nsteps; i++) {
		struct verdict_step *step = &v->steps[i];
		double lost;

		if (!step->started)
			continue;
		lost = losses_within(&losses, step->start_ps, step->end_ps);
		if (lost > 0)
			step->completeness =
				1 - lost / (lost + (double)sent_within(ev, sums, step->start_ps, step->end_ps));
	}
	free(sums);
	losses_fini(&losses);
	return 0;
}

int
verdict_account(struct verdict *v, const struct evidence *ev, struct err *err)
{
	int rc = fill_kinds(&v->overhead, ev, err);

	if (rc != 0)
		return rc;
	fill_overhead(&v->overhead, ev);
	v->overhead.completeness = completeness(v, ev);
	return fill_completeness(v, ev, err);
}

bool
verdict_finished(const struct verdict *v)
{
	return !v->truncated && v->end_reason == REC_END_COMPLETE;
}

/* ---- the sentences ---- */

static void __attribute__((format(printf, 3, 4))) append(char *text, size_t cap, const char *fmt, ...)
{
	va_list ap;
	size_t used = 0;

	while (used < cap && text[used] != '\0')
		used++;
	if (used + 1 >= cap)
		return;
	va_start(ap, fmt);
	vsnprintf(text + used, cap - used, fmt, ap);
	va_end(ap);
}

static void
say_incomplete(struct verdict *v, const struct evidence *ev)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < v->nsteps; i++)
		missing += !v->steps[i].reported;
	if (v->truncated) {
		append(v->incomplete, sizeof(v->incomplete),
		       "The record stream broke off %.6f ms into the run, without its "
		       "end record",
		       (double)v->end_ps / 1e9);
		if (ev->torn_bytes != 0)
			append(v->incomplete, sizeof(v->incomplete), " and %u B into a record", ev->torn_bytes);
		append(v->incomplete, sizeof(v->incomplete), ": the rest is unknown. ");
	}
	if (ev->left_out != 0)
		append(v->incomplete, sizeof(v->incomplete), "%llu bad records were left out, the first%s%s: %.200s. ",
		       (unsigned long long)ev->left_out, ev->left_out_node < v->nnodes ? " of " : "",
		       ev->left_out_node < v->nnodes ? v->nodes[ev->left_out_node].name : "", ev->left_out_why.text);
	if (v->overhead.astray != 0)
		append(v->incomplete, sizeof(v->incomplete), "%llu records that the end record counts did not arrive. ",
		       (unsigned long long)v->overhead.astray);
	if (v->overhead.dropped != 0)
		append(v->incomplete, sizeof(v->incomplete),
		       "The exporter's budget kept back %llu records: %.1f %% of the bytes offered arrived. ",
		       (unsigned long long)v->overhead.dropped, 100 * v->overhead.completeness);
	if (missing != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u of %u steps were never reported%s. ", missing, v->nsteps,
		       verdict_finished(v) ? "" : ": the run did not get to them, or their reports are lost");
	if (ev->unscheduled_steps != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u step records match no scheduled step. ",
		       ev->unscheduled_steps);
	if (v->graphs_skipped != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u slow steps beyond the first %u were not explained. ",
		       v->graphs_skipped, VERDICT_MAX_GRAPHS);
	for (size_t n = 0; v->incomplete[n] != '\0'; n++) {
		if (v->incomplete[n + 1] == '\0' && v->incomplete[n] == ' ')
			v->incomplete[n] = '\0';
	}
}

/* The first finding about the network, or about a host: the list begins with what weighs most on the critical path. */
static const struct verdict_finding *
first_finding(const struct verdict *v, bool host)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		if ((v->findings[i].type == VERDICT_SLOW_HOST) == host)
			return &v->findings[i];
	}
	return NULL;
}

static void
say_hosts(struct verdict *v)
{
	const struct verdict_finding *first = first_finding(v, true);
	uint32_t named = 0;

	append(v->reason, sizeof(v->reason), "The network carried every step%s in time; late were the hosts: ",
	       verdict_finished(v) ? "" : " that was reported");
	for (uint32_t i = 0; i < v->nfindings; i++) {
		if (v->findings[i].type == VERDICT_SLOW_HOST)
			append(v->reason, sizeof(v->reason), "%s%s", named++ != 0 ? ", " : "", v->findings[i].root);
	}
	append(v->reason, sizeof(v->reason), ". %s.", first->evidence);
}

/* Telemetry that shows no reason speaks for the network only where it shows the time. */
static bool
was_watched(const struct verdict *v, const struct verdict_step *step)
{
	return step->graph != VERDICT_NONE &&
	       v->graphs[step->graph].covered_ps >= VERDICT_WATCHED_SHARE * (double)(step->end_ps - step->start_ps);
}

/*
 * ACKs are in no telemetry, and those of other jobs in nobody's expectation. A link full of data has a stream of ACKs
 * against it; so many of them may share a step's way.
 */
#define ACK_STREAMS 2

static double
ack_allowance(const struct verdict *v)
{
	return v->run.frame_bytes != 0 ? ACK_STREAMS * (double)v->run.ack_bytes / v->run.frame_bytes : 0;
}

/* Too slow for others' ACKs to be all of the reason? */
static bool
needs_reason(const struct verdict *v, const struct verdict_step *step)
{
	return step->open || (double)(step->end_ps - step->start_ps) > (1 + ack_allowance(v)) * (double)step->expect_ps;
}

void
verdict_conclude(struct verdict *v, const struct evidence *ev)
{
	const struct verdict_finding *network = first_finding(v, false), *host = first_finding(v, true);
	uint32_t slow = 0, done = 0, unwatched = 0, unexplained = 0;
	bool complete;

	for (uint32_t i = 0; i < v->nsteps; i++) {
		slow += v->steps[i].slow;
		done += v->steps[i].reported && !v->steps[i].open;
		unexplained += v->steps[i].slow && needs_reason(v, &v->steps[i]);
		unwatched += v->steps[i].slow && needs_reason(v, &v->steps[i]) && !was_watched(v, &v->steps[i]);
	}
	say_incomplete(v, ev);
	complete = v->incomplete[0] == '\0';
	v->innocent = network == NULL && (slow == 0 ? done != 0 && verdict_finished(v) : complete && unwatched == 0);
	if (network != NULL)
		append(v->reason, sizeof(v->reason), "%u of %u steps were slow; the %s is %s at %s%s%s. %s.", slow,
		       v->nsteps, network == v->findings ? "strongest cause" : "strongest cause in the network",
		       verdict_type_name(network->type), network->root, network->nflows != 0 ? " by " : "",
		       network->nflows != 0 ? v->flows[network->flows[0]].name : "", network->evidence);
	else if (slow == 0 && host != NULL)
		say_hosts(v);
	else if (slow == 0 && done == 0)
		append(v->reason, sizeof(v->reason), "No step was reported as finished: nothing can be said.");
	else if (slow == 0)
		append(v->reason, sizeof(v->reason), "Every step reported%s took at most %d %% longer than expected.",
		       verdict_finished(v) ? "" : " before the run ended", VERDICT_SLOW_PERCENT);
	else if (complete && unwatched != 0)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow and nothing that was reported explains it, but %u of them went without "
		       "telemetry for half of their time or more.",
		       slow, v->nsteps, unwatched);
	else if (complete && unexplained == 0)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow, by at most the %.1f %% that ACKs of other flows on their way can "
		       "cost%s%s.",
		       slow, v->nsteps, 100 * ack_allowance(v), host != NULL ? "; late was host " : "",
		       host != NULL ? host->root : "");
	else if (complete)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow, but no port that they met was halted, contended or dropped a packet"
		       "%s%s.",
		       slow, v->nsteps, host != NULL ? "; late was host " : "", host != NULL ? host->root : "");
	else
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow and nothing that was reported explains it, but the evidence is "
		       "incomplete.",
		       slow, v->nsteps);
}
