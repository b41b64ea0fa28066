/* SPDX-License-Identifier: BSD-3-Clause */
/* Never detects. */
#include "rxe-hosts/agent/policy.h"

const struct detection_policy policy_off = { 0 };
