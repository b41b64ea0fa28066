/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host with its own RDMA device: struct device over libibverbs and librdmacm. It supports any RoCEv2 device of its
 * kernel, rdma_rxe or a real NIC. One thread, woken by its loop.
 *
 * Order of use: create; set_client and register_region (the step engine does); listen, before any peer connects;
 * connect, and run the loop until verbs_host_state() is VERBS_UP; then run until the end.
 * After every loop_wait() call verbs_host_run(), and wait no longer than verbs_host_next_ns().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/flow.h"
#include "common/wire/manage.h"
#include "rxe-hosts/device/device.h"
#include "rxe-hosts/device/verbs/loop.h"
#include "rxe-hosts/roce/params.h"

struct verbs_config {
	uint32_t node;
	uint32_t ip; /* of its one NIC, host byte order */
	const struct flow_table *flows;
	const uint64_t *slowest_bps; /* [flows] slowest link of each flow's path */
	const struct roce_params *params;
	uint64_t window_bytes;      /* of a flow in flight; 0: no limit */
	bool window_is_bdp;         /* instead: twice the bytes of the measured round trip at the slowest link's rate */
	uint32_t probes;            /* of each flow on the idle path, before the run */
	uint64_t probe_interval_ps; /* between two probes */
	bool watch;                 /* probe running steps too */
	uint64_t noise_ps;          /* least variation of round-trip times that is expected of an idle path */
	/*
	 * The switch and port that have an address, in the format of PKT_EXPIRED's arg; UINT32_MAX: none. For
	 * traceroutes.
	 */
	uint32_t (*interface_of)(const void *ctx, uint32_t ip);
	const void *interface_ctx;
	const bool *embedded; /* [nodes] hosts without a connection manager */
	struct loop *loop;
	struct run_clock *clock;
};

struct verbs_host;

enum verbs_state {
	VERBS_LISTENING,
	VERBS_CONNECTING, /* own QPs towards peers, and theirs to us */
	VERBS_MEASURING,  /* all QPs are up: probes on the idle path */
	VERBS_UP,
	VERBS_BROKEN, /* of no use any more: verbs_host_error() */
};

struct verbs_counters {
	struct {
		uint64_t packets, bytes;
	} control[PKT_TYPES]; /* control packets of each kind, sent */
	uint64_t polls_received;
	uint64_t probe_packets, probe_bytes; /* answers not included */
	uint64_t naks, timeouts;             /* that made the device send again, by its counters, since it was opened */
	uint64_t base_rtt_ps, noise_ps;      /* of the idle paths, the largest */
	uint32_t qps;
};

/*
 * Finds the RDMA device that has the host's address, and opens it.
 * @return NULL with err set and errno
 */
struct verbs_host *verbs_host_create(const struct verbs_config *config, struct err *err);
void verbs_host_destroy(struct verbs_host *host);
struct device *verbs_host_device(struct verbs_host *host);
/* Name of the RDMA device. */
const char *verbs_host_name(const struct verbs_host *host);

/* Allocates memory for the peers' messages, and accepts connections. @return 0 or negative errno with err set */
int verbs_host_listen(struct verbs_host *host, struct err *err);
/* Starts connecting to all peers. @return 0 or negative errno with err set */
int verbs_host_connect(struct verbs_host *host, struct err *err);

/*
 * After verbs_host_connect(): this host's end of a flow whose other end is embedded.
 * @return false: it is not such a flow, or not this host's
 */
bool verbs_host_static(const struct verbs_host *host, uint32_t flow, struct manage_qp *qp);

enum verbs_state verbs_host_state(const struct verbs_host *host);
/* @return the cause of VERBS_BROKEN, or of the first QP failure in a run; NULL: none */
const char *verbs_host_error(const struct verbs_host *host);

/* Runs the due work: timers, ticks, probes. */
void verbs_host_run(struct verbs_host *host);
/* @return when verbs_host_run() has something to do, by clock_now_ns() */
uint64_t verbs_host_next_ns(const struct verbs_host *host);
/* @return bytes of all messages that were acknowledged so far */
uint64_t verbs_host_acked_bytes(const struct verbs_host *host);
/* Takes the kernel a while: not for every turn. */
void verbs_host_count(struct verbs_host *host, struct verbs_counters *counters);
/*
 * All hw_counters of the device since it was opened, by name (rdma-statistic(8)). Takes the kernel a while.
 * @param counters  [MANAGE_COUNTERS] set. @return how many
 */
uint32_t verbs_host_device_counters(const struct verbs_host *host, struct manage_counter *counters);
