/* SPDX-License-Identifier: BSD-3-Clause */
/* One body, every kind: what is written is read again, any other byte in a fixed field is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/control.h"
#include "tests/unit/unit.h"

static const struct {
	uint8_t type;
	uint16_t udp_port;
	uint32_t wire_bytes;
	struct control control_fields;
	uint8_t fixed[8]; /* offsets of bytes that may have one value alone; 0 ends the list, 0 itself is one */
} kinds[] = {
	{ PKT_POLL,
	  47910,
	  90,
	  { 0xdeadbeef, POLL_BOTH | POLL_QUIET, 0x0a000001, 0x0a000002, 50001, 4791 },
	  { 3, 4, 6, 7 } },
	{ PKT_NOTIFY, 47911, 84, { 3, 2, 0, 0, 0, 0 }, { 3, 4, 5, 7 } },
};

static void
every_kind_is_found_written_and_read(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct control_kind *kind = control_of_type(kinds[i].type);
		uint8_t contents[CONTROL_MAX_BYTES];
		struct control back;

		assert_non_null(kind);
		assert_ptr_equal(control_of_port(kinds[i].udp_port), kind);
		assert_int_equal(control_wire_bytes(kind), kinds[i].wire_bytes);
		assert_true(kind->bytes <= CONTROL_MAX_BYTES);
		kind->write(contents, &kinds[i].control_fields);
		assert_true(kind->read(contents, &back));
		assert_memory_equal(&back, &kinds[i].control_fields, sizeof(back));
		for (size_t k = 0; k == 0 || kinds[i].fixed[k - 1] != 0; k++) {
			uint8_t at = k == 0 ? 0 : kinds[i].fixed[k - 1];

			contents[at] ^= 0x40;
			assert_false(kind->read(contents, &back));
			contents[at] ^= 0x40;
		}
	}
}

/* A poll's flags: one of the three at least, and none that has no meaning. */
static void
a_poll_has_flags(void **state)
{
	const struct control_kind *kind = control_of_type(PKT_POLL);

	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		struct control poll = { .id = 1, .arg = flags }, back;
		uint8_t contents[CONTROL_MAX_BYTES];

		kind->write(contents, &poll);
		assert_int_equal(kind->read(contents, &back), (flags & POLL_BOTH) != 0 && (flags & ~POLL_FLAGS) == 0);
	}
}

static void
data_is_no_control_packet(void **state)
{
	for (uint8_t type = 0; type < PKT_TYPES; type++)
		assert_int_equal(control_of_type(type) != NULL, type == PKT_POLL || type == PKT_NOTIFY);
	assert_null(control_of_port(4791));
}

UNIT_TEST(control)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_found_written_and_read),
		cmocka_unit_test(a_poll_has_flags),
		cmocka_unit_test(data_is_no_control_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
