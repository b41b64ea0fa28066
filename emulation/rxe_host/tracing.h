/* SPDX-License-Identifier: BSD-3-Clause */
/* Service tracing on this host: its agent of R-Pingmesh hears of connections from the kernel, or, where that does not tell, from its ranks. */
#pragma once

#include "emulation/rxe_host/session_state.h"

/* Where there is an agent that wants to know; says which of both it is. */
void tracing_start(struct session *session);
/* While it runs. @return when it wants to be called next; UINT64_MAX: never */
uint64_t tracing_run(struct session *session, uint64_t now_ns);
