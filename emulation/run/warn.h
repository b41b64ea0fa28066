/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user should know of a run, on stderr: what it lacks, and what he may not have meant. */
#pragma once

#include "emulation/emulation.h"
#include "emulation/kernel_host/attach.h"
#include "emulation/run/run.h"

/* Packets that take ways of their own overtake each other; not every receiver takes them. */
void warn_order(const struct scenario *sc);
/* Volumes are predicted of data that goes first; adaptive choices even out the sum of all flows of a class (FlowPulse 5.1). */
void warn_of_shared_class(const struct scenario *sc);
/* Real time that the machine did not keep up with. */
void warn_late(const struct emulation *emulation);
void warn_of_capture(const struct run_options *options, const struct capturing *capturing);
/* What the outputs lack. @return whether those that are kept are whole */
bool warn_of_stream(const struct run_options *options, const struct exporter *exporter);
/* Nobody finds in the verdict what did not happen. */
void warn_of_idle_faults(const struct emulation *emulation);
/* Hosts that reported what cannot be: the verdict lacks it. @param attach  NULL: there are none with their own kernel */
void warn_of_refusals(const struct attach *attach);
