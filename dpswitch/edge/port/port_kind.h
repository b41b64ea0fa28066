/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kinds of ports have in common. */
#pragma once

#include "dpswitch/edge/port/port.h"

/* Makes the pool. @return 0 or negative with err set */
int port_init(struct port *port, const struct port_ops *ops, const struct port_config *config, struct err *err);

/* Nothing was received: was it for want of mbufs? Asking for one costs less than counting those that are free. */
void port_starved(struct port *port);
