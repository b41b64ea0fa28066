/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts find each other before a run: each listens, and connects to those before it; both say who they are, and of what. */
#pragma once

#include "emulation/partition/channel.h"

struct rendezvous {
	uint32_t partition, partitions;
	const char *const *addresses; /* [parts] */
	const struct partition_hello *hello;
	uint64_t timeout_ns;
	/* Who a part is, for people. */
	void (*name)(void *ctx, uint32_t partition, char buf[160]);
	void *ctx;
};

/*
 * @param channels  [parts] set to those to the others, as far as they came, too where it fails
 * @return 0, or with err set: -EINVAL (another scenario, version, division, token, or an address that cannot be had),
 *         -ETIMEDOUT with those named who did not come, -EMFILE or -ENFILE where nobody more can be let in, -EINTR
 */
int rendezvous_run(const struct rendezvous *rendezvous, struct channel *channels, struct err *err);
