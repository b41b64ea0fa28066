/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: sends pieces and headers, receives headers, and polls the completion queue of both (outbox.h). */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/device/verbs/host.h"
#include "rxe-hosts/device/verbs/label.h"

#define CQ_BURST 32

static void verbs_probe_replied(struct verbs_host *host, struct verbs_out *out);

static bool
has_contents(const struct verbs_host *host, uint32_t flow)
{
	return host->region_mr != NULL && host->config.params->real_payload &&
	       host->config.flows->flows[flow].kind == FLOW_COLLECTIVE;
}

static int
send_header(struct verbs_out *out, const struct verbs_piece *piece)
{
	const struct verbs_header header = { htole64(piece->wr->remote_offset), htole64(piece->wr->bytes) };
	struct ibv_sge sge = { .addr = (uintptr_t)&header, .length = sizeof(header) };
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)out->data.slot << CONN_ROLE_BITS | CONN_DATA,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.imm_data = htobe32(piece->wr->imm),
		.wr.rdma = { .remote_addr = out->data.header_addr + piece->slot * sizeof(header), .rkey = out->data.rkey },
	};

	return -ibv_post_send(out->data.qp, &wr, &bad);
}

static int
send_piece(struct verbs_host *host, struct verbs_out *out, const struct verbs_piece *piece)
{
	bool contents = has_contents(host, out->data.flow);
	struct ibv_sge sge = {
		.addr = contents ? (uintptr_t)host->region + piece->wr->local_offset + piece->offset
				 : (uintptr_t)host->scratch,
		.length = piece->bytes,
		.lkey = contents ? host->region_mr->lkey : host->scratch_mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)out->data.slot << CONN_ROLE_BITS | CONN_DATA,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = piece->whole ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.imm_data = htobe32(piece->wr->imm),
		.wr.rdma = { .remote_addr = out->data.landing_addr, .rkey = out->data.rkey },
	};

	if (out->data.mirrored || piece->whole)
		wr.wr.rdma.remote_addr += piece->wr->remote_offset + piece->offset;
	return -ibv_post_send(out->data.qp, &wr, &bad);
}

static void
pump(struct verbs_host *host, struct verbs_out *out)
{
	struct verbs_piece piece;
	char flow[64];

	while (!out->failed && verbs_outbox_next(&out->outbox, &piece)) {
		int rc = piece.header ? send_header(out, &piece) : send_piece(host, out, &piece);
		char why[160];

		if (rc == 0)
			continue;
		snprintf(why, sizeof(why), "%s: cannot post to the queue pair: %s",
			 verbs_flow_text(host, out->data.flow, flow), strerror(-rc));
		verbs_out_failed(host, out, why);
	}
}

/* The oldest message posted is another one. */
static void
message_begins(struct verbs_out *out, struct verbs_resent resent, uint64_t now_ns)
{
	out->resent = resent;
	out->acked_ns = now_ns;
	out->silent_ns = 0;
	out->rtt.confirmed = (struct rtt_sum){ 0 };
}

/* Between two iterations of a measured collective: the last message has its last ACK. */
static int
change_tag(struct verbs_host *host, struct verbs_out *out, uint8_t tag)
{
	int rc = verbs_outbox_open(&out->outbox) ? -EBUSY : verbs_qp_tag(&out->data, tag);
	char flow[64];

	if (rc == 0)
		out->tag = tag;
	else
		verbs_fail(host, false, "%s: the device does not change the traffic class of a queue pair (SQD): %s",
			   verbs_flow_text(host, out->data.flow, flow), strerror(-rc));
	return rc;
}

int
verbs_post_send(struct device *dev, uint32_t flow, const struct send_wr *wr)
{
	struct verbs_host *host = verbs_of(dev);
	struct verbs_out *out = verbs_out_of(host, flow);
	bool idle = !verbs_outbox_open(&out->outbox);
	char text[64];
	int rc;

	if (wr->send)
		return -ENOTSUP;
	if (out->failed || out->data.state != CONN_UP) {
		verbs_fail(host, false, "%s: the peer went away", verbs_flow_text(host, flow, text));
		return -EBUSY;
	}
	if (has_contents(host, flow) &&
	    (wr->local_offset > host->region_bytes || wr->bytes > host->region_bytes - wr->local_offset))
		return -EINVAL;
	if (out->data.mirrored &&
	    (wr->remote_offset > out->data.landing_end || wr->bytes > out->data.landing_end - wr->remote_offset))
		return -EINVAL;
	rc = wr->tag != out->tag ? change_tag(host, out, wr->tag) : 0;
	if (rc == 0)
		rc = verbs_outbox_post(&out->outbox, wr, verbs_now_ps(host));
	if (rc != 0)
		return rc;
	host->open++;
	if (idle) {
		message_begins(out, verbs_resent(host, 0), host->now_ns);
		rtt_forget(&out->rtt);
	}
	pump(host, out);
	return 0;
}

void
verbs_out_failed(struct verbs_host *host, struct verbs_out *out, const char *why)
{
	struct verbs_outbox *outbox = &out->outbox;
	struct verbs_resent resent = verbs_resent(host, 0);
	uint64_t now_ps = verbs_now_ps(host);

	if (out->failed)
		return;
	out->failed = true;
	if (verbs_outbox_open(outbox))
		verbs_fail(host, false, "%s", why);
	for (; verbs_outbox_open(outbox); outbox->head++, outbox->acked_bytes = 0) {
		struct wc wc = {
			.time_ps = now_ps,
			.wr_id = outbox->posts[outbox->head % DEVICE_MAX_POSTED].wr_id,
			.bytes = outbox->acked_bytes,
			.flow = out->data.flow,
			.retransmits = verbs_retransmits(host, out, resent),
			.opcode = WC_ERROR,
			.times.rtt = out->rtt.confirmed,
		};

		host->open--;
		host->client.completed(host->client.ctx, &wc);
	}
}

