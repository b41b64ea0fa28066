/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's controller (4.1): the registration of every RNIC, and its probe targets. One function takes a request
 * and makes the reply, for any transport: a socket, or a simulated management network. It knows no clock.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/pingmesh_manage.h"
#include "operator/controller/pinglist.h"

struct controller;

struct controller_config {
	const struct topo *topo; /* all of it in use until controller_destroy() */
	const struct route_table *table;
	const char *store; /* a file, or REGISTRY_IN_MEMORY */
	struct pingmesh_times times;
	uint64_t seed;
	bool rxe, rails; /* struct pinglists'; the values that the scenario was planned with */
};

/* A reply, in the controller's own memory: valid until the next request. */
struct controller_reply {
	const void *bytes; /* header and body */
	size_t size;
};

/* @return 0; -ENOMEM or -EIO with err */
int controller_create(const struct controller_config *config, struct controller **out, struct err *err);
void controller_destroy(struct controller *controller); /* also of NULL */

/*
 * Checks everything in a request; the reply reports any error.
 * @param request  header and body, whole, aligned to 8 bytes
 * @param now_ps   since the protocol began: selects the tuples in use
 */
struct controller_reply controller_handle(struct controller *controller, const void *request, size_t size, uint64_t now_ps);

/* The GID of RoCEv2 over IPv4: the address mapped into IPv6 (IBTA A17.4.5.2, RFC 4291 2.5.5.2). */
void controller_gid_of_ip(uint32_t ip, uint8_t gid[16]);

/*
 * The latest communication info of every RNIC (R-Pingmesh 4.1), in SQLite: in a file it survives the controller. One
 * controller at a time has the file.
 */

#define REGISTRY_IN_MEMORY ":memory:"

struct registry;

/*
 * @param path  a file, made if absent; REGISTRY_IN_MEMORY: none
 * @return 0; -ENOMEM, or -EIO with err naming the file: no registry, of another version, held by another controller, not to
 *         be written
 */
int registry_open(const char *path, struct registry **out, struct err *err);
void registry_close(struct registry *registry); /* also of NULL */

/*
 * Enters a host's RNICs, all or none, in place of the earlier entries of the same addresses.
 * @return 0 or -EIO with err
 */
int registry_put(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnics, uint32_t count,
		 struct err *err);

/*
 * @param rnic  set to the entry of an address; without an entry, to the address alone, with QPN 0
 * @return 0 or -EIO with err
 */
int registry_find(struct registry *registry, uint32_t ip, struct pingmesh_rnic *rnic, struct err *err);

/*
 * The controller on a stream socket: one request of an agent at a time, its reply, then the next. An agent that sends
 * half a request, or does not read its reply, loses its connection. So does a silent one, at no cost: it connects again
 * for its next request.
 */

#define SERVE_MAX_PEERS 256
#define SERVE_TIMEOUT_MS 10000 /* for the rest of a request, for a reply to be taken, for the next request */

struct serve_config {
	struct controller *controller;
	int listener;             /* listening socket; the caller closes it */
	uint64_t (*now_ps)(void); /* since the protocol began */
	uint32_t idle_limit_ms;   /* SERVE_TIMEOUT_MS */
	const sigset_t *waiting;  /* signals that are let through while it waits, of those that are held; NULL: none */
	int (*is_over)(void);     /* polled after each wait: not 0 ends it */
};

/* Counters of a server since its start. */
struct serve_counts {
	uint64_t peers, requests, refused; /* refused: requests with reply REFUSED */
	uint64_t turned_away;              /* peers beyond SERVE_MAX_PEERS */
	uint64_t gave_up;                  /* connections that took too long, or broke off in a request */
	uint64_t malformed;                /* that sent an invalid request */
};

/* Serves until it is over. @return 0, or negative errno with err: the socket is of no use any more */
int serve(const struct serve_config *config, struct serve_counts *counts, struct err *err);
