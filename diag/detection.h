/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time to detection: when a finding could first have been said. What crossed the socket up to a moment, by its order there
 * and the times that frames have of their sending, is a stream of its own that broke off there. A finding is detected at the
 * earliest moment of which that stream, diagnosed, has one of its type and place, as the whole has. Moments are looked at by
 * bisection, until each is known to a fiftieth of the time since anything crossed; so many of them, and so much of the stream,
 * at most. Where that does not suffice, or a finding comes and goes, the moment is the earliest of
 * those that were looked at.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/verdict.h"

/* Diagnoses of parts of the stream, at most: each takes as long as the part is of the whole; */
#define DETECTION_PREFIXES 48
/* and of so many times the whole stream, but for the last of them. */
#define DETECTION_TIMES 16

/*
 * Fills in when each finding of a verdict was detected: detected_ps, and undetected_ps, the latest moment before it that was
 * looked at and had it not. A finding that the end of the run alone brings has the end's time; one whose diagnoser says
 * when it says it keeps that, and where all do nothing is diagnosed again.
 * @param stream   [size_bytes] the whole, that the verdict was drawn from
 * @param asked    [nasked] as verdict_build() had them
 * @param verdict  prefixes is set to how many were diagnosed, 1 at least
 * @return 0; -ENOMEM with err
 */
int detection_times(const void *stream, size_t size_bytes, const struct diagnosis *asked, uint32_t nasked,
		    struct verdict *verdict, struct err *err);
