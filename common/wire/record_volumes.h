/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of FlowPulse's monitors: volumes of a measured collective by ingress port from the tier above, by sender (the
 * switch behind which it is) and by iteration, and the missing bytes. Sent unsolicited; volumes with an alarm of their
 * iteration, or always.
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"
#include "common/wire/volume.h"

#define REC_PPM 1000000u /* the whole */

/* Header record: what all monitors were configured to. */
struct rec_monitor {
	struct rec_hdr hdr;
	uint32_t prediction, detector;
	uint32_t threshold_ppm; /* of the prediction; of detector threshold */
	uint32_t tolerance_ppm; /* of a sender's volume */
	uint32_t learn;         /* iterations that are learned from */
	uint32_t counts;        /* 1: volumes of all iterations are reported */
	uint32_t ports_alone;   /* 1: whole ports are compared; 0: senders at ports, too */
	/* false alarms that a sender may raise at a switch in an iteration, in 1e-9; of the other detectors */
	uint32_t rate_ppb;
	uint32_t runs, iterations; /* of prediction simulated: runs made before, and iterations of each; 0: a file's */
	uint64_t virtual_ps;       /* that these runs took together, in their own time */
	/* 1: packets are sprayed, and a host sends again what arrives out of order, lost or not (go-back-N) */
	uint32_t in_order;
	uint32_t reserved;
};

#define REC_MONITOR_FIELDS(F, T)                                                                                           \
	F(T, 24, prediction, ENUM(REC_PREDICTIONS))                                                                        \
	F(T, 28, detector, ENUM(REC_DETECTORS))                                                                            \
	F(T, 32, threshold_ppm, RANGE(0, REC_PPM))                                                                         \
	F(T, 36, tolerance_ppm, RANGE(0, REC_PPM))                                                                         \
	F(T, 40, learn, ANY)                                                                                               \
	F(T, 44, counts, FLAG)                                                                                             \
	F(T, 48, ports_alone, FLAG)                                                                                        \
	F(T, 52, rate_ppb, RANGE(0, 1000000000))                                                                           \
	F(T, 56, runs, ANY)                                                                                                \
	F(T, 60, iterations, ANY)                                                                                          \
	F(T, 64, virtual_ps, TIME)                                                                                         \
	F(T, 72, in_order, FLAG)                                                                                           \
	F(T, 76, reserved, ZERO)
#define REC_MONITOR_KEY(K, T)

REC_MONITOR_FIELDS(WIRE_AT, rec_monitor)
WIRE_SIZE(rec_monitor, 80)

/* Bytes that arrived in one iteration from one sender by one port. */
struct rec_volume {
	struct rec_hdr hdr;
	uint16_t port;
	uint16_t flaws; /* bit f: enum rec_flaw, of the iteration or of the sender in it: not compared */
	/* the switch behind which it is; in networks of three tiers, for one of the second: any of its pod */
	uint32_t sender;
	uint32_t iteration;
	uint32_t learned;         /* 1: nothing was predicted yet, it was learned from */
	uint64_t predicted, seen; /* bytes on the wire */
	uint64_t packets;         /* seen */
};

#define REC_VOLUME_FIELDS(F, T)                                                                                            \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 26, flaws, RANGE(0, (1 << ENUM_COUNT(REC_VOLUME_FLAWS)) - 1))                                                 \
	F(T, 28, sender, SWITCH)                                                                                           \
	F(T, 32, iteration, ANY)                                                                                           \
	F(T, 36, learned, FLAG)                                                                                            \
	F(T, 40, predicted, COUNT)                                                                                         \
	F(T, 48, seen, COUNT)                                                                                              \
	F(T, 56, packets, COUNT)
#define REC_VOLUME_KEY(K, T)

REC_VOLUME_FIELDS(WIRE_AT, rec_volume)
WIRE_SIZE(rec_volume, 64)

/* A port saw less of an iteration than predicted, and this link may have lost it: one record a link. */
struct rec_volume_alarm {
	struct rec_hdr hdr;
	uint16_t port;
	uint16_t place;  /* enum rec_loss_place */
	uint32_t sender; /* of place remote and pair; REC_NONE: local */
	uint32_t iteration;
	uint32_t pooled;            /* found in this number of the latest iterations together, this one included */
	uint64_t predicted, seen;   /* bytes of the whole port, of senders that could be compared */
	uint64_t expected, got;     /* bytes of the senders concerned, expected by what the other ports saw of them */
	uint64_t packets;           /* got */
	uint32_t drop_ppm;          /* share of packets that the link lost, */
	uint32_t low_ppm, high_ppm; /* and its interval at 95 % */
	uint32_t dispersion_ppm;    /* variance over mean of counts, as the other ports have it */
	uint32_t noise;             /* enum rec_noise, of the senders concerned: the least known */
	uint32_t reserved;
	uint64_t reference_packets; /* counted at the other ports, from which `expected` is derived */
};

