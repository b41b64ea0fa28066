/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

#define FINDINGS_AT_ONCE 16

static bool
is_taken(const char *name, const struct plugin_account *const *before, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(before[i]->name, name) == 0)
			return true;
	return false;
}

void
plugin_account_init(struct plugin_account *account, const char *path, const struct plugin_account *const *before,
		    uint32_t index)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	int length = (int)strcspn(base, ".");
	char first[PLUGIN_TYPE - 4]; /* with room for a number */

	*account = (struct plugin_account){ 0 };
	snprintf(account->path, sizeof(account->path), "%s", path);
	printable_text(account->path, account->path, sizeof(account->path));
	snprintf(first, sizeof(first), "./%.*s", length, base);
	printable_text(first, first, sizeof(first));
	snprintf(account->name, sizeof(account->name), "%s", first);
	for (uint32_t n = 2; is_taken(account->name, before, index); n++)
		snprintf(account->name, sizeof(account->name), "%s-%u", first, n);
}

void
plugin_account_fini(struct plugin_account *account)
{
	for (uint32_t i = 0; i < account->nfindings; i++)
		plugin_finding_fini(&account->findings[i]);
	free(account->findings);
	account->findings = NULL;
	account->nfindings = 0;
}

int
plugin_account_add(struct plugin_account *account, struct plugin_finding *finding)
{
	if (account->nfindings == PLUGIN_FINDINGS)
		return -ENOSPC;
	if (account->nfindings % FINDINGS_AT_ONCE == 0) {
		size_t room = account->nfindings + FINDINGS_AT_ONCE;
		struct plugin_finding *more = realloc(account->findings, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		account->findings = more;
	}
	account->findings[account->nfindings++] = *finding;
	*finding = (struct plugin_finding){ 0 };
	return 0;
}
