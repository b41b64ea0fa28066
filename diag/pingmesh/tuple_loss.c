/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/tuple_loss.h"

static void
count_result(struct tuple_loss *loss, bool good, bool bad, uint64_t sent_ps)
{
	loss->revived |= good && loss->bad != 0;
	loss->good += good;
	loss->bad += bad;
	if (good)
		loss->well_ps = sent_ps;
	if (bad && loss->bad == 1)
		loss->since_ps = sent_ps;
	if (bad && loss->bad == TUPLE_LOSS_LEAST)
		loss->lost_ps = sent_ps;
}

void
tuple_losses_count(const struct ballot *b, struct tuple_loss *tuple_losses)
{
	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &b->j->net.probes[i];
		struct tuple_loss *of = &tuple_losses[2 * (size_t)probe->tuple];
		bool part = probe->result == REC_PROBE_FIRST_LOST || probe->result == REC_PROBE_SECOND_LOST;
		bool good = probe->result == REC_PROBE_OK, back = probe->lost == NET_LOST_BACK;

		if (!ballot_takes_part(b, i))
			continue;
		count_result(&of[0], good || part || back, probe->lost == NET_LOST_FORTH, probe->sent_ps);
		count_result(&of[1], good || part, part || back, probe->sent_ps);
		of[1].revived |= part;
		if (probe->result == REC_PROBE_TIMEOUT && probe->lost == NET_LOST_SOMEWHERE) {
			of[0].silent |= !of[0].unsure;
			of[0].unsure = true;
		}
		of[0].silent &= !good && !part && !back;
		of[1].unsure = of[0].unsure;
	}
}
