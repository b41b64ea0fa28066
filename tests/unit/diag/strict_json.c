/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/strict_json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 4096 /* of all objects that are open */
#define MAX_DEPTH 64

struct key {
	const char *text;
	size_t bytes;
};

struct scan {
	const char *at;
	struct key keys[MAX_KEYS];
	size_t nkeys, depth;
};

static bool scan_value(struct scan *s);

static void
skip_blanks(struct scan *s)
{
	s->at += strspn(s->at, " \n\r\t");
}

/* @return whether it is there, and taken */
static bool
take(struct scan *s, const char *text)
{
	size_t bytes = strlen(text);

	if (strncmp(s->at, text, bytes) != 0)
		return false;
	s->at += bytes;
	return true;
}

/* No NUL, and no half of a character. */
static bool
scan_code(struct scan *s)
{
	char digits[5] = "";
	unsigned long code;

	strncpy(digits, s->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return false;
	code = strtoul(digits, NULL, 16);
	s->at += 4;
	return code != 0 && (code < 0xd800 || code > 0xdfff);
}

static bool
scan_string(struct scan *s, struct key *key)
{
	if (!take(s, "\""))
		return false;
	key->text = s->at;
	while ((unsigned char)*s->at >= ' ' && *s->at != '"')
		if (*s->at++ == '\\') {
			char escaped = *s->at;

			if (escaped == '\0' || strchr("\"\\/bfnrtu", escaped) == NULL)
				return false;
			s->at++;
			if (escaped == 'u' && !scan_code(s))
				return false;
		}
	key->bytes = (size_t)(s->at - key->text);
	return take(s, "\"");
}

static bool
scan_digits(struct scan *s)
{
	const char *from = s->at;

	while (isdigit((unsigned char)*s->at))
		s->at++;
	return s->at != from;
}

/* One that 64 bits hold, or a double. */
static bool
scan_number(struct scan *s)
{
	const char *from = s->at;
	bool real = false;

	take(s, "-");
	if (!take(s, "0") && !scan_digits(s))
		return false;
	if (take(s, ".")) {
		real = true;
		if (!scan_digits(s))
			return false;
	}
	if (take(s, "e") || take(s, "E")) {
		real = true;
		if (!take(s, "-"))
			take(s, "+");
		if (!scan_digits(s))
			return false;
	}
	errno = 0;
	if (!real && s->at - from > 18)
		strtoll(from, NULL, 10);
	return errno == 0 && (!real || isfinite(strtod(from, NULL)));
}

static bool
scan_array(struct scan *s)
{
	skip_blanks(s);
	if (take(s, "]"))
		return true;
	do
		if (!scan_value(s))
			return false;
	while (take(s, ","));
	return take(s, "]");
}

static bool
scan_member(struct scan *s, size_t first)
{
	struct key *key = &s->keys[s->nkeys];

	skip_blanks(s);
	if (s->nkeys == MAX_KEYS || !scan_string(s, key))
		return false;
	for (size_t i = first; i < s->nkeys; i++)
		if (s->keys[i].bytes == key->bytes && memcmp(s->keys[i].text, key->text, key->bytes) == 0)
			return false;
	s->nkeys++;
	skip_blanks(s);
	return take(s, ":") && scan_value(s);
}

static bool
scan_object(struct scan *s)
{
	size_t first = s->nkeys;

	skip_blanks(s);
	if (take(s, "}"))
		return true;
	do
		if (!scan_member(s, first))
			return false;
	while (take(s, ","));
	s->nkeys = first;
	return take(s, "}");
}

/* With blanks around it. */
static bool
scan_value(struct scan *s)
{
	struct key ignored;
	bool is;

	skip_blanks(s);
	if (++s->depth > MAX_DEPTH)
		return false;
	switch (*s->at) {
	case '{':
		s->at++;
		is = scan_object(s);
		break;
	case '[':
		s->at++;
		is = scan_array(s);
		break;
	case '"':
		is = scan_string(s, &ignored);
		break;
	default:
		is = take(s, "true") || take(s, "false") || take(s, "null") || scan_number(s);
	}
	s->depth--;
	skip_blanks(s);
	return is;
}

bool
strict_json(const char *text, const char **where)
{
	static struct scan s; /* large */
	bool is;

	s.at = text;
	s.nkeys = s.depth = 0;
	skip_blanks(&s);
	is = (*s.at == '{' || *s.at == '[') && scan_value(&s) && *s.at == '\0';
	*where = s.at;
	return is;
}
