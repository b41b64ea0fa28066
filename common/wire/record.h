/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record stream: all that the analyzer ever learns. Little-endian, fixed sizes, multiples of 8.
 * A stream is one struct rec_stream, then records, the header records first, REC_END last.
 * Records carry only what real switches and hosts can report, and (header records) what an operator configured.
 */
#pragma once

#include <stdint.h>

#define REC_MAGIC 0x3142414c45434f52ULL /* "ROCELAB1" */
#define REC_VERSION 1
#define REC_NAME_LEN 32
#define REC_NONE UINT32_MAX /* no node */
#define REC_NO_PORT UINT16_MAX

struct rec_stream {
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* sizeof(struct rec_stream) */
};

enum rec_type {
	/* header records: what is configured */
	REC_RUN = 1,
	REC_NODE = 2,
	REC_PORT = 3,
	REC_COLLECTIVE = 4,
	REC_SCHEDULE = 5,
	REC_ROUTE = 6,
	REC_ECMP = 7,
	/* reported by hosts */
	REC_STEP = 16,
	REC_TRIGGER = 17,
	REC_NOTIFY = 18,
	/* reported by switches, and by hosts for their NICs */
	REC_POLL = 32,
	REC_PORT_ROW = 33,
	REC_FLOW_ROW = 34,
	REC_METER_ROW = 35,
	REC_MATRIX_ROW = 36,
	REC_DROP_ROW = 37,
	/* reported by the exporter */
	REC_GAP = 48,
	REC_END = 49,
};

struct rec_hdr {
	uint16_t type;    /* enum rec_type */
	uint16_t size;    /* whole record */
	uint32_t node;    /* reporter: topology node id; REC_NONE for header records of the run */
	uint64_t time_ps; /* when it was reported */
	uint32_t seq;     /* per node, from 0: records merge by (time, node, seq) */
	uint32_t event;   /* polling event id that caused it, 0 for none */
};

/* A flow as headers show it. The protocol is UDP. */
struct rec_tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint32_t reserved;
};

enum rec_policy {
	REC_POLICY_OFF,
	REC_POLICY_VEDRFOLNIR,
	REC_POLICY_POSTER,
	REC_POLICY_HAWKEYE_MINR,
	REC_POLICY_HAWKEYE_MAXR,
	REC_POLICY_FULL_POLLING,
};

struct rec_run {
	struct rec_hdr hdr;
	char name[REC_NAME_LEN];
	uint32_t policy;      /* enum rec_policy */
	uint32_t detections;  /* N per step */
	uint32_t rtt_percent; /* threshold as a share of the base RTT */
	uint32_t epochs_kept;
	uint64_t epoch_ps;
	uint64_t budget_bps;    /* exporter: bytes a second; 0 unlimited */
	uint32_t frame_bytes;   /* a full data frame on the wire */
	uint32_t payload_bytes; /* its payload: the path MTU */
	uint32_t ack_bytes;
	uint32_t exact_contention; /* 1: REC_MATRIX_ROW records follow reports */
	uint64_t jitter_ps;        /* by so much a host may be late without being slow: its own scheduling */
};

struct rec_node {
	struct rec_hdr hdr; /* hdr.node: the node described */
	char name[REC_NAME_LEN];
	uint32_t kind; /* 0 switch, 1 host */
	uint32_t nports;
};

struct rec_port {
	struct rec_hdr hdr;       /* hdr.node: owner */
	uint16_t port, peer_port; /* indices from 0 */
	uint32_t peer;
	uint32_t ip; /* of a host's NIC, else 0 */
	uint32_t reserved;
	uint64_t rate_bps;
	uint64_t delay_ps;
};

enum rec_algorithm { REC_RING, REC_HALVING_DOUBLING };
enum rec_op { REC_ALLGATHER, REC_REDUCESCATTER, REC_ALLREDUCE };

struct rec_collective {
	struct rec_hdr hdr;
	uint32_t id, iteration; /* id: which collective of the scenario, from 0; iteration from 0 */
	uint32_t algorithm, op;
	uint32_t ranks, steps;        /* steps: per rank */
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it */
	uint64_t ideal_ps, expect_ps; /* of the whole collective on idle links, without and with reverse ACKs */
};

/* One step that a rank will send. hdr.node: the sending host. */
struct rec_schedule {
	struct rec_hdr hdr;
	uint32_t collective, iteration;
	uint32_t step; /* from 1, per rank */
	uint32_t rank;
	struct rec_tuple flow;
	uint64_t bytes;
	uint32_t depends_on;          /* host whose data this step sends on, REC_NONE for the first */
	uint32_t depends_step;        /* which of its steps */
	uint64_t ideal_ps, expect_ps; /* expect includes the reverse ACK traffic, ideal does not */
	uint64_t base_rtt_ps;
};

