/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predictions and tests of FlowPulse's monitors in switches, and their findings: in records (record_volumes.h) and
 * scenarios.
 */
#pragma once

#include "common/wire/layout.h"

/* Source of a prediction. Value, name, meaning. */
#define REC_PREDICTIONS(ROW)                                                                                               \
	ROW(REC_PREDICTION_ANALYTICAL, 0, "analytical",                                                                    \
	    "declared demand over spines that connect both leaves: d / (s - f)")                                           \
	ROW(REC_PREDICTION_MEASURED, 1, "measured", "the same, with the demand measured in the first iterations")          \
	ROW(REC_PREDICTION_LEARNED, 2, "learned", "the volumes of the first iterations, learned again when a fault heals") \
	ROW(REC_PREDICTION_SIMULATED, 3, "simulated",                                                                      \
	    "the volumes of simulations that this program makes in advance, from the known state "                         \
	    "before the run; or a file's")

enum rec_prediction { REC_PREDICTIONS(ENUM_VALUE) };

/* Test that detects fewer bytes than predicted. Value, name, meaning. */
#define REC_DETECTORS(ROW)                                                                                                 \
	ROW(REC_DETECTOR_THRESHOLD, 0, "threshold", "more than a share of the predicted volume is missing (5.3)")          \
	ROW(REC_DETECTOR_NOISE, 1, "noise",                                                                                \
	    "more is missing than the leaf's noise explains at a stated rate of false alarms")                             \
	ROW(REC_DETECTOR_POOLED, 2, "pooled", "the same over all iterations so far, by cumulative sums")

enum rec_detector { REC_DETECTORS(ENUM_VALUE) };

/* Which link lost packets. Value, name. */
#define REC_LOSS_PLACES(ROW)                                                                                               \
	ROW(REC_LOSS_LOCAL, 0, "local")   /* the link that ends at the port */                                             \
	ROW(REC_LOSS_REMOTE, 1, "remote") /* from the sender's switch to the port's peer */                                \
	ROW(REC_LOSS_PAIR, 2, "pair")     /* one of the two */

enum rec_loss_place { REC_LOSS_PLACES(ENUM_VALUE) };

/* How well the noise of spraying is known at a port. Value, name, meaning. */
#define REC_NOISES(ROW)                                                                                                    \
	ROW(REC_NOISE_UNKNOWN, 0, "unknown") /* too few ports to learn it from */                                          \
	ROW(REC_NOISE_LEARNED, 1, "learned") /* from the other ports */                                                    \
	ROW(REC_NOISE_RANDOM, 2, "random")   /* packets choose by themselves: binomial */

enum rec_noise { REC_NOISES(ENUM_VALUE) };

/* Why volumes were not compared with a prediction: an assumption did not hold. Value, name, in a sentence. */
#define REC_VOLUME_FLAWS(ROW)                                                                                              \
	ROW(REC_FLAW_TAGS, 0, "tags",                                                                                      \
	    "tags of several iterations arrived at a time: is more than one collective measured?")                         \
	ROW(REC_FLAW_SENDERS, 1, "senders", "more leaves sent than the monitor has room for (flowpulse.senders)")          \
	ROW(REC_FLAW_ROUTES, 2, "routes", "routes changed meanwhile")                                                      \
	ROW(REC_FLAW_OVERLAP, 3, "overlap", "iterations followed each other too fast to be counted apart")                 \
	ROW(REC_FLAW_UNKNOWN, 4, "unknown", "nothing was predicted of the sender")                                         \
	ROW(REC_FLAW_DEMAND, 5, "demand", "all ports together received another volume of the sender than predicted")       \
	ROW(REC_FLAW_UNEVEN, 6, "uneven", "packets of a sender were spread too unevenly to detect a fault")                \
	ROW(REC_FLAW_FEW, 7, "few", "a sender arrives by too few ports to compare one with the others")                    \
	ROW(REC_FLAW_SHARED, 8, "shared",                                                                                  \
	    "other data of the measured class leaves the switch by the same ports, and spraying evens out the sum")

enum rec_flaw { REC_VOLUME_FLAWS(ENUM_VALUE) };
