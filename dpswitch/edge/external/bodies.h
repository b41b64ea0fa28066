/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of frames that are inside the fabric: mbufs by handle. Bounded; one lcore. */
#pragma once

#include "common/err.h"
#include "dpswitch/fabric/body.h"

struct rte_mbuf;

struct body_slot {
	struct rte_mbuf *mbuf; /* NULL: free */
	uint32_t flow;
	uint16_t ip_at; /* where the IP header starts */
};

struct body_table {
	struct bodies base;      /* first */
	struct body_slot *slots; /* [cap] */
	uint32_t *free;          /* [cap] a stack of nfree free slots */
	uint32_t cap, nfree;
	uint32_t *under_way; /* [flow slots] bodies of a flow */
};

/* @return 0 or -ENOMEM */
int body_table_init(struct body_table *table, uint32_t cap, uint32_t flows);
/* Gives back every mbuf that is left. */
void body_table_fini(struct body_table *table);

/* Keeps an mbuf. There must be room: nfree. @return its handle */
uint32_t body_put(struct body_table *table, struct rte_mbuf *mbuf, uint32_t flow, uint16_t ip_at);
/* Ends a handle. @param ip_at  set. @return the mbuf, the caller's from now on */
struct rte_mbuf *body_take(struct body_table *table, uint32_t handle, uint16_t *ip_at);
