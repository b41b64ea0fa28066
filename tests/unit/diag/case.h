/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part of the paper's case study (Fig. 14) as records: hosts 13, 15 on switch 1; 16, 17 on switch 2; 18, 19 on
 * switch 3; all three on switch 6. The collective's flows are 17->18 and 15->16, two steps each.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/ending.h"
#include "diag/vedrfolnir/section.h"
#include "diag/verdict.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/diag/types.h"

enum { SW1, SW2, SW3, SW6, H13, H15, H16, H17, H18, H19 };
#define MS PS_PER_MS
#define EXPECT (30750 * PS_PER_US)
#define BF1 records_tuple(H15, H18, 77)
#define BF2 records_tuple(H13, H19, 78)
#define F17 records_tuple(H17, H18, 10000)
#define F15 records_tuple(H15, H16, 10000)

/* Header records: topology, schedule, the path of 17->18. */
void case_fabric(struct records *r);
/* The whole case, but for the end record. */
void case_study(struct records *r);
#define STORMY_EVENT 9
/* 17->18 hangs in step 1; asked at 20 ms, all epochs are empty. */
void case_stormy(struct records *r);
/* Two flows meet in a queue for epochs [first, last]: one comes in at the node's port 0, the other at its port 2. */
void case_contention(struct records *r, uint32_t node, uint16_t port, uint32_t first, uint32_t last, uint32_t depth,
		     struct rec_tuple one, uint64_t n_one, struct rec_tuple two, uint64_t n_two);

/* A flow row with its ingress. */
void case_flow(struct records *r, uint32_t node, uint16_t port, uint16_t in_port, struct rec_tuple flow, uint32_t first,
	       uint32_t last, uint64_t packets, uint64_t depth_sum);
/* A port row of epochs [0, last], paused for part of them, 30 packets deep on average. */
void case_paused(struct records *r, uint32_t node, uint16_t port, uint32_t last, uint64_t packets, uint64_t pause_ps);

struct verdict *case_diagnose(const struct records *r);
/* The same where the run ends at 80 ms; frees the records. */
struct verdict *case_conclude(struct records *r, enum rec_end_reason reason);
/* @return the finding of this type and root, by this flow if one is given; NULL if there is none */
const struct finding *case_find(const struct verdict *v, const struct finding_type *type, const char *root,
				const char *flow);
bool case_has_port(const struct verdict *v, const struct finding *finding, const char *name);
/* What the reports say of the network, and of the evidence. @return text that lasts until the next call */
const char *case_reason(const struct verdict *v);
const char *case_incomplete(const struct verdict *v);
const char *case_evidence(const struct verdict *v, const struct finding *finding);