#define REC_VOLUME_ALARM_FIELDS(F, T)                                                                                      \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 26, place, ENUM(REC_LOSS_PLACES))                                                                             \
	F(T, 28, sender, SWITCH_OR_NONE)                                                                                   \
	F(T, 32, iteration, ANY)                                                                                           \
	F(T, 36, pooled, RANGE(1, UINT32_MAX))                                                                             \
	F(T, 40, predicted, COUNT)                                                                                         \
	F(T, 48, seen, COUNT)                                                                                              \
	F(T, 56, expected, COUNT)                                                                                          \
	F(T, 64, got, COUNT)                                                                                               \
	F(T, 72, packets, COUNT)                                                                                           \
	F(T, 80, drop_ppm, RANGE(0, REC_PPM))                                                                              \
	F(T, 84, low_ppm, RANGE(0, REC_PPM))                                                                               \
	F(T, 88, high_ppm, RANGE(0, REC_PPM))                                                                              \
	F(T, 92, dispersion_ppm, ANY)                                                                                      \
	F(T, 96, noise, ENUM(REC_NOISES))                                                                                  \
	F(T, 100, reserved, ZERO)                                                                                          \
	F(T, 104, reference_packets, COUNT)
#define REC_VOLUME_ALARM_KEY(K, T)

REC_VOLUME_ALARM_FIELDS(WIRE_AT, rec_volume_alarm)
WIRE_SIZE(rec_volume_alarm, 112)

/*
 * An iteration, or one sender's share of it, that was not compared. REC_FLAW_SHARED: it was; but the data that this
 * switch sent up meanwhile had others' data in its class, so that other switches cannot trust its spread.
 */
struct rec_volume_flaw {
	struct rec_hdr hdr;
	uint32_t sender;    /* REC_NONE: all of it */
	uint32_t iteration; /* of REC_FLAW_SHARED REC_NONE: no iteration was ever counted here */
	uint32_t flaw;      /* enum rec_flaw */
	uint32_t reserved;
	uint64_t predicted, seen; /* bytes of the sender, by all ports; of REC_FLAW_SHARED: sent up, measured and others' */
};

#define REC_VOLUME_FLAW_FIELDS(F, T)                                                                                       \
	F(T, 24, sender, SWITCH_OR_NONE)                                                                                   \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, flaw, ENUM(REC_VOLUME_FLAWS))                                                                             \
	F(T, 36, reserved, ZERO)                                                                                           \
	F(T, 40, predicted, COUNT)                                                                                         \
	F(T, 48, seen, COUNT)
#define REC_VOLUME_FLAW_KEY(K, T)

REC_VOLUME_FLAW_FIELDS(WIRE_AT, rec_volume_flaw)
WIRE_SIZE(rec_volume_flaw, 56)

/* Summary of a monitor for the whole run: sent at its end. */
struct rec_monitored {
	struct rec_hdr hdr;
	uint32_t ports, senders;                       /* monitored; learned, or declared */
	uint32_t compared, learned, relearned, flawed; /* iterations */
	uint32_t alarms;                               /* iterations that had one */
	uint32_t bytes;                                /* of its memory */
	uint64_t late_packets;                         /* of iterations that were over */
	uint64_t lost_packets;                         /* of senders that there was no room for */
};

#define REC_MONITORED_FIELDS(F, T)                                                                                         \
	F(T, 24, ports, ANY)                                                                                               \
	F(T, 28, senders, ANY)                                                                                             \
	F(T, 32, compared, ANY)                                                                                            \
	F(T, 36, learned, ANY)                                                                                             \
	F(T, 40, relearned, ANY)                                                                                           \
	F(T, 44, flawed, ANY)                                                                                              \
	F(T, 48, alarms, ANY)                                                                                              \
	F(T, 52, bytes, ANY)                                                                                               \
	F(T, 56, late_packets, COUNT)                                                                                      \
	F(T, 64, lost_packets, COUNT)
#define REC_MONITORED_KEY(K, T) K(T, hdr.node)

REC_MONITORED_FIELDS(WIRE_AT, rec_monitored)
WIRE_SIZE(rec_monitored, 72)
