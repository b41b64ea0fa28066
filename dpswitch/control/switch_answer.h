/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device says on its management socket (common/wire/switch_manage.h): bytes of a request to bytes of its reply. It knows
 * no socket and no clock: who brings the bytes may be one, or a management network in virtual time. Asking changes nothing.
 */
#pragma once

#include <stddef.h>

#include "common/flow.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/pipeline/switch.h"

/* The flows that a host sends; whoever has the host tells. */
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

/* What a switch says of headers, as in a row of EGRESSES. @param index  of its flows */
struct swm_egress answer_headers(const struct sw *sw, const struct flow_index *index, const struct swm_query *query);

/* What a port of a switch counts, as in a row of PORTS. */
struct swm_port answer_port(const struct sw *sw, uint16_t port);

#define ANSWER_MAX_BYTES (sizeof(struct swm_hdr) + SWM_MAX_REPLY)

/* What greets a connection. @param reply  of ANSWER_MAX_BYTES, aligned to 8 bytes. @return its bytes, the header's too */
size_t answer_hello(const struct answer_device *device, void *reply);

/*
 * Whatever is wrong with a request is said in the reply, which is REFUSED then.
 * @param request  header and body, whole, aligned to 8 bytes
 * @param reply    as of answer_hello()
 * @return its bytes, the header's too
 */
size_t answer_request(const struct answer_device *device, const void *request, size_t size, void *reply);
