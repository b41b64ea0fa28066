/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a file takes is bounded by its size, whatever is in it; measured in a process of its own for each. */
#include <malloc.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "collectives/import/hpcc.h"
#include "common/array.h"
#include "tests/unit/collectives/chakra_rig.h"
#include "tests/unit/unit.h"

#define MIB (1024u * 1024u)
#define BASE_MIB 64

#if defined(__SANITIZE_ADDRESS__)
#define MEASURED false /* it keeps what was freed */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEASURED false
#endif
#endif
#ifndef MEASURED
#define MEASURED true
#endif

/* Sanitizers then look at all of a text that a function of libc is given, as some of these functions do. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "strict_string_checks=1";
}

/* A file of one field again and again. */
struct filling {
	uint8_t *at;
	size_t used, size;
};

static void
put_raw(struct filling *f, const void *bytes, size_t length)
{
	assert_true(f->used + length <= f->size);
	memcpy(f->at + f->used, bytes, length);
	f->used += length;
}

/* The same bytes so often. */
static void
put_repeated(struct filling *f, const void *bytes, size_t length, size_t count)
{
	size_t begin = f->used, all = count * length;

	put_raw(f, bytes, length);
	for (size_t done = length, more; done < all; done += more) {
		more = done < all - done ? done : all - done;
		put_raw(f, f->at + begin, more);
	}
}

static void
put_size(struct filling *f, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_raw(f, &(uint8_t){ (uint8_t)(value | 0x80) }, 1);
	put_raw(f, &(uint8_t){ (uint8_t)value }, 1);
}

/* A node of metadata, with a field so often. */
static void
put_node(struct filling *f, const void *field, size_t length, size_t count, uint8_t id)
{
	put_size(f, count * length + 4);
	put_raw(f, (uint8_t[]){ 0x08, id, 0x18, 1 }, 4);
	put_repeated(f, field, length, count);
}

static void
end_traces(const struct filling *f)
{
	char path[128];

	for (uint32_t rank = 0; rank < 2; rank++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(files[rank].at, 1, files[rank].used, file), files[rank].used);
		if (rank == 0)
			assert_int_equal(fwrite(f->at, 1, f->used, file), f->used);
		assert_int_equal(fclose(file), 0);
	}
}

struct cost {
	long mib; /* at most */
	double cpu_s;
	bool taken;
	char why[1024]; /* not */
};

/* Takes a file in a process of its own. @param take  whether it was taken, with err else */
static struct cost
measure(bool (*take)(const char *path, struct err *err), const char *path)
{
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct cost cost = { 0 };
	struct rusage use;
	int status;
	pid_t pid;

	assert_true(shared != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err = { 0 };
		bool taken;

		mallopt(M_PERTURB, 0); /* pages that only the allocator fills are none of its cost */
		taken = take(path, &err);
		snprintf(shared, sizeof(cost.why), "%s", err.text);
		unit_exit(taken ? 0 : 1);
	}
	assert_int_equal(wait4(pid, &status, 0, &use), pid);
	assert_true(WIFEXITED(status));
	cost.taken = WEXITSTATUS(status) == 0;
	cost.mib = use.ru_maxrss / 1024;
	cost.cpu_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6;
	snprintf(cost.why, sizeof(cost.why), "%s", shared);
	munmap(shared, 4096);
	return cost;
}

static bool
take_of(enum import_kind kind, uint64_t count_elems, const char *path, struct err *err)
{
	const struct import_options options = { .kind = kind, .path = path, .elem_bytes = 1, .count_elems = count_elems };
	struct coll_schedule *schedule = import_schedule(&options, err);

	coll_schedule_destroy(schedule);
	return schedule != NULL;
}

static bool
take(enum import_kind kind, const char *path, struct err *err)
{
	return take_of(kind, 8, path, err);
}

static bool
take_chakra(const char *path, struct err *err)
{
	return take(IMPORT_CHAKRA, path, err);
}

static bool
take_goal(const char *path, struct err *err)
{
	return take(IMPORT_GOAL, path, err);
}

static bool
take_msccl(const char *path, struct err *err)
{
	return take(IMPORT_MSCCL, path, err);
}

