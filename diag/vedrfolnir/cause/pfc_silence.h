/* SPDX-License-Identifier: BSD-3-Clause */
/* What it means that a switch tells of no queue and no pause. */
#pragma once

#include <stdbool.h>

#include "diag/collect/evidence.h"
#include "diag/vedrfolnir/provenance/provenance.h"

/*
 * Would the switch at the other end of a halted port's link have told of a queue or a pause that it had to halt the port
 * for? It was asked, its answers tell of all the time that the port was halted (but for CAUSE_MIN_SHARE), and nothing of the
 * step's time was lost; none of its other ports had a queue or was halted then, by their rows or at a report; and the ingress
 * itself was not seen pausing with so much held that it had to.
 * @param fill  of the XOFF threshold: that it has to
 */
bool pfc_silence_means(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *paused,
		       double fill);
