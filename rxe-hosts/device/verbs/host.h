/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host with its own RDMA device: its flows' connections, and the device's memory, queues and clock. host.c owns the
 * host and its device, connect.c the connections, data.c the messages over them, datagram.c and pool.c their datagrams;
 * each calls the others by the functions below. What datagram.c and pool.c keep is their own.
 */
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "common/record/buffer.h"
#include "rxe-hosts/device/device.h"
#include "rxe-hosts/device/verbs/loop.h"
#include "rxe-hosts/device/verbs/outbox.h"
#include "rxe-hosts/device/verbs/stamps.h"
#include "rxe-hosts/device/verbs/verbs.h"

#define VERBS_UD_SLOTS 16 /* datagrams that wait to leave, and room for the same number of received ones */
#define VERBS_UD_QKEY 0x11111111
#define VERBS_GRH_BYTES 40 /* precedes a received datagram; for RoCE v2 over IPv4 the IP header at its end */
#define VERBS_TICK_NS 1000000ull
#define VERBS_CM_PORT 18515
#define VERBS_CM_TIMEOUT_MS 3000
#define VERBS_CM_ATTEMPTS 5
#define VERBS_COUNTERS 4
#define VERBS_COUNTERS_AGE_NS 100000000ull /* while it runs */

/* Purpose of a connection: also in the low bits of a work request's id, the flow's slot above them. */
enum conn_role { CONN_DATA, CONN_PROBE, CONN_RECEIVE, CONN_UD_SEND, CONN_UD_RECEIVE };
#define CONN_ROLE_BITS 3

enum conn_state { CONN_IDLE, CONN_RESOLVING, CONN_ROUTING, CONN_REQUESTED, CONN_UP, CONN_GONE };

/* One end of a reliable connection. */
struct verbs_conn {
	struct verbs_host *host;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	uint32_t flow, slot;
	enum conn_role role; /* CONN_DATA or CONN_PROBE */
	enum conn_state state;
	bool active; /* this end connects: it is the flow's source */
	uint32_t attempts;
	/* active end: the peer's place for messages */
	uint64_t header_addr, landing_addr, landing_end; /* landing_addr: where the region's first byte would be */
	uint32_t rkey;
	bool mirrored; /* the landing mirrors the peer's region */
};

/* A device's retransmission counters: those that peers requested, and those by expiry of its timer. */
struct verbs_resent {
	uint64_t naks, timeouts;
};

/* A flow that this host sends. */
struct verbs_out {
	struct verbs_conn data, probe;
	struct verbs_outbox outbox;
	struct rtt_filter rtt;
	uint64_t *idle_ps; /* [probes] samples of the idle path */
	uint32_t nidle;
	struct verbs_resent resent;   /* of the device when the oldest message was posted */
	uint64_t acked_ns, silent_ns; /* when a piece was acknowledged last; the longest time without, of this message */
	bool watched;                 /* its RTT is probed while a message is open */
	uint8_t tag;                  /* of the packets that its QP sends now */
	bool failed;
};

/* A flow that this host receives. */
struct verbs_in {
	struct verbs_conn data, probe;
	const struct verbs_header *headers; /* [DEVICE_MAX_POSTED] */
	const uint8_t *landing;
	uint64_t landing_from, landing_end; /* the part of the region that it mirrors */
	uint64_t messages;                  /* received */
	bool mirrored;
};

struct verbs_datagrams;
struct verbs_pool;

struct verbs_host {
	struct device dev;
	struct device_client client;
	struct verbs_config config;
	struct recbuf records;
	uint32_t *slot_of; /* [flows] index into outs or ins; UINT32_MAX */
	struct verbs_out *outs;
	struct verbs_in *ins;
	uint32_t nouts, nins;
	enum verbs_state state;
	/* the device */
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs; /* the listener's */
	struct ibv_pd *pd;
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	struct ibv_mr *region_mr, *landing_mr, *scratch_mr;
	enum ibv_mtu mtu;
	uint8_t port, gid_index;
	struct loop_watch cm_watch, cq_watch;
	/* memory */
	uint8_t *region;
	uint64_t region_bytes;
	uint8_t *landings; /* headers and landings of all flows received */
	uint64_t landings_bytes;
	uint8_t *scratch; /* contents of messages without contents; VERBS_MAX_PIECE_BYTES */
	/* the run */
	uint64_t now_ns;   /* as read last: reading it costs a guest a system call */
	uint64_t timer_ps; /* the client's; TIME_NEVER */
	uint64_t tick_ns;
	uint32_t open; /* messages posted and not completed */
	uint64_t acked_bytes;
	int counter_fds[VERBS_COUNTERS];          /* of the device's retransmissions; -1 */
	struct verbs_resent first_resent, resent; /* when it was opened; as read last, at: */
	uint64_t resent_ns;
	struct manage_counter first_counters[MANAGE_COUNTERS]; /* [nfirst_counters] all of the device, when it was opened */
	uint32_t nfirst_counters;
	struct verbs_datagrams *datagrams; /* of datagram.c */
	struct verbs_pool *pool;           /* of pool.c; NULL: no UD QP with contents was opened */
	struct verbs_counters count;
	char error[256];
};

