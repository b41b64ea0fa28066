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

#include "common/send_times.h"
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

/*
 * Round-trip times from probes, made fit for hosts that are scheduled by a kernel: pure functions, no verbs.
 *
 * Verbs completions show when a whole work request was acknowledged, not a packet, so a flow's RTT comes from probes.
 * R-Pingmesh probes with UD queue pairs, as one of them reaches every peer, and chooses the source port through the
 * flow label of each address handle. Soft-RoCE does not honour that for UD: its source port is a hash of the QP's
 * number. The probe would take another path than its flow. So every flow has a probing RC connection of its own with
 * the flow's label, hence its 5-tuple, path and class. A probe is an RDMA WRITE of no bytes: the peer's device or
 * kernel answers it alone, and no program of the peer is part of the time.
 *
 * Noise: the scheduler delays a probe now and then by hundreds of microseconds. So (1) the base is the median of
 * several probes on the idle path; (2) a sample within the noise seen then is no event; (3) it takes two samples in a
 * row. Against a threshold, an unanswered probe counts as one sample until its age is twice the threshold, then as two.
 */

#define RTT_MAX_PROBES 256 /* on the idle path */
#define RTT_NOISE_PERCENTILE 95

/* One flow's probes. */
struct rtt_filter {
	uint64_t base_ps, noise_ps;    /* of the idle path: median, and its distance to the percentile above */
	uint64_t sent_ns;              /* of the probe in flight; valid if in_flight */
	uint64_t next_ns;              /* earliest time of the next probe */
	uint64_t last_ps, previous_ps; /* samples; 0: none */
	struct rtt_sum confirmed;      /* sum of confirmed samples (two in a row) since its owner reset it */
	bool in_flight;
};

/* Takes the probes of the idle path. @param samples_ps  [count], 1 to RTT_MAX_PROBES; sorted on return */
void rtt_idle(struct rtt_filter *filter, uint64_t *samples_ps, uint32_t count);
/*
 * Bytes in flight with which hosts keep a path busy: twice the bandwidth-delay product of a round trip halfway between
 * the median and the 95th percentile. Twice, as one half is refilled while the other is in flight.
 */
uint64_t rtt_window_bytes(const struct rtt_filter *filter, uint64_t rate_bps);
/* A message starts: earlier samples are of no interest. */
void rtt_forget(struct rtt_filter *filter);
/* The probe in flight is answered. @return the smaller of the last two samples; of the only one, 0 */
uint64_t rtt_sample(struct rtt_filter *filter, uint64_t now_ns);
/* @return the smaller of the last two samples, 0 with fewer than two */
uint64_t rtt_confirmed_ps(const struct rtt_filter *filter);
/* @return the sample that the age of the probe in flight counts as, 0 without one */
uint64_t rtt_age_ps(const struct rtt_filter *filter, uint64_t now_ns);
