/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full polling (VEDRFOLNIR IV-A): all switches tell of all their ports once an epoch, unasked. Hosts trigger nothing;
 * what stands in their own NICs they report as with our own policy.
 */
#include "rxe-hosts/agent/policy.h"

const struct detection_policy policy_full_polling = {
	.every_epoch = true,
	.watches_nic = true,
};
