/* SPDX-License-Identifier: BSD-3-Clause */
/* What reports say of R-Pingmesh's problems and of both networks' SLAs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "diag/registry.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define S PS_PER_S

/* A link of a service's way that slows it, an RNIC that nobody uses, a restart, and an overloaded CPU. */
static void
make_rig(struct rig *made)
{
	struct rig rig;

	rig_init(&rig, 60 * S);
	rig.service[0] = 0;
	rig.service[1] = 8;
	rig.iterations = 5;
	for (uint32_t k = 0; k < rig.iterations; k++)
		rig.iteration_ps[k] = k == 3 ? 15 * S : 8 * S;
	rig.links[rig.nlinks++] =
		(struct rig_link){ .from = 0, .to = RIG_SPINE(1), .loss = 0.5, .start_ps = 26 * S, .end_ps = 38 * S };
	rig.nic_loss[4] = 0.5;
	rig.hosts[1].restart_ps = 21 * S;
	rig.hosts[7] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 40 * S, .delay_ps = 400 * PS_PER_MS };
	*made = rig;
}

static struct verdict *
make(void)
{
	struct rig rig;

	make_rig(&rig);
	return rig_diagnose(&rig);
}

/* @return what a writer wrote, to be freed */
static char *
written(int (*write)(const struct verdict *v, FILE *to), const struct verdict *v)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(write(v, to), 0);
	fclose(to);
	return text;
}

static int
write_text(const struct verdict *v, FILE *to)
{
	return text_write(v, NULL, to);
}

static void
assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void
the_text_has_problems_by_priority(void **state)
{
	struct verdict *v = make();
	char *text = written(write_text, v);

	(void)state;
	assert_has(text, "Problems, by probes between RNICs (R-Pingmesh)");
	assert_has(text, "  1. P0: switch network problem at l0:5: ");
	assert_has(text, "Seen by the cluster's monitoring and service tracing");
	assert_has(text, "P0 for job job:");
	assert_has(text, "h0->h8:1/49153>4791");
	assert_has(text, "Job job: 1 of 5 iterations took 10 % longer than usual or more, the slowest");
	assert_has(text, "P2: RNIC problem at h4:1: ");
	assert_has(text, "P2: CPU overload at h7: its processing delay (P99) was ");
	assert_has(text, "No service uses it.");
	assert_has(text, "were for QPs that an agent's restart had replaced");
	assert_has(text, "NETWORK");
	assert_string_equal(v->findings[0].root, "l0:5"); /* the most urgent: what the first sentences name */
	assert_true(strstr(text, "P2: RNIC") > strstr(text, "P0: switch"));
	for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		assert_true(end - line <= 130);
	free(text);
	verdict_destroy(v);
}

/* A run that ended before agents had anything to report: nothing is reported to be well. */
static void
no_probe_is_no_evidence(void **state)
{
	struct rig rig;
	struct verdict *v;
	char *text;

	(void)state;
	rig_init(&rig, 0);
	v = rig_diagnose(&rig);
	text = written(write_text, v);
	assert_has(text, "no result of a probe");
	assert_has(text, "first upload is after 5 s");
	assert_null(strstr(text, "No problem was found"));
	free(text);
	verdict_destroy(v);
}

static void
machines_find_the_metrics_by_their_names(void **state)
{
	static const char *const spreads[] = { "rpingmesh.network_rtt_ns", "rpingmesh.prober_delay_ns",
					       "rpingmesh.responder_delay_ns" };
	struct verdict *v = make();
	char *text = written(json_write, v);
	json_t *root = json_loads(text, 0, NULL), *own = json_object_get(root, "pingmesh"), *problem, *failed, *service;
	json_t *cluster = json_object_get(own, "cluster");
	json_int_t all = json_integer_value(json_object_get(cluster, "rpingmesh.probe_total")), sum;
	const char *name;

	(void)state;
	free(text);
	sum = json_integer_value(json_object_get(cluster, "rpingmesh.probe_success_total"));
	json_object_foreach(json_object_get(cluster, "rpingmesh.probe_failed_total"), name, failed)
		sum += json_integer_value(failed);
	assert_true(all > 3000);
	assert_int_equal(sum, all); /* each timeout has one cause */
	for (size_t i = 0; i < 3; i++) {
		json_t *spread = json_object_get(cluster, spreads[i]);

		assert_true(json_real_value(json_object_get(spread, "p50")) > 0);
		assert_true(json_real_value(json_object_get(spread, "p999")) >=
			    json_real_value(json_object_get(spread, "p99")));
	}
	assert_int_equal(json_array_size(json_object_get(own, "periods")), 3);
	assert_int_equal(json_array_size(json_object_get(own, "servers")), 2);
	assert_true(json_is_false(json_object_get(json_object_get(own, "impact"), "paper_innocent")));
	service = json_array_get(json_object_get(own, "services"), 0);
	assert_string_equal(json_string_value(json_object_get(service, "job")), "job");
	assert_int_equal(json_integer_value(json_object_get(service, "degraded")), 1);
	assert_true(json_is_false(json_object_get(service, "network_innocent")));
	assert_true(json_integer_value(json_object_get(json_object_get(service, "service"), "rpingmesh.probe_total")) > 50);
	problem = json_array_get(json_object_get(own, "problems"), 0);
	service = json_array_get(json_object_get(problem, "services"), 0);
	assert_string_equal(json_string_value(json_object_get(service, "priority")), "P0");
	assert_int_equal(json_integer_value(json_object_get(service, "crossing_flows")), 1);
	assert_string_equal(json_string_value(json_object_get(problem, "type")), "switch-problem");
	assert_string_equal(json_string_value(json_object_get(problem, "priority")), "P0");
	assert_int_equal(json_array_size(json_object_get(problem, "seen_by")), 2);
	problem = json_array_get(json_object_get(own, "problems"), 1);
	assert_string_equal(json_string_value(json_object_get(problem, "type")), "rnic-problem");
	assert_string_equal(json_string_value(json_object_get(problem, "priority")), "P2");
	assert_string_equal(json_string_value(json_array_get(json_object_get(problem, "by"), 0)), "tor-mesh");
	json_decref(root);
	verdict_destroy(v);
}

