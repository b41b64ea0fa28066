/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How hosts of a kind come to life: their nodes in a fabric (dpswitch/fabric/node.h), and the programs on them.
 * Embedded hosts are one kind (emulation/hosts.h). Kernel hosts, which have their own kernel, are the other:
 * the composition root provides them (emulation/kernel_host), because they are attached through DPDK and managed over
 * sockets, and this library links without both.
 *
 * A run with kernel hosts has two fabrics, one after the other over the same ports. The first one only forwards,
 * while hosts come up and connect, and ends when all is quiet. The second is the run: its time starts at 0 with empty
 * queues, and frames that hosts send in between wait in their own rings.
 */
#pragma once

#include <sys/types.h>

#include <jansson.h>

#include "common/err.h"
#include "common/record/buffer.h"
#include "common/wire/manage.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/fabric/node.h"
#include "rxe-hosts/device/embedded/embedded.h"

struct emulation;
struct step_engine;

/* Everything happens between windows. */
struct host_driver_ops {
	/*
	 * Before and after a fabric with its nodes.
	 * @param bodies  set to the store for the bytes of packets, where there are any
	 * @return 0 or negative errno with err set
	 */
	int (*fabric_begin)(void *ctx, struct emulation *emulation, struct bodies **bodies, struct err *err);
	void (*fabric_end)(void *ctx);
	/* The node of a host; node_destroy() unmakes it. @return NULL with err set and errno */
	struct node *(*node_create)(void *ctx, uint32_t node, struct err *err);
	/* The state of the program on it, or its reports; its node is attached. @return NULL with err set and errno */
	struct step_engine *(*program_create)(void *ctx, uint32_t node, struct err *err);
	/* Before the first window of a run, and after the last. May be NULL. */
	void (*start)(void *ctx, uint32_t node);
	void (*close)(void *ctx, uint32_t node, uint64_t end_ps);
	/* Whether the program still has steps to do, or background messages to send. */
	bool (*working)(void *ctx, uint32_t node);
	/*
	 * Whether it has bytes in flight. @param next_ps  set to when it begins something that waits for its time
	 * alone
	 */
	bool (*sending)(void *ctx, uint32_t node, uint64_t *next_ps);
	/*
	 * Puts the program's reports since its last poll into the node's records, as reported at from_ps or later.
	 * NULL: it writes there itself
	 */
	void (*records)(void *ctx, uint32_t node, struct recbuf *records, uint64_t from_ps);
	/* The bytes of a packet on a link, without FCS. @return how many; 0: they are unknown */
	size_t (*frame)(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);
	/* Hosts that live in real time alone; NULL for others. */
	/* Whether a frame waits at an ingress. Cheap: called between windows. */
	bool (*pending)(void *ctx);
	/* Before every window: actions that its nodes may not take within one. NULL: nothing. */
	void (*settle)(void *ctx);
	/* Reads and answers the messages of the hosts' programs. After the last window too. */
	void (*service)(void *ctx);
	/* Flows that it sends now, as its kernel reports; valid until service. @return how many */
	uint32_t (*flows)(void *ctx, uint32_t node, const struct swm_flow **flows);
	/*
	 * Counters of the host's device, which it reports at the end of the run; NULL: its NIC is the fabric's own.
	 * @return how many
	 */
	uint32_t (*counters)(void *ctx, uint32_t node, const struct manage_counter **counters);
	/* Why the run cannot go on, NULL: it can. @param lost  the host went away, else one of its QPs is in error */
	const char *(*failure)(void *ctx, uint32_t *node, bool *lost);
	/* By how much their clocks may differ from the run's, of the worst, in ns. NULL: not at all */
	uint64_t (*clock_error_ns)(void *ctx);
	/*
	 * The host's process on this machine, with its descendants; 0: there is none, or it is not known (yet). Any
	 * thread may ask. NULL: its hosts live in the fabric's own time
	 */
	pid_t (*process)(void *ctx, uint32_t node);
	/* First phase: all hosts are connected, and nothing has moved for a while. */
	bool (*ready)(void *ctx);
	/* For run.json: the events of its hosts, after the last window; the caller's. NULL: there are none */
	json_t *(*json)(void *ctx);
	/*
	 * In partitions of a fabric, a packet from a kernel host keeps its bytes: those of a packet with PKT_BYTES,
	 * and a packet from another partition that gets its own (edge_bytes(), edge_adopt() of
	 * dpswitch/edge/kernel_host).
	 */
	size_t (*bytes)(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);
	int (*adopt)(void *ctx, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err);
};

struct host_driver {
	const struct host_driver_ops *ops;
	void *ctx;
};

/* Of embedded hosts (emulation/embedded_hosts.c); its ctx is a struct emulation. */
extern const struct host_driver_ops embedded_hosts;

/* Embedded hosts in a run: device, telemetry of their NICs, and a step engine each, all in the fabric's own time. */

/*
 * struct message_source.describe, of the embedded hosts.
 * @param ctx  the emulation
 * @return true: a packet without a stored message is described from its descriptor
 */
bool embedded_hosts_describe(void *ctx, const struct pkt *p, struct pkt_message *message);

/* The counters of the transports of all embedded hosts. */
void embedded_hosts_sum(const struct emulation *emulation, struct embedded_counters *sum);
