/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/kinds.h"

#include "common/array.h"
#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"
#include "common/wire/probe.h"
#include "common/wire/trace.h"
#include "common/wire/volume.h"

/* The words of the lists of fields. */
#define RULE_ANY .rule = RECORD_ANY
#define RULE_RANGE(least, most) .rule = RECORD_RANGE, .min = (least), .max = (most)
#define RULE_ENUM(list) .rule = RECORD_RANGE, .max = ENUM_COUNT(list) - 1
#define RULE_ZERO .rule = RECORD_RANGE
#define RULE_FLAG .rule = RECORD_RANGE, .max = 1
#define RULE_TOTAL .rule = RECORD_TOTAL
#define RULE_COUNT .rule = RECORD_COUNT
#define RULE_TIME .rule = RECORD_TIME
#define RULE_PAST .rule = RECORD_PAST
#define RULE_UNTIL .rule = RECORD_UNTIL
#define RULE_LAST_EPOCH .rule = RECORD_LAST_EPOCH
#define RULE_HOST_OR_NONE .rule = RECORD_HOST_OR_NONE
#define RULE_SWITCH .rule = RECORD_SWITCH
#define RULE_SWITCH_OR_NONE .rule = RECORD_SWITCH_OR_NONE
#define RULE_NODE_OR_NONE .rule = RECORD_NODE_OR_NONE
#define RULE_PORT .rule = RECORD_PORT
#define RULE_PORT_OR_NONE .rule = RECORD_PORT_OR_NONE
#define RULE_STEP .rule = RECORD_STEP
#define RULE_TUPLE .rule = RECORD_TUPLE
#define RULE_NAME .rule = RECORD_NAME
#define RULE_TEXT .rule = RECORD_TEXT
#define RULE_REPORT_KIND .rule = RECORD_REPORT_KIND

#define FIELD(type, at_, member, rule_)                                                                                    \
	{ .name = #member, .at = (at_), .size = sizeof(((struct type *)0)->member), RULE_##rule_ },
#define FIELDS(number, KIND, kind, ...)                                                                                    \
	static const struct record_field kind##_fields[] = { REC_##KIND##_FIELDS(FIELD, rec_##kind) };
REC_KINDS(FIELDS)

#define KIND_ROW(number, KIND, kind, class_, reporter_, title_, relevance_)                                                \
	[number] = { .name = #KIND,                                                                                        \
		     .title = (title_),                                                                                    \
		     .size = sizeof(struct rec_##kind),                                                                    \
		     .class = REC_##class_,                                                                                \
		     .reporter = RECORD_##reporter_,                                                                       \
		     .relevance = (relevance_),                                                                            \
		     .fields = kind##_fields,                                                                              \
		     .nfields = ARRAY_LEN(kind##_fields) },

const struct record_kind record_kinds[RECORD_KINDS] = { REC_KINDS(KIND_ROW) };
