/* SPDX-License-Identifier: BSD-3-Clause */
/* All records of one stream, deduplicated, sorted and joined by index: the input of every part of the diagnosis. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/ledger.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_hdr.h"
#include "common/wire/record_paths.h"
#include "common/wire/record_probes.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "common/wire/record_volumes.h"

#define EV_NONE UINT32_MAX
#define EV_MAX_BYTES (8ULL << 30) /* of records kept; beyond it the stream is refused */

/* A growing array of records of one kind. */
struct ev_vec {
	void *data;
	uint32_t count, cap;
};

struct ev_node {
	char name[REC_NAME_LEN + 1];
	bool host;
	uint32_t first_port, nports;
};

/* Of a PROBE record what is asked for. */
struct ev_probe {
	uint64_t sent_ps, rtt_ps, prober_ps, responder_ps; /* as struct rec_probe has them */
	uint32_t tuple;                                    /* in probe_tuples */
	uint32_t target_qpn, seq;
	uint16_t kind, result;
};

/* Probes that followed each other in the stream. */
struct ev_probe_block {
	uint64_t first;              /* in bytes */
	uint64_t least_ps, most_ps;  /* when the first and the last of them were sent */
	uint32_t first_probe, count; /* by their order in the stream */
};

/* In the order of the stream, as differences from the one before: there may be tens of millions. */
struct ev_probes {
	uint8_t *bytes;
	uint64_t size, cap;
	struct ev_vec blocks; /* struct ev_probe_block */
	uint32_t count;
	struct ev_probe last;
};

/* Reads the probes of a block, one after the other. */
struct ev_probe_reader {
	const uint8_t *at;
	uint32_t left;
	struct ev_probe probe; /* the last that was read */
};

/* Of a NOTIFY record. */
struct ev_notify {
	uint64_t time_ps;
	uint32_t node, detections;
};

/* Telemetry bytes that arrived with one time stamp, rows replaced later included. */
struct ev_sent {
	uint64_t time_ps, bytes;
};

/* Global port id = index. */
struct ev_port {
	uint32_t node;
	uint16_t index;
	bool on_path;       /* a configured data path leaves by it */
	uint32_t peer_node; /* EV_NONE: none */
	uint32_t peer;      /* global port id at the other end, EV_NONE: none */
	uint32_t ip;
	uint64_t rate_bps, delay_ps;
	uint32_t first_epoch, nepochs;       /* in epochs[] */
	uint32_t first_feed, nfeeds;         /* in feeds[]: the egresses of what entered here */
	uint32_t first_state, nstates;       /* in states: reports of the moment */
	uint32_t first_poll, npolls;         /* in poll_by_port[]: polling packets that left here */
	uint32_t last_passed;                /* in passed[]: the last that entered here, EV_NONE: none */
	uint32_t first_overtake, novertakes; /* in overtakes: flows that took the link from data */
};

struct ev_flow {
	struct rec_tuple tuple;
	bool collective;
	uint32_t of;                 /* the collective's id, EV_NONE: of none */
	uint8_t prio;                /* as rows name its class; of a scheduled flow */
	bool probed;                 /* agents of R-Pingmesh probe, and trace, by its tuple */
	uint32_t src, dst;           /* nodes, EV_NONE: unknown address */
	uint32_t src_port, dst_port; /* their NICs, as global port ids */
	uint32_t first_seen, nseen;  /* in seen[]: ports with rows of this flow */
	uint32_t first_hop, nhops;   /* in hops[]: configured data path, and after it nback hops of the ACKs' */
	uint32_t nback;
	uint32_t first_poll, npolls; /* in poll_by_flow[]: polling packets that asked about it */
};

