/* SPDX-License-Identifier: BSD-3-Clause */
/* No congestion control: line rate, and the host's window. */
#include "rxe-hosts/roce/cc/cc.h"

const struct cc_ops cc_none = { .name = "none" };
