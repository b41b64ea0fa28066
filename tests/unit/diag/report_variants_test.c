/* SPDX-License-Identifier: BSD-3-Clause */
/* One fact of a verdict changed, and the sentence of the report that it changes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/collective.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/diag/report_fixture.h"
#include "tests/unit/diag/types.h"
#include "tests/unit/unit.h"

static void *
zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	assert_non_null(memory);
	return memory;
}

static void
flows_alone_some_open(struct verdict *v)
{
	v->run.collectives[0].op = COLL_FLOWS;
	v->run.collectives[0].steps = v->run.nsteps + 3;
	v->run.steps[fixture_step(v, 5, 7)].open = true;
	v->run.steps[fixture_step(v, 4, 7)].reported = false;
}

static void
flows_of_no_length(struct verdict *v)
{
	v->run.collectives[0].op = COLL_FLOWS;
	for (uint32_t i = 0; i < v->run.nsteps; i++)
		v->run.steps[i].ideal_ps = 0;
}

static void
flows_in_time(struct verdict *v)
{
	v->run.collectives[0].op = COLL_FLOWS;
	for (uint32_t i = 0; i < v->run.nsteps; i++)
		v->run.steps[i].slow = false;
	v->sections[0].claim = (struct claim){ .kind = CLAIM_IN_TIME, .innocent = true };
}

static void
flows_in_sum(struct verdict *v)
{
	v->run.collectives[0].op = COLL_FLOWS;
	v->sections[0].claim = (struct claim){ .kind = CLAIM_IN_SUM, .lost_ps = 1e9, .unexplained_ps = 1e9 };
}

static void
by_the_twin(struct verdict *v)
{
	v->twins = zeroed(1, sizeof(*v->twins));
	v->ntwins = 1;
	v->findings[0].cost_from = FINDING_BY_TWIN;
	v->findings[1].cost_from = FINDING_PARTLY_TWIN;
	v->findings[3].cost_unknown = true;
	v->findings[0].parts[0].costless = zeroed(2, sizeof(bool));
	v->findings[1].parts[0].costless = zeroed(2, sizeof(bool));
	v->findings[1].parts[0].costless[0] = true;
	v->twins[0] = (struct verdict_twin){
		.measured_ps = 2e9, .twin_ps = 1.9e9, .error = 0.05, .steps_error = 0.012, .usable = true
	};
}

static void
by_a_far_twin(struct verdict *v)
{
	by_the_twin(v);
	v->twins[0].usable = false;
}

static void
by_a_broken_twin(struct verdict *v)
{
	by_the_twin(v);
	v->twins[0] = (struct verdict_twin){ .error = 1, .steps_error = 1 };
}

static void
with_prefixes(struct verdict *v)
{
	v->prefixes = 3;
	v->findings[0].detected_ps = PS_PER_MS;
}

static void
of_exact_counts(struct verdict *v)
{
	v->run.config.exact_contention = true;
}

static void
by_own_clocks(struct verdict *v)
{
	v->run.clock_error_ps = 5 * PS_PER_NS;
}

static void
on_a_full_disk(struct verdict *v)
{
	v->run.recording_errno = ENOSPC;
}

static void
of_little_confidence(struct verdict *v)
{
	for (uint32_t i = 2; i < v->nfindings; i++)
		v->findings[i].confidence = 0.1;
}

static void
with_a_known_fault(struct verdict *v)
{
	v->run.known = zeroed(1, sizeof(*v->run.known));
	v->run.nknown = 1;
	v->run.known[0] = (struct run_known){ .kind = "delay", .port = fixture_port(v, "6:2"), .extra_ps = 30 * PS_PER_US };
	v->findings[0].known = 1;
	v->findings[0].lacks = 1;
	v->sections[0].claim = (struct claim){ .kind = CLAIM_UNCERTAIN, .slow = 6 };
}

static void
on_a_late_machine(struct verdict *v)
{
	static const struct run_lateness late[] = {
		{ .kind = REC_LATENESS_LCORE,
		  .lcore = 1,
		  .late_ps = PS_PER_MS,
		  .measured_ps = 40 * PS_PER_MS,
		  .unmeasured_ps = PS_PER_MS },
		{ .kind = REC_LATENESS_LCORE,
		  .partition = 1,
		  .lcore = 2,
		  .late_ps = 2 * PS_PER_MS,
		  .measured_ps = 40 * PS_PER_MS },
		{ .kind = REC_LATENESS_HOST, .node = 12, .late_ps = PS_PER_MS, .measured_ps = 40 * PS_PER_MS },
		{ .kind = REC_LATENESS_HOST, .node = 13, .unmeasured_ps = 40 * PS_PER_MS },
		{ .kind = REC_LATENESS_WINDOWS, .partition = 1, .late_ps = 3 * PS_PER_MS, .most_ps = 2 * PS_PER_MS },
	};

	v->run.lateness = zeroed(ARRAY_LEN(late), sizeof(*late));
	v->run.nlateness = ARRAY_LEN(late);
	memcpy(v->run.lateness, late, sizeof(late));
}

static void
on_one_late_lcore(struct verdict *v)
{
	on_a_late_machine(v);
	v->run.nlateness = 1;
}

static void
not_judged(struct verdict *v)
{
	vedrfolnir_of(v)->unjudged = (struct vedrfolnir_unjudged){ .resends = 1, .paths = 2 };
}

static void
without_effect(struct verdict *v)
{
	v->sections[0].claim = (struct claim){ .kind = CLAIM_NO_EFFECT, .slow = 6, .left = true };
}

static void
unsure(struct verdict *v)
{
	v->sections[0].claim = (struct claim){ .kind = CLAIM_UNCERTAIN, .slow = 6 };
}

static void
late_little(struct verdict *v)
{
	vedrfolnir_of(v)->budgets[0].little_ps = 2e9;
	vedrfolnir_of(v)->budgets[0].explained_ps += 2e9;
	v->sections[0].claim.lost_ps = vedrfolnir_of(v)->budgets[0].lost_ps;
}

static void
of_senders(struct verdict *v)
{
	v->findings[0].type = v->findings[1].type = FINDING_HOST_LIMITED;
	v->sections[0].claim = (struct claim){ .kind = CLAIM_ACKS, .slow = 2, .ack_share = 3, .lost_ps = 50e9 };
}

static void
of_many_contributors(struct verdict *v)
{
	struct vedrfolnir *own = vedrfolnir_of(v);

	own->contributors[0].shares = realloc(own->contributors[0].shares, 4 * sizeof(struct contributor_share));
	assert_non_null(own->contributors[0].shares);
	own->contributors[0].nshares = 4;
	own->contributors[0].shares[2] = own->contributors[0].shares[3] = own->contributors[0].shares[0];
	own->contributors = realloc(own->contributors, 12 * sizeof(*own->contributors));
	assert_non_null(own->contributors);
	for (; own->ncontributors < 12; own->ncontributors++)
		own->contributors[own->ncontributors] = (struct contributor){ .flow = F13_19 };
}

static void
begun_late(struct verdict *v)
{
	v->run.collectives[0].start_ps -= 900 * PS_PER_MS;
	v->run.iterations[0].start_ps -= 900 * PS_PER_MS;
}

static void
counted_wrong(struct verdict *v)
{
	v->run.overhead.left_out = 2;
	v->run.missing.left_out_node = RUN_NONE;
	strcpy(v->run.missing.left_out_why, "bad");
}

static void
changes(void **state)
{
	static const struct {
		void (*change)(struct verdict *v);
		const char *sentence;
	} cases[] = {
		{ flows_alone_some_open, "of 56 flows took longer than on an idle fabric" },
		{ flows_alone_some_open, "2 did not finish; 3 more did not finish, as far as is known." },
		{ flows_alone_some_open, "OF SLOW FLOWS" },
		{ flows_of_no_length, "8 of 56 flows took longer than on an idle fabric, by more than" },
		{ flows_in_time, "Every flow reported took at most" },
		{ flows_in_sum, "No flow was slow by itself, but in sum they lost time that nothing explains." },
		{ by_the_twin, ", by the twin" },
		{ by_the_twin, ", partly by the twin" },
		{ by_the_twin, ", within the twin's error" },
		{ by_the_twin, ", estimated" },
		{ by_the_twin, " took 1.900 ms, 5.0 % off the measured time, its steps 1.2 %." },
		{ by_a_far_twin, "its steps 1.2 %: too far, so costs are estimates." },
		{ by_a_broken_twin, " did not finish its steps, so costs are estimates." },
		{ with_prefixes, "Ring AllGather over 8 ranks" },
		{ of_exact_counts, "Waits are exact counts (telemetry.contention = \"exact\")" },
		{ by_own_clocks, "Hosts used their own clocks, which are known to within 5.000 ns" },
		{ on_a_full_disk, "The recording is truncated (No space left on device)" },
		{ of_little_confidence, "... and 4 of less than 0.3 confidence each: 4.750 ms, in report.html" },
		{ with_a_known_fault, "known before the run: delay of 30.000 us at 6:2" },
		{ with_a_known_fault, ", with which it would cost this" },
		{ on_a_late_machine, "lcore 2 of partition 1" },
		{ on_a_late_machine, "the fabric was behind its clock for 3.000 ms, by up to 2.000 ms." },
		{ on_one_late_lcore, "lcore 1" },
		{ not_judged, "packet-loss: cannot judge 1 slow step, because their senders sent packets again" },
		{ not_judged, "path-delay: cannot judge 2 slow steps, because" },
		{ without_effect, "would regain nothing, and too much is left that none of them explains." },
		{ unsure, "the evidence points to flow-contention at 6:2, but is insufficient" },
		{ late_little, "hosts late by too little to be named explain 2.000 ms" },
		{ of_senders, "and 1 more of hosts explain" },
		{ of_many_contributors, ", ..." },
		{ of_many_contributors, "... and 2 more, in verdict.json" },
		{ begun_late, "Its critical path began 900.000 ms after its first rank did." },
		{ counted_wrong, "2 bad records were left out, the first: bad." },
	};

	uint32_t missed = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict *v = fixture_case();
		char *text;

		cases[i].change(v);
		records_report(v);
		text = records_text(v);
		if (strstr(text, cases[i].sentence) == NULL)
			print_error("case %zu: not \"%s\" in: %s\n", i, cases[i].sentence, text);
		missed += strstr(text, cases[i].sentence) == NULL;
		free(text);
		verdict_destroy(v);
	}
	assert_int_equal(missed, 0);
}

/* How a run ended that did not finish. */
static void
endings(void **state)
{
	static const struct {
		uint32_t reason, node;
		const char *sentence;
	} cases[] = {
		{ REC_END_QP_ERROR, 17, "did not finish: a queue pair failed at host 17 after" },
		{ REC_END_QP_ERROR, RUN_NONE, "did not finish: a queue pair failed after" },
		{ REC_END_HOST_LOST, 17, "did not finish: host 17 went away after" },
		{ REC_END_HOST_LOST, RUN_NONE, "did not finish: host ? went away after" },
		{ REC_END_PART_LOST, 2, "did not finish: the program of the partition with 2 ended after" },
		{ REC_END_PART_LOST, RUN_NONE, "did not finish: the program of the partition with ? ended after" },
		{ REC_END_VIRTUAL_TIME, RUN_NONE, "did not finish: the run reached its time limit after" },
		{ REC_END_INVARIANT, RUN_NONE, "did not finish: an invariant failed after" },
		{ REC_END_INTERRUPT, RUN_NONE, "did not finish: the run was ended after" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases) + 1; i++) {
		const char *sentence =
			i < ARRAY_LEN(cases) ? cases[i].sentence : "did not finish: the record stream broke off after";
		struct verdict *v = fixture_stalled();
		char *text;

		v->run.end_reason = i < ARRAY_LEN(cases) ? cases[i].reason : REC_END_STALL;
		v->run.end_node = i < ARRAY_LEN(cases) ? cases[i].node : RUN_NONE;
		v->run.truncated = i == ARRAY_LEN(cases);
		records_report(v);
		text = records_text(v);
		if (strstr(text, sentence) == NULL)
			print_error("case %zu: not \"%s\" in: %s\n", i, sentence, text);
		assert_non_null(strstr(text, sentence));
		free(text);
		verdict_destroy(v);
	}
}

