/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin's report on a run. */
#pragma once

#include "diag/verdict.h"
#include "plugin/account.h"

struct plugin {
	const struct plugin_account *account; /* borrowed: the options it ran with */
	uint32_t nfindings;                   /* of the account's, the first, that are taken */
	char why[PLUGIN_WHY];                 /* why it was left out, then or now; "": it was not */
	uint64_t left_ps;
	struct plugin_words *words; /* [nfindings] the texts of its findings */
};
