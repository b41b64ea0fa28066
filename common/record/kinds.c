/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/kinds.h"

#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"

#include "common/array.h"

#define FIELD(type, member, what)                                                                                          \
	{                                                                                                                  \
		.name = #member, .at = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member),          \
		.rule = RECORD_##what                                                                                      \
	}
#define RANGE(type, member, least, most)                                                                                   \
	{                                                                                                                  \
		.name = #member, .at = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member),          \
		.rule = RECORD_RANGE, .min = (least), .max = (most)                                                        \
	}
#define ZERO(type, member) RANGE(type, member, 0, 0)
#define FLAG(type, member) RANGE(type, member, 0, 1)
#define TOTAL(type, member) RANGE(type, member, 0, RECORD_MAX_COUNT)

static const struct record_field run_fields[] = {
	FIELD(rec_run, name, TEXT),         RANGE(rec_run, policy, 0, ENUM_COUNT(REC_POLICIES) - 1),
	FIELD(rec_run, detections, ANY),    FIELD(rec_run, rtt_percent, ANY),
	FIELD(rec_run, epochs_kept, ANY),   RANGE(rec_run, epoch_ps, 1, RECORD_MAX_PS),
	FIELD(rec_run, budget_bps, ANY),    FIELD(rec_run, frame_bytes, ANY),
	FIELD(rec_run, payload_bytes, ANY), FIELD(rec_run, ack_bytes, ANY),
	FLAG(rec_run, exact_contention),    FIELD(rec_run, jitter_ps, TIME),
};

static const struct record_field node_fields[] = {
	FIELD(rec_node, name, NAME),
	FLAG(rec_node, kind),
	RANGE(rec_node, nports, 0, RECORD_MAX_PORTS_A_NODE),
};

static const struct record_field port_fields[] = {
	FIELD(rec_port, port, PORT),     FIELD(rec_port, peer_port, ANY), FIELD(rec_port, peer, NODE_OR_NONE),
	FIELD(rec_port, ip, ANY),        ZERO(rec_port, reserved),        RANGE(rec_port, rate_bps, 1, RECORD_MAX_COUNT),
	FIELD(rec_port, delay_ps, TIME),
};

static const struct record_field collective_fields[] = {
	FIELD(rec_collective, id, ANY),
	FIELD(rec_collective, iteration, ANY),
	RANGE(rec_collective, algorithm, 0, ENUM_COUNT(COLL_ALGORITHMS) - 1),
	RANGE(rec_collective, op, 0, ENUM_COUNT(COLL_OPS) - 1),
	RANGE(rec_collective, ranks, 1, RECORD_MAX_NODES),
	RANGE(rec_collective, steps, 1, UINT32_MAX),
	TOTAL(rec_collective, bytes),
	FIELD(rec_collective, ideal_ps, TIME),
	FIELD(rec_collective, expect_ps, TIME),
};

static const struct record_field schedule_fields[] = {
	FIELD(rec_schedule, collective, ANY),
	FIELD(rec_schedule, iteration, ANY),
	RANGE(rec_schedule, step, 1, UINT32_MAX),
	FIELD(rec_schedule, rank, ANY),
	FIELD(rec_schedule, flow, TUPLE),
	TOTAL(rec_schedule, bytes),
	FIELD(rec_schedule, depends_on, HOST_OR_NONE),
	FIELD(rec_schedule, depends_step, ANY),
	FIELD(rec_schedule, ideal_ps, TIME),
	FIELD(rec_schedule, expect_ps, TIME),
	FIELD(rec_schedule, base_rtt_ps, TIME),
};

static const struct record_field route_fields[] = {
	FIELD(rec_route, flow, TUPLE), RANGE(rec_route, hop, 0, RECORD_MAX_HOPS),
	FIELD(rec_route, port, PORT),  FLAG(rec_route, reverse),
	FIELD(rec_route, ecmp, ANY),
};

static const struct record_field ecmp_fields[] = {
	RANGE(rec_ecmp, set, 1, UINT16_MAX),
	ZERO(rec_ecmp, reserved),
	FIELD(rec_ecmp, ports[0], ANY),
	FIELD(rec_ecmp, ports[1], ANY),
};

