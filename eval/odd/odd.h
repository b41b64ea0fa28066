/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases that the families leave out, by groups. A group is a row of the table in groups.c and a function that writes
 * a scenario. Suspects in it are its flows, generators, faults, stragglers and other jobs (twin/rerun/suspect.h). A case
 * has no intended anomalies: a run without each suspect gives its cost.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/prng.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/shard.h"

struct route_path;
struct scenario;

#define ODD_HEAD 8192
#define ODD_LIST 8192
#define ODD_CASES 12 /* of a group */
#define ODD_MAX_GROUPS 48
#define ODD_REMEDY 64

enum odd_list { ODD_FLOWS, ODD_FAULTS, ODD_GENERATORS, ODD_PATHS, ODD_LISTS };

struct odd_case {
	const struct odd_group *group;
	uint64_t seed;
	uint32_t index;
	double scale; /* multiplies bytes, starts and durations */
	struct prng prng;
	char path[PATH_MAX]; /* of its scenario */
	char head[ODD_HEAD]; /* all of it but the lists: network, hosts, collectives */
	size_t used;
	struct {
		char text[ODD_LIST]; /* elements of the scenario's list */
		size_t used;
		uint32_t count;
	} lists[ODD_LISTS];
	struct scenario *loaded; /* of the head, from odd_plan() on: senders, receivers and their ports */
	uint64_t span_ns;        /* how long the first job should take */
	uint32_t flows;          /* sports given */
	char remedy[ODD_REMEDY]; /* a setting that is the cause, as it should be: a suspect by --set; empty: none */
};

struct odd_group {
	const char *name, *doc;
	const char *limits; /* of its runs; NULL: they end when nothing moves for 300 ms */
	/*
	 * Writes a case's head and lists. @return 0, or negative errno with err: the scenario cannot be loaded, or has
	 * no place
	 */
	int (*make)(struct odd_case *c, struct err *err);
	const char *clean_of; /* the same cases as this group's, without their causes; NULL: a group of its own */
};

