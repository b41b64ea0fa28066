/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "common/wire/detection.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "rxe-hosts/steps/engine.h"

/*
 * Switch s is joined to the UPLINKS / 2 next ones: its ports of even number lead on, those of odd number back. Hosts
 * follow, a flow's path is a chain of HOPS switches from its host's on.
 */
#define UPLINKS 16
#define HOPS 5
#define RATE_BPS 100000000000ULL
#define EPOCH_PS PS_PER_MS
#define EXPECT_PS (10 * PS_PER_MS)
#define SLOW_PS (13 * PS_PER_MS)
#define PAUSED_IN_A_ROW 4 /* ports: one of this number along a path is not paused, and pauses begin there */
#define PACKETS 8000      /* of a flow in an epoch */
#define FIRST_IP 0x0a000000u

struct maker {
	struct bench_stream *out;
	const struct bench_shape *shape;
	bool no_memory;
};

static void
put(struct maker *m, void *rec, uint16_t type, size_t size_bytes, uint32_t node, uint64_t time_ps)
{
	struct bench_stream *out = m->out;
	struct rec_hdr *hdr = rec;

	*hdr = (struct rec_hdr){ .type = type,
				 .size = (uint16_t)size_bytes,
				 .node = node,
				 .time_ps = time_ps,
				 .seq = out->seq++,
				 .event = hdr->event };
	if (out->used_bytes + size_bytes > out->cap_bytes) {
		size_t cap_bytes = out->cap_bytes == 0 ? 1 << 20 : 2 * out->cap_bytes;
		uint8_t *data = m->no_memory ? NULL : realloc(out->data, cap_bytes);

		m->no_memory |= data == NULL;
		if (data == NULL)
			return;
		out->data = data;
		out->cap_bytes = cap_bytes;
	}
	memcpy(out->data + out->used_bytes, rec, size_bytes);
	out->used_bytes += size_bytes;
	out->records++;
}
#define PUT(m, rec, type, node, time_ps) put((m), &(rec), (type), sizeof(rec), (node), (time_ps))

static uint32_t
host(const struct maker *m, uint32_t rank)
{
	return m->shape->switches + rank % m->shape->ranks;
}

static struct rec_tuple
flow_of(const struct maker *m, uint32_t rank)
{
	return (struct rec_tuple){ FIRST_IP + host(m, rank), FIRST_IP + host(m, rank + 1), 49152, 4791, 0 };
}

/* A flow that is in no schedule. */
static struct rec_tuple
other_flow(const struct maker *m, uint32_t n)
{
	return (struct rec_tuple){ FIRST_IP + host(m, n), FIRST_IP + host(m, n + 2), (uint16_t)(20000 + n % 7), 4791, 0 };
}

static void
put_port(struct maker *m, uint32_t node, uint32_t port, uint32_t peer, uint32_t peer_port, bool is_nic)
{
	struct rec_port rec = { .port = (uint16_t)port,
				.peer = peer,
				.peer_port = (uint16_t)peer_port,
				.ip = is_nic ? FIRST_IP + node : 0,
				.rate_bps = RATE_BPS,
				.delay_ps = 2 * PS_PER_US };

	PUT(m, rec, REC_PORT, node, 0);
}

static void
put_fabric(struct maker *m)
{
	uint32_t switches = m->shape->switches, ranks = m->shape->ranks;

	for (uint32_t n = 0; n < switches + ranks; n++) {
		struct rec_node rec = { .kind = n >= switches,
					.nports = n >= switches ? 1 : UPLINKS + (ranks + switches - 1 - n) / switches };

		snprintf(rec.name, sizeof(rec.name), "%c%u", n >= switches ? 'h' : 's', n >= switches ? n - switches : n);
		PUT(m, rec, REC_NODE, n, 0);
	}
	for (uint32_t s = 0; s < switches; s++) {
		for (uint32_t p = 0; p < UPLINKS; p += 2) {
			uint32_t next = (s + 1 + p / 2) % switches;

			put_port(m, s, p, next, p + 1, false);
			put_port(m, next, p + 1, s, p, false);
		}
	}
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t edge = r % switches, port = UPLINKS + r / switches;

		put_port(m, edge, port, host(m, r), 0, false);
		put_port(m, host(m, r), 0, edge, port, true);
	}
}