/* Configured path of a collective flow: one record a hop, the sender's NIC first. */
struct rec_route {
	struct rec_hdr hdr; /* hdr.node: node of this hop */
	struct rec_tuple flow;
	uint16_t hop, port; /* egress port index of hdr.node */
	uint16_t reverse;   /* 1: path of the ACKs */
	uint16_t ecmp;      /* the set that the hash chose port from, REC_NO_ECMP: there was no choice, or a pin made it */
};

#define REC_NO_ECMP 0

/* Egress ports of equal cost from which a switch chooses by hash. hdr.node: the switch. */
struct rec_ecmp {
	struct rec_hdr hdr;
	uint32_t set; /* from 1, over all switches */
	uint32_t reserved;
	uint64_t ports[2]; /* bit p % 64 of word p / 64: port index p is a member */
};

/* A finished step (III-C1), or one still open at the end of the run. hdr.node: the sending host. */
struct rec_step {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint32_t collective, iteration, step;
	uint32_t waited_for; /* host whose step the start actually waited for; REC_NONE: its own previous step */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps; /* end_ps 0: open; start_ps 0 with end_ps 0: not started, waits for waited_for */
	uint32_t open;             /* 1: open at the end of the run */
	uint32_t retransmits;      /* packets sent again in this step */
};

enum rec_trigger_cause { REC_TRIGGER_RTT, REC_TRIGGER_STALL };

/* A detection was spent: hdr.event is the id its polling packet carries. */
struct rec_trigger {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint32_t collective, iteration, step;
	uint32_t cause; /* sample above threshold, or age of the oldest unacknowledged packet above it */
	uint64_t rtt_ps, threshold_ps;
	uint32_t remaining; /* detections left to this step */
	uint32_t reserved;
};

/* A notification packet was sent (sender's report). hdr.node: sender. */
struct rec_notify {
	struct rec_hdr hdr;
	uint32_t to, collective, iteration, step;
	uint32_t detections; /* handed over */
	uint32_t reserved;
};

/* A polling packet passed. */
struct rec_poll {
	struct rec_hdr hdr;
	struct rec_tuple victim;
	uint16_t in_port;   /* REC_NO_PORT where it was created */
	uint16_t out_port;  /* egress it reported; REC_NO_PORT: none (destination reached) */
	uint16_t flags;     /* enum poll_flag as it arrived */
	uint8_t out_paused; /* that egress is, or was within the kept epochs, paused by its peer */
	uint8_t repeated;   /* 1: this port had answered the event already */
	uint32_t ttl;
	uint32_t reserved;
};

/*
 * Counters of an egress port over epochs [epoch_first, epoch_last], its present state, and the state of the ingress
 * at the same connector. Data classes: all but class 0; ingress state: lossless classes. A later row of the same port with the same epoch_first replaces an
 * earlier one; closed epochs are reported once.
 */
struct rec_port_row {
	struct rec_hdr hdr;
	uint16_t port;
	uint8_t host;   /* 1: a host's NIC */
	uint8_t paused; /* now, by the peer */
	uint32_t depth_max;
	uint32_t epoch_first, epoch_last;
	uint64_t from_ps, to_ps;
	uint64_t packets, bytes;
	uint64_t depth_sum;                  /* packets already queued, summed over enqueued packets */
	uint64_t paused_packets;             /* packets that met the port paused */
	uint64_t pause_ps;                   /* time paused within the epochs */
	uint64_t paused_since_ps;            /* valid if paused */
	uint64_t queue_packets, queue_bytes; /* now */
	uint64_t ingress_bytes;              /* valid if pausing: bytes held now that came in here, lossless classes */
	uint64_t ingress_xoff_bytes; /* if pausing, the threshold for that now; else REC_NO_XOFF. Closed epochs: 0 */
	uint64_t pausing_since_ps;   /* valid if pausing: this ingress has told its peer to stop */
	uint32_t pausing;
	uint32_t pauses_received; /* within the epochs */
	uint32_t pauses_sent;     /* within the epochs */
	uint32_t state_only;      /* 1: tells of now alone; without counters, and replaces no row */
};

#define REC_NO_XOFF UINT64_MAX

/* Hawkeye's flow row; same key rules as the port row. */
struct rec_flow_row {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint16_t port;
	uint16_t in_port; /* ingress of its last packet */
	uint32_t epoch_first, epoch_last;
	uint32_t queue_packets; /* now in this port's queue */
	uint64_t packets, bytes;
	uint64_t depth_sum;
	uint64_t paused_packets;
};

/* Port-to-port meter: what came in at in_port and left by port. */
struct rec_meter_row {
	struct rec_hdr hdr;
	uint16_t in_port, port;
	uint32_t epoch_first, epoch_last;
	uint32_t reserved;
	uint64_t bytes;
	uint64_t held_bytes; /* now */
};

