/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of R-Pingmesh's agents to their controller, beside the network that they probe (R-Pingmesh, 4.1): one
 * message, one reply.
 * Little-endian; a message is one struct pingmesh_hdr and its body. Over a socket replies are in the order of
 * requests.
 *
 *   agent                       controller
 *   REGISTER               ->             its RNICs, at each start: their QPNs are new
 *                          <-  REGISTERED no body
 *   PINGLISTS              ->
 *                          <-  ENTRIES    targets of probes, and their times
 *   RESOLVE                ->             addresses that service tracing found
 *                          <-  RESOLVED   the registration of each
 *                          <-  REFUSED    instead of any of them: the reason
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define PINGMESH_MAGIC 0x4d504752U /* "RGPM" */
#define PINGMESH_MANAGE_VERSION 1
#define PINGMESH_MAX_REQUEST 16384u   /* bytes of a request's body */
#define PINGMESH_MAX_REPLY (4u << 20) /* bytes of a reply's body */
#define PINGMESH_MAX_RNICS 128u       /* of a host */
#define PINGMESH_MAX_RESOLVED 4000u   /* addresses of one request */
#define PINGMESH_TEXT 240

enum pingmesh_type {
	PINGMESH_REGISTER = 1,
	PINGMESH_PINGLISTS = 2,
	PINGMESH_RESOLVE = 3,
	PINGMESH_REGISTERED = 4,
	PINGMESH_ENTRIES = 5,
	PINGMESH_RESOLVED = 6,
	PINGMESH_REFUSED = 7,
};

struct pingmesh_hdr {
	uint32_t magic;
	uint16_t version;  /* PINGMESH_MANAGE_VERSION */
	uint16_t type;     /* enum pingmesh_type */
	uint32_t size;     /* of the body, bytes */
	uint32_t reserved; /* zero: bodies are aligned to 8 bytes */
};

WIRE_AT(pingmesh_hdr, 0, magic)
WIRE_AT(pingmesh_hdr, 4, version)
WIRE_AT(pingmesh_hdr, 6, type)
WIRE_AT(pingmesh_hdr, 8, size)
WIRE_AT(pingmesh_hdr, 12, reserved)
WIRE_SIZE(pingmesh_hdr, 16)

/* An RNIC's communication info. */
struct pingmesh_rnic {
	uint8_t gid[16];
	uint32_t ip;  /* host byte order */
	uint32_t qpn; /* 24 bits; in RESOLVED 0: it is not registered */
	uint32_t tor; /* topology node id of the switch that it is connected to */
	uint16_t nic;
	uint16_t reserved; /* zero */
};

WIRE_AT(pingmesh_rnic, 0, gid)
WIRE_AT(pingmesh_rnic, 16, ip)
WIRE_AT(pingmesh_rnic, 20, qpn)
WIRE_AT(pingmesh_rnic, 24, tor)
WIRE_AT(pingmesh_rnic, 28, nic)
WIRE_AT(pingmesh_rnic, 30, reserved)
WIRE_SIZE(pingmesh_rnic, 32)

/* REGISTER, with count struct pingmesh_rnic behind it; PINGLISTS, with none. */
struct pingmesh_host {
	uint32_t host; /* topology node id */
	uint32_t count;
};

WIRE_AT(pingmesh_host, 0, host)
WIRE_AT(pingmesh_host, 4, count)
WIRE_SIZE(pingmesh_host, 8)

/*
 * RESOLVE, with count addresses (uint32_t) behind it; RESOLVED, with the same number of struct pingmesh_rnic in the
 * same order.
 */
struct pingmesh_list {
	uint32_t count;
	uint32_t reserved; /* zero */
};

WIRE_AT(pingmesh_list, 0, count)
WIRE_AT(pingmesh_list, 4, reserved)
WIRE_SIZE(pingmesh_list, 8)

/* ENTRIES, with count struct pingmesh_entry behind it: the probing orders for agents (R-Pingmesh 5). */
struct pingmesh_entries {
	uint32_t count;
	uint32_t left_out;    /* entries of RNICs that are not registered: to be asked for again soon */
	uint64_t service_ps;  /* between probes of an RNIC's service tracing */
	uint64_t timeout_ps;  /* of a probe */
	uint64_t upload_ps;   /* between uploads */
	uint64_t pinglist_ps; /* until the pinglists are to be asked for again */
};

WIRE_AT(pingmesh_entries, 0, count)
WIRE_AT(pingmesh_entries, 4, left_out)
WIRE_AT(pingmesh_entries, 8, service_ps)
WIRE_AT(pingmesh_entries, 16, timeout_ps)
WIRE_AT(pingmesh_entries, 24, upload_ps)
WIRE_AT(pingmesh_entries, 32, pinglist_ps)
WIRE_SIZE(pingmesh_entries, 40)

/* Whom one of the host's RNICs is to probe. */
struct pingmesh_entry {
	uint8_t gid[16]; /* the target's */
	uint32_t ip, qpn;
	uint16_t kind;  /* enum rec_probe_kind */
	uint16_t nic;   /* of the prober */
	uint16_t sport; /* UDP source port of the probe, and of its ACKs */
	uint16_t reserved;
	uint64_t interval_ps; /* between two probes of this entry */
};

WIRE_AT(pingmesh_entry, 0, gid)
WIRE_AT(pingmesh_entry, 16, ip)
WIRE_AT(pingmesh_entry, 20, qpn)
WIRE_AT(pingmesh_entry, 24, kind)
WIRE_AT(pingmesh_entry, 26, nic)
WIRE_AT(pingmesh_entry, 28, sport)
WIRE_AT(pingmesh_entry, 30, reserved)
WIRE_AT(pingmesh_entry, 32, interval_ps)
WIRE_SIZE(pingmesh_entry, 40)

struct pingmesh_refused {
	char text[PINGMESH_TEXT]; /* NUL-terminated */
};

WIRE_AT(pingmesh_refused, 0, text)
WIRE_SIZE(pingmesh_refused, 240)
