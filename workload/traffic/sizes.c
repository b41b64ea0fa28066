/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The points are those that the HPCC artifact (SIGCOMM 2019, github.com/alibaba-edu/High-Precision-Congestion-Control,
 * traffic_gen/) reads the distributions as; evaluations since then take them from there.
 */
#include "workload/traffic/sizes.h"

#include "common/array.h"

#define P(bytes, hundredths)                                                                                               \
	{                                                                                                                  \
		bytes, (uint64_t)(hundredths) * (CDF_ONE / 10000)                                                          \
	}

/* DCTCP (Alizadeh et al., SIGCOMM 2010), Fig. 4. */
static const struct cdf_point websearch[] = {
	P(0, 0),         P(10000, 1500),   P(20000, 2000),   P(30000, 3000),   P(50000, 4000),    P(80000, 5300),
	P(200000, 6000), P(1000000, 7000), P(2000000, 8000), P(5000000, 9000), P(10000000, 9700), P(30000000, 10000),
};

/* Inside the Social Network's (Datacenter) Network (Roy et al., SIGCOMM 2015): Hadoop. */
static const struct cdf_point hadoop[] = {
	P(0, 0),         P(100, 100),     P(200, 200),      P(300, 500),      P(350, 1500),
	P(400, 2000),    P(500, 3000),    P(600, 4000),     P(700, 5000),     P(1000, 6000),
	P(2000, 6700),   P(7000, 7000),   P(30000, 7200),   P(50000, 8200),   P(80000, 8700),
	P(120000, 9000), P(300000, 9500), P(1000000, 9750), P(2000000, 9900), P(10000000, 10000),
};

/* Storage traffic of Alibaba, 2019 (HPCC, Li et al., SIGCOMM 2019). */
static const struct cdf_point alistorage[] = {
	P(0, 0),        P(4000, 2293),   P(8000, 6921),   P(16000, 8061),    P(32000, 9047),
	P(64000, 9353), P(128000, 9677), P(256000, 9753), P(2000000, 10000),
};

#undef P

#define SIZES(X)                                                                                                           \
	X(websearch, "Web search: DCTCP, SIGCOMM 2010, Fig. 4; 1.7 MB on average")                                         \
	X(hadoop, "Facebook's Hadoop: Roy et al., SIGCOMM 2015; 120 kB on average")                                        \
	X(alistorage, "Alibaba's storage, 2019: HPCC, SIGCOMM 2019; 41 kB on average")

enum sizes_value {
	SIZES_NONE,
#define VALUE(name, doc) SIZES_##name,
	SIZES(VALUE)
};

const struct cfg_choice traffic_sizes[] = {
#define CHOICE(name_, doc_) { .name = #name_, .value = SIZES_##name_, .doc = doc_ },
	SIZES(CHOICE){ 0 },
};

static const struct size_cdf cdfs[] = {
#define CDF(name, doc) [SIZES_##name] = { .points = name, .count = ARRAY_LEN(name) },
	SIZES(CDF)
};

struct size_cdf
traffic_sizes_cdf(int choice)
{
	return cdfs[choice];
}
