/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowPulse's diagnoser: alarms of several leaves and iterations to links, and what is said of them. */
#include <jansson.h>

#include "common/array.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/unit.h"

static void
put_known(struct records *r, const char *kind, uint32_t node, uint16_t port, double rate)
{
	struct rec_known_fault rec = { .port = port, .rate_ppb = (uint32_t)(rate * 1e9) };

	memcpy(rec.kind, kind, strlen(kind));
	RECORDS_PUT(r, rec, REC_KNOWN_FAULT, node, 0);
}

/* At the place of a known fault, in its direction; a cut in both; one of a pair. */
static void
known_places_are_reported(void **state)
{
	char evidence[FACTS_EVIDENCE];
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r);
	put_known(&r, "loss", 0, 2, 0.02);
	put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 1);
	put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 2);
	put_alarm(&r, 0, 1, REC_LOSS_LOCAL, REC_NONE, 2); /* the reverse path is another */
	v = diagnose(&r);
	assert_int_equal(v->nfindings, 2);
	for (uint32_t i = 0; i < 2; i++) {
		bool here = strcmp(v->findings[i].root, "l0:3") == 0;

		assert_int_equal(v->findings[i].known, here ? 1 : 0);
		assert_int_equal(strstr(facts_evidence(v, &v->findings[i], evidence),
					"known before the run: loss of 2 % at l0:3") != NULL,
				 here);
	}
	verdict_destroy(v);

	put_network(&r);
	put_known(&r, "delay", 4, REC_NO_PORT, 0);
	put_known(&r, "link-down", 0, 2, 1);
	put_alarm(&r, 0, 1, REC_LOSS_PAIR, 1, 1);
	put_alarm(&r, 1, 0, REC_LOSS_LOCAL, REC_NONE, 3);
	v = diagnose(&r);
	assert_int_equal(v->nfindings, 2);
	assert_int_equal(v->run.nknown, 2);
	assert_string_equal(v->run.known[0].kind, "link-down");
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(v->findings[i].known, v->findings[i].root_port == RUN_NONE ? 1 : 0);
	verdict_destroy(v);
}

static void
alarms_of_a_link_are_one_finding(void **state)
{
	struct records r;
	struct verdict *v;
	const struct flowpulse_fault *fault;
	const struct finding *finding;

	(void)state;
	put_network(&r);
	for (uint32_t iteration = 1; iteration <= 3; iteration++)
		for (uint32_t leaf = 1; leaf <= 2; leaf++)
			put_alarm(&r, leaf, 1, REC_LOSS_REMOTE, 0, iteration);
	put_alarm(&r, 2, 0, REC_LOSS_LOCAL, REC_NONE, 4);
	v = diagnose(&r);
	assert_int_equal(v->nfindings, 2);
	fault = &own_of(v)->faults[0];
	assert_int_equal(fault->nlinks, 1);
	assert_int_equal(fault->links[0].from, 0);
	assert_int_equal(fault->links[0].to, SPINE(1));
	assert_int_equal(fault->alarms, 6);
	assert_int_equal(fault->switches, 2);
	assert_int_equal(fault->iterations, 3);
	assert_int_equal(fault->first_iteration, 1);
	assert_int_equal(fault->last_iteration, 3);
	assert_true(fault->drop > 0.0199 && fault->drop < 0.0201);
	assert_true(fault->low < 0.02 && fault->low > 0.018 && fault->high > 0.02 && fault->high < 0.022);
	finding = &v->findings[0];
	assert_string_equal(finding->type->key, "silent-fault");
	assert_string_equal(finding->root, "l0:3");
	assert_string_equal(v->run.ports[finding->root_port].name, "l0:3");
	assert_true(finding->confidence > 0.99);
	assert_int_equal(finding->start_ps, 2 * PS_PER_MS);
	assert_int_equal(finding->end_ps, 4 * PS_PER_MS);
	assert_string_equal(v->findings[1].root, "s0:3"); /* towards the leaf: its direction */
	verdict_destroy(v);
}

/*
 * One sender at a leaf: two links. Two leaves that each suspect two have one in common; and an alarm for sure settles
 * it.
 */
static void
pairs_are_resolved_by_other_reports(void **state)
{
	static const struct {
		bool second, sure;
		const char *root;
	} cases[] = { { false, false, "l0:3 or s1:2" }, { true, false, "l0:3" }, { false, true, "s1:2" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 1);
		if (cases[i].second)
			put_alarm(&r, 2, 1, REC_LOSS_PAIR, 0, 1);
		if (cases[i].sure)
			put_alarm(&r, 1, 1, REC_LOSS_LOCAL, REC_NONE, 2);
		v = diagnose(&r);
		assert_int_equal(v->nfindings, 1);
		assert_string_equal(v->findings[0].root, cases[i].root);
		assert_int_equal(own_of(v)->faults[0].nlinks, i == 0 ? 2 : 1);
		assert_int_equal(v->findings[0].nports, i == 0 ? 2 : 1);
		verdict_destroy(v);
	}
}

/*
 * A fault of a leaf's own link that begins within an iteration takes of those alone who send afterwards. What one leaf says
 * once is one of two, until another iteration or leaf says more.
 */
