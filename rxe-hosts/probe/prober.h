/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prober and responder of all RNICs of a host, for its agent: pinglists in turn, the packets of probes and traceroutes,
 * the application that handles completions late, and observations until the agent uploads them. It knows no controller.
 */
#pragma once

#include <stdint.h>

#include "common/int_header.h"
#include "common/prng.h"
#include "common/units.h"
#include "common/wire/probe.h"
#include "common/wire/record.h"
#include "rxe-hosts/probe/agent.h"

/*
 * The delay of a host's application in handling completions of its RNIC: seeded random, longer where the CPU is
 * overloaded. Half of the median is constant, the rest is exponential: P99 is 3.8 times the median, P999 5.5 times.
 */

#define PROBE_CPU_MAX_PS 10000000000000ULL /* of a median: 10 s */

struct probe_cpu {
	struct prng prng;
	uint64_t median_ps;
	uint64_t load_ps;    /* median of the delay that overload adds, by the same law; 0: there is none */
	uint64_t overloaded; /* draws with it */
};

/* @param median_ps  at most PROBE_CPU_MAX_PS, as all medians here @param node  distinguishes hosts of one seed */
void probe_cpu_init(struct probe_cpu *cpu, uint64_t median_ps, uint64_t seed, uint32_t node);
/* @return the delay of one completion, ps */
uint64_t probe_cpu_draw(struct probe_cpu *cpu);

/* Limits of an RNIC: probes that wait for their end, ACKs that wait for their time of departure, room for datagrams. */
#define PROBE_OPEN 512
#define PROBE_ANSWERS 256
#define PROBE_RECEIVES 512
#define PROBE_COMPLETIONS 2048 /* of an application's queue */
#define PROBE_RESULTS 16384    /* of a host, between two uploads */
#define PROBE_HOPS 16          /* of a traceroute */
#define PROBE_HOP_RESULTS 8192 /* of a host, between two uploads */
#define PROBE_TTL_BITS 8
#define PROBE_NO_FLOW UINT32_MAX

enum probe_event {
	PROBE_LEFT,     /* of the prober: (2) */
	PROBE_ACKED,    /* of the prober: an ACK, (5) */
	PROBE_CROSSED,  /* of the prober: a one-way probe is at its other RNIC, (3) */
	PROBE_TIMED,    /* of the prober: its timer */
	PROBE_ASKED,    /* of the responder: a probe, (3) */
	PROBE_ANSWERED, /* of the responder: its ACK has left, (4) */
};

/* A completion of the RNIC that the application has not handled yet. */
struct probe_completion {
	uint64_t ready_ps; /* when it can; then when it did */
	uint64_t stamp_ps; /* of the RNIC; of a timer, when it ran out */
	uint64_t responder_ps;
	uint32_t seq;  /* of the probe; PROBE_ANSWERED: of the answer */
	uint32_t flow; /* PROBE_ASKED, PROBE_CROSSED */
	uint32_t qpn;  /* PROBE_ASKED: of the prober */
	uint8_t event; /* enum probe_event */
	uint8_t part;  /* PROBE_ACKED, PROBE_ASKED: enum probe_part */
	bool reply;    /* PROBE_ASKED: it arrived as one; a traceroute of the reverse path */
	uint8_t kind;
};

/* A queue of completions, which an application handles one after the other. */
struct probe_queue {
	struct probe_completion *ring; /* [PROBE_COMPLETIONS] */
	uint32_t head, tail;           /* counted */
	uint64_t last_ready_ps;
};

/* A probe that has not ended. */
struct probe_open {
	bool is_open, has_left, has_ack, has_second;
	bool is_missed; /* it has ended, and not all of its ACKs were there */
	uint8_t kind;
	uint32_t seq, flow, qpn;
	uint64_t posted_ps, left_ps, ack_ps, taken_ps, responder_ps;
};

/* An ACK whose time of departure is awaited: the second ACK carries it. */
struct probe_answer {
	uint32_t flow, qpn, seq;
	uint8_t kind;
	uint64_t received_ps;
};

struct probe_target {
	uint32_t flow, qpn; /* qpn 0: not known yet */
	uint32_t collective;
	bool unreported, gone; /* a connection that opened, or closed, while the agent was down */
};

/* A pinglist of an RNIC: its targets in turn, one every gap_ps. */
struct probe_list {
	struct probe_target *targets; /* [cap] */
	uint32_t count, cap, at;
	uint64_t gap_ps, next_ps; /* TIME_NEVER: no target */
};

/* A prober of this RNIC, and its flow: reverse paths to trace. */
struct probe_back {
	uint32_t flow, qpn;
	/* probes received since the last upload, for rec_responder */
	uint32_t count, first_seq, last_seq;
	uint32_t after_seq; /* the last one received earlier */
	bool chained;       /* there was one */
	uint64_t received_ps;
};

/* A traceroute in progress, one hop at a time. */
struct probe_trace {
	uint64_t next_ps; /* of its next packet; TIME_NEVER: the target is not known yet */
	bool is_on, is_waiting;
	bool back;
	uint32_t number, flow, qpn;
	uint16_t hop;        /* whose answer is awaited, or the next one */
	uint64_t waiting_ps; /* since then */
	uint64_t began_ps;
	uint32_t nhops;
	struct rec_probe_hop hops[PROBE_HOPS];
	uint32_t turn; /* index of the tuple to trace next */
};

