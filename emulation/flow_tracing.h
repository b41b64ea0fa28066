/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer in a run (Algorithm 1): processes and threads of an operator's tracer ask hosts for their flows and switches for the
 * egress of each, hop by hop. Every question costs round trips of the management network in the clock of the run; what is asked
 * is answered by hosts and switches as they are when the question is with them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct emulation;
struct flow_tracing;

/* Sets emulation->tracing, NULL where it is off. @return 0; -ENOMEM with err */
int flow_tracing_create(struct emulation *emulation, struct err *err);
void flow_tracing_destroy(struct flow_tracing *tracing); /* also of NULL */

/* When the next reply is due, or the next round; TIME_NEVER: none. Of NULL: the same. */
uint64_t flow_tracing_next_ps(const struct flow_tracing *tracing);
/* Between windows: replies that are due, and what is asked next. */
void flow_tracing_run(struct emulation *emulation, uint64_t now_ps);
/* The first round is not over: the run waits for it, whatever else is done. */
bool flow_tracing_busy(const struct flow_tracing *tracing);
/* The run is over: what is under way stays without a reply. */
void flow_tracing_end(struct emulation *emulation, uint64_t now_ps);
