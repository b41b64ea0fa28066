/* SPDX-License-Identifier: BSD-3-Clause */
/* The other side of a vhost-user port: a process with DPDK's virtio_user, as a guest's driver. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define GUEST_MAX_BYTES 4200

/* The n-th frame of the test: its size, and its bytes. */
uint32_t guest_frame(uint32_t n, uint8_t bytes[GUEST_MAX_BYTES]);

/*
 * Starts a process that connects to the socket, sends frames 0 .. frames - 1 as fast as its ring takes them, and expects
 * the same back in order; it looks at what came in only every 20 ms. To be called before EAL starts here.
 * @return its pid; it ends with 0 if every frame returned right
 */
pid_t guest_start(const char *path, uint32_t frames);
