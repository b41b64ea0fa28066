/* SPDX-License-Identifier: BSD-3-Clause */
/* How late the machine was, for people and for verdict.json. */
#include "diag/run/lateness.h"
#include "common/minmax.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"

/* Of the sources of one kind, the latest. @return NULL: none was measured */
static const struct run_lateness *
latest(const struct run *run, enum rec_lateness_kind kind, uint32_t *count, uint32_t *unmeasured)
{
	const struct run_lateness *most = NULL;

	*count = *unmeasured = 0;
	for (uint32_t i = 0; i < run->nlateness; i++) {
		const struct run_lateness *source = &run->lateness[i];

		if (source->kind != kind)
			continue;
		++*count;
		*unmeasured += source->measured_ps == 0;
		if (source->measured_ps != 0 && (most == NULL || source->late_ps > most->late_ps))
			most = source;
	}
	return most;
}

static void
append_waited(const struct facts *facts, const struct run_lateness *source, char *buf, size_t cap)
{
	uint64_t of_ps = max_u64(source->measured_ps, 1);

	fmt_append(buf, cap, " waited for a processor for %s of %s (%.0f %%)", fmt_time(facts->unit, source->late_ps).text,
		   fmt_time(facts->unit, source->measured_ps).text, 100 * (double)source->late_ps / (double)of_ps);
}

static void
append_kind(const struct facts *facts, enum rec_lateness_kind kind, char *buf, size_t cap)
{
	const struct run *run = &facts->v->run;
	uint32_t count, unmeasured;
	const struct run_lateness *most = latest(run, kind, &count, &unmeasured);
	const char *what = kind == REC_LATENESS_LCORE ? "lcores" : "hosts";

	if (most != NULL && kind == REC_LATENESS_LCORE && run->lateness[run->nlateness - 1].partition != 0)
		fmt_append(buf, cap, " lcore %u of partition %u", most->lcore, most->partition);
	else if (most != NULL && kind == REC_LATENESS_LCORE)
		fmt_append(buf, cap, " lcore %u", most->lcore);
	else if (most != NULL)
		fmt_append(buf, cap, " %s's processes", run->nodes[most->node].name);
	if (most != NULL)
		append_waited(facts, most, buf, cap);
	if (most != NULL && count > 1)
		fmt_append(buf, cap, ", the most of %u %s", count - unmeasured, what);
	if (unmeasured != 0)
		fmt_append(buf, cap, "%s %u %s' waits were not measured", most != NULL ? ";" : "", unmeasured, what);
	if (count != 0)
		fmt_append(buf, cap, ";");
}

/* Late starts that finding no host's fault rests on, and slow steps. */
static void
count_within(const struct run *run, uint32_t *late, uint32_t *slow)
{
	*late = *slow = 0;
	for (uint32_t i = 0; i < run->nsteps; i++) {
		*late += run->steps[i].starved;
		*slow += run_is_machines(run, &run->steps[i]);
	}
}

char *
facts_lateness(const struct facts *facts, char *buf, size_t cap)
{
	const struct run *run = &facts->v->run;
	uint64_t behind_ps = 0, most_ps = 0;
	uint32_t late, slow;

	if (run->nlateness == 0)
		return NULL;
	buf[0] = '\0';
	for (uint32_t i = 0; i < run->nlateness; i++) {
		if (run->lateness[i].kind != REC_LATENESS_WINDOWS)
			continue;
		behind_ps = max_u64(behind_ps, run->lateness[i].late_ps);
		most_ps = max_u64(most_ps, run->lateness[i].most_ps);
	}
	fmt_append(buf, cap, "Lateness of the machine:");
	append_kind(facts, REC_LATENESS_LCORE, buf, cap);
	append_kind(facts, REC_LATENESS_HOST, buf, cap);
	fmt_append(buf, cap, " the fabric was behind its clock for %s, by up to %s.", fmt_time(facts->unit, behind_ps).text,
		   fmt_time(facts->unit, most_ps).text);
	count_within(run, &late, &slow);
	if (late != 0 || slow != 0)
		fmt_append(
			buf, cap,
			" %u slow steps and %u late starts lost no more than that may explain: what slowed them cannot be "
			"known.",
			slow, late);
	return buf;
}

static json_t *
source_json(const struct verdict *v, const struct run_lateness *source)
{
	json_t *json = json_object();

	if (source->kind == REC_LATENESS_HOST)
		json = value_set(json, "host", value_text(v->run.nodes[source->node].name));
	else
		json = value_set(json, "partition", json_integer(source->partition));
	if (source->kind == REC_LATENESS_LCORE)
		json = value_set(json, "lcore", json_integer(source->lcore));
	json = value_set(json, source->kind == REC_LATENESS_WINDOWS ? "behind_ns" : "waited_ns",
			 source->measured_ps != 0 ? value_ns(source->late_ps) : json_null());
	json = value_set(json, "measured_ns", value_ns(source->measured_ps));
	json = value_set(json, "not_measured_ns", value_ns(source->unmeasured_ps));
	if (source->kind != REC_LATENESS_WINDOWS)
		return json;
	json = value_set(json, "windows", json_integer((json_int_t)source->windows));
	json = value_set(json, "late_windows", json_integer((json_int_t)source->late_windows));
	return value_set(json, "most_late_ns", value_ns(source->most_ps));
}

json_t *
json_lateness(const struct verdict *v)
{
	static const char *const names[] = { "lcores", "hosts", "windows" };
	json_t *root = json_object(), *lists[] = { json_array(), json_array(), json_array() };
	uint32_t late, slow;

	for (uint32_t i = 0; i < v->run.nlateness; i++) {
		json_t **list = &lists[v->run.lateness[i].kind];

		*list = value_add(*list, source_json(v, &v->run.lateness[i]));
	}
	for (uint32_t i = 0; i < 3; i++)
		root = value_set(root, names[i], lists[i]);
	count_within(&v->run, &late, &slow);
	root = value_set(root, "slow_steps_within", json_integer(slow));
	return value_set(root, "late_starts_within", json_integer(late));
}
