/* SPDX-License-Identifier: BSD-3-Clause */
/* A small run as a record stream. */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"

/* Appends to a stream under construction. */
struct stream {
	uint8_t bytes[8192] __attribute__((aligned(8)));
	size_t used_bytes;
};

static void
append(struct stream *s, void *rec, uint16_t type, size_t size_bytes, uint32_t node)
{
	struct rec_hdr *hdr = rec;

	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->node = node;
	hdr->time_ps = type < REC_STEP ? 0 : 1000 * s->used_bytes;
	hdr->seq = (uint32_t)s->used_bytes;
	memcpy(s->bytes + s->used_bytes, rec, size_bytes);
	s->used_bytes += size_bytes;
}

/* Two hosts at one switch, two steps each, the flow of the first by both ports that lead to the second. */
static void
put_headers(struct stream *s, const struct rec_tuple flows[2])
{
	struct rec_stream head = { REC_MAGIC, REC_VERSION, sizeof(head) };
	struct rec_run run = { .name = "seed",
			       .policy = REC_POLICY_VEDRFOLNIR,
			       .detections = 3,
			       .rtt_percent = 120,
			       .epochs_kept = 2,
			       .epoch_ps = 1000000,
			       .frame_bytes = 1348,
			       .payload_bytes = 1024,
			       .ack_bytes = 60 };
	struct rec_collective collective = {
		.ranks = 2, .steps = 4, .rank_steps = 2, .bytes = 2048, .ideal_ps = 2000, .expect_ps = 2200
	};
	struct rec_depend depend = { .step = 2, .rank = 1, .on_step = 2 };
	struct rec_ecmp ecmp = { .set = 1, .ports = { 3 } };
	struct rec_route nic = { .flow = flows[0] }, route = { .flow = flows[0], .hop = 1, .port = 1, .ecmp = 1 };

	memcpy(s->bytes, &head, sizeof(head));
	s->used_bytes = sizeof(head);
	append(s, &run, REC_RUN, sizeof(run), REC_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		struct rec_node node = { .name = { (char)('a' + i) }, .kind = i < 2, .nports = i < 2 ? 1 : 2 };

		append(s, &node, REC_NODE, sizeof(node), i);
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_port port = { .port = i == 3,
					 .peer_port = i == 1,
					 .peer = i < 2 ? 2 : i - 2,
					 .ip = i < 2 ? flows[i].src_ip : 0,
					 .rate_bps = 100000000000,
					 .delay_ps = 1000000 };

		append(s, &port, REC_PORT, sizeof(port), i < 2 ? i : 2);
	}
	append(s, &collective, REC_COLLECTIVE, sizeof(collective), REC_NONE);
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_schedule schedule = { .step = i % 2 + 1,
						 .rank = i / 2,
						 .flow = flows[i / 2],
						 .bytes = 1024,
						 .peer = 1 - i / 2,
						 .own_step = i % 2,
						 .depends_rank = i % 2 == 0 ? REC_NONE : 1 - i / 2,
						 .depends_step = i % 2,
						 .depends = i == 3,
						 .ideal_ps = 1000,
						 .expect_ps = 1100,
						 .base_rtt_ps = 2000 };

		append(s, &schedule, REC_SCHEDULE, sizeof(schedule), i / 2);
	}
	append(s, &depend, REC_DEPEND, sizeof(depend), 1);
	append(s, &nic, REC_ROUTE, sizeof(nic), 0);
	append(s, &ecmp, REC_ECMP, sizeof(ecmp), 2);
	append(s, &route, REC_ROUTE, sizeof(route), 2);
}

/* Two steps of each rank, one after the other. */
static void
put_steps(struct stream *s)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_step step = { .step = i % 2 + 1,
					 .rank = i / 2,
					 .waited_collective = i % 2 == 0 ? REC_NONE : 0,
					 .waited_rank = i % 2 == 0 ? REC_NONE : 1 - i / 2,
					 .waited_step = i % 2,
					 .bytes = 1024,
					 .acked_bytes = 1024,
					 .start_ps = i % 2 * 1000000,
					 .end_ps = (i % 2 + 1) * 1000000 };

		append(s, &step, REC_STEP, sizeof(step), i / 2);
	}
}

/* What is known before the run of monitors of volumes, and of the network. */
static void
put_known(struct stream *s)
{
	struct rec_monitor monitor = { .prediction = REC_PREDICTION_SIMULATED, .learn = 1, .runs = 2, .iterations = 4 };
	struct rec_setting setting = { .text = "switch.pfc.alpha=0.125" };
	struct rec_known_fault cut = { .kind = "link-down", .rate_ppb = 1000000000 };
	struct rec_known_fault slow = { .kind = "slow-host", .port = REC_NO_PORT, .extra_ps = 1000 };

	append(s, &monitor, REC_MONITOR, sizeof(monitor), REC_NONE);
	append(s, &setting, REC_SETTING, sizeof(setting), REC_NONE);
	append(s, &cut, REC_KNOWN_FAULT, sizeof(cut), 2);
	append(s, &slow, REC_KNOWN_FAULT, sizeof(slow), 1);
}

