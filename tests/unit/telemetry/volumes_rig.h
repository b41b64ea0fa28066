/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leaf that others spray packets to, by spines that each have a link to every leaf; packets that a link loses are
 * sent again. For one test program each.
 */
#pragma once

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

static inline uint16_t
rig_choose(struct rig *rig, uint16_t sender)
{
	uint16_t port;

	do
		port = (uint16_t)(prng_next(&rig->chance) % RIG_PORTS);
	while (rig->is_known_faulty[port][sender]);
	if (!rig->random) {
		uint32_t least = rig->sent[sender][port];

		for (uint16_t i = 0; i < RIG_PORTS; i++)
			if (rig->sent[sender][i] < least && !rig->is_known_faulty[i][sender])
				least = rig->sent[sender][port = i];
	}
	rig->sent[sender][port]++;
	return port;
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
	uint32_t arrived[RIG_PORTS] = { 0 };

	for (uint32_t i = 0; i < packets;) {
		uint16_t port = rig_choose(rig, sender);

		if (prng_unit(&rig->chance) < rig->loss[port][sender] || prng_unit(&rig->chance) < rig->local_loss[port])
			continue;
		arrived[port]++;
		i++;
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
