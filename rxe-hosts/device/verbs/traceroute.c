/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams with a TTL, which go by a raw socket (raw_ud.h), and what becomes of them: switches where one ends say so by ICMP, which
 * another one shows. They are known again by addresses, source port and IP identification.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "rxe-hosts/device/verbs/host.h"
#include "rxe-hosts/device/verbs/icmp.h"
#include "rxe-hosts/device/verbs/raw_ud.h"

#define MESSAGE_BYTES 256

int
verbs_trace_post(struct verbs_host *host, const struct datagram *datagram)
{
	struct verbs_pool *pool = &host->pool;
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	struct verbs_expiring *kept = &pool->expiring[pool->nexpiring % VERBS_POOL_EXPIRING];
	uint16_t number = (uint16_t)(pool->nexpiring % UINT16_MAX + 1); /* 0 would be the kernel's to choose */
	const struct raw_ud ud = {
		.src_ip = host->config.ip,
		.dst_ip = datagram->reply ? flow->src_ip : flow->dst_ip,
		.sport = flow->sport,
		.ip_id = number,
		.tos = verbs_traffic_class(flow->prio),
		.ttl = datagram->ttl,
		.src_qpn = pool->qp->qp_num,
		.dst_qpn = datagram->qpn,
		.qkey = VERBS_UD_QKEY,
		.psn = number,
		.imm = verbs_pool_imm(datagram),
		.contents = datagram->contents,
		.bytes = datagram->bytes,
	};
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ud.dst_ip) };
	uint8_t bytes[RAW_UD_BYTES];
	size_t size = raw_ud_build(bytes, &ud);

	if (pool->raw < 0)
		return -ENOTSUP;
	if (sendto(pool->raw, bytes, size, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to)) != (ssize_t)size)
		return -errno;
	kept->datagram = *datagram;
	kept->number = number;
	kept->is_kept = true;
	memcpy(kept->contents, datagram->contents, datagram->bytes);
	pool->nexpiring++;
	return 0;
}

static bool
is_of(const struct verbs_host *host, const struct verbs_expiring *kept, const struct icmp_expired *expired)
{
	const struct flow *flow = &host->config.flows->flows[kept->datagram.flow];
	uint32_t to = kept->datagram.reply ? flow->src_ip : flow->dst_ip;

	return kept->is_kept && expired->src_ip == host->config.ip && expired->dst_ip == to &&
	       expired->sport == flow->sport && expired->ip_id == kept->number;
}

static void
report_hop(struct verbs_host *host, const struct icmp_expired *expired)
{
	struct verbs_pool *pool = &host->pool;

	for (uint32_t i = 0; i < VERBS_POOL_EXPIRING; i++) {
		struct verbs_expiring *kept = &pool->expiring[i];
		struct datagram datagram = kept->datagram;

		if (!is_of(host, kept, expired))
			continue;
		kept->is_kept = false;
		datagram.type = PKT_EXPIRED;
		datagram.contents = kept->contents;
		datagram.arg = host->config.interface_of(host->config.interface_ctx, expired->from_ip);
		if (datagram.arg != UINT32_MAX && host->client.received != NULL)
			host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
		return;
	}
}

static void
icmp_ready(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	uint8_t bytes[MESSAGE_BYTES];
	struct icmp_expired expired;
	ssize_t got;

	while ((got = recv(host->pool.icmp, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0) {
		verbs_look(host);
		if (icmp_expired_read(&expired, bytes, (size_t)got))
			report_hop(host, &expired);
	}
}

/* Who may not open them traces no paths. */
int
verbs_trace_open(struct verbs_host *host)
{
	struct verbs_pool *pool = &host->pool;

	pool->icmp = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	pool->raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (pool->icmp < 0 || pool->raw < 0) {
		log_warning("%s: paths are not traced, for want of raw sockets: %s", verbs_host_name(host),
			    strerror(errno));
		return 0;
	}
	pool->icmp_watch = (struct loop_watch){ .fd = pool->icmp, .ready = icmp_ready, .ctx = host };
	return loop_watch(host->config.loop, &pool->icmp_watch, EPOLLIN);
}

void
verbs_trace_close(struct verbs_host *host)
{
	if (host->pool.icmp >= 0)
		close(host->pool.icmp);
	if (host->pool.raw >= 0)
		close(host->pool.raw);
}