/* All rows of one port over one span of epochs: they were received with the same keys. */
struct ev_epoch {
	uint32_t port; /* global id */
	uint32_t epoch_first, epoch_last;
	uint64_t from_ps, to_ps;
	uint64_t begin_ps,
		reach_ps; /* first from_ps of it and those after it at the port, last to_ps of it and those before */
	uint32_t first_row, nrows;          /* in port_rows, a class each; nrows 0: they were lost */
	uint64_t packets, bytes, depth_sum; /* of all of them */
	uint32_t first_flow, nflows;        /* in flow_rows, and flow ids in flow_of_row */
	uint32_t first_matrix, nmatrix;     /* in matrix_rows */
	uint32_t first_state, nstates;      /* in flow_states, and flow ids in flow_of_state */
};

/* A meter row, and the time of its port's epoch. */
struct ev_feed_row {
	const struct rec_meter_row *row;
	uint64_t from_ps, to_ps;
	uint64_t begin_ps, reach_ps; /* as those of an epoch, the time of the report included, among the feed's rows */
};

/*
 * Reports of a port at equal times, each of an open epoch of which nothing was counted, without a queue or a pause. A
 * policy that asks all ports all the time gets little else where nothing runs.
 */
struct ev_quiet {
	struct rec_port_row first;
	uint64_t every_ps; /* between two; 0: there is one alone */
	uint32_t count;
};

/* The latest reports of a node's ports: an index into quiet and 1; 0: its latest row is not of that kind. */
struct ev_quiet_node {
	uint32_t *ports, nports;
};

struct ev_life {
	uint64_t from_ps, to_ps;
};

/* What entered by one port and left by another: rows by epoch. */
struct ev_feed {
	uint32_t egress;           /* global port id */
	uint32_t first_row, nrows; /* in feed_rows[] */
	uint32_t first_moved[8];   /* by class, as rows name it: the first row that moved bytes, EV_NONE: none */
};

/* One step of one rank: its schedule as in struct rec_schedule, and its dependencies. */
struct ev_step {
	uint64_t bytes, ideal_ps, expect_ps, base_rtt_ps;
	uint32_t collective; /* index into collectives */
	uint32_t flow, host; /* flow EV_NONE: a local step */
	uint32_t rank, step, peer, channel;
	uint32_t prio, spread_ns;
	uint32_t first_dep, ndeps; /* in deps[]: all that it waits for, the step before it on its channel too */
	uint32_t waited_for;       /* the dependency that it waited for, of steps; EV_NONE: none, or unknown */
};

/* Where a collective's record is. */
struct ev_place {
	uint32_t id, iteration, index;
};

/* A PASSAGE record, and others that it is compared with: their indices, EV_NONE: there is none. */
struct ev_passed {
	uint32_t flow;              /* EV_NONE: no other record names it */
	uint32_t in_port, out_port; /* global ids */
	uint32_t earlier;           /* the one before of the same in_port, of any flow */
	uint32_t hop;               /* of the same polling packet, at the other end of in_port's link */
	bool back;                  /* on the path of the ACKs */
};

struct evidence {
	struct rec_run run;
	struct rec_end end;
	bool ended;              /* false: the stream broke off */
	uint32_t torn_bytes;     /* of a record that it broke off in */
	uint64_t left_out;       /* invalid records: of no header, and unfit to be read */
	struct err left_out_why; /* the first of them, and the node that it was of, REC_NONE: of none */
	uint32_t left_out_node;
	uint64_t kinds[RECORD_KINDS];      /* received */
	uint64_t kind_bytes[RECORD_KINDS]; /* as received, the header of a frame with its first record */
	uint64_t bytes, telemetry_bytes;   /* as received: of all, of switches and NICs */
	uint64_t last_ps;                  /* time of the latest record */
	struct ev_vec sent;                /* struct ev_sent, sorted by time at the end */

