/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict as plain data: what the analyzer concluded and all that a report needs to show why.
 * Things are named by index into the tables below (nodes, ports, flows, steps, collectives); VERDICT_NONE is none.
 * Every table is sorted and holds no pointers' order: the same records give the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/record.h"

#define VERDICT_SCHEMA_VERSION 1
#define VERDICT_NONE UINT32_MAX

/* ---- what is configured (header records) ---- */

struct verdict_run {
	char name[REC_NAME_LEN + 1];
	uint32_t policy; /* enum rec_policy */
	uint32_t detections, rtt_percent, epochs_kept;
	uint64_t epoch_ps;
	uint64_t budget_bps; /* bytes a second, 0: unlimited */
	uint32_t frame_bytes, payload_bytes, ack_bytes;
	uint64_t jitter_ps;    /* by so much a host may be late without being slow */
	bool exact_contention; /* weights w(f_i,f_j) come from matrices, beyond what hardware reports */
};

/* Index = topology node id. */
struct verdict_node {
	char name[REC_NAME_LEN + 1];
	bool host;
	uint32_t first_port, nports; /* its ports in verdict.ports, consecutive */
};

/* A connector: egress towards the peer, and the ingress from it. Activity sums all telemetry rows received. */
struct verdict_port {
	char name[48]; /* "6:2": node:port index + 1 */
	uint32_t node;
	uint16_t index;     /* from 0 */
	uint32_t peer_node; /* VERDICT_NONE: none */
	uint32_t peer_port; /* index into verdict.ports, VERDICT_NONE: none */
	uint32_t ip;        /* of a host's NIC, else 0 */
	uint64_t rate_bps, delay_ps;

	bool reported;        /* any row came */
	bool paused, pausing; /* in the latest row: by its peer; its peer */
	uint64_t packets, bytes, depth_sum, paused_packets, pause_ps;
	uint64_t pauses_received, pauses_sent;
	uint32_t depth_max;
	uint64_t queue_packets, queue_bytes; /* in the latest row */
	uint64_t drops;
};

/* Every flow met in schedule or telemetry, sorted by tuple. */
struct verdict_flow {
	char name[96]; /* "17->18/10000>10000": "src->dst/sport>dport" */
	struct rec_tuple tuple;
	uint32_t src, dst; /* nodes, VERDICT_NONE: unknown address */
	bool collective;   /* in the schedule; else seen by switches only */
};

struct verdict_collective {
	uint32_t id, iteration;
	uint32_t algorithm, op; /* enum rec_algorithm, enum rec_op */
	uint32_t ranks, steps_per_rank;
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it */
	uint64_t step_bytes;          /* largest step */
	uint64_t start_ps, end_ps;    /* end: of the last step; 0 if not complete */
	uint64_t ideal_ps, expect_ps; /* durations */
	bool complete;
	uint32_t first_step, nsteps; /* its steps in verdict.steps, consecutive, rank major */
};

/* Drop counters of a port, latest. */
struct verdict_drop {
	uint32_t port;
	uint32_t reason; /* enum rec_drop */
	uint32_t flow;   /* of the last packet dropped */
	uint64_t packets, bytes;
	uint64_t first_ps, last_ps;
};

/* A hop of a configured path. Sorted by (flow, reverse, hop). */
struct verdict_hop {
	uint32_t flow, port;
	uint16_t hop;
	bool reverse; /* path of the ACKs */
};

/* ---- steps and the waiting graph (III-B, III-D1) ---- */

