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

/* Serves commands until the server requests the guest's stop or is gone. hello_text: the error, or "". */
void serve(int channel, int manage, int hello_error, uint32_t gid_index, const char *hello_text);
