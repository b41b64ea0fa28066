/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario brought to life: switches, hosts and their programs on a fabric, from the first window to the last. */
#pragma once

#include "cli/emulation/nic_rows.h"
#include "cli/emulation/scenario.h"
#include "dpswitch/edge/capture.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/telemetry/exporter.h"
#include "rxe-hosts/device/embedded.h"
#include "rxe-hosts/steps/engine.h"

struct emulation {
	struct scenario *scenario;
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches;       /* [nnodes] NULL for hosts */
	struct node **hosts;        /* [nnodes] NULL for switches */
	struct nic_rows *nic_rows;  /* [nnodes] of hosts */
	struct step_engine **engines; /* [nnodes] NULL for switches */
	struct embedded_shared *shared;
	struct fault_list *faults;
	struct fault_env fault_env;
	struct exporter *exporter;
	struct recbuf **records;    /* [nnodes] of the nodes, in order */
	struct exporter_stats export;
	struct capture *capture;    /* NULL: none */
	int capture_errno;          /* that cut its file short, 0: none */
	/* the run as measured */
	uint64_t wall_ns, cpu_ns;
	uint64_t start_wall_ns, shown_ns; /* progress */
	bool progress;              /* show it on stderr */
	const char *error_text;     /* a QP or buffer error, NULL: none */
};

/*
 * Builds everything. EAL need not run.
 * @return NULL with err set
 */
struct emulation *emulation_create(struct scenario *scenario, uint32_t lcores, struct err *err);
void emulation_destroy(struct emulation *emulation);

/*
 * Before and after the fabric runs (dpswitch/lcore, or fabric_run() in a plain thread).
 * @param exporter  takes the records; must outlive the emulation
 */
void emulation_begin(struct emulation *emulation, struct exporter *exporter);
void emulation_end(struct emulation *emulation);

/* An invariant of the run and what it found. */
struct invariant {
	const char *name;
	bool holds;
	char text[192];
};

#define EMULATION_INVARIANTS 7

/* Checks a finished run. @return number that failed */
uint32_t emulation_check(const struct emulation *emulation, struct invariant results[EMULATION_INVARIANTS]);
