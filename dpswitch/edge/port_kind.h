/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kinds of ports have in common. */
#pragma once

#include "dpswitch/edge/port.h"

/* Makes the pool. @return 0 or negative with err set */
int port_init(struct port *port, const struct port_ops *ops, const struct port_config *config, struct err *err);
