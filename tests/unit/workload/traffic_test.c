/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generated flows: sizes and arrivals follow their distributions (Kolmogorov-Smirnov, seeds fixed), the load is the one
 * asked for, who else is there changes nobody's chance, and bad input is refused with its place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/prng.h"
#include "common/units.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "workload/traffic/generator.h"
#include "workload/traffic/traffic.h"

#define TOPOLOGY "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; };\n"
#define SAMPLES 200000
#define KS_1_PERCENT 1.628 /* D sqrt(n) exceeds it once in 100 */

static struct err err;

static struct traffic *
load(const char *generators, struct topo **topo, struct cfg **cfg, uint64_t seed)
{
	struct cfg_known known[MAX_TABLES];
	char text[4096];
	size_t count = topo_tables(known, MAX_TABLES);

	snprintf(text, sizeof(text), TOPOLOGY "generators = ( %s );", generators);
	err.text[0] = '\0';
	*cfg = cfg_load_string(text, "s.cfg", &err);
	assert_non_null(*cfg);
	count += traffic_tables(known + count, MAX_TABLES - count);
	if (cfg_check(*cfg, known, count, &err) != 0)
		return NULL;
	assert_int_equal(topo_build(*cfg, topo, &err), 0);
	return traffic_load(*cfg, *topo, seed, &err);
}

struct loaded {
	struct traffic *traffic;
	struct topo *topo;
	struct cfg *cfg;
};

static struct loaded
loaded(const char *generators, uint64_t seed)
{
	struct loaded l = { 0 };

	l.traffic = load(generators, &l.topo, &l.cfg, seed);
	if (l.traffic == NULL)
		fail_msg("%s", err.text);
	return l;
}

static void
unload(struct loaded *l)
{
	traffic_destroy(l->traffic);
	topo_destroy(l->topo);
	cfg_destroy(l->cfg);
}

