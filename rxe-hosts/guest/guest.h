/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that have a kernel of their own: booted from it, watched, stopped, and nothing left behind.
 *
 * Each guest has a supervisor, a process forked from the caller that owns everything of the guest. It ends the guest
 * when the caller ends for any reason, and shares the guest's command channel: a program that connects to DIR/NAME.sock
 * speaks common/wire/guest.h with the guest (`rocelab shell` does). The output of the guest and its program is in
 * DIR/NAME.log, which stays; the socket and the folder DIR/NAME go with the guest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define GUEST_MAX_NAME 31
#define GUEST_MEMORY_MIB 64

/* All strings are borrowed until guest_start() returns. */
struct guest_config {
	const char *kind;    /* "uml", "qemu" or "netns" */
	const char *name;    /* letters, digits, '-', '_', '.': its hostname and its files' */
	const char *dir;     /* exists; the guests of one run share it */
	const char *init;    /* path of rxe-guest-init */
	const char *kernel;  /* uml: path of the kernel, as scripts/rxe-kernel prints it */
	unsigned memory_mib; /* uml, qemu (256 at least); 0: GUEST_MEMORY_MIB */

	/* The NIC. uml, qemu: the vhost-user socket where the switch listens already; netns: a network device of the server
	   (a tap of the switch, one end of a veth pair) that becomes the guest's. NULL: a guest without a NIC. */
	const char *nic;
	uint32_t ip; /* network order */
	uint8_t prefix_bits;
	uint8_t mac[6];
	uint16_t mtu_bytes;

	/*
	 * The program to run once the network is up; NULL: none, commands only. NULL-terminated, argv[0] is a path in
	 * the server's file system, which the guest sees read-only (/proc, /sys, /dev and /run are its own).
	 */
	const char *const *argv;
	/* The management channel: a stream socket that the program has as descriptor 3; -1: none. The caller closes its
	   copy after guest_start(). It is a serial line in the guest: raw bytes, flow control, no end of file. */
	int manage_fd;
	/* A descriptor that stays open for as long as anything of the guest lives: a lock; -1: none. */
	int hold_fd;
};

enum guest_state {
	GUEST_BOOTING,
	GUEST_UP,     /* its network is up, its RDMA device has its GID, its program was started */
	GUEST_EXITED, /* its program ended; the guest still serves commands */
	GUEST_ENDED,  /* it is gone; text has the reason */
};

struct guest_status {
	enum guest_state state;
	int32_t pid;        /* from GUEST_UP on: of the process that is the guest here, its others are descendants of it */
	uint32_t gid_index; /* from GUEST_UP on: RoCEv2 GID of its IPv4 address, UINT32_MAX without a NIC */
	int exit_status;    /* from GUEST_EXITED on: of its program, 0..255 or 128 + signal; -1 if it never ended */
	char text[1024];    /* GUEST_ENDED: the reason, for people; empty after guest_stop() */
};

struct guest;

/*
 * Starts a guest; guest_poll() reports when it is up. The caller has one thread: the supervisor is forked without exec.
 * @return 0; -EINVAL for an invalid configuration, -ENOENT for a dependency missing on this machine, other negative
 *         errno; err has the cause and the remedy
 */
int guest_start(const struct guest_config *config, struct guest **guest, struct err *err);

/* @return descriptor that is readable when guest_poll() has something new, for poll() */
int guest_fd(const struct guest *guest);

/* Brings status up to date without waiting. */
const struct guest_status *guest_poll(struct guest *guest);

/*
 * Waits for a state or a later one.
 * @return 0; -ETIMEDOUT; -ECONNRESET if the guest ended before (err has the reason)
 */
int guest_wait(struct guest *guest, enum guest_state state, unsigned timeout_ms, struct err *err);

/*
 * Powers the guest off, kills it where it does not obey within GUEST_STOP_MS, and frees it. Several at once: call
 * guest_ask_stop() for each first.
 */
void guest_stop(struct guest *guest);
void guest_ask_stop(struct guest *guest);

#define GUEST_STOP_MS 3000

/*
 * Tries a kind on this machine: boots a guest without a NIC and adds a soft-RoCE device to its loopback device.
 * @param config      kind, dir, init and kernel are used
 * @param timeout_ms  of the whole
 * @return 0, or negative errno with err set: the missing dependency, or the step that failed
 */
int guest_probe(const struct guest_config *config, unsigned timeout_ms, struct err *err);
