/* SPDX-License-Identifier: BSD-3-Clause */
/* Remedies of findings: options of the command line. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "emulation/preflight.h"
#include "scenario/scenario.h"
#include "topo/build.h"

#define OPTIONS_MAX 1024 /* of a remedy */

void
preflight_remedy(struct preflight_finding *f, const char *fmt, ...)
{
	char option[512];
	size_t used = strlen(f->remedy);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(option, sizeof(option), fmt, ap);
	va_end(ap);
	if (strstr(f->remedy, option) == NULL &&
	    used + strlen(option) + 2 * OPTIONS_MAX < sizeof(f->remedy)) /* and quotes */
		snprintf(f->remedy + used, sizeof(f->remedy) - used, "%s%s", used != 0 ? " " : "", option);
}

void
preflight_remedy_bytes(struct preflight_finding *f, const char *option, uint64_t bytes, const char *tail, bool least)
{
	char rest[sizeof(f->remedy)], *at = strstr(f->remedy, option), *end;
	uint64_t before;

	if (at == NULL) {
		preflight_remedy(f, "%s%" PRIu64 "%s", option, bytes, tail);
		return;
	}
	before = strtoull(at + strlen(option), &end, 10);
	if (least ? bytes >= before : bytes <= before)
		return;
	snprintf(rest, sizeof(rest), "%s", end);
	snprintf(at, sizeof(f->remedy) - (size_t)(at - f->remedy), "%s%" PRIu64 "%s", option, bytes, rest);
}

void
preflight_remedy_setting(struct preflight_finding *f, const struct cfg_where *where, const char *key, uint64_t bytes,
			 bool least)
{
	char path[CFG_WHERE_PATH], option[CFG_WHERE_PATH + 32];

	snprintf(option, sizeof(option), "--set %.255s.%s=", cfg_where_path(where, path), key);
	preflight_remedy_bytes(f, option, bytes, "", least);
}

const char *
preflight_path(const struct cfg_where *where, const char *all, char path[CFG_WHERE_PATH])
{
	if (cfg_where_path(where, path)[0] == '\0')
		snprintf(path, CFG_WHERE_PATH, "%s", all);
	return path;
}

void
preflight_remedy_key(struct preflight_finding *f, const struct cfg_where *where, const char *all, const char *key,
		     uint64_t number, const char *tail, bool least)
{
	char path[CFG_WHERE_PATH], option[CFG_WHERE_PATH + 32];

	snprintf(option, sizeof(option), "--set %.255s.%s=", preflight_path(where, all, path), key);
	preflight_remedy_bytes(f, option, number, tail, least);
}

/* Rates of cables between switches. */

struct preflight_sides
preflight_sides_of(const struct topo *topo, uint32_t node)
{
	struct preflight_sides sides = { 0 };

	for (uint16_t p = 0; p < topo->nodes[node].nports; p++) {
		const struct topo_port *port = topo_port_of(topo, node, p);

		if (topo->nodes[port->peer].kind == TOPO_HOST) {
			sides.hosts_bps += port->rate_bps;
		} else {
			sides.others_bps += port->rate_bps;
			sides.others++;
		}
	}
	return sides;
}

uint64_t
preflight_whole_mbps(uint64_t rate_bps)
{
	return (rate_bps + 999999) / 1000000 * 1000000;
}

/* A cable between switches as the list of links has it, with a rate. */
static void
remedy_link(const struct topo *topo, struct preflight_finding *f, uint32_t link, uint64_t rate_bps)
{
	const struct topo_port *a = &topo->ports[topo->links[link].port[0]];
	char rate[32];

	preflight_remedy(f, "--set 'topology.links.[%u]=\"%s %s %s %" PRIu64 "ps\"'", link, topo->nodes[a->node].name,
			 topo->nodes[a->peer].name, units_format_rate(preflight_whole_mbps(rate_bps), rate, sizeof(rate)),
			 a->delay_ps);
}

void
preflight_remedy_links(const struct preflight *c, struct preflight_finding *f)
{
	const struct topo *topo = c->sc->topo;

	for (uint32_t l = 0; l < topo->nlinks; l++) {
		const struct topo_port *a = &topo->ports[topo->links[l].port[0]];
		uint64_t needed_bps = 0;

		if (topo->nodes[a->node].kind != TOPO_SWITCH || topo->nodes[a->peer].kind != TOPO_SWITCH)
			continue;
		for (int end = 0; end < 2; end++) {
			struct preflight_sides sides = preflight_sides_of(topo, end == 0 ? a->node : a->peer);

			if (sides.hosts_bps > sides.others_bps)
				needed_bps = max_u64(needed_bps, (sides.hosts_bps + sides.others - 1) / sides.others);
		}
		if (needed_bps > TOPO_MAX_RATE_BPS) {
			f->remedy[0] = '\0';
			return;
		}
		if (needed_bps > a->rate_bps)
			remedy_link(topo, f, l, needed_bps);
	}
}

