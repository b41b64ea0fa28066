/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs do not tell what was sent again, a device's counters do (rdma-statistic(8)). They count for the whole device:
 * what they grow by while a message is in flight may be another's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rxe-hosts/device/verbs_host.h"

/* rdma_rxe; mlx5 and others. */
static const char *const counters[VERBS_COUNTERS] = {
	"completer_retry_err", "local_ack_timeout_err", "packet_seq_err", "rnr_nak_retry_err",
};

void
verbs_counters_init(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char path[256];

		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", verbs_host_name(host),
			 host->port, counters[i]);
		host->counter_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	host->first_retransmissions = verbs_retransmissions(host);
}

void
verbs_counters_fini(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		if (host->counter_fds[i] > 0)
			close(host->counter_fds[i]);
		host->counter_fds[i] = -1;
	}
}

uint64_t
verbs_retransmissions(const struct verbs_host *host)
{
	uint64_t sum = 0;

	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char text[32];
		ssize_t got = host->counter_fds[i] >= 0 ? pread(host->counter_fds[i], text, sizeof(text) - 1, 0) : 0;

		if (got <= 0)
			continue;
		text[got] = '\0';
		sum += strtoull(text, NULL, 10);
	}
	return sum;
}