/* Records of a monitor of volumes. */
static void
put_volumes(struct stream *s)
{
	struct rec_volume volume = { .sender = 2, .predicted = 5000, .seen = 4044, .packets = 3 };
	struct rec_volume_alarm alarm = { .place = REC_LOSS_PAIR,
					  .sender = 2,
					  .pooled = 1,
					  .predicted = 5000,
					  .seen = 4044,
					  .expected = 5000,
					  .got = 4044,
					  .packets = 3,
					  .drop_ppm = 191200,
					  .high_ppm = 500000 };
	struct rec_volume_flaw flaw = { .sender = REC_NONE, .iteration = 1, .flaw = REC_FLAW_TAGS };
	struct rec_monitored monitored = { .ports = 1, .senders = 1, .compared = 1, .flawed = 1, .alarms = 1 };

	append(s, &volume, REC_VOLUME, sizeof(volume), 2);
	append(s, &alarm, REC_VOLUME_ALARM, sizeof(alarm), 2);
	append(s, &flaw, REC_VOLUME_FLAW, sizeof(flaw), 2);
	append(s, &monitored, REC_MONITORED, sizeof(monitored), 2);
}

/* Records of an agent of R-Pingmesh: of itself, of a probe and of the path of the probe. */
static void
put_probes(struct stream *s, const struct rec_tuple *tuple)
{
	struct rec_rnic rnic = { .ip = tuple->src_ip, .qpn = 0x11, .tor = 2 };
	struct rec_connection connection = { .open = 1, .tuple = *tuple };
	struct rec_probe probe = {
		.tuple = *tuple, .target_qpn = 0x12, .rtt_ps = 4000, .prober_ps = 900, .responder_ps = 800
	};
	struct rec_probe lost = { .tuple = *tuple, .target_qpn = 0x12, .seq = 1, .result = REC_PROBE_TIMEOUT };
	struct rec_probe_hop hop = { .tuple = *tuple, .hop = 1, .at = 2, .last = 1, .trace = 7 };
	struct rec_upload upload = { .probes = 2, .timeouts = 1 };
	struct rec_responder received = {
		.tuple = { tuple->dst_ip, tuple->src_ip, 7, 7, 0 }, .chained = 1, .first_seq = 3, .last_seq = 4, .count = 2
	};

	append(s, &rnic, REC_RNIC, sizeof(rnic), 0);
	append(s, &connection, REC_CONNECTION, sizeof(connection), 0);
	append(s, &probe, REC_PROBE, sizeof(probe), 0);
	append(s, &lost, REC_PROBE, sizeof(lost), 0);
	append(s, &hop, REC_PROBE_HOP, sizeof(hop), 0);
	append(s, &received, REC_RESPONDER, sizeof(received), 0);
	append(s, &upload, REC_UPLOAD, sizeof(upload), 0);
}

/* What a tracer was reported a flow's way, and how late the machine was. */
static void
put_traces(struct stream *s, const struct rec_tuple *tuple)
{
	struct rec_traced traced = { .tuple = *tuple, .set_low = 1, .messages = 1 };
	struct rec_traced_hop hop = { .tuple = *tuple, .set_low = 6, .hop = 1, .out_port = 1 };
	struct rec_traced_hop lost = {
		.tuple = *tuple, .round = 1, .hop = 1, .out_port = REC_NO_PORT, .result = REC_TRACE_SILENT
	};
	struct rec_lateness late = {
		.kind = REC_LATENESS_HOST, .lcore = REC_NONE, .measured = 1, .to_ps = 900, .late_ps = 400
	};
	struct rec_trace_round round = { .flows = 1, .traced = 1, .questions = 2, .complete = 1 };

	append(s, &traced, REC_TRACED, sizeof(traced), 0);
	append(s, &hop, REC_TRACED_HOP, sizeof(hop), 2);
	append(s, &lost, REC_TRACED_HOP, sizeof(lost), 2);
	append(s, &round, REC_TRACE_ROUND, sizeof(round), 0);
	append(s, &late, REC_LATENESS, sizeof(late), 0);
}