static void
refused(const char *generators, const char *why)
{
	struct loaded l = { 0 };

	l.traffic = load(generators, &l.topo, &l.cfg, 1);
	if (l.traffic != NULL || strncmp(err.text, "s.cfg:2: ", 9) != 0 || strstr(err.text, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
	unload(&l);
}

/* The file at /tmp is the test's own, and gone when it has been read. */
static int
read_cdf(const char *text, struct size_cdf *cdf)
{
	char path[] = "/tmp/cdf-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	err.text[0] = '\0';
	rc = size_cdf_read(cdf, path, "a.cdf", &err);
	unlink(path);
	return rc;
}

static void
cdf_refused(const char *text, const char *message)
{
	struct size_cdf cdf;

	assert_int_equal(read_cdf(text, &cdf), -EINVAL);
	if (strncmp(err.text, message, strlen(message)) != 0)
		fail_msg("\"%s\" is not \"%s\"", err.text, message);
	assert_null(cdf.owned);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ORDER(x, y);
}

static double
share_below(const void *arg, double bytes)
{
	const struct size_cdf *cdf = arg;
	uint32_t i = 1;

	while (i + 1 < cdf->count && (double)cdf->points[i].bytes < bytes)
		i++;

	const struct cdf_point *a = &cdf->points[i - 1], *b = &cdf->points[i];

	return ((double)a->share +
		(double)(b->share - a->share) * (bytes - (double)a->bytes) / (double)(b->bytes - a->bytes)) /
	       (double)CDF_ONE;
}

static double
exponential_below(const void *arg, double value)
{
	return 1 - exp(-value / *(const double *)arg);
}

/* @return D sqrt(n) of samples against a distribution; sorts them */
static double
ks(double *samples, size_t count, double (*below)(const void *arg, double value), const void *arg)
{
	double worst = 0;

	qsort(samples, count, sizeof(*samples), by_value);
	for (size_t i = 0; i < count; i++) {
		double share = below(arg, samples[i]);

		worst = fmax(worst, fmax(share - (double)i / (double)count, (double)(i + 1) / (double)count - share));
	}
	return worst * sqrt((double)count);
}

static void
cdf_files_are_read(void **state)
{
	struct size_cdf cdf;

	assert_int_equal(read_cdf("# sizes\n0 0\n\n1000\t22.93 # some\n4000 100\n", &cdf), 0);
	assert_int_equal(cdf.count, 3);
	assert_int_equal(cdf.points[1].bytes, 1000);
	assert_int_equal(cdf.points[1].share, 229300000000ull);
	/* 22.93 % of 500 B and 77.07 % of 2500 B on average */
	assert_int_equal(size_cdf_mean(&cdf), (uint64_t)(2041.4 * CDF_MEAN_ONE));
	size_cdf_fini(&cdf);
	assert_int_equal(read_cdf("\xef\xbb\xbf"
				  "0 0\r\n1000 100",
				  &cdf),
			 0); /* as Windows has it */
	assert_int_equal(cdf.count, 2);
	size_cdf_fini(&cdf);
}

static void
too_many_points_are_refused(void)
{
	const size_t points = 100001;
	char *text = malloc(4 * points + 1);

	assert_non_null(text);
	for (size_t i = 0; i < points; i++)
		memcpy(text + 4 * i, "0 0\n", 5);
	cdf_refused(text, "a.cdf:100001: more than 100000 points");
	free(text);
}

static void
bad_cdf_files_are_refused(void **state)
{
	char line[300] = "";
	struct size_cdf cdf;

	cdf_refused("", "a.cdf: it has no points; lines \"BYTES PERCENT\" would be right");
	cdf_refused("# nothing\n", "a.cdf: it has no points");
	cdf_refused("0 0\n1000 50\n", "a.cdf:2: the last share is 50 %; a last line with 100 would be right");
	cdf_refused("0 0\n2000 50\n1000 100\n", "a.cdf:3: \"1000 100\" falls below \"2000 50\" before it");
	cdf_refused("0 0\n1000 60\n2000 50\n", "a.cdf:3: \"2000 50\" falls below \"1000 60\" before it");
	cdf_refused("1000 10\n2000 100\n", "a.cdf:1: the first share is 10 %");
	cdf_refused("0 0\n1000 101\n", "a.cdf:2: found \"1000 101\"; \"BYTES PERCENT\" would be right");
	cdf_refused("0 0\n1000.5 100\n", "a.cdf:2: found \"1000.5 100\"");
	cdf_refused("0 0\n1000\n", "a.cdf:2: found \"1000\"");
	cdf_refused("0 0\n-5 100\n", "a.cdf:2: found \"-5 100\"");
	cdf_refused("0 0\n1000 100 7\n", "a.cdf:2: found \"1000 100 7\"");
	cdf_refused("0 0\n1000 1.00000000001\n", "a.cdf:2: found");
	cdf_refused("0 0\n3000000000 100\n", "a.cdf:2: 3000000000 B; a flow is one message, of 2147483648 B at most");
	cdf_refused("0 0\n0 100\n", "a.cdf:2: every flow has 0 B");
	cdf_refused("0 0\n1000x 100\n", "a.cdf:2: found \"1000x 100\"");
	cdf_refused("0 0\n1000 100.5\n", "a.cdf:2: found \"1000 100.5\"");
	cdf_refused("0 0\n1000 9.x\n", "a.cdf:2: found \"1000 9.x\"");
	cdf_refused("0 0\n1000 9./\n", "a.cdf:2: found \"1000 9./\"");
	cdf_refused("0 0\n1000%\n", "a.cdf:2: found \"1000%\"");
	too_many_points_are_refused();
	memset(line, '0', sizeof(line) - 1);
	cdf_refused(line, "a.cdf:1: a line of more than 254 characters");
	assert_int_equal(size_cdf_read(&cdf, "/nowhere/a.cdf", "a.cdf", &(struct err){ "" }), -EINVAL);
	assert_int_equal(size_cdf_read(&cdf, "/proc/self/mem", "a.cdf", &(struct err){ "" }), -EIO); /* nothing at 0 */
}

static void
sizes_follow_their_distribution(void **state)
{
	const double means[] = { 1711250, 120420.75, 40869.8 };
	double *samples = malloc(SAMPLES * sizeof(*samples));

	for (int choice = 1; traffic_sizes[choice - 1].name != NULL; choice++) {
		struct size_cdf cdf = traffic_sizes_cdf(choice);
		double sum = 0, d;
		struct prng prng;

		assert_true(fabs((double)size_cdf_mean(&cdf) / CDF_MEAN_ONE - means[choice - 1]) < 0.001);
		prng_init(&prng, 7, (uint64_t)choice);
		for (size_t i = 0; i < SAMPLES; i++) {
			samples[i] = (double)size_cdf_draw(&cdf, &prng);
			sum += samples[i];
		}
		d = ks(samples, SAMPLES, share_below, &cdf);
		print_message("%s: D sqrt(n) = %.3f, mean %.0f of %.0f\n", traffic_sizes[choice - 1].name, d, sum / SAMPLES,
			      means[choice - 1]);
		assert_true(d < KS_1_PERCENT);
		assert_true(fabs(sum / SAMPLES / means[choice - 1] - 1) < 0.02);
	}
	free(samples);
}

static void
exponential_times_are_exponential(void **state)
{
	double *samples = malloc(SAMPLES * sizeof(*samples)), mean = 1e6, sum = 0, d;
	struct prng prng;

	prng_init(&prng, 7, 0);
	for (size_t i = 0; i < SAMPLES; i++) {
		samples[i] = (double)exponential_ps(&prng, 1000000ull << EXPONENTIAL_MEAN_BITS);
		sum += samples[i];
	}
	d = ks(samples, SAMPLES, exponential_below, &mean);
	print_message("exponential: D sqrt(n) = %.3f, mean %.4f\n", d, sum / SAMPLES / mean);
	assert_true(d < KS_1_PERCENT);
	assert_true(fabs(sum / SAMPLES / mean - 1) < 3 / sqrt(SAMPLES));
	free(samples);
}

/* Of fixed sizes, so that the number of flows alone is chance: 16 hosts x 50 Gbit/s x 0.1 s / 10 kB are 1e6 flows. */
static void
the_load_is_the_one_asked_for(void **state)
{
	struct loaded l = loaded("{ kind = \"poisson\"; load = 0.4; bytes = 10000; until = \"100ms\"; }", 3);
	double offered = (double)l.traffic->nflows * 80000 / (16 * 100e9 * 0.1), sigma;
	uint32_t from[64] = { 0 }, to[64] = { 0 };

	sigma = 0.4 / sqrt((double)l.traffic->nflows);
	print_message("offered %.5f of 0.4, sigma %.5f\n", offered, sigma);
	assert_true(fabs(offered - 0.4) < 3 * sigma);
	for (size_t i = 0; i < l.traffic->nflows; i++) {
		const struct traffic_flow *flow = &l.traffic->flows[i];

		assert_true(flow->src_node != flow->dst_node && flow->bytes == 10000 && flow->start_ps < 100 * PS_PER_MS);
		assert_true(i == 0 || flow->src_node != flow[-1].src_node || flow->start_ps >= flow[-1].start_ps);
		from[flow->src_node]++;
		to[flow->dst_node]++;
	}
	for (uint32_t h = 0; h < l.topo->nhosts; h++) {
		assert_in_range(from[l.topo->hosts[h]], 49000, 51000); /* 50000, sigma 224 */
		assert_in_range(to[l.topo->hosts[h]], 49000, 51000);
	}
	unload(&l);
}

/* The flows of one sender in a run. @return how many, with a digest of times and sizes */
static size_t
sent_by(const struct loaded *l, uint32_t generator, const char *host, uint64_t *sum)
{
	size_t count = 0;

	*sum = 0;
	for (size_t i = 0; i < l->traffic->nflows; i++) {
		const struct traffic_flow *flow = &l->traffic->flows[i];

		if (flow->generator != generator || flow->src_node != topo_find(l->topo, host))
			continue;
		*sum = *sum * 31 + flow->start_ps * 7 + flow->bytes;
		count++;
	}
	assert_true(count != 0);
	return count;
}

#define WEB "kind = \"poisson\"; name = \"web\"; load = 0.5; sizes = \"websearch\"; until = \"20ms\"; "

static void
chance_is_each_senders_own(void **state)
{
	struct loaded all = loaded("{ kind = \"poisson\"; load = 0.1; bytes = 5000; until = \"1ms\"; }, { " WEB " }", 1);
	struct loaded alone = loaded("{ " WEB "}", 1), few = loaded("{ " WEB "hosts = [ \"h2\", \"h9\", \"h4\" ]; }", 1);
	struct loaded other_seed = loaded("{ " WEB "}", 2), own_seed = loaded("{ " WEB "seed = 5; }", 1);
	uint64_t a, b;

	assert_int_equal(sent_by(&all, 1, "h4", &a), sent_by(&alone, 0, "h4", &b));
	assert_int_equal(a, b);
	sent_by(&few, 0, "h4", &b);
	assert_int_equal(a, b);
	sent_by(&other_seed, 0, "h4", &b);
	assert_int_not_equal(a, b);
	sent_by(&own_seed, 0, "h4", &b);
	assert_int_not_equal(a, b);
	sent_by(&alone, 0, "h5", &b);
	assert_int_not_equal(a, b);
	unload(&all);
	unload(&alone);
	unload(&few);
	unload(&other_seed);
	unload(&own_seed);
}

static void
an_incast_has_its_degree(void **state)
{
	struct loaded l = loaded("{ kind = \"incast\"; degree = 5; dst = [ \"h3\", \"h8\" ]; src = [ \"h[0-9]\" ]; "
				 "bytes = 20000; start = \"1us\"; period = \"10us\"; until = \"31us\"; }",
				 1);
	const struct traffic_flow *flows = l.traffic->flows;

	assert_int_equal(l.traffic->nflows, 2 * 3 * 5); /* at 1, 11 and 21 us */
	for (size_t i = 0; i < l.traffic->nflows; i++) {
		assert_int_equal(flows[i].dst_node, topo_find(l.topo, i < 15 ? "h3" : "h8"));
		assert_int_equal(flows[i].start_ps, (1 + i % 15 / 5 * 10) * PS_PER_US);
		assert_int_not_equal(flows[i].src_node, flows[i].dst_node);
		for (size_t other = i / 5 * 5; other < i; other++)
			assert_int_not_equal(flows[i].src_node, flows[other].src_node);
	}
	unload(&l);
}

/* Others each time; each receiver once an instant, with its own senders. */
static void
an_incast_picks_receivers(void **state)
{
	struct loaded l = loaded("{ kind = \"incast\"; degree = 3; receivers = 2; bytes = 20000; period = \"10us\"; "
				 "until = \"1ms\"; }",
				 1);
	const struct traffic_flow *flows = l.traffic->flows;
	uint32_t received[64] = { 0 }, hosts = 0;
	uint64_t per_instant[100] = { 0 };

	(void)state;
	assert_int_equal(l.traffic->nflows, 100 * 2 * 3);
	for (size_t i = 0; i < l.traffic->nflows; i++) {
		assert_int_not_equal(flows[i].src_node, flows[i].dst_node);
		received[flows[i].dst_node]++;
		per_instant[flows[i].start_ps / (10 * PS_PER_US)] |= 1ULL << flows[i].dst_node;
	}
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(__builtin_popcountll(per_instant[i]), 2);
	for (size_t i = 0; i < 64; i++)
		hosts += received[i] != 0;
	assert_int_equal(hosts, 16); /* 200 draws of 16: one is left out once in 25,000 seeds */
	unload(&l);
}

static void
a_permutation_gives_everyone_one_partner(void **state)
{
	struct loaded l =
		loaded("{ kind = \"permutation\"; rate = \"10Gbps\"; sizes = \"alistorage\"; until = \"2ms\"; }", 1);
	uint32_t to[64] = { 0 }, from[64] = { 0 };

	for (size_t i = 0; i < l.traffic->nflows; i++) {
		const struct traffic_flow *flow = &l.traffic->flows[i];

		assert_true(to[flow->src_node] == 0 || to[flow->src_node] == flow->dst_node + 1);
		assert_true(from[flow->dst_node] == 0 || from[flow->dst_node] == flow->src_node + 1);
		assert_int_not_equal(flow->src_node, flow->dst_node);
		to[flow->src_node] = flow->dst_node + 1;
		from[flow->dst_node] = flow->src_node + 1;
	}
	for (uint32_t h = 0; h < l.topo->nhosts; h++)
		assert_true(to[l.topo->hosts[h]] != 0 && from[l.topo->hosts[h]] != 0);
	unload(&l);
}

static void
bad_generators_are_refused(void **state)
{
	refused("{ kind = \"poison\"; }", "poisson");
	refused("{ kind = \"poisson\"; load = 1.5; bytes = 1; until = \"1us\"; }", "generators.[0].load: ");
	refused("{ kind = \"poisson\"; bytes = 1000; until = \"1us\"; }", "neither; exactly one of load and rate");
	refused("{ kind = \"poisson\"; load = 0.1; rate = \"1Gbps\"; bytes = 1000; until = \"1us\"; }", "found both");
	refused("{ kind = \"poisson\"; rate = \"101Gbps\"; bytes = 1000; until = \"1us\"; }",
		"101Gbps is more than a sender's NIC has; at most 100Gbps");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1000; }", "until is missing");
	refused("{ kind = \"poisson\"; load = 0.5; until = \"1us\"; }", "found none of sizes, sizes_file and bytes");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1; sizes = \"hadoop\"; until = \"1us\"; }", "found several of");
	refused("{ kind = \"poisson\"; load = 0.5; sizes = \"googol\"; until = \"1us\"; }",
		"found \"googol\"; one of websearch|");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1; start = \"2us\"; until = \"1us\"; }", "1000 ns is not after");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1000; until = \"1us\"; hosts = [ \"nobody\" ]; }", "\"nobody\"");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1000; until = \"1us\"; hosts = [ \"h1\" ]; }", "\"h1\" alone");
	refused("{ kind = \"poisson\"; load = 0.5; bytes = 1000; until = \"1us\"; src = [ \"h1\" ]; }",
		"one of src and dst; hosts alone");
	refused("{ kind = \"poisson\"; load = 0.000001; bytes = 1000000; until = \"1us\"; }", "\"poisson\" makes no flow");
	refused("{ kind = \"poisson\"; load = 1; bytes = 1; until = \"1s\"; }", "more than 1000000 flows");
	refused("{ kind = \"incast\"; bytes = 1; degree = 16; }", "degree: 16, but h0 has 15 senders");
	refused("{ kind = \"incast\"; bytes = 1; degree = 1; receivers = 17; }",
		"receivers: 17 of 16; at most all would be right");
	refused("{ kind = \"incast\"; bytes = 1; degree = 1; until = \"1us\"; }", "until: needs a period");
	refused("{ kind = \"incast\"; bytes = 1; degree = 1; period = \"1us\"; }", "until is missing");
	refused("{ kind = \"incast\"; bytes = 1; degree = 1; }, { kind = \"incast\"; bytes = 1; degree = 1; }",
		"\"incast\" is the name of the generator in line 2");
	refused("{ kind = \"permutation\"; src = [ \"h1\" ]; }", "src");
}

UNIT_TEST(traffic)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cdf_files_are_read),
		cmocka_unit_test(bad_cdf_files_are_refused),
		cmocka_unit_test(sizes_follow_their_distribution),
		cmocka_unit_test(exponential_times_are_exponential),
		cmocka_unit_test(the_load_is_the_one_asked_for),
		cmocka_unit_test(chance_is_each_senders_own),
		cmocka_unit_test(an_incast_has_its_degree),
		cmocka_unit_test(an_incast_picks_receivers),
		cmocka_unit_test(a_permutation_gives_everyone_one_partner),
		cmocka_unit_test(bad_generators_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
