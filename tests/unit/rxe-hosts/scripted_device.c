/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/scripted_device.h"

#include <assert.h>
#include <errno.h>

#include "common/units.h"

#define SEGMENT_BYTES 100u

static struct scripted_device *
of(struct device *dev)
{
	return (struct scripted_device *)dev;
}

static void
set_client(struct device *dev, const struct device_client *client)
{
	of(dev)->client = client;
}

static void
register_region(struct device *dev, void *base, uint64_t bytes)
{
	of(dev)->region = base;
	of(dev)->region_bytes = bytes;
}

static int
post_send(struct device *dev, uint32_t flow, const struct send_wr *wr)
{
	struct scripted_device *d = of(dev);

	if (d->error[flow])
		return -EBUSY;
	assert(d->nposts < SCRIPTED_LOG && wr->bytes > 0);
	d->posts[d->nposts++] = (struct scripted_post){ .flow = flow, .wr = *wr, .time_ps = d->now_ps };
	d->qp[flow] = (struct qp_state){ .outstanding_bytes = wr->bytes, .oldest_unacked_ps = d->now_ps };
	return 0;
}

static int
post_receive(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes)
{
	return -ENOSPC;
}

static void
reset_qp(struct device *dev, uint32_t flow)
{
	assert(of(dev)->qp[flow].outstanding_bytes == 0);
	of(dev)->nresets++;
}

static void
query_qp(const struct device *dev, uint32_t flow, struct qp_state *state)
{
	*state = ((const struct scripted_device *)dev)->qp[flow];
}

static void
query_times(const struct device *dev, uint32_t flow, struct send_times *times)
{
	*times = ((const struct scripted_device *)dev)->times[flow];
}

static int
post_datagram(struct device *dev, const struct datagram *datagram)
{
	struct scripted_device *d = of(dev);

	assert(d->nnotices < SCRIPTED_LOG && d->npolls < SCRIPTED_LOG && d->ndatagrams < SCRIPTED_LOG);
	if (datagram->type == PKT_NOTIFY)
		d->notices[d->nnotices++] = (struct scripted_notice){ datagram->flow, datagram->id, datagram->arg };
	else if (datagram->type == PKT_POLL)
		d->polls[d->npolls++] =
			(struct scripted_poll){ datagram->flow, datagram->id, (uint8_t)datagram->arg, d->now_ps };
	else
		d->datagrams[d->ndatagrams++] = *datagram;
	return 0;
}

static int64_t
ud_qpn(struct device *dev)
{
	return 0;
}

static void
report_nic(struct device *dev, uint32_t flow)
{
	of(dev)->nnic_reports++;
}

static void
set_timer(struct device *dev, uint64_t when_ps)
{
	of(dev)->timer_ps = when_ps;
}

static uint64_t
now(const struct device *dev)
{
	return ((const struct scripted_device *)dev)->now_ps;
}

static struct recbuf *
records(struct device *dev)
{
	return &of(dev)->records;
}

static bool
path_rtt(const struct device *dev, uint32_t flow, struct path_rtt *rtt)
{
	*rtt = ((const struct scripted_device *)dev)->measured;
	return rtt->base_ps != 0;
}

static const struct device_ops ops = {
	.set_client = set_client,
	.register_region = register_region,
	.post_send = post_send,
	.post_receive = post_receive,
	.reset_qp = reset_qp,
	.query_qp = query_qp,
	.query_times = query_times,
	.path_rtt = path_rtt,
	.post_datagram = post_datagram,
	.ud_qpn = ud_qpn,
	.report_nic = report_nic,
	.set_timer = set_timer,
	.now = now,
	.records = records,
};

static const struct device_client *
at(struct scripted_device *dev, uint64_t now_ps)
{
	assert(now_ps >= dev->now_ps);
	dev->now_ps = now_ps;
	return dev->client;
}

