/* SPDX-License-Identifier: BSD-3-Clause */
/* The control plane of a switch's monitor: what its routes make of demand (5.2). Between windows, or when a sender is new. */
#pragma once

#include "dpswitch/pipeline/volumes.h"

/*
 * Predicts what was declared or told, by the routes as they are, and shares of all senders known.
 * @param at  the switch  @return false: there is no room for all senders
 */
bool volumes_predict(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at);
/* Sets by which ports a sender's bytes come, as parts of all that come here. */
void volumes_share(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at, uint16_t sender);
