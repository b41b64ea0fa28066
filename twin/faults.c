/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/drop.h"

#define MAX_LATE_STEPS 8  /* of a collective and a slow host: the latest ones */
#define MAX_SPELLS 8      /* of a storm */
#define ALIKE 0.9         /* shares of a delay that chance of queues makes */
#define PAUSED_SHARE 0.97 /* of an epoch that is all pause: RESUMEs of a queue make breaks */

static const char *
text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text != NULL ? text : "";
}

static uint32_t
find_port(const struct evidence *ev, const char *name)
{
	char buf[TWIN_NAME];

	for (uint32_t p = 0; p < ev->nports; p++)
		if (strcmp(evidence_port_name(ev, p, buf), name) == 0)
			return p;
	return EV_NONE;
}

static uint32_t
find_flow(const struct run *run, const char *name)
{
	for (uint32_t f = 0; f < run->nflows; f++)
		if (strcmp(run->flows[f].name, name) == 0)
			return f;
	return EV_NONE;
}

static struct twin_fault *
add(struct twin_model *model, const struct twin_fault *blank)
{
	struct twin_fault *fault = model->nfaults < TWIN_MAX_FAULTS ? &model->faults[model->nfaults++] : NULL;

	if (fault != NULL)
		*fault = *blank;
	return fault;
}

static bool
leaves_by(const struct evidence *ev, uint32_t flow, uint32_t port, bool back)
{
	const struct ev_flow *of = &ev->flows[flow];
	uint32_t first = of->first_hop + (back ? of->nhops : 0);

	for (uint32_t h = first; h < first + (back ? of->nback : of->nhops); h++)
		if (ev->hops[h] == port)
			return true;
	return false;
}

/* How many victims of a finding pass a port, with their data or ACKs. */
static uint32_t
victims_at(const struct twin_model *model, const json_t *finding, uint32_t port)
{
	uint32_t victims = 0;
	const json_t *victim;
	size_t i;

	json_array_foreach(json_object_get(finding, "victims"), i, victim) {
		uint32_t flow = find_flow(model->run, json_string_value(victim));

		victims += flow != EV_NONE &&
			   (leaves_by(model->ev, flow, port, false) || leaves_by(model->ev, flow, port, true));
	}
	return victims;
}

/* The port that a finding is about, or that most of its victims leave by; EV_NONE: there is none. */
static uint32_t
place_of(const struct twin_model *model, const json_t *finding)
{
	const struct evidence *ev = model->ev;
	uint32_t port = find_port(ev, text_of(finding, "root")), most = 0;
	uint32_t root = find_flow(model->run, text_of(finding, "root"));

	if (port != EV_NONE || root == EV_NONE)
		return port;
	for (uint32_t h = ev->flows[root].first_hop; h < ev->flows[root].first_hop + ev->flows[root].nhops; h++) {
		uint32_t victims = victims_at(model, finding, ev->hops[h]);

		if (victims > most) {
			most = victims;
			port = ev->hops[h];
		}
	}
	return port;
}

/* ---- pfc-storm ---- */

/* A time in which a port was paused without a break. */
struct spell {
	uint64_t from_ps, to_ps;
	uint64_t slack_ps; /* by which its end is not known */
};

static uint64_t
pause_ps(const struct evidence *ev, const struct ev_epoch *epoch)
{
	uint64_t most_ps = 0;

	for (uint32_t r = epoch->first_row; r < epoch->first_row + epoch->nrows; r++)
		most_ps = max_u64(most_ps, EV_AT(ev->port_rows, struct rec_port_row, r)->pause_ps);
	return min_u64(most_ps, epoch->to_ps - epoch->from_ps);
}

static bool
is_all_paused(const struct evidence *ev, const struct ev_epoch *epoch)
{
	return epoch->to_ps > epoch->from_ps &&
	       (double)pause_ps(ev, epoch) >= PAUSED_SHARE * (double)(epoch->to_ps - epoch->from_ps);
}

