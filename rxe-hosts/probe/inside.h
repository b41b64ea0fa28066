/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of an agent, shared by the files of this folder. */
#pragma once

#include <stdint.h>

#include "common/int_header.h"
#include "common/prng.h"
#include "common/units.h"
#include "common/wire/pingmesh_manage.h"
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

/* Of an RNIC: probes that wait for their end, ACKs that wait for their time of departure, room for datagrams. */
#define PROBE_OPEN 512
#define PROBE_ANSWERS 256
#define PROBE_RECEIVES 512
#define PROBE_COMPLETIONS 2048 /* of an application's queue */
#define PROBE_RESULTS 16384    /* of a host, between two uploads */
#define PROBE_HOPS 16          /* of a traceroute */
#define PROBE_HOP_RESULTS 8192 /* of a host, between two uploads */
#define PROBE_TTL_BITS 8
#define PROBE_NO_FLOW UINT32_MAX
#define PROBE_REPLY_PS (5 * PS_PER_S) /* until a request to a silent controller is repeated, in real time */

enum probe_event {
	PROBE_LEFT,     /* of the prober: (2) */
	PROBE_ACKED,    /* of the prober: an ACK, (5) */
	PROBE_CROSSED,  /* of the prober: a one-way probe is at its other RNIC, (3) */
	PROBE_TIMED,    /* of the prober: its timer */
	PROBE_ASKED,    /* of the responder: a probe, (3) */
	PROBE_ANSWERED, /* of the responder: its ACK has left, (4) */
};

/* What the RNIC completed and the application has not handled yet. */
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

/* In order: an application handles one after the other. */
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

/* A flow to probe by, with its key in pinglists. */
struct probe_path_key {
	uint32_t nic, ip, sport, flow;
};

/* Data that it requires from the controller. */
enum probe_want { PROBE_WANTS_REGISTRATION = 1, PROBE_WANTS_LISTS = 2, PROBE_WANTS_TARGETS = 4 };

struct probe_agent {
	struct probe_agent_config config;
	struct probe_nic *nics; /* [nnics] */
	uint32_t nnics;
	struct probe_path_key *paths; /* [nways] sorted */
	uint32_t npaths;
	struct probe_cpu cpu;
	struct prng prng; /* phases, clocks, and the order of service tracing */
	/* times from the controller */
	uint64_t service_ps, timeout_ps, upload_ps, pinglist_ps;
	uint64_t next_upload_ps, next_pull_ps;
	/* the controller */
	uint8_t wants, asked; /* enum probe_want: not requested yet; in progress */
	bool is_down;         /* between its death and its start */
	bool is_taken;        /* the request, by its carrier */
	uint8_t *request;     /* [request_cap] */
	size_t request_size, request_cap;
	uint64_t asked_ps, reply_ps; /* reply_ps: when it has the reply; TIME_NEVER: no request is in progress */
	uint8_t *reply;
	size_t reply_size, reply_cap;
	struct probe_extra extra[PROBE_MAX_EXTRA]; /* [nextra] */
	uint32_t nextra;
	/* since the last upload */
	struct rec_probe *results; /* [PROBE_RESULTS] */
	uint32_t nresults, nended, ntimeouts;
	struct rec_probe_hop *hops; /* [PROBE_HOP_RESULTS] */
	uint32_t nhops;
	uint64_t reported_dropped; /* of counts.dropped, by the last upload */
	uint64_t late_ps;          /* by how much a timer was handled late, at most */
	struct probe_agent_counts counts;
};

static inline uint64_t
probe_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* agent.c */
/* The application will handle it. @return false: without room it is lost and counted */
bool probe_queue_push(struct probe_agent *agent, struct probe_queue *queue, struct probe_completion completion);
/* @return since when the oldest timer that has run out waits to be handled; TIME_NEVER: none does */
uint64_t probe_queue_timer_ps(const struct probe_queue *queue);
static inline uint64_t
probe_queue_next_ps(const struct probe_queue *queue)
{
	return queue->head != queue->tail ? queue->ring[queue->head % PROBE_COMPLETIONS].ready_ps : TIME_NEVER;
}

/* @return false: it is no probe's */
bool probe_read(const struct datagram *datagram, struct probe_completion *completion);

/* prober.c */
/* Probes the next target of each list that is due, and watches timers. */
void probe_send_due(struct probe_agent *agent, uint32_t nic, uint64_t now_ps);
/* Sends the requested probes besides its turns. */
void probe_send_extra(struct probe_agent *agent, uint64_t now_ps);
/* Something of a probe was completed. */
void probe_prober_handle(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c);
/* When the oldest timer runs out; TIME_NEVER. */
uint64_t probe_timer_ps(const struct probe_agent *agent, const struct probe_nic *nic);
void probe_responder_handle(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c);
/* A packet ended at a switch; the port is in the format of PKT_EXPIRED's arg. */
void probe_trace_ended(struct probe_agent *agent, uint32_t nic, uint32_t seq, uint32_t arg);

/* Packets into which switches write. */
/* A probe arrived at an RNIC. */
void probe_paths_receive(struct probe_agent *agent, struct probe_nic *nic, const struct datagram *datagram,
			 uint64_t now_ps);
/* Reports the probes received since the last upload. @param nic  their receiver */
void probe_paths_report(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps);
void probe_paths_forget(struct probe_nic *nic);

/* agent.c: pinglists */
/* The flow of a pinglist's entry. @return FLOW_NONE: none was planned */
uint32_t probe_path_key_of(const struct probe_agent *agent, uint32_t nic, uint32_t ip, uint16_t sport);
/* @return 0 or -ENOMEM */
int probe_list_add(struct probe_list *list, struct probe_target target);
/* A list has other targets: it goes on where it was. @param interval_ps  between two probes of the same target */
void probe_list_set(struct probe_agent *agent, struct probe_list *list, uint64_t interval_ps, uint64_t now_ps);
/* @return the next target of a list that is due; NULL: its agent knows none */
const struct probe_target *probe_list_turn(struct probe_agent *agent, struct probe_list *list, bool shuffled);

/* Service tracing of an RNIC has other targets, or another interval. */
void probe_agent_retime(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps);

/* manage.c */
/* Sends the next request, if none is in progress. */
void probe_ask(struct probe_agent *agent, uint64_t now_ps);
/* The reply is there. */
void probe_take_reply(struct probe_agent *agent, uint64_t now_ps);
void probe_result(struct probe_agent *agent, uint32_t nic, const struct probe_open *probe, uint32_t result);
void probe_upload(struct probe_agent *agent, uint64_t now_ps);
