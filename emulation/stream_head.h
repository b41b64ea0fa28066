/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of the record stream: what is configured, as an operator would tell the analyzer. */
#pragma once

#include "emulation/emulation.h"

/* Sends REC_RUN, REC_NODE, REC_PORT, REC_COLLECTIVE, REC_SCHEDULE, REC_ROUTE and REC_ECMP. Nothing of faults or background flows. */
void stream_head_send(const struct emulation *emulation, struct exporter *exporter);