static void
the_table_has_a_row_a_period_and_network(void **state)
{
	struct verdict *v = make();
	const struct section *section = verdict_section(v, PINGMESH_NAME);
	char *text = written(section->by->writers.files[0].write, v);
	uint32_t lines = 0, columns = 1;

	(void)state;
	assert_has(text,
		   "period,start_ns,network,probe_total,probe_success_total,host-down,qpn-reset,cpu-overload,rnic-problem,"
		   "switch-problem,undecided,network_rtt_ns_p50,");
	assert_has(text, "\n1,20000000000,service,");
	for (const char *c = text; *c != '\0'; c++) {
		columns += lines == 0 && *c == ',';
		lines += *c == '\n';
	}
	assert_int_equal(lines, 1 + 2 * 3);
	assert_int_equal(columns, 5 + 6 + 12);
	free(text);
	verdict_destroy(v);
}

/* It knows nothing of what problems cost: the word on the network is others', and theirs is not "innocent". */
static void
the_word_is_not_its_own(void **state)
{
	struct verdict *v = make();

	(void)state;
	assert_int_equal(facts_timed(v), 0);
	assert_ptr_not_equal(verdict_claim(v), &verdict_section(v, PINGMESH_NAME)->claim);
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_true(v->findings[i].costless);
	verdict_destroy(v);
}

/* An option's value is checked, and what it says holds instead of the default or of the record. */
static void
options_are_checked_and_used(void **state)
{
	static const char *const wrong[] = { "", "ten", "10%", "0", "-5", "nan", "100001", "1e999" };
	struct pingmesh_options options = { 0 };
	struct diagnosis asked = { .by = diagnosers, .options = &options };
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;
	struct rig rig;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		err = (struct err){ 0 };
		assert_int_equal(pingmesh_degradation(&options, wrong[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "a percentage above 0"));
	}
	err = (struct err){ 0 };
	assert_int_equal(pingmesh_algorithm(&options, "votes", &err), -EINVAL);
	assert_non_null(strstr(err.text, "likelihood or paper"));
	assert_false(options.chosen);
	assert_int_equal(pingmesh_degradation(&options, "100", &err), 0);
	assert_int_equal(pingmesh_algorithm(&options, "paper", &err), 0);
	while (strcmp(asked.by->name, PINGMESH_NAME) != 0)
		asked.by++;
	make_rig(&rig); /* an iteration that takes 88 % longer than others; by likelihood */
	rig_stream(&rig);
	records_evidence(&rig.r, &ev);
	assert_int_equal(verdict_build(&ev, &asked, 1, &v, &err), 0);
	evidence_fini(&ev);
	records_fini(&rig.r);
	text = written(write_text, v);
	assert_int_equal(rig_own(v)->services[0].metric.degraded, 0);
	assert_null(strstr(text, "P0"));
	assert_int_equal(rig_own(v)->config.algorithm, REC_PINGMESH_PAPER);
	free(text);
	verdict_destroy(v);
}

UNIT_TEST(pingmesh_report)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_has_problems_by_priority),
		cmocka_unit_test(no_probe_is_no_evidence),
		cmocka_unit_test(machines_find_the_metrics_by_their_names),
		cmocka_unit_test(the_table_has_a_row_a_period_and_network),
		cmocka_unit_test(the_word_is_not_its_own),
		cmocka_unit_test(options_are_checked_and_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
