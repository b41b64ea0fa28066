/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario brought to life: switches, hosts and their programs on a fabric, from the first window to the last. */
#pragma once

#include "common/wire/record_run.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/edge/capture/capture.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/hosts.h"
#include "emulation/part.h"
#include "emulation/recorder/exporter.h"
#include "emulation/scenario/scenario.h"
#include "emulation/volumes.h"
#include "rxe-hosts/controller/controller.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "rxe-hosts/probe/agent.h"
#include "rxe-hosts/steps/engine.h"
#include "topo/convergence.h"

/* What a fabric is for, see hosts.h. */
enum emulation_phase {
	EMULATION_PREPARE, /* hosts connect: no telemetry, no faults, no time limits but one */
	EMULATION_RUN,
};

struct emulation {
	struct scenario *scenario;
	struct host_driver drivers[2]; /* [ndrivers] of embedded hosts; of external ones, if there may be any */
	uint32_t ndrivers, nbegun;     /* nbegun: of these have begun with the fabric */
	const struct part *part;       /* of a fabric that several programs run; NULL: all of it is here */
	enum emulation_phase phase;
	uint32_t lcores;
	struct pacer pacer;    /* real time */
	uint64_t collected_ps; /* records of what happened before have been passed on */
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches;                 /* [nnodes] NULL for hosts */
	struct node **hosts;                  /* [nnodes] NULL for switches */
	const struct host_driver **driver_of; /* [nnodes] NULL for switches */
	struct step_engine **engines;         /* [nnodes] NULL for switches */
	struct probe_agent **agents;          /* [nnodes] of R-Pingmesh; NULL for switches, all without it */
	struct controller *controller;        /* of R-Pingmesh; NULL: none */
	struct flow_tracing *tracing;         /* FlowTracer; NULL: none */
	struct outsiders *outsiders;          /* programs that follow the run, borrowed; NULL: none */
	struct embedded_shared *shared;
	struct fault_list *faults;
	struct fault_env fault_env;
	struct volumes_owned volumes;    /* what switches' monitors are told */
	const struct foretold *foretold; /* of that, what runs made before saw; NULL: nothing */
	struct convergence *convergence; /* NULL: no fault cuts a cable */
	uint64_t reroutes;               /* times that it changed the routes */
	struct exporter *exporter;
	struct recbuf **records; /* [nnodes] of the nodes, in order */
	struct exporter_stats export;
	struct capture *capture; /* NULL: none */
	int capture_errno;       /* that cut its file short, 0: none */
	struct rec_end end;      /* totals of the stream, once it has ended */
	/* the run as measured */
	uint64_t wall_ns, cpu_ns;
	uint64_t start_wall_ns, shown_ns; /* progress */
	bool progress;                    /* show it on stderr */
	/* real time: answers whoever asks devices; never waits. NULL: nobody may */
	void (*serve)(void *ctx);
	void *serve_ctx;
	struct lateness *lateness; /* real time: how late the machine is, borrowed; NULL: virtual time */
	struct counters *counters; /* for other threads, borrowed; NULL: none asks */
	const char *error_text;    /* a QP or buffer error, NULL: none */
};

struct emulation_options {
	uint32_t lcores;
	const struct host_driver *external; /* NULL: every host must be embedded */
	enum emulation_phase phase;
	const struct foretold *foretold; /* NULL: not asked for, or not told; borrowed */
	const struct part *part;         /* NULL: all of the fabric is here; borrowed */
};

/*
 * Builds everything. EAL need not run, but for external hosts.
 * @return NULL with err set
 */
struct emulation *emulation_create(struct scenario *scenario, const struct emulation_options *options, struct err *err);
void emulation_destroy(struct emulation *emulation);

/*
 * Before and after the fabric runs (dpswitch/lcore, or fabric_run() in a plain thread).
 * @param exporter  takes the records; must outlive the emulation. NULL in the first phase: nobody wants them
 * @param zero_ns   real time: clock_now_ns() at time 0 of the run
 */
void emulation_begin(struct emulation *emulation, struct exporter *exporter, uint64_t zero_ns);
void emulation_end(struct emulation *emulation);

/* By how much clocks of this program's hosts may differ from its run's, of the worst; 0: they have none of their own. */
uint64_t emulation_clock_error_ns(const struct emulation *emulation);

/* Packets that a port of a node dropped for a reason. */
uint64_t emulation_dropped(const struct emulation *emulation, uint32_t node, uint16_t port, enum rec_drop reason);

/* An invariant of the run and what it found. */
struct invariant {
	const char *name;
	bool holds;
	char text[192];
};

#define EMULATION_INVARIANTS 7

/* Checks a finished run. @return number that failed */
uint32_t emulation_check(const struct emulation *emulation, struct invariant results[EMULATION_INVARIANTS]);

/* The truth of a port, a switch's or a NIC's; NULL: none is kept, of a host with its own kernel. */
const struct port_truth *emulation_truth_of(const struct emulation *emulation, uint32_t node, uint16_t port);
