/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of findings are rows in the files of their causes: one is added here, and every row is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "diag/registry.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* ---- a signature: the NIC of a slow step's host is said to be cold ---- */

static void
look(struct cause_set *set, uint32_t step)
{
	const struct ev_node *host = &set->in->ev->nodes[set->in->steps[step].host];
	struct cause_finding *finding;

	if (!set->in->steps[step].slow)
		return;
	finding = cause_add(set, host->first_port, NULL, 0, step);
	assert_non_null(finding);
	cause_explains(finding, host->first_port, 1e6);
	if (cause_score(finding, 1))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { 1, 0 }, .nclauses = 2, .step = step, .port = host->first_port, .percent = 12
		};
}

static const char *const clauses[] = { "{percent} % below {nothing}", "{step}: {port} was " };

static const struct cause cold_nic = {
	.type = { .key = "cold-nic",
		  .title = "cold NIC",
		  .preposition = "behind ",
		  .badge = "host",
		  .traits = FINDING_OF_HOST,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

static struct verdict *
diagnose(const struct cause *const *list, uint32_t count)
{
	const struct vedrfolnir_options options = { .causes = list, .ncauses = count };
	const struct diagnosis asked = { .by = &diagnosers[0], .options = &options };
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;
	struct records r;

	case_study(&r);
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	records_evidence(&r, &ev);
	records_fini(&r);
	if (verdict_build(&ev, &asked, 1, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	return v;
}

static void
added(void **state)
{
	const struct cause *list[32] = { &cold_nic };
	struct verdict *v, *before;
	const struct finding *finding;
	char text[FACTS_TEXT];
	json_t *root, *first;
	char *json;
	size_t size;
	FILE *to;

	memcpy(&list[1], causes, ncauses * sizeof(causes[0]));
	before = diagnose(NULL, 0);
	v = diagnose(list, ncauses + 1);
	finding = case_find(v, &cold_nic.type, "17:1", NULL);
	assert_non_null(finding);
	assert_non_null(strstr(case_evidence(v, finding), " ms: 17:1 was 12 % below {nothing}"));
	assert_non_null(strstr(facts_finding(v, finding, text, sizeof(text)), "Cold NIC behind 17:1: hits 17->18"));
	/* It is about a host, so what is said of the network stays. */
	assert_string_equal(case_reason(v), case_reason(before));
	assert_int_equal(v->nfindings, before->nfindings + 2);

	to = open_memstream(&json, &size);
	assert_int_equal(json_write(v, to), 0);
	fclose(to);
	root = json_loads(json, 0, NULL);
	first = json_array_get(json_object_get(root, "findings"), (size_t)(finding - v->findings));
	assert_string_equal(json_string_value(json_object_get(first, "type")), "cold-nic");
	json_decref(root);
	free(json);
	verdict_destroy(before);
	verdict_destroy(v);
}

static void
alone(void **state)
{
	const struct cause *const list[] = { &cold_nic };
	struct verdict *v = diagnose(list, 1);

	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_ptr_equal(v->findings[i].type, &cold_nic.type);
	assert_int_equal(v->nfindings, 2);
	verdict_destroy(v);
}

static void
rows_are_whole(void **state)
{
	static const char *const badges[] = { "pfc", "queue", "host", "lost" };
	struct verdict *v = diagnose(NULL, 0);

	for (uint32_t c = 0; c < ncauses; c++) {
		const struct finding_type *type = &causes[c]->type;
		bool known = false;

		assert_true(type->key != NULL && type->title != NULL && type->preposition != NULL && type->nclauses > 0);
		assert_non_null(causes[c]->look);
		for (size_t b = 0; b < ARRAY_LEN(badges); b++)
			known |= strcmp(type->badge, badges[b]) == 0;
		assert_true(known);
		for (uint32_t other = 0; other < c; other++)
			assert_string_not_equal(causes[other]->type.key, type->key);
		/* Whatever a clause names is known. */
		for (uint32_t i = 0; i < type->nclauses; i++) {
			struct finding finding = { .type = type,
						   .evidence = { .clauses = { i }, .nclauses = 1, .packets = 1 } };

			assert_null(strchr(case_evidence(v, &finding), '{'));
		}
	}
	verdict_destroy(v);
}

UNIT_TEST(finding)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),
		cmocka_unit_test(alone),
		cmocka_unit_test(rows_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