/* Since when a port that reported itself as paused in an epoch was paused; the epoch's begin, where none did. */
static uint64_t
paused_since_ps(const struct evidence *ev, const struct ev_port *port, const struct ev_epoch *epoch)
{
	uint64_t since_ps = epoch->from_ps;

	for (uint32_t s = port->first_state; s < port->first_state + port->nstates; s++) {
		const struct rec_port_row *state = EV_AT(ev->states, struct rec_port_row, s);

		if (state->paused && state->hdr.time_ps >= epoch->from_ps && state->hdr.time_ps <= epoch->to_ps)
			since_ps = min_u64(since_ps, state->paused_since_ps);
	}
	return since_ps;
}

/*
 * Extends a spell from an epoch on that is all pause, over those behind it. Where nobody looked after it, it ends in the
 * middle of that time.
 * @return the epoch behind it
 */
static uint32_t
follow_spell(const struct evidence *ev, const struct ev_port *port, uint32_t e, struct spell *spell)
{
	uint32_t end = port->first_epoch + port->nepochs;

	for (; e < end && is_all_paused(ev, &ev->epochs[e]); e++) {
		const struct ev_epoch *next = e + 1 < end ? &ev->epochs[e + 1] : NULL;

		spell->to_ps = ev->epochs[e].to_ps;
		if (next != NULL && next->from_ps > spell->to_ps) {
			spell->slack_ps = (next->from_ps - spell->to_ps) / 2;
			spell->to_ps += spell->slack_ps;
			return e + 1;
		}
		if (next != NULL && !is_all_paused(ev, next))
			spell->to_ps += pause_ps(ev, next);
	}
	return e;
}

/* @return how many of MAX_SPELLS */
static uint32_t
find_spells(const struct evidence *ev, const struct ev_port *port, struct spell *spells)
{
	uint32_t count = 0, end = port->first_epoch + port->nepochs;

	for (uint32_t e = port->first_epoch; e < end && count < MAX_SPELLS;) {
		const struct ev_epoch *epoch = &ev->epochs[e], *before = e > port->first_epoch ? epoch - 1 : NULL;
		struct spell spell = { .from_ps = epoch->from_ps };

		if (!is_all_paused(ev, epoch)) {
			e++;
			continue;
		}
		spell.from_ps = paused_since_ps(ev, port, epoch);
		if (spell.from_ps == epoch->from_ps && before != NULL && before->to_ps == epoch->from_ps)
			spell.from_ps -= pause_ps(ev, before);
		e = follow_spell(ev, port, e, &spell);
		spells[count++] = spell;
	}
	return count;
}

/*
 * A pause in which a report within the epoch found the port: since when is known, and the rest of the epoch's pauses behind
 * that are it. What paused up to the epoch's end goes on in the next one.
 * @return whether there is one
 */
static bool
found_spell(const struct evidence *ev, const struct ev_port *port, const struct ev_epoch *epoch, struct spell *spell)
{
	const struct ev_epoch *next = epoch + 1 < &ev->epochs[port->first_epoch + port->nepochs] ? epoch + 1 : NULL;

	for (uint32_t s = port->first_state; s < port->first_state + port->nstates; s++) {
		const struct rec_port_row *state = EV_AT(ev->states, struct rec_port_row, s);
		uint64_t at_ps = state->hdr.time_ps, since_ps = state->paused_since_ps, within_ps, before_ps;

		if (!state->paused || state->state_only || at_ps < epoch->from_ps || at_ps > epoch->to_ps)
			continue;
		within_ps = at_ps - min_u64(at_ps, max_u64(since_ps, epoch->from_ps));
		before_ps = state->pause_ps - min_u64(state->pause_ps, within_ps);
		*spell = (struct spell){ .from_ps = since_ps, .to_ps = max_u64(since_ps, epoch->from_ps) };
		spell->to_ps += pause_ps(ev, epoch) - min_u64(before_ps, pause_ps(ev, epoch));
		if (next != NULL && next->from_ps == epoch->to_ps &&
		    (double)(spell->to_ps - since_ps) >= PAUSED_SHARE * (double)(epoch->to_ps - since_ps))
			spell->to_ps = epoch->to_ps + pause_ps(ev, next);
		return true;
	}
	return false;
}