struct verdict_step {
	uint32_t collective, flow;
	uint32_t rank, step; /* step from 1 */
	uint32_t host;       /* sender */
	uint64_t bytes, acked_bytes;
	bool reported; /* its host sent a record; else only the schedule is known */
	bool started;
	bool open;     /* not finished when the run (or the stream) ended */
	bool critical; /* on the critical path */
	bool slow; /* exec above expect by more than VERDICT_SLOW_PERCENT and the jitter, or stuck when the run failed */
	uint64_t start_ps, end_ps; /* of an open step: the end of the run */
	uint64_t ideal_ps, expect_ps, base_rtt_ps;
	uint64_t late_ps;    /* start later than everything it depends on: the host's own delay */
	uint32_t previous;   /* its own previous step, or VERDICT_NONE */
	uint32_t depends;    /* the step whose data it sends on, or VERDICT_NONE */
	uint32_t waited_for; /* the one of the two that it actually waited for, or VERDICT_NONE: neither */
	uint32_t retransmits;
	uint32_t detections; /* polls it triggered */
	uint32_t graph;      /* its provenance graph, or VERDICT_NONE */
	double completeness; /* share of the telemetry bytes of its time that was sent */
};
#define VERDICT_SLOW_PERCENT 1

enum verdict_wvertex_kind { VERDICT_WV_START, VERDICT_WV_END, VERDICT_WV_COLLECTIVE_END };

struct verdict_wvertex {
	uint32_t kind; /* enum verdict_wvertex_kind */
	uint32_t step; /* index into verdict.steps; VERDICT_NONE for the collective's end */
	uint64_t time_ps;
	bool pruned; /* nobody waited for it */
	bool critical;
};

enum verdict_wedge_kind {
	VERDICT_WE_EXEC, /* dark: end -> start of one step; weight: execution time */
	VERDICT_WE_OWN,  /* light: start -> end of its own previous step; weight 0 */
	VERDICT_WE_DATA, /* light: start -> end of the step whose data it needs; weight 0 */
	VERDICT_WE_LAST, /* collective end -> end of a rank's last step; weight 0 */
};

/* from waits for to. */
struct verdict_wedge {
	uint32_t kind;
	uint32_t from, to; /* indices into vertices of this graph */
	uint64_t weight_ps;
	bool pruned, critical;
};

/* One per collective (same index as verdict.collectives). */
struct verdict_waiting {
	struct verdict_wvertex *vertices;
	uint32_t nvertices;
	struct verdict_wedge *edges;
	uint32_t nedges;
	uint32_t *path; /* critical path: indices into verdict.steps in order of time; the last may be open */
	uint32_t npath;
	uint64_t exec_ps; /* sum of the execution times on it */
};

/* ---- provenance graphs (III-D1) ---- */

enum verdict_pvertex_kind { VERDICT_PV_PORT, VERDICT_PV_FLOW };

struct verdict_pvertex {
	uint32_t kind;             /* enum verdict_pvertex_kind */
	uint32_t ref;              /* index into verdict.ports or verdict.flows */
	bool collective;           /* flow: in the schedule (CF) */
	bool victim;               /* flow: the one whose step this graph explains */
	bool paused;               /* port: halted by its peer within the graph's time */
	bool pausing;              /* port: its ingress told its peer to stop within the graph's time */
	double packets, depth_sum; /* port: within the graph's time */
	double pause_ps;
};

enum verdict_pedge_kind {
	VERDICT_PE_FLOW_PORT, /* w(f,p): packet-waits of the flow behind others at the port */
	VERDICT_PE_PORT_FLOW, /* w(p,f): packet-waits that the flow contributed to the port */
	VERDICT_PE_PORT_PORT, /* w(p_i,p_j): share of what halted p_i sends that goes to p_j */
};

struct verdict_pedge {
	uint32_t kind;
	uint32_t from, to; /* indices into vertices of this graph */
	double weight;
};

/* w(f_i,f_j) at one port. */
struct verdict_pwait {
	uint32_t port, flow, other; /* indices into vertices of this graph; flow waits behind other */
	double weight;
};

/* R(f, cf) of Eq. 2: what flow did to this step. */
struct verdict_pscore {
	uint32_t flow; /* index into verdict.flows */
	double score;
};

