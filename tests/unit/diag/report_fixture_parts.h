/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of the fixture only. */
#pragma once

#include "diag/vedrfolnir/waiting/wgraph.h"
#include "tests/unit/diag/report_fixture.h"

/* Zeroed; ends the test program when there is no memory. */
void *fixture_alloc(size_t count, size_t size_bytes);
/* A verdict of VEDRFOLNIR alone, with nothing in it. */
struct verdict *fixture_verdict(void);
/* Nodes named by number, switches first; ports count in order of the links. */
void fixture_fabric(struct verdict *v, uint32_t nnodes, uint32_t nswitches, const uint32_t (*links)[2], uint32_t nlinks);
void fixture_flow(struct verdict *v, uint32_t flow, uint32_t src, uint32_t dst, uint16_t udp_port, bool collective);
/* @param path  "12:1 0:2" */
void fixture_hops(struct verdict *v, uint32_t flow, const char *path);
/* Makes one iteration of one job of the collective as it is now. */
void fixture_job(struct verdict *v);
/* Steps of a ring from their durations [rank][step], each starting when its own previous and its data are there. */
void fixture_steps(struct verdict *v, const uint32_t *flow_of_rank, const uint64_t *duration_ps, uint64_t start_ps,
		   uint64_t expect_ps);
/* The waiting graph of the one collective. */
void fixture_wait(struct verdict *v);
/* What the critical path lost, and what the findings explain of it. */
void fixture_budget(struct verdict *v);