/*
 * Shorter than an epoch: the one with most pauses has it. Where no report found the port paused, it is in the middle
 * between the last report without pauses in that epoch and the first that has counted them all.
 */
static struct spell
shortest_spell(const struct evidence *ev, const struct ev_port *port)
{
	const struct ev_epoch *most = NULL;
	struct spell spell = { 0 };
	uint64_t time_ps, from_ps, to_ps;

	for (uint32_t e = port->first_epoch; e < port->first_epoch + port->nepochs; e++)
		if (pause_ps(ev, &ev->epochs[e]) > (most != NULL ? pause_ps(ev, most) : 0))
			most = &ev->epochs[e];
	if (most == NULL || found_spell(ev, port, most, &spell))
		return spell;
	time_ps = pause_ps(ev, most);
	from_ps = most->from_ps;
	to_ps = most->to_ps;
	for (uint32_t s = port->first_state; s < port->first_state + port->nstates; s++) {
		const struct rec_port_row *state = EV_AT(ev->states, struct rec_port_row, s);

		if (state->state_only || state->hdr.time_ps < most->from_ps || state->hdr.time_ps > most->to_ps)
			continue;
		if (state->pause_ps == 0)
			from_ps = max_u64(from_ps, state->hdr.time_ps);
		else if (state->pause_ps >= time_ps)
			to_ps = min_u64(to_ps, state->hdr.time_ps);
	}
	spell.from_ps = from_ps + (to_ps > from_ps + time_ps ? (to_ps - from_ps - time_ps) / 2 : 0);
	spell.to_ps = spell.from_ps + time_ps;
	spell.slack_ps = most->to_ps - most->from_ps - time_ps;
	return spell;
}

/* Pauses that the port was asked in, which it reported the length of. @return how many of MAX_SPELLS */
static uint32_t
reported_spells(const struct evidence *ev, const struct ev_port *port, struct spell *spells)
{
	uint32_t count = 0;

	for (uint32_t s = port->first_state; s < port->first_state + port->nstates && count < MAX_SPELLS; s++) {
		const struct rec_port_row *state = EV_AT(ev->states, struct rec_port_row, s);

		if (state->state_only && !state->paused && state->pause_ps != 0)
			spells[count++] =
				(struct spell){ state->paused_since_ps, state->paused_since_ps + state->pause_ps, 0 };
	}
	return count;
}

/* From when a port sends a frame to when the other end of its link acts on it. */
static uint64_t
reach_ps(const struct evidence *ev, uint32_t port)
{
	return ev->ports[port].delay_ps + twin_pipeline_ps(ev);
}

/*
 * The long spells of pauses that the port at the other end of the link reported: it was paused later than the PAUSE was
 * sent. Queues pause for short ones.
 */
static void
infer_storm(struct twin_model *model, const json_t *finding, struct twin_fault *blank)
{
	const struct evidence *ev = model->ev;
	struct spell spells[MAX_SPELLS];
	const struct ev_port *paused;
	uint64_t longest_ps = 0;
	uint32_t count;

	blank->place = find_port(ev, text_of(finding, "root"));
	if (blank->place == EV_NONE || ev->ports[blank->place].peer == EV_NONE)
		return;
	paused = &ev->ports[ev->ports[blank->place].peer];
	count = reported_spells(ev, paused, spells);
	if (count == 0)
		count = find_spells(ev, paused, spells);
	for (uint32_t i = 0; i < count; i++)
		longest_ps = max_u64(longest_ps, spells[i].to_ps - spells[i].from_ps);
	if (count == 0) {
		spells[0] = shortest_spell(ev, paused);
		longest_ps = spells[0].to_ps - spells[0].from_ps;
		count = 1;
	}
	for (uint32_t i = 0; i < count && longest_ps != 0; i++) {
		blank->start_ps = spells[i].from_ps - min_u64(spells[i].from_ps, reach_ps(ev, blank->place));
		blank->duration_ps = spells[i].to_ps - spells[i].from_ps;
		blank->slack_ps = spells[i].slack_ps;
		if (4 * blank->duration_ps >= longest_ps)
			add(model, blank);
	}
}