	/* as received; after evidence_finish() sorted, and rows deduplicated */
	struct ev_vec node_recs, port_recs, depends, follows, routes, ecmps;
	struct ev_vec schedule;    /* empty after evidence_finish(): steps have it */
	struct ev_vec reports;     /* uint32_t: of steps, packed, in the order of the stream */
	struct ev_vec collectives; /* at last by (job, iteration, id) */
	struct ev_vec triggers, polls, drops, passages, gaps;
	struct ev_vec notifies;   /* after evidence_finish() struct ev_notify */
	struct ev_vec watchdogs;  /* events of PFC watchdogs */
	struct ev_vec link_rates; /* of ports, since then */
	struct ev_vec flows_seen; /* by port and flow */
	struct ev_vec monitors;   /* one at most */
	struct ev_vec known_faults;
	struct ev_vec settings; /* in the order of the stream */
	struct ev_vec volumes, volume_alarms, volume_flaws, monitored;
	struct ev_vec pingmeshes; /* one at most */
	struct ev_probes probes;
	struct ev_vec probe_tuples; /* struct rec_tuple: each once, as probes had them first */
	struct ev_vec probe_hops, rnics, uploads, connections, received;
	struct ev_vec tracers; /* one at most */
	struct ev_vec traced, traced_hops, trace_rounds;
	struct ev_vec lateness; /* of the machine, in real time */
	struct ev_vec port_rows, flow_rows, meter_rows, matrix_rows, overtakes;
	/* while the stream is read: */
	struct ev_vec quiet;      /* struct ev_quiet: port rows that are not in port_rows and states yet */
	struct ev_vec quiet_last; /* struct ev_quiet_node, by node */
	struct ev_vec lives;      /* struct ev_life: when steps were under way */
	/*
	 * struct rec_port_row by (node, port, time): every report of the state of a port at that moment. Later reports
	 * replace the counters of an epoch, and the last one, of the closed epoch, has no state of a moment.
	 */
	struct ev_vec states;
	/* struct rec_flow_row by (node, port, epoch, time): counts of flows in an epoch that was open at the report. */
	struct ev_vec flow_states;

	/* built by evidence_finish() */
	struct ev_node *nodes;
	uint32_t nnodes;
	struct ev_port *ports;
	uint32_t nports;
	struct ev_flow *flows; /* sorted by tuple */
	uint32_t nflows;
	uint32_t *probe_slots;   /* [nprobe_slots] the hash table of probe_tuples, from the first probe on; EV_NONE: free */
	uint32_t nprobe_slots;   /* a power of two */
	uint32_t *flow_slots;    /* [nslots] the hash table of flows; EV_NONE: free */
	uint32_t nslots;         /* a power of two */
	struct ev_epoch *epochs; /* by (port, epoch_first) */
	uint32_t nepochs;
	uint64_t *paused_since_ps;  /* [states.count] earliest of the state and those after it at the port, if paused */
	uint32_t *flow_of_row;      /* [flow_rows.count] */
	uint32_t *flow_of_state;    /* [flow_states.count] */
	uint32_t *seen;             /* ports, grouped by flow, with room between the groups */
	uint32_t *hops;             /* ports, grouped by flow */
	uint32_t *flow_of_overtake; /* [overtakes.count] EV_NONE: the flow is unknown */
	struct ev_feed *feeds;      /* grouped by ingress port */
	struct ev_feed_row *feed_rows;
	uint32_t *poll_by_port, *poll_by_flow; /* indices into polls, grouped, in order of time */
	struct ev_passed *passed;              /* [passages.count], as they are: in order of time */
	struct ev_place *places;               /* [collectives.count] by (id, iteration) */
	struct ev_step *steps;                 /* [nsteps] by (collective, rank, step); NULL: released */
	uint32_t *report_of;                   /* [nsteps] for evidence_report(); EV_NONE: none was received */
	uint32_t nsteps;
	uint32_t *first_steps; /* [collectives.count + 1] in steps[], and their end */
	uint32_t *deps;        /* [ndeps] indices into steps, grouped by step; NULL: released */
	uint32_t ndeps;
	uint32_t unscheduled_steps; /* step records that match no schedule: left out */
	uint64_t steps_end_ps;      /* the latest start or end of a step record, unscheduled ones included */
};

static inline void *
ev_vec_at(const struct ev_vec *vec, size_t size_bytes, uint32_t i)
{
	return (char *)vec->data + size_bytes * i;
}
#define EV_AT(vec, type, i) ((type *)ev_vec_at(&(vec), sizeof(type), (i)))