#define MANY_ELEMS (1u << 19)

static bool
take_msccl_many(const char *path, struct err *err)
{
	return take_of(IMPORT_MSCCL, MANY_ELEMS, path, err);
}

/* Beside the flows, a topology of three nodes. */
static bool
take_hpcc(const char *path, struct err *err)
{
	char topology[160];
	const struct hpcc_files hpcc = { .topology = topology, .flow = path };
	FILE *to = fopen("/dev/null", "w");
	bool taken;

	snprintf(topology, sizeof(topology), "%s.topology", path);
	taken = hpcc_import(&hpcc, to, err) == 0;
	fclose(to);
	return taken;
}

static void
bounded(const char *what, const struct filling *f, unsigned factor, const char *refusal)
{
	struct cost cost;
	char path[128];

	end_traces(f);
	cost = measure(take_chakra, folder);
	print_message("%s: %zu MiB take %ld MiB; %s\n", what, f->used / MIB, cost.mib, cost.taken ? "taken" : cost.why);
	for (uint32_t rank = 0; rank < 2; rank++) {
		snprintf(path, sizeof(path), "%s/trace.%u.et", folder, rank);
		unlink(path);
	}
	assert_true(cost.taken == (refusal == NULL));
	assert_true(refusal == NULL || strstr(cost.why, refusal) != NULL);
	assert_true(!MEASURED || cost.mib < (long)(BASE_MIB + factor * (f->used / MIB + 1)));
}

static void
begin_pair(struct filling *f, size_t size)
{
	*f = (struct filling){ .at = malloc(size), .size = size };
	assert_non_null(f->at);
	begin(2);
	send_or_receive(0, 1, SEND, 1, 500, 9, NULL, 0);
	send_or_receive(1, 1, RECV, 0, 500, 9, NULL, 0);
}

static const uint8_t empty_attribute[] = { 0x52, 0 }, a_name[] = { 0x12, 6, 'n', 'a', 'm', 'e', 'n', 'a' };
static const uint8_t comm_tag[] = { 0x52, 12, 0x0a, 8, 'c', 'o', 'm', 'm', '_', 't', 'a', 'g', 0x38, 1 };
static const uint8_t tensor[] = { 0x4a, 4, 0x0a, 2, 'x', 'y' };

/* 30 MiB of what means nothing cost the file alone, beside a send and its receive. */
static void
what_means_nothing_is_free(void **state)
{
	struct filling f;

	begin_pair(&f, 32 * MIB);
	put_node(&f, empty_attribute, 2, 10 * MIB / 2, 2);
	put_node(&f, a_name, 8, 10 * MIB / 8, 3);
	put_node(&f, tensor, 6, 10 * MIB / 6, 4);
	bounded("nothing that means anything", &f, 2, NULL);
	free(f.at);
}

static void
what_is_used_is_bounded(void **state)
{
	struct filling f;

	begin_pair(&f, 9 * MIB);
	put_node(&f, comm_tag, 14, 8 * MIB / 14, 2);
	bounded("attributes that are there again and again", &f, 2, "more than 64 attributes");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	put_size(&f, 8 * MIB + 5);
	put_raw(&f, (uint8_t[]){ 0x2a }, 1);
	put_size(&f, 8 * MIB);
	memset(f.at + f.used, 1, 8 * MIB);
	f.used += 8 * MIB;
	bounded("one node's dependencies", &f, 2, "4 MiB of dependencies");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	for (int i = 0; i < 3; i++) {
		put_size(&f, 2 * MIB + 5);
		put_raw(&f, (uint8_t[]){ 0x2a }, 1);
		put_size(&f, 2 * MIB);
		memset(f.at + f.used, 1, 2 * MIB);
		f.used += 2 * MIB;
	}
	bounded("dependencies of a file", &f, 40, "dependencies in");
	free(f.at);
	begin_pair(&f, 9 * MIB);
	put_repeated(&f, (uint8_t[]){ 2, 0x18, 1 }, 3, 8 * MIB / 3);
	bounded("nodes of three bytes", &f, 40, "nodes in");
	free(f.at);
}

