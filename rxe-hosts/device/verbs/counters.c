/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs do not tell what was sent again, a device's counters do (rdma-statistic(8)). They count for the whole device:
 * what they grow by while a message is in flight may be another's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rxe-hosts/device/verbs/host.h"

/* rdma_rxe, then mlx5 and others. Timeouts of rdma_rxe include what it sends again after a NAK. */
static const struct {
	const char *name;
	bool timeout;
} counters[VERBS_COUNTERS] = {
	{ "rcvd_seq_err", false },
	{ "completer_retry_err", true },
	{ "packet_seq_err", false },
	{ "local_ack_timeout_err", true },
};

void
verbs_counters_init(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char path[256];

		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", verbs_host_name(host),
			 host->port, counters[i].name);
		host->counter_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	host->first_resent = verbs_resent(host, 0);
}

void
verbs_counters_fini(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		if (host->counter_fds[i] >= 0)
			close(host->counter_fds[i]);
		host->counter_fds[i] = -1;
	}
}

struct verbs_resent
verbs_resent(struct verbs_host *host, uint64_t age_ns)
{
	struct verbs_resent resent = { 0 };

	if (age_ns != 0 && host->now_ns - host->resent_ns < age_ns)
		return host->resent;

	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char text[32];
		ssize_t got = host->counter_fds[i] >= 0 ? pread(host->counter_fds[i], text, sizeof(text) - 1, 0) : 0;

		if (got <= 0)
			continue;
		text[got] = '\0';
		*(counters[i].timeout ? &resent.timeouts : &resent.naks) += strtoull(text, NULL, 10);
	}
	host->resent = resent;
	host->resent_ns = host->now_ns;
	return resent;
}

/*
 * The timer of rdma_rxe also fires, and sends one packet again, while acknowledgements come in steadily. What counts
 * as a timeout is one after which nothing was acknowledged for half of the time that the timer runs at least.
 */
uint32_t
verbs_retransmits(const struct verbs_host *host, const struct verbs_out *out, struct verbs_resent now)
{
	uint64_t naks = now.naks - out->resent.naks, timeouts = now.timeouts - out->resent.timeouts;
	uint64_t timeout_ns = 4096ull << verbs_timeout(host->config.params->kernel_timeout_ps);

	return (uint32_t)(out->silent_ns >= timeout_ns / 2 && timeouts > naks ? timeouts : naks);
}