static void
write_port(const struct twin_model *model, const struct twin_fault *fault, FILE *to)
{
	char name[TWIN_NAME];

	fprintf(to, "port = \"%s\"; ", evidence_port_name(model->ev, fault->place, name));
	if (fault->start_ps != 0)
		fprintf(to, "start = \"%.3fns\"; ", (double)fault->start_ps / PS_PER_NS);
	if (fault->duration_ps != 0)
		fprintf(to, "duration = \"%.3fns\"; ", (double)fault->duration_ps / PS_PER_NS);
}

static char *
target_port(const struct twin_model *model, const struct twin_fault *fault, char *buf)
{
	return evidence_port_name(model->ev, fault->place, buf);
}

/* ---- packet-loss ---- */

/* The share of a link's frames that never reached its other end, as polling packets counted it; 0: none did. */
static double
counted_loss(const struct evidence *ev, uint32_t port)
{
	uint32_t in = ev->ports[port].peer;
	double rate = 0;

	for (uint32_t i = 0; i < ev->passages.count; i++) {
		const struct rec_passage *passage = EV_AT(ev->passages, struct rec_passage, i);

		if (ev->passed[i].in_port == in && passage->sent_frames > passage->in_frames)
			rate = (double)(passage->sent_frames - passage->in_frames) / (double)passage->sent_frames;
	}
	return rate;
}

/* The share of a flow's packets that left a switch by one of its ports, of all that its rows count; 1: none was counted. */
static double
share_at(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *of = &ev->flows[flow];
	double here = 0, all = 0;

	for (uint32_t s = of->first_seen; s < of->first_seen + of->nseen; s++) {
		const struct ev_port *seen = &ev->ports[ev->seen[s]];

		if (seen->node != ev->ports[port].node)
			continue;
		for (uint32_t e = seen->first_epoch; e < seen->first_epoch + seen->nepochs; e++) {
			const struct rec_flow_row *row = evidence_flow_row(ev, &ev->epochs[e], flow);
			double packets = row != NULL ? (double)row->packets : 0;

			all += packets;
			here += ev->seen[s] == port ? packets : 0;
		}
	}
	return all > 0 ? here / all : 1;
}

/*
 * By what was sent again, of all packets that passed. Go-back-N sends all packets behind a lost one again, so that a NAK,
 * or a timeout where there is none, is one loss; selective retransmission sends the lost one alone.
 */
static double
resent_loss(const struct twin_model *model, uint32_t port)
{
	const struct evidence *ev = model->ev;
	double events = 0, packets = 0;
	char text[REC_SETTING_TEXT + 1];
	const char *transport = evidence_setting(ev, "host.transport", text);
	bool each = transport != NULL && strcmp(transport, "selective") == 0;

	for (uint32_t s = 0; s < model->run->nsteps; s++) {
		const struct run_step *step = &model->run->steps[s];

		if (run_is_local(step) || !step->started || !leaves_by(ev, step->flow, port, false))
			continue;
		events += each ? step->retransmits : step->naks > 0 ? step->naks : step->retransmits != 0;
		packets += ((double)step->acked_bytes / ev->run.payload_bytes + 1) * share_at(ev, step->flow, port);
	}
	return packets > 0 ? events / packets : 0;
}

static double
loss_at(const struct twin_model *model, uint32_t port)
{
	double counted = counted_loss(model->ev, port);

	return counted > 0 ? counted : resent_loss(model, port);
}

