/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host's program says over its management channel, before anything is made of it. */
#pragma once

#include "common/err.h"
#include "common/wire/manage.h"

/*
 * Checks every field of a message that a host may send, records aside (common/record/check.h), and makes its texts plain and
 * terminated.
 * @param body  of the size of its type's struct, aligned to 8
 * @return 0; -EINVAL with err: the message, the field, its value and what would be right
 */
int manage_check(enum manage_type type, void *body, struct err *err);