/* What hosts and the switch report, in epochs of 1 us: slow steps, a queue, a pause, and all else once. */
static void
put_reports(struct stream *s, const struct rec_tuple flows[2])
{
	struct rec_tuple other = { flows[0].src_ip, flows[0].dst_ip, 7, 7, 0 };
	struct rec_trigger trigger = { .flow = flows[0], .step = 1, .rtt_ps = 4000, .threshold_ps = 2400 };
	struct rec_notify notify = { .to = 1, .step = 1, .detections = 2 };
	struct rec_poll poll = {
		.hdr.event = 1, .victim = flows[0], .in_port = 0, .out_port = 1, .flags = 3, .out_paused = 1, .ttl = 63
	};
	struct rec_port_row port_row = {
		.port = 1, .packets = 6, .bytes = 8088, .depth_sum = 12, .depth_max = 4, .to_ps = 1000000, .pause_ps = 1000
	};
	struct rec_port_row state = { .hdr.event = 1,
				      .port = 1,
				      .epoch_first = 1,
				      .epoch_last = 1,
				      .from_ps = 1000000,
				      .to_ps = 1000000,
				      .paused = 1,
				      .paused_since_ps = 2000,
				      .queue_packets = 3,
				      .queue_bytes = 4044,
				      .ingress_xoff_bytes = 9000 };
	struct rec_meter_row meter_row = { .port = 1, .bytes = 4044 };
	struct rec_matrix_row matrix_row = { .flow = flows[0], .other = other, .port = 1, .ahead = 2 };
	struct rec_overtake_row overtake_row = { .flow = flows[0], .port = 1, .acks = 1, .packets = 2, .bytes = 168 };
	struct rec_drop_row drop_row = { .last = flows[0], .port = 1, .reason = REC_DROP_TTL, .packets = 1 };
	struct rec_passage passage = { .hdr.event = 1, .flow = flows[0], .out_port = 1, .in_frames = 7, .sent_frames = 9 };
	struct rec_watchdog watchdog = { .port = 1, .prio = 3, .action = REC_WATCHDOG_FORWARD, .since_ps = 1000 };
	struct rec_link_rate link_rate = { .port = 1, .rate_bps = 25000000000 };
	struct rec_flow_seen flow_seen = { .flow = other, .port = 1, .packets = 3, .bytes = 4044 };
	struct rec_gap gap = { .kind = REC_FLOW_ROW, .dropped = 1, .dropped_bytes = sizeof(struct rec_flow_row) };
	struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE, .end_ps = 3000000 };

	put_known(s);
	append(s, &trigger, REC_TRIGGER, sizeof(trigger), 0);
	append(s, &notify, REC_NOTIFY, sizeof(notify), 0);
	append(s, &poll, REC_POLL, sizeof(poll), 2);
	append(s, &port_row, REC_PORT_ROW, sizeof(port_row), 2);
	append(s, &state, REC_PORT_ROW, sizeof(state), 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct rec_flow_row flow_row = {
			.flow = i == 0 ? flows[0] : other, .port = 1, .packets = 3, .bytes = 4044, .depth_sum = 6
		};

		append(s, &flow_row, REC_FLOW_ROW, sizeof(flow_row), 2);
	}
	append(s, &meter_row, REC_METER_ROW, sizeof(meter_row), 2);
	append(s, &matrix_row, REC_MATRIX_ROW, sizeof(matrix_row), 2);
	append(s, &drop_row, REC_DROP_ROW, sizeof(drop_row), 2);
	append(s, &overtake_row, REC_OVERTAKE_ROW, sizeof(overtake_row), 2);
	append(s, &passage, REC_PASSAGE, sizeof(passage), 2);
	append(s, &watchdog, REC_WATCHDOG, sizeof(watchdog), 2);
	append(s, &link_rate, REC_LINK_RATE, sizeof(link_rate), 2);
	append(s, &flow_seen, REC_FLOW_SEEN, sizeof(flow_seen), 2);
	put_volumes(s);
	put_probes(s, &flows[0]);
	put_traces(s, &flows[0]);
	append(s, &gap, REC_GAP, sizeof(gap), REC_NONE);
	put_steps(s);
	append(s, &end, REC_END, sizeof(end), REC_NONE);
}

/* The same with reports in frames. */
static void
pack(struct stream *to, const struct stream *from)
{
	static struct recframe frame;

	memcpy(to->bytes, from->bytes, sizeof(struct rec_stream));
	to->used_bytes = sizeof(struct rec_stream);
	recframe_begin(&frame, 1ULL << 40);
	for (size_t at = sizeof(struct rec_stream); at < from->used_bytes;) {
		const struct rec_hdr *rec = (const void *)(from->bytes + at);
		bool packed = record_is_report(rec->type) && recframe_put(&frame, rec);

		if (!packed && frame.records != 0) {
			memcpy(to->bytes + to->used_bytes, recframe_end(&frame), frame.used_bytes);
			to->used_bytes += frame.used_bytes;
			recframe_begin(&frame, 1ULL << 40);
			continue;
		}
		if (!packed) {
			memcpy(to->bytes + to->used_bytes, rec, rec->size);
			to->used_bytes += rec->size;
		}
		at += rec->size;
	}
}

bool
record_seeds(const char *folder)
{
	static const struct rec_tuple flows[2] = { { 0x0a000001, 0x0a000002, 100, 200, 0 },
						   { 0x0a000002, 0x0a000001, 100, 200, 0 } };
	struct stream s, packed;

	put_headers(&s, flows);
	if (!write_seed(folder, "headers", s.bytes, s.used_bytes))
		return false;
	put_reports(&s, flows);
	if (!write_seed(folder, "whole", s.bytes, s.used_bytes))
		return false;
	pack(&packed, &s);
	return write_seed(folder, "packed", packed.bytes, packed.used_bytes);
}