/* One per slow step with telemetry; over every epoch reported that touches the step's time. */
struct verdict_provenance {
	uint32_t step; /* index into verdict.steps */
	uint64_t from_ps, to_ps;
	uint32_t epoch_first, epoch_last;
	bool present;      /* kept epochs were empty at some port: its weights come from queues as they stood */
	bool cyclic;       /* ports wait for each other in a circle */
	double covered_ps; /* of the step's time, at the port that was reported for most of it */
	struct verdict_pvertex *vertices;
	uint32_t nvertices;
	struct verdict_pedge *edges;
	uint32_t nedges;
	struct verdict_pwait *waits;
	uint32_t nwaits;
	struct verdict_pscore *scores; /* largest first */
	uint32_t nscores;
};

/* ---- detections, polls, gaps ---- */

struct verdict_detection {
	uint32_t event; /* polling event id */
	uint32_t step, host;
	uint32_t cause; /* enum rec_trigger_cause */
	uint64_t time_ps, rtt_ps, threshold_ps;
	uint32_t remaining;
};

struct verdict_poll {
	uint32_t event, node, flow; /* flow: the victim it asks about */
	uint64_t time_ps;
	uint32_t in_port, out_port; /* indices into verdict.ports, VERDICT_NONE: none */
	uint32_t flags, ttl;
	bool out_paused, repeated;
};

struct verdict_notification {
	uint32_t from, to; /* hosts */
	uint64_t time_ps;
	uint32_t collective, step; /* the collective's id in the scenario; step number of the sender */
	uint32_t detections;
};

struct verdict_gap {
	uint32_t kind; /* enum rec_type */
	uint64_t dropped, dropped_bytes;
	uint64_t from_ps, to_ps;
};

/* ---- conclusions ---- */

enum verdict_type {
	VERDICT_FLOW_CONTENTION,
	VERDICT_INCAST,
	VERDICT_PFC_BACKPRESSURE,
	VERDICT_PFC_STORM,
	VERDICT_PFC_DEADLOCK,
	VERDICT_FORWARDING_LOOP,
	VERDICT_LOAD_IMBALANCE,
	VERDICT_PACKET_LOSS,
	VERDICT_LINK_DOWN,
	VERDICT_BLACKHOLE,
	VERDICT_SLOW_HOST,
	VERDICT_TYPES
};

struct verdict_finding {
	uint32_t type;      /* enum verdict_type */
	char root[64];      /* port "6:2", or a host's name for slow_host */
	uint32_t root_port; /* index into verdict.ports, VERDICT_NONE: root is not a port */
	uint32_t
		origin_port; /* of a deadlock: port out of the loop whose pauses began it, VERDICT_NONE: it began in the loop */
	uint32_t *ports;     /* ports involved: from the first victim's to the root, then those of further victims */
	uint32_t nports;
	uint32_t *flows; /* culprits, worst first */
	uint32_t nflows;
	uint32_t *victims; /* flows of the collective */
	uint32_t nvictims;
	uint32_t *steps; /* slow steps it explains: into verdict.steps (JSON prints step numbers, once each) */
	uint32_t nsteps;
	uint32_t collective; /* index into verdict.collectives */
	uint64_t start_ps, end_ps;
	double score;        /* packet-waits caused to the victims */
	double explained_ps; /* of the time that these steps lost, an estimate; of several findings it may be the same time */
	double critical_ps; /* of it, on the critical path; sorts the list, largest first, then the score does */
	char evidence[512]; /* a sentence with the numbers */
};

struct verdict_share {
	uint32_t step; /* a step of the critical path: index into verdict.steps */
	double score;  /* R(f, cf) of Eq. 2 */
};

/* A flow outside the collective, rated by Eq. 3. Largest first. */
struct verdict_contributor {
	uint32_t flow;
	double score;
	struct verdict_share *shares;
	uint32_t nshares;
};

/* What came of one kind of record. */
struct verdict_kind {
	uint32_t kind;                   /* enum rec_type */
	uint64_t records, bytes;         /* received */
	uint64_t dropped, dropped_bytes; /* kept back by the budget */
};

