/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ingress accounting of a switch (IEEE 802.1Qbb): what of the shared buffer each (ingress port, lossless class) uses.
 * The stages before hand it the window's arrivals and departures; switch_account() charges and releases them and
 * decides which peers are paused.
 */
#pragma once

#include "common/pkt.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/pools.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "dpswitch/queue/ingress.h"

/*
 * One charge or release as a sortable key:
 *   time since the window's start [63:28] | departure [27] | ingress port [26:19] | class [18:16] | wire bytes [15:0]
 */
#define ACCOUNT_TIME_SHIFT 28
_Static_assert(WINDOW_MAX_PS < 1ULL << (64 - ACCOUNT_TIME_SHIFT), "a window's offsets fit a key");
_Static_assert(TOPO_MAX_PORTS <= 256 && SWITCH_CLASSES <= 8, "ports and classes fit a key");

struct sw;

/*
 * An ingress at which classes that are lossless elsewhere in the switch are not, or not by enough: what does not fit is
 * dropped, and counted there.
 */
struct account_short {
	uint8_t classes;         /* bit p: of class p; 0: none */
	uint8_t silent;          /* bit p: it never pauses its peer for class p */
	bool has_planned;        /* headroom is the planned one of each group */
	uint64_t headroom_bytes; /* behind XOFF, instead of the planned headroom */
};

/*
 * The most that an ingress held since it was last reset, between windows. Headroom is exact, and so is all of a window
 * that is replayed in order; of others it is what they end with.
 */
struct account_peak {
	uint64_t bytes, headroom_bytes; /* in reserve and pool; in headroom */
};

struct account {
	/* touched per packet */
	uint8_t charged;                /* bit p: class p is charged: it is lossless, or has a priority group */
	uint32_t first[SWITCH_CLASSES]; /* of a class: index of its first ingress; all that are not charged are last */
	uint64_t *arrived_bytes, *left_bytes; /* [(nclasses + 1) * nports] within the window; those of classes that are not
						 charged are added up like others, and are not read */
	bool quiet;                           /* sums are enough for this window, whatever leaves: no keys */
	bool pausing;                         /* an ingress pauses its peer, or holds headroom */
	uint64_t held_bytes;                  /* at the window's start, by all ingresses */
	uint64_t arriving_bytes;              /* in a window that is not quiet, to all ingresses */
	uint32_t proven;                      /* ingresses, from the first, that cross no threshold in it */
	uint64_t *keys;                       /* [keys_cap] runs, each in order: departures as they are handed over */
	uint32_t nkeys, nruns;
	/* per window */
	uint32_t *key_runs;   /* [2 * ports] where each run of keys ends */
	uint64_t *keys_spare; /* [keys_cap] */
	uint32_t keys_cap;    /* 0 before the first window that is not quiet: in most switches there is none */
	uint8_t lossless;     /* bit p: class p is lossless, at some port at least; without pools all that are charged */
	uint32_t nclasses;    /* that are charged */
	uint32_t nports;
	bool recheck;              /* something changed between windows: look for RESUMEs */
	struct pfc_params *params; /* [nparams] */
	uint32_t nparams;
	struct pfc_pool pool;         /* without pools of their own */
	struct pools *pools;          /* NULL: none are configured */
	struct pfc_ingress *ingress;  /* [nclasses * nports] */
	struct account_peak *peaks;   /* [nclasses * nports] */
	struct account_short *shorts; /* [nports] as configured, or by a fault */
	uint64_t buffer_bytes;
	bool least_headroom; /* the configured buffer is too small for what is usual: each cable has what it needs */
};

/* @return 0, -EINVAL with err set, -ENOMEM */
int account_init(struct account *account, const struct switch_config *config, uint32_t node, struct err *err);
void account_fini(struct account *account);
/* Headroom of every ingress; the pool is what buffer is left. After the egresses. @return 0, or -EINVAL with err set */
int account_size(struct sw *sw, struct err *err);
/* @return headroom with which an ingress, of any class, loses nothing: topo_headroom_bytes() of its cable */
uint64_t account_headroom_needed(const struct sw *sw, uint16_t port);

static inline const struct pfc_params *
account_params(const struct account *account, const struct pfc_ingress *in)
{
	return &account->params[in->params];
}

static inline bool
account_is_lossless(const struct account *account, uint8_t prio)
{
	return account->lossless >> prio & 1;
}

static inline bool
account_is_charged(const struct account *account, uint8_t prio)
{
	return account->charged >> prio & 1;
}

static inline uint32_t
account_index(const struct account *account, uint16_t in_port, uint8_t prio)
{
	return account->first[prio] + in_port;
}

static inline uint64_t
account_key(uint64_t offset_ps, bool departure, uint8_t in_port, uint8_t prio, uint16_t wire_bytes)
{
	return offset_ps << ACCOUNT_TIME_SHIFT | (uint64_t)departure << 27 | (uint64_t)in_port << 19 |
	       (uint64_t)prio << 16 | wire_bytes;
}

static inline bool
account_key_departs(uint64_t key)
{
	return key >> 27 & 1;
}

