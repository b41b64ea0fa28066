/* SPDX-License-Identifier: BSD-3-Clause */
/* MSCCL's XML: what its steps become, and what is refused, with its line. */
#include "tests/unit/collectives/import_rig.h"

#include "common/array.h"
#include "common/units.h"
#include "tests/unit/unit.h"

/* A text that grows. */
struct text {
	char bytes[1 << 16];
	size_t used;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->used += (size_t)vsnprintf(t->bytes + t->used, sizeof(t->bytes) - t->used, fmt, ap);
	va_end(ap);
	assert_true(t->used < sizeof(t->bytes));
}

static void
step(struct text *t, int s, const char *type, const char *src, int srcoff, const char *dst, int dstoff)
{
	add(t,
	    "<step s=\"%d\" type=\"%s\" srcbuf=\"%s\" srcoff=\"%d\" dstbuf=\"%s\" dstoff=\"%d\" cnt=\"1\" depid=\"-1\" "
	    "deps=\"-1\" hasdep=\"0\"/>\n",
	    s, type, src, srcoff, dst, dstoff);
}

static void
algo(struct text *t, const char *coll, int gpus, int chunks, bool in_place)
{
	t->used = 0;
	add(t,
	    "<algo name=\"a\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"%d\" ngpus=\"%d\" coll=\"%s\" "
	    "inplace=\"%d\" outofplace=\"%d\" minBytes=\"0\" maxBytes=\"0\">\n",
	    chunks, gpus, coll, in_place, !in_place);
}

/* AllReduce by a ring: first hop s, n-2 hops with fused, then one that finishes, n-2 that copy and send, a last receive. */
static void
ring_allreduce(struct text *t, int n, bool in_place, const char *fused)
{
	const char *in = "i", *out = in_place ? "i" : "o";

	algo(t, "allreduce", n, n, in_place);
	for (int g = 0; g < n; g++) {
		int s = 0;

		add(t, "<gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"0\">\n", g, n, in_place ? 0 : n);
		add(t, "<tb id=\"0\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", (g + 1) % n, (g + n - 1) % n);
		step(t, s++, "s", in, (g + n - 1) % n, in, (g + n - 1) % n);
		for (int hop = 2; hop < n; hop++)
			step(t, s++, fused, in, (g + n - hop) % n, in, (g + n - hop) % n);
		step(t, s++, "rrcs", in, g, out, g);
		for (int hop = 1; hop < n - 1; hop++)
			step(t, s++, "rcs", in, (g + n - hop) % n, out, (g + n - hop) % n);
		step(t, s++, "r", in, (g + 1) % n, out, (g + 1) % n);
		add(t, "</tb>\n</gpu>\n");
	}
	add(t, "</algo>\n");
}

static struct coll_schedule *
built_in(enum coll_op op, uint32_t ranks, uint64_t count)
{
	struct err err = { 0 };
	struct coll_schedule *s = coll_schedule_create(
		&(struct coll_params){ .op = op, .algorithm = COLL_RING, .ranks = ranks, .count_elems = count }, &err);

	assert_non_null(s);
	return s;
}

/* In place it is the ring that is built in, by "rrs" as well as by "rrcs". */
static void
a_ring_is_the_ring(void **state)
{
	static const char *const fused[] = { "rrs", "rrcs" };
	struct coll_schedule *ours = built_in(COLL_ALLREDUCE, 5, 100);
	struct text t;

	for (size_t i = 0; i < ARRAY_LEN(fused); i++) {
		struct coll_schedule *s;

		ring_allreduce(&t, 5, true, fused[i]);
		s = must_import(IMPORT_MSCCL, t.bytes, 100, 0);
		assert_int_equal(s->op, COLL_ALLREDUCE);
		assert_int_equal(s->algorithm, COLL_FILE);
		must_be_alike(s, ours, true);
		coll_schedule_destroy(s);
	}
	coll_schedule_destroy(ours);
}

