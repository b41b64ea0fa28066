/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of the evaluation under construction: a collective on a fabric, the paper's (IV-A) or another shape, and
 * its anomalies. A family adds flows and faults, and records their purpose as "anomalies"; case_write() makes a
 * scenario of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectives/schedule.h"
#include "common/err.h"
#include "common/prng.h"
#include "topo/route.h"

struct scenario;

struct family;

#define CASE_MAX_FLOWS 64
#define CASE_MAX_FAULTS 8
#define CASE_MAX_PINS 16
#define CASE_FIRST_SPORT 20000 /* of flows that are not of the collective */
#define CASE_COLLECTIVE_SPORT 10000
#define CASE_STEP_BYTES 360000000.0 /* of a ring: the paper's, at scale 1 */
#define CASE_RATE_BPS 100e9         /* of links to hosts: the paper's */
#define CASE_EPOCH_NS 1e6           /* the paper's, at scale 1 */
#define CASE_MIN_EPOCH_NS 1e4       /* telemetry.epoch's least */
#define CASE_MIN_SCALE (CASE_MIN_EPOCH_NS / CASE_EPOCH_NS)
#define CASE_NAME 96
#define CASE_MAX_SETS 16

/* The choices of generators that are not random. Without it, cases are random throughout. */
#define CASE_PICKS_ROUTES 1u /* ranks and seeds of the run with no two of the collective's flows in a queue */
#define CASE_PICKS_ROOTS 2u  /* incasts whose pauses begin at one port: balanced uplinks, no earlier shared queue */
#define CASE_PICKS_ALL (CASE_PICKS_ROUTES | CASE_PICKS_ROOTS)

#define CASE_MB 1e6
#define CASE_MS 1e6 /* in ns */

struct case_flow {
	uint32_t src, dst; /* hosts */
	uint16_t sport;
	uint64_t bytes, start_ns;
};

struct shape {
	const char *name, *doc;
	const char *fabric; /* the scenario's groups "topology" and "switch" */
	const char *host;   /* members of its group "host", beside those of every case */
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint32_t ranks; /* at most SHAPE_MAX_RANKS */
	/* The paper's graph, ranks and ring: families that write out a pod of it need them. */
	bool is_papers;
};

/* Common to all cases of an evaluation. */
struct case_source {
	uint64_t seed;
	double scale;   /* multiplies bytes, starts and durations */
	unsigned picks; /* CASE_PICKS_... */
	const struct shape *shape;
	const char *sets[CASE_MAX_SETS]; /* "switch.pfc.alpha=0.5": additional settings of every run */
	size_t nsets;
	const struct scenario *network; /* case_network(): the topology and its routes */
};
#define SHAPE_MAX_SENDS 64

/* Pairs of ranks that send to each other, over all steps. */
struct shape_sends {
	struct {
		uint32_t from, to, step; /* step: the first of those in which it does */
	} at[SHAPE_MAX_SENDS];           /* by from, then by step */
	uint32_t count;
	uint32_t steps; /* of a rank */
};

/* A fabric and a collective for an evaluation's cases. A new one is one row of the table in case.c. */

#define SHAPE_MAX_RANKS 16

struct eval_case {
	const struct family *family;
	uint32_t index;   /* within the family, from 0 */
	uint32_t attempt; /* how many cases with this index were wrong by construction */
	const struct case_source *source;
	struct prng prng;       /* of this case and attempt */
	struct routing routing; /* as the run will route: its seed is run_seed */
	uint64_t run_seed;
	uint32_t ranks[SHAPE_MAX_RANKS]; /* hosts, by rank */
	struct shape_sends sends;        /* between ranks */
	uint64_t start_ns;               /* of the collective */
	const char *timeout;             /* of the hosts' QPs */
	struct case_flow flows[CASE_MAX_FLOWS];
	uint32_t nflows;
	char faults[CASE_MAX_FAULTS][192]; /* groups of the scenario's list "faults" */
	uint32_t nfaults;
	char pins[CASE_MAX_PINS][256]; /* groups of its list "paths" */
	uint32_t npins;
	json_t *anomalies; /* array of { kind, ... }: the anomalies that judge.h checks */
};

