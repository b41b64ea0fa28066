/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parameters of all generators, and the definition of a kind: a file, and a row here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "common/prng.h"
#include "workload/jobs/endpoint.h"
#include "workload/traffic/traffic.h"

/* Distributions of flow sizes that the field evaluates with, as published; a row each. */

/*
 * How long flows are: a cumulative distribution by points, linear between them, as simulators of the field read it. All
 * of it is arithmetic on integers: the same flows on every machine.
 */

#define CDF_ONE 1000000000000ull   /* 100 %: shares count in 1e-10 % */
#define CDF_MAX_BYTES (1ull << 31) /* the longest RC message, IBTA 9.7.7 */
#define CDF_MEAN_ONE 65536u        /* means count in 1/65536 B */

/* No flow in this share of all is longer. */
struct cdf_point {
	uint64_t bytes, share;
};

struct size_cdf {
	const struct cdf_point *points; /* the first has share 0, the last CDF_ONE; neither bytes nor shares ever fall */
	uint32_t count;
	struct cdf_point *owned; /* memory of points that are read from a file */
};

/*
 * Reads "BYTES PERCENT" lines, the format of the HPCC repository's traffic generator; blank lines and what follows a #
 * are passed over.
 * @param path  to open  @param name  for messages
 * @return 0, -EINVAL or -ENOMEM with err naming file, line, value and the remedy
 */
int size_cdf_read(struct size_cdf *cdf, const char *path, const char *name, struct err *err);
/* All flows alike. points: of 2, the caller's. */
void size_cdf_fixed(struct size_cdf *cdf, struct cdf_point points[2], uint64_t bytes);
void size_cdf_fini(struct size_cdf *cdf);

/* @return the mean, in 1/CDF_MEAN_ONE B */
uint64_t size_cdf_mean(const struct size_cdf *cdf);
/* @return bytes of one flow, at least 1: the inverse of the distribution at a uniform share */
uint64_t size_cdf_draw(const struct size_cdf *cdf, struct prng *prng);

/* Choices of a CFG_ENUM: 0 is none, a distribution's value is its row from 1. */
extern const struct cfg_choice traffic_sizes[];

/* @param choice  a value of traffic_sizes, not 0 */
struct size_cdf traffic_sizes_cdf(int choice);

/* KIND: generator_KIND in KIND.c. */
#define TRAFFIC_GENERATORS(X) X(poisson) X(incast) X(permutation)

/* Hosts, by their NICs, that send or receive. */
struct endpoints {
	struct endpoint *ends; /* [count] */
	uint32_t count;
};

/* The first members of every generator's struct. */
struct generator {
	struct cfg_where where;
	bool enabled;
	const char *name;
	struct cfg_strings hosts, src, dst;
	int sizes; /* of traffic_sizes */
	const char *sizes_file;
	uint64_t bytes;
	uint64_t start_ps, until_ps;
	int64_t seed, prio, dport, connections;
	/* made of them: */
	struct endpoints from, to;
	struct size_cdf cdf;
	struct cdf_point fixed[2];
};