/* Adding takes its time: a step between the arrival and what is sent on. */
static void
adding_takes_time(void **state)
{
	struct coll_schedule *s;
	struct text t;

	ring_allreduce(&t, 4, true, "rrs");
	s = must_import(IMPORT_MSCCL, t.bytes, 400, 32000000000);
	for (uint32_t rank = 0; rank < 4; rank++) {
		assert_int_equal(coll_steps(s, rank), 6 + 3);
		assert_int_equal(coll_step_at(s, rank, 2)->peer, rank);
		assert_int_equal(coll_step_at(s, rank, 2)->compute_ps, 100 * PS_PER_NS); /* 400 B at 4 GB/s */
		assert_int_equal(coll_step_at(s, rank, 2)->count_elems, 0);
		assert_true(waits_for(s, rank, 2, (rank + 3) % 4, 1));
		assert_true(waits_for(s, rank, 3, rank, 2));
	}
	coll_schedule_destroy(s);
}

/* The block of the input is where the output has it: an AllGather by "r" and "rcs". */
static void
an_allgather_is_in_its_own_block(void **state)
{
	struct coll_schedule *ours = built_in(COLL_ALLGATHER, 4, 80), *s;
	struct text t;

	algo(&t, "allgather", 4, 4, true);
	for (int g = 0; g < 4; g++) {
		add(&t, "<gpu id=\"%d\" i_chunks=\"1\" o_chunks=\"4\" s_chunks=\"0\">\n", g);
		add(&t, "<tb id=\"0\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", (g + 1) % 4, (g + 3) % 4);
		step(&t, 0, "s", "i", 0, "o", g);
		step(&t, 1, "rcs", "i", 0, "o", (g + 3) % 4);
		step(&t, 2, "rcs", "i", 0, "o", (g + 2) % 4);
		step(&t, 3, "r", "i", 0, "o", (g + 1) % 4);
		add(&t, "</tb>\n</gpu>\n");
	}
	add(&t, "</algo>\n");
	s = must_import(IMPORT_MSCCL, t.bytes, 80, 0);
	must_be_alike(s, ours, true);
	coll_schedule_destroy(s);
	coll_schedule_destroy(ours);
}

/* Two gpus that exchange; gpu 0's part is given. */
#define HEAD                                                                                                               \
	"<algo name=\"x\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"custom\" inplace=\"0\">\n"
#define GPU0 "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"1\">\n"
#define GPU1                                                                                                               \
	"<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" recv=\"0\" chan=\"0\">\n"      \
	"<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" " \
	"hasdep=\"0\"/>\n"                                                                                                 \
	"<step s=\"1\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" " \
	"hasdep=\"0\"/>\n</tb></gpu>\n</algo>\n"
#define STEP(s, type, src, dst, rest)                                                                                      \
	"<step s=\"" s "\" type=\"" type "\" srcbuf=\"" src "\" srcoff=\"0\" dstbuf=\"" dst "\" dstoff=\"0\" " rest "/>\n"
#define ALONE "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\""
#define SIGNALS "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\""
#define BLOCK(id, send, recv) "<tb id=\"" id "\" send=\"" send "\" recv=\"" recv "\" chan=\"0\">\n"

