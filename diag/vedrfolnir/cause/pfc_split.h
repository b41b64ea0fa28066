/* SPDX-License-Identifier: BSD-3-Clause */
/* A port may be halted without a reason for a part of the time, and for another by the queues behind its peer. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/*
 * Of the pauses of a halted port, the part in epochs in which its peer had no reason for them: it was seen pausing with too
 * little held, or none of the queues that it feeds was deep or halted itself. Epochs in which none of these told anything say
 * nothing either way.
 * @param port  of the graph; its peer is known to pause without a reason at some time of the step
 * @param fill  of the XOFF threshold: less is too little
 * @return 0 to 1; 1 where no epoch tells the two apart
 */
double pfc_split_storm(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *port,
		       double fill);
