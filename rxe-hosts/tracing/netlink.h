/* SPDX-License-Identifier: BSD-3-Clause */
/* What rdma netlink (RDMA_NLDEV_CMD_RES_QP_GET, as rdma-resource(8) has it) tells of a device's queue pairs: bytes alone, no socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACING_REQUEST_BYTES 24
#define TRACING_QP_RC 2  /* enum ib_qp_type */
#define TRACING_QP_RTS 3 /* enum ib_qp_state: it sends */
#define TRACING_QP_SQD 4 /* its send queue is drained, and let go again */

struct traced_qp {
	uint32_t lqpn, rqpn; /* rqpn 0: not connected */
	uint32_t pid;        /* 0: the kernel's own */
	uint8_t type, state;
};

/* Asks for all devices; their names and indices come back. @return bytes */
size_t tracing_ask_devices(uint8_t request[TRACING_REQUEST_BYTES]);
/* Asks for all QPs of a device. @return bytes */
size_t tracing_ask_qps(uint8_t request[TRACING_REQUEST_BYTES], uint32_t device);

struct tracing_reply {
	const char *device; /* whose index is wanted; NULL: QPs are */
	uint32_t index;     /* found: of that device */
	bool found;
	struct traced_qp *qps; /* [cap] */
	uint32_t cap, count;
	uint32_t left_off; /* QPs without room */
	bool done;         /* all parts are read */
};

/*
 * Reads one part of a dump, as recv(2) gave it.
 * @return 0; -EPROTO: it is cut off or nothing of the kind; a negative errno that the kernel told
 */
int tracing_read(struct tracing_reply *reply, const uint8_t *bytes, size_t size);