/* Thread block 1 copies to scratch; 0 waits for it through a nop and a step of its own, and then receives. */
static void
dependencies_go_across_thread_blocks(void **state)
{
	struct coll_schedule *s = must_import(
		IMPORT_MSCCL,
		HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "nop", "i", "o", "cnt=\"0\" depid=\"1\" deps=\"0\" hasdep=\"0\"")
			STEP("1", "s", "s", "o", "cnt=\"1\" depid=\"2\" deps=\"0\" hasdep=\"0\"")
				STEP("2", "r", "i", "o", ALONE) "</tb>\n" BLOCK("1", "-1", "-1")
					STEP("0", "cpy", "i", "s", SIGNALS) "</tb>\n" BLOCK("2", "-1", "-1")
						STEP("0", "re", "i", "s",
						     "cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"1\"") "</tb></gpu>\n" GPU1,
		20, 0);

	assert_int_equal(s->op, COLL_CUSTOM);
	assert_int_equal(coll_steps(s, 0), 3);
	for (uint32_t step = 1; step <= 2; step++) {
		const struct coll_step *at = coll_step_at(s, 0, step);

		assert_int_equal(at->peer, 0);
		assert_int_equal(at->src_elems, 0);
		assert_int_equal(at->dst_elems, 40); /* scratch is behind input and output */
		assert_int_equal(at->count_elems, 10);
		assert_int_equal(at->reduce, step == 2);
		assert_true(waits_for(s, 0, step + 1, 0, step));
	}
	assert_int_equal(coll_step_at(s, 0, 3)->ndeps, 1); /* the second has waited for the first */
	assert_int_equal(coll_step_at(s, 0, 3)->src_elems, 40);
	assert_int_equal(coll_step_at(s, 0, 3)->dst_elems, 20); /* the output of gpu 1 */
	coll_schedule_destroy(s);
}

/*
 * Both chunks come through one chunk of scratch: the second would overwrite the first if it came early, as it may. So
 * messages have places of their own, from where they are copied when it is their turn.
 */
static void
early_messages_wait_in_places_of_their_own(void **state)
{
	struct coll_schedule *s;
	struct text t;

	algo(&t, "allreduce", 2, 2, true);
	for (int g = 0; g < 2; g++) {
		add(&t, "<gpu id=\"%d\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"1\">\n", g);
		add(&t, "<tb id=\"0\" send=\"%d\" recv=\"-1\" chan=\"0\">\n", 1 - g);
		for (int chunk = 0; chunk < 2; chunk++)
			add(&t,
			    "<step s=\"%d\" type=\"s\" srcbuf=\"i\" srcoff=\"%d\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" "
			    "depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>\n",
			    chunk, chunk);
		add(&t, "</tb><tb id=\"1\" send=\"-1\" recv=\"%d\" chan=\"0\">\n", 1 - g);
		for (int chunk = 0; chunk < 2; chunk++) {
			step(&t, 2 * chunk, "r", "i", chunk, "s", 0);
			add(&t,
			    "<step s=\"%d\" type=\"re\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"%d\" cnt=\"1\" "
			    "depid=\"0\" deps=\"%d\" hasdep=\"0\"/>\n",
			    2 * chunk + 1, chunk, chunk);
		}
		add(&t, "</tb></gpu>\n");
	}
	add(&t, "</algo>\n");
	s = must_import(IMPORT_MSCCL, t.bytes, 20, 0);
	assert_int_equal(s->op, COLL_ALLREDUCE);
	assert_int_equal(coll_steps(s, 0), 2 + 2 + 2); /* sends, copies to scratch, sums */
	assert_int_equal(s->memory_elems, 20 + 10 + 2 * 10);
	coll_schedule_destroy(s);
}

static void
refuse(const char *text, int line, const char *why)
{
	must_refuse(IMPORT_MSCCL, text, 20, line, why);
}

