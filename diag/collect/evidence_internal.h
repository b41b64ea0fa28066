/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of diag/collect only. */
#pragma once

#include "diag/collect/evidence.h"

/* Parts of evidence_finish(), in this order. @return 0 or -ENOMEM with err */
int evidence_join_flows(struct evidence *ev, struct err *err);
int evidence_join_routes(struct evidence *ev, struct err *err);
int evidence_join_rows(struct evidence *ev, struct err *err);
int evidence_join_passages(struct evidence *ev, struct err *err);
int evidence_join_steps(struct evidence *ev, struct err *err);

/* Is this the tuple of no flow, all of it 0? */
bool evidence_is_nobody(const struct rec_tuple *tuple);

/* calloc() of at least one element; sets err. */
void *evidence_alloc(size_t count, size_t size_bytes, struct err *err);
