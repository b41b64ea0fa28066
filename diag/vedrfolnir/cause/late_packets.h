/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A precondition of signatures that rest on packets sent again: a sender that goes by time alone takes a packet for lost that
 * is only late.
 */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/*
 * May all that a step sent again only have been late? Its sender waited for no longer than round trips took then, as far as is
 * known: of an idle path, on average in steps at the same time, as sampled at detections, and with the queues and pauses that
 * ports of its way reported. Or it ended sooner than the ACK of a packet sent again can have arrived.
 */
bool packets_may_be_late(const struct cause_input *in, uint32_t step);