static void
infer_loss(struct twin_model *model, const json_t *finding, struct twin_fault *blank)
{
	blank->place = place_of(model, finding);
	if (blank->place == EV_NONE)
		return;
	blank->strength = loss_at(model, blank->place);
	if (blank->strength <= 0 && model->ev->ports[blank->place].peer != EV_NONE) {
		/* A switch lost what had entered it by that port: the data left by the link's other end. */
		blank->place = model->ev->ports[blank->place].peer;
		blank->strength = loss_at(model, blank->place);
	}
	for (uint32_t f = 0; f < model->nfaults; f++)
		if (model->faults[f].kind == blank->kind && model->faults[f].place == blank->place)
			return; /* two findings of one link, which one fault makes */
	if (blank->strength > 0)
		add(model, blank);
}

static void
write_loss(const struct twin_model *model, const struct twin_fault *fault, FILE *to)
{
	write_port(model, fault, to);
	fprintf(to, "rate = %.9f; ", fault->strength < 1 ? fault->strength : 1);
}

/* ---- path-delay ---- */

/* Whether a step lies in the time that a finding is about. */
static bool
lies_within(const struct run_step *step, const json_t *finding)
{
	double from_ps = json_number_value(json_object_get(finding, "start_ns")) * PS_PER_NS;
	double to_ps = (json_number_value(json_object_get(finding, "end_ns")) + 1) * PS_PER_NS;

	return (double)step->start_ps >= from_ps && (double)step->end_ps <= to_ps;
}

/*
 * How much longer the quickest round trip by a port took than an idle path does, in every step of the finding's time:
 * queues make it longer in some, a delay in all.
 */
static double
extra_delay_ps(const struct twin_model *model, const json_t *finding, uint32_t port)
{
	uint64_t least_ps = UINT64_MAX;

	for (uint32_t s = 0; s < model->run->nsteps; s++) {
		const struct run_step *step = &model->run->steps[s];

		if (run_is_local(step) || step->rtt_min_ps <= step->base_rtt_ps || step->rtt_samples == 0 ||
		    !lies_within(step, finding) ||
		    (!leaves_by(model->ev, step->flow, port, false) && !leaves_by(model->ev, step->flow, port, true)))
			continue;
		least_ps = min_u64(least_ps, step->rtt_min_ps - step->base_rtt_ps);
	}
	return least_ps != UINT64_MAX ? (double)least_ps : 0;
}

/* May a finding that names a flow be about the link of this port? It lists those that its evidence leaves. */
static bool
is_left(const struct twin_model *model, const json_t *finding, uint32_t port)
{
	const json_t *ports = json_object_get(finding, "ports"), *name;
	bool left = json_array_size(ports) == 0;
	size_t i;

	json_array_foreach(ports, i, name) {
		uint32_t listed = find_port(model->ev, json_string_value(name));

		left |= listed == port || (listed != EV_NONE && model->ev->ports[listed].peer == port);
	}
	return left;
}

/*
 * Where the finding names a flow: of the links that it leaves, the port of the flow's path, or of its ACKs', by which every
 * round trip is longer by the most. Flows without a delay that pass there, too, make that shorter. Of ports alike, the one
 * of most victims.
 */
static uint32_t
delayed_port(const struct twin_model *model, const json_t *finding, uint32_t flow)
{
	const struct ev_flow *of = &model->ev->flows[flow];
	uint32_t port = EV_NONE, most = 0;
	double most_ps = 0;

	for (uint32_t h = of->first_hop; h < of->first_hop + of->nhops + of->nback; h++) {
		double extra_ps = extra_delay_ps(model, finding, model->ev->hops[h]);
		uint32_t victims = victims_at(model, finding, model->ev->hops[h]);

		if (!is_left(model, finding, model->ev->hops[h]) || extra_ps <= 0 || extra_ps < ALIKE * most_ps ||
		    (extra_ps * ALIKE <= most_ps && victims <= most))
			continue;
		most_ps = extra_ps;
		most = victims;
		port = model->ev->hops[h];
	}
	return port;
}

