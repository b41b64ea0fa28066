/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows as a collector of sampled packets knows them (common/wire/switch_manage.h). */
#pragma once

#include <stdbool.h>

#include "common/wire/switch_manage.h"

/*
 * Does a packet show a flow that its sender sends? Those of TCP and UDP do; of RoCEv2 the requests of a reliable
 * connection do, and neither its answers, which go by the other host's flow, nor datagrams, as probes are.
 */
bool sample_is_of_flow(const struct swm_sample *sample);
