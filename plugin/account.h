/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The results of a plugin diagnoser, as its run reports them and plugins.json keeps them. The same run has the same
 * account.
 */
#pragma once

#include "plugin/finding.h"

struct plugin_account {
	char path[PLUGIN_PATH]; /* as it was given */
	/* "./" and its file's, to the first dot; "-2" where a run has two of it. No diagnoser of ours is called so. */
	char name[PLUGIN_TYPE];
	bool left_out;
	char why[PLUGIN_WHY]; /* left out: why */
	uint64_t left_ps;     /* and when, in the run's time */
	uint64_t turns;       /* that it received */
	uint64_t missed;      /* turns that it did not receive, because it did not read: in real time */
	uint64_t polls, probes;
	uint64_t refused; /* of those, and findings: that were not taken */
	char refused_why[PLUGIN_WHY];
	uint64_t dropped_records;        /* that it did not keep up with: in real time */
	struct plugin_finding *findings; /* [nfindings] in the order in which it reported them */
	uint32_t nfindings;
};

/* @param index  number of accounts before it that have names already */
void plugin_account_init(struct plugin_account *account, const char *path, const struct plugin_account *const *before,
			 uint32_t index);
void plugin_account_fini(struct plugin_account *account);

/* Takes over the contents of a finding, unless there are PLUGIN_FINDINGS. @return 0; -ENOSPC; -ENOMEM */
int plugin_account_add(struct plugin_account *account, struct plugin_finding *finding);