void evidence_init(struct evidence *ev);
void evidence_fini(struct evidence *ev);

/*
 * Takes one record that record_check() let through.
 * @return 0; -E2BIG with err past EV_MAX_BYTES; -ENOMEM
 */
int evidence_add(struct evidence *ev, const struct rec_hdr *rec, struct err *err);

/*
 * Sorts, deduplicates (latest by (time, sequence) wins) and joins. Call once, when the stream has ended and
 * record_check_finish() found nothing missing.
 * @return 0; -ENOMEM with err
 */
int evidence_finish(struct evidence *ev, struct err *err);

/*
 * A run has the steps, what they wait for, and notifications (diag/run/run.h): of millions of them they are not kept twice.
 */
void evidence_release_steps(struct evidence *ev);

/* @param block  index into probes.blocks, which is not released */
void evidence_read_probes(const struct evidence *ev, uint32_t block, struct ev_probe_reader *reader);
/* @return the next probe of the block, until the one after it is asked for; NULL: there is none */
const struct ev_probe *evidence_next_probe(struct ev_probe_reader *reader);
/*
 * Gives the memory of a block of probes back to the kernel, and it is not read again: R-Pingmesh's analyzer, which alone
 * reads them, keeps its own, and of tens of millions they are not kept twice.
 */
void evidence_release_probes(const struct evidence *ev, uint32_t block);

/* @return global port id, EV_NONE if there is no such port */
uint32_t evidence_port(const struct evidence *ev, uint32_t node, uint16_t index);
/* @return index into collectives, EV_NONE if no record describes it */
uint32_t evidence_collective(const struct evidence *ev, uint32_t id, uint32_t iteration);
/*
 * The report of a step, latest of all that were received.
 * @param step  index into steps  @param report  its record, zeros if there is none
 * @return is there one?
 */
bool evidence_report(const struct evidence *ev, uint32_t step, struct rec_step *report);
/* Brings the report of a step near, which is read soon. @param step  perhaps beyond the last one */
void evidence_prefetch_report(const struct evidence *ev, uint32_t step);
/* An entry of the sender's ledger of a step. @return 0 of a step without a report, too */
uint64_t evidence_ledger_ps(const struct evidence *ev, uint32_t step, enum ledger_entry entry);
/* Does the sender's ledger have all of a finished step's time? That of a kernel host has an idle path's alone. */
bool evidence_has_ledger(const struct evidence *ev, uint32_t step);
/*
 * The value of a setting of all hosts or switches, "host.cc", as the head of the stream announces it, without quotes.
 * @param buf  of REC_SETTING_TEXT + 1 @return NULL: it is not announced
 */
const char *evidence_setting(const struct evidence *ev, const char *key, char *buf);
/* A flow's row in an epoch of a port. @return NULL: there is none */
const struct rec_flow_row *evidence_flow_row(const struct evidence *ev, const struct ev_epoch *epoch, uint32_t flow);
/* @return flow id, EV_NONE if no record names it */
uint32_t evidence_flow(const struct evidence *ev, const struct rec_tuple *tuple);
/*
 * The set of equal cost from which a hash chose this port, which a flow's configured data path leaves by.
 * @return NULL: it is not on the path, or there was nothing to choose
 */
const struct rec_ecmp *evidence_choice(const struct evidence *ev, uint32_t flow, uint32_t port);
/* Is a port an egress of the configured path of a flow, or of its ACKs? */
bool evidence_crosses(const struct evidence *ev, uint32_t flow, uint32_t port);
/* Do packets of a flow, or their ACKs, take ports of their own somewhere? Its configured path is one of many then. */
bool evidence_is_sprayed(const struct evidence *ev, uint32_t flow);
/* @return the number of paths that a flow's packets spread over in the first hops of its data path: 1 without spraying */
uint32_t evidence_paths(const struct evidence *ev, uint32_t flow, uint32_t hops);
/* Is this port index of the set's switch a member? */
bool evidence_has_member(const struct evidence *ev, const struct rec_ecmp *set, uint16_t port);
/* @param prio  as rows name the class. @return a port row of an epoch, NULL: there is none of this class */
const struct rec_port_row *evidence_port_row(const struct evidence *ev, const struct ev_epoch *epoch, uint8_t prio);

