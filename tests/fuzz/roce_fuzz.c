/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from outside: parsing never reads behind them, and whatever is accepted says the same again when it is built
 * and parsed once more.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dpswitch/edge/frame/checksum.h"
#include "dpswitch/edge/frame/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_frame(const uint8_t *data, size_t size)
{
	uint8_t bytes[FRAME_MAX_BYTES], again[FRAME_MAX_BYTES];
	struct frame f, g;
	struct pkt p;
	size_t built;

	if (frame_parse(data, size, &f) != FRAME_OK)
		return;
	if (f.payload_bytes != 0)
		assert(f.payload >= data && f.payload + f.payload_bytes <= data + size);
	(void)frame_to_pkt(&f, &p);
	built = frame_build(&f, bytes, sizeof(bytes));
	assert(built != 0 && built <= size);
	assert(frame_parse(bytes, built, &g) == FRAME_OK && g.corrupt == f.corrupt);
	assert(frame_build(&g, again, sizeof(again)) == built);
	assert(memcmp(bytes, again, built) == 0);
}

static void
check_pfc(const uint8_t *data, size_t size)
{
	struct pfc_fields fields, again;
	uint8_t bytes[ETH_MIN_BYTES], bytes_again[ETH_MIN_BYTES];

	if (pfc_frame_parse(data, size, &fields) != 0)
		return;
	pfc_frame_build(&fields, bytes);
	assert(pfc_frame_parse(bytes, sizeof(bytes), &again) == 0);
	pfc_frame_build(&again, bytes_again);
	assert(memcmp(bytes, bytes_again, sizeof(bytes)) == 0);
}

/* The same with its IP checksum put right, or few inputs would get behind it. */
static void
check_repaired(const uint8_t *data, size_t size)
{
	const size_t at = sizeof(struct wire_eth), sum_at = at + offsetof(struct wire_ipv4, checksum);
	uint8_t frame[FRAME_MAX_BYTES];
	uint16_t sum;

	if (size < at + sizeof(struct wire_ipv4) || size > sizeof(frame))
		return;
	memcpy(frame, data, size);
	memset(frame + sum_at, 0, sizeof(sum));
	sum = htobe16(checksum_fold(checksum_add(0, frame + at, sizeof(struct wire_ipv4))));
	memcpy(frame + sum_at, &sum, sizeof(sum));
	check_frame(frame, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_frame(data, size);
	check_repaired(data, size);
	check_pfc(data, size);
	return 0;
}
