/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences that are made of typed facts: claims about the network, missing evidence, the evidence of findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/ending.h"
#include "diag/report/facts.h"
#include "tests/unit/diag/report_fixture.h"
#include "tests/unit/unit.h"

static void
claims(void **state)
{
	static const struct {
		struct claim claim;
		const char *reported;
	} cases[] = {
		{ { .kind = CLAIM_NOTHING_DONE }, "No step was reported as finished: no verdict is possible." },
		{ { .kind = CLAIM_IN_TIME, .innocent = true },
		  "Every step reported took at most 1 % longer than expected." },
		{ { .kind = CLAIM_IN_SUM },
		  "No step was slow by itself, but in sum they lost time that nothing explains." },
		{ { .kind = CLAIM_UNWATCHED, .slow = 3, .unwatched = 2 },
		  "3 of 56 steps were slow and nothing that was reported explains it, but 2 of them went without telemetry "
		  "for half of their time or more." },
		{ { .kind = CLAIM_ACKS, .slow = 3, .ack_share = 0.089 },
		  "3 of 56 steps were slow, by at most the 8.9 % that ACKs of other flows on their path can cost." },
		{ { .kind = CLAIM_NO_SIGN, .slow = 3 },
		  "3 of 56 steps were slow, but no port on their path was paused, contended or dropped a packet." },
		{ { .kind = CLAIM_NO_SIGN, .slow = 3, .paused = true, .contended = true },
		  "3 of 56 steps were slow, and the pauses and queues on their path explain too little of it." },
		{ { .kind = CLAIM_NO_SIGN, .slow = 3, .dropped = true },
		  "3 of 56 steps were slow, and the drops on their path explain too little of it." },
		{ { .kind = CLAIM_INCOMPLETE, .slow = 3 },
		  "3 of 56 steps were slow and nothing that was reported explains it, but the evidence is incomplete." },
	};
	struct verdict *v = fixture_clean();
	char buf[FACTS_REASON];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		v->sections[0].claim = cases[i].claim;
		assert_string_equal(facts_reason(v, buf), cases[i].reported);
		assert_int_equal(facts_innocent(v), cases[i].claim.innocent);
	}
	v->run.end_reason = REC_END_STALL;
	v->sections[0].claim = cases[1].claim;
	assert_string_equal(facts_reason(v, buf),
			    "Every step reported before the run ended took at most 1 % longer than expected.");
	verdict_destroy(v);
}

static void
claims_about_findings(void **state)
{
	struct verdict *v = fixture_case();
	char buf[FACTS_REASON];

	assert_string_equal(
		facts_reason(v, buf),
		"6 of 56 steps were slow; the strongest cause is flow-contention at 6:2 by "
		"13->19/10001>10001. 17->18/10000>10000 step 2 took 70.134 ms instead of 30.757 ms: its 83411 "
		"packets reported at 6:2 had 51034112 packets of 13->19/10001>10001 ahead of them, 611.84 each.");
	for (uint32_t i = 0; i < v->nfindings; i++)
		v->findings[i].type = FINDING_SLOW_HOST;
	v->sections[0].claim = (struct claim){ .kind = CLAIM_HOSTS_LATE, .innocent = true };
	assert_int_equal(v->nfindings, 6);
	for (uint32_t i = 0; i < v->nfindings; i++)
		snprintf(v->findings[i].root, sizeof(v->findings[i].root), "h%u", i);
	assert_non_null(strstr(facts_reason(v, buf), "late were the hosts: h0, h1, h2, h3 and 2 more. "));
	snprintf(v->findings[0].root, sizeof(v->findings[0].root), "6:2");
	for (uint32_t i = 2; i < v->nfindings; i++)
		finding_fini(&v->findings[i]);
	v->nfindings = 2;
	snprintf(v->findings[1].root, sizeof(v->findings[1].root), "17");
	v->findings[0].evidence.ps = 5e9;
	assert_string_equal(
		facts_reason(v, buf),
		"The network carried every step in time; late were the hosts: 6:2, 17. 13->19/10001>10001 step 2 "
		"started 5.000 ms after everything it depends on was there (30.757 ms expected for the whole "
		"step).");
	verdict_destroy(v);
}

