/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitions connect before a run: each listens, and connects to those before it; both identify themselves and the
 * run.
 */
#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/unix_socket.h"
#include "emulation/partition/channel.h"

struct rendezvous {
	uint32_t partition, partitions;
	const char *const *addresses; /* [partitions] */
	const struct partition_hello *hello;
	uint64_t timeout_ns;
	/* The name of a partition, for people. */
	void (*name)(void *ctx, uint32_t partition, char buf[160]);
	void *ctx;
};

/*
 * @param channels  [partitions] set to those to the others, as far as they connected, also where it fails
 * @return 0, or with err set: -EINVAL (another scenario, version, division, token, or an address that cannot be had),
 *         -ETIMEDOUT with the names of those that did not connect, -EMFILE or -ENFILE where no more can be accepted,
 *         -EINTR
 */
int rendezvous_run(const struct rendezvous *rendezvous, struct channel *channels, struct err *err);

/* The address at which a partition listens: the path of a unix socket (it has a '/'), or HOST:PORT. */

/* Whether only this machine's users can connect: unix, or 127.0.0.1, ::1, localhost. */
bool address_is_local(const char *address);
/* @return 0; -EINVAL with err set: it is no address */
int address_check(const char *address, struct err *err);
/*
 * @param backlog   that may connect at once
 * @param listener  set: its fd listens; a path is its own, of HOST:PORT there is no lock
 * @return 0 or negative errno with err set
 */
int address_listen(struct unix_listener *listener, const char *address, int backlog, struct err *err);
/*
 * Tries all addresses that a name has once, and waits for ADDRESS_TRY_NS at most for each.
 * @return descriptor, closed on exec; or negative errno with err set: nothing listens there
 */
#define ADDRESS_TRY_NS 500000000
int address_connect(const char *address, struct err *err);
/* Closes a listener, and removes its path. */
void address_close(const char *address, struct unix_listener *listener);