/* Switches beyond a delay saw foreign flows begin later by it than they did. */
static void
begin_before_delay(struct twin_model *model, const struct twin_fault *fault)
{
	for (uint32_t f = 0; f < model->nflows; f++) {
		struct twin_flow *flow = &model->flows[f];
		bool passed = flow->counted && model->ev->flows[flow->flow].src_port == fault->place;

		for (uint32_t h = 0; h < flow->counted_at && h < flow->hops; h++)
			passed |= flow->counted && flow->path[h] == fault->place;
		if (passed)
			flow->start_ps -= min_u64(flow->start_ps, (uint64_t)fault->strength);
	}
}

static void
infer_delay(struct twin_model *model, const json_t *finding, struct twin_fault *blank)
{
	uint32_t root = find_flow(model->run, text_of(finding, "root"));

	blank->place = root != EV_NONE ? delayed_port(model, finding, root) : place_of(model, finding);
	if (blank->place == EV_NONE)
		return;
	blank->strength = extra_delay_ps(model, finding, blank->place);
	if (blank->strength >= PS_PER_NS && add(model, blank) != NULL)
		begin_before_delay(model, blank);
}

static void
write_delay(const struct twin_model *model, const struct twin_fault *fault, FILE *to)
{
	write_port(model, fault, to);
	fprintf(to, "extra = \"%.0fns\"; ", fault->strength / PS_PER_NS);
}

/* ---- slow-host ---- */

/* How late the steps of a host's ranks began in a collective, on average over iterations. */
struct lateness {
	double *sum_ps; /* [steps + 1] */
	uint32_t *count, steps, late;
};

static void
sum_lateness(const struct twin_model *model, const struct twin_op *work, uint32_t node, struct lateness *lateness)
{
	for (uint32_t c = 0; c < model->run->ncollectives; c++) {
		const struct run_collective *of = &model->run->collectives[c];

		for (uint32_t s = of->first_step; of->id == work->id && s < of->first_step + of->nsteps; s++) {
			const struct run_step *step = &model->run->steps[s];

			if (step->host != node || !step->started || step->step > lateness->steps)
				continue;
			lateness->sum_ps[step->step] += (double)step->late_ps;
			lateness->count[step->step]++;
		}
	}
	for (uint32_t s = 1; s <= lateness->steps; s++) {
		if (lateness->count[s] != 0)
			lateness->sum_ps[s] /= lateness->count[s];
		lateness->late += lateness->sum_ps[s] > 0;
	}
}

static int
by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return ORDER(a, b);
}

/* A delay that most steps have is one of all: the median. */
static double
common_delay_ps(const struct lateness *lateness)
{
	double *sorted = calloc((size_t)lateness->steps + 1, sizeof(*sorted)), median_ps = 0;
	uint32_t present = 0;

	for (uint32_t s = 1; s <= lateness->steps && sorted != NULL; s++)
		if (lateness->count[s] != 0)
			sorted[present++] = lateness->sum_ps[s];
	if (present > 2 && 4 * lateness->late >= 3 * present) {
		qsort(sorted, present, sizeof(*sorted), by_value);
		median_ps = sorted[present / 2];
	}
	free(sorted);
	return median_ps;
}

static void
add_late(struct twin_model *model, struct twin_fault *blank, uint32_t step, double delay_ps)
{
	blank->step = step;
	blank->strength = delay_ps;
	if (delay_ps >= PS_PER_NS)
		add(model, blank);
}

static void
infer_late(struct twin_model *model, uint32_t index, struct twin_fault *blank)
{
	const struct twin_op *work = &model->works[index];
	struct lateness lateness = { .steps = model->run->collectives[work->collective].rank_steps };
	double all_ps;

	lateness.sum_ps = calloc((size_t)lateness.steps + 1, sizeof(*lateness.sum_ps));
	lateness.count = calloc((size_t)lateness.steps + 1, sizeof(*lateness.count));
	if (lateness.sum_ps != NULL && lateness.count != NULL)
		sum_lateness(model, work, blank->place, &lateness);
	blank->collective = index;
	if (lateness.late != 0) {
		all_ps = common_delay_ps(&lateness);
		add_late(model, blank, 0, all_ps);
		for (uint32_t n = 0; n < MAX_LATE_STEPS; n++) {
			uint32_t latest = 1;

			for (uint32_t s = 2; s <= lateness.steps; s++)
				latest = lateness.sum_ps[s] > lateness.sum_ps[latest] ? s : latest;
			if (lateness.sum_ps[latest] <= 1.5 * all_ps)
				break;
			add_late(model, blank, latest, lateness.sum_ps[latest] - all_ps);
			lateness.sum_ps[latest] = 0;
		}
	}
	free(lateness.sum_ps);
	free(lateness.count);
}

