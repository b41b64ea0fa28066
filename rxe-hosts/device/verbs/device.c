/* SPDX-License-Identifier: BSD-3-Clause */
/* The device interface of a host with its own RDMA device. */
#include <errno.h>

#include "rxe-hosts/device/verbs/host.h"

static void
set_client(struct device *dev, const struct device_client *client)
{
	verbs_of(dev)->client = *client;
}

static void
register_region(struct device *dev, void *base, uint64_t bytes)
{
	verbs_of(dev)->region = base;
	verbs_of(dev)->region_bytes = bytes;
}

static int
post_receive(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes)
{
	return -ENOTSUP;
}

/* A device's congestion control is its own; a kernel's soft-RoCE has none. */
static void
reset_qp(struct device *dev, uint32_t flow)
{
}

static void
query_qp(const struct device *dev, uint32_t flow, struct qp_state *state)
{
	struct verbs_host *host = verbs_of(dev);
	const struct verbs_out *out = verbs_out_of(host, flow);
	uint64_t now_ps = verbs_now_ps(host), age_ps = rtt_age_ps(&out->rtt, host->now_ns);

	*state = (struct qp_state){
		.acked_bytes = out->outbox.acked_bytes,
		.last_rtt_ps = rtt_confirmed_ps(&out->rtt),
		.times.rtt = out->rtt.confirmed,
	};
	if (!verbs_outbox_open(&out->outbox))
		return;
	state->outstanding_bytes = out->outbox.posts[out->outbox.head % DEVICE_MAX_POSTED].bytes - state->acked_bytes;
	/* The last piece acknowledged, the header may still be on its way: the message is not complete. */
	if (state->outstanding_bytes == 0)
		state->outstanding_bytes = 1;
	state->oldest_unacked_ps = now_ps > age_ps ? now_ps - age_ps : 0;
	state->retransmits = verbs_retransmits(host, out, verbs_resent(host, VERBS_COUNTERS_AGE_NS));
}

static void
set_timer(struct device *dev, uint64_t when_ps)
{
	verbs_of(dev)->timer_ps = when_ps;
}

static uint64_t
now(const struct device *dev)
{
	return verbs_now_ps(verbs_of(dev));
}

static struct recbuf *
records(struct device *dev)
{
	return &verbs_of(dev)->records;
}

const struct device_ops verbs_device_ops = {
	.set_client = set_client,
	.register_region = register_region,
	.post_send = verbs_post_send,
	.post_receive = post_receive,
	.reset_qp = reset_qp,
	.query_qp = query_qp,
	.path_rtt = verbs_path_rtt,
	.post_datagram = verbs_post_datagram,
	.ud_qpn = verbs_ud_qpn,
	.ud_open = verbs_ud_open,
	.ud_receive = verbs_ud_receive,
	.set_timer = set_timer,
	.now = now,
	.records = records,
};