void
scripted_init(struct scripted_device *dev, uint32_t node)
{
	*dev = (struct scripted_device){ .device.ops = &ops, .timer_ps = TIME_NEVER };
	recbuf_init(&dev->records, node);
}

void
scripted_fini(struct scripted_device *dev)
{
	recbuf_fini(&dev->records);
}

void
scripted_timer(struct scripted_device *dev, uint64_t now_ps)
{
	if (dev->timer_ps > now_ps)
		return;
	dev->timer_ps = TIME_NEVER;
	at(dev, now_ps)->timer(dev->client->ctx, now_ps);
}

void
scripted_rtt(struct scripted_device *dev, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps)
{
	dev->qp[flow].last_rtt_ps = rtt_ps;
	dev->qp[flow].acked_bytes++;
	at(dev, now_ps)->rtt(dev->client->ctx, flow, rtt_ps, now_ps);
}

void
scripted_tick(struct scripted_device *dev, uint64_t now_ps)
{
	at(dev, now_ps)->tick(dev->client->ctx, now_ps);
}

void
scripted_notify(struct scripted_device *dev, uint32_t flow, uint32_t step, uint32_t detections, uint64_t now_ps)
{
	const struct datagram notice = { .flow = flow, .id = step, .arg = detections, .type = PKT_NOTIFY };

	scripted_receive(dev, &notice, now_ps);
}

void
scripted_receive(struct scripted_device *dev, const struct datagram *datagram, uint64_t now_ps)
{
	at(dev, now_ps)->received(dev->client->ctx, datagram, now_ps);
}

void
scripted_deliver(struct scripted_device *from, uint32_t post, struct scripted_device *to, uint64_t now_ps)
{
	struct scripted_post *p = &from->posts[post];
	const struct device_client *client = at(to, now_ps);
	struct wc wc = {
		.time_ps = now_ps,
		.bytes = p->wr.bytes,
		.flow = p->flow,
		.imm = p->wr.imm,
		.opcode = WC_RECEIVED,
	};

	assert(post < from->nposts && !p->delivered);
	p->delivered = true;
	for (uint64_t done = 0; client->accept != NULL && done < p->wr.bytes; done += SEGMENT_BYTES) {
		uint64_t bytes = p->wr.bytes - done < SEGMENT_BYTES ? p->wr.bytes - done : SEGMENT_BYTES;

		assert(p->wr.local_offset + done + bytes <= from->region_bytes);
		client->accept(client->ctx, p->flow, p->wr.imm, p->wr.remote_offset + done,
			       from->region + p->wr.local_offset + done, (uint32_t)bytes);
	}
	client->completed(client->ctx, &wc);
}

void
scripted_ack(struct scripted_device *from, uint32_t post, uint64_t now_ps)
{
	struct scripted_post *p = &from->posts[post];
	struct wc wc = { .time_ps = now_ps, .wr_id = p->wr.wr_id, .flow = p->flow, .opcode = WC_SENT };

	assert(post < from->nposts && !p->acked);
	p->acked = true;
	from->qp[p->flow].outstanding_bytes = 0;
	at(from, now_ps)->completed(from->client->ctx, &wc);
}

void
scripted_fail(struct scripted_device *from, uint32_t post, uint64_t acked_bytes, uint64_t now_ps)
{
	struct scripted_post *p = &from->posts[post];
	struct wc wc = {
		.time_ps = now_ps,
		.wr_id = p->wr.wr_id,
		.bytes = acked_bytes,
		.flow = p->flow,
		.opcode = WC_ERROR,
	};

	p->acked = true;
	from->error[p->flow] = true;
	at(from, now_ps)->completed(from->client->ctx, &wc);
}

const void *
scripted_record(const struct scripted_device *dev, enum rec_type type, uint32_t n)
{
	for (size_t at_byte = 0; at_byte < dev->records.used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(dev->records.data + at_byte);

		if (hdr->type == type && n-- == 0)
			return hdr;
		at_byte += hdr->size;
	}
	return NULL;
}
