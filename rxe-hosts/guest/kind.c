/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/kind.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"

static const struct guest_kind *const kinds[] = { &guest_kind_uml, &guest_kind_qemu, &guest_kind_netns };

#define NKINDS ARRAY_LEN(kinds)

const struct guest_kind *
guest_kind_find(const char *name, struct err *err)
{
	for (size_t i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	err_set(err, -EINVAL, "no kind of guest \"%s\": there are uml, qemu and netns", name);
	return NULL;
}

int
guest_word(struct guest_words *words, struct err *err, const char *fmt, ...)
{
	size_t left = sizeof(words->text) - words->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(words->text + words->used, left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= left || words->count == GUEST_MAX_WORDS)
		return err_set(err, -E2BIG, "the guest's command line has more than %zu bytes or %d words",
			       sizeof(words->text), GUEST_MAX_WORDS);
	words->word[words->count++] = words->text + words->used;
	words->word[words->count] = NULL;
	words->used += (size_t)n + 1;
	return 0;
}

static int
nic_parameters(const struct guest_boot *boot, struct guest_words *words, struct err *err)
{
	const struct guest_config *config = boot->config;
	const uint8_t *mac = config->mac;
	char ip[INET_ADDRSTRLEN];
	int rc;

	inet_ntop(AF_INET, &config->ip, ip, sizeof(ip));
	rc = guest_word(words, err, "ROCELAB_ADDRESS=%s/%d", ip, config->prefix_bits);
	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_MAC=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
				mac[4], mac[5]);
	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_MTU=%d", config->mtu_bytes);
	return rc;
}

int
guest_parameters(const struct guest_boot *boot, const char *command, const char *manage, struct guest_words *words,
		 struct err *err)
{
	int rc = guest_word(words, err, "ROCELAB_NAME=%s", boot->config->name);

	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_COMMAND=%s", command);
	if (rc == 0 && boot->manage_fd >= 0)
		rc = guest_word(words, err, "ROCELAB_MANAGE=%s", manage);
	if (rc == 0 && boot->config->nic != NULL)
		rc = nic_parameters(boot, words, err);
	return rc;
}
