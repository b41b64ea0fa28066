/* SPDX-License-Identifier: BSD-3-Clause */
/* What FlowPulse's monitors in switches go by, and what they find: in records (record_volumes.h) and scenarios. */
#pragma once

#include "common/wire/enum.h"

/* Where a prediction comes from. Value, name, meaning. */
#define REC_PREDICTIONS(ROW)                                                                                               \
	ROW(REC_PREDICTION_ANALYTICAL, 0, "analytical",                                                                    \
	    "declared demand over spines that connect both leaves: d / (s - f)")                                           \
	ROW(REC_PREDICTION_MEASURED, 1, "measured", "the same of the demand that the first iterations had")                \
	ROW(REC_PREDICTION_LEARNED, 2, "learned", "volumes of the first iterations themselves, again when a fault heals")  \
	ROW(REC_PREDICTION_SIMULATED, 3, "simulated",                                                                      \
	    "volumes of runs made before by this program, of what is known before the run; or of a file")

enum rec_prediction { REC_PREDICTIONS(ENUM_VALUE) };

/* Which test tells that less is seen than predicted. Value, name, meaning. */
#define REC_DETECTORS(ROW)                                                                                                 \
	ROW(REC_DETECTOR_THRESHOLD, 0, "threshold", "more than a share of what was predicted is missing (5.3)")            \
	ROW(REC_DETECTOR_NOISE, 1, "noise", "more is missing than the leaf's own noise makes at a stated rate")            \
	ROW(REC_DETECTOR_POOLED, 2, "pooled", "the same of all iterations so far: cumulative sums")

enum rec_detector { REC_DETECTORS(ENUM_VALUE) };

/* Which link lost packets. Value, name. */
#define REC_LOSS_PLACES(ROW)                                                                                               \
	ROW(REC_LOSS_LOCAL, 0, "local")   /* the link that ends at the port */                                             \
	ROW(REC_LOSS_REMOTE, 1, "remote") /* from the sender's switch to the port's peer */                                \
	ROW(REC_LOSS_PAIR, 2, "pair")     /* one of the two */

enum rec_loss_place { REC_LOSS_PLACES(ENUM_VALUE) };

/* Why volumes were not compared with a prediction: an assumption did not hold. Value, name, in a sentence. */
#define REC_VOLUME_FLAWS(ROW)                                                                                              \
	ROW(REC_FLAW_TAGS, 0, "tags", "tags of several iterations came at a time: is more than one collective measured?")  \
	ROW(REC_FLAW_SENDERS, 1, "senders", "more leaves sent than the monitor has room for (flowpulse.senders)")          \
	ROW(REC_FLAW_ROUTES, 2, "routes", "routes changed meanwhile")                                                      \
	ROW(REC_FLAW_OVERLAP, 3, "overlap", "iterations followed each other faster than they could be told apart")         \
	ROW(REC_FLAW_UNKNOWN, 4, "unknown", "nothing was predicted of the sender")                                         \
	ROW(REC_FLAW_DEMAND, 5, "demand", "all ports together saw another volume of the sender than was to come")          \
	ROW(REC_FLAW_UNEVEN, 6, "uneven",                                                                                  \
	    "its packets were spread so unevenly that a fault cannot be told: does its leaf send to others at a time?")    \
	ROW(REC_FLAW_FEW, 7, "few", "it comes by too few ports to tell what is missing at one by the others")

enum rec_flaw { REC_VOLUME_FLAWS(ENUM_VALUE) };
