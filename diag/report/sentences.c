/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences of facts.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/ending.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"

#define NAMES_SHOWN 3

/* "a, b, c and 4 more" */
static void
append_flows(const struct verdict *v, const uint32_t *flows, uint32_t count, uint32_t shown, char *buf, size_t cap)
{
	char name[96];

	for (uint32_t i = 0; i < count && i < shown; i++)
		fmt_append(buf, cap, "%s%s",
			   i == 0           ? ""
			   : i + 1 == count ? " and "
					    : ", ",
			   facts_flow(v, flows[i], name, sizeof(name)));
	if (count > shown)
		fmt_append(buf, cap, " and %u more", count - shown);
}

static void
append_paused(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	uint32_t named = 0, others = 0;

	for (uint32_t i = 0; i < finding->nports; i++) {
		if (finding->ports[i] == finding->root_port)
			continue;
		if (named < NAMES_SHOWN)
			fmt_append(buf, cap, "%s%s", named++ == 0 ? " pauses " : ", ",
				   v->run.ports[finding->ports[i]].name);
		else
			others++;
	}
	if (others > 0)
		fmt_append(buf, cap, " and %u more", others);
}

static void
append_origin(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	if (finding->origin_port == RUN_NONE)
		fmt_append(buf, cap, "; began in the loop");
	else
		fmt_append(buf, cap, "; began out of the loop at %s", v->run.ports[finding->origin_port].name);
}

/* The collectives and iterations that a finding is about; those of several names are listed with their times. */
static void
append_collectives(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	const struct run_collective *first = &v->run.collectives[finding->collective];
	uint32_t *iterations = calloc((size_t)finding->nparts + 1, sizeof(*iterations)), names = 1;
	char ranges[FACTS_RANGES];

	for (uint32_t i = 0; i < finding->nparts && iterations != NULL; i++) {
		const struct run_collective *c = &v->run.collectives[finding->parts[i].collective];

		iterations[i] = c->iteration;
		names += c->id != first->id && (i == 0 || c->id != v->run.collectives[finding->parts[i - 1].collective].id);
	}
	fmt_append(buf, cap, " of %s", first->name);
	if (names > 1)
		fmt_append(buf, cap, " and others");
	else if (!run_is_flows(first) && iterations != NULL)
		fmt_append(buf, cap, ", iteration%s %s", finding->nparts > 1 ? "s" : "",
			   facts_ranges(iterations, finding->nparts, ranges, sizeof(ranges)));
	free(iterations);
}

static void
append_steps(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	uint32_t *numbers = calloc((size_t)finding->nsteps + 1, sizeof(*numbers)), count = 0;
	char ranges[FACTS_RANGES];

	if (finding->nsteps == 0) {
		free(numbers);
		return;
	}
	if (numbers != NULL && !run_is_flows(&v->run.collectives[finding->collective])) /* flows have names */
		count = facts_step_numbers(v, finding, numbers);
	if (count > 0)
		fmt_append(buf, cap, " in step%s %s", count > 1 ? "s" : "",
			   facts_ranges(numbers, count, ranges, sizeof(ranges)));
	if (v->run.ncollectives > 1)
		append_collectives(v, finding, buf, cap);
	free(numbers);
}

static void
append_pauses(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	append_paused(v, finding, buf, cap);
	if ((finding->type->traits & FINDING_OF_CIRCLE) != 0)
		append_origin(v, finding, buf, cap);
	if (finding->nflows > 0 && (finding->type->traits & FINDING_FILLED) != 0) {
		fmt_append(buf, cap, "; filled by ");
		append_flows(v, finding->flows, finding->nflows, 2, buf, cap);
	}
	if (finding->nvictims > 0) {
		fmt_append(buf, cap, "; delays ");
		append_flows(v, finding->victims, finding->nvictims, 2, buf, cap);
	}
}

static void
append_culprits(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	if (finding->nflows > 0) {
		fmt_append(buf, cap, ": ");
		append_flows(v, finding->flows, finding->nflows, 2, buf, cap);
		fmt_append(buf, cap, finding->nvictims > 0 ? " ahead of " : "");
	} else if (finding->nvictims > 0) {
		fmt_append(buf, cap, ": hits ");
	}
	append_flows(v, finding->victims, finding->nvictims, 2, buf, cap);
}

/* Of several culprits, those that have no effect by the twin, or less than its error, in no part. */
static bool
is_innocent(const struct finding *finding, uint32_t flow)
{
	bool innocent = finding->nparts != 0;

	for (uint32_t p = 0; p < finding->nparts; p++)
		innocent &= finding->parts[p].costless != NULL && finding->parts[p].costless[flow];
	return innocent;
}

