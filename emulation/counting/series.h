/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples that counting takes, and their state: shared by the files of this folder. */
#pragma once

#include <stdbool.h>

#include "emulation/emulation.h"
#include "store/store.h"

struct live_counters;

/* Octets of frames with FCS, without preamble and gap (RFC 3635, 3.2.2). */
struct port_sample {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
};

/* What a port had at its last row, and the most of its watermarks in all rows so far. */
struct class_seen {
	uint64_t queue_bytes, shared_bytes, headroom_bytes;
};

struct port_seen {
	uint64_t rx_bytes, tx_bytes, drops, pauses; /* pauses: received by a NIC, of all classes */
	struct class_seen most[STORE_CLASSES];
};

struct series {
	const struct emulation *emulation;
	struct run_store *store;
	bool streams;                            /* the run goes on: rows go through the buffer */
	bool incomplete;                         /* the buffer had no room for all rows of this sample */
	uint64_t period_ps, next_ps, sampled_ps; /* sampled_ps: the last sample */
	uint64_t most_rows, rows;
	uint64_t samples, skipped; /* taken; with rows left out, which the next ones make up for */
	uint64_t half_samples;     /* when half of the rows were used */
	uint64_t coarsest_ps;
	uint64_t *node_work;        /* [nnodes] that the last sample found */
	struct port_seen *seen;     /* [nports] */
	struct live_counters *live; /* NULL: nothing can ask for counters */
};

/* @param dir  of the run. @return 0 or negative errno with err set */
int series_init(struct series *series, const struct emulation *emulation, struct run_store *store, struct err *err);
void series_fini(struct series *series);

/* Between windows: a sample, where one is due. Never waits. */
void series_collect(struct series *series, uint64_t now_ps);
/* After the run, and after run_store_settle(): the last sample, whatever it costs. */
void series_finish(struct series *series, uint64_t end_ps);

/* Counters of the MACs at a port, as of the last window taken in. */
struct port_sample port_sample_of(const struct node *node, uint16_t port);

/* What a port dropped: of errors, at the ingress, at the egress. */
struct port_drop_sums {
	uint64_t errors, ingress, egress;
};
struct port_drop_sums port_drop_sums_of(const struct emulation *emulation, uint32_t node, uint16_t port);

/* Writes what the counters are at the end of the run. */
void totals_write(const struct series *series, uint64_t end_ps);
/* Writes nodes, ports, jobs, collectives and flows. @param all  the configuration and steps, too */
void rows_write(const struct emulation *emulation, struct run_store *store, bool all);

/*
 * The store of a run, DIR/run.sqlite: a service that takes a sample of all counters between windows, at the grain of
 * counters.period, and what is written once the run is over. It changes nothing of the run, and no diagnosis reads it.
 */

/* Does nothing where counters.enabled is false. Just before the first window. @return 0 or negative errno with err set */
int counting_begin(struct emulation *emulation, const char *dir, struct err *err);

/*
 * After the run: the last sample, totals, steps, flows and jobs; the file is whole then. Does nothing without a store.
 * @return 0, or negative errno with err set: it cannot be written, and was removed
 */
int counting_end(struct emulation *emulation, struct err *err);

/*
 * Counters of a run while it goes on, for `rocelab show --live`: a thread listens at DIR/live, whose name a lock owns
 * (common/unix_socket.h). Where one asks, the thread that collects writes all counters into memory, between windows, and
 * the thread sends them. Nothing is done for it as long as nothing asks.
 */

struct live_counters;
struct snapshot;

/* @return NULL: it cannot listen, which is logged: a run does without */
struct live_counters *live_counters_create(const char *dir);
void live_counters_destroy(struct live_counters *live);

/* The thread that collects. Is there one to be written? Never waits. */
struct snapshot *live_counters_asked(struct live_counters *live);
/* It is written. Never waits. */
void live_counters_answer(struct live_counters *live);
