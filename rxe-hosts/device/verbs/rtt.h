/* SPDX-License-Identifier: BSD-3-Clause */
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
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/send_times.h"

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
