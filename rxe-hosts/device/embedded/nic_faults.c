/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs that faults make fail, or slow. Where DMA does not keep up with the line, what has come in stays in the NIC's buffer, which is
 * the cable's queue of arrivals, and the NIC pauses its peer (R-Pingmesh 7.1: "intra-host bandwidth degradation causes RNICs to send
 * PFC pause frames"). Room behind XOFF it always has enough.
 */
#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"

#define DEAF (NIC_HANGS | NIC_NO_GID | NIC_FROZEN)
#define REFRESH_PS (100 * PS_PER_US) /* of PAUSE, well below what 65,535 quanta of 512 bits last at 100 Gbps */

/* Nobody counts it but the run's truth. */
static void
lose(struct host *host, struct nic *nic, const struct pkt *p)
{
	nic->nic_faults.faulty_packets++;
	host->node.count.lost_packets++;
	host->node.count.dropped_packets++;
	host->node.count.dropped_bytes += p->wire_bytes;
	body_release(host->node.bodies, p);
}

static struct nic_dma
dma_of(const struct nic *nic)
{
	struct nic_dma all = { 0 };

	for (uint32_t i = 0; i < NIC_DMA_CAUSES; i++) {
		const struct nic_dma *dma = &nic->nic_faults.dma[i];

		if (dma->rate_bps != 0 && (all.rate_bps == 0 || dma->rate_bps < all.rate_bps))
			all.rate_bps = dma->rate_bps;
		if (dma->xoff_bytes != 0 && (all.xoff_bytes == 0 || dma->xoff_bytes < all.xoff_bytes))
			all.xoff_bytes = dma->xoff_bytes;
		all.delay_ps += dma->delay_ps;
	}
	return all;
}

/* How long DMA takes for a packet. What the NIC makes and reads itself, as ACKs, needs none. */
static uint64_t
dma_ps(const struct nic_dma *dma, const struct pkt *p)
{
	if (dma->rate_bps == 0 || (p->type != PKT_DATA && p->type != PKT_UD))
		return 0;
	return (uint64_t)((unsigned __int128)p->wire_bytes * 8 * PS_PER_S / dma->rate_bps);
}

/* Tells the peer to stop or to go on, by what waits for DMA. */
static void
pause_peer(struct host *host, struct nic *nic, const struct nic_dma *dma, const struct pkt *waiting, uint32_t count)
{
	uint64_t bytes = 0;
	uint8_t classes = 0, change;

	for (uint32_t i = 0; i < count; i++) {
		bytes += waiting[i].wire_bytes;
		classes |= (uint8_t)(1u << waiting[i].prio);
	}
	classes &= 0xfe; /* class 0 is never paused */
	if (dma->xoff_bytes != 0 && bytes >= dma->xoff_bytes)
		change = classes & (uint8_t) ~(nic->nic_faults.pausing | nic->storm_mask);
	else
		change = bytes <= dma->xoff_bytes / 2 ? nic->nic_faults.pausing : 0;
	nic->nic_faults.pausing ^= change;
	for (uint8_t prio = 1; prio < 8; prio++)
		if (change >> prio & 1)
			embedded_storm(&host->node, nic->index, prio, nic->nic_faults.pausing >> prio & 1, host->now_ps,
				       REFRESH_PS);
}

/* Nothing is wrong any more, and nothing of it is left. */
static void
look(struct nic *nic, bool drained)
{
	const struct nic_dma dma = dma_of(nic);

	nic->ailing = nic->nic_faults.failures != 0 || dma.rate_bps != 0 || dma.delay_ps != 0 || !drained;
}

static uint32_t
take_in_slow(struct host *host, struct nic *nic)
{
	const struct nic_dma dma = dma_of(nic);
	uint32_t count = (uint32_t)(nic->arrivals_end - nic->arrivals), taken = 0;

	for (; taken < count; taken++) {
		struct pkt *p = &nic->arrivals[taken];
		uint64_t free_ps = max_u64(nic->nic_faults.dma_free_ps, p->time_ps) + dma_ps(&dma, p);
		uint64_t handed_ps = max_u64(max_u64(free_ps + dma.delay_ps, nic->nic_faults.handed_ps), host->now_ps);

		if (handed_ps >= host->window.end_ps)
			break;
		nic->nic_faults.faulty_packets += handed_ps != p->time_ps;
		nic->nic_faults.dma_free_ps = free_ps;
		nic->nic_faults.handed_ps = p->time_ps = handed_ps;
	}
	nic->arrivals_end = nic->arrivals + taken;
	pause_peer(host, nic, &dma, nic->arrivals_end, count - taken);
	look(nic, taken == count);
	return taken;
}

uint32_t
nic_receive_faulty(struct host *host, struct nic *nic)
{
	uint32_t count = (uint32_t)(nic->arrivals_end - nic->arrivals);

	if ((nic->nic_faults.failures & DEAF) == 0)
		return take_in_slow(host, nic);
	for (; nic->arrivals != nic->arrivals_end; nic->arrivals++) {
		host->node.count.rx_packets++;
		host->node.count.rx_bytes += nic->arrivals->wire_bytes;
		lose(host, nic, nic->arrivals);
	}
	return count;
}

bool
nic_send_faulty(struct host *host, struct nic *nic, const struct pkt *p, uint64_t *done_ps)
{
	const struct nic_dma dma = dma_of(nic);

	if (nic->nic_faults.failures & DEAF) {
		lose(host, nic, p);
		return false;
	}
	if (nic->nic_faults.failures & NIC_NO_ROUTES) {
		nic->nic_faults.faulty_packets++;
		host_drop(host, nic, p, REC_DROP_NO_ROUTE);
		return false;
	}
	*done_ps = max_u64(*done_ps, host->now_ps + dma_ps(&dma, p));
	return true;
}

void
embedded_fail_nic(struct node *node, uint16_t index, uint8_t failure, bool on)
{
	struct nic *nic = &host_of(node)->nics[index];

	nic->nic_faults.failures = on ? nic->nic_faults.failures | failure : nic->nic_faults.failures & (uint8_t)~failure;
	nic->ailing = true; /* until it has been looked at with nothing left */
}

void
embedded_slow_nic(struct node *node, uint16_t index, enum nic_dma_cause cause, const struct nic_dma *dma)
{
	struct nic *nic = &host_of(node)->nics[index];

	nic->nic_faults.dma[cause] = *dma;
	nic->ailing = true;
}

void
embedded_freeze(struct node *node, bool on, uint64_t now_ps)
{
	struct host *host = host_of(node);

	for (uint16_t i = 0; i < node->nports; i++)
		embedded_fail_nic(node, i, NIC_FROZEN, on);
	host->frozen = on;
	host->now_ps = now_ps;
	if (on)
		return;
	/* What fell due meanwhile is due now. */
	host->client_timer_ps = max_u64(host->client_timer_ps, now_ps);
	host->rto_ps = max_u64(host->rto_ps, now_ps);
	host->storm_ps = max_u64(host->storm_ps, now_ps);
	host_set_timers(host);
	for (uint16_t i = 0; i < node->nports; i++)
		nic_schedule(host, &host->nics[i]);
}

uint64_t
embedded_nic_faulty(const struct node *node, uint16_t nic)
{
	return ((const struct host *)node)->nics[nic].nic_faults.faulty_packets;
}
