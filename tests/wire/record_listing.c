/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compiler knows of the record stream, a line each, for record_tables.py:
 *   version VERSION        kind NUMBER NAME BYTES TITLE
 *   field OFFSET NAME TYPE [count|end]        value KIND.FIELD NUMBER NAME
 */
#include <stdio.h>

#include "common/record/kinds.h"
#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"
#include "common/wire/probe.h"
#include "common/wire/volume.h"

static void
print_type(const struct record_field *field)
{
	if (field->rule == RECORD_TUPLE)
		puts("tuple");
	else if (field->rule == RECORD_NAME || field->rule == RECORD_TEXT)
		printf("char[%u]\n", field->size);
	else
		printf("u%u%s\n", 8 * field->size,
		       field->rule == RECORD_COUNT                                       ? " count"
		       : field->rule == RECORD_UNTIL || field->rule == RECORD_LAST_EPOCH ? " end"
											 : "");
}

static void
print_kind(uint16_t number, const struct record_kind *kind)
{
	printf("kind %u %s %u %s\n", number, kind->name, kind->size, kind->title);
	for (uint32_t i = 0; i < kind->nfields; i++) {
		printf("field %u %s ", kind->fields[i].at, kind->fields[i].name);
		print_type(&kind->fields[i]);
	}
}

#define VALUE(of, number, name) printf("value %s %d %s\n", of, number, name);
#define POLICY(id, number, name, ...) VALUE("RUN.policy", number, name)
#define ALGORITHM(id, number, name, ...) VALUE("COLLECTIVE.algorithm", number, name)
#define OP(id, number, name, ...) VALUE("COLLECTIVE.op", number, name)
#define CAUSE(id, number, name, ...) VALUE("TRIGGER.cause", number, name)
#define DROP(id, number, name, ...) VALUE("DROP_ROW.reason", number, name)
#define PREDICTION(id, number, name, ...) VALUE("MONITOR.prediction", number, name)
#define DETECTOR(id, number, name, ...) VALUE("MONITOR.detector", number, name)
#define PLACE(id, number, name, ...) VALUE("VOLUME_ALARM.place", number, name)
#define NOISE(id, number, name, ...) VALUE("VOLUME_ALARM.noise", number, name)
#define FLAW(id, number, name, ...) VALUE("VOLUME_FLAW.flaw", number, name)
#define PROBE_KIND(id, number, name, ...) VALUE("PROBE.kind", number, name)
#define PROBE_RESULT(id, number, name, ...) VALUE("PROBE.result", number, name)
#define ENDING(id, number, name, ...) VALUE("END.reason", number, name)

int
main(void)
{
	printf("version %d\n", REC_VERSION);
	for (uint16_t i = 0; i < RECORD_KINDS; i++)
		if (record_kinds[i].name != NULL)
			print_kind(i, &record_kinds[i]);
	REC_POLICIES(POLICY)
	COLL_ALGORITHMS(ALGORITHM)
	COLL_OPS(OP)
	REC_TRIGGER_CAUSES(CAUSE)
	REC_DROPS(DROP)
	REC_PREDICTIONS(PREDICTION)
	REC_DETECTORS(DETECTOR)
	REC_LOSS_PLACES(PLACE)
	REC_NOISES(NOISE)
	REC_VOLUME_FLAWS(FLAW)
	REC_PROBE_KINDS(PROBE_KIND)
	REC_PROBE_RESULTS(PROBE_RESULT)
	REC_ENDINGS(ENDING)
	return 0;
}
