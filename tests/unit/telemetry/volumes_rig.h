/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leaf that others spray packets to, by spines that each have a link to every leaf; packets that a link loses are
 * sent again. For one test program each.
 */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/units.h"
#include "telemetry/volumes/judge.h"

#define PACKET_BYTES 1100
#define RIG_PORTS 8
#define RIG_SENDERS 4

struct rig {
	struct judge judge;
	struct prng chance;
	bool random;                                  /* each packet by any spine; else by the one that had fewest */
	double loss[RIG_PORTS][RIG_SENDERS];          /* of packets of a sender by a spine, on its own link */
	double local_loss[RIG_PORTS];                 /* on the link to this leaf */
	uint32_t sent[RIG_SENDERS][RIG_PORTS];        /* of an iteration */
	bool is_known_faulty[RIG_PORTS][RIG_SENDERS]; /* routing leaves it out */
	uint8_t number;
	uint64_t now_ps;
};

static inline struct judge_config
rig_config(enum predict_source source)
{
	return (struct judge_config){
		.volumes = { .ports = RIG_PORTS, .senders = RIG_SENDERS, .grace_ps = 10 * PS_PER_US, .idle_ps = PS_PER_MS },
		.predict = { .source = source, .learn = 1 },
		.threshold_ppm = 10000,
		.tolerance_ppm = 10000,
		.scores = { .rate = 1e-4 },
	};
}

/* Senders are known by 100 and on. */
static inline void
rig_init(struct rig *rig, const struct judge_config *config, uint32_t senders, uint64_t seed)
{
	*rig = (struct rig){ 0 };
	prng_init(&rig->chance, seed, 0);
	assert_int_equal(judge_init(&rig->judge, config), 0);
	for (uint32_t s = 0; s < senders; s++)
		assert_int_equal(volumes_sender(&rig->judge.volumes, 100 + s), s);
}

static inline uint32_t
rig_spines(const struct rig *rig, uint16_t sender)
{
	uint32_t spines = 0;

	for (uint32_t i = 0; i < RIG_PORTS; i++)
		spines += !rig->is_known_faulty[i][sender];
	return spines;
}

/* What the routes say. */
static inline void
rig_shares(struct rig *rig)
{
	for (uint16_t s = 0; s < rig->judge.volumes.nsenders; s++)
		for (uint16_t port = 0; port < RIG_PORTS; port++)
			rig->judge.predict.share[volumes_cell(&rig->judge.volumes, port, s)] =
				rig->is_known_faulty[port][s] ? 0 : PREDICT_WHOLE / rig_spines(rig, s);
}

static inline void
rig_declare(struct rig *rig, uint16_t sender, uint64_t packets)
{
	for (uint16_t port = 0; port < RIG_PORTS; port++) {
		uint32_t cell = volumes_cell(&rig->judge.volumes, port, sender);

		rig->judge.predict.bytes[cell] = predict_of_demand(packets * PACKET_BYTES, rig->judge.predict.share[cell]);
	}
}

static inline void
rig_declare_all(struct rig *rig, uint64_t packets)
{
	rig_shares(rig);
	for (uint16_t s = 0; s < rig->judge.volumes.nsenders; s++)
		rig_declare(rig, s, packets);
}

/* @return how many of so many packets go to the second half of the ports, of which each goes to either half by chance */
static inline uint32_t
rig_half(struct rig *rig, uint32_t packets)
{
	uint32_t second = 0;

	for (; packets >= 64; packets -= 64)
		second += (uint32_t)__builtin_popcountll(prng_next(&rig->chance));
	return second + (uint32_t)__builtin_popcountll(prng_next(&rig->chance) & ((UINT64_C(1) << packets) - 1));
}

/* Each packet by any spine; those for a spine that routing leaves out are not sent. */
static inline void
rig_spray_random(struct rig *rig, uint16_t sender, uint32_t packets, uint32_t sprayed[RIG_PORTS])
{
	sprayed[0] = packets;
	for (uint32_t half = RIG_PORTS / 2; half > 0; half /= 2)
		for (uint32_t port = 0; port < RIG_PORTS; port += 2 * half) {
			sprayed[port + half] = rig_half(rig, sprayed[port]);
			sprayed[port] -= sprayed[port + half];
		}
	for (uint32_t port = 0; port < RIG_PORTS; port++)
		if (rig->is_known_faulty[port][sender])
			sprayed[port] = 0;
}

