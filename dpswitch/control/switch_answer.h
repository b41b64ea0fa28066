/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of a device on its management socket (common/wire/switch_manage.h): bytes of a request to bytes of its reply.
 * It has no socket and no clock: its caller may be a socket, or a management network in virtual time. A request changes
 * nothing.
 */
#pragma once

#include <stddef.h>

#include "common/flow.h"
#include "common/wire/switch_manage.h"

struct flow_index;
struct sw;
struct topo;

/* The flows that a host sends; the host's owner provides them. */
struct host_flows {
	void *ctx;
	uint32_t (*count)(void *ctx);
	/* @param i  below count. @return false: it has none by that number just now */
	bool (*get)(void *ctx, uint32_t i, struct swm_flow *flow);
};

/* Who is asked: a switch or a host of a topology. */
struct answer_device {
	const struct topo *topo;
	uint32_t node;
	const struct sw *sw;            /* NULL: a host */
	const struct flow_index *index; /* of the switch's flows */
	struct host_flows flows;        /* of a host */
};

/*
 * A switch's answer about headers, as in EGRESSES.
 * @param index  of its flows
 * @param rows   room for SWM_EGRESS_ROWS
 * @return how many it has
 */
uint32_t answer_headers(const struct sw *sw, const struct flow_index *index, const struct swm_query *query,
			struct swm_egress *rows);

/* @return the counters of a switch's port, as in a row of PORTS */
struct swm_port answer_port(const struct sw *sw, uint16_t port);

#define ANSWER_MAX_BYTES (sizeof(struct swm_hdr) + SWM_MAX_REPLY)

/*
 * Writes the message that opens a connection. @param reply  of ANSWER_MAX_BYTES, aligned to 8 bytes
 * @return its bytes, the header included
 */
size_t answer_hello(const struct answer_device *device, void *reply);

/*
 * An error in a request is reported in the reply, which is REFUSED then.
 * @param request  header and body, whole, aligned to 8 bytes
 * @param reply    as of answer_hello()
 * @return its bytes, the header's too
 */
size_t answer_request(const struct answer_device *device, const void *request, size_t size, void *reply);