/* A path on which packets of a tuple arrived, as switches wrote it into them. */
struct probe_path {
	uint64_t hops[INT_MAX_HOPS]; /* [nhops] of int_pack_hop() */
	uint32_t nhops;
	uint32_t count; /* since the last upload */
	uint64_t last_ps;
};

/* All paths on which a tuple's probes, or their ACKs, arrived at an RNIC. */
struct probe_paths {
	uint32_t flow;
	bool back;
	uint32_t last, alone;     /* of paths: one seen in the last upload; uploads since another was seen */
	struct probe_path *paths; /* [cap] */
	uint32_t npaths, cap;
};

#define PROBE_LISTS ENUM_COUNT(REC_PROBE_KINDS)

/* A probe requested by another module. */
struct probe_extra {
	uint32_t nic;
	uint8_t kind; /* of the list that has the target */
	struct probe_target target;
};

#define PROBE_MAX_EXTRA 64 /* of a host, between two windows */

struct probe_nic {
	uint32_t qpn;
	uint64_t clock_ps; /* that its clock is ahead */
	uint32_t seq;      /* of the next probe */
	uint32_t timed;    /* of the first whose timer has not run out */
	uint32_t answers;
	struct probe_queue prober, responder; /* its threads (R-Pingmesh 5) */
	struct probe_open open[PROBE_OPEN];
	struct probe_answer answer[PROBE_ANSWERS];
	struct probe_list lists[PROBE_LISTS]; /* by enum rec_probe_kind */
	struct probe_back *backs;             /* [backs_cap] */
	uint32_t nbacks, backs_cap;
	struct probe_trace trace;
	struct probe_paths *received; /* [received_cap] */
	uint32_t nreceived, received_cap;
	uint32_t npaths; /* reported so far */
};

struct prober {
	struct probe_agent_config config;
	struct probe_nic *nics; /* [nnics] */
	uint32_t nnics;
	struct probe_cpu cpu;
	struct prng prng; /* phases, and the order of service tracing */
	/* times from the controller */
	uint64_t timeout_ps, upload_ps, pinglist_ps;
	struct probe_extra extra[PROBE_MAX_EXTRA]; /* [nextra] */
	uint32_t nextra;
	/* since the last upload */
	struct rec_probe *results; /* [PROBE_RESULTS] */
	uint32_t nresults, nended, ntimeouts;
	struct rec_probe_hop *hops; /* [PROBE_HOP_RESULTS] */
	uint32_t nhops;
	uint64_t reported_dropped; /* of counts.dropped, by the last upload */
	uint64_t late_ps;          /* by how much a timer was handled late, at most */
	uint64_t turn_ps;          /* a turn's timer, */
	uint64_t turn_ready_ps;    /* and when its thread reaches it */
	struct probe_agent_counts counts;
};

/* Initializes a zeroed prober. @return 0 or -ENOMEM: prober_fini() either way */
int prober_init(struct prober *prober, const struct probe_agent_config *config);
void prober_fini(struct prober *prober);
/* All that it had not uploaded is lost, and what it probes; its counts and the host's connections stay. */
void prober_forget(struct prober *prober);
/* @return when a completion, timer, probe or traceroute is due; TIME_NEVER */
uint64_t prober_next_ps(const struct prober *prober);

/* @return 0 or -ENOMEM */
int probe_list_add(struct probe_list *list, struct probe_target target);
/* A list has other targets: it goes on where it was. @param interval_ps  between two probes of the same target */
void probe_list_set(struct prober *prober, struct probe_list *list, uint64_t interval_ps, uint64_t now_ps);

/* @return false: it is no probe's */
bool probe_read(const struct datagram *datagram, struct probe_completion *completion);
/* The application will handle it. @return false: without room it is lost and counted */
bool prober_queue(struct prober *prober, struct probe_queue *queue, struct probe_completion completion);
/* @return the oldest if it is ready, which is taken; NULL. Valid until the next is put in */
const struct probe_completion *probe_queue_take(struct probe_queue *queue, uint64_t now_ps);
/* Something of a probe was completed. */
void prober_handle(struct prober *prober, uint32_t nic, const struct probe_completion *c);
/* A probe of another host arrived, or the ACK to it has left. */
void prober_respond(struct prober *prober, uint32_t nic, const struct probe_completion *c);
/* A packet of a traceroute ended at a switch; the port is in the format of PKT_EXPIRED's arg. */
void prober_trace_ended(struct prober *prober, uint32_t nic, uint32_t seq, uint32_t arg);
/* A packet arrived at an RNIC into which switches have written its path. */
void prober_paths_receive(struct prober *prober, struct probe_nic *nic, const struct datagram *datagram, uint64_t now_ps);

/* Probes the next target of each list that is due, and watches timers. */
void prober_send_due(struct prober *prober, uint32_t nic, uint64_t now_ps);
/* See probe_agent_ask(). */
int prober_ask(struct prober *prober, uint32_t node);
/* Sends the requested probes besides its turns. */
void prober_send_extra(struct prober *prober, uint64_t now_ps);
/* All observations since the last upload become records. */
void prober_upload(struct prober *prober, uint64_t now_ps);
