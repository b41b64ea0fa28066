/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record stream: all that the analyzer ever learns. Little-endian, fixed sizes, multiples of 8.
 * A stream is one struct rec_stream, then records, the header records first, REC_END last.
 * Records carry only what real switches and hosts can report, and (header records) what an operator configured.
 */
#pragma once

#include "common/wire/record_fabric.h"
#include "common/wire/record_paths.h"
#include "common/wire/record_probes.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "common/wire/record_volumes.h"

/* The reporter. */
enum rec_class {
	REC_TOPOLOGY,   /* header records: the configuration; all other records refer to it, so they are first */
	REC_PLAN,       /* the rest of the header records */
	REC_HOST,       /* hosts, of their steps and probes */
	REC_TELEMETRY,  /* switches, and hosts of their NICs */
	REC_MANAGEMENT, /* hosts and switches, asked over the management network */
	REC_EXPORTER,
};

/*
 * Every kind of record. REC_KIND and struct rec_KIND, REC_KIND_FIELDS: its members behind the header with their places
 * and what they may hold (common/record/kinds.h), REC_KIND_KEY: the members by which a later record replaces an earlier
 * one (none: every record stays).
 * Number, KIND, kind, class, the node that hdr.node names (enum record_reporter), title, relevance under a budget: of
 * HOST, TELEMETRY and MANAGEMENT, 0 the last to be given up.
 */
#define REC_KINDS(ROW)                                                                                                     \
	ROW(1, RUN, run, TOPOLOGY, OF_NONE, "run", 0)                                                                      \
	ROW(2, NODE, node, TOPOLOGY, OF_NEW, "node", 0)                                                                    \
	ROW(3, PORT, port, TOPOLOGY, OF_ANY, "port", 0)                                                                    \
	ROW(4, COLLECTIVE, collective, PLAN, OF_NONE, "collective", 0)                                                     \
	ROW(5, SCHEDULE, schedule, PLAN, OF_HOST, "schedule", 0)                                                           \
	ROW(6, ROUTE, route, PLAN, OF_ANY, "route", 0)                                                                     \
	ROW(7, ECMP, ecmp, PLAN, OF_ANY, "equal-cost set", 0)                                                              \
	ROW(8, FOLLOW, follow, PLAN, OF_NONE, "order of collectives", 0)                                                   \
	ROW(9, DEPEND, depend, PLAN, OF_HOST, "dependency", 0)                                                             \
	ROW(10, MONITOR, monitor, PLAN, OF_NONE, "monitors of volumes", 0)                                                 \
	ROW(11, KNOWN_FAULT, known_fault, PLAN, OF_ANY, "known fault", 0)                                                  \
	ROW(12, PINGMESH, pingmesh, PLAN, OF_NONE, "agents of R-Pingmesh", 0)                                              \
	ROW(13, TRACER, tracer, PLAN, OF_NONE, "tracer of flows", 0)                                                       \
	ROW(14, SETTING, setting, PLAN, OF_NONE, "setting", 0)                                                             \
	ROW(16, STEP, step, HOST, OF_HOST, "step", 0)                                                                      \
	ROW(17, TRIGGER, trigger, HOST, OF_HOST, "trigger", 1)                                                             \
	ROW(18, NOTIFY, notify, HOST, OF_HOST, "notification", 4)                                                          \
	ROW(19, PROBE, probe, HOST, OF_HOST, "probe", 3)                                                                   \
	ROW(20, PROBE_HOP, probe_hop, HOST, OF_HOST, "hop of a probe", 2)                                                  \
	ROW(21, RNIC, rnic, HOST, OF_HOST, "RNIC", 0)                                                                      \
	ROW(22, UPLOAD, upload, HOST, OF_HOST, "upload", 0)                                                                \
	ROW(23, CONNECTION, connection, HOST, OF_HOST, "connection", 1)                                                    \
	ROW(24, TRACED, traced, MANAGEMENT, OF_HOST, "traced flow", 1)                                                     \
	ROW(25, RESPONDER, responder, HOST, OF_HOST, "probes received", 3)                                                 \
	ROW(26, LATENESS, lateness, MANAGEMENT, OF_ANY, "lateness of the machine", 0)                                      \
	ROW(32, POLL, poll, TELEMETRY, OF_ANY, "poll", 1)                                                                  \
	ROW(33, PORT_ROW, port_row, TELEMETRY, OF_ANY, "port row", 1)                                                      \
	ROW(34, FLOW_ROW, flow_row, TELEMETRY, OF_ANY, "flow row", 2)                                                      \
	ROW(35, METER_ROW, meter_row, TELEMETRY, OF_ANY, "meter row", 3)                                                   \
	ROW(36, MATRIX_ROW, matrix_row, TELEMETRY, OF_ANY, "matrix row", 4)                                                \
	ROW(37, DROP_ROW, drop_row, TELEMETRY, OF_ANY, "drop row", 1)                                                      \
	ROW(38, OVERTAKE_ROW, overtake_row, TELEMETRY, OF_ANY, "overtake row", 2)                                          \
	ROW(39, PASSAGE, passage, TELEMETRY, OF_ANY, "passage", 1)                                                         \
	ROW(40, VOLUME, volume, TELEMETRY, OF_ANY, "volume", 3)                                                            \
	ROW(41, VOLUME_ALARM, volume_alarm, TELEMETRY, OF_ANY, "volume alarm", 0)                                          \
	ROW(42, VOLUME_FLAW, volume_flaw, TELEMETRY, OF_ANY, "volume flaw", 1)                                             \
	ROW(43, MONITORED, monitored, TELEMETRY, OF_ANY, "monitored", 0)                                                   \
	ROW(44, TRACED_HOP, traced_hop, MANAGEMENT, OF_ANY, "hop of a traced flow", 1)                                     \
	ROW(45, TRACE_ROUND, trace_round, MANAGEMENT, OF_HOST, "round of traces", 0)                                       \
	ROW(46, WATCHDOG, watchdog, TELEMETRY, OF_ANY, "PFC watchdog", 0)                                                  \
	ROW(47, LINK_RATE, link_rate, TELEMETRY, OF_ANY, "rate of a link", 0)                                              \
	ROW(48, GAP, gap, EXPORTER, OF_NONE, "gap", 0)                                                                     \
	ROW(49, END, end, EXPORTER, OF_NONE, "end", 0)                                                                     \
	ROW(50, FLOW_SEEN, flow_seen, TELEMETRY, OF_ANY, "flow since its first packet", 2)

#define REC_KIND_VALUE(number, KIND, ...) REC_##KIND = (number),
enum rec_type { REC_KINDS(REC_KIND_VALUE) };

/* How many kinds hosts and switches report: what a budget rules. */
#define REC_IS_REPORT(number, KIND, kind, class, ...)                                                                      \
	+(REC_##class == REC_HOST || REC_##class == REC_TELEMETRY || REC_##class == REC_MANAGEMENT)
#define REC_REPORT_KINDS (0 REC_KINDS(REC_IS_REPORT))
