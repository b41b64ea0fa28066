/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences of facts.h about the verdict on the network, and about the evidence. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"

static const char *
things(const struct verdict *v)
{
	return flows_alone(v) ? "flows" : "steps";
}

static void
print_fault(const struct verdict *v, const struct claim *claim, char *buf)
{
	const struct finding *network = facts_root(v);
	char evidence[FACTS_EVIDENCE];

	fmt_append(buf, FACTS_REASON, "%u of %u %s were slow; the %s is %s at %s%s%s. %s.", claim->slow, v->run.nsteps,
		   things(v), network == v->findings ? "strongest cause" : "strongest cause in the network",
		   network->type->key, network->root, network->nflows != 0 ? " by " : "",
		   network->nflows != 0 ? v->run.flows[network->flows[0]].name : "", facts_evidence(v, network, evidence));
}

/* Findings there are, but more is missing than they can bear. */
static void
print_uncertain(const struct verdict *v, const struct claim *claim, char *buf)
{
	const struct finding *network = facts_root(v);
	char evidence[FACTS_EVIDENCE];

	fmt_append(buf, FACTS_REASON,
		   "%u of %u %s were slow; the evidence points to %s at %s, but is insufficient (confidence %.2f). %s.",
		   claim->slow, v->run.nsteps, things(v), network->type->key, network->root, network->confidence,
		   facts_evidence(v, network, evidence));
}

#define HOSTS_SHOWN 4

static void
print_hosts(const struct verdict *v, char *buf)
{
	char evidence[FACTS_EVIDENCE];
	uint32_t named = 0;

	fmt_append(buf, FACTS_REASON, "The network carried every step%s in time; late were the hosts: ",
		   run_finished(&v->run) ? "" : " that was reported");
	for (uint32_t i = 0; i < v->nfindings; i++) {
		if ((v->findings[i].type->traits & FINDING_OF_HOST) == 0)
			continue;
		if (named < HOSTS_SHOWN)
			fmt_append(buf, FACTS_REASON, "%s%s", named != 0 ? ", " : "", v->findings[i].root);
		named++;
	}
	if (named > HOSTS_SHOWN)
		fmt_append(buf, FACTS_REASON, " and %u more", named - HOSTS_SHOWN);
	fmt_append(buf, FACTS_REASON, ". %s.", facts_evidence(v, facts_host(v), evidence));
}

#define OF_HOSTS (FINDING_OF_HOST | FINDING_OF_SENDER)

/* The share of the lost time that hosts account for, as findings' costs show it. */
static double
hosts_share(const struct verdict *v)
{
	double lost_ps = facts_loss(v).lost_ps, hosts_ps = 0, *costs = lost_ps > 0 ? facts_costs(v, lost_ps / 1000) : NULL;

	for (uint32_t i = 0; costs != NULL && i < v->nfindings; i++)
		hosts_ps += (v->findings[i].type->traits & OF_HOSTS) != 0 ? costs[i] : 0;
	free(costs);
	return lost_ps > 0 ? hosts_ps / lost_ps : 0;
}

/* How many steps were slow. @param rest  beyond the time of the host's finding, and of others like it */
static void
print_slow_steps(const struct verdict *v, const struct claim *claim, const struct finding *host, bool rest, char *buf)
{
	uint32_t more = 0;

	if (!rest) {
		fmt_append(buf, FACTS_REASON, "%u of %u %s were slow", claim->slow, v->run.nsteps, things(v));
		return;
	}
	for (uint32_t i = 0; i < v->nfindings; i++)
		more += &v->findings[i] != host && (v->findings[i].type->traits & OF_HOSTS) != 0;
	fmt_append(buf, FACTS_REASON, "%c%s %s%s", toupper((unsigned char)host->type->title[0]), host->type->title + 1,
		   host->type->preposition, host->root);
	if (more != 0)
		fmt_append(buf, FACTS_REASON, " and %u more of hosts", more);
	fmt_append(buf, FACTS_REASON, " explain%s %.1f %% of the lost time; %u of %u %s were slow beyond that",
		   more == 0 ? "s" : "", 100 * hosts_share(v), claim->slow, v->run.nsteps, things(v));
}

/* @param of  "it", "the rest": what they explain too little of */
static void
print_no_sign(const struct claim *claim, const char *of, char *buf)
{
	const char *const seen[] = { claim->paused ? "pauses" : NULL, claim->contended ? "queues" : NULL,
				     claim->dropped ? "drops" : NULL };
	uint32_t count = 0, named = 0;

	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		count += seen[i] != NULL;
	if (count == 0) {
		fmt_append(buf, FACTS_REASON, ", but no port on their path was paused, contended or dropped a packet");
		return;
	}
	fmt_append(buf, FACTS_REASON, ", and the ");
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		if (seen[i] != NULL) {
			fmt_append(buf, FACTS_REASON, "%s%s",
				   named == 0           ? ""
				   : named + 1 == count ? " and "
							: ", ",
				   seen[i]);
			named++;
		}
	fmt_append(buf, FACTS_REASON, " on their path explain too little of %s", of);
}

