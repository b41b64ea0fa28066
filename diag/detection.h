/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time to detection: the earliest moment at which a finding could have been reported. All that crossed the socket up to
 * a moment, by its order there and the send times of frames, is a stream of its own that broke off there. A finding is
 * detected at the earliest moment at which the diagnosis of that stream has one of its type and place, as the whole
 * has. Bisection looks at moments until each is known to a fiftieth of the time since anything crossed. It is limited
 * in moments and in stream volume. Where these limits do not suffice, or a finding does not last, the moment is the
 * earliest of those that were looked at.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/verdict.h"

/* At most this number of diagnoses of a stream prefix, each of which takes time in proportion to its prefix; */
#define DETECTION_PREFIXES 48
/* and at most this multiple of the whole stream in sum, but for the last of them. */
#define DETECTION_TIMES 16

/*
 * Fills in when each finding of a verdict was detected: detected_ps, and undetected_ps, the latest moment before it
 * that was looked at and did not have it. A finding that needs the end of the run has the end's time. A finding whose
 * diagnoser set its own time keeps that; where all do, nothing is diagnosed again.
 * @param stream   [size_bytes] the whole stream of the verdict
 * @param asked    [nasked] as verdict_build() had them
 * @param verdict  prefixes is set to the number of diagnosed ones, 1 at least
 * @return 0; -ENOMEM with err
 */
int detection_times(const void *stream, size_t size_bytes, const struct diagnosis *asked, uint32_t nasked,
		    struct verdict *verdict, struct err *err);