/* Some of an array. */
struct ev_range {
	uint32_t first, end;
};
/* @return the range of a port's epochs that has all that overlap [from, to], in ev->epochs */
struct ev_range evidence_epochs(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps);
/* @return the range of a port's states that has all of a moment in [from, to], or with a pause in it; in ev->states */
struct ev_range evidence_states(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps);
/* @return the polling packets of a moment in [from, to] that asked about a flow, in ev->poll_by_flow */
struct ev_range evidence_polls(const struct evidence *ev, uint32_t flow, uint64_t from_ps, uint64_t to_ps);
/* @return the polling packets of a moment in [from, to] that left by a port, in ev->poll_by_port */
struct ev_range evidence_polls_at(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps);
/* @return the range of a feed's rows that has all of a time or report in [from, to], in ev->feed_rows */
struct ev_range evidence_feed_rows(const struct evidence *ev, const struct ev_feed *feed, uint64_t from_ps, uint64_t to_ps);
/*
 * @return the range of a port's rows of frames that took its link from data that has all of a time in [from, to], in
 *         ev->overtakes
 */
struct ev_range evidence_overtakes(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps);
/*
 * The end of the time that such a row covers: of an open epoch, the time of its report. Its start is that of its
 * epochs.
 */
uint64_t evidence_overtake_end_ps(const struct evidence *ev, const struct rec_overtake_row *row);
/*
 * Is this class of data in a port's rows strict, and served before a flow's? Rows of class 0 are of all without PFC:
 * true if a class that goes before the flow's may be one of these.
 */
bool evidence_class_is_ahead(const struct evidence *ev, uint8_t of, uint32_t flow);
/* Are its frames of a class that is served before a flow's? */
bool evidence_is_ahead(const struct evidence *ev, const struct rec_overtake_row *row, uint32_t flow);
/* "6:2". @param buf  of at least 48 bytes  @return buf */
char *evidence_port_name(const struct evidence *ev, uint32_t port, char *buf);
/* "17->18/10000>10000", with "host:nic" for hosts of several NICs. @param buf  of at least 96 bytes  @return buf */
char *evidence_flow_name(const struct evidence *ev, uint32_t flow, char *buf);

/* Order of tuples: source and destination address, source and destination port. @return <0, 0, >0 */
int evidence_tuple_cmp(const struct rec_tuple *a, const struct rec_tuple *b);

/*
 * Room for one element more. @param what  they are, in the plural @return 0; -E2BIG with err past EV_MAX_BYTES; -ENOMEM
 */
int evidence_reserve(struct ev_vec *vec, size_t size_bytes, const char *what, struct err *err);
/* Keeps a probe. @return as evidence_add_report() */
int evidence_add_probe(struct evidence *ev, const struct rec_probe *rec, struct err *err);
/* Packs a report and keeps it. @return 0; -E2BIG with err past EV_MAX_BYTES; -ENOMEM */
int evidence_add_report(struct evidence *ev, const struct rec_step *report, struct err *err);

/* Parts of evidence_finish(), in this order, a file each. @return 0 or -ENOMEM with err */
int evidence_join_flows(struct evidence *ev, struct err *err);
int evidence_join_routes(struct evidence *ev, struct err *err);
int evidence_join_rows(struct evidence *ev, struct err *err);
int evidence_join_passages(struct evidence *ev, struct err *err);
int evidence_join_steps(struct evidence *ev, struct err *err);

/* Is this the tuple of no flow, all of it 0? */
bool evidence_is_no_flow(const struct rec_tuple *tuple);

/* The order between records of one key, of which the last replaces the others: time, node, sequence. @return <0, 0, >0 */
int evidence_cmp_time(const struct rec_hdr *a, const struct rec_hdr *b);

/* calloc() of at least one element; sets err. */
void *evidence_alloc(size_t count, size_t size_bytes, struct err *err);