/* Nearly as many nodes as may be: each waits for the one before it, and for the first. */
static void
the_most_is_bounded(void **state)
{
	const size_t nodes = 8 * MIB / 40;
	struct filling f;

	begin_pair(&f, 9 * MIB);
	for (size_t i = 0; i < nodes; i++) {
		uint8_t message[40] = { 39, 0x08, 0, 0, 0, 0x18, 1, 0x2a, 4 };
		uint64_t id = i + 2, on = i + 1;

		for (int b = 0; b < 3; b++, id >>= 7)
			message[2 + b] = (uint8_t)((id & 0x7f) | (b < 2 ? 0x80 : 0));
		for (int b = 0; b < 3; b++, on >>= 7)
			message[9 + b] = (uint8_t)((on & 0x7f) | (b < 2 ? 0x80 : 0));
		message[12] = 1;
		message[13] = 0x12;
		message[14] = 25;
		memset(message + 15, 'n', 25);
		put_raw(&f, message, sizeof(message));
	}
	bounded("nodes of forty bytes, each of two dependencies", &f, 40, NULL);
	free(f.at);
}

#define REPEATS 5

/* A file of lines, as many of its kind as asked for. */
struct text {
	const char *what;
	bool (*take)(const char *path, struct err *err);
	void (*write)(FILE *to, uint32_t lines);
	uint32_t few, most;  /* lines that are measured in a short run, and in a long one */
	const char *refusal; /* NULL: it is taken */
	bool refused_early;  /* a quarter of the lines is refused, too */
};

static void
goal_messages(FILE *to, uint32_t lines)
{
	fprintf(to, "num_ranks 2\nrank 0 {\n");
	for (uint32_t i = 0; i < lines / 2; i++)
		fprintf(to, "send 1b to 1\n");
	fprintf(to, "}\nrank 1 {\n");
	for (uint32_t i = 0; i < lines / 2; i++)
		fprintf(to, "recv 1b from 0\n");
	fprintf(to, "}\n");
}

static void
goal_computations(FILE *to, uint32_t lines)
{
	fprintf(to, "num_ranks 2\nrank 0 {\n");
	for (uint32_t i = 0; i < lines; i++)
		fprintf(to, "calc 9\n");
	fprintf(to, "}\n");
}

/* One waits for another, which is said again and again. */
static void
goal_waits(FILE *to, uint32_t lines)
{
	fprintf(to, "num_ranks 2\nrank 0 {\na: calc 9\nb: calc 9\n");
	for (uint32_t i = 0; i < lines; i++)
		fprintf(to, "b requires a\n");
	fprintf(to, "}\n");
}

/* One waits for all. */
static void
goal_fan_in(FILE *to, uint32_t lines)
{
	fprintf(to, "num_ranks 2\nrank 0 {\n");
	for (uint32_t i = 0; i < lines / 3; i++)
		fprintf(to, "send 1b to 1 tag %u\n", i);
	fprintf(to, "}\nrank 1 {\nz: calc 5\n");
	for (uint32_t i = 0; i < lines / 3; i++)
		fprintf(to, "l%u: recv 1b from 0 tag %u\nz requires l%u\n", i, i, i);
	fprintf(to, "}\n");
}

/* Each starts with the one before, and waits for all that this waits for. */
static void
goal_sets_of_sets(FILE *to, uint32_t lines)
{
	fprintf(to, "num_ranks 2\nrank 0 {\n");
	for (uint32_t i = 0; i < lines / 5; i++)
		fprintf(to, "send 1b to 1 tag %u\n", i);
	fprintf(to, "}\nrank 1 {\nz0: calc 1\n");
	for (uint32_t i = 0; i < lines / 5; i++)
		fprintf(to, "l%u: recv 1b from 0 tag %u\nz0 requires l%u\n", i, i, i);
	for (uint32_t i = 1; i < lines / 5; i++)
		fprintf(to, "z%u: calc 1 cpu %u\nz%u irequires z%u\n", i, i % 256, i, i - 1);
	fprintf(to, "}\n");
}

#define MSCCL_HEAD                                                                                                         \
	"<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"custom\" "              \
	"inplace=\"0\">\n"
#define MSCCL_GPU "<gpu id=\"%d\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"2\">\n"

