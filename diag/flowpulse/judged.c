/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/judged.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/tag.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/run/fill.h"

const struct flowpulse_precondition flowpulse_preconditions[FLOWPULSE_HOLDS] = {
	[FLOWPULSE_JUDGED] = { .key = "judged" },
	[FLOWPULSE_UNFINISHED] = { .key = "unfinished",
				   .because = "their switches took a pause of the senders, longer than flowpulse.idle, or "
					      "the end of the run for the end of those iterations, and had counted a part "
					      "of them alone" },
	[FLOWPULSE_LESS] = { .key = "less",
			     .because =
				     "less arrived by all ports together, by half of the missing share at least: the "
				     "prediction has packets that hosts sent again; what a link loses arrives by others" },
	[FLOWPULSE_NOT_LOST] = { .key = "not-lost",
				 .because =
					 "hosts sent nothing again in those iterations, or it arrived twice: packets were "
					 "spread unevenly, and none was lost",
				 .is_clear = true },
	[FLOWPULSE_EXCESS] = { .key = "excess",
			       .because = "more than twice as much is missing as hosts sent again: most of it was spread "
					  "unevenly, and not lost" },
	[FLOWPULSE_SHARED] = { .key = "shared",
			       .because = "other data of the measured class left the senders' switches by the same ports, "
					  "no less than is missing, and spraying evens out the sum: give the collective a "
					  "separate class (host.measured_prio, switch.strict)" },
	[FLOWPULSE_NO_NOISE] = { .key = "noise",
				 .because =
					 "the noise of spraying cannot be learned from two or three ports, and what hosts "
					 "sent again does not show a loss: it was not reported, or they send again what "
					 "arrives out of order (host.transport = \"go-back-n\")" },
};

/* Packets of an alarm's senders that are missing. */
static double
missing_packets(const struct rec_volume_alarm *alarm)
{
	double bytes = alarm->expected > alarm->got ? (double)(alarm->expected - alarm->got) : 0;

	return alarm->packets != 0 ? bytes * (double)alarm->packets / (double)alarm->got : 0;
}

enum flowpulse_hold
flowpulse_hold_of(const struct rec_volume_alarm *alarm, const struct flowpulse_facts *facts)
{
	bool is_reported = facts->resent != RESENT_UNKNOWN;

	if (facts->is_partial ||
	    (facts->undelivered_bytes != 0 && alarm->expected <= alarm->got + facts->undelivered_bytes))
		return FLOWPULSE_UNFINISHED;
	if (is_reported && facts->resent == 0)
		return FLOWPULSE_NOT_LOST;
	if (alarm->expected > alarm->got &&
	    2 * facts->less * (double)alarm->expected >= (double)(alarm->expected - alarm->got))
		return FLOWPULSE_LESS;
	/* All that is lost is sent again; where hosts sent less than half of it again, spraying moved the most. */
	if (is_reported && missing_packets(alarm) > 2 * (double)facts->resent)
		return FLOWPULSE_EXCESS;
	/* A port was sent less measured data by at most the other traffic that it was sent instead. */
	if (facts->other_bytes != 0 && alarm->expected <= alarm->got + facts->other_bytes)
		return FLOWPULSE_SHARED;
	return alarm->noise == REC_NOISE_UNKNOWN && !is_reported ? FLOWPULSE_NO_NOISE : FLOWPULSE_JUDGED;
}

/* Does a switch send the packets that an alarm misses? @param node  of a monitor */
static bool
is_sender(const struct paths *paths, const struct rec_volume_alarm *alarm, uint32_t node)
{
	if (alarm->sender == REC_NONE)
		return node != alarm->hdr.node;
	return node == alarm->sender ||
	       (paths_is_of_pods(paths, alarm->hdr.node) && paths->pod[node] == paths->pod[alarm->sender]);
}

static uint64_t
others_of(const struct flowpulse *own, const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < own->nflaws; i++) {
		const struct rec_volume_flaw *flaw = &own->flaws[i];
		bool is_meanwhile = flaw->iteration == REC_NONE || (flaw->iteration <= alarm->iteration &&
								    alarm->iteration - flaw->iteration < alarm->pooled);

		if (flaw->flaw == REC_FLAW_SHARED && is_meanwhile && is_sender(paths, alarm, flaw->hdr.node))
			bytes += flaw->seen;
	}
	return bytes;
}

