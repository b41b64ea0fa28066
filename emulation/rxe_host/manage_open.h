/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "common/err.h"

/*
 * Opens a management channel.
 * @param where  a serial line's device, the path of a unix socket, HOST:PORT of a TCP listener, or "fd:N": a descriptor that
 *               this process was started with
 * @return descriptor, or negative errno with err set
 */
int manage_open(const char *where, struct err *err);
