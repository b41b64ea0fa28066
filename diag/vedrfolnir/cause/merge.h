/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make findings only: from those of one step to those of the verdict. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/* Appends to a small set. @return its position, or EV_NONE when out of memory */
uint32_t merge_put(struct cause_set *set, uint32_t **items, uint32_t *count, uint32_t item);
/* The finding with the type, root and collective of want, and this key. @return NULL: there is none */
struct cause_finding *merge_find(struct cause_set *set, const struct finding *want, uint32_t key);
/* Where the search for a finding begins, in a set that has buckets. */
uint32_t *merge_bucket(const struct cause_set *set, const struct finding *want, uint32_t key);
/* A new one. @param order  of its cause  @return NULL when full or out of memory */
struct cause_finding *merge_make(struct cause_set *set, const struct finding *want, uint32_t key, uint32_t order);

/*
 * Ends one step's findings: none explains more time than the step lost, those that explain too little of it go, and
 * a queue of incast or load imbalance that the step's flow stands in takes the place of the pauses that it causes.
 */
void merge_settle(struct cause_set *set, uint32_t step);

/* Adds a finding of one step to those of its kind. */
void merge_into(struct cause_set *all, const struct cause_finding *finding, uint32_t step);

/* Has a finding one of these traits (enum finding_trait)? */
static inline bool
merge_is(const struct finding *finding, uint32_t traits)
{
	return (finding->type->traits & traits) != 0;
}

/* Joins findings with one root, over all steps. */
void merge_roots(struct cause_set *all);

/* Worst culprit first, then by id. */
void merge_sort_flows(struct cause_finding *finding);
void merge_free(struct cause_set *set);
