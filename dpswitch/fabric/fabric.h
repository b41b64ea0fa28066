/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window engine: advances every node through [T, T+W), W = the smallest delay of any link (WINDOW_MAX_PS at most).
 * Nothing sent inside a window can arrive inside it, so nodes are independent within it and lcores share one barrier a
 * window. Free of <rte_*>: dpswitch/lcore runs it on EAL lcores, tests run it in a plain thread.
 */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/err.h"
#include "common/wire/ending.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/fabric/shares.h"

/*
 * The barrier of lcores between windows. They spin, as a window is a few microseconds of work; one that has spun for
 * long, because another is at work alone or has no CPU just now, sleeps until it is woken, unless each has a CPU of its
 * own for good.
 */

#define CACHE_LINE 64
#define BARRIER_SPINS 16384 /* some hundred microseconds */

struct barrier {
	uint32_t parties;
	uint32_t spins;                                /* until one sleeps; UINT32_MAX: for ever. Written between runs */
	_Alignas(CACHE_LINE) _Atomic uint32_t arrived; /* written by every party */
	_Alignas(CACHE_LINE) _Atomic uint32_t phase;   /* written by the last to arrive, read by all */
	_Atomic uint32_t sleepers; /* written by an lcore that goes to sleep and wakes up, read by the last to arrive */
};

static inline void
barrier_init(struct barrier *barrier, uint32_t parties)
{
	barrier->parties = parties;
	barrier->spins = BARRIER_SPINS;
	atomic_init(&barrier->arrived, 0);
	atomic_init(&barrier->phase, 0);
	atomic_init(&barrier->sleepers, 0);
}

static inline void
barrier_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/*
 * Sleeps while the phase is the one given. A sleeper announces itself before the kernel looks at the phase again, the
 * last to arrive changes the phase before it looks for sleepers, both sequentially consistent: one of them sees the
 * other.
 */
static inline void
barrier_sleep(struct barrier *barrier, uint32_t phase)
{
	atomic_fetch_add_explicit(&barrier->sleepers, 1, memory_order_seq_cst);
	while (atomic_load_explicit(&barrier->phase, memory_order_seq_cst) == phase)
		syscall(SYS_futex, (uint32_t *)&barrier->phase, FUTEX_WAIT_PRIVATE, phase, NULL, NULL, 0);
	atomic_fetch_sub_explicit(&barrier->sleepers, 1, memory_order_seq_cst);
}

/*
 * The arrival is acq_rel so that the last party sees all writes of the others; the new phase is released by it and
 * acquired by the waiters, so that everything before the barrier happens before everything after it.
 */
static inline void
barrier_wait(struct barrier *barrier)
{
	uint32_t phase;

	if (barrier->parties == 1)
		return;
	phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->parties) {
		atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&barrier->phase, phase + 1, memory_order_seq_cst);
		if (atomic_load_explicit(&barrier->sleepers, memory_order_seq_cst) != 0)
			syscall(SYS_futex, (uint32_t *)&barrier->phase, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		return;
	}
	for (uint32_t spins = 0; atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase; spins++) {
		if (spins == barrier->spins && spins != UINT32_MAX) {
			barrier_sleep(barrier, phase);
			return;
		}
		barrier_pause();
	}
}

/* Records are collected and the end of the run is checked once in this number of windows. */
#define FABRIC_HOUSEKEEPING 16
/*
 * A window with fewer packets, a port counting for some of one, is sooner run by one lcore than divided: that costs two
 * barriers.
 */
#define FABRIC_BARRIER_PACKETS 64
#define FABRIC_PORTS_A_PACKET 16

/*
 * Work between windows, on the first lcore while the others wait. Every member may be NULL.
 * In virtual time there is no pacer; in real time there is one (dpswitch/fabric/pacer.h).
 */
struct fabric_hooks {
	void *ctx;
	/*
	 * Returns when the next window may start, with its start: start_ps, or earlier, but not before earliest_ps, if
	 * a frame arrived from a kernel host. The fabric is idle in between.
	 */
	uint64_t (*pace)(void *ctx, uint64_t earliest_ps, uint64_t start_ps);
	/*
	 * Time that counts as silence while nothing moves; NULL: the run's own. Real time goes on while no window runs.
	 */
	uint64_t (*lived_ps)(void *ctx);
	/* @return whether a running node should make progress now, rather than at a later time; NULL: it should */
	bool (*due)(void *ctx, uint64_t now_ps);
	uint64_t (*next_change_ps)(void *ctx, uint64_t now_ps); /* faults: the next change at or after now */
	void (*change)(void *ctx, uint64_t now_ps);             /* faults: apply those due at now */
	void (*collect)(void *ctx, uint64_t now_ps);            /* records of the windows before now */
	/* capture: lanes hold the frames sent in the window that has ended; those that arrive in the one that begins */
	void (*sent)(void *ctx, const struct window *window);
	void (*arriving)(void *ctx, const struct window *window);
	bool (*interrupted)(void *ctx);
	/*
	 * Partitions of a fabric (struct fabric_config.remote); all NULL where it is whole. Frames sent on boundary
	 * cables in the window that has ended leave; frames that arrive over them in the next one enter. pace returns
	 * TIME_NEVER when the run is to end. No window ends behind the horizon, if there is one: pace has waited until that
	 * lies behind the start.
	 */
	void (*leaving)(void *ctx, const struct window *window);
	void (*entering)(void *ctx, const struct window *window);
	uint64_t (*horizon_ps)(void *ctx);
	/*
	 * Without a horizon, behind leaving: other partitions open the same windows. The frames that they sent in the
	 * window that has ended are in their lanes now.
	 * @param next_ps  when something happens next in this partition
	 * @return the same of all partitions, exact only when a window or more behind the window's end; TIME_NEVER also
	 *         where the run is to end
	 */
	uint64_t (*agree)(void *ctx, const struct window *window, uint64_t next_ps);
	/* With agree: the classes that a port of another partition holds, whose link is down (global id). */
	uint8_t (*pausing)(void *ctx, uint32_t port);
	/* @return whether another partition ended the run: for which reason, and at which node; REC_NONE: at none */
	bool (*over)(void *ctx, enum rec_end_reason *reason, uint32_t *node);
};

