/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/plugin/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/wire/record.h"
#include "diag/run/fill.h"

/* No number by which a diagnoser of ours knows a finding of its own. */
#define FIRST_KEY 0x80000000u

/* The texts of one finding: its type, in the form that other modules use. */
struct plugin_words {
	struct finding_type type;
	char title[PLUGIN_TYPE], evidence[PLUGIN_EVIDENCE];
	const char *clause;
};

/* Names of the run, sorted. */
struct index {
	const char *(*name)(const struct run *run, uint32_t i);
	uint32_t *order; /* [count] */
	uint32_t count;
};

struct lookup {
	const struct run *run;
	struct index ports, nodes, flows;
	struct err *err; /* the error of a name */
};

static const char *
port_name(const struct run *run, uint32_t i)
{
	return run->ports[i].name;
}

static const char *
node_name(const struct run *run, uint32_t i)
{
	return run->nodes[i].name;
}

static const char *
flow_name(const struct run *run, uint32_t i)
{
	return run->flows[i].name;
}

struct sorting {
	const struct run *run;
	const struct index *index;
};

static int
cmp_names(const void *pa, const void *pb, void *arg)
{
	const struct sorting *s = arg;
	const uint32_t *a = pa, *b = pb;

	return strcmp(s->index->name(s->run, *a), s->index->name(s->run, *b));
}

static int
index_init(struct index *index, const struct run *run, uint32_t count, const char *(*name)(const struct run *, uint32_t),
	   struct err *err)
{
	struct sorting sorting = { run, index };

