/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/kinds.h"
#include "common/record/known.h"
#include "common/wire/record.h"

static int check_order(const struct record_check *check, const struct rec_hdr *rec, struct err *err);
static int check_reporter(const struct record_check *check, const struct rec_hdr *rec, struct err *err);
static int check_field(struct record_check *check, const struct rec_hdr *rec, uint32_t index, struct err *err);
static void add_sums(struct record_check *check, const struct rec_hdr *rec);
static int check_topology(const struct record_check *check, struct err *err);

struct record_check *
record_check_create(void)
{
	return calloc(1, sizeof(struct record_check));
}

void
record_check_destroy(struct record_check *check)
{
	if (check == NULL)
		return;
	known_fini(check);
	free(check);
}

int
record_check(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	const struct record_kind *kind = &record_kinds[rec->type];
	int rc = check_order(check, rec, err);

	if (rc == 0)
		rc = check_reporter(check, rec, err);
	if (rc == 0 && rec->time_ps > RECORD_MAX_PS)
		rc = record_wrong(rec, "time_ps", rec->time_ps, err, "at most %llu", RECORD_MAX_PS);
	for (uint32_t i = 0; rc == 0 && i < kind->nfields; i++)
		rc = check_field(check, rec, i, err);
	if (rc == 0)
		rc = record_cross_check(check, rec, err);
	if (rc == 0)
		rc = known_add(check, rec, err);
	if (rc != 0)
		return rc;
	check->has_topology |= !record_is(rec->type, REC_TOPOLOGY);
	check->ended |= rec->type == REC_END;
	if (rec->time_ps > check->latest_ps)
		check->latest_ps = rec->time_ps;
	add_sums(check, rec);
	return 0;
}

int
record_check_finish(const struct record_check *check, struct err *err)
{
	const struct known_collective *collectives = check->collectives.data;
	int rc;

	if (!check->has_run)
		return err_set(err, -EINVAL, "it has no RUN record: it broke off before the run began");
	rc = check_topology(check, err);
	for (uint32_t i = 0; rc == 0 && check->ended && i < check->collectives.count; i++) {
		const struct known_collective *c = &collectives[i];

		if (c->scheduled != c->steps)
			rc = err_set(err, -EINVAL, "collective %u iteration %u has %u SCHEDULE records; it needs %u", c->id,
				     c->iteration, c->scheduled, c->steps);
		else if (c->depends != c->promised)
			rc = err_set(err, -EINVAL,
				     "collective %u iteration %u has %" PRIu64 " DEPEND records; it needs %" PRIu64, c->id,
				     c->iteration, c->depends, c->promised);
	}
	return rc;
}

int
record_wrong(const struct rec_hdr *rec, const char *field, uint64_t value, struct err *err, const char *right, ...)
{
	char text[400], of[32] = "";
	va_list ap;

	va_start(ap, right);
	vsnprintf(text, sizeof(text), right, ap);
	va_end(ap);
	if (rec->node != REC_NONE)
		snprintf(of, sizeof(of), " of node %u", rec->node);
	if (field == NULL)
		return err_set(err, -EINVAL, "%s%s: %s", record_kinds[rec->type].name, of, text);
	return err_set(err, -EINVAL, "%s%s: %s = %" PRIu64 "; right would be %s", record_kinds[rec->type].name, of, field,
		       value, text);
}

/* Every port that a node promised, described: only then does anything else make sense. */
static int
check_topology(const struct record_check *check, struct err *err)
{
	for (uint32_t i = 0; i < check->nodes.count; i++) {
		const struct known_node *node = known_node(check, i);

		if (node->described != node->nports)
			return err_set(err, -EINVAL, "node %u has %u ports, %u of them are described", i, node->nports,
				       node->described);
	}
	return 0;
}

static int
check_order(const struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	if (check->ended)
		return record_wrong(rec, NULL, 0, err, "a record behind END");
	if (check->has_run == (rec->type == REC_RUN))
		return record_wrong(rec, NULL, 0, err,
				    check->has_run ? "a second RUN record" : "a record before the RUN record");
	if (check->has_topology && record_is(rec->type, REC_TOPOLOGY))
		return record_wrong(rec, NULL, 0, err, "a part of the topology behind records that use it");
	return check->has_topology || record_is(rec->type, REC_TOPOLOGY) ? 0 : check_topology(check, err);
}

static int
check_reporter(const struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	const struct known_node *node = known_node(check, rec->node);

	switch ((enum record_reporter)record_kinds[rec->type].reporter) {
	case RECORD_OF_NONE:
		return rec->node == REC_NONE ? 0 : record_wrong(rec, "node", rec->node, err, "%u", REC_NONE);
	case RECORD_OF_NEW:
		if (rec->node != check->nodes.count || rec->node >= RECORD_MAX_NODES)
			return record_wrong(rec, "node", rec->node, err, "%u, the next one; there are %u at most",
					    check->nodes.count, RECORD_MAX_NODES);
		return 0;
	case RECORD_OF_HOST:
		if (node == NULL || !node->host)
			return record_wrong(rec, "node", rec->node, err, "a host that a NODE record describes");
		return 0;
	case RECORD_OF_ANY:
		break;
	}
	return node != NULL ? 0 : record_wrong(rec, "node", rec->node, err, "a node that a NODE record describes");
}

static uint64_t
value_of(const struct rec_hdr *rec, const struct record_field *field)
{
	const uint8_t *at = (const uint8_t *)rec + field->at;
	uint64_t value = 0; /* little-endian, as the machine is */

	switch (field->size) {
	case 1:
		return *at;
	case 2:
		return *(const uint16_t *)(const void *)at;
	case 4:
		return *(const uint32_t *)(const void *)at;
	case 8:
		memcpy(&value, at, sizeof(value));
		break;
	}
	return value;
}

