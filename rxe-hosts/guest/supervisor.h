/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of one guest: the process between the caller of guest_start() and what runs the guest. */
#pragma once

#include <stdnoreturn.h>

#include "rxe-hosts/guest/guest.h"

/*
 * Runs the guest until it ends, the caller wants it to end, or the caller is gone; then leaves nothing of it behind.
 * Never returns.
 * @param report  SOCK_SEQPACKET connection to the caller: out go struct guest_status, one a message, GUEST_ENDED last; in
 *                comes any byte, or the end, for stop
 */
noreturn void supervisor_run(const struct guest_config *config, int report);
