/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"

void
records_append(struct records *r, const void *data, size_t size_bytes)
{
	if (r->used_bytes + size_bytes > r->cap_bytes) {
		r->cap_bytes = 2 * (r->used_bytes + size_bytes);
		r->data = realloc(r->data, r->cap_bytes);
		assert_non_null(r->data);
	}
	memcpy(r->data + r->used_bytes, data, size_bytes);
	r->used_bytes += size_bytes;
}

void
records_init(struct records *r)
{
	const struct rec_stream hdr = { REC_MAGIC, REC_VERSION, sizeof(hdr) };

	memset(r, 0, sizeof(*r));
	records_append(r, &hdr, sizeof(hdr));
}

void
records_fini(struct records *r)
{
	free(r->data);
	memset(r, 0, sizeof(*r));
}

void
records_put(struct records *r, void *rec, uint16_t type, size_t size_bytes, uint32_t node, uint64_t time_ps)
{
	struct rec_hdr *hdr = rec;

	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->node = node;
	hdr->time_ps = time_ps;
	hdr->seq = r->seq++;
	r->reports += record_is_report(type);
	r->report_bytes += record_is_report(type) ? size_bytes : 0;
	records_append(r, rec, size_bytes);
}

void
records_run(struct records *r)
{
	struct rec_run run = { .name = "test",
			       .epochs_kept = 2,
			       .epoch_ps = RECORDS_EPOCH_PS,
			       .frame_bytes = 1348,
			       .payload_bytes = 1300,
			       .ack_bytes = 60,
			       .detections = 3,
			       .rtt_percent = 120 };

	RECORDS_PUT(r, run, REC_RUN, REC_NONE, 0);
}

void
records_node(struct records *r, uint32_t node, const char *name, bool host, uint32_t nports)
{
	struct rec_node rec = { .kind = host, .nports = nports };

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	RECORDS_PUT(r, rec, REC_NODE, node, 0);
}

uint32_t
records_ip(uint32_t node)
{
	return 0x0a000001u + node;
}

void
records_link(struct records *r, uint32_t a, uint16_t port_a, bool host_a, uint32_t b, uint16_t port_b, bool host_b)
{
	struct rec_port one = { .port = port_a,
				.peer_port = port_b,
				.peer = b,
				.ip = host_a ? records_ip(a) : 0,
				.rate_bps = RECORDS_RATE_BPS,
				.delay_ps = 2 * PS_PER_US };
	struct rec_port two = { .port = port_b,
				.peer_port = port_a,
				.peer = a,
				.ip = host_b ? records_ip(b) : 0,
				.rate_bps = RECORDS_RATE_BPS,
				.delay_ps = 2 * PS_PER_US };

	RECORDS_PUT(r, one, REC_PORT, a, 0);
	RECORDS_PUT(r, two, REC_PORT, b, 0);
}

struct rec_tuple
records_tuple(uint32_t src, uint32_t dst, uint16_t sport)
{
	return (struct rec_tuple){ records_ip(src), records_ip(dst), sport, sport, 0 };
}

void
records_route(struct records *r, struct rec_tuple flow, const uint32_t (*hops)[2], uint32_t count)
{
	for (uint32_t h = 0; h < count; h++) {
		struct rec_route rec = { .flow = flow, .hop = (uint16_t)h, .port = (uint16_t)hops[h][1] };

		RECORDS_PUT(r, rec, REC_ROUTE, hops[h][0], 0);
	}
}

void
records_collective(struct records *r, uint32_t ranks, uint32_t steps)
{
	struct rec_collective rec = { .ranks = ranks > 1 ? ranks : 2,
				      .steps = ranks * steps,
				      .rank_steps = steps,
				      .bytes = 1000000,
				      .name = "c0",
				      .job_name = "job" };

	RECORDS_PUT(r, rec, REC_COLLECTIVE, REC_NONE, 0);
}

void
records_schedule(struct records *r, uint32_t rank, uint32_t step, uint32_t src, uint32_t dst, uint32_t depends,
		 uint64_t expect_ps)
{
	struct rec_schedule rec = { .step = step,
				    .rank = rank,
				    .flow = records_tuple(src, dst, 10000),
				    .bytes = 360000000,
				    .peer = rank == 0,
				    .own_step = step - 1,
				    .depends_rank = depends,
				    .depends_step = depends == REC_NONE ? 0 : step - 1,
				    .ideal_ps = expect_ps,
				    .expect_ps = expect_ps,
				    .base_rtt_ps = 10 * PS_PER_US };

	r->rank_of[src] = rank;
	RECORDS_PUT(r, rec, REC_SCHEDULE, src, 0);
}