	*index = (struct index){ .name = name, .count = count, .order = run_alloc(count, sizeof(*index->order), err) };
	if (index->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		index->order[i] = i;
	qsort_r(index->order, count, sizeof(*index->order), cmp_names, &sorting);
	return 0;
}

/* @return RUN_NONE: the run has none of this name */
static uint32_t
index_find(const struct index *index, const struct run *run, const char *name)
{
	uint32_t low = 0, high = index->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int by = strcmp(name, index->name(run, index->order[mid]));

		if (by == 0)
			return index->order[mid];
		if (by < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return RUN_NONE;
}

/* ---- a finding ---- */

/* Appends the values of names. @return 0, or -EINVAL with lookup's err */
static int
find_all(const struct lookup *l, const struct index *index, const char *what, const struct plugin_names *names,
	 uint32_t *to, uint32_t *count)
{
	for (uint32_t i = 0; i < names->count; i++) {
		uint32_t at = index_find(index, l->run, names->names[i]);

		if (at == RUN_NONE || (index == &l->nodes && !l->run->nodes[at].host))
			return err_set(l->err, -EINVAL, "a finding names %s \"%s\", and no record does", what,
				       names->names[i]);
		if (to != NULL)
			to[(*count)++] = at;
	}
	return 0;
}

static uint32_t
find_collective(const struct run *run, uint32_t id, uint32_t iteration)
{
	for (uint32_t i = 0; i < run->ncollectives; i++)
		if (run->collectives[i].id == id && run->collectives[i].iteration == iteration)
			return i;
	return RUN_NONE;
}

static int
find_steps(const struct lookup *l, const struct plugin_finding *from, struct finding *to)
{
	for (uint32_t i = 0; i < from->nsteps; i++) {
		const struct plugin_step *s = &from->steps[i];
		uint32_t c = find_collective(l->run, s->collective, s->iteration), step = RUN_NONE;

		if (c != RUN_NONE)
			step = run_find_step(l->run, &l->run->collectives[c], s->rank, s->step);
		if (step == RUN_NONE)
			return err_set(
				l->err, -EINVAL,
				"a finding names step %u of rank %u in iteration %u of collective %u, and there is none",
				s->step, s->rank, s->iteration, s->collective);
		to->steps[to->nsteps++] = step;
	}
	return 0;
}

static int
find_job(const struct lookup *l, const struct plugin_finding *from, struct finding *to)
{
	bool job = from->job == REC_NONE;

	to->collective = RUN_NONE;
	if (from->collective != REC_NONE) {
		to->collective = find_collective(l->run, from->collective, 0);
		if (to->collective == RUN_NONE)
			return err_set(l->err, -EINVAL, "a finding names collective %u, and there is none",
				       from->collective);
	}
	for (uint32_t i = 0; i < l->run->njobs && !job; i++)
		job = l->run->jobs[i].id == from->job;
	return job ? 0 : err_set(l->err, -EINVAL, "a finding names job %u, and there is none", from->job);
}

/* Braces would be read as facts. */
static void
make_words(const struct plugin_finding *from, struct plugin_words *words)
{
	snprintf(words->title, sizeof(words->title), "%s", from->type);
	snprintf(words->evidence, sizeof(words->evidence), "%s", from->evidence);
	for (char *p = words->title; *p != '\0'; p++)
		*p = *p == '-' ? ' ' : *p;
	for (char *p = words->evidence; *p != '\0'; p++)
		*p = *p == '{' ? '(' : *p == '}' ? ')' : *p;
	words->clause = words->evidence;
	words->type = (struct finding_type){
		.key = from->type,
		.title = words->title,
		.preposition = "at ",
		.badge = "queue",
		.traits = FINDING_UNTIMED,
		.clauses = &words->clause,
		.nclauses = 1,
	};
}

/* A port, a link or a host: the first that it names. */
static const char *
root_of(const struct plugin_finding *from)
{
	const struct plugin_names *names = from->ports.count != 0   ? &from->ports
					   : from->links.count != 0 ? &from->links
								    : &from->hosts;

	return names->names[0];
}

/* @return 0; -EINVAL with lookup's err: it names what does not exist; -ENOMEM */
static int
make_finding(const struct lookup *l, const struct plugin_finding *from, const struct plugin_words *words, uint32_t index,
	     struct finding *to)
{
	uint32_t places = 2 * PLUGIN_PLACES, ignored = 0;
	int rc;

	*to = (struct finding){ .type = &words->type,
				.key = FIRST_KEY + index,
				.origin_port = RUN_NONE,
				.start_ps = from->start_ps,
				.end_ps = from->end_ps,
				.detected_ps = from->reported_ps,
				.undetected_ps = from->reported_ps,
				.confidence = from->confidence,
				.borne_out = from->confidence,
				.costless = true,
				.evidence = { .nclauses = 1, .flow = RUN_NONE } };
	snprintf(to->root, sizeof(to->root), "%s", root_of(from));
	to->ports = run_alloc(places, sizeof(*to->ports), l->err);
	to->flows = run_alloc(PLUGIN_PLACES, sizeof(*to->flows), l->err);
	to->flow_ps = run_alloc(PLUGIN_PLACES, sizeof(*to->flow_ps), l->err);
	to->steps = run_alloc(PLUGIN_PLACES, sizeof(*to->steps), l->err);
	if (to->ports == NULL || to->flows == NULL || to->flow_ps == NULL || to->steps == NULL)
		return -ENOMEM;
	rc = find_all(l, &l->ports, "port", &from->ports, to->ports, &to->nports);
	if (rc == 0)
		rc = find_all(l, &l->ports, "the port of a link,", &from->links, to->ports, &to->nports);
	if (rc == 0)
		rc = find_all(l, &l->nodes, "host", &from->hosts, NULL, &ignored);
	if (rc == 0)
		rc = find_all(l, &l->flows, "flow", &from->flows, to->flows, &to->nflows);
	if (rc == 0)
		rc = find_steps(l, from, to);
	if (rc == 0)
		rc = find_job(l, from, to);
	to->root_port = rc == 0 && to->nports != 0 ? to->ports[0] : RUN_NONE;
	return rc;
}

static int
lookup_init(struct lookup *l, const struct run *run, struct err *why, struct err *err)
{
	int rc;

	*l = (struct lookup){ .run = run, .err = why };
	rc = index_init(&l->ports, run, run->nports, port_name, err);
	if (rc == 0)
		rc = index_init(&l->nodes, run, run->nnodes, node_name, err);
	return rc == 0 ? index_init(&l->flows, run, run->nflows, flow_name, err) : rc;
}

static void
lookup_fini(struct lookup *l)
{
	free(l->ports.order);
	free(l->nodes.order);
	free(l->flows.order);
}

/* Up to the first that names what does not exist: then the program is left out. */
static int
take_findings(struct plugin *own, const struct lookup *l, struct section *section, const struct run *run)
{
	const struct plugin_account *account = own->account;
	int rc = 0;

	for (uint32_t i = 0; i < account->nfindings && rc == 0; i++) {
		struct finding *finding = &section->findings[section->nfindings];

		make_words(&account->findings[i], &own->words[i]);
		rc = make_finding(l, &account->findings[i], &own->words[i], i, finding);
		if (rc != 0)
			finding_fini(finding);
		else
			section->nfindings = ++own->nfindings;
	}
	if (rc != -EINVAL)
		return rc;
	snprintf(own->why, sizeof(own->why), "%.*s", PLUGIN_WHY - 1, l->err->text);
	own->left_ps = run->end_ps;
	return 0;
}

static int
diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
	 struct err *err)
{
	const struct plugin_account *account = options;
	struct plugin *own = section->own = run_alloc(1, sizeof(*own), err);
	struct err why = { "" };
	struct lookup lookup;
	int rc;