/* Remedies as they are typed: one option for places that differ in an index alone, and quotes where a shell needs them. */

#define OPTION "--set "

/* "PATH[INDEX]REST", without quotes; where there is no index, all of it is the path. */
struct option {
	char *path, *rest;
	unsigned long index;
};

static int
compare_indices(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Takes an option apart in place. */
static void
read_option(char *text, struct option *option)
{
	size_t length = strlen(text);
	char *open, *end;

	if (text[0] == '\'' && length > 1 && text[length - 1] == '\'') {
		text[length - 1] = '\0';
		text++;
	}
	*option = (struct option){ .path = text, .rest = "" };
	open = strchr(text, '[');
	if (open == NULL || open > strchr(text, '='))
		return;
	option->index = strtoul(open + 1, &end, 10);
	*open = '\0';
	option->rest = end; /* "]..." */
}

/* Moves options that differ from the first in their index alone next to it. @return their number, the first included */
static size_t
gather(struct option *options, size_t count)
{
	size_t n = 1;

	for (size_t i = 1; i < count; i++) {
		struct option found = options[i];

		if (strcmp(found.path, options[0].path) != 0 || strcmp(found.rest, options[0].rest) != 0)
			continue;
		memmove(&options[n + 1], &options[n], (i - n) * sizeof(*options));
		options[n++] = found;
	}
	qsort(options, n, sizeof(*options), compare_indices);
	return n;
}

/* @return characters that were written, as snprintf() */
static int
write_option(const struct option *options, size_t count, char *to, size_t room)
{
	char indices[8 * OPTIONS_MAX] = "";
	bool plain = options[0].rest[0] == '\0' &&
		     strspn(options[0].path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:=/") ==
			     strlen(options[0].path);

	for (size_t i = 0, n; i < count && options[0].rest[0] != '\0'; i += n) {
		n = 1;
		while (i + n < count && options[i + n].index <= options[i + n - 1].index + 1)
			n++;
		snprintf(indices + strlen(indices), sizeof(indices) - strlen(indices),
			 options[i + n - 1].index == options[i].index ? "%s%lu" : "%s%lu-%lu", i != 0 ? "," : "[",
			 options[i].index, options[i + n - 1].index);
	}
	return snprintf(to, room, OPTION "%s%s%s%s%s", plain ? "" : "'", options[0].path, indices, options[0].rest,
			plain ? "" : "'");
}

/* Checks that may have no option to offer. */
static const char *
no_remedy(const char *check)
{
	static const struct {
		const char *check, *reason;
	} reasons[] = {
		{ "no-contention",
		  "it lacks traffic, not a setting: a flow or a collective that shares a port with these" },
		{ "window-below-bdp",
		  "no MTU is large enough: several QPs (qps of a flow, channels of a collective) fill the path" },
		{ "oversubscription",
		  "no key of this topology gives links between switches the rate that is missing: more of them" },
		{ "buffer-circle", "other routes, and those without \"paths\", have a circle too: other cables" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i].check, check) == 0)
			return reasons[i].reason;
	return "no option alone changes it";
}

int
preflight_gather_remedy(struct preflight_finding *f)
{
	struct option *options = calloc(OPTIONS_MAX, sizeof(*options));
	char *text = strdup(f->remedy), *rest = text, *next;
	size_t count = 0, used = 0;

	if (options == NULL || text == NULL) {
		free(options);
		free(text);
		return -ENOMEM;
	}
	f->no_remedy = f->remedy[0] == '\0' ? no_remedy(f->check) : NULL;
	f->remedy[0] = '\0';
	while (rest != NULL && strncmp(rest, OPTION, strlen(OPTION)) == 0 && count < OPTIONS_MAX) {
		rest += strlen(OPTION);
		next = strstr(rest, " " OPTION);
		if (next != NULL)
			*next++ = '\0';
		read_option(rest, &options[count++]);
		rest = next;
	}
	assert(rest == NULL || *rest == '\0'); /* checks write nothing else, and fewer than OPTIONS_MAX fit */
	for (size_t i = 0, n; i < count; i += n) {
		n = gather(&options[i], count - i);
		if (i != 0 && used + 1 < sizeof(f->remedy))
			used += (size_t)snprintf(f->remedy + used, sizeof(f->remedy) - used, " ");
		used += (size_t)write_option(&options[i], n, f->remedy + used, sizeof(f->remedy) - used);
		assert(used < sizeof(f->remedy)); /* they are no longer than before, but for quotes */
	}
	free(options);
	free(text);
	return 0;
}
