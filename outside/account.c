/* SPDX-License-Identifier: BSD-3-Clause */
#include "outside/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plain.h"

#define FINDINGS_AT_ONCE 16

static bool
is_taken(const char *name, const struct outside_account *const *before, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(before[i]->name, name) == 0)
			return true;
	return false;
}

void
outside_account_init(struct outside_account *account, const char *path, const struct outside_account *const *before,
		     uint32_t index)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	int length = (int)strcspn(base, ".");
	char first[OUTSIDE_TYPE - 4]; /* with room for a number */

	*account = (struct outside_account){ 0 };
	snprintf(account->path, sizeof(account->path), "%s", path);
	plain_text(account->path, account->path, sizeof(account->path));
	snprintf(first, sizeof(first), "./%.*s", length, base);
	plain_text(first, first, sizeof(first));
	snprintf(account->name, sizeof(account->name), "%s", first);
	for (uint32_t n = 2; is_taken(account->name, before, index); n++)
		snprintf(account->name, sizeof(account->name), "%s-%u", first, n);
}

void
outside_account_fini(struct outside_account *account)
{
	for (uint32_t i = 0; i < account->nfindings; i++)
		outside_finding_fini(&account->findings[i]);
	free(account->findings);
	account->findings = NULL;
	account->nfindings = 0;
}

int
outside_account_add(struct outside_account *account, struct outside_finding *finding)
{
	if (account->nfindings == OUTSIDE_FINDINGS)
		return -ENOSPC;
	if (account->nfindings % FINDINGS_AT_ONCE == 0) {
		size_t room = account->nfindings + FINDINGS_AT_ONCE;
		struct outside_finding *more = realloc(account->findings, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		account->findings = more;
	}
	account->findings[account->nfindings++] = *finding;
	*finding = (struct outside_finding){ 0 };
	return 0;
}
