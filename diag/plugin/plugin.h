/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plugin programs as diagnosers. The report of each, from the run or from the recording, is in plugins.json
 * (plugin/account.h). Here its names are looked up in the run, and its findings join those of others.
 */
#pragma once

#include "diag/verdict.h"
#include "plugin/account.h"

/*
 * A row for each program.
 * @param reporters  how its section is reported
 * @param rows       [report->count] set; they borrow of the report
 * @param asked      [report->count] set
 */
void plugin_rows(const struct plugin_report *report, const struct diagnoser_writers *reporters, struct diagnoser *rows,
		 struct diagnosis *asked);

/* @return the number of those left out, by the run or for names in their findings */
uint32_t plugin_left_out(const struct verdict *verdict);
/*
 * Reports on stderr which of them are left out for names in their findings.
 * @param recorded  those that the run had left out, too
 */
void plugin_print(const struct verdict *verdict, bool recorded);

/* A plugin's report on a run. */

struct plugin {
	const struct plugin_account *account; /* borrowed: the options it ran with */
	uint32_t nfindings;                   /* of the account's, the first, that are taken */
	char why[PLUGIN_WHY];                 /* why it was left out, then or now; "": it was not */
	uint64_t left_ps;
	struct plugin_words *words; /* [nfindings] the texts of its findings */
};