#define G(field) offsetof(struct generator, field)
#define GENERATOR_FIELDS                                                                                                   \
	CFG_FIELD("name", CFG_STRING, G(name), .def = "",                                                                  \
		  .doc = "Its name in files; its random numbers depend on it. Absent: its kind."),                         \
		CFG_FIELD("hosts", CFG_STRINGS, G(hosts), .def = "",                                                       \
			  .doc = "Hosts, or host:nic, that send and receive; absent: every host of the topology at its "   \
				 "first NIC."),                                                                            \
		CFG_FIELD("sizes", CFG_ENUM, G(sizes), .def = "", .choices = traffic_sizes,                                \
			  .doc = "Published distribution of flow sizes. Give this, sizes_file or bytes."),                 \
		CFG_FIELD("sizes_file", CFG_PATH, G(sizes_file), .def = "",                                                \
			  .doc = "Distribution of flow sizes, relative to the scenario: lines \"BYTES PERCENT\", from 0 "  \
				 "to 100 %, linear between them (the format of HPCC's traffic generator)."),               \
		CFG_FIELD("bytes", CFG_BYTES, G(bytes), .def = "0", .max = 2147483648.0, .doc = "Size of every flow."),    \
		CFG_FIELD("start", CFG_TIME, G(start_ps), .def = "0ns", .doc = "No flow starts before this time."),        \
		CFG_FIELD("until", CFG_TIME, G(until_ps), .def = "0ns", .doc = "No flow starts at or after this time."),   \
		CFG_FIELD("seed", CFG_INT, G(seed), .def = "0", .max = 9e18,                                               \
			  .doc = "Changes its random numbers, with the same seed of the run."),                            \
		CFG_FIELD("prio", CFG_INT, G(prio), .def = "-1", .min = -1, .max = 7,                                      \
			  .doc = "Priority; -1: that of the collectives' data."),                                          \
		CFG_FIELD("dport", CFG_INT, G(dport), .def = "4791", .min = 1, .max = 65535,                               \
			  .doc = "UDP destination port (RoCEv2: 4791)."),                                                  \
		CFG_FIELD("enabled", CFG_BOOL, G(enabled), .def = "true",                                                  \
			  .doc = "false: it sends nothing; other traffic is unchanged."),                                  \
		CFG_FIELD("connections", CFG_INT, G(connections), .def = "16", .min = 1, .max = 4096,                      \
			  .doc = "Queue pairs from one host to another, each with a different source port, and so a "      \
				 "different path; flows use them in turn, one at a time.")

/* Keys of kinds whose senders and receivers may differ. */
#define GENERATOR_SETS                                                                                                     \
	CFG_FIELD("src", CFG_STRINGS, G(src), .def = "", .doc = "Senders, instead of hosts."),                             \
		CFG_FIELD("dst", CFG_STRINGS, G(dst), .def = "", .doc = "Receivers, instead of hosts.")

struct generator_ops {
	const char *kind;
	const struct cfg_table *table;
	/*
	 * Adds its flows.
	 * @return 0, -EINVAL or -ENOMEM with err: flows that no run can have, or an invalid value of its own
	 */
	int (*generate)(const struct generator *generator, struct traffic *traffic, struct err *err);
};

#define GENERATOR_EXTERN(kind) extern const struct generator_ops generator_##kind;
TRAFFIC_GENERATORS(GENERATOR_EXTERN)

/* generator.c */
/* Checks and completes the bound values. @return 0, -EINVAL or -ENOMEM with err set */
int generator_init(struct generator *generator, const char *kind, const struct cfg *cfg, const struct topo *topo,
		   struct err *err);
void generator_fini(struct generator *generator);
/* The random numbers of a generator at one host; NULL: of the generator itself. */
void generator_chance(const struct generator *generator, const struct traffic *traffic, const struct endpoint *end,
		      struct prng *prng);

static inline bool
endpoint_same(const struct endpoint *a, const struct endpoint *b)
{
	return a->node == b->node && a->nic == b->nic;
}

/* traffic.c: a flow of the generator that is generating. @return 0, or -EINVAL past TRAFFIC_MAX_FLOWS, or -ENOMEM */
int traffic_add(struct traffic *traffic, const struct generator *generator, const struct endpoint *src,
		const struct endpoint *dst, uint64_t start_ps, uint64_t bytes, struct err *err);

/* Poisson arrivals. */
/* How much a sender offers, of kinds that are given by that. */
struct arrivals_cfg {
	double load;
	uint64_t rate_bps;
};

#define ARRIVALS_FIELDS(T, member)                                                                                         \
	CFG_FIELD("load", CFG_FLOAT, offsetof(T, member.load), .def = "0", .max = 1,                                       \
		  .doc = "Offered load of a sender in payload, as a share of its NIC's rate. Give this or rate."),         \
		CFG_FIELD("rate", CFG_RATE, offsetof(T, member.rate_bps), .def = "0bps", .doc = "The same as a rate.")

/* @return 0 or -EINVAL: none or both of load and rate, no end, a rate above that of a sender */
int arrivals_check(const struct arrivals_cfg *arrivals, const struct generator *generator, const struct traffic *traffic,
		   struct err *err);
/*
 * Poisson arrivals at one sender, each to one of the receivers, itself excepted.
 * @param to  at least one is not the sender
 */
int arrivals_make(const struct arrivals_cfg *arrivals, const struct generator *generator, struct traffic *traffic,
		  const struct endpoint *src, const struct endpoints *to, struct err *err);
