/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a record stream as the exporter would, for tests of whoever reads one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/units.h"
#include "diag/collect/evidence.h"

#define RECORDS_RATE_BPS 100000000000ULL
#define RECORDS_EPOCH_PS PS_PER_MS
#define RECORDS_NODES 64
/* Of a struct rec_step: its start waited for no step. */
#define WAITED_NONE .waited_collective = REC_NONE, .waited_rank = REC_NONE

struct records {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	uint32_t seq;
	uint32_t rank_of[RECORDS_NODES]; /* of hosts whose steps are scheduled */
	uint64_t reports, report_bytes;  /* as the exporter counts them: without headers and its own */
	uint64_t clock_error_ps;         /* of the end record */
};

/* A stream header and nothing else. */
void records_init(struct records *r);
void records_fini(struct records *r);
/* Any bytes. */
void records_append(struct records *r, const void *data, size_t size_bytes);
/* Fills in type, size, node, time and the next sequence number. */
void records_put(struct records *r, void *rec, uint16_t type, size_t size_bytes, uint32_t node, uint64_t time_ps);
#define RECORDS_PUT(r, rec, type, node, time_ps) records_put((r), &(rec), (type), sizeof(rec), (node), (time_ps))

/* Epochs of 1 ms, frames of 1348 B. */
void records_run(struct records *r);
void records_node(struct records *r, uint32_t node, const char *name, bool host, uint32_t nports);
/* Both ends of a cable; hosts get the address of records_ip(). */
void records_link(struct records *r, uint32_t a, uint16_t port_a, bool host_a, uint32_t b, uint16_t port_b, bool host_b);
uint32_t records_ip(uint32_t node);
struct rec_tuple records_tuple(uint32_t src, uint32_t dst, uint16_t sport);
/* A data path: pairs of (node, port), the sender's NIC first. */
void records_route(struct records *r, struct rec_tuple flow, const uint32_t (*hops)[2], uint32_t count);
void records_collective(struct records *r, uint32_t ranks, uint32_t steps);
/* depends: rank whose previous step it sends on, besides its own; REC_NONE for none. */
void records_schedule(struct records *r, uint32_t rank, uint32_t step, uint32_t src, uint32_t dst, uint32_t depends,
		      uint64_t expect_ps);
/* All steps scheduled so far send in this class. */
void records_class(struct records *r, uint32_t prio);
/* A finished step of src's rank. waited_for: host whose previous step it was, REC_NONE: its own. */
void records_step(struct records *r, uint32_t step, uint32_t src, uint32_t waited_for, uint64_t start_ps, uint64_t end_ps);
/* Rows over [first, last]; the report's time is the end of last. Returned for a test to change before putting it. */
struct rec_port_row records_port_row(uint16_t port, uint32_t first, uint32_t last, uint64_t packets, uint64_t depth_sum,
				     uint32_t depth_max);
struct rec_flow_row records_flow_row(uint16_t port, struct rec_tuple flow, uint32_t first, uint32_t last, uint64_t packets,
				     uint64_t depth_sum);
struct rec_meter_row records_meter_row(uint16_t in_port, uint16_t port, uint32_t first, uint32_t last, uint64_t bytes);
void records_put_port(struct records *r, uint32_t node, struct rec_port_row row);
void records_put_flow(struct records *r, uint32_t node, struct rec_flow_row row);
void records_put_meter(struct records *r, uint32_t node, struct rec_meter_row row);
void records_end(struct records *r, uint32_t reason, uint64_t end_ps);

/* Decodes and joins; fails the test with the message if that fails. */
void records_evidence(const struct records *r, struct evidence *ev);

struct verdict;
/*
 * Writes all reports of a verdict, into memory: verdict.json and the page's data are strict JSON, no text has a
 * control character. Whatever a test diagnoses has reports.
 */
void records_report(const struct verdict *v);
/* @return report.txt on one line, to be freed */
char *records_text(const struct verdict *v);

/*
 * Whatever a stream holds: it is refused with a reason, or has a verdict whose findings are of the run, and reports. Of
 * some a short run makes no page, and does not parse their JSON.
 */
void records_diagnose_any(const struct records *r);

/*
 * Other streams like this one, some values of whose records are exchanged with those of others of their kind, or changed a
 * little, for records_diagnose_any(): what a test has as an example meets its neighbours. A large stream, which takes
 * long, is left alone.
 */
void records_shake(const struct records *r);
