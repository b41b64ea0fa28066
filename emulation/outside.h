/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts that have their own kernel, as an emulation needs them. The composition root provides them, because they
 * are attached through DPDK and managed over sockets, and this library links without both.
 *
 * Their run has two fabrics, one after the other over the same ports. The first one only forwards, while hosts come up
 * and connect, and ends when all is quiet. The second is the run: its time starts at 0 with empty queues, and what hosts
 * send in between waits in their own rings.
 */
#pragma once

#include "common/err.h"
#include "dpswitch/fabric/fabric.h"

struct emulation;

struct outside_ops {
	/* Before and after a fabric with its nodes. @return what keeps the bytes of packets; NULL with err set and errno */
	struct bodies *(*fabric_begin)(void *ctx, struct emulation *emulation, struct err *err);
	void (*fabric_end)(void *ctx);
	/* A node that stands for a host. @return NULL with err set and errno */
	struct node *(*node_create)(void *ctx, uint32_t node, struct err *err);
	/* The bytes of a packet on a link, without FCS. @return how many; 0: nobody knows them */
	size_t (*frame)(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);
	/* Whether a frame waits to come in. Cheap: asked for between windows. */
	bool (*pending)(void *ctx);
	/* Hears and answers the hosts' programs. Between windows, and after the last. */
	void (*service)(void *ctx);
	/* The program on a host: whether it still has steps to do, or background messages to send. */
	bool (*working)(void *ctx, uint32_t node);
	/* Whether it has bytes on their way. @param next_ps  set to when it begins something that waits for its time alone */
	bool (*sending)(void *ctx, uint32_t node, uint64_t *next_ps);
	/* What the program reported since it was asked last goes into records, as reported at from_ps or later. */
	void (*records)(void *ctx, uint32_t node, struct recbuf *records, uint64_t from_ps);
	/* Why the run cannot go on, NULL: it can. @param lost  the host went away, else one of its QPs is in error */
	const char *(*failure)(void *ctx, uint32_t *node, bool *lost);
	/* First phase: all hosts are connected, and nothing has moved for a while. */
	bool (*ready)(void *ctx);
};

struct outside {
	const struct outside_ops *ops;
	void *ctx;
};