static void
print_slow(const struct verdict *v, const struct claim *claim, char *buf)
{
	const struct finding *host = facts_host(v);
	bool rest = host != NULL && hosts_share(v) > 0;

	print_slow_steps(v, claim, host, rest, buf);
	if (claim->kind == CLAIM_UNWATCHED)
		fmt_append(buf, FACTS_REASON,
			   " and nothing that was reported explains it, but %u of them went without telemetry for half of "
			   "their time or more.",
			   claim->unwatched);
	else if (claim->kind == CLAIM_UNNAMED)
		fmt_append(buf, FACTS_REASON,
			   "; class 0 took time from them on links that they shared, and the owners of these frames were "
			   "not reported.");
	else if (claim->kind == CLAIM_ACKS)
		fmt_append(buf, FACTS_REASON, ", by at most the %.1f %% that ACKs of other flows on their path can cost",
			   100 * claim->ack_share);
	else if (claim->kind == CLAIM_NO_SIGN)
		print_no_sign(claim, rest ? "the rest" : "it", buf);
	else
		fmt_append(buf, FACTS_REASON,
			   " and nothing that was reported explains it, but the evidence is incomplete.");
	if (claim->kind == CLAIM_ACKS || claim->kind == CLAIM_NO_SIGN)
		fmt_append(buf, FACTS_REASON, "%s%s.", host != NULL && !rest ? "; late was host " : "",
			   host != NULL && !rest ? host->root : "");
}

static void
print_in_time(const struct verdict *v, char *buf)
{
	uint32_t varied = 0;

	for (uint32_t i = 0; i < v->run.nsteps && v->run.nlocal != 0; i++)
		varied += run_varied(&v->run.steps[i]);
	fmt_append(buf, FACTS_REASON, "Every %s reported%s took at most %d %%%s longer than expected%s.",
		   flows_alone(v) ? "flow" : "step", run_finished(&v->run) ? "" : " before the run ended", RUN_SLOW_PERCENT,
		   flows_alone(v) ? " and a base RTT" : "",
		   varied != 0 ? ", but for computations within their usual variation" : "");
}

char *
facts_reason(const struct verdict *v, char *buf)
{
	const struct claim *claim = verdict_claim(v);

	buf[0] = '\0';
	if (claim == NULL)
		fmt_append(buf, FACTS_REASON, "No polling packet was sent.");
	else if (claim->kind == CLAIM_FAULT)
		print_fault(v, claim, buf);
	else if (claim->kind == CLAIM_NO_EFFECT)
		fmt_append(buf, FACTS_REASON,
			   "%u of %u %s were slow; leaving out any one of the findings about the network would regain "
			   "nothing%s.",
			   claim->slow, v->run.nsteps, things(v),
			   claim->left ? ", and too much is left that none of them explains" : "");
	else if (claim->kind == CLAIM_UNCERTAIN)
		print_uncertain(v, claim, buf);
	else if (claim->kind == CLAIM_HOSTS_LATE)
		print_hosts(v, buf);
	else if (claim->kind == CLAIM_NOTHING_DONE)
		fmt_append(buf, FACTS_REASON, "No step was reported as finished: no verdict is possible.");
	else if (claim->kind == CLAIM_IN_SUM)
		fmt_append(buf, FACTS_REASON, "No %s was slow by itself, but in sum they lost time that nothing explains.",
			   flows_alone(v) ? "flow" : "step");
	else if (claim->kind == CLAIM_IN_TIME)
		print_in_time(v, buf);
	else
		print_slow(v, claim, buf);
	return buf;
}

static void
print_lost(const struct run *run, char *buf)
{
	const struct run_missing *missing = &run->missing;
	const char *node = missing->left_out_node < run->nnodes ? run->nodes[missing->left_out_node].name : NULL;

	if (run->truncated) {
		fmt_append(buf, FACTS_INCOMPLETE,
			   "The record stream broke off %.6f ms into the run, without its end record",
			   (double)run->end_ps / 1e9);
		if (missing->torn_bytes != 0)
			fmt_append(buf, FACTS_INCOMPLETE, " and %u B into a record", missing->torn_bytes);
		fmt_append(buf, FACTS_INCOMPLETE, ": the rest is unknown. ");
	}
	if (run->overhead.left_out != 0)
		fmt_append(buf, FACTS_INCOMPLETE, "%llu bad records were left out, the first%s%s: %s. ",
			   (unsigned long long)run->overhead.left_out, node != NULL ? " of " : "", node != NULL ? node : "",
			   missing->left_out_why);
	if (run->overhead.astray != 0)
		fmt_append(buf, FACTS_INCOMPLETE, "%llu records that the end record counts did not arrive. ",
			   (unsigned long long)run->overhead.astray);
}

