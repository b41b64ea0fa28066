/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "diag/registry.h"
#include "diag/report/facts.h"
#include "tests/unit/diag/case.h"

#include "common/wire/record.h"

void
case_fabric(struct records *r)
{
	static const char *const names[] = { "1", "2", "3", "6", "13", "15", "16", "17", "18", "19" };
	static const uint32_t way17[][2] = { { H17, 0 }, { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };

	records_init(r);
	records_run(r);
	for (uint32_t n = SW1; n <= H19; n++)
		records_node(r, n, names[n], n >= H13, n >= H13 ? 1 : 3);
	records_link(r, SW1, 0, false, H13, 0, true);
	records_link(r, SW1, 1, false, H15, 0, true);
	records_link(r, SW1, 2, false, SW6, 2, false);
	records_link(r, SW2, 0, false, H16, 0, true);
	records_link(r, SW2, 1, false, H17, 0, true);
	records_link(r, SW2, 2, false, SW6, 0, false);
	records_link(r, SW3, 0, false, H18, 0, true);
	records_link(r, SW3, 1, false, H19, 0, true);
	records_link(r, SW3, 2, false, SW6, 1, false);
	records_collective(r, 2, 2);
	records_schedule(r, 0, 1, H17, H18, REC_NONE, EXPECT);
	records_schedule(r, 0, 2, H17, H18, 1, EXPECT);
	records_schedule(r, 1, 1, H15, H16, REC_NONE, EXPECT);
	records_schedule(r, 1, 2, H15, H16, 0, EXPECT);
	records_route(r, F17, way17, 4);
}

struct verdict *
case_diagnose(const struct records *r)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	records_evidence(r, &ev);
	if (registry_diagnose(&ev, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	records_report(v);
	records_shake(r);
	return v;
}

struct verdict *
case_conclude(struct records *r, enum rec_end_reason reason)
{
	struct verdict *v;

	records_end(r, reason, 80 * MS);
	v = case_diagnose(r);
	records_fini(r);
	return v;
}

const struct finding *
case_find(const struct verdict *v, const struct finding_type *type, const char *root, const char *flow)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *finding = &v->findings[i];

		if (finding->type == type && strcmp(finding->root, root) == 0 &&
		    (flow == NULL || strcmp(v->run.flows[finding->flows[0]].name, flow) == 0))
			return finding;
	}
	return NULL;
}

const char *
case_reason(const struct verdict *v)
{
	static char buf[FACTS_REASON];

	return facts_reason(v, buf);
}

const char *
case_incomplete(const struct verdict *v)
{
	static char buf[FACTS_INCOMPLETE];

	return facts_incomplete(v, buf);
}

const char *
case_evidence(const struct verdict *v, const struct finding *finding)
{
	static char buf[2][FACTS_EVIDENCE]; /* two of them can be compared */
	static int next;

	next = !next;
	return facts_evidence(v, finding, buf[next]);
}

bool
case_has_port(const struct verdict *v, const struct finding *finding, const char *name)
{
	for (uint32_t i = 0; i < finding->nports; i++) {
		if (strcmp(v->run.ports[finding->ports[i]].name, name) == 0)
			return true;
	}
	return false;
}

void
case_contention(struct records *r, uint32_t node, uint16_t port, uint32_t first, uint32_t last, uint32_t depth,
		struct rec_tuple one, uint64_t n_one, struct rec_tuple two, uint64_t n_two)
{
	records_put_port(r, node, records_port_row(port, first, last, n_one + n_two, (n_one + n_two) * depth, depth * 2));
	case_flow(r, node, port, 0, one, first, last, n_one, n_one * depth);
	case_flow(r, node, port, node < H13 ? 2 : 0, two, first, last, n_two, n_two * depth);
}

void
case_flow(struct records *r, uint32_t node, uint16_t port, uint16_t in_port, struct rec_tuple flow, uint32_t first,
	  uint32_t last, uint64_t packets, uint64_t depth_sum)
{
	struct rec_flow_row row = records_flow_row(port, flow, first, last, packets, depth_sum);

	row.in_port = in_port;
	records_put_flow(r, node, row);
}

void
case_paused(struct records *r, uint32_t node, uint16_t port, uint32_t last, uint64_t packets, uint64_t pause_ps)
{
	struct rec_port_row row = records_port_row(port, 0, last, packets, packets * 30, 60);

	row.pause_ps = pause_ps;
	row.pauses_received = 100;
	records_put_port(r, node, row);
}

/* 2:3 paused half of the time; what it sends goes to 6:2. */
static void
put_backpressure(struct records *r, uint32_t first, uint32_t last, uint64_t packets)
{
	struct rec_port_row row = records_port_row(2, first, last, packets, packets * 30, 60);

	row.pause_ps = (last + 1 - first) * MS / 2;
	row.pauses_received = 100;
	records_put_port(r, SW2, row);
	records_put_flow(r, SW2, records_flow_row(2, F17, first, last, packets, packets * 30));
	records_put_meter(r, SW6, records_meter_row(0, 1, first, last, packets * 1348));
}

void
case_study(struct records *r)
{
	case_fabric(r);
	records_step(r, 1, H15, REC_NONE, 0, 38430 * PS_PER_US);
	records_step(r, 1, H17, REC_NONE, 0, 47 * MS);
	records_step(r, 2, H15, H17, 47 * MS, 47 * MS + EXPECT);
	records_step(r, 2, H17, REC_NONE, 47 * MS, 117 * MS);
	/* 15->18 meets both in step 1: at its own NIC, where each packet waits for one of the other, and at 6:2. */
	case_contention(r, H15, 0, 5, 19, 1, F15, 69000, BF1, 69000);
	case_contention(r, SW6, 1, 5, 19, 60, F17, 70000, BF1, 69000);
	put_backpressure(r, 5, 19, 70000);
	/* 13->19 meets 17->18 at 6:2 from the end of step 1 on. */
	case_contention(r, SW6, 1, 30, 46, 150, F17, 79000, BF2, 79000);
	put_backpressure(r, 30, 46, 79000);
	case_contention(r, SW6, 1, 47, 116, 150, F17, 277000, BF2, 331000);
	put_backpressure(r, 47, 116, 277000);
}

void
case_stormy(struct records *r)
{
	struct rec_port_row row = records_port_row(2, 19, 19, 0, 0, 0);
	struct rec_flow_row flow = records_flow_row(2, F17, 19, 19, 0, 0);
	struct rec_poll poll = { .hdr.event = STORMY_EVENT,
				 .victim = F17,
				 .in_port = 1,
				 .out_port = 2,
				 .flags = 3,
				 .out_paused = 1,
				 .ttl = 60 };

	case_fabric(r);
	records_step(r, 1, H17, REC_NONE, 0, 80 * MS);
	row.paused = 1;
	row.paused_since_ps = MS;
	row.queue_packets = flow.queue_packets = 200;
	records_put_port(r, SW2, row);
	records_put_flow(r, SW2, flow);
	RECORDS_PUT(r, poll, REC_POLL, SW2, 20 * MS);
}
