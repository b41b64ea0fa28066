/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
endpoint_find(const struct topo *topo, const char *name, const struct cfg_where *where, const char *key,
	      struct endpoint *endpoint, struct err *err)
{
	uint32_t port;

	*endpoint = (struct endpoint){ topo_find(topo, name), 0 };
	if (endpoint->node == TOPO_NONE) {
		port = topo_find_port(topo, name);
		if (port != TOPO_NONE && topo->nodes[topo->ports[port].node].bonded)
			return cfg_fail(where, key, err,
					"\"%s\" is a member of a bond, which has one address; \"%s\" would be right", name,
					topo->nodes[topo->ports[port].node].name);
		if (port != TOPO_NONE)
			*endpoint = (struct endpoint){ topo->ports[port].node, topo->ports[port].index };
	}
	if (endpoint->node == TOPO_NONE)
		return cfg_fail(where, key, err, "\"%s\" is neither a host nor host:nic of this topology", name);
	if (topo->nodes[endpoint->node].kind != TOPO_HOST)
		return cfg_fail(where, key, err, "\"%s\" is a switch; only hosts send and receive", name);
	if (topo->nodes[endpoint->node].nports == 0)
		return cfg_fail(where, key, err, "host \"%s\" has no NIC", name);
	return 0;
}

/* Checks that no NIC has two ranks. @return 0 or negative errno with err set */
static int
check_repeated(const struct topo *topo, const struct endpoint *ranks, uint32_t count, const struct cfg_where *where,
	       const char *key, struct err *err)
{
	uint32_t *rank_at = malloc(topo->nports * sizeof(*rank_at) + 1);
	int rc = 0;

	if (rank_at == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u ranks", count);
	memset(rank_at, 0xff, topo->nports * sizeof(*rank_at));
	for (uint32_t r = 0; r < count && rc == 0; r++) {
		const struct topo_node *node = &topo->nodes[ranks[r].node];
		uint32_t *at = &rank_at[node->first_port + ranks[r].nic];

		if (*at != UINT32_MAX)
			rc = cfg_fail(where, key, err, "ranks %u and %u are both at %s NIC %u", *at, r, node->name,
				      ranks[r].nic + 1u);
		*at = r;
	}
	free(rank_at);
	return rc;
}

int
endpoint_list(const struct topo *topo, const struct cfg_strings *words, const struct cfg_where *where, const char *key,
	      struct endpoint **ranks, uint32_t *count, struct err *err)
{
	struct name_list names;
	int rc = names_expand(words, where, key, &names, err);

	*count = names.count != 0 ? (uint32_t)names.count : topo->nhosts;
	*ranks = rc == 0 ? calloc(*count + 1u, sizeof(**ranks)) : NULL;
	if (rc == 0 && *ranks == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for %u ranks", *count);
	for (uint32_t r = 0; r < *count && rc == 0; r++) {
		if (names.count != 0)
			rc = endpoint_find(topo, names.items[r], where, key, &(*ranks)[r], err);
		else
			(*ranks)[r].node = topo->hosts[r];
	}
	if (rc == 0)
		rc = check_repeated(topo, *ranks, *count, where, key, err);
	names_free(&names);
	if (rc != 0) {
		free(*ranks);
		*ranks = NULL;
	}
	return rc;
}

/* Names with ranges, written out. */

#define MAX_DIGITS 9

/* A word while its ranges are written out. */
struct expansion {
	const char *word;
	const struct cfg_where *where;
	const char *key;
	struct name_list *names;
	size_t cap;
	struct err *err;
};

static int
refuse(const struct expansion *e, const char *what)
{
	return cfg_fail(e->where, e->key, e->err, "\"%s\": %s; \"h[0-3,8]\" would be right", e->word, what);
}

static int
add_name(struct expansion *e, const char *name)
{
	struct name_list *names = e->names;

	if (names->count == NAMES_MAX)
		return cfg_fail(e->where, e->key, e->err, "\"%s\": more than %d names", e->word, NAMES_MAX);
	if (names->count == e->cap) {
		size_t cap = e->cap != 0 ? 2 * e->cap : 64;
		void *items = realloc(names->items, cap * sizeof(*names->items));

		if (items == NULL)
			return err_set(e->err, -ENOMEM, "out of memory for %zu names", cap);
		names->items = items;
		e->cap = cap;
	}
	memcpy(names->items[names->count++], name, NAME_MAX_CHARS);
	return 0;
}

/* "08" -> 8 and its digits. @return what follows, NULL: no number */
static const char *
read_number(const char *text, uint32_t *value, int *digits)
{
	*value = 0;
	for (*digits = 0; isdigit((unsigned char)text[*digits]); (*digits)++) {
		if (*digits == MAX_DIGITS)
			return NULL;
		*value = *value * 10 + (uint32_t)(text[*digits] - '0');
	}
	return *digits != 0 ? text + *digits : NULL;
}

static int expand(struct expansion *e, const char *done, const char *rest);

/* One "0-3" of a bracket. @param end  out: what follows it */
static int
expand_range(struct expansion *e, const char *done, const char *text, const char *behind, const char **end)
{
	uint32_t first, last;
	char name[NAME_MAX_CHARS + MAX_DIGITS + 1];
	int digits, last_digits, rc = 0;

	*end = read_number(text, &first, &digits);
	if (*end == NULL)
		return refuse(e, "a range in brackets needs numbers");
	last = first;
	if (**end == '-') {
		*end = read_number(*end + 1, &last, &last_digits);
		if (*end == NULL)
			return refuse(e, "a range in brackets needs numbers");
	}
	if (last < first)
		return refuse(e, "its range descends");
	for (uint32_t n = first; n <= last && rc == 0; n++) {
		if (snprintf(name, sizeof(name), "%s%0*u", done, digits, n) >= NAME_MAX_CHARS)
			return refuse(e, "a name is too long");
		rc = expand(e, name, behind);
	}
	return rc;
}

/* @param done  the expanded words in front; rest  the words behind, as they were written */
static int
expand(struct expansion *e, const char *done, const char *rest)
{
	size_t plain = strcspn(rest, "[]"), length = strlen(done);
	char name[NAME_MAX_CHARS] = "";
	const char *close, *at;
	int rc = 0;

	if (length + plain >= sizeof(name))
		return refuse(e, "a name is too long");
	memcpy(name, done, length);
	memcpy(name + length, rest, plain);
	if (rest[plain] == '\0')
		return name[0] != '\0' ? add_name(e, name) : refuse(e, "a name is empty");
	close = strpbrk(rest + plain + 1, "[]");
	if (rest[plain] == ']' || close == NULL || *close == '[')
		return refuse(e, "a bracket has no partner");
	for (at = rest + plain + 1; rc == 0; at++) {
		rc = expand_range(e, name, at, close + 1, &at);
		if (rc != 0 || at == close)
			return rc;
		if (*at != ',')
			return refuse(e, "between brackets stand ranges and commas alone");
	}
	return rc;
}

int
names_expand(const struct cfg_strings *words, const struct cfg_where *where, const char *key, struct name_list *names,
	     struct err *err)
{
	struct expansion e = { .where = where, .key = key, .names = names, .err = err };
	int rc = 0;

	*names = (struct name_list){ 0 };
	for (size_t i = 0; i < words->count && rc == 0; i++) {
		e.word = words->items[i];
		rc = expand(&e, "", e.word);
	}
	return rc;
}

void
names_free(struct name_list *names)
{
	free(names->items);
	*names = (struct name_list){ 0 };
}