static void
what_is_no_algorithm_is_refused(void **state)
{
	refuse("", 1, "no XML");
	refuse("<algo", 1, "no XML");
	refuse("<graph/>", 1, "found <graph>; <algo> would be right");
	refuse("<algo/>", 1, "algo has no attribute \"name\"");
	refuse(HEAD "</algo>", 1, "0 <gpu>, but ngpus=\"2\"");
	refuse(HEAD GPU0, 3, "no XML");
	refuse(HEAD GPU0 "</gpu>" GPU0 "</gpu></algo>", 3, "gpu 0 is already in line 2");
	refuse(HEAD "<tb/></algo>", 2, "found <tb>; <gpu> would be right");
	refuse(HEAD "<gpu id=\"7\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\"></gpu>\n" GPU1, 2, "ids go to 1");
	refuse(HEAD "<gpu id=\"0\" i_chunks=\"3\" o_chunks=\"0\" s_chunks=\"0\"></gpu>\n" GPU1, 2, "3 chunks in a buffer");
	refuse(HEAD "<gpu id=\"0\" i_chunks=\"-1\" o_chunks=\"0\" s_chunks=\"0\"></gpu>\n" GPU1, 2,
	       "gpu.i_chunks: found \"-1\"");
	refuse(HEAD "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\" colour=\"2\"></gpu>\n" GPU1, 2,
	       "\"colour\" that is unknown here");
	refuse("<algo name=\"x\" nchunksperloop=\"2\" ngpus=\"200000\" coll=\"custom\" inplace=\"0\"/>", 1,
	       "found \"200000\"; a number from 2 to 65536");
	refuse("<algo name=\"x\" nchunksperloop=\"3\" ngpus=\"2\" coll=\"custom\" inplace=\"0\">"
	       "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\"/><gpu id=\"1\" i_chunks=\"1\" o_chunks=\"0\" "
	       "s_chunks=\"0\"/></algo>",
	       1, "84 B would be");
}

static void
what_steps_cannot_be_is_refused(void **state)
{
	refuse(HEAD GPU0 BLOCK("0", "0", "1") "</tb></gpu>" GPU1, 3, "has its own gpu for a peer");
	refuse(HEAD GPU0 BLOCK("0", "5", "1") "</tb></gpu>" GPU1, 3, "there are 2 gpus");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") "</tb>" BLOCK("0", "-1", "-1") "</tb></gpu>" GPU1, 4, "is already in line 3");
	refuse(HEAD GPU0 BLOCK("0", "1", "-1") "</tb>" BLOCK("1", "1", "-1") "</tb></gpu>" GPU1, 4,
	       "as tb 0 in line 3 does");
	refuse(HEAD GPU0 BLOCK("0", "-1", "1") "</tb>" BLOCK("1", "-1", "1") "</tb></gpu>" GPU1, 4,
	       "their messages cannot be distinguished");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("1", "s", "i", "o", ALONE) "</tb></gpu>" GPU1, 4, "0 is next");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "put", "i", "o", ALONE) "</tb></gpu>" GPU1, 4,
	       "found \"put\"; one of s, r, rcs");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "q", "o", ALONE) "</tb></gpu>" GPU1, 4,
	       "found \"q\"; one of i, o, s");
	refuse(HEAD GPU0 BLOCK("0", "-1", "1") STEP("0", "s", "i", "o", ALONE) "</tb></gpu>" GPU1, 4,
	       "has no peer to send to");
	refuse(HEAD GPU0 BLOCK("0", "1", "-1") STEP("0", "r", "i", "o", ALONE) "</tb></gpu>" GPU1, 4,
	       "has no peer to receive from");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "s", "o", "cnt=\"2\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "2 chunks from 0 of a buffer that has 1");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "i", "o",
			    "cnt=\"99999999999999999999\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "step.cnt: found");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "i", "o", "cnt=\"1\" depid=\"3\" deps=\"0\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "waits for tb 3, which gpu 0 has not");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "i", "o", "cnt=\"1\" depid=\"0\" deps=\"4\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "which has 1 steps");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "i", "o", "cnt=\"1\" depid=\"0\" deps=\"-1\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "only one of them has a dependency");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP(
		       "0", "s", "i", "o", "cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"0\"") "</tb>" BLOCK("1", "-1", "-1")
		       STEP("0", "cpy", "i", "s", ALONE) "</tb></gpu>" GPU1,
	       4, "no step waits for it");
}