/* Both ranks send the same chunk again and again. */
static void
msccl_steps(FILE *to, uint32_t lines)
{
	fprintf(to, MSCCL_HEAD);
	for (int gpu = 0; gpu < 2; gpu++) {
		fprintf(to, MSCCL_GPU "<tb id=\"0\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", gpu, 1 - gpu, 1 - gpu);
		for (uint32_t i = 0; i < lines / 2; i++)
			fprintf(to,
				"<step s=\"%u\" type=\"%s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" "
				"depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n",
				i, i % 2 == 0 ? "s" : "r");
		fprintf(to, "</tb></gpu>\n");
	}
	fprintf(to, "</algo>\n");
}

/* Each thread block waits for the one before it. */
static void
msccl_blocks(FILE *to, uint32_t lines)
{
	fprintf(to, MSCCL_HEAD);
	for (int gpu = 0; gpu < 2; gpu++) {
		fprintf(to, MSCCL_GPU, gpu);
		for (uint32_t i = 0; i < lines / 2; i++)
			fprintf(to,
				"<tb id=\"%u\" send=\"-1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"cpy\" srcbuf=\"i\" "
				"srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" depid=\"%d\" deps=\"%d\" "
				"hasdep=\"1\"/></tb>\n",
				i, (int)i - 1, i == 0 ? -1 : 0);
		fprintf(to, "</gpu>\n");
	}
	fprintf(to, "</algo>\n");
}

/*
 * Thread blocks of three steps: the first waits for that of the block before, the last for that of the last block. All
 * second ones may run at once, and each is behind all first ones before it.
 */
static void
msccl_chains(FILE *to, uint32_t lines)
{
	uint32_t blocks = lines / 6;

	fprintf(to, MSCCL_HEAD);
	for (int gpu = 0; gpu < 2; gpu++) {
		fprintf(to, MSCCL_GPU, gpu);
		for (uint32_t i = 0; i < blocks; i++) {
			const int on[3][2] = { { (int)i - 1, i == 0 ? -1 : 0 }, { -1, -1 }, { (int)blocks - 1, 0 } };

			fprintf(to, "<tb id=\"%u\" send=\"-1\" recv=\"-1\" chan=\"0\">\n", i);
			for (uint32_t s = 0; s < 3; s++)
				fprintf(to,
					"<step s=\"%u\" type=\"re\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\" "
					"cnt=\"1\" depid=\"%d\" deps=\"%d\" hasdep=\"1\"/>\n",
					s, on[s][0], on[s][1]);
			fprintf(to, "</tb>\n");
		}
		fprintf(to, "</gpu>\n");
	}
	fprintf(to, "</algo>\n");
}

/* A chunk goes to another rank, one element further, and back: each turn cuts it once more. */
static void
msccl_cuts(FILE *to, uint32_t lines)
{
	static const struct {
		const char *type;
		int at;
	} steps[2][2] = { { { "s", 0 }, { "r", 0 } }, { { "r", 1 }, { "s", 0 } } };

	(void)lines;
	fprintf(to,
		"<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"%u\" ngpus=\"2\" coll=\"custom\" "
		"inplace=\"0\">\n",
		MANY_ELEMS);
	for (int gpu = 0; gpu < 2; gpu++) {
		fprintf(to,
			"<gpu id=\"%d\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"0\"><tb id=\"0\" send=\"%d\" "
			"recv=\"%d\" "
			"chan=\"0\">\n",
			gpu, MANY_ELEMS, MANY_ELEMS, 1 - gpu, 1 - gpu);
		for (int s = 0; s < 2; s++)
			fprintf(to,
				"<step s=\"%d\" type=\"%s\" srcbuf=\"i\" srcoff=\"%d\" dstbuf=\"i\" dstoff=\"%d\" "
				"cnt=\"%u\" "
				"depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n",
				s, steps[gpu][s].type, steps[gpu][s].at, steps[gpu][s].at, MANY_ELEMS - 1);
		fprintf(to, "</tb></gpu>\n");
	}
	fprintf(to, "</algo>\n");
}

static void
hpcc_lines(FILE *to, uint32_t lines)
{
	fprintf(to, "%u\n", lines);
	for (uint32_t i = 0; i < lines; i++)
		fprintf(to, "%u %u 3 100 1000 2.0\n", i % 2, 1 - i % 2);
}

