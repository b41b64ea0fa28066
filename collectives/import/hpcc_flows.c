/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.txt: how many flows, then "src dst pg dport bytes start" each; what follows the last is ignored, as there. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/hpcc_parts.h"
#include "collectives/import/import.h"
#include "collectives/import/room.h"
#include "common/array.h"
#include "common/number.h"
#include "common/units.h"

#define FIRST_SPORT 10000 /* of a pair, as third.cc counts */
#define MAX_START_S 1e4

/* Whole numbers of a line, in its order. */
static const struct {
	const char *name;
	uint64_t min, max;
} columns[] = {
	{ "source", 0, UINT32_MAX },      { "destination", 0, UINT32_MAX },       { "priority group", 1, 7 },
	{ "destination port", 1, 65535 }, { "bytes", 1, COLL_MAX_MESSAGE_BYTES },
};

static int
read_flow(const struct hpcc_lines *lines, uint32_t nodes, struct hpcc_flow *flow, struct err *err)
{
	uint64_t values[ARRAY_LEN(columns)];
	double start_s;
	char *end;

	if (lines->count < ARRAY_LEN(columns) + 1)
		return err_set(err, -EINVAL, "%s:%d: %zu words; \"src dst pg dport bytes start\" would be right",
			       lines->path, lines->line, lines->count);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		uint64_t max = i < 2 ? nodes - 1 : columns[i].max;

		if (!number_parse(lines->words[i], columns[i].min, max, &values[i]))
			return err_set(err, -EINVAL,
				       "%s:%d: %s: found \"%.32s\"; %" PRIu64 " to %" PRIu64 " would be right", lines->path,
				       lines->line, columns[i].name, lines->words[i], columns[i].min, max);
	}
	start_s = strtod(lines->words[ARRAY_LEN(columns)], &end);
	if (end == lines->words[ARRAY_LEN(columns)] || *end != '\0' || !(start_s >= 0 && start_s <= MAX_START_S))
		return err_set(err, -EINVAL, "%s:%d: start: found \"%.32s\"; seconds, 0 to %g, would be right", lines->path,
			       lines->line, lines->words[ARRAY_LEN(columns)], MAX_START_S);
	if (values[0] == values[1])
		return err_set(err, -EINVAL, "%s:%d: a flow from node %" PRIu64 " to itself", lines->path, lines->line,
			       values[0]);
	*flow = (struct hpcc_flow){
		.src = (uint32_t)values[0],
		.dst = (uint32_t)values[1],
		.prio = (uint32_t)values[2],
		.dport = (uint32_t)values[3],
		.bytes = values[4],
		.start_ps = (uint64_t)llround(start_s * 1e9) * PS_PER_NS,
	};
	return 0;
}

static int
compare_pairs(const void *a, const void *b, void *at)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct hpcc_flow *x = (struct hpcc_flow *)at + i, *y = (struct hpcc_flow *)at + j;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* The next port of each pair. */
static int
number_ports(const char *path, struct hpcc_flows *flows, struct err *err)
{
	uint32_t *order = malloc((flows->count + 1) * sizeof(*order)), port = FIRST_SPORT;

	if (order == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu flows", flows->count);
	for (uint32_t i = 0; i < flows->count; i++)
		order[i] = i;
	qsort_r(order, flows->count, sizeof(*order), compare_pairs, flows->at);
	for (size_t i = 0; i < flows->count; i++) {
		struct hpcc_flow *flow = &flows->at[order[i]];
		const struct hpcc_flow *before = i > 0 ? &flows->at[order[i - 1]] : NULL;

		port = before != NULL && before->src == flow->src && before->dst == flow->dst ? port + 1 : FIRST_SPORT;
		flow->sport = port;
	}
	free(order);
	return port > 65535 ? err_set(err, -EINVAL, "%s: more flows of one pair than it has ports", path) : 0;
}

static int
read_lines(struct hpcc_lines *lines, uint32_t nodes, struct hpcc_flows *flows, struct err *err)
{
	uint64_t count;
	size_t room = 0; /* which grows with the lines, not with the number that the first of them promises */
	int rc = 0;

	if (!hpcc_next_line(lines) || !number_parse(lines->words[0], 1, HPCC_MAX_FLOWS, &count))
		return err_set(err, -EINVAL, "%s:%d: found \"%.32s\"; the number of flows, 1 to %d, would be right",
			       lines->path, lines->count != 0 ? lines->line : 1, lines->count != 0 ? lines->words[0] : "",
			       HPCC_MAX_FLOWS);
	while (flows->count < count && rc == 0) {
		if (!hpcc_next_line(lines))
			return err_set(err, -EINVAL, "%s:%d: the file ends behind %zu flows of %" PRIu64, lines->path,
				       lines->line, flows->count, count);
		if (!import_room(&flows->at, &room, flows->count, sizeof(*flows->at)))
			return err_set(err, -ENOMEM, "out of memory for %zu flows", flows->count);
		rc = read_flow(lines, nodes, &flows->at[flows->count], err);
		if (rc == 0 && flows->at[flows->count].start_ps < flows->first_ps)
			flows->first_ps = flows->at[flows->count].start_ps;
		flows->count += rc == 0;
	}
	return rc == 0 ? number_ports(lines->path, flows, err) : rc;
}

int
hpcc_read_flows(const char *path, uint32_t nodes, struct hpcc_flows *flows, struct err *err)
{
	struct hpcc_lines lines = { .path = path };
	size_t length;
	int rc;
	char *text = import_read_text(path, &length, err);

	*flows = (struct hpcc_flows){ .first_ps = UINT64_MAX };
	if (text == NULL)
		return -errno;
	lines.next = text;
	rc = read_lines(&lines, nodes, flows, err);
	free(text);
	return rc;
}