/* An element, an attribute, a channel and a buffer that cannot be, each at its edge. */
static void
what_stands_elsewhere_is_refused(void **state)
{
	static const char long_name[] =
		"<algo name=\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
		"\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"custom\" inplace=\"0\"/>";

	refuse(long_name, 1, "algo.name: found \"nnn");
	refuse(long_name, 1, "a text of less than ");
	refuse(HEAD GPU0 "<step/></gpu></algo>", 3, "found <step>; <tb> would be right");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") "<gpu/></tb></gpu></algo>", 4, "found <gpu>; <step> would be right");
	refuse(HEAD GPU0 BLOCK("0", "1",
			       "1") "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
				    "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\">\n<step/></step></tb></gpu></algo>",
	       5, "found <step>; nothing within a step would be right");
	refuse(HEAD GPU0 BLOCK("0", "1", "5") "</tb></gpu>" GPU1, 3, "peer 5; there are 2 gpus");
	refuse(HEAD GPU0 BLOCK("0", "1", "0") "</tb></gpu>" GPU1, 3, "has its own gpu for a peer");
	refuse(HEAD GPU0 BLOCK("0", "1",
			       "1") "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" dstoff=\"0\" " ALONE
				    "/></tb></gpu>" GPU1,
	       4, "srcoff: 1 chunks from -1 of a buffer that has 2");
	refuse(HEAD GPU0 BLOCK("0", "1",
			       "1") "<step s=\"0\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"2\" " ALONE
				    "/></tb></gpu>" GPU1,
	       4, "dstoff: 1 chunks from 2 of a buffer that has 2");
	refuse(HEAD GPU0 BLOCK("0", "1", "1")
		       STEP("0", "s", "i", "o", "cnt=\"1\" depid=\"3\" deps=\"0\" hasdep=\"0\"") "</tb>" BLOCK(
			       "7", "-1", "-1") "</tb></gpu>" GPU1,
	       4, "waits for tb 3, which gpu 0 has not");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", ALONE) STEP("1", "r", "i", "o",
										   ALONE) "</tb>" BLOCK("1", "-1", "-1")
		       STEP("0", "cpy", "i", "s", "cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"1\"") "</tb></gpu>" GPU1,
	       7, "gpu 0 tb 1 step 0 waits for itself");
	refuse(HEAD GPU0 BLOCK("0", "-1", "-1")
		       STEP("0", "nop", "i", "o", "cnt=\"0\" depid=\"-1\" deps=\"0\" hasdep=\"0\"") "</tb></gpu>" GPU1,
	       4, "only one of them has a dependency");
	must_refuse(IMPORT_MSCCL, HEAD GPU0 "</gpu>" GPU1, 0, 1, "0 B are no whole number of elements");
}

static void
what_would_hang_is_refused(void **state)
{
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", ALONE) "</tb></gpu>" GPU1, 6,
	       "has no receive of it");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", ALONE) STEP("1", "r", "i", "o", ALONE)
		       STEP("2", "r", "i", "o", ALONE) "</tb></gpu>" GPU1,
	       6, "is a receive without a send");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", "cnt=\"2\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"")
		       STEP("1", "r", "i", "o", ALONE) "</tb></gpu>" GPU1,
	       4, "sends 80 B to one that wants 40");
	refuse(HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", "cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"1\"")
		       STEP("1", "r", "i", "o", ALONE) "</tb>" BLOCK("1", "-1", "-1") STEP(
			       "0", "cpy", "i", "s", "cnt=\"1\" depid=\"0\" deps=\"0\" hasdep=\"1\"") "</tb></gpu>" GPU1,
	       0, "waits for itself, through");
}

