/* SPDX-License-Identifier: BSD-3-Clause */
/* Between net.c, net_traces.c, responder_counts.c and one_way.c. */
#pragma once

#include "diag/pingmesh/net.h"

#define CMP(a, b) ((a) < (b) ? -1 : (a) > (b))

int net_cmp_tuple(const struct rec_tuple *a, const struct rec_tuple *b);
/* @return index into tuples, RUN_NONE: no probe has it */
uint32_t net_find_tuple(const struct net *net, const struct rec_tuple *tuple);
/* @return a copy of all records of a kind, sorted, to be freed; NULL with err */
void *net_sorted(const struct ev_vec *records, size_t size_bytes, int (*cmp)(const void *, const void *), uint32_t *count,
		 struct err *err);
/* Sets traces and links. @return 0 or -ENOMEM with err */
int net_list_traces(struct net *net, const struct ev_vec *records, struct err *err);
/* @return index of the first upload of a host after a time; of the next host's, where it has none */
uint32_t net_first_upload(const struct net *net, uint32_t host, uint64_t after_ps);
/* Sets rtt_ps of one-way probes. @return 0 or -ENOMEM with err */
int net_level_rails(struct net *net, struct err *err);
/* Sets probes' lost. @return 0 or -ENOMEM with err */
int net_mark_lost(struct net *net, const struct ev_vec *records, struct err *err);