char *
facts_innocents(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	uint32_t *flows = calloc((size_t)finding->nflows + 1, sizeof(*flows)), count = 0;

	buf[0] = '\0';
	for (uint32_t f = 0; flows != NULL && !finding->costless && f < finding->nflows; f++)
		if (is_innocent(finding, f))
			flows[count++] = finding->flows[f];
	append_flows(v, flows, count, NAMES_SHOWN, buf, cap);
	free(flows);
	return buf;
}

char *
facts_finding(const struct verdict *v, const struct finding *finding, char *buf, size_t cap)
{
	const struct finding_type *type = finding->type;

	snprintf(buf, cap, "%c%s %s%s", toupper((unsigned char)type->title[0]), type->title + 1, type->preposition,
		 finding->root);
	if ((type->traits & FINDING_OF_PAUSES) != 0)
		append_pauses(v, finding, buf, cap);
	else
		append_culprits(v, finding, buf, cap);
	append_steps(v, finding, buf, cap);
	return buf;
}

/*
 * Of a finding's culprits, the first that can have been on this step's path. The culprits of its other steps need not
 * have run then, and the step's own flow shared queues with others.
 * @return RUN_NONE: none
 */
static uint32_t
culprit_of_step(const struct verdict *v, const struct finding *finding, uint32_t step)
{
	const struct run_step *victim = &v->run.steps[step];

	for (uint32_t i = 0; i < finding->nflows; i++) {
		bool scheduled = false, ran = false;

		for (uint32_t s = 0; s < v->run.nsteps && !ran; s++) {
			const struct run_step *other = &v->run.steps[s];

			if (other->flow != finding->flows[i])
				continue;
			scheduled = true;
			ran = other->start_ps < victim->end_ps && other->end_ps > victim->start_ps;
		}
		if (finding->flows[i] != victim->flow && (ran || !scheduled))
			return finding->flows[i];
	}
	return RUN_NONE;
}

/* Does it name a step of the critical path in this iteration? */
static bool
is_on_path(const struct verdict *v, const struct finding *finding, const struct waiting_graph *path)
{
	bool on = false;

	for (uint32_t i = 0; i < path->npath && !on; i++)
		on = facts_finding_has_step(finding, path->path[i]);
	return on;
}

/* Runs of the twin lose a finding's cost on a path of which it names no step: their order is all that links the two. */
static void
append_twins(const struct verdict *v, uint32_t step, char *buf, size_t cap)
{
	const struct vedrfolnir *own = vedrfolnir_of(v);
	uint32_t in = v->run.collectives[v->run.steps[step].collective].in, named = 0;

	for (uint32_t i = 0; i < v->nfindings && own != NULL && in < own->nwaiting && named < 2; i++) {
		const struct finding *finding = &v->findings[i];
		double ps = 0;

		for (uint32_t p = 0; p < finding->nparts; p++)
			ps += v->run.collectives[finding->parts[p].collective].in == in ? finding->parts[p].critical_ps : 0;
		if (finding->cost_from != FINDING_BY_TWIN || finding->costless || ps <= 0 ||
		    is_on_path(v, finding, &own->waiting[in]))
			continue;
		fmt_append(buf, cap, "%s%s %s", named++ > 0 ? ", " : "by the twin: ",
			   finding->type->short_title != NULL ? finding->type->short_title : finding->type->title,
			   finding->root);
	}
}

char *
facts_step_causes(const struct verdict *v, uint32_t step, char *buf, size_t cap)
{
	uint32_t named = 0;
	char flow[96];

	buf[0] = '\0';
	for (uint32_t i = 0; i < v->nfindings && named < 2; i++) {
		const struct finding *finding = &v->findings[i];
		const struct finding_type *type = finding->type;
		uint32_t culprit = RUN_NONE;

		if ((type->traits & FINDING_UNTIMED) != 0 || !facts_finding_has_step(finding, step))
			continue;
		fmt_append(buf, cap, "%s%s %s", named++ > 0 ? ", " : "",
			   type->short_title != NULL ? type->short_title : type->title, finding->root);
		if ((type->traits & FINDING_BY_FLOW) != 0)
			culprit = culprit_of_step(v, finding, step);
		if (culprit != RUN_NONE)
			fmt_append(buf, cap, " by %s", facts_flow(v, culprit, flow, sizeof(flow)));
	}
	if (named == 0 && v->ntwins != 0 && v->run.steps[step].slow)
		append_twins(v, step, buf, cap);
	return buf;
}

