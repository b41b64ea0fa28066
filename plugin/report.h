/* SPDX-License-Identifier: BSD-3-Clause */
/* plugins.json: the results of a run's plugin diagnosers, for the analyzer. */
#pragma once

#include "plugin/account.h"

struct plugin_report {
	struct plugin_account *programs; /* [count] */
	uint32_t count;
};

/* @param accounts  [count]. @return 0, or negative errno with err set: nothing, or the older file, is there */
int plugin_report_write(const struct plugin_account *const *accounts, uint32_t count, const char *path, struct err *err);

/*
 * Every field is checked anew: a file is untrusted.
 * @param report  zeroed; plugin_report_fini() in any case
 * @return 0, also where there is no such file: then there is no program; -EINVAL, -ENOMEM or another negative errno
 *         with err set
 */
int plugin_report_read(const char *path, struct plugin_report *report, struct err *err);
void plugin_report_fini(struct plugin_report *report);
