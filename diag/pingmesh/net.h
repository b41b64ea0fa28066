/* SPDX-License-Identifier: BSD-3-Clause */
/* The evidence of R-Pingmesh's agents, joined: probes by time, RNICs, paths of tuples, registrations, signs of life. */
#pragma once

#include "common/err.h"
#include "diag/collect/evidence.h"
#include "diag/pingmesh/section.h"
#include "diag/run/run.h"

#define NET_MAX_PERIODS 16384u /* probes that were sent later are left out */

/*
 * The direction in which a probe without ACK was lost, by its responder's counts of received probes (struct rec_responder).
 */
enum net_lost { NET_LOST_SOMEWHERE, NET_LOST_FORTH, NET_LOST_BACK };

/* Did its ACKs arrive after the timeout, and where did they spend most of their time? */
enum net_late { NET_NOT_LATE, NET_LATE_BY_NETWORK, NET_LATE_BY_HOSTS };

#define NET_TIME_BITS 48 /* of the times of a probe that ended within its timeout: 281 s */

/* A probe as it is judged, in few bytes: there are millions. Its RNICs are its tuple's. */
struct net_probe {
	uint64_t sent_ps;
	uint32_t tuple; /* index into tuples */
	/* rtt_ps: of a one-way probe its one-way time; until net_level_rails() by both ends' clocks, with a sign */
	uint64_t rtt_ps : NET_TIME_BITS, prober_ps : NET_TIME_BITS, responder_ps : NET_TIME_BITS;
	uint16_t kind : 3, result : 3; /* enum rec_probe_kind, enum rec_probe_result */
	uint16_t cause : 3;            /* enum pingmesh_cause */
	uint16_t lost : 2, late : 2;   /* enum net_lost, enum net_late */
	uint16_t open : 1;             /* a timeout without an explanation yet */
	uint16_t high : 1;             /* its RTT is */
} __attribute__((packed, aligned(8)));
_Static_assert(sizeof(struct net_probe) == 32, "of a probe no more is kept than half of a cache line");

/* Of a probe that did not end in time, what is asked for besides. */
struct net_timeout {
	uint64_t held_ps; /* it, or its ACK, arrived then or later; 0: not known to be after the timeout */
	uint64_t probe;   /* index into probes */
	uint32_t qpn;     /* that it was sent to */
};

struct net_rnic {
	uint32_t ip, port;  /* port: index into run.ports */
	uint32_t host, tor; /* nodes */
};

/* The path of a tuple, or of its ACKs, by a traceroute or by packets that switches wrote into (INT). */
struct net_trace {
	uint32_t tuple;
	bool back, whole;
	uint64_t sent_ps;
	uint64_t reported_ps;  /* with which upload */
	uint32_t packets;      /* of INT: received by this path since the upload before; else 0 */
	uint32_t alike;        /* of INT: the tuple's first whole trace with the same links, an index into traces */
	uint32_t first, count; /* in links: egress ports in order */
	uint32_t valid;        /* from its time on: the tuple's last whole one so far, else its next; RUN_NONE: none is */
};

struct net_tuple {
	struct rec_tuple tuple;
	uint32_t src, dst;                     /* indices into rnics, RUN_NONE: no host has the address */
	uint32_t service;                      /* index into pingmesh.services, RUN_NONE: of none */
	uint32_t first[2], count[2];           /* in traces: there and back, by time */
	uint32_t first_path[2], count_path[2]; /* in paths */
};

struct net {
	const struct run *run;
	const struct evidence *ev;
	struct rec_pingmesh config;
	struct net_rnic *rnics; /* by ip */
	uint32_t nrnics;
	struct net_probe *probes; /* by (sent_ps, source, sequence) */
	uint32_t nprobes;
	uint32_t *seqs;               /* [nprobes] until net_mark_lost() */
	struct net_timeout *timeouts; /* of all probes but those of REC_PROBE_OK, in their order */
	uint32_t ntimeouts, timeouts_cap;
	uint32_t (*given)[2]; /* [nprobes] where net_is_em_sprayed(): paths that em_sprayed() gave a probe, there and back:
				 indices into traces, RUN_NONE: none; else NULL */
	uint64_t strangers;   /* left out: to or from addresses that no host has, or too late */
	struct net_tuple *tuples;
	uint32_t ntuples;
	struct net_trace *traces;
	uint32_t ntraces, walked, torn; /* walked: whole, by several switches; torn: of several paths */
	bool inband;                    /* paths are those of the packets themselves (INT), and not of traceroutes */
	uint32_t *links;
	uint32_t *paths; /* of INT: of each tuple one whole trace of each path, forward and back: indices into traces */
	uint32_t npaths;
	struct rec_rnic *registered; /* by (ip, time) */
	uint32_t nregistered;
	struct rec_upload *uploads; /* by (host, time) */
	uint32_t nuploads;
	uint64_t begin_ps;   /* the first known time of any agent */
	uint64_t startup_ps; /* from when an agent registers until its first upload: the median of hosts */
	uint64_t horizon_ps; /* the last upload of any host */
	uint64_t dropped;
};