extern const struct odd_group odd_groups[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct odd_group *odd_group_find(const char *name);

/*
 * Makes a case and writes it. The same group, seed, index and scale give the same file.
 * @param c     filled in
 * @param path  of the scenario
 * @return 0, or negative errno with err set
 */
int odd_make(struct odd_case *c, const struct odd_group *group, uint64_t seed, uint32_t index, double scale,
	     const char *path, struct err *err);

/* The helpers of groups that make cases. */

#define ODD_MB 1e6
#define ODD_HOSTS 16 /* of odd_network() */
#define ODD_US 1e3   /* in ns */

/* @return uniform in [min, max] */
uint32_t odd_pick(struct odd_case *c, uint32_t min, uint32_t max);
/* Uniform between two, as likely in each decade; not scaled. */
double odd_log(struct odd_case *c, double min, double max);
/* With this chance. */
bool odd_chance(struct odd_case *c, double probability);
/* Uniform between two, scaled; 1 at least. */
uint64_t odd_bytes(struct odd_case *c, double min_bytes, double max_bytes);
/* Uniform between two parts of the time that the first job should take. */
uint64_t odd_part_ns(struct odd_case *c, double min, double max);

void odd_head(struct odd_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void odd_add(struct odd_case *c, enum odd_list list, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Goes on with the element that was added last. */
void odd_more(struct odd_case *c, enum odd_list list, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A network of 16 hosts: fat-tree or leaf-spine. */
void odd_network(struct odd_case *c);
/*
 * A collective of random ranks, in random order, of a random kind.
 * @param hosts  of the network, h0 on
 */
void odd_collective(struct odd_case *c, uint32_t ranks, uint32_t hosts);
/* Both, of 4 to 8 ranks, and odd_plan(). */
int odd_plain(struct odd_case *c, struct err *err);
/* "h3", "h1", ... in random order. @param nodes  [hosts] filled in */
void odd_shuffle(struct odd_case *c, uint32_t *nodes, uint32_t hosts);

/* Loads the head of the case: from here on there are flows and ports. @return 0 or negative errno with err */
int odd_plan(struct odd_case *c, struct err *err);

/* A random data flow of the first collective. */
const struct flow *odd_send(struct odd_case *c);
/* The path of a flow's data, or of its ACKs. */
void odd_path(const struct odd_case *c, const struct flow *flow, bool reverse, struct route_path *path);
/* A random port on the path of a random data flow. */
uint32_t odd_port(struct odd_case *c);
/* One that leads from a switch to a switch. @return TOPO_NONE: chance found none */
uint32_t odd_trunk(struct odd_case *c);
const char *odd_port_name(const struct odd_case *c, uint32_t port, char *buf);

/* A flow whose start and bytes fit in the job's time. */
struct odd_flow {
	int prio;     /* -1: that of the collective */
	bool reverse; /* its ACKs cross the port, not its data */
	uint64_t bytes, start_ns;
};
/* Adds a flow between random hosts that crosses a port. @return 0, or -EAGAIN with err: chance found none */
int odd_crossing(struct odd_case *c, uint32_t port, const struct odd_flow *flow, struct err *err);
/* Adds one with random bytes and start, that crosses a random port of the collective. */
int odd_disturb(struct odd_case *c, struct err *err);

/* Adds "kind = KIND; port = PORT; start; duration" and the other given members. @param duration_ns  0: to the end */
void odd_fault(struct odd_case *c, const char *kind, uint32_t port, uint64_t start_ns, uint64_t duration_ns,
	       const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same, from some time of the job on for some time, or (half of all cases) all the time. */
void odd_fault_sometime(struct odd_case *c, const char *kind, uint32_t port, const char *more);
/* A port that sends PAUSE to one of the ports on the collective's paths. */
void odd_storm(struct odd_case *c, uint64_t start_ns, uint64_t duration_ns, int priority);

/* rocelab eval odd: makes the cases of some groups and seeds, does the missing runs, and grades. */

/*
 * The grade of a verdict whose suspects' cost is known (twin/rerun/rerun.h). It names root causes: findings, of which those
 * that explain next to nothing do not count. Each is of a suspect if it fits in kind and in place, by a row of the
 * table in run.c.
 *
 * Where truth is a mean over draws, what has to be named regains as much at the lower end of its 95 % interval, and what
 * may be named at the upper end.
 *
 *   a suspect has to be named    if its absence regains at least RERUN_MIN_SHARE of the time and a base RTT
 *   it may be named              if its absence, or its Shapley share, is worth one of both; or if all together regain
 *                                more than each of them alone, by the least time that has to be named
 *   one of all has to be         where none alone is worth that time, but all together are
 *   the job's own contention     may be named, if the job is slower than it should be without any suspect, or beside a
 *                                cause that had to be named: flows that a cause puts out of step share queues, and
 *                                cannot be left out
 */

enum odd_grade {
	ODD_RIGHT,   /* it names all that have to be named, and none that may not be */
	ODD_PARTLY,  /* something that has to be; something else is missing, is too much, or is of another kind there,
			or without a place */
	ODD_WRONG,   /* no cause that has to be named, and it does not report that it does not know */
	ODD_UNKNOWN, /* it names nothing, and reports that it does not know; or is right, and less sure than half */
	ODD_GRADES,
};

#define ODD_MAX_FINDINGS 32 /* root causes of a verdict, the costliest */

/* A root cause of a verdict. */
struct odd_finding {
	double confidence; /* that it states, 0 to 1 */
	bool right; /* in kind and place of a suspect that may be named, or of the job's own contention where that may */
};

struct odd_marks {
	enum odd_grade grade;
	double confidence; /* that it states, 0 to 1; -1: none */
	bool open;         /* draws leave every suspect open: a right verdict shows nothing */
	bool acquitted;    /* it calls the network innocent, and names no cause that has to be named: a host may be one */
	bool false_fault;  /* a root cause of it is a fault, and fits no suspect */
	struct odd_finding findings[ODD_MAX_FINDINGS];
	uint32_t nfindings;
	char why[320]; /* its error */
};

/* "right", ... */
const char *odd_grade_name(enum odd_grade grade);

struct odd_facts {
	const struct suspects *suspects;
	const struct rerun_truth *truth;
	uint32_t job;       /* whose findings count */
	double rtt_ns;      /* base RTT */
	double expected_ns; /* that the job takes where nothing is wrong */
};

/* Is it known of every suspect whether it has to be named, or may not be? More draws may tell. */
bool odd_is_settled(const struct odd_facts *facts);

void odd_grade(const json_t *verdict, const struct odd_facts *facts, struct odd_marks *marks);

#define ODD_MAX_SEEDS 64

struct odd_options {
	const struct odd_group *groups[ODD_MAX_GROUPS];
	uint32_t ngroups;
	uint64_t seeds[ODD_MAX_SEEDS];
	uint32_t nseeds;
	uint32_t cases; /* of a group and seed */
	uint32_t draws; /* of packets' chance, at most, over which a truth is a mean; 1: the run's own */
	double scale;
	uint32_t jobs;             /* runs side by side */
	const struct shard *shard; /* of the cases */
	const char *dir;           /* exists; DIR/SEED has a seed's store, DIR/SEED/GROUP/NNN a case */
};

struct odd_row {
	const struct odd_group *group;
	uint64_t seed;
	uint32_t index;
	uint32_t draws;         /* of its truth: more only where fewer leave a suspect open */
	struct odd_marks marks; /* by all of them */
	struct odd_marks first; /* by the run's own draw */
	double base_ns, all_ns;
	json_t *costs; /* array of { name, regained_ns, shapley_ns }, by suspect */
};

struct odd_results {
	struct odd_row *rows; /* [count] */
	uint32_t count;
	uint32_t broken; /* cases of which a run broke: not among the rows */
};

/*
 * @param results  set in any case; odd_results_fini() frees their contents
 * @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err
 */
int odd_run(const struct odd_options *options, struct odd_results *results, struct err *err);
void odd_results_fini(struct odd_results *results);

/*
 * A table by group, one by stated confidence, and cases that are not right. Of several draws there is a table by the first
 * alone before these.
 */
void odd_print(const struct odd_options *options, const struct odd_results *results, FILE *to);
/* DIR/odd.json: a row a case. @return 0 or negative errno with err */
int odd_write(const struct odd_options *options, const struct odd_results *results, struct err *err);
