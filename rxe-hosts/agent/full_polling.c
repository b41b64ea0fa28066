/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full polling (VEDRFOLNIR IV-A): all switches report all their ports once an epoch, unpolled. Hosts trigger nothing;
 * they report the queues of their own NICs as under our own policy.
 */
#include "rxe-hosts/agent/policy.h"

const struct detection_policy policy_full_polling = {
	.every_epoch = true,
	.watches_nic = true,
};