/* Did any port of this node report its state? */
static bool
is_received(const struct run *run, uint32_t node)
{
	bool received = run->nodes[node].host;

	for (uint32_t p = 0; p < run->nodes[node].nports && !received; p++)
		received = run->ports[run->nodes[node].first_port + p].reported;
	return received;
}

uint32_t
facts_unreported(const struct verdict *v, uint32_t *nodes)
{
	const struct run *run = &v->run;
	bool *asked = calloc((size_t)run->nflows + 1, sizeof(*asked)),
	     *on_path = calloc((size_t)run->nnodes + 1, sizeof(*on_path));
	uint32_t count = 0;

	if (asked == NULL || on_path == NULL) {
		free(asked);
		free(on_path);
		return RUN_NONE;
	}
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		if (!run_is_local(step) && (step->slow || !step->reported))
			asked[step->flow] = true;
	}
	for (uint32_t h = 0; h < run->nhops; h++) {
		if (asked[run->hops[h].flow] && !run->hops[h].reverse)
			on_path[run->ports[run->hops[h].port].node] = true;
	}
	for (uint32_t n = 0; n < run->nnodes; n++) {
		if (on_path[n] && !is_received(run, n))
			nodes[count++] = n;
	}
	free(asked);
	free(on_path);
	return count;
}

#define UNHEARD_SHOWN 6

/* Where reports were lost: their nodes. */
static void
print_unreported_hosts(const struct verdict *v, char *buf)
{
	uint32_t *nodes = calloc((size_t)v->run.nnodes + 1, sizeof(*nodes)), count = 0;

	if (nodes != NULL)
		count = facts_unreported(v, nodes);
	count = count != RUN_NONE ? count : 0;
	for (uint32_t i = 0; i < count && i < UNHEARD_SHOWN; i++)
		fmt_append(buf, FACTS_INCOMPLETE, "%s%s", i == 0 ? "No report arrived from " : ", ",
			   v->run.nodes[nodes[i]].name);
	if (count > UNHEARD_SHOWN)
		fmt_append(buf, FACTS_INCOMPLETE, " and %u more", count - UNHEARD_SHOWN);
	if (count != 0)
		fmt_append(buf, FACTS_INCOMPLETE, ", on the path of steps that were slow or not reported. ");
	free(nodes);
}

static void
print_unreported(const struct run *run, char *buf)
{
	fmt_append(buf, FACTS_INCOMPLETE, "%u of %u steps were never reported", run->missing.steps, run->nsteps);
	if (run_finished(run))
		fmt_append(buf, FACTS_INCOMPLETE, ": up to %.3f ms that they lost are not explained. ",
			   (double)run_unreported_ps(run) / 1e9);
	else
		fmt_append(buf, FACTS_INCOMPLETE, ": the run did not get to them, or their reports are lost. ");
}

char *
facts_incomplete(const struct verdict *v, char *buf)
{
	const struct run *run = &v->run;
	size_t len;

	buf[0] = '\0';
	print_lost(run, buf);
	if (run->overhead.dropped != 0)
		fmt_append(buf, FACTS_INCOMPLETE,
			   "The exporter's budget dropped %llu records and held %llu back: %.1f %% of the reported data "
			   "arrived. ",
			   (unsigned long long)run->overhead.dropped, (unsigned long long)run->overhead.deferred,
			   100 * run->overhead.completeness);
	if (run->overhead.dropped != 0 || run->overhead.astray != 0)
		print_unreported_hosts(v, buf);
	if (run->missing.steps != 0)
		print_unreported(run, buf);
	if (run->missing.unscheduled != 0)
		fmt_append(buf, FACTS_INCOMPLETE, "%u step records match no scheduled step. ", run->missing.unscheduled);
	for (uint32_t i = 0; i < v->nsections; i++) {
		if (v->sections[i].skipped != 0)
			fmt_append(buf, FACTS_INCOMPLETE, "%u slow steps beyond the first %u were not explained. ",
				   v->sections[i].skipped, v->sections[i].limit);
	}
	len = strlen(buf);
	if (len > 0 && buf[len - 1] == ' ')
		buf[len - 1] = '\0';
	return buf;
}