/* Each packet by a spine that had fewest: all have as many, but for those, by chance, that have one more. */
static inline void
rig_spray_adaptive(struct rig *rig, uint16_t sender, uint32_t packets, uint32_t sprayed[RIG_PORTS])
{
	uint32_t each = packets / rig_spines(rig, sender), more = packets % rig_spines(rig, sender);

	for (uint32_t port = 0; port < RIG_PORTS; port++)
		sprayed[port] = rig->is_known_faulty[port][sender] ? 0 : each;
	while (more > 0) {
		uint16_t port = (uint16_t)prng_below(&rig->chance, RIG_PORTS);

		if (rig->is_known_faulty[port][sender])
			continue;
		for (uint16_t i = 0; i < RIG_PORTS; i++)
			if (!rig->is_known_faulty[i][sender] &&
			    rig->sent[sender][i] + sprayed[i] < rig->sent[sender][port] + sprayed[port])
				port = i;
		sprayed[port]++;
		more--;
	}
}

/* @return how many of so many packets are lost, by the distance from one that is lost to the next */
static inline uint32_t
rig_lost(struct rig *rig, uint32_t packets, double loss)
{
	double at = 0, scale = 1 / log1p(-loss);
	uint32_t lost = 0;

	if (loss <= 0 || loss >= 1)
		return loss <= 0 ? 0 : packets;
	while ((at += 1 + floor(log(1 - prng_unit(&rig->chance)) * scale)) <= packets)
		lost++;
	return lost;
}

/* Packets of an iteration arrive at once: the first of a port as in a switch, the others are added to its count. */
static inline void
rig_arrive(struct rig *rig, uint16_t port, uint16_t sender, uint32_t packets)
{
	struct volumes *v = &rig->judge.volumes;
	struct volume_count *count;

	if (packets == 0)
		return;
	volumes_add(v, port, sender, rig->number, PACKET_BYTES, rig->now_ps);
	count = &v->slots[v->current].counts[volumes_cell(v, port, sender)];
	count->packets += packets - 1;
	count->bytes += (uint64_t)(packets - 1) * PACKET_BYTES;
}

static inline void
rig_send(struct rig *rig, uint16_t sender, uint32_t packets)
{
	uint32_t arrived[RIG_PORTS] = { 0 }, left = packets;

	while (left > 0) {
		uint32_t sprayed[RIG_PORTS];

		if (rig->random)
			rig_spray_random(rig, sender, left, sprayed);
		else
			rig_spray_adaptive(rig, sender, left, sprayed);
		for (uint32_t port = 0; port < RIG_PORTS; port++) {
			double kept = (1 - rig->loss[port][sender]) * (1 - rig->local_loss[port]);
			uint32_t lost = rig_lost(rig, sprayed[port], 1 - kept);

			rig->sent[sender][port] += sprayed[port];
			arrived[port] += sprayed[port] - lost;
			left -= sprayed[port] - lost;
		}
	}
	for (uint16_t port = 0; port < RIG_PORTS; port++)
		rig_arrive(rig, port, sender, arrived[port]);
}

/* An iteration of so many packets of every sender, with what is said of it. */
static inline enum judge_outcome
rig_iterate(struct rig *rig, uint32_t packets)
{
	struct volumes *v = &rig->judge.volumes;
	enum judge_outcome outcome;
	struct volumes_slot *slot;

	memset(rig->sent, 0, sizeof(rig->sent));
	for (uint16_t s = 0; s < v->nsenders; s++)
		rig_send(rig, s, packets);
	volumes_window(v, rig->now_ps += PS_PER_US);
	slot = volumes_last(v);
	assert_non_null(slot);
	outcome = judge_iteration(&rig->judge, slot);
	volumes_release(v, slot);
	rig->number = (uint8_t)(rig->number + 1) % VOLUMES_NUMBERS;
	rig->now_ps += PS_PER_MS;
	return outcome;
}
