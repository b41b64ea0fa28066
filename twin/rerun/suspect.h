/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The possible causes of a slow run: parts of its scenario that can be left out. A kind of them is a row of the table
 * in suspect.c: how to list them, their names in a verdict, and the key that leaves one out.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct scenario;

#define SUSPECT_NAME 160
#define SUSPECT_SET 320
#define SUSPECT_MAX 48 /* of one run: sets of them are masks, and leaving out is a --set each */

struct suspect {
	const char *kind;        /* of the table, or "remedy" */
	char name[SUSPECT_NAME]; /* for people, and for options that select one: unique in its run */
	char set[SUSPECT_SET];   /* leaves it out, or is the remedy: as --set takes it with the effective configuration */
	json_t *flows;           /* arrays of names that findings may have: "13->19/10001>4791", */
	json_t *ports;           /* "6:2", both ends of a link, */
	json_t *nodes;           /* hosts and switches; */
	const char *const *symptoms; /* keys of finding types that may name it, NULL-terminated; NULL: of any place */
	json_t *losing, *late;       /* the job's flows that lose packets, or take longer, where it sits */
	json_t *more_sets;           /* array: other keys that have to be set with the first */
};

struct suspects {
	struct suspect *at; /* [count] */
	size_t count, cap;
};

struct suspect_kind {
	const char *name, *doc;
	/* Adds those of the scenario. @param job  whose time counts: it is none itself @return 0 or -ENOMEM */
	int (*list)(const struct scenario *scenario, uint32_t job, struct suspects *suspects);
};

extern const struct suspect_kind suspect_kinds[]; /* a NULL name ends it */

/*
 * All suspects that a scenario has and that are enabled.
 * @param suspects  zeroed; suspects_fini() frees its contents
 * @return 0, or -ENOMEM with err
 */
int suspects_list(const struct scenario *scenario, uint32_t job, struct suspects *suspects, struct err *err);
void suspects_fini(struct suspects *suspects);
/* Of one that leaves the list. */
void suspect_fini(struct suspect *suspect);

/* Adds a remedy: "routing.convergence=1ms". @return 0, or -EINVAL or -ENOMEM with err */
int suspects_add_remedy(struct suspects *suspects, const char *set, struct err *err);

/*
 * Keeps those of these names, in this order; of a flow "13->19" will do where one flow alone begins so.
 * @param names  [count]  @return 0, or -EINVAL with err set: one does not exist, or is named twice
 */
int suspects_keep(struct suspects *suspects, const char *const *names, size_t count, struct err *err);

/*
 * A verdict's claims of the suspects' cost, for comparison with their real cost. A finding that names flows as
 * culprits is about them, each with its part of the time that the finding explains; one that names none is about the
 * suspects at its root: the link that a port is an end of, or the node; where that is a flow, about the suspects that
 * lose packets, or delay them, on its path. Of several at its root it is about those of its kind, a storm or a loss.
 * A fault of a switch or a host is at each of its ports, to findings of its kind.
 * A claim that then fits several suspects is shared among them evenly, a claim that fits none is other's.
 */

struct claims {
	double ns[SUSPECT_MAX];  /* by suspect */
	bool named[SUSPECT_MAX]; /* as a root cause that cost something */
	double others_ns;        /* of findings that fit no suspect */
};

/*
 * @param verdict  verdict.json
 * @param job      whose findings count
 */
void claims_read(const json_t *verdict, const struct suspects *suspects, uint32_t job, struct claims *claims);

/* The flows of a suspect among the culprits of a finding. @return array, a new reference */
json_t *suspect_flows_named(const struct suspect *suspect, const json_t *finding);
/* Is a finding about the suspect, whatever it cost? At most SUSPECT_MAX suspects. */
bool suspect_is_named(const struct suspects *suspects, size_t index, const json_t *finding);
/* @return what one finding claims for the suspect in a job */
double suspect_claim_ns(const struct suspects *suspects, size_t index, const json_t *finding, uint32_t job);

/* @return its part of all that is claimed for suspects, 0 to 1 */
double claims_share(const struct claims *claims, const struct suspects *suspects, size_t index);