/*
 * Begins a case: ranks apart (place.h), no flows, no faults.
 * @param source  must outlive the case
 * @return 0 or -ENOMEM; case_fini() frees its contents
 */
int case_init(struct eval_case *c, const struct family *family, uint32_t index, uint32_t attempt,
	      const struct case_source *source);
void case_fini(struct eval_case *c);

/*
 * The factor for times: starts, durations and epochs scale with a step, which takes longer by the factor that a
 * host's link is slower than the paper's.
 */
double case_stretch(const struct case_source *source);
/* Random amounts, uniform between two at scale 1 on the paper's fabric, scaled. Times are stretched. */
uint64_t case_bytes(struct eval_case *c, double min_bytes, double max_bytes);
uint64_t case_time_ns(struct eval_case *c, double min_ns, double max_ns);
/* @return uniform in [min, max] */
uint32_t case_pick(struct eval_case *c, uint32_t min, uint32_t max);

/* Adds a flow with a source port of its own. @param sport  0: any. @return it */
struct case_flow *case_add_flow(struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, uint64_t bytes,
				uint64_t start_ns);
/* Adds a group to "faults". */
void case_add_fault(struct eval_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fixes the path of data from src to dst: egress ports from the sender's switch on. */
void case_add_pin(struct eval_case *c, uint32_t src, uint32_t dst, const uint32_t *ports, uint32_t count);
/* Adds an intended anomaly. Takes the reference. */
void case_add_anomaly(struct eval_case *c, json_t *anomaly);

/* "h1->h4/20001>4791", as verdict.json and truth.json name flows. @param buf  of CASE_NAME. @return buf */
char *case_flow_name(const struct eval_case *c, const struct case_flow *flow, char *buf);

/*
 * Writes DIR/case.cfg, which runs by itself, and DIR/case.json, its intended anomalies.
 * @return 0, or negative errno with err set: also for a scenario that cannot be loaded
 */
int case_write(const struct eval_case *c, const char *dir, struct err *err);

/*
 * The fabric of every case.
 * @param path  where its scenario may be written
 * @return NULL with err set: it cannot be written or loaded, or its steps are too short for telemetry's least epoch
 */
struct scenario *case_network(const char *path, const struct case_source *source, struct err *err);

extern const struct shape *const shapes; /* the paper's first; a NULL name ends it */

/* @return NULL: there is none of this name */
const struct shape *shape_find(const char *name);

/* @return 0 or -ENOMEM */
int shape_sends(const struct shape *shape, struct shape_sends *sends);

/* The families of cases: IV-A of the paper, and those beyond it. A new one is one file and one line of the registry. */

struct family {
	const char *name;
	const char *draws; /* the key of its cases' random choices: another word gives other cases than the published */
	uint32_t cases;    /* how many by default */
	const char *doc;
	bool needs_paper; /* only for shapes that have the paper's graph and ring: it writes out a pod of it */
	/* Fills a case that case_init() began. @return 0, or -EAGAIN: chance did not find one, the next attempt may */
	int (*make)(struct eval_case *c);
};

extern const struct family *const families[]; /* NULL ends it */

/* @return NULL: there is none of this name */
const struct family *family_find(const char *name);

extern const struct family family_contention, family_incast, family_storm, family_backpressure, family_deadlock,
	family_loop, family_imbalance, family_mixed, family_clean, family_slow_host;

/*
 * The injections of families into a collective; mixed makes two of them. Each adds itself to the case's anomalies.
 * @param latest_ns  when flows start at the latest, at scale 1
 * @return as make()
 */
int inject_contention(struct eval_case *c, uint32_t flows, double latest_ns);
int inject_incast(struct eval_case *c, uint32_t flows, double latest_ns);
int inject_storm(struct eval_case *c);
int inject_slow_host(struct eval_case *c);
