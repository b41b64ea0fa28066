/* SPDX-License-Identifier: BSD-3-Clause */
/* The seam of diagnosers: one more is a row beside VEDRFOLNIR's, which knows nothing of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/wire/record.h"
#include "diag/registry.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* ---- a diagnoser: it counts the bytes that ports carried, and blames the busiest ---- */

struct busiest_options {
	bool quiet;
};

struct busiest {
	uint64_t bytes;
};

static int
busiest_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		 struct err *err)
{
	const struct busiest_options *chosen = options;
	struct busiest *own = section->own = calloc(1, sizeof(*own));
	uint32_t busiest = 0;

	assert_non_null(own);
	assert_true(evidence->nports == run->nports);
	for (uint32_t p = 0; p < run->nports; p++) {
		own->bytes += run->ports[p].bytes;
		busiest = run->ports[p].bytes > run->ports[busiest].bytes ? p : busiest;
	}
	section->claim = (struct claim){ .kind = CLAIM_NO_SIGN, .innocent = true };
	if (chosen->quiet)
		return 0;
	section->findings = calloc(1, sizeof(*section->findings));
	assert_non_null(section->findings);
	section->findings[section->nfindings++] = (struct finding){
		.type = FINDING_INCAST, .root_port = busiest, .origin_port = RUN_NONE, .critical_ps = 1e18, .confidence = 1
	};
	strcpy(section->findings[0].root, run->ports[busiest].name);
	return 0;
}

static int
busiest_quiet(void *options, const char *value, struct err *err)
{
	((struct busiest_options *)options)->quiet = strcmp(value, "yes") == 0;
	return 0;
}

static int
busiest_json(const struct verdict *v, const struct section *section, json_t *root)
{
	const struct busiest *own = section->own;

	return json_object_set_new(root, "carried_bytes", json_integer((json_int_t)own->bytes));
}

static int
busiest_text(const struct text *text, const struct section *section)
{
	const struct busiest *own = section->own;

	text_title(text, "Carried");
	fprintf(text->to, "  %s in all\n", fmt_bytes((double)own->bytes).text);
	return 0;
}

static const struct diagnoser_option busiest_option[] = {
	{ .name = "quiet", .key = 'q', .value = "yes|no", .meaning = "Blame nobody", .set = busiest_quiet },
};

static const struct diagnoser busiest = {
	.name = "busiest",
	.options = busiest_option,
	.noptions = 1,
	.options_bytes = sizeof(struct busiest_options),
	.reads = DIAGNOSER_READS(REC_PORT_ROW),
	.diagnose = busiest_diagnose,
	.destroy = free,
	.writers = { .json = busiest_json, .text = busiest_text },
};

/* ---- tests ---- */

static struct verdict *
ask(const struct records *r, const struct diagnosis *asked, uint32_t nasked)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	records_evidence(r, &ev);
	if (verdict_build(&ev, asked, nasked, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	return v;
}

static void
put_case(struct records *r)
{
	case_study(r);
	records_end(r, REC_END_COMPLETE, 200 * MS);
}

/* @return all of it, to be freed */
static char *
text_of(const struct verdict *v)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(text_write(v, NULL, to), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void
two_diagnosers(void **state)
{
	const struct diagnosis asked[] = { { .by = &diagnosers[0] }, { .by = &busiest } };
	struct verdict *alone, *v;
	json_t *root, *old;
	char *text;
	struct records r;
	FILE *to;
	size_t size;

	put_case(&r);
	alone = ask(&r, asked, 1);
	v = ask(&r, asked, 2);
	records_fini(&r);
	assert_int_equal(v->nsections, 2);
	assert_null(verdict_section(alone, "busiest"));
	assert_ptr_equal(verdict_section(v, "busiest")->by, &busiest);
	/* What weighs most comes first, whoever found it; the others stay as they were. */
	assert_int_equal(v->nfindings, alone->nfindings + 1);
	assert_ptr_equal(v->findings[0].type, FINDING_INCAST);
	for (uint32_t i = 0; i < alone->nfindings; i++)
		assert_string_equal(case_evidence(v, &v->findings[i + 1]), case_evidence(alone, &alone->findings[i]));
	/* Innocent is what all call so. */
	assert_false(verdict_claim(v)->innocent);
	assert_int_equal(verdict_claim(v)->kind, CLAIM_FAULT);

	to = open_memstream(&text, &size);
	assert_int_equal(json_write(v, to), 0);
	fclose(to);
	root = json_loads(text, 0, NULL);
	free(text);
	assert_true(json_integer_value(json_object_get(root, "carried_bytes")) > 0);
	assert_true(json_array_size(json_object_get(root, "critical_path")) > 0);
	json_decref(root);
	to = open_memstream(&text, &size);
	assert_int_equal(json_write(alone, to), 0);
	fclose(to);
	old = json_loads(text, 0, NULL);
	free(text);
	assert_null(json_object_get(old, "carried_bytes"));
	json_decref(old);
	text = text_of(v);
	assert_non_null(strstr(text, "\nCarried\n"));
	free(text);
	verdict_destroy(alone);
	verdict_destroy(v);
}

static void
without_the_other(void **state)
{
	struct busiest_options options = { 0 };
	const struct diagnosis asked = { .by = &busiest, .options = &options };
	struct err err = { 0 };
	struct records r;
	struct verdict *v;
	char *text;

	assert_int_equal(busiest.options[0].set(&options, "yes", &err), 0);
	put_case(&r);
	v = ask(&r, &asked, 1);
	records_fini(&r);
	assert_int_equal(v->nfindings, 0);
	assert_true(verdict_claim(v)->innocent);
	text = text_of(v);
	assert_non_null(strstr(text, "network is innocent"));
	assert_null(strstr(text, "Critical path"));
	free(text);
	verdict_destroy(v);
}

/* Nothing came of the kinds of records that it reads. */
static void
nothing_to_read(void **state)
{
	const struct diagnosis asked = { .by = &busiest };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	v = ask(&r, &asked, 1);
	records_fini(&r);
	assert_int_equal(v->nsections, 0);
	assert_null(verdict_claim(v));
	assert_non_null(strstr(case_reason(v), "No polling packet"));
	verdict_destroy(v);
}

static void
rows_are_whole(void **state)
{
	for (uint32_t i = 0; i < ndiagnosers; i++) {
		const struct diagnoser *row = &diagnosers[i];

		assert_non_null(row->name);
		assert_non_null(row->diagnose);
		assert_non_null(row->destroy);
		assert_int_not_equal(row->reads, 0);
		for (uint32_t o = 0; o < row->noptions; o++)
			assert_true(row->options[o].set != NULL && row->options[o].name != NULL &&
				    row->options[o].meaning != NULL);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(diagnosers[j].name, row->name);
	}
}

static void
port_share(void **state)
{
	struct vedrfolnir_options options = { 0 };
	struct err err = { 0 };

	assert_int_equal(diagnosers[0].options[0].set(&options, "senders", &err), 0);
	assert_true(options.share_by_senders);
	assert_int_not_equal(diagnosers[0].options[0].set(&options, "both", &err), 0);
	assert_string_equal(err.text, "use receivers or senders");
}

UNIT_TEST(diagnoser)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_diagnosers), cmocka_unit_test(without_the_other), cmocka_unit_test(nothing_to_read),
		cmocka_unit_test(rows_are_whole), cmocka_unit_test(port_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
