/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/overtakes.h"

struct overtaker *
overtakes_place(struct overtakes *o, uint32_t key)
{
	o->any = true;
	for (uint32_t i = 0; i < OVERTAKES_WAYS && key != 0; i++) {
		struct overtaker *by = &o->by[(key + i) % OVERTAKES_SLOTS];

		if (by->key == 0)
			by->key = key;
		if (by->key == key)
			return by;
	}
	return &o->others;
}

void
overtakes_sum(struct overtakes *sum, const struct overtakes *of)
{
	if (!of->any)
		return;
	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++)
		if (of->by[i].packets != 0)
			overtakes_add(sum, of->by[i].key, of->by[i].packets, of->by[i].bytes);
	sum->any = true;
	sum->depth_max = of->depth_max > sum->depth_max ? of->depth_max : sum->depth_max;
	sum->others.packets += of->others.packets;
	sum->others.bytes += of->others.bytes;
}

uint64_t
overtakes_fold(struct overtakes *o, uint32_t part)
{
	uint64_t bytes = o->others.bytes;

	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++)
		bytes += o->by[i].bytes;
	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++) {
		struct overtaker *by = &o->by[i];

		if (by->bytes * part >= bytes)
			continue;
		o->others.packets += by->packets;
		o->others.bytes += by->bytes;
		*by = (struct overtaker){ 0 };
	}
	return bytes;
}