static void
a_fault_may_begin_within_an_iteration(void **state)
{
	static const struct {
		uint32_t leaf, place, iteration; /* of a second alarm; leaf 0: none */
		const char *root;
	} cases[] = { { 0, 0, 0, "l0:3 or s1:2" },
		      { 1, REC_LOSS_LOCAL, 2, "s1:2" },
		      { 1, REC_LOSS_PAIR, 3, "l0:3 or s1:2" },
		      { 1, REC_LOSS_REMOTE, 2, "l0:3" },
		      { 2, REC_LOSS_REMOTE, 1, "l0:3" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records r;
		struct verdict *v;
		char *text = NULL;
		size_t size;
		FILE *to;

		put_network(&r);
		put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 1);
		if (cases[i].leaf != 0)
			put_alarm(&r, cases[i].leaf, 1, cases[i].place, cases[i].place == REC_LOSS_LOCAL ? REC_NONE : 0,
				  cases[i].iteration);
		v = diagnose(&r);
		assert_int_equal(v->nfindings, 1);
		assert_string_equal(v->findings[0].root, cases[i].root);
		to = open_memstream(&text, &size);
		assert_int_equal(text_write(v, NULL, to), 0);
		fclose(to);
		assert_true((strstr(text, "fails only while") != NULL) == (own_of(v)->faults[0].nlinks == 2));
		free(text);
		verdict_destroy(v);
	}
}

/* It knows nothing of time: the word on the network is the others', and none without them. */
static void
the_word_is_not_its_own(void **state)
{
	struct diagnosis alone = { .by = &diagnosers[1] };
	struct verdict *v, *by_itself = NULL;
	struct err err = { 0 };
	struct evidence ev, again;
	struct records r;

	(void)state;
	put_network(&r);
	put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 1);
	put_end(&r);
	records_evidence(&r, &ev);
	records_evidence(&r, &again);
	assert_int_equal(verdict_build(&ev, &alone, 1, &by_itself, &err), 0);
	assert_int_equal(registry_diagnose(&again, &v, &err), 0);
	assert_null(verdict_claim(by_itself));
	assert_string_equal(facts_word(by_itself), "unknown");
	assert_ptr_equal(verdict_claim(v), &v->sections[0].claim);
	assert_null(facts_root(v));
	assert_int_equal(facts_timed(v), 0);
	assert_int_equal(facts_costly(v), 0);
	verdict_destroy(v);
	verdict_destroy(by_itself);
	evidence_fini(&again);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
reports_show_every_port(void **state)
{
	struct rec_volume_flaw flaw = {
		.sender = 2, .iteration = 0, .flaw = REC_FLAW_DEMAND, .predicted = 1000, .seen = 900
	};
	struct records r;
	struct verdict *v;
	json_t *root, *own, *fault;
	char *text = NULL;
	size_t size;
	FILE *to;

	(void)state;
	put_network(&r);
	RECORDS_PUT(&r, flaw, REC_VOLUME_FLAW, 1, PS_PER_MS / 2);
	put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 1);
	v = diagnose(&r);
	to = open_memstream(&text, &size);
	assert_int_equal(text_write(v, NULL, to), 0);
	fclose(to);
	assert_non_null(strstr(text, "The link from l0 to s1 (l0:3), or the one from s1 to l1 (s1:2)"));
	assert_non_null(strstr(text, "l1:2  s0    10,000,000  10,200,000  +2.00 %"));
	assert_non_null(strstr(text, "l1:3  s1    10,000,000   9,800,000  -2.00 %  alarm"));
	assert_non_null(strstr(text, "Cannot judge l1, because all ports together received another volume"));
	free(text);

	to = open_memstream(&text, &size);
	assert_int_equal(json_write(v, to), 0);
	fclose(to);
	root = json_loads(text, 0, NULL);
	free(text);
	own = json_object_get(root, "flowpulse");
	fault = json_array_get(json_object_get(own, "faults"), 0);
	assert_string_equal(json_string_value(json_object_get(fault, "place")), "pair");
	assert_int_equal(json_array_size(json_object_get(fault, "links")), 2);
	assert_int_equal(json_integer_value(json_object_get(fault, "first_iteration")), 1);
	assert_int_equal(json_array_size(json_object_get(own, "volumes")), 2);
	assert_int_equal(json_array_size(json_object_get(own, "switches")), LEAVES);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(own, "unmeasured"), 0), "why")), "demand");
	fault = json_array_get(json_object_get(own, "not_judged"), 0);
	assert_string_equal(json_string_value(json_object_get(fault, "why")), "demand");
	assert_int_equal(json_integer_value(json_object_get(fault, "count")), 1);
	fault = json_array_get(json_object_get(root, "findings"), 0);
	assert_string_equal(json_string_value(json_object_get(fault, "type")), "silent-fault");
	assert_true(json_is_true(json_object_get(fault, "without_effect"))); /* of none that is known */
	json_decref(root);

	to = open_memstream(&text, &size);
	assert_int_equal(diagnosers[1].writers.files[0].write(v, to), 0);
	fclose(to);
	assert_string_equal(text, "port,sender,iteration,predicted,seen\nl1:2,l0,1,10000000,10200000\n"
				  "l1:3,l0,1,10000000,9800000\n");
	free(text);
	verdict_destroy(v);
}

UNIT_TEST(flowpulse)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alarms_of_a_link_are_one_finding),
		cmocka_unit_test(known_places_are_reported),
		cmocka_unit_test(pairs_are_resolved_by_other_reports),
		cmocka_unit_test(a_fault_may_begin_within_an_iteration),
		cmocka_unit_test(the_word_is_not_its_own),
		cmocka_unit_test(reports_show_every_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
