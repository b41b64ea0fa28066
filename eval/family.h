/* SPDX-License-Identifier: BSD-3-Clause */
/* The families of cases: IV-A of the paper, and those beyond it. A new one is one file and one line of the registry. */
#pragma once

#include "eval/case.h"

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