/* Sizes and rates that no run could have are errors, not assertions: 2 chunks of the vector a message. */
static void
sizes_have_limits(void **state)
{
	static const char text[] = HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", ALONE)
		STEP("1", "r", "i", "o", ALONE) "</tb></gpu>" GPU1;
	static const char none[] = HEAD GPU0 BLOCK("0", "1", "1")
		STEP("0", "s", "i", "o", "cnt=\"0\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"") "</tb></gpu>" GPU1;
	struct import_options options = { .kind = IMPORT_MSCCL, .elem_bytes = 4, .count_elems = 2000, .local_bps = 1 };
	struct err err = { 0 };

	must_refuse(IMPORT_MSCCL, text, 1ull << 32, 4, "chunks have 8589934592 B; 2 GiB at most");
	must_refuse(IMPORT_MSCCL, text, 1ull << 50, 1, "a vector of 1125899906842624 elements; 1099511627776 at most");
	must_refuse(IMPORT_MSCCL, none, 20, 4, "cnt: found \"0\"; 1 at least");
	options.path = write_file("slow", text, strlen(text));
	options.count_elems = 1 << 20;
	assert_null(import_schedule(&options, &err));
	assert_non_null(strstr(err.text, "slow:4: 2097152 B take too long at a local rate of 1 bit/s"));
	unlink(options.path);
}

/* Two copies to one chunk in no order, of an operation that nobody knows. */
static void
two_writers_of_one_chunk_are_refused(void **state)
{
	must_refuse(IMPORT_MSCCL,
		    HEAD GPU0 BLOCK("0", "1", "1") STEP("0", "s", "i", "o", ALONE)
			    STEP("1", "r", "i", "o", ALONE) "</tb>\n" BLOCK("1", "-1", "-1")
				    STEP("0", "cpy", "i", "s", ALONE) "</tb>\n" BLOCK("2", "-1", "-1")
					    STEP("0", "cpy", "o", "s", ALONE) "</tb></gpu>\n" GPU1,
		    20, 0, "race at rank 0");
}

/* Chunks that do not come round: the proof says which. */
static void
what_does_not_do_its_work_is_refused(void **state)
{
	struct text t;
	char *last;

	ring_allreduce(&t, 4, true, "rrs");
	last = strstr(t.bytes, "\"rrcs\"");
	assert_non_null(last);
	memcpy(last, "\"rcs\" ", 6);
	must_refuse(IMPORT_MSCCL, t.bytes, 40, 0, "does no allreduce: rank 0 ends incomplete");
	ring_allreduce(&t, 4, true, "rrs");
	last = strstr(t.bytes, "srcoff=\"3\"");
	assert_non_null(last);
	last[8] = '2';
	must_refuse(IMPORT_MSCCL, t.bytes, 40, 0, "rank 1 step 2 adds elements 30");
	must_refuse(IMPORT_MSCCL, t.bytes, 40, 16, "gpu 1 tb 0 step 1"); /* where it is noticed */
}

/* Of two gpus: 0 has the data of a broadcast, or gets the sum of a reduce. */
static void
put_pair(struct text *t, const char *coll, int from, const char *recv, bool in_place)
{
	algo(t, coll, 2, 2, in_place);
	for (int g = 0; g < 2; g++) {
		add(t, "<gpu id=\"%d\" i_chunks=\"2\" o_chunks=\"%d\" s_chunks=\"0\">\n", g, in_place ? 0 : 2);
		add(t, "<tb id=\"0\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", g == from ? 1 - g : -1,
		    g == from ? -1 : 1 - g);
		for (int chunk = 0; chunk < 2; chunk++)
			step(t, chunk, g == from ? "s" : recv, "i", chunk, in_place ? "i" : "o", chunk);
		add(t, "</tb>\n");
		if (!in_place && strcmp(coll, "broadcast") == 0 && g == from) {
			add(t, "<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n");
			for (int chunk = 0; chunk < 2; chunk++)
				step(t, chunk, "cpy", "i", chunk, "o", chunk);
			add(t, "</tb>\n");
		}
		add(t, "</gpu>\n");
	}
	add(t, "</algo>\n");
}

/* The file does not name it: who receives nothing, or sends nothing. */
static void
the_root_is_found(void **state)
{
	struct coll_schedule *s;
	struct text t;

	for (int root = 0; root < 2; root++) {
		put_pair(&t, "broadcast", root, "r", true);
		s = must_import(IMPORT_MSCCL, t.bytes, 20, 0);
		assert_int_equal(s->op, COLL_BROADCAST);
		assert_int_equal(s->root, root);
		coll_schedule_destroy(s);
		put_pair(&t, "reduce", 1 - root, "rrc", true);
		s = must_import(IMPORT_MSCCL, t.bytes, 20, 0);
		assert_int_equal(s->op, COLL_REDUCE);
		assert_int_equal(s->root, root);
		coll_schedule_destroy(s);
	}
	/* All receive: no root, which is then rank 0, and the proof refuses it. */
	put_pair(&t, "broadcast", 0, "r", true);
	memcpy(strstr(t.bytes, "recv=\"-1\""), "recv=\"1\" ", 9);
	memcpy(strstr(t.bytes, "\"s\" srcbuf"), "\"r\"", 3);
	must_refuse(IMPORT_MSCCL, t.bytes, 20, 0, "is a receive without a send");
}

/* Out of place the sum is added to the vector of the output, in a step that takes its time. */
static void
adding_elsewhere_takes_a_step(void **state)
{
	struct coll_schedule *s;
	struct text t;

	put_pair(&t, "reduce", 1, "rrc", false);
	s = must_import(IMPORT_MSCCL, t.bytes, 20, 32000000000);
	assert_int_equal(coll_steps(s, 0), 2);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_true(coll_step_at(s, 0, i)->reduce);
		assert_int_equal(coll_step_at(s, 0, i)->count_elems, 10);
		assert_int_equal(coll_step_at(s, 0, i)->compute_ps, 10 * PS_PER_NS); /* 40 B at 4 GB/s */
		assert_int_equal(coll_step_at(s, 0, i)->dst_elems, 20 + (i - 1) * 10);
	}
	coll_schedule_destroy(s);
}