static inline struct verbs_host *
verbs_of(const struct device *dev)
{
	return (struct verbs_host *)((uintptr_t)dev - offsetof(struct verbs_host, dev));
}

/* Flow's sending side here. */
struct verbs_out *verbs_out_of(const struct verbs_host *host, uint32_t flow);
uint64_t verbs_now_ps(const struct verbs_host *host);
/* Reads the clock: wherever something may have taken time, waiting first of all. @return host->now_ns */
uint64_t verbs_look(struct verbs_host *host);
/* Notes the first error. @param broken  the host is of no use any more */
void verbs_fail(struct verbs_host *host, bool broken, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "h1->h2/49152" as addresses and port; buf of 64. @return buf */
char *verbs_flow_text(const struct verbs_host *host, uint32_t flow, char *buf);

/* host.c */
extern const struct device_ops verbs_device_ops;

/* Finds the port's attributes that QPs need: GID by type and address, path MTU. */
int verbs_port_init(struct verbs_host *host, struct err *err);
/* How packets of a flow are addressed: the peer's GID, the flow's label and class. */
void verbs_address(const struct verbs_host *host, const struct flow *flow, struct ibv_ah_attr *attr);
/*
 * Subsequent packets of the QP have this tag, 0: none. Nothing may be in flight: the send queue is drained (IBTA volume
 * 1, 10.3.1.6, state SQD), its address vector changed, and the queue resumed.
 * @return 0, -ETIMEDOUT, or the device's error for the change
 */
int verbs_qp_tag(struct verbs_conn *conn, uint8_t tag);
/* Posts one receive without memory: the write that it completes brings its own address. */
int verbs_qp_post_receive(const struct verbs_conn *conn);

/* connect.c */
int verbs_cm_listen(struct verbs_host *host, struct err *err);
void verbs_conn_start(struct verbs_conn *conn);
void verbs_conn_close(struct verbs_conn *conn);

/* @return whether the other end of a flow of this host is embedded */
bool verbs_is_static(const struct verbs_host *host, uint32_t flow);
void verbs_static_start(struct verbs_conn *conn);

/* data.c */
int verbs_post_send(struct device *dev, uint32_t flow, const struct send_wr *wr);
/* The flow's QP will do no more: its messages fail. */
void verbs_out_failed(struct verbs_host *host, struct verbs_out *out, const char *why);
void verbs_completions(void *ctx, uint32_t events);

/* Sends probes that are due. @return when the next one is, UINT64_MAX: none */
void verbs_probes_run(struct verbs_host *host, uint64_t now_ns);
uint64_t verbs_probes_next_ns(const struct verbs_host *host);
bool verbs_path_rtt(const struct device *dev, uint32_t flow, struct path_rtt *rtt);

/* datagram.c: UD SENDs that carry a flow and an immediate only, and control packets */
int verbs_datagrams_init(struct verbs_host *host, struct err *err);
/* Also for a host without datagrams. */
void verbs_datagrams_fini(struct verbs_host *host);

int verbs_post_datagram(struct device *dev, const struct datagram *datagram);
int64_t verbs_ud_qpn(struct device *dev);
/* The oldest datagram posted is over. @param left  else it was given up */
void verbs_ud_sent(struct verbs_host *host, bool left);
void verbs_ud_received(struct verbs_host *host, const struct ibv_wc *wc);
/* RESET to INIT, RTR and RTS (IBTA 10.3.1). @return 0 or negative errno */
int verbs_ud_start(const struct verbs_host *host, struct ibv_qp *qp);

/* pool.c: UD SENDs with contents */
int64_t verbs_ud_open(struct device *dev, uint16_t nic, uint32_t receives);
void verbs_pool_fini(struct verbs_host *host);
int verbs_pool_post(struct verbs_host *host, const struct datagram *datagram);
void verbs_ud_receive(struct device *dev, uint16_t nic);

/* host.c: counters */
/* Reading them takes the kernel a while. @param age_ns  how old they may be */
struct verbs_resent verbs_resent(struct verbs_host *host, uint64_t age_ns);
/* @return retransmissions since the oldest message of a flow was posted */
uint32_t verbs_retransmits(const struct verbs_host *host, const struct verbs_out *out, struct verbs_resent now);