static void
infer_slow_host(struct twin_model *model, const json_t *finding, struct twin_fault *blank)
{
	const char *root = text_of(finding, "root");

	for (uint32_t n = 0; n < model->ev->nnodes; n++) {
		if (!model->ev->nodes[n].host || strcmp(model->ev->nodes[n].name, root) != 0)
			continue;
		blank->place = n;
		for (uint32_t w = 0; w < model->nworks; w++)
			infer_late(model, w, blank);
	}
}

static void
write_slow_host(const struct twin_model *model, const struct twin_fault *fault, FILE *to)
{
	fprintf(to, "host = \"%s\"; collective = %u; ", model->ev->nodes[fault->place].name, fault->collective);
	if (fault->step != 0)
		fprintf(to, "step = %u; ", fault->step);
	fprintf(to, "delay = \"%.0fns\"; ", fault->strength / PS_PER_NS);
}

static char *
target_node(const struct twin_model *model, const struct twin_fault *fault, char *buf)
{
	snprintf(buf, TWIN_NAME, "%s", model->ev->nodes[fault->place].name);
	return buf;
}

/* ---- link-down ---- */

/* Does any scheduled flow have an announced path by a link? Where operators know that it is down, none has. */
static bool
is_announced(const struct evidence *ev, uint32_t port)
{
	bool found = false;

	for (uint32_t f = 0; f < ev->nflows && !found; f++)
		for (uint32_t h = ev->flows[f].first_hop; h < ev->flows[f].first_hop + ev->flows[f].nhops; h++)
			found |= ev->hops[h] == port || ev->hops[h] == ev->ports[port].peer;
	return found;
}

/*
 * Since when a port at either end of the link reports it as down. It stays so: no record says that it is up again. Where no
 * path is announced by it, nobody knows which flows it would carry.
 */
static void
infer_link_down(struct twin_model *model, const json_t *finding, struct twin_fault *blank)
{
	const struct evidence *ev = model->ev;
	uint64_t first_ps = UINT64_MAX;

	blank->place = find_port(ev, text_of(finding, "root"));
	for (uint32_t i = 0; i < ev->drops.count && blank->place != EV_NONE; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);

		if (row->reason == REC_DROP_LINK_DOWN && (port == blank->place || ev->ports[port].peer == blank->place))
			first_ps = min_u64(first_ps, row->first_ps);
	}
	if (first_ps == UINT64_MAX || !is_announced(ev, blank->place))
		return;
	blank->start_ps = first_ps;
	add(model, blank);
}

const struct twin_fault_kind twin_fault_kinds[] = {
	{ "pfc-storm", "pfc-storm", infer_storm, write_port, target_port },
	{ "packet-loss", "loss", infer_loss, write_loss, target_port },
	{ "path-delay", "delay", infer_delay, write_delay, target_port },
	{ "slow-host", "slow-host", infer_slow_host, write_slow_host, target_node },
	{ TWIN_LINK_DOWN, TWIN_LINK_DOWN, infer_link_down, write_port, target_port },
	{ NULL, NULL, NULL, NULL, NULL },
};

void
twin_faults_infer(struct twin_model *model)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(model->findings, i, finding) {
		for (const struct twin_fault_kind *kind = twin_fault_kinds; kind->finding != NULL; kind++) {
			struct twin_fault blank = { .kind = kind, .finding = i, .place = EV_NONE };

			if (strcmp(kind->finding, text_of(finding, "type")) == 0)
				kind->infer(model, finding, &blank);
		}
	}
}