static inline uint16_t
account_key_port(uint64_t key)
{
	return key >> 19 & 0xff;
}

static inline uint8_t
account_key_prio(uint64_t key)
{
	return key >> 16 & 7;
}

static inline uint16_t
account_key_bytes(uint64_t key)
{
	return key & 0xffff;
}

/* Routing has found an egress for a packet. */
static inline void
account_arrive(struct account *account, const struct pkt *p)
{
	account->arrived_bytes[account_index(account, p->in_port, p->prio)] += p->wire_bytes;
}

/* A fault swallows it before it is queued. */
static inline void
account_withdraw(struct account *account, struct pkt *p)
{
	account->arrived_bytes[account_index(account, p->in_port, p->prio)] -= p->wire_bytes;
	if (account_is_charged(account, p->prio))
		account->arriving_bytes -= p->wire_bytes;
	p->in_port = UINT8_MAX; /* never charged to an ingress */
}

/* A frame starts to leave, so long after the window's start. One egress after another, in order. */
static inline void
account_depart(struct account *account, const struct pkt *p, uint64_t offset_ps)
{
	account->left_bytes[account_index(account, p->in_port, p->prio)] += p->wire_bytes;
	if (__builtin_expect(!account->quiet, 0) && account_is_charged(account, p->prio))
		account->keys[account->nkeys++] = account_key(offset_ps, true, p->in_port, p->prio, p->wire_bytes);
}

/* Ends the run of keys of one egress, or ingress. */
static inline void
account_end_run(struct account *account)
{
	if (account->nkeys != (account->nruns != 0 ? account->key_runs[account->nruns - 1] : 0))
		account->key_runs[account->nruns++] = account->nkeys;
}

/* account_end_run() for several egresses that went through the window together: sorts their departures by time. */
void account_end_mixed_run(struct account *account);

/*
 * Has an ingress that loses what does not fit room for one more? As buffer and pool stood at the window's start, with later
 * arrivals; departures within a window make room in the next.
 */
bool account_admits(struct account *account, uint16_t in_port, const struct pkt *p);
/* The fault's handle; between windows only. @param how  NULL: as configured again */
void switch_misconfigure(struct sw *sw, uint16_t port, const struct account_short *how);
/* @return number of equal parameters among those that there are, which they are added to */
uint16_t account_put_params(struct account *account, const struct pfc_params *params);
/* Classes that a port is configured to pause its peer for, and to be paused in: bit p, class p. */
uint8_t account_configured(const struct sw *sw, uint16_t port);

/* Between windows: a packet that was queued is lost. */
void account_lose(struct account *account, const struct pkt *p);

/*
 * All arrivals of the window are known: decides the messages that departures cause.
 * @param most_bytes  that arrived, of classes that are not lossless as well
 */
void account_open(struct account *account, uint64_t most_bytes);
/* Makes room for the keys of a window that is not quiet: arrivals, departures. Ends the program when out of memory. */
void account_reserve(struct account *account, uint32_t keys);
/* Stage 3: accounts for the window's arrivals and departures, and sends PAUSE and RESUME. */
void switch_account(struct sw *sw, const struct window *window);

/* An ingress's bytes of a lossless class; the peer of an ingress that holds more than XOFF bytes is paused. */
struct account_state {
	uint64_t bytes, xoff_bytes;
	bool pausing;
};
struct account_state account_state_of(const struct account *account, uint16_t port, uint8_t prio);

/* PAUSE and RESUME frames that a port sends to its peer, for its own accounting or a storm. */

struct sw;

struct pause_sender {
	uint64_t window_free_ps; /* when the window opened, the transmitter's last frame had left or would leave:
	                            switch_pauses_open() */
	uint64_t done_ps;        /* last PAUSE frame's last bit */
	uint64_t since_ps[8];    /* since when the port asks its peer to hold class p */
	uint8_t own_xoff;        /* bit p: the last frame of our own accounting for class p was XOFF */
};

/* Before the egresses go through a window in which PAUSE or RESUME may leave. */
void switch_pauses_open(struct sw *sw);
/* Our own accounting's decision for one class; a storm on the port swallows its RESUMEs. */
void switch_own_pause(struct sw *sw, uint16_t port, uint8_t prio, bool xoff, uint64_t now_ps, const struct window *window);
/* Classes that a port asks its peer to hold, by its own accounting or a storm. */
uint8_t switch_pausing(const struct sw *sw, uint16_t port);

/* A port that keeps sending PAUSE whatever its buffer holds (dpswitch/faults/pfc_storm.c). */

struct sw;

struct storm {
	uint64_t next_ps, interval_ps;
	uint8_t classes; /* 0: no storm */
	uint8_t ended;   /* classes to RESUME because their storm is over */
};

/* struct node_ops.storm: a storm of one class begins or ends. Several may be on at a port. */
void switch_set_storm(struct sw *sw, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
/* Sends what storms have due in the window. */
void switch_storm(struct sw *sw, const struct window *window);
/* RESUMEs of storms that have ended. */
void switch_storms_ended(struct sw *sw, const struct window *window);
