/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of R-Pingmesh's agents in a small network whose links, NICs, hosts and CPUs fail as a test says: three leaves
 * with three hosts each, two spines; the last host has a second NIC at the same leaf. Probes are lost by chance, of a
 * fixed seed.
 */
#pragma once

#include <stdbool.h>

#include "common/prng.h"
#include "common/wire/record.h"
#include "diag/pingmesh/section.h"
#include "tests/unit/diag/records.h"

#define RIG_LEAVES 3
#define RIG_SPINES 2
#define RIG_HOSTS 9
#define RIG_RNICS (RIG_HOSTS + 1)
#define RIG_SPINE(k) (RIG_LEAVES + (k))
#define RIG_HOST(i) (RIG_LEAVES + RIG_SPINES + (i))
#define RIG_NODES (RIG_LEAVES + RIG_SPINES + RIG_HOSTS)
#define RIG_UPLINK 3 /* port of a leaf to spine 0; to spine 1 the next one */
#define RIG_HOLES 8
#define RIG_PORTS 4 /* source ports of a pair: all ways there and back */
#define RIG_PERIOD_PS (20 * PS_PER_S)

/* What a link, by its nodes in this direction, does to packets in a time. */
struct rig_link {
	uint32_t from, to;
	double loss;
	uint64_t delay_ps;
	double in_time; /* a share of packets that is not delayed */
	double grows;   /* a queue before it, in which a packet waits longer by this for each ps since start_ps */
	uint64_t start_ps, end_ps; /* end_ps 0: until the end */
};

/* A switch loses what is for a host. */
struct rig_hole {
	uint32_t node, host; /* node 0: there is none */
	uint32_t sender;     /* of what this one sends, counted from 1; 0: whoever does */
	uint64_t start_ps;
};

struct rig_host {
	bool absent;                  /* has no agent, and nobody probes it */
	uint64_t down_ps, up_ps;      /* silent and deaf between them; up_ps 0: to the end */
	uint64_t slow_ps, fast_ps;    /* its CPU is overloaded between them */
	uint64_t delay_ps;            /* of processing then, 0 to twice as much; what exceeds the timeout is a timeout */
	uint64_t restart_ps;          /* its agent restarts, and registers a second later */
	bool deaf_first, deaf_second; /* its NICs lose everything while it is slow */
	uint32_t late_us;             /* its agent reports it while it is slow; 0: as late as its CPU */
	bool in_time;                 /* its agent is not late: what is slow is its RNIC's queue */
	uint32_t dropped;             /* completions that its agent drops between two uploads while it is slow */
	/*
	 * Probes and ACKs for it wait from queue_ps until flushed_ps; ACKs of what was sent before sends_ps come after
	 * the timeout.
	 */
	uint64_t queue_ps, sends_ps, flushed_ps;
	uint64_t mute_ps; /* answers nothing from fast_ps until then: all is too late; 0: it does */
};

/* What a responder reports of a tuple with its next upload. */
struct rig_receipts {
	struct rec_responder rec;
	uint64_t upload_ps;
};

struct rig {
	struct records r;
	struct prng prng;
	struct rig_link links[8];
	uint32_t nlinks;
	struct rig_hole holes[RIG_HOLES];
	double nic_loss[RIG_RNICS]; /* of packets in each direction of its link */
	struct rig_host hosts[RIG_HOSTS];
	uint64_t end_ps;
	uint64_t far_ps;     /* longer a packet takes, wherever it goes */
	uint64_t timeout_ps; /* that agents announce; 0: TIMEOUT_PS */
	uint64_t queued_ps;  /* that the present probe waits in queues */
	const char *buffer;  /* of switches, as the stream announces it; NULL: it does not */
	uint64_t gap_ps;     /* between two probes of a pair; 0: a second */
	bool untraced, mesh_only, software_times;
	bool instant; /* no host needs time to process but by a condition of its own */
	bool rails;   /* RNICs of one host probe each other one way, by clocks that differ */
	bool sprayed; /* each packet takes a spine by chance, and those that arrive report their path (INT) */
	uint32_t arrived[RIG_PORTS][2]
			[RIG_SPINES]; /* of the present pair, by tuple, direction and spine, since the last upload */
	uint16_t algorithm;           /* enum rec_pingmesh_algorithm */
	bool received, all_received;  /* the responder of the service's tuple reports receptions; those of all tuples do */
	struct rig_receipts receipts[RIG_RNICS][RIG_RNICS][RIG_PORTS];
	bool retraced; /* paths were others until agents started again and counted their traceroutes anew */
	uint64_t trace_ps;
	struct rec_gap gap;           /* of what the exporter dropped; dropped 0: nothing */
	struct rec_lateness lateness; /* of host 4's processes; to_ps 0: none is reported */
	bool backwards;               /* the records of probes come in the opposite order */
	uint32_t service[2];          /* hosts whose tuple service tracing probes, if not the same */
	uint32_t iterations;          /* of a job between them, and so long each: */
	uint64_t iteration_ps[8];
	uint64_t step_bytes;   /* of each; 0: 1000 */
	uint64_t window_bytes; /* of its QPs at most; 0: any */
	uint32_t strict_prio;  /* its class, which switches serve first; 0: another */
	uint32_t tenant[2];    /* hosts of a second job with as many iterations, if not the same */
	uint64_t tenant_ps[8]; /* so long each */
	bool unseen;           /* service tracing sees no connection of the first job */
	uint32_t seq[RIG_RNICS];
};

/* A healthy network that is probed for so long. */
void rig_init(struct rig *rig, uint64_t end_ps);
/* One that loses probes at a link and at a NIC for a minute, with two jobs that use both. */
void rig_init_lossy(struct rig *rig);
/* Adds a fault of a link. */
void rig_link(struct rig *rig, uint32_t from, uint32_t to, double loss);
/* Writes all that agents say, into rig.r. */
void rig_stream(struct rig *rig);
/* @return the verdict on what all agents say, which the caller destroys; the rig is done with */
struct verdict *rig_diagnose(struct rig *rig);
const struct pingmesh *rig_own(const struct verdict *v);

/* Of the cluster's probes. */
uint64_t rig_cause(const struct verdict *v, enum pingmesh_cause cause);
/* It has no finding of a fault; none but those that begin so, and one at least. */
void rig_assert_no_fault(const struct verdict *v);
void rig_assert_fault(const struct verdict *v, const char *expected);
/* The verdict has these findings and no others: "type root". */
void rig_assert_findings(const struct verdict *v, uint32_t count, const char *const *expected);
#define ASSERT_FINDINGS(v, ...)                                                                                            \
	rig_assert_findings(v, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]){ __VA_ARGS__ })