/* In place the output of a ReduceScatter is the rank's block of the vector, and is no larger. */
static void
a_reducescatter_is_in_its_own_block(void **state)
{
	struct coll_schedule *s;
	struct text t;

	for (int chunks = 1; chunks <= 2; chunks++) {
		algo(&t, chunks == 1 ? "reducescatter" : "reduce_scatter", 2, 2, true);
		for (int g = 0; g < 2; g++) {
			add(&t, "<gpu id=\"%d\" i_chunks=\"2\" o_chunks=\"%d\" s_chunks=\"0\">\n", g, chunks);
			add(&t, "<tb id=\"0\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", 1 - g, 1 - g);
			step(&t, 0, "s", "i", 1 - g, "o", 0);
			step(&t, 1, "rrc", "i", g, "o", 0);
			add(&t, "</tb></gpu>\n");
		}
		add(&t, "</algo>\n");
		if (chunks == 2) {
			must_refuse(IMPORT_MSCCL, t.bytes, 20, 2,
				    "gpu 0: 2 output chunks are more than its block of the reduce");
			continue;
		}
		s = must_import(IMPORT_MSCCL, t.bytes, 20, 0);
		assert_int_equal(s->op, COLL_REDUCESCATTER);
		assert_int_equal(coll_step_at(s, 0, 1)->dst_elems, 10); /* block 1, at gpu 1 */
		coll_schedule_destroy(s);
	}
	algo(&t, "allgather", 2, 2, true);
	add(&t, "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/>\n"
		"<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\"/></algo>\n");
	must_refuse(IMPORT_MSCCL, t.bytes, 20, 2, "gpu 0: 2 input chunks are more than its block of the allgather");
}

/* A size for which the algorithm is not meant is carried out all the same. */
static void
a_size_beyond_its_range_is_taken(void **state)
{
	static const char *const ranges[] = { "minBytes=\"1000\" maxBytes=\"0\"", "minBytes=\"0\" maxBytes=\"79\"",
					      "minBytes=\"0\" maxBytes=\"80\"" };

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		struct coll_schedule *s;
		struct text t;

		t.used = 0;
		add(&t,
		    "<algo name=\"x\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"custom\" inplace=\"1\" %s>" GPU0 BLOCK(
			    "0", "1", "1") STEP("0", "s", "i", "o", ALONE)
			    STEP("1", "r", "i", "o", ALONE) "</tb></gpu>" GPU1,
		    ranges[i]);
		s = must_import(IMPORT_MSCCL, t.bytes, 20, 0);
		assert_int_equal(coll_step_at(s, 0, 1)->dst_elems, 20); /* in place or not: of an unknown operation */
		coll_schedule_destroy(s);
	}
}