/* The switch and egress of a hop of a rank's flow. */
static void
hop_of(const struct maker *m, uint32_t rank, uint32_t hop, uint32_t *node, uint32_t *port)
{
	*node = (rank + hop) % m->shape->switches;
	*port = (rank / m->shape->switches * 2) % UPLINKS;
}

static void
put_routes(struct maker *m)
{
	for (uint32_t r = 0; r < m->shape->ranks; r++) {
		struct rec_route rec = { .flow = flow_of(m, r) };

		PUT(m, rec, REC_ROUTE, host(m, r), 0);
		for (uint32_t h = 0; h < HOPS; h++) {
			uint32_t node, port;

			hop_of(m, r, h, &node, &port);
			rec.hop = (uint16_t)(h + 1);
			rec.port = (uint16_t)port;
			PUT(m, rec, REC_ROUTE, node, 0);
		}
	}
}

static bool
is_slow(const struct maker *m, uint32_t step)
{
	return step <= m->shape->slow;
}

static void
put_steps(struct maker *m)
{
	const struct bench_shape *shape = m->shape;
	struct rec_collective collective = { .ranks = shape->ranks,
					     .steps = shape->ranks * shape->steps,
					     .rank_steps = shape->steps,
					     .bytes = 1000000000,
					     .expect_ps = shape->steps * EXPECT_PS };

	PUT(m, collective, REC_COLLECTIVE, REC_NONE, 0);
	for (uint32_t r = 0; r < shape->ranks; r++) {
		uint64_t start_ps = 0;

		for (uint32_t s = 1; s <= shape->steps; s++) {
			uint32_t from = s > 1 ? (r + shape->ranks - 1) % shape->ranks : REC_NONE;
			uint64_t end_ps = start_ps + (is_slow(m, s) ? SLOW_PS : EXPECT_PS);
			struct rec_schedule sched = { .step = s,
						      .rank = r,
						      .flow = flow_of(m, r),
						      .bytes = 120000000,
						      .peer = (r + 1) % shape->ranks,
						      .own_step = s - 1,
						      .depends_rank = from,
						      .depends_step = s - 1,
						      .ideal_ps = EXPECT_PS,
						      .expect_ps = EXPECT_PS,
						      .base_rtt_ps = 20 * PS_PER_US };
			struct rec_step step = { .step = s,
						 .rank = r,
						 .waited_collective = s > 1 ? 0 : REC_NONE,
						 .waited_rank = from,
						 .waited_step = s - 1,
						 .bytes = sched.bytes,
						 .acked_bytes = sched.bytes,
						 .start_ps = start_ps,
						 .end_ps = end_ps };

			PUT(m, sched, REC_SCHEDULE, host(m, r), 0);
			PUT(m, step, REC_STEP, host(m, r), end_ps);
			start_ps = end_ps;
		}
	}
}

