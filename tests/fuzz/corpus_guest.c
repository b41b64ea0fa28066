/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/guest.h"

/* What guest_fuzz.c plays. */
struct turn {
	uint8_t act, type, session, size; /* act: 0 the guest says, 1 a program says, 2 a program comes, 3 one goes */
	uint8_t bytes[12];
};

bool
guest_seeds(const char *folder)
{
	static const struct turn turns[] = {
		{ 0, GUEST_HELLO, 0, 12, { 'T', 'G', 'L', 'R', 0, 0, 0, 0, 1 } },
		{ 2, 0, 0, 0, { 0 } },
		{ 1, GUEST_RUN, 0, 11, { 0, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 'b' } },
		{ 0, GUEST_STDOUT, 2, 2, { 'h', 'i' } },
		{ 1, GUEST_CREDIT, 0, 4, { 2 } },
		{ 1, GUEST_STDIN, 0, 0, { 0 } },
		{ 0, GUEST_EXIT, 2, 4, { 7 } },
		{ 3, 0, 0, 0, { 0 } },
	};
	uint8_t bytes[sizeof(turns)];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		memcpy(bytes + used, &turns[i], 4u + turns[i].size);
		used += 4u + turns[i].size;
	}
	return write_seed(folder, "session", bytes, used);
}
