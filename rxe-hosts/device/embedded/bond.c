/* SPDX-License-Identifier: BSD-3-Clause */
/* A bonded host whose members' links change: which port each QP sends by (topo/bond.h). */
#include "topo/bond.h"
#include "rxe-hosts/device/embedded/host.h"

static void
set_bit(uint64_t *words, uint32_t bit, bool on)
{
	uint64_t mask = 1ULL << (bit % 64);

	words[bit / 64] = on ? words[bit / 64] | mask : words[bit / 64] & ~mask;
}

static bool
has_bit(const uint64_t *words, uint32_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}

/* Takes a QP off its NIC, whose last one gets its place. What it sent is told by then. */
static void
detach(struct nic *nic, const struct send_qp *qp)
{
	uint32_t last = --nic->nqps, bit = qp->bit;

	nic->nready -= has_bit(nic->ready, bit);
	set_bit(nic->ready, bit, has_bit(nic->ready, last));
	set_bit(nic->ready, last, false);
	nic->qps[bit] = nic->qps[last];
	nic->qps[bit]->bit = (uint16_t)bit;
	for (uint32_t i = 0; i < 2; i++)
		nic->last[i] = nic->last[i] < nic->nqps ? nic->last[i] : 0;
}

static void
attach(struct host *host, uint16_t to, struct send_qp *qp)
{
	struct nic *nic = &host->nics[to];

	qp->nic = to;
	qp->bit = (uint16_t)nic->nqps;
	nic->qps[nic->nqps++] = qp;
	qp_look(host, qp, true);
}

static void
move(struct host *host, uint16_t to, struct send_qp *qp)
{
	struct nic *from = &host->nics[qp->nic];

	nic_flush(host, from);
	detach(from, qp);
	nic_schedule(host, from);
	attach(host, to, qp);
}

/* Where a flow goes with all members up, and else where those that are up take it. */
static uint16_t
member_of(const struct host *host, const struct flow *flow, bool back, const bool *is_down)
{
	uint16_t placed = back ? flow->dst_nic : flow->src_nic;

	if (!is_down[placed])
		return placed;
	return bond_member(host->config.topo, host->config.bond_seed, host->node.id, flow, back, is_down);
}

void
host_rebond(struct host *host)
{
	bool is_down[TOPO_MAX_PORTS];

	for (uint16_t i = 0; i < host->node.nports; i++)
		is_down[i] = host->nics[i].tx->down;
	for (uint32_t f = 0; f < host->config.flows->count; f++) {
		const struct flow *flow = &host->config.flows->flows[f];
		const struct flow_slot *slot = host_slot(host, f);

		if (flow->src_node == host->node.id) {
			struct send_qp *qp = &host->send[slot->send];
			uint16_t to = member_of(host, flow, false, is_down);

			if (to != qp->nic)
				move(host, to, qp);
		}
		if (flow->dst_node == host->node.id)
			host->recv[slot->recv].nic = member_of(host, flow, true, is_down);
	}
}