struct fabric_config {
	const struct topo *topo;
	const struct flow_table *flows; /* for chance of packets; may be NULL */
	uint64_t pipeline_ps;           /* latency of a receiver, added to every cable */
	uint64_t quantum_ps;            /* 0: exact */
	uint64_t epoch_ps;              /* telemetry: windows end at its multiples, so that epochs change between them */
	uint64_t limit_ps;              /* end of virtual time */
	uint64_t stall_ps;              /* without progress where some is due for so long, the run ends */
	uint64_t seed;
	uint32_t min_frame_bytes; /* smallest frame of the run on the wire */
	uint32_t pause_bytes;     /* a PAUSE frame on the wire */
	uint32_t lcores;
	bool inband;           /* packets may have PKT_INT */
	struct bodies *bodies; /* of packets from kernel hosts; NULL: there are none */
	const bool *remote;    /* [topo->nnodes] nodes that another program runs: they stand still here; NULL: none */
};

struct fabric_lcore {
	_Alignas(CACHE_LINE) uint32_t *nodes; /* [nnodes] ids, group by group */
	uint32_t nnodes;
	struct shares_group *groups; /* [ngroups] of nodes; lcore is written by that which runs it */
	uint32_t ngroups;
	uint64_t next_ps;      /* written by this lcore before the barrier, read by the first after it */
	struct link_pool pool; /* this lcore's within a window, the first one's between barriers */
	_Atomic int
		thread; /* its number on this machine; 0: not known. Written by this lcore, read by any thread (relaxed) */
	/*
	 * Groups that were begun in this window: each lcore takes its own, then those that others have left. Written by
	 * all of them (relaxed: the barrier orders what nodes hold), cleared by the first one between windows.
	 */
	_Alignas(CACHE_LINE) _Atomic uint32_t begun;
};

struct fabric {
	struct fabric_config config;
	struct fabric_hooks hooks;
	struct node **nodes; /* [topo->nnodes], set by fabric_attach() */
	struct link *links;  /* [topo->nports]: the direction that leaves that global port */
	struct link **link_ptrs;
	uint64_t window_ps;
	struct fabric_lcore lcores[FABRIC_MAX_LCORES];
	struct shares shares; /* changed by the first lcore between barriers */
	struct barrier barrier;
	/* written by the first lcore between barriers, read by all within a window */
	struct window window;
	bool stop;
	/* the first lcore's own */
	bool alone;                                /* it runs the next windows by itself, while the others wait for it */
	uint64_t weighed_windows, weighed_packets; /* when that was last decided */
	uint64_t change_ps;                        /* when the next change is due */
	uint64_t progress, silent_since_ps;        /* by hooks.lived_ps */
	uint64_t stall_left_ps;                    /* until the run stalls */
	enum rec_end_reason end_reason;
	uint32_t end_node;
};

/*
 * Makes the links of a topology. Nodes are attached afterwards, one for every topology node.
 * @return NULL with err set: -EINVAL (a link without delay: W would be 0), -ENOMEM
 */
struct fabric *fabric_create(const struct fabric_config *config, struct err *err);
void fabric_destroy(struct fabric *fabric);

/* Connects a node's rx and tx to its links. The node stays the caller's. */
void fabric_attach(struct fabric *fabric, struct node *node);

/*
 * A node that another program runs. It has no ports, queues or QPs: what that program reports of it is put into its
 * counters, records and status. Of faults it knows storms, as classes that its ports hold, and that routes have changed.
 * No window runs it, and what it holds is not asked for. node_destroy() unmakes it.
 * @return NULL: out of memory
 */
struct node *remote_node_create(const struct topo *topo, const struct flow_table *flows, uint32_t id);

/*
 * Divides the nodes over the lcores: a switch with the hosts below it goes to one. In virtual time an lcore that is
 * through with its own helps the others. Call after attaching all nodes.
 */
int fabric_partition(struct fabric *fabric, struct err *err);

/* The loop of one lcore; returns when the run has ended. Every lcore of the configuration must call it. */
void fabric_run(struct fabric *fabric, uint32_t lcore);

/* @return whether another program runs the node */
static inline bool
fabric_is_remote(const struct fabric *fabric, uint32_t node)
{
	return fabric->config.remote != NULL && fabric->config.remote[node];
}

/* Classes that a port asks its peer to hold (global id), wherever its node runs. Between windows. */
uint8_t fabric_pausing(const struct fabric *fabric, uint32_t port);

/* Sum of a run's counters and digests, in node order. After fabric_run(). */
uint64_t fabric_digest(const struct fabric *fabric);

struct fabric_totals {
	uint64_t hops; /* packets that arrived at a node */
	uint64_t in_flight_packets, in_flight_bytes;
	uint64_t lost_packets, lost_bytes; /* on links: injected or down */
	uint64_t windows, switch_windows, fast_windows;
};
void fabric_sum(const struct fabric *fabric, struct fabric_totals *totals);
