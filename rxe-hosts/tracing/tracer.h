/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Service tracing on Linux (R-Pingmesh 4.2.2): the connections of a host's programs as they open and close, of all
 * owners. It joins rdma netlink's queue pairs with frames of the network device below soft-RoCE. A
 * kernel with eBPF could report ibv_modify_qp() itself; the guests' kernels have none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "rxe-hosts/device/verbs/loop.h"

/*
 * The 5-tuples of a host's reliable connections. The queue pairs (struct traced_qp) have numbers alone. The frames that
 * cross its network device have addresses, source port and the number at their destination. A frame received for a QP
 * identifies its peer, and a frame sent to that peer and the QP's remote number has its source port. A tuple is open as
 * long as a QP has it. Pure.
 */

/*
 * Decodes rdma netlink's data (RDMA_NLDEV_CMD_RES_QP_GET, as rdma-resource(8) has it) on a device's queue pairs: bytes
 * alone, no socket.
 */

#define TRACING_REQUEST_BYTES 24
#define TRACING_QP_RC 2  /* enum ib_qp_type */
#define TRACING_QP_RTS 3 /* enum ib_qp_state: it sends */
#define TRACING_QP_SQD 4 /* its send queue is drained, and let go again */

struct traced_qp {
	uint32_t lqpn, rqpn; /* rqpn 0: not connected */
	uint32_t pid;        /* 0: the kernel's own */
	uint8_t type, state;
};

/* Requests all devices; the reply has their names and indices. @return bytes */
size_t tracing_ask_devices(uint8_t request[TRACING_REQUEST_BYTES]);
/* Asks for all QPs of a device. @return bytes */
size_t tracing_ask_qps(uint8_t request[TRACING_REQUEST_BYTES], uint32_t device);

struct tracing_reply {
	const char *device; /* the device whose index is requested; NULL: QPs are */
	uint32_t index;     /* found: of that device */
	bool found;
	struct traced_qp *qps; /* [cap] */
	uint32_t cap, count;
	uint32_t left_off; /* QPs without room */
	bool done;         /* all parts are read */
};

/*
 * Reads one datagram of a dump, as recv(2) gave it.
 * @return 0; -EPROTO: truncated or of another kind; a negative errno that the kernel reported
 */
int tracing_read(struct tracing_reply *reply, const uint8_t *bytes, size_t size);

#define TRACED_QPS 1024u /* of a host; more are not traced, and counted */
#define TRACED_FRAME_BYTES 64u

/* A packet of a reliable connection. */
struct traced_frame {
	uint32_t peer_ip; /* host byte order, as all here */
	uint32_t dst_qpn;
	uint16_t sport;
	bool out;
	bool request; /* sent by the requester: no ACK, no response */
};

struct traced_tuple {
	uint32_t peer_ip;
	uint16_t sport;
};

struct connections {
	struct {
		struct traced_qp qp;
		struct traced_tuple tuple; /* 0: not known yet */
		bool is_reported, is_there;
	} rows[TRACED_QPS];
	uint32_t count;
	uint32_t left_off;
	void (*changed)(void *ctx, const struct traced_tuple *tuple, bool open);
	void *ctx;
};

/* @param out  this host sends it @return false: it is no RC packet to RoCEv2's port over IPv4 */
bool tracing_frame_read(struct traced_frame *frame, const uint8_t *bytes, size_t size, bool out);
/* All of the host's QPs, as they are now: those that are gone take their tuples with them. */
void connections_qps(struct connections *connections, const struct traced_qp *qps, uint32_t count);
void connections_frame(struct connections *connections, const struct traced_frame *frame);

struct tracer;

struct tracer_config {
	const char *device; /* RDMA device */
	struct loop *loop;  /* outlives it */
	void (*changed)(void *ctx, const struct traced_tuple *tuple, bool open);
	void *ctx;
};

/* @return NULL with errno and err: the data that the kernel does not expose */
struct tracer *tracer_create(const struct tracer_config *config, struct err *err);
void tracer_destroy(struct tracer *tracer);
/* Looks at the queue pairs, if that is due. */
void tracer_run(struct tracer *tracer, uint64_t now_ns);
/* A connection whose tuple is known. */
struct traced_connection {
	struct traced_tuple tuple;
	uint32_t qpn; /* this host's */
};

/* @return connections written to rows, cap at most */
uint32_t tracer_connections(const struct tracer *tracer, struct traced_connection *rows, uint32_t cap);
/* @return when it will be, by clock_now_ns() */
uint64_t tracer_next_ns(const struct tracer *tracer);
