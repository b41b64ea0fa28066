/* SPDX-License-Identifier: BSD-3-Clause */
/* What a system took of networks, by what its verdict accounts for. */
#include "common/wire/record.h"
#include "eval/compare/systems.h"
#include "eval/telemetry_bytes.h"

#define PROBE_BYTES 142 /* of link time: a probe, and each of its two ACKs (docs/pingmesh-agents.md) */

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static double
rounds(const json_t *verdict)
{
	const json_t *round;
	double bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(verdict, "flowtracer"), "rounds"), i, round) bytes +=
		number(round, "management_bytes");
	return bytes;
}

static double
polls(const json_t *verdict)
{
	const json_t *overhead = json_object_get(verdict, "overhead");

	return number(overhead, "polling_bytes") + number(overhead, "notification_bytes");
}

static double
probes(const json_t *verdict)
{
	const json_t *own = json_object_get(verdict, "pingmesh");

	return 3 * PROBE_BYTES *
	       (number(json_object_get(own, "cluster"), "rpingmesh.probe_total") +
		number(json_object_get(own, "service"), "rpingmesh.probe_total"));
}

double
compare_bytes(const struct compare_system *system, const json_t *verdict)
{
	const uint64_t kinds = compare_row_of(system)->kinds;
	double bytes = (double)telemetry_bytes(verdict, kinds) + rounds(verdict) + probes(verdict);

	/* The run that several share has one that polls: that is not the others'. */
	return (kinds >> REC_POLL & 1) != 0 ? bytes + polls(verdict) : bytes;
}
