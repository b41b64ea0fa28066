/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When datagrams with contents crossed the network device below soft-RoCE, by the kernel's timestamps of their frames.
 * An RNIC reports these times with a completion (R-Pingmesh 4.2.1), soft-RoCE does not. A stamp is matched by the
 * frame's contents. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rxe-hosts/device/device.h"

#define STAMPS_KEPT 1024u /* of frames whose completion has not been seen; older ones are dropped */
#define STAMPS_FRAME_BYTES 128u

/* A datagram as a frame or a completion shows it. */
struct stamp_key {
	uint32_t imm;
	uint16_t bytes;
	bool out; /* sent by this host */
	uint8_t contents[DEVICE_UD_BYTES];
};

struct stamps {
	struct {
		struct stamp_key key;
		uint64_t time_ns;
		bool used;
	} kept[STAMPS_KEPT];
	uint32_t head, tail; /* counted */
	uint64_t unused;     /* dropped without a lookup */
};

/*
 * @param frame  its first bytes, from the Ethernet header on @param bytes  of them
 * @return false: no UD SEND ONLY WITH IMMEDIATE over IPv4, or too long
 */
bool stamp_key_of_frame(struct stamp_key *key, const uint8_t *frame, size_t bytes, bool out);
struct stamp_key stamp_key_of(uint32_t imm, const void *contents, uint16_t bytes, bool out);
void stamps_put(struct stamps *stamps, const struct stamp_key *key, uint64_t time_ns);
/* Takes the oldest of a datagram. @return its time; 0: there is none */
uint64_t stamps_take(struct stamps *stamps, const struct stamp_key *key);

/*
 * A packet socket (packet(7)) on the network device below soft-RoCE: frames of datagrams with contents, with the
 * kernel's times. Who may not open one goes without.
 */

struct tap {
	int fd; /* -1: none */
	struct stamps *stamps;
	uint64_t to_now_ns, gap_ns; /* CLOCK_REALTIME minus clock_now_ns(), and the shortest time to read both */
};

/*
 * @param netdev  its name
 * @return 0, or negative errno: of socket(2), -EPERM without CAP_NET_RAW, -ENODEV
 */
int tap_open(struct tap *tap, const char *netdev);
void tap_close(struct tap *tap);
/* Takes all frames that are there. */
void tap_drain(struct tap *tap);
