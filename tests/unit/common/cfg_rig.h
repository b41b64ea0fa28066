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
	{ "enabled", CFG_BOOL, F(enabled), "true", 0, 0, NULL, "PFC on or off." },
	{ "model", CFG_ENUM, F(model), "dynamic", 0, 0, models, "Threshold model." },
	{ "alpha", CFG_FLOAT, F(alpha), "0.125", 0.001, 8, NULL, "Share." },
	{ "headroom", CFG_BYTES, F(headroom_bytes), "20KB", 1000, 1e6, NULL, "Room per ingress." },
	{ "interval", CFG_TIME, F(interval_ps), "2us", 1000, 1e12, NULL, "Between two." },
	{ "rate", CFG_RATE, F(rate_bps), "", 1e6, 1e12, NULL, "Of the link." },
	{ "ports", CFG_INT, F(ports), "4", 1, -1, NULL, "How many." },
	{ "name", CFG_STRING, F(name), "", 0, 0, NULL, "Label." },
	{ "classes", CFG_STRINGS, F(classes), "", 0, 0, NULL, "Lossless classes." },
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
	{ "src", CFG_STRING, offsetof(struct flow_cfg, src), NULL, 0, 0, NULL, "Sender." },
	{ "dst", CFG_STRING, offsetof(struct flow_cfg, dst), NULL, 0, 0, NULL, "Receiver." },
	{ "bytes", CFG_BYTES, offsetof(struct flow_cfg, size_bytes), "1MB", 0, 0, NULL, "Size." },
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
	{ "port", CFG_STRING, offsetof(struct fault_cfg, port), NULL, 0, 0, NULL, "Where." },
};
static const struct cfg_field loss_fields[] = {
	{ "port", CFG_STRING, offsetof(struct fault_cfg, port), NULL, 0, 0, NULL, "Where." },
	{ "probability", CFG_FLOAT, offsetof(struct fault_cfg, rate), "0.5", 0, 1, NULL, "How often." },
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
