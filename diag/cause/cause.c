/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/cause/cause.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cause causes[] = {
	{ VERDICT_FLOW_CONTENTION, cause_flow_contention },
	{ VERDICT_INCAST, cause_incast },
	{ VERDICT_PFC_BACKPRESSURE, cause_pfc_backpressure },
	{ VERDICT_PFC_STORM, cause_pfc_storm },
	{ VERDICT_PFC_DEADLOCK, cause_pfc_deadlock },
	{ VERDICT_FORWARDING_LOOP, cause_forwarding_loop },
	{ VERDICT_PACKET_LOSS, cause_packet_loss },
	{ VERDICT_LINK_DOWN, cause_link_down },
	{ VERDICT_BLACKHOLE, cause_blackhole },
	{ VERDICT_SLOW_HOST, cause_slow_host },
};
const uint32_t ncauses = sizeof(causes) / sizeof(causes[0]);

static void sort_flows(struct cause_finding *finding);
static int cmp_finding(const void *pa, const void *pb);

int
cause_find(const struct cause_input *in, struct verdict_finding **findings, uint32_t *count, struct err *err)
{
	struct cause_set set = { .in = in };
	struct verdict_finding *out;
	int rc = 0;

	for (uint32_t s = 0; s < in->nsteps; s++) {
		if (!in->steps[s].slow && in->steps[s].late_ps == 0)
			continue;
		for (uint32_t c = 0; c < ncauses; c++)
			causes[c].look(&set, s);
	}
	out = calloc((size_t)set.count + 1, sizeof(*out));
	for (uint32_t i = 0; i < set.count; i++) {
		sort_flows(&set.findings[i]);
		free(set.findings[i].flow_score);
		if (out != NULL)
			out[i] = set.findings[i].out;
	}
	if (set.no_memory || out == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for findings");
	else if (set.full)
		rc = err_set(err, -E2BIG, "more than %d findings", CAUSE_MAX_FINDINGS);
	*count = out != NULL ? set.count : 0;
	if (out != NULL)
		qsort(out, set.count, sizeof(*out), cmp_finding);
	free(set.findings);
	*findings = out;
	return rc;
}

/* Appends to a small set. @return its position, or EV_NONE when out of memory */
static uint32_t
put(struct cause_set *set, uint32_t **items, uint32_t *count, uint32_t item)
{
	uint32_t *grown;

	for (uint32_t i = 0; i < *count; i++) {
		if ((*items)[i] == item)
			return i;
	}
	grown = realloc(*items, (*count + 1) * sizeof(*grown));
	if (grown == NULL) {
		set->no_memory = true;
		return EV_NONE;
	}
	*items = grown;
	grown[*count] = item;
	return (*count)++;
}

static struct cause_finding *
find_or_make(struct cause_set *set, const struct verdict_finding *want, uint32_t key)
{
	struct cause_finding *finding;

	for (uint32_t i = 0; i < set->count; i++) {
		finding = &set->findings[i];
		if (finding->out.type == want->type && finding->key == key &&
		    finding->out.root_port == want->root_port && finding->out.collective == want->collective &&
		    strcmp(finding->out.root, want->root) == 0)
			return finding;
	}
	if (set->count == CAUSE_MAX_FINDINGS) {
		set->full = true;
		return NULL;
	}
	if (set->count == set->cap) {
		uint32_t cap = set->cap == 0 ? 16 : set->cap * 2;
		struct cause_finding *grown = realloc(set->findings, cap * sizeof(*grown));

		if (grown == NULL) {
			set->no_memory = true;
			return NULL;
		}
		set->findings = grown;
		set->cap = cap;
	}
	finding = &set->findings[set->count++];
	*finding = (struct cause_finding){ .out = *want, .key = key };
	return finding;
}

struct cause_finding *
cause_add(struct cause_set *set, enum verdict_type type, uint32_t root_port, const char *root, uint32_t key,
	  uint32_t step)
{
	struct verdict_finding want = { .type = type,
					.root_port = root_port,
					.collective = set->in->steps[step].collective };
	struct cause_finding *finding;

	if (root_port != EV_NONE)
		evidence_port_name(set->in->ev, root_port, want.root);
	else
		snprintf(want.root, sizeof(want.root), "%s", root);
	finding = find_or_make(set, &want, key);
	if (finding == NULL || put(set, &finding->out.steps, &finding->out.nsteps, step) == EV_NONE ||
	    put(set, &finding->out.victims, &finding->out.nvictims, set->in->steps[step].flow) == EV_NONE)
		return NULL;
	return finding;
}

void
cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port)
{
	put(set, &finding->out.ports, &finding->out.nports, port);
}