static void
piece_acked(struct verbs_host *host, struct verbs_out *out)
{
	struct verbs_acked acked = verbs_outbox_acked(&out->outbox);
	struct wc wc;

	host->acked_bytes += acked.bytes;
	if (host->now_ns - out->acked_ns > out->silent_ns)
		out->silent_ns = host->now_ns - out->acked_ns;
	out->acked_ns = host->now_ns;
	if (acked.message) {
		struct verbs_resent resent = verbs_resent(host, 0);

		wc = (struct wc){
			.time_ps = verbs_now_ps(host),
			.wr_id = acked.wr_id,
			.bytes = acked.message_bytes,
			.flow = out->data.flow,
			.retransmits = verbs_retransmits(host, out, resent),
			.opcode = WC_SENT,
			.times.rtt = out->rtt.confirmed,
		};
		message_begins(out, resent, host->now_ns);
		host->open--;
		host->client.completed(host->client.ctx, &wc);
	}
	pump(host, out);
}

static void
received(struct verbs_host *host, struct verbs_in *in, uint32_t imm, uint32_t written_bytes)
{
	const struct verbs_header *slot = &in->headers[in->messages++ % DEVICE_MAX_POSTED];
	bool whole = verbs_is_static(host, in->data.flow);
	uint64_t offset = whole ? host->client.place(host->client.ctx, in->data.flow, imm) : le64toh(slot->remote_offset);
	uint64_t bytes = whole ? written_bytes : le64toh(slot->bytes);
	struct wc wc = { .flow = in->data.flow, .imm = imm, .bytes = bytes, .opcode = WC_RECEIVED };
	char flow[64];

	if (in->mirrored && (offset < in->landing_from || offset > in->landing_end || bytes > in->landing_end - offset)) {
		verbs_fail(host, true, "%s: a message of %llu bytes at %llu is not within the flow's section of the region",
			   verbs_flow_text(host, in->data.flow, flow), (unsigned long long)bytes,
			   (unsigned long long)offset);
		return;
	}
	if (in->mirrored && host->client.accept != NULL)
		host->client.accept(host->client.ctx, in->data.flow, imm, offset, in->landing + (offset - in->landing_from),
				    (uint32_t)bytes);
	verbs_look(host);
	if (verbs_qp_post_receive(&in->data) != 0 && in->data.state == CONN_UP)
		verbs_fail(host, true, "%s: cannot post a receive", verbs_flow_text(host, in->data.flow, flow));
	wc.time_ps = verbs_now_ps(host);
	host->client.completed(host->client.ctx, &wc);
}

/* The first error of a QP has the cause; requests queued behind it are flushed. */
static void
failed(struct verbs_host *host, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)(wc->wr_id >> CONN_ROLE_BITS);
	char flow[64], why[160];

	if ((wc->wr_id & ((1u << CONN_ROLE_BITS) - 1)) == CONN_UD_SEND)
		verbs_ud_sent(host, false);
	if (wc->status == IBV_WC_WR_FLUSH_ERR || (wc->wr_id & ((1u << CONN_ROLE_BITS) - 1)) != CONN_DATA)
		return;
	snprintf(why, sizeof(why), "%s: %s", verbs_flow_text(host, host->outs[slot].data.flow, flow),
		 ibv_wc_status_str(wc->status));
	verbs_out_failed(host, &host->outs[slot], why);
}

static void
complete(struct verbs_host *host, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)(wc->wr_id >> CONN_ROLE_BITS);

	if (wc->status != IBV_WC_SUCCESS) {
		failed(host, wc);
		return;
	}
	switch ((enum conn_role)(wc->wr_id & ((1u << CONN_ROLE_BITS) - 1))) {
	case CONN_DATA:
		if (!host->outs[slot].failed)
			piece_acked(host, &host->outs[slot]);
		return;
	case CONN_PROBE:
		verbs_probe_replied(host, &host->outs[slot]);
		return;
	case CONN_RECEIVE:
		received(host, &host->ins[slot], be32toh(wc->imm_data), wc->byte_len);
		return;
	case CONN_UD_SEND:
		verbs_ud_sent(host, true);
		return;
	case CONN_UD_RECEIVE:
		verbs_ud_received(host, wc);
		return;
	}
}

void
verbs_completions(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	struct ibv_wc wcs[CQ_BURST];
	struct ibv_cq *cq;
	void *cq_ctx;
	int count;

	if (ibv_get_cq_event(host->events, &cq, &cq_ctx) != 0)
		return;
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(host->cq, 0) != 0)
		verbs_fail(host, true, "%s: no more completion events", verbs_host_name(host));
	while ((count = ibv_poll_cq(host->cq, CQ_BURST, wcs)) > 0) {
		verbs_look(host);
		for (int i = 0; i < count; i++)
			complete(host, &wcs[i]);
	}
	if (count < 0)
		verbs_fail(host, true, "%s: the completion queue is of no use any more", verbs_host_name(host));
}

/* RTT probes of the flows that this host sends: why and how, see stamps.h. */

/*
 * A kernel on busy cores works in bursts: the data in flight has to last until its next turn, about 20 ms at 40 Mbps.
 * Below this size guests use half the bandwidth of their links.
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

/* Behind its own flow a packet waits for the flow's data in flight at the slowest link: this is no fault. */
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

static void
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