/* Exact contention: packets of other ahead of packets of flow, summed. Beyond what hardware reports. */
struct rec_matrix_row {
	struct rec_hdr hdr;
	struct rec_tuple flow, other;
	uint16_t port, reserved16;
	uint32_t epoch_first, epoch_last;
	uint32_t reserved;
	uint64_t ahead;
};

enum rec_drop {
	REC_DROP_INJECTED, /* a faulty link lost it */
	REC_DROP_CORRUPT,  /* ICRC mismatch, counted by the host that checked */
	REC_DROP_LINK_DOWN,
	REC_DROP_TTL,
	REC_DROP_NO_ROUTE,
	REC_DROP_BLACKHOLE,
	REC_DROP_QUEUE_FULL, /* lossy class */
	REC_DROP_NO_BUFFER,  /* lossless class: fails the run */
	REC_DROP_REASONS
};

/*
 * Drop counters of a port, cumulative, sent with reports when not zero. Link down: also when the link was cut, and the
 * times are those of its last change as well.  * REC_DROP_INJECTED never: nobody sees those.
 */
struct rec_drop_row {
	struct rec_hdr hdr;
	struct rec_tuple last; /* flow of the last packet dropped, zero if there was none */
	uint16_t port, reason;
	uint32_t reserved;
	uint64_t packets, bytes;
	uint64_t first_ps, last_ps;
};

/*
 * What the budget kept back, one record per kind lost: precedes the next record that is sent, unless gaps already take
 * more than an eighth of the bytes; at the latest, REC_END. Counts add up over all gaps of a kind.
 */
struct rec_gap {
	struct rec_hdr hdr;
	uint32_t kind; /* enum rec_type */
	uint32_t dropped;
	uint64_t dropped_bytes;
	uint64_t from_ps, to_ps;
};

enum rec_end_reason {
	REC_END_COMPLETE,
	REC_END_QP_ERROR,
	REC_END_STALL,
	REC_END_LIMIT,
	REC_END_INVARIANT,
	REC_END_INTERRUPT,
	REC_END_HOST_LOST, /* a host with its own kernel went away */
	REC_END_REASONS
};

struct rec_end {
	struct rec_hdr hdr;
	uint16_t reason;          /* enum rec_end_reason */
	uint16_t recording_errno; /* why the recording, unlike this stream, broke off (Linux's errno); 0: it is whole */
	uint32_t at_node;         /* QP error, host lost: host. Else one that no longer answered at the end, or REC_NONE */
	uint64_t end_ps;
	uint64_t offered_bytes, sent_bytes; /* by the exporter, this record not included */
	uint64_t offered_records, sent_records, deferred_records, dropped_records;
	uint64_t polling_packets, polling_bytes; /* on every link they crossed */
	uint64_t notification_packets, notification_bytes;
	uint64_t detections; /* polling packets that hosts asked for */
	/* Reports of telemetry on the wire, headers included (telemetry/report.h): those kept, offered here; and all made. */
	uint64_t kept_reports, kept_bytes, collected_reports, collected_bytes;
};

_Static_assert(sizeof(struct rec_stream) == 16, "layout");
_Static_assert(sizeof(struct rec_hdr) == 24, "layout");
_Static_assert(sizeof(struct rec_tuple) == 16, "layout");
_Static_assert(sizeof(struct rec_run) == 112, "layout");
_Static_assert(sizeof(struct rec_node) == 64, "layout");
_Static_assert(sizeof(struct rec_port) == 56, "layout");
_Static_assert(sizeof(struct rec_collective) == 72, "layout");
_Static_assert(sizeof(struct rec_schedule) == 96, "layout");
_Static_assert(sizeof(struct rec_route) == 48, "layout");
_Static_assert(sizeof(struct rec_ecmp) == 48, "layout");
_Static_assert(sizeof(struct rec_step) == 96, "layout");
_Static_assert(sizeof(struct rec_trigger) == 80, "layout");
_Static_assert(sizeof(struct rec_notify) == 48, "layout");
_Static_assert(sizeof(struct rec_poll) == 56, "layout");
_Static_assert(sizeof(struct rec_port_row) == 160, "layout");
_Static_assert(sizeof(struct rec_flow_row) == 88, "layout");
_Static_assert(sizeof(struct rec_meter_row) == 56, "layout");
_Static_assert(sizeof(struct rec_matrix_row) == 80, "layout");
_Static_assert(sizeof(struct rec_drop_row) == 80, "layout");
_Static_assert(sizeof(struct rec_gap) == 56, "layout");
_Static_assert(sizeof(struct rec_end) == 160, "layout");
