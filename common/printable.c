/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"

/* Length of the well-formed UTF-8 character at text (RFC 3629), 0 if there is none. */
static size_t
utf8_len(const unsigned char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* range of the first byte, then of the second */
		size_t len;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t n = 2;

		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (text[1] < forms[i].low || text[1] > forms[i].high)
			return 0;
		while (n < forms[i].len && (text[n] & 0xc0) == 0x80)
			n++;
		return n == forms[i].len ? n : 0;
	}
	return 0;
}

/* Decodes a UTF-8 character of more than one byte. @return its code point */
static uint32_t
code_point(const unsigned char *text, size_t len)
{
	uint32_t code = text[0] & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (text[i] & 0x3fu);
	return code;
}

/*
 * C1 controls steer terminals; controls of direction (Unicode UAX 9) and separators of lines show another text than is
 * there; characters of no width hide; U+FFFE and U+FFFF are no XML.
 */
static bool
is_unprintable(const unsigned char *text, size_t len)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },     { 0x115f, 0x1160 }, { 0x180b, 0x180f },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0xe0fff },
	};
	uint32_t code = len > 1 ? code_point(text, len) : 0;

	for (size_t i = 0; code != 0 && i < ARRAY_LEN(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* ASCII that prints: nearly all of a text. */
static inline bool
is_plain(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* @param taken  set to the length of the character at text, 1 where it is no UTF-8 */
static bool
prints(const char *text, size_t *taken)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t len = *in < 0x80 ? 1 : utf8_len(in);

	*taken = len == 0 ? 1 : len;
	return len != 0 && *in >= 0x20 && *in != 0x7f && !is_unprintable(in, len);
}

char *
printable_text(const char *text, char *buf, size_t cap)
{
	size_t at = 0, taken;

	for (const char *in = text; *in != '\0'; in += taken) {
		bool good;

		for (; is_plain(*in) && at + 1 < cap; in++)
			buf[at++] = *in;
		if (*in == '\0')
			break;
		good = prints(in, &taken) || *in == '\n';
		if (at + (good ? taken : 1) >= cap)
			break;
		if (!good)
			buf[at++] = '?';
		else
			for (size_t i = 0; i < taken; i++)
				buf[at++] = in[i];
	}
	buf[at] = '\0';
	return buf;
}

struct plain_line
plain_line(const char *text)
{
	struct plain_line line;

	printable_text(text, line.text, sizeof(line.text));
	for (char *c = strchr(line.text, '\n'); c != NULL; c = strchr(c, '\n'))
		*c = '?';
	return line;
}

bool
plain_find_unprintable(const char *text, char *name)
{
	size_t taken;

	while (*text != '\0' && prints(text, &taken))
		text += taken;
	if (*text == '\0')
		return false;
	if (taken == 1 && (unsigned char)*text >= 0x80)
		snprintf(name, PLAIN_NAME_BYTES, "byte 0x%02x", (unsigned char)*text);
	else
		snprintf(name, PLAIN_NAME_BYTES, "U+%04X",
			 taken == 1 ? (unsigned)*text : (unsigned)code_point((const unsigned char *)text, taken));
	return true;
}

const char *
plain_begin(const char *text)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? text + sizeof(mark) - 1 : text;
}