static void
print_unfinished(const struct verdict *v, const struct run_collective *collective, struct fmt_unit unit, char *buf,
		 size_t cap)
{
	uint32_t done = facts_done(v, collective);

	if (run_finished(&v->run)) {
		fmt_append(buf, cap, " finished, but only %u of its %u steps were reported (%s expected for all).", done,
			   collective->nsteps, fmt_time(unit, collective->expect_ps).text);
		return;
	}
	fmt_append(buf, cap, " did not finish: ");
	if (v->run.truncated)
		fmt_append(buf, cap, "the record stream broke off");
	else if (v->run.end_reason == REC_END_QP_ERROR)
		fmt_append(buf, cap, "a queue pair failed%s%s", v->run.end_node < v->run.nnodes ? " at host " : "",
			   v->run.end_node < v->run.nnodes ? v->run.nodes[v->run.end_node].name : "");
	else if (v->run.end_reason == REC_END_HOST_LOST)
		fmt_append(buf, cap, "host %s went away",
			   v->run.end_node < v->run.nnodes ? v->run.nodes[v->run.end_node].name : "?");
	else if (v->run.end_reason == REC_END_PART_LOST)
		fmt_append(buf, cap, "the program of the partition with %s ended",
			   v->run.end_node < v->run.nnodes ? v->run.nodes[v->run.end_node].name : "?");
	else if (v->run.end_reason == REC_END_STALL)
		fmt_append(buf, cap, "the run stalled");
	else if (v->run.end_reason == REC_END_VIRTUAL_TIME)
		fmt_append(buf, cap, "the run reached its time limit");
	else if (v->run.end_reason == REC_END_INVARIANT)
		fmt_append(buf, cap, "an invariant failed");
	else
		fmt_append(buf, cap, "the run was ended");
	if (v->run.end_node < v->run.nnodes && v->run.end_reason != REC_END_QP_ERROR &&
	    v->run.end_reason != REC_END_HOST_LOST && v->run.end_reason != REC_END_PART_LOST)
		fmt_append(buf, cap, " (host %s no longer answered)", v->run.nodes[v->run.end_node].name);
	if (!collective->begun && !v->run.truncated) {
		fmt_append(buf, cap, " before it began (%s expected).", fmt_time(unit, collective->expect_ps).text);
		return;
	}
	fmt_append(buf, cap, " after %s, with %u of %u steps done (%s expected for all).",
		   fmt_time(unit, facts_took_ps(v, collective)).text, done, collective->nsteps,
		   fmt_time(unit, collective->expect_ps).text);
}

/* Ranks that do not start together make a collective longer, and no step of it. */
static void
print_late_start(const struct facts *facts, char *buf, size_t cap)
{
	const struct verdict *v = facts->v;
	const struct run_collective *collective = &v->run.collectives[facts->worst];
	const struct vedrfolnir *own = vedrfolnir_of(v);
	const struct waiting_graph *w = own != NULL ? &own->waiting[collective->in] : NULL;
	uint64_t late_ps = w != NULL && w->npath > 0 && v->run.steps[w->path[0]].start_ps > collective->start_ps
				   ? v->run.steps[w->path[0]].start_ps - collective->start_ps
				   : 0;

	if (late_ps > collective->expect_ps / 100 * RUN_SLOW_PERCENT)
		fmt_append(buf, cap, " Its critical path began %s after its first rank did.",
			   fmt_time(facts->unit, late_ps).text);
}

/* "Iteration 0 of job train, 4 collectives over 16 ranks, took 85.497 ms; it lost 10.224 ms of that, most in sum." */
static char *
job_headline(const struct facts *facts, char *buf, size_t cap)
{
	const struct verdict *v = facts->v;
	const struct run_collective *worst = &v->run.collectives[facts->worst];
	const struct run_iteration *iteration = &v->run.iterations[worst->in];
	double lost_ps = 0;

	for (uint32_t i = 0; i < iteration->ncollectives; i++)
		lost_ps += facts_budget(v, iteration->first_collective + i)->lost_ps;
	snprintf(buf, cap, "Iteration %u of job %s, %u collectives over %u ranks, took %s", iteration->iteration,
		 v->run.jobs[iteration->job].name, iteration->ncollectives, worst->ranks,
		 fmt_time(facts->unit, iteration->end_ps - iteration->start_ps).text);
	if (lost_ps > 0)
		fmt_append(buf, cap, "; it lost %s of that, most in %s", fmt_time(facts->unit, fmt_ps(lost_ps)).text,
			   worst->name);
	fmt_append(buf, cap, ".");
	return buf;
}

