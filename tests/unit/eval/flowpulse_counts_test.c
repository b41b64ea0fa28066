/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios of the evaluation's runs, and recordings to counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/record/frame.h"
#include "common/wire/record.h"
#include "eval/flowpulse/study.h"
#include "tests/unit/unit.h"

#define FIRST_LEAF 8 /* of a fabric of 4 leaves and 8 hosts */

static const struct fp_fabric fabric = { .leaves = 4, .spines = 2, .hosts_per_leaf = 2 };
static char dir[64], path[128];
static struct err err;

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/flowpulse_counts_test.XXXXXX");
	err.text[0] = '\0';
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void
put(struct recframe *frame, void *rec, uint16_t type, uint16_t size, uint32_t node, uint64_t time_ps)
{
	struct rec_hdr *hdr = rec;

	*hdr = (struct rec_hdr){ .type = type, .size = size, .node = node, .time_ps = time_ps };
	assert_true(recframe_put(frame, hdr));
}

/* A recording of one frame: of leaf 2 two volumes and an alarm. */
static void
record(uint32_t sender)
{
	static struct recframe frame;
	struct rec_stream stream = { REC_MAGIC, REC_VERSION, sizeof(stream) };
	struct rec_volume volumes[] = {
		{ .port = 2,
		  .sender = sender,
		  .iteration = 1,
		  .predicted = 900,
		  .seen = 800,
		  .packets = 8,
		  .flaws = 1u << REC_FLAW_UNEVEN },
		{ .port = 3, .sender = sender, .predicted = 900, .seen = 950, .packets = 9, .flaws = 1 }
	};
	struct rec_volume_alarm alarm = { .port = 2,
					  .place = REC_LOSS_PAIR,
					  .sender = sender,
					  .iteration = 1,
					  .pooled = 1,
					  .drop_ppm = 100000,
					  .low_ppm = 90000,
					  .high_ppm = 120000 };
	const struct rec_hdr *whole;
	FILE *to;

	recframe_begin(&frame, 7000);
	put(&frame, &volumes[0], REC_VOLUME, sizeof(volumes[0]), FIRST_LEAF + 2, 5000);
	put(&frame, &volumes[1], REC_VOLUME, sizeof(volumes[1]), FIRST_LEAF + 2, 5000);
	put(&frame, &alarm, REC_VOLUME_ALARM, sizeof(alarm), FIRST_LEAF + 2, 6000);
	whole = recframe_end(&frame);
	snprintf(path, sizeof(path), "%s/records.bin", dir);
	to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(fwrite(&stream, sizeof(stream), 1, to), 1);
	assert_int_equal(fwrite(whole, whole->size, 1, to), 1);
	fclose(to);
}

static void
a_recording_is_a_grid(void **state)
{
	const struct fp_cell *cell;
	struct fp_grid *grid;

	(void)state;
	record(FIRST_LEAF + 1);
	grid = fp_counts_read(path, &fabric, &err);
	assert_non_null(grid);
	assert_int_equal(grid->iterations, 2);
	assert_int_equal(grid->nrows, 1);
	assert_int_equal(grid->paths, 2);
	assert_int_equal(grid->rows[0].leaf, 2);
	assert_int_equal(grid->rows[0].sender, 1);
	cell = fp_cell(grid, 1, 0, 0);
	assert_int_equal(cell->bytes.predicted, 900);
	assert_int_equal(cell->bytes.seen, 800);
	assert_int_equal(cell->packets, 8);
	assert_int_equal(cell->end_ps, 5000);
	assert_int_equal(cell->is_sound, 1);
	assert_int_equal(fp_cell(grid, 0, 0, 1)->is_sound, 0);
	assert_int_equal(fp_cell(grid, 0, 0, 0)->bytes.predicted, 0);
	assert_int_equal(grid->nalarms, 1);
	assert_memory_equal(grid->alarms, (&(struct fp_alarm){ 1, 2, 0, 1, REC_LOSS_PAIR, 100000, 90000, 120000 }),
			    sizeof(struct fp_alarm));
	assert_in_range(grid->exported_bytes, sizeof(struct rec_hdr), REC_FRAME_MAX_BYTES);
	fp_grid_destroy(grid);
}

