/* SPDX-License-Identifier: BSD-3-Clause */
/* What descriptors have no room for: RETH and payload, kept by the sender of their message. */
#include "rxe-hosts/device/embedded/host.h"

const struct rc_post *
host_message_of(const struct embedded_shared *shared, const struct pkt *p)
{
	const struct rc_send *sender = shared->senders[p->flow];

	return sender != NULL ? rc_send_message(sender, p) : NULL;
}

void
embedded_describe(const struct embedded_shared *shared, const struct roce_params *params, const struct pkt *p,
		  struct pkt_message *m)
{
	const struct rc_post *post = p->type == PKT_DATA ? host_message_of(shared, p) : NULL;
	const struct ud_contents *ud = p->type == PKT_UD ? ud_contents_of(shared, p, UD_BETWEEN_WINDOWS)
				       : p->type == PKT_EXPIRED && p->syndrome == 0
					       ? ud_expired_contents_of(shared, p, UD_BETWEEN_WINDOWS)
					       : NULL;
	uint64_t offset;

	*m = (struct pkt_message){ 0 };
	if (ud != NULL)
		*m = (struct pkt_message){ .dst_qpn = ud->dst_qpn, .src_qpn = ud->src_qpn, .payload = ud->contents };
	if (post == NULL)
		return;
	m->va = post->remote_offset;
	m->dma_bytes = post->bytes < UINT32_MAX ? (uint32_t)post->bytes : UINT32_MAX;
	offset = (uint64_t)((p->psn - post->first) & PSN_MASK) * params->mtu_bytes;
	if (params->any_order) {
		m->va += offset;
		m->dma_bytes = p->payload_bytes;
	}
	if (post->payload != NULL)
		m->payload = post->payload + offset;
}
