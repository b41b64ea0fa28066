/* SPDX-License-Identifier: BSD-3-Clause */
/* How a port was used: what switches ask of its epochs themselves. */
#include "telemetry/epochs.h"

uint64_t
epochs_packets_of(const struct epochs *e, uint32_t flow)
{
	uint32_t slot = e->flows->slot_of_flow[flow];

	return slot < epochs_slots(e) ? e->before[slot] + e->open->rows[slot].packets : 0;
}

uint64_t
epochs_carried_bytes(const struct epochs *e)
{
	uint64_t bytes = 0;

	for (uint64_t i = epochs_oldest_kept(e); i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		bytes += epoch != NULL ? epoch->bytes : 0;
	}
	return bytes;
}

/* Did the slot's flow use the port since that epoch? @param waited  set if some packet of it waited */
static bool
was_used(const struct epochs *e, uint32_t slot, uint64_t first, bool *waited)
{
	bool used = false;

	for (uint64_t i = first; i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		if (epoch == NULL || epoch->rows[slot].packets == 0)
			continue;
		used = true;
		*waited |= epoch->rows[slot].depth_sum != 0;
	}
	return used;
}

bool
epochs_was_shared(const struct epochs *e)
{
	uint64_t first = e->unreported > epochs_oldest_kept(e) ? e->unreported : epochs_oldest_kept(e);
	bool waited = false;
	uint32_t flows = 0;

	for (uint32_t slot = 0; (!waited || flows < 2) && slot < epochs_slots(e); slot++)
		flows += was_used(e, slot, first, &waited);
	return waited && flows > 1;
}