static void
what_is_no_such_recording_is_refused(void **state)
{
	(void)state;
	record(FIRST_LEAF + 4); /* a spine sends nothing */
	assert_null(fp_counts_read(path, &fabric, &err));
	assert_non_null(strstr(err.text, "not of this fabric"));
	err.text[0] = '\0';
	assert_int_equal(truncate(path, 60), 0);
	assert_null(fp_counts_read(path, &fabric, &err));
	assert_non_null(strstr(err.text, "is damaged"));
	err.text[0] = '\0';
	assert_int_equal(truncate(path, 16), 0);
	assert_null(fp_counts_read(path, &fabric, &err));
	assert_non_null(strstr(err.text, "no counts"));
	err.text[0] = '\0';
	assert_int_equal(truncate(path, 10), 0);
	assert_null(fp_counts_read(path, &fabric, &err));
	assert_non_null(strstr(err.text, "no recording"));
	unlink(path);
	err.text[0] = '\0';
	assert_null(fp_counts_read(path, &fabric, &err));
	assert_non_null(strstr(err.text, "No such file"));
}

static void
links_are_ports_of_the_scenario(void **state)
{
	struct fp_spec spec = { .purpose = "test",
				.fabric = fabric,
				.spraying = "adaptive",
				.prediction = "analytical",
				.rings = 2,
				.packets = 70,
				.iterations = 5,
				.seed = 3,
				.links = { { .row = 0, .path = 1, .is_up = true, .drop = 0.015 },
					   { .row = 2, .path = 0, .is_known = true },
					   { .row = 1, .path = 1, .is_known = true, .drop = 0.05 } },
				.nlinks = 3 };
	struct fp_fault faults[FP_MAX_FAULTS];
	char text[4096] = "", name[FP_NAME];
	FILE *from;

	(void)state;
	assert_int_equal(fp_spec_write(&spec, dir, &err), 0);
	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	from = fopen(path, "r");
	assert_non_null(from);
	assert_true(fread(text, 1, sizeof(text) - 1, from) > 0);
	fclose(from);
	assert_non_null(strstr(text, "rate = 0.015; port = \"l3:4\";")); /* ring: the leaf before the first is the last */
	assert_non_null(strstr(text, "known = true; port = \"s0:3\";"));
	assert_non_null(strstr(text, "known = true; rate = 0.05; port = \"s1:2\";"));
	assert_non_null(strstr(text, "step_bytes = 20480; stride = 3;")); /* 70 packets * 2 paths / 7 steps */
	assert_float_equal(fp_spec_packets(&spec), 70, 1e-9);
	assert_int_equal(fp_spec_faults(&spec, faults), 1);
	assert_int_equal(faults[0].path, 1);
	fp_spec_name(&spec, name);
	assert_string_equal(name, "test-4x2-adaptive-70-5-3");
}

/* Every second row has one, at paths of no link that is down; drop rates take turns. */
static void
faults_are_drawn(void **state)
{
	const double drops[] = { 0.01, 0.02 };
	uint32_t up = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct fp_spec spec = { .fabric = { 16, 2, 1 }, .seed = seed };

		for (uint32_t row = 0; row < 16; row++)
			spec.links[spec.nlinks++] = (struct fp_link){ .row = row, .path = 1, .is_known = true };
		fp_spec_add_faults(&spec, drops, 2);
		assert_int_equal(spec.nlinks, 24);
		for (uint32_t i = 16; i < 24; i++) {
			assert_int_equal(spec.links[i].row, 2 * (i - 16) + seed % 2);
			assert_int_equal(spec.links[i].path, 0);
			assert_true(spec.links[i].drop != spec.links[i < 23 ? i + 1 : 22].drop);
			up += spec.links[i].is_up;
		}
	}
	assert_in_range(up, 50, 110);
}

/* Runs that follow each other give every drop rate as many links, however few leaves they have. */
static void
every_rate_has_its_links(void **state)
{
	static const double drops[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	(void)state;
	for (uint32_t leaves = 8; leaves <= 32; leaves *= 2) {
		uint32_t links[9] = { 0 };

		for (uint64_t seed = 64; seed < 68; seed++) {
			struct fp_spec spec = { .fabric = { leaves, 4, 1 }, .seed = seed };

			fp_spec_add_faults(&spec, drops, 8);
			for (uint32_t i = 0; i < spec.nlinks; i++)
				links[(uint32_t)spec.links[i].drop]++;
		}
		for (uint32_t rate = 1; rate <= 8; rate++)
			assert_int_equal(links[rate], leaves / 2 * 4 / 8);
	}
}

UNIT_TEST(flowpulse_counts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_recording_is_a_grid, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_such_recording_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(links_are_ports_of_the_scenario, setup, teardown),
		cmocka_unit_test(every_rate_has_its_links),
		cmocka_unit_test(faults_are_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
