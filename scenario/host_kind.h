/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs a host of the topology: a row each here and in host_kind.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/enum.h"

#define HOST_KINDS(ROW)                                                                                                    \
	ROW(HOST_EMBEDDED, 0, "embedded") /* in the fabric's own process and time */                                       \
	ROW(HOST_GUEST, 1, "guest")       /* a kernel of its own: user-mode Linux */                                       \
	ROW(HOST_QEMU, 2, "qemu")         /* a kernel of its own: a QEMU machine */                                        \
	ROW(HOST_NETNS, 3, "netns")       /* a network namespace of this server, with the server's rdma_rxe */             \
	ROW(HOST_PORT, 4, "port")         /* somebody else's: whatever is behind a DPDK port */

enum host_kind { HOST_KINDS(ENUM_VALUE) };

struct host_config;

/* Where the cable between fabric and host is. */
struct host_cable {
	const struct host_config *config;
	const char *dir, *name; /* of sockets; of the host */
	uint32_t node;
};

struct host_kind_row {
	const char *guest;  /* rxe-hosts/guest/kind.h: what starts it; NULL: nobody here does */
	bool builds_kernel; /* that takes a kernel built by the project */
	bool remote;        /* somebody else's: the scenario says where its port is */
	/*
	 * The two ends of its cable; NULL where there is none.
	 * port: the fabric's, "vhost:PATH" or DPDK device arguments. nic: what the guest is told
	 */
	void (*port)(const struct host_cable *cable, char *buf, size_t cap);
	void (*nic)(const struct host_cable *cable, char *buf, size_t cap);
};

/* "guest" */
const char *host_kind_name(enum host_kind kind);

extern const struct host_kind_row host_kinds[ENUM_COUNT(HOST_KINDS)]; /* by enum host_kind */