static const struct record_field step_fields[] = {
	FIELD(rec_step, flow, TUPLE),
	FIELD(rec_step, collective, ANY),
	FIELD(rec_step, iteration, ANY),
	RANGE(rec_step, step, 1, UINT32_MAX),
	FIELD(rec_step, waited_for, HOST_OR_NONE),
	TOTAL(rec_step, bytes),
	TOTAL(rec_step, acked_bytes),
	FIELD(rec_step, start_ps, PAST),
	FIELD(rec_step, end_ps, PAST),
	FLAG(rec_step, open),
	FIELD(rec_step, retransmits, ANY),
};

static const struct record_field trigger_fields[] = {
	FIELD(rec_trigger, flow, TUPLE),
	FIELD(rec_trigger, collective, ANY),
	FIELD(rec_trigger, iteration, ANY),
	RANGE(rec_trigger, step, 1, UINT32_MAX),
	RANGE(rec_trigger, cause, 0, ENUM_COUNT(REC_TRIGGER_CAUSES) - 1),
	FIELD(rec_trigger, rtt_ps, TIME),
	FIELD(rec_trigger, threshold_ps, TIME),
	FIELD(rec_trigger, remaining, ANY),
	ZERO(rec_trigger, reserved),
};

static const struct record_field notify_fields[] = {
	FIELD(rec_notify, to, HOST_OR_NONE),    FIELD(rec_notify, collective, ANY), FIELD(rec_notify, iteration, ANY),
	RANGE(rec_notify, step, 1, UINT32_MAX), FIELD(rec_notify, detections, ANY), ZERO(rec_notify, reserved),
};

static const struct record_field poll_fields[] = {
	FIELD(rec_poll, victim, TUPLE),
	FIELD(rec_poll, in_port, PORT_OR_NONE),
	FIELD(rec_poll, out_port, PORT_OR_NONE),
	RANGE(rec_poll, flags, 0, 7),
	FLAG(rec_poll, out_paused),
	FLAG(rec_poll, repeated),
	RANGE(rec_poll, ttl, 0, UINT8_MAX),
	ZERO(rec_poll, reserved),
};

static const struct record_field port_row_fields[] = {
	FIELD(rec_port_row, port, PORT),
	FLAG(rec_port_row, host),
	FLAG(rec_port_row, paused),
	FIELD(rec_port_row, depth_max, ANY),
	FIELD(rec_port_row, epoch_first, ANY),
	FIELD(rec_port_row, epoch_last, ANY),
	FIELD(rec_port_row, from_ps, PAST),
	FIELD(rec_port_row, to_ps, PAST),
	FIELD(rec_port_row, packets, COUNT),
	FIELD(rec_port_row, bytes, COUNT),
	FIELD(rec_port_row, depth_sum, COUNT),
	FIELD(rec_port_row, paused_packets, COUNT),
	FIELD(rec_port_row, pause_ps, TIME),
	FIELD(rec_port_row, paused_since_ps, PAST),
	FIELD(rec_port_row, queue_packets, COUNT),
	FIELD(rec_port_row, queue_bytes, COUNT),
	FIELD(rec_port_row, ingress_bytes, COUNT),
	FIELD(rec_port_row, ingress_xoff_bytes, ANY),
	FIELD(rec_port_row, pausing_since_ps, PAST),
	FLAG(rec_port_row, pausing),
	FIELD(rec_port_row, pauses_received, ANY),
	FIELD(rec_port_row, pauses_sent, ANY),
	FLAG(rec_port_row, state_only),
};

static const struct record_field flow_row_fields[] = {
	FIELD(rec_flow_row, flow, TUPLE),           FIELD(rec_flow_row, port, PORT),
	FIELD(rec_flow_row, in_port, PORT_OR_NONE), FIELD(rec_flow_row, epoch_first, ANY),
	FIELD(rec_flow_row, epoch_last, ANY),       FIELD(rec_flow_row, queue_packets, ANY),
	FIELD(rec_flow_row, packets, COUNT),        FIELD(rec_flow_row, bytes, COUNT),
	FIELD(rec_flow_row, depth_sum, COUNT),      FIELD(rec_flow_row, paused_packets, COUNT),
};

static const struct record_field meter_row_fields[] = {
	FIELD(rec_meter_row, in_port, PORT),     FIELD(rec_meter_row, port, PORT), FIELD(rec_meter_row, epoch_first, ANY),
	FIELD(rec_meter_row, epoch_last, ANY),   ZERO(rec_meter_row, reserved),    FIELD(rec_meter_row, bytes, COUNT),
	FIELD(rec_meter_row, held_bytes, COUNT),
};

