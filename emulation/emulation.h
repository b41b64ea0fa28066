/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario brought to life: switches, hosts and their programs on a fabric, from the first window to the last. */
#pragma once

#include <jansson.h>

#include "common/wire/record_run.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "emulation/hosts.h"
#include "emulation/partition.h"
#include "emulation/recorder/exporter.h"
#include "emulation/service.h"

struct scenario;
struct sw;
struct prediction;

/* The purpose of a fabric, see hosts.h. */
enum emulation_phase {
	EMULATION_PREPARE, /* hosts connect: no telemetry, no faults, no time limits but one */
	EMULATION_RUN,
};

/* [count] of embedded hosts; of kernel hosts, if there may be any. The first `begun` have begun with the fabric. */
struct host_drivers {
	struct host_driver rows[2];
	uint32_t count, begun;
};

struct attached_services {
	struct {
		const struct run_service *of;
		void *state;
	} rows[RUN_SERVICES]; /* [count] in the order in which they change the fabric */
	uint32_t count;
};

/* A run as measured, once emulation_end() is through. */
struct emulation_result {
	uint64_t wall_ns, cpu_ns;
	struct exporter_stats export;
	struct rec_end end;     /* totals of the stream */
	const char *error_text; /* a QP or buffer error, NULL: none */
};

struct emulation {
	struct scenario *scenario;
	struct host_drivers drivers;
	const struct partition *partition; /* of a fabric that several programs run; NULL: all of it is here */
	enum emulation_phase phase;
	uint32_t lcores;
	struct pacer pacer;    /* real time */
	uint64_t collected_ps; /* records of earlier events have been passed on */
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches;                 /* [nnodes] NULL for hosts, and where another partition has the node */
	struct node **hosts;                  /* [nnodes] NULL for switches */
	const struct host_driver **driver_of; /* [nnodes] NULL for switches */
	struct step_engine **engines;         /* [nnodes] NULL for switches */
	struct recbuf **records;              /* [nnodes] of the nodes, in order */
	uint64_t largest_buffer_bytes;        /* of all switches, those of other partitions, too */
	struct attached_services services;
	struct embedded_shared *shared; /* of embedded hosts */
	struct exporter *exporter;
	struct emulation_result result;
};

struct emulation_options {
	uint32_t lcores;
	const struct host_driver *kernel_host; /* NULL: every host must be embedded */
	enum emulation_phase phase;
	const struct run_service *const *services; /* ends with NULL; NULL: none */
	const struct prediction *prediction;       /* of service_flowpulse; NULL: without prediction; borrowed */
	const struct partition *partition;         /* NULL: all of the fabric is here; borrowed */
};

/*
 * Builds everything. EAL needs to run for kernel hosts only.
 * @return NULL with err set
 */
struct emulation *emulation_create(struct scenario *scenario, const struct emulation_options *options, struct err *err);
void emulation_destroy(struct emulation *emulation);

/*
 * Before and after the fabric runs (dpswitch/lcore, or fabric_run() in a plain thread).
 * @param exporter  takes the records; must outlive the emulation. NULL in the first phase, whose records are
 *                  discarded
 * @param zero_ns   real time: clock_now_ns() at time 0 of the run
 */
void emulation_begin(struct emulation *emulation, struct exporter *exporter, uint64_t zero_ns);
void emulation_end(struct emulation *emulation);

/* Adds a service until emulation_destroy(), which destroys its state where the row requires it. */
void emulation_attach(struct emulation *emulation, const struct run_service *service, void *state);
/* The state of a service; NULL: this run has none. */
void *emulation_service(const struct emulation *emulation, const struct run_service *service);
/* The records that all services send before the run. */
void emulation_stream_head(const struct emulation *emulation, struct exporter *exporter);
/* The members of all services in run.json. */
void emulation_report(const struct emulation *emulation, json_t *root);

/* For parts of a run and its services, between windows: */
/* Signals to nodes whether their programs have work pending. A host that disconnected or failed ends the run. */
void emulation_watch_hosts(struct emulation *emulation);
/* First phase: whether all hosts that are here are connected, and nothing has moved for a while. */
bool emulation_ready(const struct emulation *emulation);
/* Before every window: actions that no node may take within one. */
void emulation_settle(const struct emulation *emulation);
/* Puts the reports that programs sent over channels of their own into their nodes' records. */
void emulation_take_reports(struct emulation *emulation);
/* Neither operators that ask devices nor DPDK's telemetry concern the fabric. @param now_ps  end of the last window */
void emulation_answer(const struct emulation *emulation, uint64_t now_ps);
/* Whether another partition runs a node. */
bool partition_is_remote(const struct emulation *emulation, uint32_t node);

/* By how much clocks of this program's hosts may differ from its run's, of the worst; 0: they have none of their own. */
uint64_t emulation_clock_error_ns(const struct emulation *emulation);

/* Packets that a port of a node dropped for a reason. */
uint64_t emulation_dropped(const struct emulation *emulation, uint32_t node, uint16_t port, enum rec_drop reason);

/* Did a switch of this process mark a packet (ECN)? */
bool emulation_marked(const struct emulation *emulation);

/* An invariant of the run and its result. */
struct invariant {
	const char *name;
	bool holds;
	char text[192];
};

#define EMULATION_INVARIANTS 8

/* Checks a finished run. @return number that failed */
uint32_t emulation_check(const struct emulation *emulation, struct invariant results[EMULATION_INVARIANTS]);

/* The truth of a port, a switch's or a NIC's; NULL: none is kept, of a host with its own kernel. */
const struct port_truth *emulation_truth_of(const struct emulation *emulation, uint32_t node, uint16_t port);

/* The head of the record stream: the configuration, as an operator would give it to the analyzer. */

/*
 * Sends REC_RUN, REC_NODE, REC_PORT, REC_COLLECTIVE, REC_SCHEDULE, REC_ROUTE and REC_ECMP. Nothing of faults or
 * background flows.
 */
void stream_head_send(const struct emulation *emulation, struct exporter *exporter);
