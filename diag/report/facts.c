/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/facts.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/op/op.h"
#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"

#define NAME(table, i) ((i) < ARRAY_LEN(table) && (table)[i] != NULL ? (table)[i] : "unknown")

uint64_t
facts_took_ps(const struct verdict *v, const struct run_collective *collective)
{
	uint64_t end_ps = collective->complete ? collective->end_ps : v->run.end_ps;

	return end_ps > collective->start_ps ? end_ps - collective->start_ps : 0;
}

double
facts_algbw(const struct verdict *v, const struct run_collective *collective)
{
	uint64_t took_ps = collective->complete ? facts_took_ps(v, collective) : 0;

	return took_ps > 0 ? (double)collective->bytes / ((double)took_ps / PS_PER_NS) : 0;
}

double
facts_busbw(const struct verdict *v, const struct run_collective *collective)
{
	return facts_algbw(v, collective) * coll_busbw_factor((enum coll_op)collective->op, collective->group_ranks);
}

uint32_t
facts_done(const struct verdict *v, const struct run_collective *collective)
{
	uint32_t done = 0;

	if (collective->complete)
		return collective->nsteps;
	for (uint32_t i = collective->first_step; i < collective->first_step + collective->nsteps; i++)
		done += v->run.steps[i].reported && !v->run.steps[i].open;
	return done;
}

double
facts_excess(uint64_t took_ps, uint64_t expect_ps)
{
	return expect_ps == 0 ? 0 : (double)took_ps / (double)expect_ps - 1;
}

uint64_t
facts_exec_ps(const struct run_step *step)
{
	return step->started && step->end_ps > step->start_ps ? step->end_ps - step->start_ps : 0;
}

struct fmt
facts_change(const struct run_step *step)
{
	double excess = facts_excess(facts_exec_ps(step), step->expect_ps);
	struct fmt change = fmt_change(excess);

	if (step->open && excess > 0)
		fmt_append(change.text, sizeof(change.text), " so far");
	return step->open && excess <= 0 ? (struct fmt){ "open" } : change;
}

bool
facts_alone(const struct verdict *v, const struct run_collective *collective)
{
	return v->run.iterations[collective->in].ncollectives == 1;
}

/*
 * The severity of a complete collective. Where a job runs several, their ranks begin when others let them: the measure
 * is not its duration, but the share of the critical path's time that it lost.
 */
static double
badness(const struct verdict *v, uint32_t index)
{
	const struct run_collective *collective = &v->run.collectives[index];
	const struct vedrfolnir *own = vedrfolnir_of(v);
	uint64_t exec_ps;

	if (facts_alone(v, collective) || own == NULL)
		return facts_excess(facts_took_ps(v, collective), collective->expect_ps);
	exec_ps = own->waiting[collective->in].exec_ps;
	return exec_ps != 0 ? own->budgets[index].lost_ps / (double)exec_ps : 0;
}

struct facts
facts_of(const struct verdict *v)
{
	struct facts facts = { .v = v, .worst = RUN_NONE };
	uint64_t longest_ps = 0;
	double most = 0;

	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		const struct run_collective *collective = &v->run.collectives[c];
		uint64_t took_ps = facts_took_ps(v, collective);
		double excess = collective->complete ? badness(v, c) : collective->begun ? 1e9 : 1e8;

		if (facts.worst == RUN_NONE || excess > most) {
			facts.worst = c;
			most = excess;
		}
		longest_ps = took_ps > longest_ps ? took_ps : longest_ps;
		if (!collective->complete && collective->expect_ps > longest_ps)
			longest_ps = collective->expect_ps;
	}
	facts.longest_ps = longest_ps != 0 ? longest_ps : v->run.end_ps;
	facts.unit = fmt_unit_for(facts.longest_ps);
	return facts;
}

const char *
facts_op_name(uint32_t op)
{
#define TITLE(id, value, name, title, ...) [id] = title,
	static const char *const names[] = { COLL_OPS(TITLE) };

	return NAME(names, op);
}

const char *
facts_op_key(uint32_t op)
{
	static const char *const names[] = { COLL_OPS(ENUM_NAME) };

	return NAME(names, op);
}

const char *
facts_algorithm_name(uint32_t algorithm)
{
	static const char *const names[] = { COLL_ALGORITHMS(ENUM_NAME) };

	return NAME(names, algorithm);
}

const char *
facts_record_name(uint32_t kind)
{
#define KIND_TITLE(number, KIND, kind, class, reporter, title, ...) [number] = title,
	static const char *const names[] = { REC_KINDS(KIND_TITLE) };

	return NAME(names, kind);
}

const char *
facts_ending_key(const struct verdict *v)
{
	static const char *const names[] = { REC_ENDINGS(ENUM_NAME) };

	return v->run.truncated ? "broken_off" : NAME(names, v->run.end_reason);
}

const char *
facts_policy_name(uint32_t policy)
{
	static const char *const names[] = { REC_POLICIES(ENUM_NAME) };

	return NAME(names, policy);
}

