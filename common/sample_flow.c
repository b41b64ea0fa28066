/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/sample_flow.h"

#include "common/wire/eth.h"
#include "common/wire/roce.h"

bool
sample_is_of_flow(const struct swm_sample *sample)
{
	if (sample->is_rocev2)
		return roce_is_rc_request(sample->opcode);
	return sample->protocol == IPV4_PROTOCOL_TCP || sample->protocol == IPV4_PROTOCOL_UDP;
}
