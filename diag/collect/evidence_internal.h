/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of diag/collect only. */
#pragma once

#include "diag/collect/evidence.h"

/*
 * Sorts records of a type that replace each other and keeps the latest of each key; others are left alone. In time
 * proportional to their number, as the next three. @return 0 or -ENOMEM with err
 */
int evidence_dedup(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err);
/* Sorts any type into its final order, deduplicating those that replace each other. */
int evidence_sort(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err);
/* Sorts struct rec_port_row by (node, port, time), and leaves out what was received twice. */
int evidence_sort_states(struct ev_vec *vec, struct err *err);
/* Sorts struct rec_flow_row by (node, port, epoch, time). */
int evidence_sort_flow_states(struct ev_vec *vec, struct err *err);

/* Parts of evidence_finish(), in this order. @return 0 or -ENOMEM with err */
int evidence_join_nodes(struct evidence *ev, struct err *err);
int evidence_join_flows(struct evidence *ev, struct err *err);
int evidence_join_routes(struct evidence *ev, struct err *err);
int evidence_join_rows(struct evidence *ev, struct err *err);
int evidence_join_passages(struct evidence *ev, struct err *err);
int evidence_join_steps(struct evidence *ev, struct err *err);
/* A part of evidence_join_rows(), once there are epochs. */
int evidence_join_feeds(struct evidence *ev, struct err *err);
/* The last part of evidence_join_steps(). */
int evidence_join_deps(struct evidence *ev, struct err *err);

/* @return index into steps, EV_NONE: there is none. @param collective  index, or EV_NONE */
uint32_t evidence_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number);

/* Is this the tuple of no flow, all of it 0? */
bool evidence_is_nobody(const struct rec_tuple *tuple);

/* calloc() of at least one element, with the error told. */
void *evidence_alloc(size_t count, size_t size_bytes, struct err *err);
