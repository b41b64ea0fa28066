/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer in a run (Algorithm 1): processes and threads of an operator's tracer ask hosts for their flows and switches for the
 * egress of each, hop by hop. Every question costs round trips of the management network in the clock of the run; what is asked
 * is answered by hosts and switches as they are when the question is with them.
 */
#pragma once

#include "emulation/service.h"

extern const struct run_service service_flowtracer;