static struct cost
cost_of(const struct text *text, uint32_t lines, double *file_mib)
{
	char path[128], topology[160];
	struct cost cost;
	FILE *file;

	snprintf(path, sizeof(path), "%s/text", folder);
	snprintf(topology, sizeof(topology), "%s.topology", path);
	file = fopen(topology, "w");
	assert_non_null(file);
	fprintf(file, "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n");
	fclose(file);
	file = fopen(path, "w");
	assert_non_null(file);
	text->write(file, lines);
	*file_mib = (double)ftell(file) / MIB;
	fclose(file);
	cost = measure(text->take, path);
	unlink(path);
	unlink(topology);
	return cost;
}

static const struct text texts[] = {
	{ "GOAL's messages", take_goal, goal_messages, 100000, 400000, NULL, false },
	{ "GOAL's computations", take_goal, goal_computations, 400000, 400000, "operations in a file of", false },
	{ "GOAL's dependencies", take_goal, goal_waits, 150000, 600000, NULL, false },
	{ "GOAL's, of one on all", take_goal, goal_fan_in, 75000, 300000, NULL, false },
	{ "GOAL's, of all on all", take_goal, goal_sets_of_sets, 20000, 20000,
	  "steps that operations wait for in a file of", false },
	{ "MSCCL's steps", take_msccl, msccl_steps, 25000, 200000, NULL, false },
	{ "MSCCL's thread blocks", take_msccl, msccl_blocks, 16000, 100000, NULL, false },
	{ "MSCCL's chains, some", take_msccl, msccl_chains, 1500, 6000, NULL, false },
	{ "MSCCL's chains", take_msccl, msccl_chains, 15000, 120000, "comparisons; fewer steps that may run at once",
	  true },
	{ "MSCCL's cuts", take_msccl_many, msccl_cuts, 4, 4, "text:3: gpu 0 tb 0 step 0", false },
	{ "HPCC's flows", take_hpcc, hpcc_lines, 15000, 60000, NULL, false },
};

/*
 * What is refused early compares pairs until its budget, which grows with the file, is used up. Four times the lines are 4
 * or 16 times the work, and more time by what larger arrays miss in caches; one power more would be 16 or 64 times.
 */
static bool
is_bounded(const struct text *text, const struct cost *cost, const struct cost *quarter)
{
	return cost->cpu_s < (text->refused_early ? 32 : 8) * quarter->cpu_s + 0.2;
}

/* Memory is bounded by the size, and four times the lines take no more than about four times as long. */
static void
texts_are_bounded(void **state)
{
	const bool all = unit_wide(0, 1, "the largest texts");

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const struct text *text = &texts[i];
		uint32_t lines = all ? text->most : text->few;
		double quarter_mib, file_mib;
		struct cost less = cost_of(text, lines / 4, &quarter_mib);
		struct cost cost = cost_of(text, lines, &file_mib);

		/* Other programs may take the processor's caches for a while. */
		for (uint32_t again = 0; again < REPEATS && !is_bounded(text, &cost, &less); again++) {
			less.cpu_s = fmin(less.cpu_s, cost_of(text, lines / 4, &quarter_mib).cpu_s);
			cost.cpu_s = fmin(cost.cpu_s, cost_of(text, lines, &file_mib).cpu_s);
		}
		print_message("%s: %.1f MiB take %ld MiB and %.2f s, a quarter %.2f s; %s\n", text->what, file_mib,
			      cost.mib, cost.cpu_s, less.cpu_s, cost.taken ? "taken" : cost.why);
		assert_true(cost.taken == (text->refusal == NULL));
		assert_true(text->refusal == NULL || strstr(cost.why, text->refusal) != NULL);
		assert_true(!MEASURED || (double)cost.mib < BASE_MIB + 20 * (file_mib + 1));
		assert_true(is_bounded(text, &cost, &less));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_means_nothing_is_free),
		cmocka_unit_test(what_is_used_is_bounded),
		cmocka_unit_test(the_most_is_bounded),
		cmocka_unit_test(texts_are_bounded),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
