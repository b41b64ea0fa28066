/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the cases of an evaluation and runs them, several side by side, each on a CPU of its own while there are enough:
 * first without anything that detection sends, for the truth; a case that is wrong by construction is replaced; then once
 * a policy. The run for the truth is that of the policy that sends nothing, if it is among them: its diagnosis follows.
 */
#pragma once

#include "eval/eval.h"

/*
 * Does the runs that are not in the store yet. Shows progress on stderr if that is a terminal. Broken runs are
 * reported there too, and not stored.
 * @return how many broke, 0 if all is done; -EINTR: interrupted, the store has the finished runs; other negative
 *         errno with err set
 */
int runner_run(const struct eval *eval, struct err *err);
