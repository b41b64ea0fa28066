/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/wire/switch_manage.h"

/* A request behind its length. @return bytes */
static size_t
put_request(uint8_t *to, uint16_t type, const void *body, size_t size)
{
	struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION, type, (uint32_t)size, 7 };

	to[0] = (uint8_t)(sizeof(hdr) + size);
	to[1] = (uint8_t)((sizeof(hdr) + size) >> 8);
	memcpy(to + 2, &hdr, sizeof(hdr));
	memcpy(to + 2 + sizeof(hdr), body, size);
	return 2 + sizeof(hdr) + size;
}

/* One of each kind, with addresses of the target's network: of node n 10.0.0.n+1. */
bool
answer_seeds(const char *folder)
{
	const struct {
		struct swm_list list;
		struct swm_query query[3];
	} egress = { { 3, 0 },
		     { { 0x0a000005, 0x0a00000a, 50000, 4791, 17, 0, 0 },
		       { 0x0a000005, 0x0a000006, 50000, 4791, 17, 0, 4 },
		       { 1, 2, 3, 4, 6, 0, 99 } } };
	const struct swm_filter filter = { .job = SWM_ANY };
	const struct swm_sampled port = { .port = 1 };
	uint8_t bytes[1024];
	size_t used = put_request(bytes, SWM_EGRESS, &egress, sizeof(egress));

	used += put_request(bytes + used, SWM_COUNTERS, "", 0);
	used += put_request(bytes + used, SWM_FLOWS, &filter, sizeof(filter));
	used += put_request(bytes + used, SWM_SAMPLES, &port, sizeof(port));
	return write_seed(folder, "all", bytes, used);
}
