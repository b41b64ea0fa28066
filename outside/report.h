/* SPDX-License-Identifier: BSD-3-Clause */
/* outside.json: what came of a run's outside programs, for the analyzer. */
#pragma once

#include "outside/account.h"

struct outside_report {
	struct outside_account *programs; /* [count] */
	uint32_t count;
};

/* @param accounts  [count]. @return 0, or negative errno with err set: nothing, or the older file, is there */
int outside_report_write(const struct outside_account *const *accounts, uint32_t count, const char *path, struct err *err);

/*
 * Every field is checked anew: a file may be anybody's.
 * @param report  zeroed; outside_report_fini() in any case
 * @return 0, also where there is no such file: then there is no program; -EINVAL, -ENOMEM or another negative errno with err set
 */
int outside_report_read(const char *path, struct outside_report *report, struct err *err);
void outside_report_fini(struct outside_report *report);