void
records_class(struct records *r, uint32_t prio)
{
	for (size_t at = sizeof(struct rec_stream); at < r->used_bytes;) {
		struct rec_schedule *sched = (void *)(r->data + at);

		if (sched->hdr.type == REC_SCHEDULE)
			sched->prio = prio;
		at += sched->hdr.size;
	}
}

void
records_step(struct records *r, uint32_t step, uint32_t src, uint32_t waited_for, uint64_t start_ps, uint64_t end_ps)
{
	bool own = waited_for == REC_NONE;
	struct rec_step rec = { .step = step,
				.rank = r->rank_of[src],
				.waited_collective = step > 1 ? 0 : REC_NONE,
				.waited_rank = step > 1 ? r->rank_of[own ? src : waited_for] : REC_NONE,
				.waited_step = step - 1,
				.bytes = 360000000,
				.acked_bytes = 360000000,
				.start_ps = start_ps,
				.end_ps = end_ps };

	RECORDS_PUT(r, rec, REC_STEP, src, end_ps);
}

struct rec_port_row
records_port_row(uint16_t port, uint32_t first, uint32_t last, uint64_t packets, uint64_t depth_sum, uint32_t depth_max)
{
	return (struct rec_port_row){ .port = port,
				      .epoch_first = first,
				      .epoch_last = last,
				      .from_ps = first * RECORDS_EPOCH_PS,
				      .to_ps = (last + 1) * RECORDS_EPOCH_PS,
				      .packets = packets,
				      .bytes = packets * 1348,
				      .depth_sum = depth_sum,
				      .depth_max = depth_max };
}

struct rec_flow_row
records_flow_row(uint16_t port, struct rec_tuple flow, uint32_t first, uint32_t last, uint64_t packets, uint64_t depth_sum)
{
	return (struct rec_flow_row){ .flow = flow,
				      .port = port,
				      .epoch_first = first,
				      .epoch_last = last,
				      .packets = packets,
				      .bytes = packets * 1348,
				      .depth_sum = depth_sum };
}

struct rec_meter_row
records_meter_row(uint16_t in_port, uint16_t port, uint32_t first, uint32_t last, uint64_t bytes)
{
	return (struct rec_meter_row){
		.in_port = in_port, .port = port, .epoch_first = first, .epoch_last = last, .bytes = bytes
	};
}

void
records_put_port(struct records *r, uint32_t node, struct rec_port_row row)
{
	RECORDS_PUT(r, row, REC_PORT_ROW, node, row.to_ps);
}

void
records_put_flow(struct records *r, uint32_t node, struct rec_flow_row row)
{
	RECORDS_PUT(r, row, REC_FLOW_ROW, node, (row.epoch_last + 1) * RECORDS_EPOCH_PS);
}

void
records_put_meter(struct records *r, uint32_t node, struct rec_meter_row row)
{
	RECORDS_PUT(r, row, REC_METER_ROW, node, (row.epoch_last + 1) * RECORDS_EPOCH_PS);
}

void
records_end(struct records *r, uint32_t reason, uint64_t end_ps)
{
	struct rec_end rec = { .reason = reason,
			       .at_node = REC_NONE,
			       .end_ps = end_ps,
			       .offered_bytes = r->report_bytes,
			       .sent_bytes = r->report_bytes,
			       .offered_records = r->reports,
			       .sent_records = r->reports };

	RECORDS_PUT(r, rec, REC_END, REC_NONE, end_ps);
}

void
records_evidence(const struct records *r, struct evidence *ev)
{
	struct err err = { 0 };
	struct stream stream;

	evidence_init(ev);
	stream_init(&stream, ev);
	if (stream_feed(&stream, r->data, r->used_bytes, &err) != 0 || stream_finish(&stream, &err) != 0)
		fail_msg("%s", err.text);
	if (ev->left_out != 0)
		fail_msg("%s", ev->left_out_why.text);
	stream_fini(&stream);
}