static const struct record_field matrix_row_fields[] = {
	FIELD(rec_matrix_row, flow, TUPLE), FIELD(rec_matrix_row, other, TUPLE),     FIELD(rec_matrix_row, port, PORT),
	ZERO(rec_matrix_row, reserved16),   FIELD(rec_matrix_row, epoch_first, ANY), FIELD(rec_matrix_row, epoch_last, ANY),
	ZERO(rec_matrix_row, reserved),     FIELD(rec_matrix_row, ahead, COUNT),
};

static const struct record_field drop_row_fields[] = {
	FIELD(rec_drop_row, last, TUPLE),
	FIELD(rec_drop_row, port, PORT),
	RANGE(rec_drop_row, reason, REC_DROP_CORRUPT, REC_DROP_REASONS - 1),
	ZERO(rec_drop_row, reserved),
	FIELD(rec_drop_row, packets, COUNT),
	FIELD(rec_drop_row, bytes, COUNT),
	FIELD(rec_drop_row, first_ps, PAST),
	FIELD(rec_drop_row, last_ps, PAST),
};

static const struct record_field gap_fields[] = {
	RANGE(rec_gap, kind, REC_STEP, REC_DROP_ROW),
	RANGE(rec_gap, dropped, 1, UINT32_MAX),
	FIELD(rec_gap, dropped_bytes, COUNT),
	FIELD(rec_gap, from_ps, TIME),
	FIELD(rec_gap, to_ps, TIME),
};

static const struct record_field end_fields[] = {
	RANGE(rec_end, reason, 0, REC_END_REASONS - 1),
	RANGE(rec_end, recording_errno, 0, 4095), /* as Linux has them */
	FIELD(rec_end, at_node, NODE_OR_NONE),
	FIELD(rec_end, end_ps, TIME),
	TOTAL(rec_end, offered_bytes),
	TOTAL(rec_end, sent_bytes),
	TOTAL(rec_end, offered_records),
	TOTAL(rec_end, sent_records),
	TOTAL(rec_end, deferred_records),
	TOTAL(rec_end, dropped_records),
	TOTAL(rec_end, polling_packets),
	TOTAL(rec_end, polling_bytes),
	TOTAL(rec_end, notification_packets),
	TOTAL(rec_end, notification_bytes),
	TOTAL(rec_end, detections),
	TOTAL(rec_end, kept_reports),
	TOTAL(rec_end, kept_bytes),
	TOTAL(rec_end, collected_reports),
	TOTAL(rec_end, collected_bytes),
};

#define KIND(kind, type, reporter_, fields_)                                                                               \
	[REC_##kind] = { .name = #kind,                                                                                    \
			 .size = sizeof(struct type),                                                                      \
			 .reporter = RECORD_##reporter_,                                                                   \
			 .fields = fields_,                                                                                \
			 .nfields = ARRAY_LEN(fields_) }

const struct record_kind record_kinds[RECORD_KINDS] = {
	KIND(RUN, rec_run, OF_NONE, run_fields),
	KIND(NODE, rec_node, OF_NEW, node_fields),
	KIND(PORT, rec_port, OF_ANY, port_fields),
	KIND(COLLECTIVE, rec_collective, OF_NONE, collective_fields),
	KIND(SCHEDULE, rec_schedule, OF_HOST, schedule_fields),
	KIND(ROUTE, rec_route, OF_ANY, route_fields),
	KIND(ECMP, rec_ecmp, OF_ANY, ecmp_fields),
	KIND(STEP, rec_step, OF_HOST, step_fields),
	KIND(TRIGGER, rec_trigger, OF_HOST, trigger_fields),
	KIND(NOTIFY, rec_notify, OF_HOST, notify_fields),
	KIND(POLL, rec_poll, OF_ANY, poll_fields),
	KIND(PORT_ROW, rec_port_row, OF_ANY, port_row_fields),
	KIND(FLOW_ROW, rec_flow_row, OF_ANY, flow_row_fields),
	KIND(METER_ROW, rec_meter_row, OF_ANY, meter_row_fields),
	KIND(MATRIX_ROW, rec_matrix_row, OF_ANY, matrix_row_fields),
	KIND(DROP_ROW, rec_drop_row, OF_ANY, drop_row_fields),
	KIND(GAP, rec_gap, OF_NONE, gap_fields),
	KIND(END, rec_end, OF_NONE, end_fields),
};