#define CLAIM(flows)                                                                                                       \
	"{\"type\": \"flow-contention\", \"root\": \"6:2\", \"finding\": 0, \"flows\": [" flows "], \"cost_ns\": 10}"
#define JOB(claims)                                                                                                        \
	"{\"jobs\": [{\"job\": 0, \"usable\": true, \"suspects\": [{\"word\": \"unknown\", \"cost_ns\": 10, \"claims\": "  \
	"[" claims "]}]}]}"

/* What twin.json may hold beside what the twin writes. */
static void
costs(void **state)
{
	static const struct {
		const char *json, *why;
		bool unknown;
	} cases[] = {
		{ "{", "cannot be read: it has no costs of a twin", false },
		{ "{\"jobs\": 3}", "cannot be read: it has no costs of a twin", false },
		{ "{\"jobs\": [{\"job\": 1}]}", "job 1; these records have 1", false },
		{ "{\"jobs\": [{\"job\": -1}]}", "job -1; these records have 1", false },
		{ JOB(CLAIM("3, \"none\"")), NULL, false },
		{ JOB("{\"finding\": 0}"), NULL, false },
		{ JOB("{\"finding\": 0, \"type\": \"flow-contention\", \"root\": \"1:1\"}"), NULL, false },
		{ JOB(CLAIM("\"13->19/10001>10001\"")), NULL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char file[] = "/tmp/rocelab-costs-XXXXXX";
		struct verdict *v = fixture_case();
		int fd = mkstemp(file), rc;
		struct err err = { 0 };

		assert_true(fd >= 0);
		dprintf(fd, "%s", cases[i].json);
		close(fd);
		v->findings[2].lacks = v->findings[0].root_port + 1; /* of whose cost it has the rest */
		rc = costs_apply(v, file, &err);
		unlink(file);
		if (cases[i].why != NULL ? rc != -EINVAL || strstr(err.text, cases[i].why) == NULL : rc != 0)
			fail_msg("case %zu: %d \"%s\"", i, rc, err.text);
		if (rc == 0) {
			uint32_t unknown = 0;

			for (uint32_t f = 0; f < v->nfindings; f++)
				unknown += v->findings[f].cost_unknown;
			assert_int_equal(unknown, cases[i].unknown);
			records_report(v);
		}
		verdict_destroy(v);
	}
}

static void
costs_without_memory(void **state)
{
	char file[] = "/tmp/rocelab-costs-XXXXXX";
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd, "%s", JOB(CLAIM("\"13->19/10001>10001\"")));
	close(fd);
	for (uint64_t nth = 1;; nth++) {
		struct verdict *v = fixture_case();
		struct err err = { 0 };
		bool was;
		int rc;

		alloc_refuse(nth);
		rc = costs_apply(v, file, &err);
		was = alloc_was_refused();
		if (was ? rc != -ENOMEM : rc != 0)
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		verdict_destroy(v);
		if (!was)
			break;
	}
	unlink(file);
}

UNIT_TEST(report_variants)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
		cmocka_unit_test(endings),
		cmocka_unit_test(costs),
		cmocka_unit_test(costs_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