/* The report of one port about an epoch. */
static void
put_rows(struct maker *m, uint32_t node, uint32_t port, uint32_t epoch, uint64_t time_ps)
{
	struct rec_port_row row = { .port = (uint16_t)port,
				    .depth_max = 200,
				    .epoch_first = epoch,
				    .epoch_last = epoch,
				    .from_ps = epoch * EPOCH_PS,
				    .to_ps = (epoch + 1) * EPOCH_PS,
				    .packets = PACKETS,
				    .bytes = PACKETS * 1100,
				    .depth_sum = PACKETS * 100,
				    .pause_ps = node / (port / 2 + 1) % PAUSED_IN_A_ROW != 0 ? EPOCH_PS / 4 : 0,
				    .queue_packets = 100,
				    .ingress_xoff_bytes = 100000 };

	PUT(m, row, REC_PORT_ROW, node, time_ps);
	for (uint32_t f = 0; f < BENCH_FLOWS_A_PORT; f++) {
		/* the rank whose path begins at a switch before this one */
		uint32_t rank = (node + m->shape->switches - f % HOPS) % m->shape->switches + port / 2 * m->shape->switches;
		struct rec_flow_row flow = { .flow = f < 2 && rank < m->shape->ranks ? flow_of(m, rank)
										     : other_flow(m, node + f),
					     .port = (uint16_t)port,
					     .in_port = (uint16_t)(f % 2 == 0 ? port + 1 : UPLINKS),
					     .epoch_first = epoch,
					     .epoch_last = epoch,
					     .packets = PACKETS / BENCH_FLOWS_A_PORT,
					     .depth_sum = PACKETS / BENCH_FLOWS_A_PORT * 100 };

		PUT(m, flow, REC_FLOW_ROW, node, time_ps);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct rec_meter_row meter = { .in_port = (uint16_t)(i == 0 ? port + 1 : UPLINKS),
					       .port = (uint16_t)port,
					       .epoch_first = epoch,
					       .epoch_last = epoch,
					       .bytes = PACKETS * 550 };

		PUT(m, meter, REC_METER_ROW, node, time_ps);
	}
}

/* Reports, spread over the time of the slow steps; in order of time, as the exporter sends them. */
static void
put_reports(struct maker *m)
{
	const struct bench_shape *shape = m->shape;
	uint64_t time_ps = 0;

	for (uint32_t i = 0; i < shape->reports; i++) {
		uint32_t epoch = (uint32_t)((uint64_t)i * shape->slow * SLOW_PS / shape->reports / EPOCH_PS);

		time_ps = (epoch + 2) * EPOCH_PS;
		for (uint32_t node = 0; node < shape->switches; node++) {
			uint32_t port = i % (UPLINKS / 2) * 2;
			struct rec_poll poll = { .hdr.event = i + 1,
						 .victim = flow_of(m, node),
						 .in_port = 1,
						 .out_port = (uint16_t)port,
						 .flags = 3,
						 .out_paused = 1,
						 .ttl = 60 };

			PUT(m, poll, REC_POLL, node, time_ps);
			put_rows(m, node, port, epoch, time_ps);
			put_rows(m, node, port, epoch + 1, time_ps);
		}
	}
}

int
bench_stream_make(struct bench_stream *stream, const struct bench_shape *shape, struct err *err)
{
	struct maker m = { .out = stream, .shape = shape };
	struct rec_stream head = { REC_MAGIC, REC_VERSION, sizeof(head) };
	struct rec_run run = { .name = "bench",
			       .policy = REC_POLICY_VEDRFOLNIR,
			       .detections = 3,
			       .rtt_percent = 120,
			       .epochs_kept = 4,
			       .epoch_ps = EPOCH_PS,
			       .frame_bytes = 1104,
			       .payload_bytes = 1024,
			       .ack_bytes = 86 };
	struct rec_end end = { .reason = REC_END_COMPLETE,
			       .at_node = REC_NONE,
			       .end_ps = shape->slow * SLOW_PS + (shape->steps - shape->slow) * EXPECT_PS };

	*stream = (struct bench_stream){ .data = malloc(1 << 20), .cap_bytes = 1 << 20 };
	if (stream->data == NULL)
		return err_set(err, -ENOMEM, "out of memory for a stream of records");
	memcpy(stream->data, &head, sizeof(head));
	stream->used_bytes = sizeof(head);
	PUT(&m, run, REC_RUN, REC_NONE, 0);
	put_fabric(&m);
	put_routes(&m);
	put_steps(&m);
	put_reports(&m);
	PUT(&m, end, REC_END, REC_NONE, end.end_ps);
	return m.no_memory ? err_set(err, -ENOMEM, "out of memory for a stream of records") : 0;
}

void
bench_stream_fini(struct bench_stream *stream)
{
	free(stream->data);
	*stream = (struct bench_stream){ 0 };
}