/* Monitors count frames, hosts their payload. */
static uint64_t
undelivered_of(const struct paths *paths, const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	const struct rec_run *config = &paths->run->config;
	uint64_t bytes = resent_undelivered_bytes(resent, alarm);

	if (bytes == 0 || config->payload_bytes == 0)
		return 0;
	return bytes + (bytes / config->payload_bytes + 1) * (config->frame_bytes - config->payload_bytes);
}

/*
 * The share that is missing of all ports together. A packet that a link loses is sent again until it arrives, so a loss
 * moves volume between the ports of a leaf. In a pod it may move to another switch of the second tier.
 */
static double
less_of(const struct flowpulse *own, const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	double predicted = 0, seen = 0;

	if (paths_is_of_pods(paths, alarm->hdr.node))
		return 0;
	for (uint32_t i = ARRAY_FROM(own->volumes, hdr.time_ps, 0, own->nvolumes, alarm->hdr.time_ps);
	     i < own->nvolumes && own->volumes[i].hdr.time_ps == alarm->hdr.time_ps; i++) {
		const struct rec_volume *volume = &own->volumes[i];

		if (volume->hdr.node != alarm->hdr.node || volume->iteration != alarm->iteration || volume->learned != 0 ||
		    volume->flaws != 0 || (alarm->sender != REC_NONE && volume->sender != alarm->sender))
			continue;
		predicted += (double)volume->predicted;
		seen += (double)volume->seen;
	}
	return predicted > seen ? 1 - seen / predicted : 0;
}

/* Does a leaf receive from a sender what an alarm is about? In its iterations, or those that it was found in together. */
static bool
is_arrival(const struct paths *paths, const struct rec_volume_alarm *alarm, uint32_t leaf, uint32_t sender,
	   uint32_t iteration)
{
	const uint32_t *pod = paths->pod;
	bool is_pod = paths_is_of_pods(paths, alarm->hdr.node);

	if (iteration > alarm->iteration || alarm->iteration - iteration >= alarm->pooled || sender == REC_NONE ||
	    paths_is_of_pods(paths, leaf) || (is_pod ? pod[leaf] != pod[alarm->hdr.node] : leaf != alarm->hdr.node))
		return false;
	if (alarm->sender == REC_NONE)
		return !is_pod || pod[sender] != pod[leaf];
	return is_pod ? pod[sender] == pod[alarm->sender] : sender == alarm->sender;
}

/*
 * Packets of an alarm's senders that arrived twice: what their leaves received by all ports together beyond the
 * prediction. A packet that was lost arrives once, when it is sent again; one that was overtaken, or whose ACK was late,
 * arrives twice.
 */
static uint64_t
twice_of(const struct flowpulse *own, const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	double predicted = 0, seen = 0;

	for (uint32_t i = 0; i < own->nvolumes; i++) {
		const struct rec_volume *volume = &own->volumes[i];

		if (volume->learned != 0 || volume->flaws != 0 ||
		    !is_arrival(paths, alarm, volume->hdr.node, volume->sender, volume->iteration))
			continue;
		predicted += (double)volume->predicted;
		seen += (double)volume->seen;
	}
	for (uint32_t i = 0; i < own->nflaws; i++) {
		const struct rec_volume_flaw *flaw = &own->flaws[i];

		if (flaw->flaw != REC_FLAW_DEMAND ||
		    !is_arrival(paths, alarm, flaw->hdr.node, flaw->sender, flaw->iteration))
			continue;
		predicted += (double)flaw->predicted;
		seen += (double)flaw->seen;
	}
	return alarm->got != 0 && seen > predicted
		       ? (uint64_t)((seen - predicted) * (double)alarm->packets / (double)alarm->got)
		       : 0;
}

static bool
is_of_iteration(const struct rec_volume_alarm *alarm, uint32_t node, uint32_t iteration)
{
	return node == alarm->hdr.node && iteration % TAG_ITERATIONS == alarm->iteration % TAG_ITERATIONS;
}

/*
 * Had the alarm's switch judged a part of its iteration before, once its first sender had begun? A switch judges an
 * iteration once, unless it takes a pause for its end.
 */
static bool
was_judged_before(const struct flowpulse *own, const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	uint64_t began_ps = resent_began_ps(resent, alarm), now_ps = alarm->hdr.time_ps;

	for (uint32_t i = ARRAY_FROM(own->volumes, hdr.time_ps, 0, own->nvolumes, began_ps);
	     i < own->nvolumes && own->volumes[i].hdr.time_ps < now_ps; i++)
		if (is_of_iteration(alarm, own->volumes[i].hdr.node, own->volumes[i].iteration))
			return true;
	for (uint32_t i = 0; i < own->nflaws && own->flaws[i].hdr.time_ps < now_ps; i++)
		if (own->flaws[i].hdr.time_ps >= began_ps && own->flaws[i].flaw != REC_FLAW_SHARED &&
		    is_of_iteration(alarm, own->flaws[i].hdr.node, own->flaws[i].iteration))
			return true;
	return false;
}

