/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration of every kind of value, group and list. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/cfg/cfg.h"

struct pfc {
	struct cfg_where where;
	bool enabled;
	int model;
	double alpha;
	uint64_t headroom_bytes;
	uint64_t interval_ps;
	uint64_t rate_bps;
	int64_t ports;
	const char *name;
	struct cfg_strings classes;
};

/* In another order than the values. */
enum model { MODEL_DYNAMIC = 3, MODEL_STATIC = 7 };
static const struct cfg_choice models[] = {
	{ .name = "static", .value = MODEL_STATIC },
	{ .name = "dynamic", .value = MODEL_DYNAMIC },
	{ 0 },
};

#define F(field) offsetof(struct pfc, field)
static const struct cfg_field pfc_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, F(enabled), .def = "true", .doc = "PFC on or off."),
	CFG_FIELD("model", CFG_ENUM, F(model), .def = "dynamic", .choices = models, .doc = "Threshold model."),
	CFG_FIELD("alpha", CFG_FLOAT, F(alpha), .def = "0.125", .min = 0.001, .max = 8, .doc = "Share."),
	CFG_FIELD("headroom", CFG_BYTES, F(headroom_bytes), .def = "20KB", .min = 1000, .max = 1e6,
		  .doc = "Room per ingress."),
	CFG_FIELD("interval", CFG_TIME, F(interval_ps), .def = "2us", .min = 1000, .max = 1e12, .doc = "Between two."),
	CFG_FIELD("rate", CFG_RATE, F(rate_bps), .def = "", .min = 1e6, .max = 1e12, .doc = "Of the link."),
	CFG_FIELD("ports", CFG_INT, F(ports), .def = "4", .min = 1, .max = -1, .doc = "How many."),
	CFG_FIELD("name", CFG_STRING, F(name), .def = "", .doc = "Label."),
	CFG_FIELD("classes", CFG_STRINGS, F(classes), .def = "", .doc = "Lossless classes."),
};
#undef F
static const struct cfg_gone pfc_gone[] = { { "on", "enabled" }, { 0 } };
static const struct cfg_table pfc_table = { .path = "switch.pfc",
					    .doc = "Flow control.",
					    .size = sizeof(struct pfc),
					    .fields = pfc_fields,
					    .nfields = ARRAY_LEN(pfc_fields),
					    .gone = pfc_gone };

struct flow_cfg {
	struct cfg_where where;
	const char *src, *dst;
	uint64_t size_bytes;
};

static const struct cfg_field flow_fields[] = {
	CFG_FIELD("src", CFG_STRING, offsetof(struct flow_cfg, src), .doc = "Sender."),
	CFG_FIELD("dst", CFG_STRING, offsetof(struct flow_cfg, dst), .doc = "Receiver."),
	CFG_FIELD("bytes", CFG_BYTES, offsetof(struct flow_cfg, size_bytes), .def = "1MB", .doc = "Size."),
};
static const struct cfg_table flow_table = { .path = "flows",
					     .doc = "Background.",
					     .list = true,
					     .size = sizeof(struct flow_cfg),
					     .fields = flow_fields,
					     .nfields = 3,
					     .words = "src dst bytes" };

struct fault_cfg {
	struct cfg_where where;
	const char *port;
	double rate;
};

static const struct cfg_field storm_fields[] = {
	CFG_FIELD("port", CFG_STRING, offsetof(struct fault_cfg, port), .doc = "Where."),
};
static const struct cfg_field loss_fields[] = {
	CFG_FIELD("port", CFG_STRING, offsetof(struct fault_cfg, port), .doc = "Where."),
	CFG_FIELD("probability", CFG_FLOAT, offsetof(struct fault_cfg, rate), .def = "0.5", .max = 1, .doc = "How often."),
};
static const struct cfg_table storm_table = { .path = "faults",
					      .doc = "Storm.",
					      .list = true,
					      .size = sizeof(struct fault_cfg),
					      .fields = storm_fields,
					      .nfields = 1 };
static const struct cfg_table loss_table = { .path = "faults",
					     .doc = "Loss.",
					     .list = true,
					     .size = sizeof(struct fault_cfg),
					     .fields = loss_fields,
					     .nfields = 2 };

static const struct cfg_known known[] = {
	{ &pfc_table, NULL },
	{ &flow_table, NULL },
	{ &storm_table, "pfc-storm" },
	{ &loss_table, "loss" },
};
#define NKNOWN ARRAY_LEN(known)

static inline struct cfg *
load(const char *text)
{
	struct err err = { "" };
	struct cfg *cfg = cfg_load_string(text, "t.cfg", &err);

	if (cfg == NULL)
		fail_msg("%s", err.text);
	return cfg;
}