/* Flows are sorted by tuple: those of one pair of addresses are neighbours. */
static bool
same_pair(const struct verdict *v, uint32_t flow, uint32_t other)
{
	const struct rec_tuple *a = &v->run.flows[flow].tuple, *b = &v->run.flows[other].tuple;

	return a->src_ip == b->src_ip && a->dst_ip == b->dst_ip;
}

char *
facts_flow(const struct verdict *v, uint32_t flow, char *buf, size_t cap)
{
	const struct run_flow *f = &v->run.flows[flow];
	bool alone =
		!(flow > 0 && same_pair(v, flow, flow - 1)) && !(flow + 1 < v->run.nflows && same_pair(v, flow, flow + 1));

	if (alone && f->src < v->run.nnodes && f->dst < v->run.nnodes)
		snprintf(buf, cap, "%s->%s", v->run.nodes[f->src].name, v->run.nodes[f->dst].name);
	else
		snprintf(buf, cap, "%s", f->name);
	return buf;
}

char *
facts_doer(const struct verdict *v, const struct run_step *step, char *buf, size_t cap)
{
	if (!run_is_local(step))
		return facts_flow(v, step->flow, buf, cap);
	snprintf(buf, cap, "%s (computation)", v->run.nodes[step->host].name);
	return buf;
}

#define RANGES_SHOWN 6

char *
facts_ranges(const uint32_t *sorted, uint32_t count, char *buf, size_t cap)
{
	uint32_t shown = 0;

	buf[0] = '\0';
	for (uint32_t i = 0, n; i < count; i = n) {
		if (shown++ == RANGES_SHOWN) {
			fmt_append(buf, cap, " and %u more", count - i);
			break;
		}
		for (n = i + 1; n < count && sorted[n] == sorted[n - 1] + 1; n++)
			;
		fmt_append(buf, cap, n - i > 1 ? "%s%u-%u" : "%s%u", i > 0 ? ", " : "", sorted[i], sorted[n - 1]);
	}
	return buf;
}

static int
cmp_u32(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return ORDER(*a, *b);
}

uint32_t
facts_step_numbers(const struct verdict *v, const struct finding *finding, uint32_t *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < finding->nsteps; i++)
		out[i] = v->run.steps[finding->steps[i]].step;
	qsort(out, finding->nsteps, sizeof(*out), cmp_u32);
	for (uint32_t i = 0; i < finding->nsteps; i++) {
		if (count == 0 || out[count - 1] != out[i])
			out[count++] = out[i];
	}
	return count;
}

bool
facts_finding_has_step(const struct finding *finding, uint32_t step)
{
	for (uint32_t i = 0; i < finding->nsteps; i++) {
		if (finding->steps[i] == step)
			return true;
	}
	return false;
}

const char *
facts_word(const struct verdict *v)
{
	const struct claim *claim = verdict_claim(v);

	if (claim == NULL || (!facts_is_guilty(v) && !claim->innocent))
		return "unknown";
	return claim->innocent ? "innocent" : "guilty";
}

bool
facts_is_guilty(const struct verdict *v)
{
	const struct claim *claim = verdict_claim(v);

	return claim != NULL && claim->kind == CLAIM_FAULT;
}

uint32_t
facts_costly(const struct verdict *v)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->nfindings; i++)
		count += !v->findings[i].costless;
	return count;
}

uint32_t
facts_timed(const struct verdict *v)
{
	uint32_t count = v->nfindings;

	while (count > 0 && (v->findings[count - 1].type->traits & FINDING_UNTIMED) != 0)
		count--;
	return count;
}

const struct time_budget *
facts_budget(const struct verdict *v, uint32_t collective)
{
	const struct vedrfolnir *own = vedrfolnir_of(v);

	return own != NULL && collective < v->run.ncollectives ? &own->budgets[collective] : NULL;
}

bool
facts_innocent(const struct verdict *v)
{
	const struct claim *claim = verdict_claim(v);

	return claim != NULL && claim->innocent;
}

/* The list begins with the finding of most weight. @param of  FINDING_OF_HOST: about hosts; 0: about the network */
static const struct finding *
first_of(const struct verdict *v, uint32_t of, bool any)
{
	const struct finding *folded = NULL;

	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *finding = &v->findings[i];

		if ((finding->type->traits & FINDING_UNTIMED) != 0 ||
		    (!any && (finding->type->traits & FINDING_OF_HOST) != of))
			continue;
		if (!finding_folded(finding))
			return finding;
		folded = folded != NULL ? folded : finding;
	}
	return folded;
}

const struct finding *
facts_first(const struct verdict *v)
{
	return first_of(v, 0, true);
}

const struct finding *
facts_root(const struct verdict *v)
{
	return first_of(v, 0, false);
}

const struct finding *
facts_host(const struct verdict *v)
{
	return first_of(v, FINDING_OF_HOST, false);
}

double
facts_share(const struct verdict *v, const struct contributor *contributor)
{
	double sum = 0;

	for (uint32_t i = 0; i < vedrfolnir_of(v)->ncontributors; i++)
		sum += vedrfolnir_of(v)->contributors[i].score;
	return sum > 0 ? contributor->score / sum : 0;
}
