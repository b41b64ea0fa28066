/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowTracer's enumerations: its method of querying switches (III-A, Fig. 5), and their replies about a flow's path. */
#pragma once

#include "common/wire/layout.h"

/* Connections to switches and hosts (IV-B). Value, name, what it means. */
#define REC_TRACE_CONNECTIONS(ROW)                                                                                         \
	ROW(REC_TRACE_AD_HOC, 0, "ad-hoc", "a connection is opened for each question, at the cost of a round trip")        \
	ROW(REC_TRACE_PERSISTENT, 1, "persistent", "a connection stays for the questions that follow")                     \
	ROW(REC_TRACE_PARALLEL, 2, "parallel", "many threads, each with connections that stay")

enum rec_trace_connections { REC_TRACE_CONNECTIONS(ENUM_VALUE) };

/* Source of the flows' list, and of the port by which they leave their host (III-B). Value, name, what it means. */
#define REC_TRACE_FIRST_HOPS(ROW)                                                                                          \
	ROW(REC_TRACE_HOST, 0, "host", "the host: its NIC's driver, or its kernel")                                        \
	ROW(REC_TRACE_SFLOW, 1, "sflow", "packets from hosts that leaf switches sampled (RFC 3176): needs switch.sampling")

enum rec_trace_first_hop { REC_TRACE_FIRST_HOPS(ENUM_VALUE) };

/* State of a flow's path behind a hop. Value, name. */
#define REC_TRACE_RESULTS(ROW)                                                                                             \
	ROW(REC_TRACE_EGRESS, 0, "egress")   /* the flow leaves by one port */                                             \
	ROW(REC_TRACE_SPRAYED, 1, "sprayed") /* each of its packets has a choice of its own among several */               \
	ROW(REC_TRACE_DROPPED, 2, "dropped") /* the switch has no route for it, or not at present */                       \
	ROW(REC_TRACE_SILENT, 3, "silent")   /* no reply in time */                                                        \
	ROW(REC_TRACE_ASTRAY, 4, "astray")   /* the path went on longer than any, or to a host that is not its end */

enum rec_trace_result { REC_TRACE_RESULTS(ENUM_VALUE) };
