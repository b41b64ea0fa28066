/* SPDX-License-Identifier: BSD-3-Clause */
/* RTT probes of the flows that this host sends: why and how, see rtt.h. */
#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/device/verbs/host.h"

/*
 * A kernel on busy cores works in bursts: what is in flight has to last until it has its next turn, some 20 ms at 40 Mbps.
 * Less than this and guests send half of what their links carry.
 */
#define MIN_WINDOW_BYTES (96u << 10)

static bool
wanted(const struct verbs_host *host, const struct verbs_out *out)
{
	if (out->probe.state != CONN_UP)
		return false;
	if (host->state == VERBS_MEASURING)
		return out->nidle < host->config.probes;
	return out->watched && verbs_outbox_open(&out->outbox) && !out->failed;
}

/* An RDMA WRITE without bytes needs neither address nor key (IBTA 9.7.4.1.5). */
static void
probe(struct verbs_host *host, struct verbs_out *out, uint64_t now_ns)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)out->probe.slot << CONN_ROLE_BITS | CONN_PROBE,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = out->probe.header_addr, .rkey = out->probe.rkey },
	};

	out->rtt.next_ns = now_ns + host->config.probe_interval_ps / PS_PER_NS;
	out->rtt.sent_ns = verbs_look(host);
	if (ibv_post_send(out->probe.qp, &wr, &bad) != 0)
		return;
	out->rtt.in_flight = true;
	host->count.probe_packets++;
	host->count.probe_bytes += roce_wire_bytes(ROCE_RC_WRITE_ONLY, 0);
}

void
verbs_probes_run(struct verbs_host *host, uint64_t now_ns)
{
	for (uint32_t i = 0; i < host->nouts; i++) {
		struct verbs_out *out = &host->outs[i];

		if (wanted(host, out) && !out->rtt.in_flight && out->rtt.next_ns <= now_ns)
			probe(host, out, now_ns);
	}
}

uint64_t
verbs_probes_next_ns(const struct verbs_host *host)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < host->nouts; i++) {
		const struct verbs_out *out = &host->outs[i];

		if (wanted(host, out) && !out->rtt.in_flight && out->rtt.next_ns < next_ns)
			next_ns = out->rtt.next_ns;
	}
	return next_ns;
}

/*
 * Behind its own flow a packet waits for as much of it as may be in flight at the slowest link: no fault of anybody's.
 */
static uint64_t
own_window_ps(const struct verbs_host *host, const struct verbs_out *out)
{
	return units_serialize_ps(verbs_outbox_window(&out->outbox), host->config.slowest_bps[out->data.flow], 0);
}

static void
measured(struct verbs_host *host, struct verbs_out *out)
{
	uint64_t window_bytes;

	rtt_idle(&out->rtt, out->idle_ps, out->nidle);
	rtt_forget(&out->rtt);
	if (!host->config.window_is_bdp)
		return;
	window_bytes = rtt_window_bytes(&out->rtt, host->config.slowest_bps[out->data.flow]);
	if (window_bytes < MIN_WINDOW_BYTES)
		window_bytes = MIN_WINDOW_BYTES;
	verbs_outbox_init(&out->outbox, window_bytes, host->config.params->mtu_bytes);
}

void
verbs_probe_replied(struct verbs_host *host, struct verbs_out *out)
{
	uint64_t rtt_ps = rtt_sample(&out->rtt, host->now_ns);

	if (out->nidle < host->config.probes) {
		out->idle_ps[out->nidle++] = out->rtt.last_ps;
		if (out->nidle < host->config.probes)
			return;
		measured(host, out);
		return;
	}
	if (rtt_ps != 0 && host->client.rtt != NULL && verbs_outbox_open(&out->outbox))
		host->client.rtt(host->client.ctx, out->data.flow, rtt_ps, verbs_now_ps(host));
}

bool
verbs_path_rtt(const struct device *dev, uint32_t flow, struct path_rtt *rtt)
{
	const struct verbs_host *host = verbs_of(dev);
	const struct verbs_out *out = verbs_out_of(host, flow);

	if (out->nidle < host->config.probes || verbs_is_static(host, flow))
		return false;
	rtt->base_ps = out->rtt.base_ps + own_window_ps(host, out);
	rtt->noise_ps = out->rtt.noise_ps > host->config.noise_ps ? out->rtt.noise_ps : host->config.noise_ps;
	return true;
}
