/* SPDX-License-Identifier: BSD-3-Clause */
/* Embedded hosts in a run: device, telemetry of their NICs, and a step engine each, all in the fabric's own time. */
#pragma once

#include "emulation/hosts.h"
#include "rxe-hosts/device/embedded/embedded.h"

/*
 * struct message_source.describe, of the embedded hosts.
 * @param ctx  the emulation
 * @return true: a packet without a stored message is described from its descriptor
 */
bool embedded_hosts_describe(void *ctx, const struct pkt *p, struct pkt_message *message);

/* The counters of the transports of all embedded hosts. */
void embedded_hosts_sum(const struct emulation *emulation, struct embedded_counters *sum);