#define MOVE(s, type, src, srcoff, dst, dstoff, depid, deps, has)                                                          \
	"<step s=\"" s "\" type=\"" type "\" srcbuf=\"" src "\" srcoff=\"" srcoff "\" dstbuf=\"" dst "\" dstoff=\"" dstoff \
	"\" cnt=\"1\" depid=\"" depid "\" deps=\"" deps "\" hasdep=\"" has "\"/>"
#define ADDER(id, peer)                                                                                                    \
	"<gpu id=\"" id "\" i_chunks=\"3\" o_chunks=\"3\" s_chunks=\"1\"><tb id=\"0\" send=\"" peer                        \
	"\" recv=\"-1\" chan=\"0\">" MOVE("0", "s", "i", "0", "s", "0", "-1", "-1", "0") MOVE("1", "s", "i", "1", "s",     \
											      "0", "-1", "-1", "0")        \
		MOVE("2", "s", "i", "2", "o", "2", "-1", "-1",                                                             \
		     "0") "</tb><tb id=\"1\" send=\"-1\" recv=\"" peer                                                     \
			  "\" chan=\"0\">" MOVE("0", "r", "i", "0", "s", "0", "-1", "-1", "0")                             \
				  MOVE("1", "cpy", "i", "0", "o", "0", "-1", "-1", "0")                                    \
					  MOVE("2", "re", "s", "0", "o", "0", "-1", "-1", "0")                             \
						  MOVE("3", "r", "i", "1", "s", "0", "-1", "-1", "0")                      \
							  MOVE("4", "cpy", "i", "1", "o", "1", "-1", "-1", "0")            \
								  MOVE("5", "re", "s", "0", "o", "1", "-1", "-1", "0")     \
									  MOVE("6", "rrc", "i", "2", "o", "2", "-1", "-1", \
									       "0") "</tb></gpu>"

/*
 * Two messages go to one place, which only places for early ones make right; a third is added to what is elsewhere than its
 * sum: that all is the AllReduce which it says it is was proven.
 */
static void
early_messages_are_added_elsewhere(void **state)
{
	struct coll_schedule *s = must_import(IMPORT_MSCCL,
					      "<algo name=\"a\" nchunksperloop=\"3\" ngpus=\"2\" coll=\"allreduce\" "
					      "inplace=\"0\">" ADDER("0", "1") ADDER("1", "0") "</algo>",
					      30, 0);

	(void)state;
	assert_int_equal(s->op, COLL_ALLREDUCE);
	coll_schedule_destroy(s);
}

UNIT_TEST(import_msccl)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_is_the_ring),
		cmocka_unit_test(early_messages_are_added_elsewhere),
		cmocka_unit_test(adding_takes_time),
		cmocka_unit_test(an_allgather_is_in_its_own_block),
		cmocka_unit_test(dependencies_go_across_thread_blocks),
		cmocka_unit_test(early_messages_wait_in_places_of_their_own),
		cmocka_unit_test(what_is_no_algorithm_is_refused),
		cmocka_unit_test(what_steps_cannot_be_is_refused),
		cmocka_unit_test(what_stands_elsewhere_is_refused),
		cmocka_unit_test(what_would_hang_is_refused),
		cmocka_unit_test(the_root_is_found),
		cmocka_unit_test(adding_elsewhere_takes_a_step),
		cmocka_unit_test(a_reducescatter_is_in_its_own_block),
		cmocka_unit_test(a_size_beyond_its_range_is_taken),
		cmocka_unit_test(sizes_have_limits),
		cmocka_unit_test(two_writers_of_one_chunk_are_refused),
		cmocka_unit_test(what_does_not_do_its_work_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