void
cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score)
{
	uint32_t before = finding->out.nflows;
	uint32_t at = put(set, &finding->out.flows, &finding->out.nflows, flow);

	if (at == EV_NONE)
		return;
	if (finding->out.nflows > before) {
		double *grown = realloc(finding->flow_score, finding->out.nflows * sizeof(*grown));

		if (grown == NULL) {
			set->no_memory = true;
			finding->out.nflows = before;
			return;
		}
		finding->flow_score = grown;
		grown[at] = 0;
	}
	finding->flow_score[at] += score;
}

void
cause_time(struct cause_finding *finding, uint64_t start_ps, uint64_t end_ps)
{
	if (finding->out.end_ps == 0 || start_ps < finding->out.start_ps)
		finding->out.start_ps = start_ps;
	if (end_ps > finding->out.end_ps)
		finding->out.end_ps = end_ps;
}

bool
cause_score(struct cause_finding *finding, double score)
{
	bool best = finding->out.evidence[0] == '\0' || score > finding->best;

	finding->out.score += score;
	if (best)
		finding->best = score;
	return best;
}

char *
cause_step_text(const struct cause_input *in, uint32_t step, char *buf, size_t cap)
{
	const struct verdict_step *s = &in->steps[step];
	uint64_t exec_ps = s->end_ps - s->start_ps;
	char flow[96];

	evidence_flow_name(in->ev, s->flow, flow);
	if (s->open)
		snprintf(buf, cap, "%s step %u was still open after %.3f ms (%.3f ms expected)", flow, s->step,
			 (double)exec_ps / 1e9, (double)s->expect_ps / 1e9);
	else
		snprintf(buf, cap, "%s step %u took %.3f ms instead of %.3f ms", flow, s->step, (double)exec_ps / 1e9,
			 (double)s->expect_ps / 1e9);
	return buf;
}

double
cause_lost_frames(const struct cause_input *in, uint32_t step, double lost_ps)
{
	const struct ev_node *host = &in->ev->nodes[in->steps[step].host];
	double rate_bps = host->nports != 0 ? (double)in->ev->ports[host->first_port].rate_bps : 0;
	double frame_bits = in->ev->run.frame_bytes * 8.0;

	return frame_bits > 0 && lost_ps > 0 ? lost_ps / 1e12 * rate_bps / frame_bits : 0;
}

bool
cause_congested(const struct cause_input *in, const struct prov_port *port)
{
	if (port->halted)
		return false;
	if (port->latest != NULL && port->latest->queue_packets >= CAUSE_MIN_DEPTH)
		return true;
	/* A NIC sends each flow in turn: its queue of one packet a flow is contention already. */
	return port->depth_max >= (in->ev->nodes[in->ev->ports[port->port].node].host ? 1 : CAUSE_MIN_DEPTH);
}

static void
sort_flows(struct cause_finding *finding)
{
	/* Insertion sort: few flows. Worst first, then by id. */
	for (uint32_t i = 1; i < finding->out.nflows; i++) {
		uint32_t flow = finding->out.flows[i];
		double score = finding->flow_score[i];
		uint32_t j = i;

		for (; j > 0 && (finding->flow_score[j - 1] < score ||
				 (finding->flow_score[j - 1] == score && finding->out.flows[j - 1] > flow));
		     j--) {
			finding->out.flows[j] = finding->out.flows[j - 1];
			finding->flow_score[j] = finding->flow_score[j - 1];
		}
		finding->out.flows[j] = flow;
		finding->flow_score[j] = score;
	}
}

static int
cmp_finding(const void *pa, const void *pb)
{
	const struct verdict_finding *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (strcmp(a->root, b->root) != 0)
		return strcmp(a->root, b->root);
	if (a->nflows != 0 && b->nflows != 0 && a->flows[0] != b->flows[0])
		return a->flows[0] < b->flows[0] ? -1 : 1;
	return 0;
}
