/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PFC watchdog of a switch, with SONiC's rules: a lossless queue that its peer has paused for detection_time without
 * a break is in a storm, whether packets wait in it or not (sonic-swss, pfc_detect_broadcom.lua and
 * pfc_detect_mellanox.lua). It works as usual again when its peer has not paused it for restoration_time
 * (pfc_restore.lua). Both are noticed at the first window that begins then or later. In between, by its action:
 *
 *   drop     what waits, what is for the queue, and what arrives at the port in its class is dropped (watchdog)
 *   forward  PAUSE frames of the class are ignored
 *   alert    nothing: the events are records, with every action. There is nothing to restore: the storm ends with the
 *            pause, as in the scripts of detection
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpswitch/pipeline/switch_cfg.h"

struct sw;
struct watchdog;

/* @param made  NULL where no port of the switch has one. @return 0 or -ENOMEM. After the ports */
int watchdog_create(struct sw *sw, struct watchdog **made);
/* NULL is allowed. */
void watchdog_destroy(struct watchdog *watchdog);

/* A port's peer asks it to hold classes, or lets them go. @param classes  bit p: of class p */
void watchdog_note(struct sw *sw, uint16_t port, uint8_t classes, bool xoff, uint64_t now_ps);
/* When there is something to look at; TIME_NEVER: never, as things are. */
uint64_t watchdog_next_ps(const struct watchdog *watchdog);
/* A window begins, at watchdog_next_ps() or later. */
void watchdog_run(struct sw *sw, uint64_t now_ps);

/* Is a port in a storm of this class, in which its packets are dropped? */
bool watchdog_drops(const struct watchdog *watchdog, uint16_t port, uint8_t prio);
/* Counts a packet that is dropped for it. */
void watchdog_count(struct watchdog *watchdog, uint16_t port, uint8_t prio);

/* Counters of a queue's watchdog, as in SONiC's `show pfcwd stats`. */
struct watchdog_count {
	uint64_t detected, restored; /* storms */
	uint64_t packets;            /* dropped in all of them */
	uint64_t last_packets;       /* in the latest */
	bool storms;                 /* it is in one */
};

/* @return false: the queue is not watched */
bool watchdog_count_of(const struct watchdog *watchdog, uint16_t port, uint8_t prio, struct watchdog_count *count);
