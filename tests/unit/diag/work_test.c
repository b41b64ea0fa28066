/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A verdict's work grows in proportion to steps and reports. Counted, not timed: the diagnosis is compiled so that it
 * calls us at every basic block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench/stream.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "diag/vedrfolnir/section.h"

#define TOLERANCE 1.1 /* logarithms, where something is looked up */

void __sanitizer_cov_trace_pc(void);

static uint64_t blocks;

void
__sanitizer_cov_trace_pc(void)
{
	blocks++;
}

struct work {
	double taking_in, verdict; /* blocks */
};

static struct work
work_of(struct bench_shape shape)
{
	static const struct diagnoser row = { .name = VEDRFOLNIR_NAME,
					      .reads = DIAGNOSER_READS(REC_RUN),
					      .options_bytes = sizeof(struct vedrfolnir_options),
					      .diagnose = vedrfolnir_diagnose,
					      .destroy = vedrfolnir_destroy };
	const struct diagnosis asked = { .by = &row };
	struct verdict *verdict = NULL;
	struct bench_stream records;
	struct evidence evidence;
	struct stream stream;
	struct work work;
	struct err err = { 0 };

	assert_int_equal(bench_stream_make(&records, &shape, &err), 0);
	evidence_init(&evidence);
	stream_init(&stream, &evidence);
	blocks = 0;
	if (stream_feed(&stream, records.data, records.used_bytes, &err) != 0)
		fail_msg("%s", err.text);
	work.taking_in = (double)blocks;
	blocks = 0;
	assert_int_equal(stream_finish(&stream, &err), 0);
	assert_int_equal(verdict_build(&evidence, &asked, 1, &verdict, &err), 0);
	work.verdict = (double)blocks;
	assert_true(verdict->nfindings > 0);
	verdict_destroy(verdict);
	evidence_fini(&evidence);
	stream_fini(&stream);
	bench_stream_fini(&records);
	return work;
}

/* @param times  by so much the second shape is larger */
static void
assert_proportional(struct bench_shape small, struct bench_shape large, double times)
{
	struct work a = work_of(small), b = work_of(large);

	print_message("%.0f times as much: %.2f times the work to take in, %.2f to the verdict\n", times,
		      b.taking_in / a.taking_in, b.verdict / a.verdict);
	assert_true(b.taking_in < TOLERANCE * times * a.taking_in);
	assert_true(b.verdict < TOLERANCE * times * a.verdict);
}

/* N ranks and S steps. */
static void
test_steps(void **state)
{
	(void)state;
	assert_proportional((struct bench_shape){ 8, 8, 20, 4, 1 }, (struct bench_shape){ 32, 32, 20, 4, 1 }, 16);
}

/* A fabric that grows with its ranks. */
static void
test_switches(void **state)
{
	(void)state;
	assert_proportional((struct bench_shape){ 16, 3, 20, 40, 3 }, (struct bench_shape){ 64, 3, 80, 40, 3 }, 4);
}

/* A run that continues for longer. */
static void
test_reports(void **state)
{
	(void)state;
	assert_proportional((struct bench_shape){ 16, 3, 20, 40, 3 }, (struct bench_shape){ 16, 24, 20, 320, 24 }, 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps), cmocka_unit_test(test_switches),
					    cmocka_unit_test(test_reports) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