/* Monitored ports of a switch: a sender's packets are spread over all of them, or fewer. */
static uint32_t
ports_of(const struct flowpulse *own, uint32_t node)
{
	for (uint32_t i = 0; i < own->nmonitors; i++)
		if (own->monitors[i].hdr.node == node && own->monitors[i].ports != 0)
			return own->monitors[i].ports;
	return REC_NONE; /* not known yet: no proof */
}

/* The same of all switches of its tier and pod: a packet to the pod arrives by one of them. */
static uint32_t
all_ports_of(const struct flowpulse *own, const struct paths *paths, uint32_t node)
{
	uint32_t ports = ports_of(own, node), switches = 0;

	if (!paths_is_of_pods(paths, node))
		return ports;
	for (uint32_t i = 0; i < paths->run->nnodes; i++)
		switches += paths->tier[i] == paths->tier[node] && paths->pod[i] == paths->pod[node];
	return ports < REC_NONE / switches ? ports * switches : REC_NONE;
}

void
flowpulse_judge(struct flowpulse *own, const struct paths *paths, const struct resent *resent)
{
	for (uint32_t i = 0; i < own->nalarms; i++) {
		const struct rec_volume_alarm *alarm = &own->alarms[i];
		struct flowpulse_facts facts = { .resent = resent_of(resent, alarm),
						 .undelivered_bytes = undelivered_of(paths, resent, alarm),
						 .less = less_of(own, paths, alarm),
						 .is_partial = was_judged_before(own, resent, alarm),
						 .other_bytes = others_of(own, paths, alarm) };

		if (facts.resent != RESENT_UNKNOWN)
			facts.resent -= min_u64(facts.resent, twice_of(own, paths, alarm));
		/* Perhaps in vain: then only the absence of retransmissions is a proof. */
		if (own->config.in_order && facts.resent != 0)
			facts.resent = RESENT_UNKNOWN;
		own->resent[i] = facts.resent;
		own->is_cleared[i] = resent_clears(resent, alarm, ports_of(own, alarm->hdr.node));
		own->only_sender[i] = resent_only_sender(resent, alarm, all_ports_of(own, paths, alarm->hdr.node));
		own->held[i] = (uint8_t)flowpulse_hold_of(alarm, &facts);
	}
}

#define Z95 1.959964 /* 95 % of a normal distribution is within this number of standard deviations */

static struct flowpulse_lost
lost_of(const struct flowpulse *own, uint32_t index, const struct run *run)
{
	const struct rec_volume_alarm *alarm = &own->alarms[index];
	uint64_t resent = own->resent[index];
	double size = alarm->packets != 0 ? (double)alarm->got / (double)alarm->packets : (double)run->config.frame_bytes;
	double expected = size > 0 ? (double)alarm->expected / size : 0, got = (double)alarm->packets;
	double dispersion = (double)alarm->dispersion_ppm / REC_PPM, reference = (double)alarm->reference_packets;

	if (resent != RESENT_UNKNOWN)
		got = fmax(got, expected - (double)resent);
	/*
	 * Where packets choose independently, the expected volume is as uncertain as the ports that it is derived from.
	 */
	if (alarm->noise == REC_NOISE_RANDOM && reference > 0)
		dispersion *= 1 + expected / reference;
	return (struct flowpulse_lost){ expected, got, expected * dispersion, resent == RESENT_UNKNOWN };
}

static void
add(struct flowpulse_lost *sum, const struct flowpulse_lost *lost)
{
	sum->expected += lost->expected;
	sum->got += lost->got;
	sum->dispersion += lost->dispersion;
	sum->is_unbounded |= lost->is_unbounded;
}

static double
rate(const struct flowpulse_lost *lost)
{
	return fmax(0, 1 - lost->got / lost->expected);
}

/* Of a rate: spraying's own, thinned, and that of the losses; and what a packet more or less makes. */
static double
variance(const struct flowpulse_lost *lost)
{
	double kept = 1 - rate(lost), packet = 1 / lost->expected;

	return (kept * kept * lost->dispersion / lost->expected + kept * rate(lost)) / lost->expected + packet * packet;
}

