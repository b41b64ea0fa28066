/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of a message went, as its sender's transport knows. */
#pragma once

#include "common/rtt_sum.h"

/* All zero: nothing was measured. */
struct send_times {
	struct rtt_sum rtt; /* of its packets */
	uint64_t paced_ps;  /* that the congestion control's rate kept its packets apart, beyond what the line does */
	uint64_t
		stalled_ps; /* without an ACK, until a retransmission timeout; and told to wait, as the receiver was not ready */
	uint64_t waited_ps; /* least time after which a packet was taken for lost, by time alone; 0: none was */
};