	(void)evidence;
	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (own == NULL)
		return -ENOMEM;
	own->account = account;
	own->left_ps = account->left_ps;
	memcpy(own->why, account->left_out ? account->why : "", account->left_out ? sizeof(own->why) : 1);
	own->words = run_alloc(account->nfindings, sizeof(*own->words), err);
	section->findings = run_alloc(account->nfindings, sizeof(*section->findings), err);
	if (own->words == NULL || section->findings == NULL)
		return -ENOMEM;
	rc = lookup_init(&lookup, run, &why, err);
	if (rc == 0)
		rc = take_findings(own, &lookup, section, run);
	lookup_fini(&lookup);
	return rc;
}

static void
destroy(void *section)
{
	struct plugin *own = section;

	free(own->words);
	free(own);
}

void
plugin_rows(const struct plugin_report *report, const struct diagnoser_writers *reporters, struct diagnoser *rows,
	    struct diagnosis *asked)
{
	for (uint32_t i = 0; i < report->count; i++) {
		rows[i] = (struct diagnoser){
			.name = report->programs[i].name,
			.reads = DIAGNOSER_READS(REC_RUN),
			.diagnose = diagnose,
			.destroy = destroy,
			.writers = *reporters,
		};
		asked[i] = (struct diagnosis){ .by = &rows[i], .options = &report->programs[i] };
	}
}

/* @return why a section's program was left out; NULL: it was not, or the section is no program's */
static const struct plugin *
left_out(const struct section *section)
{
	const struct plugin *own = section->own;

	return section->by->diagnose == diagnose && own->why[0] != '\0' ? own : NULL;
}

uint32_t
plugin_left_out(const struct verdict *verdict)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < verdict->nsections; i++)
		count += left_out(&verdict->sections[i]) != NULL;
	return count;
}

void
plugin_print(const struct verdict *verdict, bool recorded)
{
	for (uint32_t i = 0; i < verdict->nsections; i++) {
		const struct plugin *own = left_out(&verdict->sections[i]);

		if (own != NULL && (recorded || !own->account->left_out))
			log_warning("diagnoser %s was excluded at %.3f ms: %s; the verdict lacks its later findings",
				    own->account->name, (double)own->left_ps / 1e9, own->why);
	}
}