static void
missing_evidence(void **state)
{
	struct verdict *v = fixture_clean();
	char buf[FACTS_INCOMPLETE];

	assert_true(verdict_complete(v));
	assert_string_equal(facts_incomplete(v, buf), "");
	v->sections[0].skipped = 7;
	v->sections[0].limit = 4096;
	assert_false(verdict_complete(v));
	assert_string_equal(facts_incomplete(v, buf), "7 slow steps beyond the first 4096 were not explained.");
	v->sections[0].skipped = 0;
	v->run.truncated = true;
	v->run.end_ps = 1500000000;
	v->run.missing.torn_bytes = 12;
	v->run.overhead.left_out = 2;
	v->run.missing.left_out_node = 6;
	strcpy(v->run.missing.left_out_why, "bad");
	v->run.overhead.astray = 3;
	v->run.missing.steps = 4;
	v->run.missing.unscheduled = 5;
	assert_string_equal(
		facts_incomplete(v, buf),
		"The record stream broke off 1.500000 ms into the run, without its end record and 12 B into a "
		"record: the rest is unknown. 2 bad records were left out, the first of 6: bad. 3 records that the "
		"end record counts did not arrive. 4 of 56 steps were never reported: the run did not get to them, "
		"or their reports are lost. 5 step records match no scheduled step.");
	assert_false(run_complete(&v->run));
	verdict_destroy(v);
}

static void
evidence_of_findings(void **state)
{
	static const struct {
		const struct finding_type *type;
		struct finding_evidence seen;
		const char *reported; /* behind the step */
	} cases[] = {
		{ FINDING_INCAST,
		  { .count = 4, .node = 18, .depth_packets = 90, .waits = 1234 },
		  ": 4 other flows to 18 shared 6:2, up to 90 packets deep, and put 1234 packets ahead of its own" },
		{ FINDING_PFC_BACKPRESSURE,
		  { .ps = 1e9, .of_ps = 2e9, .percent = 49.6, .depth_packets = 9, .flow = F13_19, .flows = 3 },
		  ": 2:3 was paused by PFC for 1.000 of 2.000 ms reported, 50 % of it owed to the queue of 6:2, up to 9 "
		  "packets "
		  "deep, filled by 13->19/10001>10001 and 2 others" },
		{ FINDING_PFC_BACKPRESSURE,
		  { .ps = 1e9, .of_ps = 2e9, .percent = 100, .depth_packets = 9 },
		  ": 2:3 was paused by PFC for 1.000 of 2.000 ms reported, 100 % of it owed to the queue of 6:2, up to 9 "
		  "packets deep, filled by flows that were not reported" },
		{ FINDING_LINK_DOWN,
		  { .count = 17 },
		  ": 6:2 counts 17 packets dropped because the link was down; it sent 0 packets again" },
		{ FINDING_LINK_DOWN,
		  { .clauses = { 1 } },
		  ": 6:2 was cut, with 0 packets dropped because the link was down; it sent 0 packets again" },
	};
	struct verdict *v = fixture_case();
	uint32_t step = fixture_step(v, 5, 2);
	char buf[FACTS_EVIDENCE];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct finding finding = { .type = cases[i].type, .evidence = cases[i].seen };
		const char *reported;

		finding.evidence.nclauses = 1;
		finding.evidence.step = step;
		finding.evidence.port = fixture_port(v, "6:2");
		finding.evidence.other_port = fixture_port(v, "2:3");
		reported = facts_evidence(v, &finding, buf);
		assert_string_equal(strchr(reported, ':'), cases[i].reported);
	}
	v->run.steps[step].open = true;
	v->run.end_reason = REC_END_QP_ERROR;
	v->run.end_node = v->run.steps[step].host;
	{
		const struct finding lost = { .type = FINDING_PACKET_LOSS,
					      .evidence = { .clauses = { 1 }, .nclauses = 1, .step = step } };

		assert_string_equal(
			facts_evidence(v, &lost, buf),
			"17->18/10000>10000 step 2 was still open after 70.134 ms (30.757 ms expected): it sent "
			"packets again until its retries were spent, and no port that reported counted a drop of "
			"them");
	}
	verdict_destroy(v);
}

UNIT_TEST(sentences)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims),
		cmocka_unit_test(claims_about_findings),
		cmocka_unit_test(missing_evidence),
		cmocka_unit_test(evidence_of_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
