/* SPDX-License-Identifier: BSD-3-Clause */
/* One partition of three, and sockets in place of the other two. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "emulation/partition/partition.h"
#include "emulation/partition/partition_peers.h"

#define RIG_PARTITIONS 3

struct rig {
	struct scenario *scenario;
	struct partitions *partitions;
	struct emulation *emulation;
	int theirs[RIG_PARTITIONS]; /* the other ends; -1: none */
};

/* @param tcp  with as little room in sockets as there can be, else unix. @param rest  of the scenario */
struct rig rig_open(uint32_t which, bool tcp, const char *rest);
void rig_close(struct rig *rig);
/* What another partition says, in blocking writes. @return false: nobody takes it */
bool rig_send(int fd, enum partition_type type, const void *body, size_t size);

/* It reports what became of its nodes: nothing. */
void rig_send_done(const struct rig *rig, int fd);

/* Another partition that hears all that is said to it, in a thread. */
struct rig_peer {
	int fd;
	unsigned wait_ms;          /* before it reads anything */
	bool talks;                /* says again and again that it lives, until it has heard the last */
	enum partition_type until; /* then it says no more; PARTITION_NONE: only when the other end does not */
	pthread_t thread, talker;
	atomic_bool received_last, ended, reset; /* ended: read up to the end; reset: that was none */
	atomic_uint types[PARTITION_TYPES];      /* messages heard of each type */
};

void rig_peer_start(struct rig_peer *peer);
/* Until its reading has ended. */
void rig_peer_join(struct rig_peer *peer);