/* Is it further below than chance has it? */
static bool
lacks_less(const struct flowpulse_lost *lost, const struct flowpulse_lost *than)
{
	return lost->expected > 0 && than->expected > 0 &&
	       rate(lost) < rate(than) - Z95 * sqrt(variance(lost) + variance(than));
}

static void
estimate(struct flowpulse_fault *fault, const struct flowpulse_lost *lost)
{
	double deviation;

	if (lost->expected <= 0)
		return;
	deviation = sqrt(variance(lost));
	fault->drop = rate(lost);
	fault->low = fmax(0, fault->drop - Z95 * deviation);
	fault->high = fmin(1, fault->drop + Z95 * deviation);
}

/* May the fault have lasted for a part of the alarm's iteration alone? */
static bool
is_edge(const struct flowpulse *own, uint32_t alarm, const uint32_t *fault_of)
{
	const struct flowpulse_fault *fault = &own->faults[fault_of[alarm]];
	uint32_t iteration = own->alarms[alarm].iteration;

	return iteration == fault->first_iteration || iteration == fault->last_iteration;
}

/*
 * @param inner, all  [own->nfaults] zero; loss between a fault's first and last iteration, and with those of the two
 *               that lack no less
 */
static void
sum_up(const struct flowpulse *own, const struct run *run, const uint32_t *fault_of, struct flowpulse_lost *inner,
       struct flowpulse_lost *all)
{
	for (uint32_t i = 0; i < own->nalarms; i++) {
		struct flowpulse_lost lost = lost_of(own, i, run);

		if (own->held[i] != FLOWPULSE_JUDGED || own->is_below[i] || is_edge(own, i, fault_of))
			continue; /* below: it has the rates of several links in one */
		add(&inner[fault_of[i]], &lost);
		add(&all[fault_of[i]], &lost);
	}
	for (uint32_t i = 0; i < own->nalarms; i++) {
		struct flowpulse_lost lost = lost_of(own, i, run);

		if (own->held[i] == FLOWPULSE_JUDGED && !own->is_below[i] && is_edge(own, i, fault_of) &&
		    !lacks_less(&lost, &inner[fault_of[i]]))
			add(&all[fault_of[i]], &lost);
	}
}

struct flowpulse_lost *
flowpulse_rates(struct flowpulse *own, const struct run *run, const uint32_t *fault_of, struct err *err)
{
	struct flowpulse_lost *inner = run_alloc(own->nfaults, sizeof(*inner), err);
	struct flowpulse_lost *all = run_alloc(own->nfaults, sizeof(*all), err);

	if (inner == NULL || all == NULL) {
		free(inner);
		free(all);
		return NULL;
	}
	sum_up(own, run, fault_of, inner, all);
	for (uint32_t i = 0; i < own->nfaults; i++)
		estimate(&own->faults[i], &all[i]);
	free(inner);
	return all;
}

/* ---- retransmissions, shared by faults ---- */

/* Is a fault named by more alarms than another, or by as many of a higher rate? */
static bool
is_stronger(const struct flowpulse_fault *fault, const struct flowpulse_fault *than)
{
	return fault->alarms != than->alarms ? fault->alarms > than->alarms : fault->drop > than->drop;
}

/* Does a fault's one link lose packets of all of an alarm's senders on their way to its switch? */
static bool
concerns(const struct paths *paths, const struct flowpulse_fault *fault, const struct rec_volume_alarm *alarm)
{
	const struct flowpulse_link *link = &fault->links[0];
	bool is_pod = paths_is_of_pods(paths, alarm->hdr.node);
	const uint32_t *group = paths->pod;

	if (fault->nlinks != 1 || alarm->iteration < fault->first_iteration || alarm->iteration > fault->last_iteration ||
	    link->from == RUN_NONE || link->to == RUN_NONE)
		return false;
	if (link->to == alarm->hdr.node || (is_pod && group[link->to] == group[alarm->hdr.node]))
		return true;
	return alarm->sender != REC_NONE &&
	       (link->from == alarm->sender || (is_pod && group[link->from] == group[alarm->sender]));
}

/* Packets that stronger faults lost of the senders of an alarm: their links carry equal shares. */
static double
lost_by_others(const struct flowpulse *own, const struct paths *paths, uint32_t fault, uint32_t alarm)
{
	double rates = 0, size = (double)own->alarms[alarm].got / (double)own->alarms[alarm].packets;

	for (uint32_t i = 0; i < own->nfaults; i++)
		if (i != fault && is_stronger(&own->faults[i], &own->faults[fault]) &&
		    concerns(paths, &own->faults[i], &own->alarms[alarm]))
			rates += own->faults[i].drop;
	return rates * (double)own->alarms[alarm].expected / size;
}

