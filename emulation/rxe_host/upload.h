/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host tells the fabric while it runs, and in the end. */
#pragma once

#include "emulation/rxe_host/session_state.h"

/* While it runs: records and progress, in batches. @return 0 or negative errno with err set */
int upload_progress(struct session *session, uint64_t now_ns, struct err *err);
/* The end: open steps, STEP, ITERATION, RESULT; returns when the fabric has them. @return as above */
int upload_results(struct session *session, struct err *err);
