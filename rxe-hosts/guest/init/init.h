/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe-guest-init: the first process of a guest. Its parameters are words of the kernel's command line, which reach it as
 * its environment (for a network namespace: the environment itself).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* A host's NIC and its RDMA device. */
#define INIT_NETDEV "eth0"
#define INIT_RDMA_DEVICE "rxe0"

/*
 * Mounts what a guest needs over the server's read-only file system.
 * @param namespace_only  a network namespace of the server: only what depends on it
 * @return 0, or negative errno with err set
 */
int mounts_setup(bool namespace_only, struct err *err);

/* Loads the modules that ROCELAB_MODULES lists, separated by commas, if any. @return 0, or negative errno with err set */
int modules_load(struct err *err);

/*
 * Brings the network up as ROCELAB_ADDRESS, ROCELAB_MAC and ROCELAB_MTU say, with soft-RoCE on it.
 * Without ROCELAB_ADDRESS: the loopback device only.
 * @param gid_index  of the RoCEv2 GID of the IPv4 address (UINT32_MAX without an address)
 * @return 0, or negative errno with err set
 */
int network_setup(uint32_t *gid_index, struct err *err);

/*
 * Opens a channel to the server: a serial device, in raw mode, for which it waits if it is not there yet, or "fd:N", a descriptor that is open already.
 * @return descriptor, blocking and close-on-exec, or negative errno with err set
 */
int channel_open(const char *name, struct err *err);

/* Serves commands until the server wants the guest to stop or is gone. hello_text: what went wrong, or "". */
void serve(int channel, int manage, int hello_error, uint32_t gid_index, const char *hello_text);