void
flowpulse_share_resent(struct flowpulse *own, const struct paths *paths, const uint32_t *fault_of)
{
	for (uint32_t f = 0; f < own->nfaults; f++) {
		double missing = 0, left = 0;
		bool is_known = true;

		for (uint32_t i = 0; i < own->nalarms && is_known; i++) {
			if (fault_of[i] != f || own->is_below[i] || own->alarms[i].packets == 0)
				continue;
			is_known = own->resent[i] != RESENT_UNKNOWN;
			missing += missing_packets(&own->alarms[i]);
			left += fmax(0, (double)own->resent[i] - lost_by_others(own, paths, f, i));
		}
		own->faults[f].is_of_others = is_known && missing > 2 * left;
	}
}

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
	return ORDER(a->dst, b->dst);
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
		const struct run_step *step = &paths->run->steps[i];
		const struct ev_flow *flow = step->flow != EV_NONE ? &ev->flows[step->flow] : NULL;
		const struct rec_collective *of = EV_AT(ev->collectives, struct rec_collective, step->collective);
		struct rec_step report;
		bool reported = evidence_report(ev, i, &report);

		if (flow == NULL || flow->src == EV_NONE || flow->dst == EV_NONE)
			continue;
		resent->rows[resent->nrows++] = (struct resent_row){
			.collective = of->id,
			.iteration = of->iteration,
			.src = flow->src,
			.dst = flow->dst,
			.packets = report.retransmits,
			.bytes = report.bytes,
			.first_ps = report.open == REC_STEP_WAITS ? UINT64_MAX : report.start_ps,
			.last_ps = report.open ? 0 : report.end_ps,
			.unacked_bytes = !reported     ? step->bytes
					 : report.open ? report.bytes - min_u64(report.acked_bytes, report.bytes)
						       : 0,
			.is_whole = reported && !report.open,
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

/* The group of hosts that a monitor counts as a sender: those of a leaf, or of a pod. @return RUN_NONE: of several */
static uint32_t
group_of(const struct resent *resent, uint32_t host, bool is_pod, uint32_t *leaf)
{
	const struct run *run = resent->paths->run;
	uint32_t group = RUN_NONE;

	for (uint32_t i = 0; i < run->nodes[host].nports; i++) {
		uint32_t peer = run->ports[run->nodes[host].first_port + i].peer_node;
		uint32_t of = peer == RUN_NONE ? RUN_NONE : is_pod ? resent->paths->pod[peer] : peer;

		if (of == RUN_NONE)
			continue;
		if (group != RUN_NONE && group != of)
			return RUN_NONE;
		group = of;
		*leaf = peer;
	}
	return group;
}

uint32_t
resent_only_sender(const struct resent *resent, const struct rec_volume_alarm *alarm, uint32_t ports)
{
	bool is_pod = paths_is_of_pods(resent->paths, alarm->hdr.node);
	uint32_t own = is_pod ? resent->paths->pod[alarm->hdr.node] : alarm->hdr.node, only = RUN_NONE, sender = REC_NONE;
	double bytes = 0, packet_bytes = alarm->packets != 0 ? (double)alarm->got / (double)alarm->packets : 0;
	const struct resent_row *row;

	if (alarm->place != REC_LOSS_LOCAL || ports == REC_NONE || packet_bytes <= 0)
		return REC_NONE;
	for (row = next_concerned(resent, alarm, NULL); row != NULL; row = next_concerned(resent, alarm, row)) {
		uint32_t leaf = REC_NONE, group = group_of(resent, row->src, is_pod, &leaf);

		if (group == own)
			continue; /* it crosses no monitored port */
		if (group == RUN_NONE || !row->is_whole || (row->packets != 0 && only != RUN_NONE && group != only))
			return REC_NONE;
		if (row->packets == 0)
			continue;
		only = group;
		sender = leaf;
	}
	for (row = next_concerned(resent, alarm, NULL); row != NULL; row = next_concerned(resent, alarm, row)) {
		uint32_t leaf, group = group_of(resent, row->src, is_pod, &leaf);

		bytes += group != own && group != only ? (double)row->bytes : 0;
	}
	return bytes / packet_bytes / ports * alarm->drop_ppm / REC_PPM >= CLEARS_PACKETS ? sender : REC_NONE;
}
