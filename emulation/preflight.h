/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a configuration cannot work as it is written, found before the run: each with the numbers on both sides and
 * what to set. A check is a function, and a row in preflight.c; those of buffers are in preflight_buffers.c. The
 * findings are of the configuration; whether a run has the traffic for them is another matter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulation/emulation.h"
#include "workload/plan.h"

struct detection_config;

struct preflight_finding {
	const char *check; /* "ecn-behind-pfc" */
	bool inert;        /* a run's start warns of it: what is configured cannot act, or breaks what it watches */
	bool unmarked;     /* and so no packet will be marked, or because no port has more than it sends */
	char text[640];
	char remedy[16384];    /* options of the command line, for all places if they fit; "": none */
	const char *no_remedy; /* why there is none */
};

#define PREFLIGHT_FINDINGS 32 /* of one configuration; a check groups ports, and makes a few at the most */

/* Of one configuration, while its checks run. */
struct preflight {
	const struct scenario *sc;
	struct sw **switches;               /* [topo->nnodes] NULL for hosts */
	struct preflight_finding *findings; /* [PREFLIGHT_FINDINGS] */
	int count;
};

/* For checks. @param inert  as of the finding. @return the finding, for its remedy */
struct preflight_finding *preflight_add(struct preflight *c, const char *check, bool inert, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* For checks. Adds an option to the remedy of a finding, "--set PATH=VALUE", unless it is there. */
void preflight_remedy(struct preflight_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Likewise one with a number of bytes; where places share the setting, the least or the most of theirs.
 * @param option  in front of the number. @param tail  behind it
 */
void preflight_remedy_bytes(struct preflight_finding *f, const char *option, uint64_t bytes, const char *tail, bool least);

/* Likewise of one switch, port or cable more: a key of the group at a place. */
void preflight_remedy_setting(struct preflight_finding *f, const struct cfg_where *where, const char *key, uint64_t bytes,
			      bool least);
/* Likewise, where the group may be that of all switches. @param all  its path then */
void preflight_remedy_key(struct preflight_finding *f, const struct cfg_where *where, const char *all, const char *key,
			  uint64_t number, const char *tail, bool least);
/* The group that holds a setting: of a single switch, or of all. @return path */
const char *preflight_path(const struct cfg_where *where, const char *all, char path[CFG_WHERE_PATH]);

/*
 * Writes a finding's options as they are typed: one for places that differ in an index alone; or why there are none.
 * @return 0 or -ENOMEM
 */
int preflight_gather_remedy(struct preflight_finding *f);

/*
 * For checks (preflight_buffers.c). Adds a group of a class with PFC, which needs one where there are pools: one as at
 * another port of the switch, or as of another class with PFC.
 * @param added  groups that the remedy adds at the port so far
 * @return whether it adds one more
 */
bool preflight_remedy_group(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t prio,
			    size_t added);

/* For checks. Rates of a switch's ports to hosts, and of those to other switches. */
struct preflight_sides {
	uint64_t hosts_bps, others_bps;
	uint32_t others;
};

struct preflight_sides preflight_sides_of(const struct topo *topo, uint32_t node);
/* @return the rate, rounded up */
uint64_t preflight_whole_mbps(uint64_t rate_bps);
/*
 * Links written out one by one: those to other switches carry what the hosts of both ends can send, in equal parts. No
 * remedy, if a cable cannot be as fast.
 */
void preflight_remedy_links(const struct preflight *c, struct preflight_finding *f);

/* For checks. @return classes of the data that the plan sends, as hosts do; of an idle plan, theirs. A bit each */
uint8_t preflight_classes(const struct scenario *sc);

#define PREFLIGHT_MORE 64

/* For checks. @return the end of a finding's text, of so many places as its first one; "": there are none */
const char *preflight_further(uint32_t count, const char *one, const char *several, char text[PREFLIGHT_MORE]);

/* Checks of buffers (preflight_buffers.c): ECN that PFC or windows forestall; headroom by cable; pools. */
int preflight_ecn(struct preflight *c);
int preflight_watchdog(struct preflight *c);
int preflight_headroom(struct preflight *c);
int preflight_pools(struct preflight *c);

/*
 * Runs all checks.
 * @param findings  [PREFLIGHT_FINDINGS]
 * @return their number, or -ENOMEM
 */
int preflight(const struct emulation *emulation, struct preflight_finding *findings);
