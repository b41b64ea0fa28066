/* SPDX-License-Identifier: BSD-3-Clause */
/* What the evidence lacks, and what findings and telemetry together say about the network as a whole. */
#include <stdarg.h>
#include <stdio.h>

#include "diag/vedrfolnir/vedrfolnir.h"

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

	for (uint32_t i = 0; i < v->run.nsteps; i++)
		missing += !v->run.steps[i].reported;
	if (v->run.truncated) {
		append(v->incomplete, sizeof(v->incomplete),
		       "The record stream broke off %.6f ms into the run, without its "
		       "end record",
		       (double)v->run.end_ps / 1e9);
		if (ev->torn_bytes != 0)
			append(v->incomplete, sizeof(v->incomplete), " and %u B into a record", ev->torn_bytes);
		append(v->incomplete, sizeof(v->incomplete), ": the rest is unknown. ");
	}
	if (ev->left_out != 0)
		append(v->incomplete, sizeof(v->incomplete), "%llu bad records were left out, the first%s%s: %.200s. ",
		       (unsigned long long)ev->left_out, ev->left_out_node < v->run.nnodes ? " of " : "",
		       ev->left_out_node < v->run.nnodes ? v->run.nodes[ev->left_out_node].name : "",
		       ev->left_out_why.text);
	if (v->run.overhead.astray != 0)
		append(v->incomplete, sizeof(v->incomplete), "%llu records that the end record counts did not arrive. ",
		       (unsigned long long)v->run.overhead.astray);
	if (v->run.overhead.dropped != 0)
		append(v->incomplete, sizeof(v->incomplete),
		       "The exporter's budget kept back %llu records: %.1f %% of the bytes offered arrived. ",
		       (unsigned long long)v->run.overhead.dropped, 100 * v->run.overhead.completeness);
	if (missing != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u of %u steps were never reported%s. ", missing,
		       v->run.nsteps,
		       run_finished(&v->run) ? "" : ": the run did not get to them, or their reports are lost");
	if (ev->unscheduled_steps != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u step records match no scheduled step. ",
		       ev->unscheduled_steps);
	if (vedrfolnir_of(v)->graphs_skipped != 0)
		append(v->incomplete, sizeof(v->incomplete), "%u slow steps beyond the first %u were not explained. ",
		       vedrfolnir_of(v)->graphs_skipped, VEDRFOLNIR_MAX_GRAPHS);
	for (size_t n = 0; v->incomplete[n] != '\0'; n++) {
		if (v->incomplete[n + 1] == '\0' && v->incomplete[n] == ' ')
			v->incomplete[n] = '\0';
	}
}

/* The first finding about the network, or about a host: the list begins with what weighs most on the critical path. */
static const struct finding *
first_finding(const struct verdict *v, bool host)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		if ((v->findings[i].type == FINDING_SLOW_HOST) == host)
			return &v->findings[i];
	}
	return NULL;
}

static void
say_hosts(struct verdict *v)
{
	const struct finding *first = first_finding(v, true);
	uint32_t named = 0;

	append(v->reason, sizeof(v->reason), "The network carried every step%s in time; late were the hosts: ",
	       run_finished(&v->run) ? "" : " that was reported");
	for (uint32_t i = 0; i < v->nfindings; i++) {
		if (v->findings[i].type == FINDING_SLOW_HOST)
			append(v->reason, sizeof(v->reason), "%s%s", named++ != 0 ? ", " : "", v->findings[i].root);
	}
	append(v->reason, sizeof(v->reason), ". %s.", first->evidence);
}

/* Telemetry that shows no reason speaks for the network only where it shows the time. */
static bool
was_watched(const struct verdict *v, const struct run_step *step)
{
	return step->graph != RUN_NONE && vedrfolnir_of(v)->graphs[step->graph].covered_ps >=
						  VEDRFOLNIR_WATCHED_SHARE * (double)(step->end_ps - step->start_ps);
}

/*
 * ACKs are in no telemetry, and those of other jobs in nobody's expectation. A link full of data has a stream of ACKs
 * against it; so many of them may share a step's way.
 */
#define ACK_STREAMS 2

static double
ack_allowance(const struct verdict *v)
{
	return v->run.config.frame_bytes != 0 ? ACK_STREAMS * (double)v->run.config.ack_bytes / v->run.config.frame_bytes
					      : 0;
}

/* Too slow for others' ACKs to be all of the reason? */
static bool
needs_reason(const struct verdict *v, const struct run_step *step)
{
	return step->open || (double)(step->end_ps - step->start_ps) > (1 + ack_allowance(v)) * (double)step->expect_ps;
}

void
vedrfolnir_conclude(struct verdict *v, const struct evidence *ev)
{
	const struct finding *network = first_finding(v, false), *host = first_finding(v, true);
	uint32_t slow = 0, done = 0, unwatched = 0, unexplained = 0;
	bool complete;

	for (uint32_t i = 0; i < v->run.nsteps; i++) {
		slow += v->run.steps[i].slow;
		done += v->run.steps[i].reported && !v->run.steps[i].open;
		unexplained += v->run.steps[i].slow && needs_reason(v, &v->run.steps[i]);
		unwatched += v->run.steps[i].slow && needs_reason(v, &v->run.steps[i]) && !was_watched(v, &v->run.steps[i]);
	}
	say_incomplete(v, ev);
	complete = v->incomplete[0] == '\0';
	v->innocent = network == NULL && (slow == 0 ? done != 0 && run_finished(&v->run) : complete && unwatched == 0);
	if (network != NULL)
		append(v->reason, sizeof(v->reason), "%u of %u steps were slow; the %s is %s at %s%s%s. %s.", slow,
		       v->run.nsteps, network == v->findings ? "strongest cause" : "strongest cause in the network",
		       finding_type_name(network->type), network->root, network->nflows != 0 ? " by " : "",
		       network->nflows != 0 ? v->run.flows[network->flows[0]].name : "", network->evidence);
	else if (slow == 0 && host != NULL)
		say_hosts(v);
	else if (slow == 0 && done == 0)
		append(v->reason, sizeof(v->reason), "No step was reported as finished: nothing can be said.");
	else if (slow == 0)
		append(v->reason, sizeof(v->reason), "Every step reported%s took at most %d %% longer than expected.",
		       run_finished(&v->run) ? "" : " before the run ended", RUN_SLOW_PERCENT);
	else if (complete && unwatched != 0)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow and nothing that was reported explains it, but %u of them went without "
		       "telemetry for half of their time or more.",
		       slow, v->run.nsteps, unwatched);
	else if (complete && unexplained == 0)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow, by at most the %.1f %% that ACKs of other flows on their way can "
		       "cost%s%s.",
		       slow, v->run.nsteps, 100 * ack_allowance(v), host != NULL ? "; late was host " : "",
		       host != NULL ? host->root : "");
	else if (complete)
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow, but no port that they met was halted, contended or dropped a packet"
		       "%s%s.",
		       slow, v->run.nsteps, host != NULL ? "; late was host " : "", host != NULL ? host->root : "");
	else
		append(v->reason, sizeof(v->reason),
		       "%u of %u steps were slow and nothing that was reported explains it, but the evidence is "
		       "incomplete.",
		       slow, v->run.nsteps);
}