/* @param ev  with a PINGMESH record @param net  zeroed; net_fini() in any case. @return 0 or -ENOMEM with err */
int net_init(struct net *net, const struct evidence *ev, const struct run *run, struct err *err);
void net_fini(struct net *net);

static inline uint32_t
net_src(const struct net *net, const struct net_probe *probe)
{
	return net->tuples[probe->tuple].src;
}

static inline uint32_t
net_dst(const struct net *net, const struct net_probe *probe)
{
	return net->tuples[probe->tuple].dst;
}

/* @param probe  any but of REC_PROBE_OK */
struct net_timeout *net_timeout(const struct net *net, const struct net_probe *probe);

/* One-way probes have no answer: they have no path back, and no processing delays. */
static inline bool
net_is_one_way(const struct net_probe *probe)
{
	return probe->kind == REC_PROBE_RAIL;
}

/* @return index into rnics, RUN_NONE: no host has this address */
uint32_t net_find_rnic(const struct net *net, uint32_t ip);

/*
 * Its path as it was when a probe was sent: the newest whole trace before, else the first after; else an incomplete
 * one.
 * @return index into traces, RUN_NONE: there is none
 */
uint32_t net_trace_at(const struct net *net, uint32_t tuple, bool back, uint64_t time_ps);

/*
 * Do switches choose a path for each packet, regardless of its tuple? They do where packets of one traceroute follow
 * several: with two parallel paths half of the traceroutes are torn, after route changes only few. Likewise where
 * packets of a tuple took several paths between two uploads.
 */
static inline bool
net_is_sprayed(const struct net *net)
{
	return 4 * (uint64_t)net->torn > net->walked;
}

/* Is that so, and the paths of all received packets are known? */
static inline bool
net_is_em_sprayed(const struct net *net)
{
	return net->inband && net_is_sprayed(net);
}

#define NET_PATHS 4
/*
 * Paths that it may have taken: the one above first, then others by the next whole trace after it was sent, or by one
 * of the last period.
 * @param paths  set to indices into traces @return their number, 0: none is known
 */
uint32_t net_paths_at(const struct net *net, uint32_t tuple, bool back, uint64_t time_ps, uint32_t paths[NET_PATHS]);

/*
 * Silent: not for long enough to be down, when the stream ends. Unreported: uploads that the exporter dropped may be
 * the host's.
 */
enum net_life { NET_ALIVE, NET_DOWN, NET_SILENT, NET_UNREPORTED };
/*
 * Was a host's agent alive? It is down if it has not uploaded for longer than a period; later uploads count, too.
 * @param from_ps, to_ps  set to the silence around time_ps
 */
enum net_life net_life_at(const struct net *net, uint32_t host, uint64_t time_ps, uint64_t *from_ps, uint64_t *to_ps);

/* Was a probe sent to a QP that its target's agent had, or was about to have, replaced? */
bool net_is_reset(const struct net *net, const struct net_probe *probe);

/* Between net.c, net_traces.c, responder_counts.c and one_way.c. */

int net_cmp_tuple(const struct rec_tuple *a, const struct rec_tuple *b);
/* @return index into tuples, RUN_NONE: no probe has it */
uint32_t net_find_tuple(const struct net *net, const struct rec_tuple *tuple);
/* @return a copy of all records of a kind, sorted, to be freed; NULL with err */
void *net_sorted(const struct ev_vec *records, size_t size_bytes, int (*cmp)(const void *, const void *), uint32_t *count,
		 struct err *err);
/* Sets traces and links. @return 0 or -ENOMEM with err */
int net_list_traces(struct net *net, const struct ev_vec *records, struct err *err);
/* Sets valid of a tuple's traces. */
void net_find_valid(struct net *net, const struct net_tuple *of, bool back);
/* @return index of the first upload of a host after a time; of the next host's, where it has none */
uint32_t net_first_upload(const struct net *net, uint32_t host, uint64_t after_ps);
/* Sets rtt_ps of one-way probes. @return 0 or -ENOMEM with err */
int net_level_rails(struct net *net, struct err *err);
/* Sets probes' lost. @return 0 or -ENOMEM with err */
int net_mark_lost(struct net *net, const struct ev_vec *records, struct err *err);