struct verdict_overhead {
	uint64_t row_bytes; /* received from switches and NICs: polls and rows, as records of the stream */
	/* Of the network (common/report.h), before the exporter's budget; not known of a truncated stream. */
	uint64_t triggers;                                     /* detections that hosts spent */
	uint64_t reports, telemetry_bytes;                     /* kept: with all headers, the paper's processing overhead */
	uint64_t reports_collected, telemetry_bytes_collected; /* all that were made; more of policy hawkeye only */
	uint64_t bandwidth_bytes;                /* reports kept, polling packets and notification packets (IV-B) */
	uint64_t records;                        /* received, all kinds */
	uint64_t polling_packets, polling_bytes; /* on every link */
	uint64_t notification_packets, notification_bytes;
	uint64_t report_bytes;      /* sent by the exporter */
	uint64_t deferred, dropped; /* records */
	uint64_t left_out;          /* records that were not as they have to be */
	uint64_t astray;            /* records that the end record counts, and that did not arrive */
	/*
	 * Share of what was to be reported that arrived: of the reports' bytes, and of the steps. 1 with nothing lost; 0 of
	 * a truncated stream: not known.
	 */
	double completeness;
	struct verdict_kind *kinds;
	uint32_t nkinds;
};

struct verdict {
	struct verdict_run run;
	bool truncated;           /* the stream ended without its end record */
	uint32_t end_reason;      /* enum rec_end_reason, if not truncated */
	uint32_t recording_errno; /* the recording broke off before this stream did: why; 0: it is whole */
	uint32_t end_node;        /* QP error: host, else VERDICT_NONE */
	uint64_t end_ps;          /* of the run; truncated: time of the last record */

	bool innocent;         /* nothing in the network explains the time */
	char reason[512];      /* a sentence */
	char incomplete[1024]; /* a sentence on what evidence is missing; empty if none is */

	struct verdict_node *nodes;
	uint32_t nnodes;
	struct verdict_port *ports;
	uint32_t nports;
	struct verdict_flow *flows;
	uint32_t nflows;
	struct verdict_hop *hops;
	uint32_t nhops;
	struct verdict_collective *collectives;
	uint32_t ncollectives;
	struct verdict_step *steps;
	uint32_t nsteps;
	struct verdict_waiting *waiting; /* [ncollectives] */
	struct verdict_provenance *graphs;
	uint32_t ngraphs;
	uint32_t graphs_skipped; /* slow steps beyond VERDICT_MAX_GRAPHS, not explained */
	struct verdict_detection *detections;
	uint32_t ndetections;
	struct verdict_poll *polls;
	uint32_t npolls;
	struct verdict_notification *notifications;
	uint32_t nnotifications;
	struct verdict_gap *gaps;
	uint32_t ngaps;
	struct verdict_drop *drops;
	uint32_t ndrops;

	struct verdict_finding *findings;
	uint32_t nfindings;
	struct verdict_contributor *contributors;
	uint32_t ncontributors;
	struct verdict_overhead overhead;
};
#define VERDICT_MAX_GRAPHS 4096
#define VERDICT_WATCHED_SHARE 0.5 /* of a slow step's time: telemetry of less cannot say that the network is innocent */

struct evidence;

struct verdict_options {
	/*
	 * w(p_i,p_j) as the share of p_i in what all senders feed to p_j, instead of the share of p_j in what p_i
	 * sends (the default): the other reading of the paper's formula.
	 */
	bool share_by_senders;
};

/*
 * Draws every conclusion from one record stream.
 * @param options  NULL: defaults
 * @param out  set to the verdict on success, to be freed by verdict_destroy()
 * @return 0; -E2BIG with err past the limit of findings; -ENOMEM
 */
int verdict_build(const struct evidence *evidence, const struct verdict_options *options, struct verdict **out,
		  struct err *err);
void verdict_destroy(struct verdict *verdict);

/* Did the run end by itself, with all of its collectives done? */
bool verdict_finished(const struct verdict *verdict);

/* "flow_contention", ... as in verdict.json. */
const char *verdict_type_name(enum verdict_type type);