/* What may name a node (topo/builder.c): no name is mistaken for a port, a flow or a part of a page. */
static bool
is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '-';
}

/* Up to its end; the rest of the field is nobody's. */
static int
check_name(const struct rec_hdr *rec, const struct record_field *field, struct err *err)
{
	const uint8_t *name = (const uint8_t *)rec + field->at;

	for (uint32_t i = 0; i < field->size && (name[i] != '\0' || i == 0); i++) {
		if (field->rule == RECORD_NAME && !is_name(name[i]))
			return record_wrong(rec, field->name, name[i], err, "a letter, digit, '_', '.' or '-' at %u", i);
		if (field->rule == RECORD_TEXT && ((name[i] < 0x20 && name[i] != '\0') || name[i] == 0x7f))
			return record_wrong(rec, field->name, name[i], err, "a printable character at %u", i);
	}
	return 0;
}

static int
check_port(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t value,
	   struct err *err)
{
	uint16_t nports = known_node(check, rec->node)->nports;

	if (value < nports || (field->rule == RECORD_PORT_OR_NONE && value == REC_NO_PORT))
		return 0;
	return record_wrong(rec, field->name, value, err, "below %u: so many ports the node has%s", nports,
			    field->rule == RECORD_PORT_OR_NONE ? "; or 65535, none" : "");
}

static int
check_node(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t value,
	   struct err *err)
{
	const struct known_node *node = known_node(check, (uint32_t)value);
	bool host = field->rule == RECORD_HOST_OR_NONE, any = field->rule == RECORD_NODE_OR_NONE;
	bool needed = field->rule == RECORD_SWITCH;

	if (node != NULL ? any || node->host == host : value == REC_NONE && !needed)
		return 0;
	return record_wrong(rec, field->name, value, err, "a described %s%s",
			    any    ? "node"
			    : host ? "host"
				   : "switch",
			    needed ? "" : "; or 4294967295, none");
}

/* A span of time, which began where the field before it says. */
static int
check_until(const struct rec_hdr *rec, const struct record_field *field, uint64_t value, struct err *err)
{
	uint64_t from_ps = *(const uint64_t *)(const void *)((const uint8_t *)rec + field->at - sizeof(from_ps));

	if (value > rec->time_ps + RECORD_AHEAD_PS)
		return record_wrong(rec, field->name, value, err, "at most %" PRIu64,
				    (uint64_t)(rec->time_ps + RECORD_AHEAD_PS));
	if (value < from_ps)
		return record_wrong(rec, field->name, value, err, "%" PRIu64 " at least, where it begins", from_ps);
	return 0;
}

/* A span of epochs, in their numbers. */
static int
check_epochs(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t last,
	     struct err *err)
{
	uint32_t first = *(const uint32_t *)(const void *)((const uint8_t *)rec + field->at - sizeof(first));
	uint64_t began = rec->time_ps / check->epoch_ps;

	if (last < first)
		return record_wrong(rec, field->name, last, err, "at least %u, the first", first);
	if (last > began)
		return record_wrong(rec, field->name, last, err, "at most %" PRIu64 ", the one of its report", began);
	return 0;
}

static int
check_field(struct record_check *check, const struct rec_hdr *rec, uint32_t index, struct err *err)
{
	const struct record_field *field = &record_kinds[rec->type].fields[index];
	uint64_t value = value_of(rec, field), most;

	switch ((enum record_rule)field->rule) {
	case RECORD_ANY:
		return 0;
	case RECORD_RANGE:
		if (value >= field->min && value <= field->max)
			return 0;
		return record_wrong(rec, field->name, value, err, "%" PRIu64 " to %" PRIu64, field->min, field->max);
	case RECORD_HOST_OR_NONE:
	case RECORD_NODE_OR_NONE:
	case RECORD_SWITCH:
	case RECORD_SWITCH_OR_NONE:
		return check_node(check, rec, field, value, err);
	case RECORD_PORT:
	case RECORD_PORT_OR_NONE:
		return check_port(check, rec, field, value, err);
	case RECORD_TIME:
		most = RECORD_MAX_PS;
		break;
	case RECORD_PAST:
		most = rec->time_ps + RECORD_AHEAD_PS;
		break;
	case RECORD_COUNT:
		most = RECORD_MAX_SUM - check->sums[rec->type][index];
		most = most < RECORD_MAX_COUNT ? most : RECORD_MAX_COUNT;
		break;
	case RECORD_UNTIL:
		return check_until(rec, field, value, err);
	case RECORD_LAST_EPOCH:
		return check_epochs(check, rec, field, value, err);
	case RECORD_STEP:
		return record_check_step(check, rec, field, err) != NULL ? 0 : -EINVAL;
	case RECORD_REPORT_KIND:
		return record_is_report((uint32_t)value)
			       ? 0
			       : record_wrong(rec, field->name, value, err, "a kind that nodes report");
	case RECORD_TUPLE:
		value = ((const struct rec_tuple *)(const void *)((const uint8_t *)rec + field->at))->reserved;
		return value == 0 ? 0 : record_wrong(rec, field->name, value, err, "0 in its reserved part");
	case RECORD_NAME:
	case RECORD_TEXT:
		return check_name(rec, field, err);
	default:
		return 0;
	}
	return value <= most ? 0 : record_wrong(rec, field->name, value, err, "at most %" PRIu64, most);
}

static void
add_sums(struct record_check *check, const struct rec_hdr *rec)
{
	const struct record_kind *kind = &record_kinds[rec->type];

	for (uint32_t i = 0; i < kind->nfields; i++)
		if (kind->fields[i].rule == RECORD_COUNT)
			check->sums[rec->type][i] += value_of(rec, &kind->fields[i]);
}
