/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of systems that are to be shown side by side, one after the other. */
#pragma once

#include "cli/systems/plan.h"
#include "common/child.h"

/*
 * Runs them; one that did not end well says why, and others follow it. After an interrupt none is begun any more.
 * @param pass      what dpswitch gets in every run
 * @param base_too  and in the base run alone
 * @return EXIT_DONE; EXIT_FAILED: one of them did not end well; EXIT_UNFINISHED: the base run ended before its work did;
 *         EXIT_INTERRUPTED; EXIT_USAGE or EXIT_NOT_BEGUN: the base run did not begin, with err set where nothing was printed
 */
int systems_run(struct systems_plan *plan, const struct child_args *pass, const struct child_args *base_too,
		struct err *err);
