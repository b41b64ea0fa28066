/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/fate.h"

static void
count_fate(struct fate *fate, bool good, bool bad, uint64_t sent_ps)
{
	fate->revived |= good && fate->bad != 0;
	fate->good += good;
	fate->bad += bad;
	if (good)
		fate->well_ps = sent_ps;
	if (bad && fate->bad == 1)
		fate->since_ps = sent_ps;
	if (bad && fate->bad == FATE_LEAST)
		fate->lost_ps = sent_ps;
}

void
fates_count(const struct ballot *b, struct fate *fates)
{
	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &b->j->net.probes[i];
		struct fate *of = &fates[2 * (size_t)probe->tuple];
		bool part = probe->result == REC_PROBE_FIRST_LOST || probe->result == REC_PROBE_SECOND_LOST;
		bool good = probe->result == REC_PROBE_OK, back = probe->lost == NET_LOST_BACK;

		if (!ballot_takes_part(b, i))
			continue;
		count_fate(&of[0], good || part || back, probe->lost == NET_LOST_FORTH, probe->sent_ps);
		count_fate(&of[1], good || part, part || back, probe->sent_ps);
		of[1].revived |= part;
		if (probe->result == REC_PROBE_TIMEOUT && probe->lost == NET_LOST_SOMEWHERE) {
			of[0].silent |= !of[0].unsure;
			of[0].unsure = true;
		}
		of[0].silent &= !good && !part && !back;
		of[1].unsure = of[0].unsure;
	}
}
