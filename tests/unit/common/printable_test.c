/* SPDX-License-Identifier: BSD-3-Clause */
/* What reaches a terminal: nothing that steers it or hides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/printable.h"
#include "tests/unit/unit.h"

static void
plain_texts(void **state)
{
	char buf[32];

	assert_string_equal(printable_text("6:2", buf, sizeof(buf)), "6:2");
	assert_string_equal(printable_text("a\x1b[31mb\x7f\t", buf, sizeof(buf)), "a?[31mb??");
	assert_string_equal(printable_text("\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x98\x80", buf, sizeof(buf)),
			    "\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x98\x80");
	assert_string_equal(printable_text("\xc0\xaf", buf, sizeof(buf)), "??");      /* overlong */
	assert_string_equal(printable_text("\xed\xa0\x80", buf, sizeof(buf)), "???"); /* surrogate */
	assert_string_equal(printable_text("\xc2\x9b", buf, sizeof(buf)), "?");       /* C1: CSI */
	assert_string_equal(printable_text("\xef\xbf\xbf", buf, sizeof(buf)), "?");   /* U+FFFF */
	assert_string_equal(printable_text("a\xe2\x80\xae"
					   "b",
					   buf, sizeof(buf)),
			    "a?b"); /* U+202E: right to left */
	assert_string_equal(printable_text("a\xe2\x80\xa8"
					   "b",
					   buf, sizeof(buf)),
			    "a?b"); /* U+2028: a line's end */
	assert_string_equal(printable_text("a\xe2\x81\xa6"
					   "b",
					   buf, sizeof(buf)),
			    "a?b"); /* U+2066: isolate */
	assert_string_equal(printable_text("a\xe2\x80\x8b"
					   "b",
					   buf, sizeof(buf)),
			    "a?b"); /* U+200B: no width */
	assert_string_equal(printable_text("a\xf3\xa0\x80\xa0"
					   "b",
					   buf, sizeof(buf)),
			    "a?b");                                                            /* U+E0020: a tag */
	assert_string_equal(printable_text("\xe2\x80\x90", buf, sizeof(buf)), "\xe2\x80\x90"); /* U+2010: a hyphen */
	assert_string_equal(printable_text("\xe2\x86", buf, sizeof(buf)), "??");               /* cut short */
	assert_string_equal(printable_text("ab\xe2\x86\x92", buf, 5), "ab");                   /* does not fit: not split */
	assert_string_equal(printable_text("ab\xe2\x86\x92", buf, 6), "ab\xe2\x86\x92");
}

static void
lines(void **state)
{
	char text[2 * PLAIN_LINE_BYTES];

	assert_string_equal(plain_line("a\nb\x1b").text, "a?b?");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(strlen(plain_line(text).text), PLAIN_LINE_BYTES - 1);
}

static void
unprintable(void **state)
{
	char name[PLAIN_NAME_BYTES];

	assert_false(plain_find_unprintable("", name));
	assert_false(plain_find_unprintable("h0 \xc3\xa9 \xf0\x9f\x98\x80", name));
	assert_true(plain_find_unprintable("h\n0", name));
	assert_string_equal(name, "U+000A");
	assert_true(plain_find_unprintable("\x1b[31m", name));
	assert_string_equal(name, "U+001B");
	assert_true(plain_find_unprintable("h0\x7f", name));
	assert_string_equal(name, "U+007F");
	assert_true(plain_find_unprintable("\xc3\xa9\xe2\x80\xae\xe2\x80\xa8", name));
	assert_string_equal(name, "U+202E");
	assert_true(plain_find_unprintable("\xf3\xa0\x80\xa0", name));
	assert_string_equal(name, "U+E0020");
	assert_true(plain_find_unprintable("h\xe9", name));
	assert_string_equal(name, "byte 0xe9");
}

UNIT_TEST(printable)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_texts),
		cmocka_unit_test(lines),
		cmocka_unit_test(unprintable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
