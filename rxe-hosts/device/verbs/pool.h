/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD SENDs with contents, by any UDP source port that a flow of this host has (R-Pingmesh's probes). One QP receives, whose number
 * others know; a QP a port sends. An RNIC takes the port from the address handle's flow label, so that one QP sends by all of
 * them; rdma_rxe gives a UD QP the port that its number hashes to, so that QPs are opened, one number after the other, until each
 * port has one. The immediate says which flow a datagram is of, and in which direction: a completion does not tell ports.
 */
#pragma once

#include <infiniband/verbs.h>

#include "rxe-hosts/device/device.h"
#include "rxe-hosts/device/verbs/loop.h"
#include "rxe-hosts/device/verbs/ports.h"
#include "rxe-hosts/device/verbs/tap.h"

#define VERBS_POOL_SENDS 256 /* datagrams that wait to leave */
#define VERBS_POOL_EXPIRING 64
#define VERBS_POOL_QUEUE 8 /* of them on the QP of one port */

/* A datagram with a TTL, until a switch says that it ended there. */
struct verbs_expiring {
	struct datagram datagram;
	uint16_t number; /* its PSN, and IP identification */
	bool is_kept;
	uint8_t contents[DEVICE_UD_BYTES];
};

struct verbs_pool {
	struct verbs_ports ports;
	bool by_label;           /* ports[0] sends by all */
	struct ibv_qp **senders; /* [ports.count] */
	struct ibv_srq *srq;     /* of those that only send: they need no queue of their own */
	struct ibv_qp *qp;       /* receives */
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	struct loop_watch watch;
	struct ibv_mr *mr;
	uint8_t *memory;     /* VERBS_POOL_SENDS to send, behind them `receives` with their GRHs */
	struct ibv_ah **ahs; /* [2 * flows] of a flow, and of its replies */
	struct datagram sends[VERBS_POOL_SENDS];
	uint16_t free_sends[VERBS_POOL_SENDS];
	uint32_t nfree_sends;
	uint32_t *read; /* [receives] slots whose contents are read, and that are not posted again yet */
	uint32_t receives, nread;
	struct verbs_expiring expiring[VERBS_POOL_EXPIRING]; /* the last of them */
	uint32_t nexpiring;                                  /* counted */
	int icmp, raw;                                       /* sockets, to hear of them and to send them; -1: none */
	struct loop_watch icmp_watch;
	struct tap tap;     /* of soft-RoCE: times of the kernel */
	uint64_t strange;   /* datagrams that are of no flow of this host */
	uint64_t unstamped; /* datagrams whose times are those at which this program saw them */
};