char *
facts_headline(const struct facts *facts, char *buf, size_t cap)
{
	const struct verdict *v = facts->v;
	const struct run_collective *collective;
	const char *algorithm;
	double excess;
	uint64_t took_ps;

	if (facts->worst == RUN_NONE) {
		snprintf(buf, cap, "No collective was recorded.");
		return buf;
	}
	if (flows_alone(v))
		return flows_headline(v, buf, cap);
	collective = &v->run.collectives[facts->worst];
	if (v->run.iterations[collective->in].complete && !facts_alone(v, collective) && vedrfolnir_of(v) != NULL)
		return job_headline(facts, buf, cap);
	algorithm = facts_algorithm_name(collective->algorithm);
	took_ps = facts_took_ps(v, collective);
	excess = facts_excess(took_ps, collective->expect_ps);
	snprintf(buf, cap, "%c%s %s %s %u ranks", toupper((unsigned char)algorithm[0]), algorithm + 1,
		 facts_op_name(collective->op), collective->group_ranks < collective->ranks ? "in groups of" : "over",
		 collective->group_ranks);
	if (v->run.ncollectives > 1)
		fmt_append(buf, cap, " (%s, iteration %u: the slowest of %u)", collective->name, collective->iteration,
			   v->run.ncollectives);
	if (!collective->complete)
		print_unfinished(v, collective, facts->unit, buf, cap);
	else if (100 * excess > RUN_SLOW_PERCENT)
		fmt_append(buf, cap, " took %s, %.1f %% longer than the %s expected.", fmt_time(facts->unit, took_ps).text,
			   100 * excess, fmt_time(facts->unit, collective->expect_ps).text);
	else
		fmt_append(buf, cap, " took %s, as expected (%s).", fmt_time(facts->unit, took_ps).text,
			   fmt_time(facts->unit, collective->expect_ps).text);
	print_late_start(facts, buf, cap);
	return buf;
}

/* Faults with an unknown cost. */
static void
append_untimed(const struct verdict *v, char *buf, size_t cap)
{
	const struct finding *first = NULL;
	char sentence[FACTS_TEXT];
	uint32_t count = 0;

	for (uint32_t i = facts_timed(v); i < v->nfindings; i++) {
		if (finding_folded(&v->findings[i]))
			continue;
		first = first != NULL ? first : &v->findings[i];
		count++;
	}
	if (first != NULL)
		fmt_append(buf, cap, " Whatever it cost: %s%s.", facts_finding(v, first, sentence, sizeof(sentence)),
			   count > 1 ? ", and more" : "");
}

char *
facts_conclusion(const struct facts *facts, char *buf, size_t cap)
{
	const struct verdict *v = facts->v;
	char reason[FACTS_REASON];
	struct facts_shown shown;

	if (facts_root(v) == NULL || !facts_is_guilty(v)) {
		snprintf(buf, cap, "%s%s",
			 facts_innocent(v) ? "The network is innocent. " : "Whether the network is to blame is unknown. ",
			 facts_reason(v, reason));
		facts_append_trust(facts, buf, cap);
		append_untimed(v, buf, cap);
		return buf;
	}
	(void)facts_shown_init(&shown, facts); /* without memory each cost is rounded by itself */
	facts_finding(v, facts_first(v), buf, cap);
	facts_append_cause(v, facts_first(v), ",", buf, cap);
	fmt_append(buf, cap, facts_costly(v) != 0 ? ": %s." : ", without effect on the time.",
		   facts_cost(facts, &shown, facts_first(v), reason, sizeof(reason)));
	if (facts_root(v) != facts_first(v)) { /* a slow host cost the critical path more */
		char network[512];

		fmt_append(buf, cap, " In the network: %s: %s.", facts_finding(v, facts_root(v), network, sizeof(network)),
			   facts_cost(facts, &shown, facts_root(v), reason, sizeof(reason)));
	}
	facts_shown_fini(&shown);
	facts_append_trust(facts, buf, cap);
	append_untimed(v, buf, cap);
	return buf;
}

char *
facts_recording_lost(const struct facts *facts, char *buf, size_t cap)
{
	if (facts->v->run.recording_errno == 0)
		return NULL;
	snprintf(buf, cap, "The recording is truncated (%s): a diagnosis from it has less evidence than this one.",
		 strerror((int)facts->v->run.recording_errno));
	return buf;
}

char *
facts_twins(const struct facts *facts, char *buf)
{
	const struct verdict *v = facts->v;

	*buf = '\0';
	for (uint32_t i = 0; i < v->ntwins; i++) {
		const struct verdict_twin *twin = &v->twins[i];
		const char *name = v->run.jobs[twin->job].name, *between = i > 0 ? " " : "";

		if (twin->twin_ps <= 0) {
			fmt_append(buf, FACTS_REASON, "%sThe twin of %s did not finish its steps, so costs are estimates.",
				   between, name);
			continue;
		}
		fmt_append(buf, FACTS_REASON,
			   "%sThe twin of %s took %s, %.1f %% off the measured time, its steps %.1f %%%s.", between, name,
			   fmt_time(facts->unit, twin->twin_ps).text, 100 * twin->error, 100 * twin->steps_error,
			   twin->usable ? "" : ": too far, so costs are estimates");
	}
	return v->ntwins > 0 ? buf : NULL;
}
