/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that runs SONiC as a scenario has it: its pools and profiles, and the settings of its ports. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/import/sonic.h"
#include "common/log.h"
#include "common/minmax.h"

#define DSCP_STEP 8   /* class c has DSCP 8 x c here */
#define BEST_EFFORT 1 /* stands for class 0, which carries control here */
#define MAX_WEIGHT 64

/* @return bytes that the priority groups take beside a pool, or of it: reserves, and headroom, shared or their own */
static uint64_t
beside_bytes(const struct sonic_switch *at, uint32_t pool)
{
	uint64_t reserves = 0, headroom = 0;

	for (uint32_t p = 0; p < at->nports; p++)
		for (uint8_t class = 1; at->ports[p].up && class < SONIC_CLASSES; class ++) {
			uint8_t profile = at->ports[p].settings.groups[class];

			if (profile == SONIC_NONE || at->profiles[profile].pool != pool)
				continue;
			reserves += at->profiles[profile].size_bytes;
			headroom +=
				(at->ports[p].settings.lossless >> class & 1) != 0 ? at->profiles[profile].xoff_bytes : 0;
		}
	return reserves + (at->pools[pool].xoff_bytes != 0 ? at->pools[pool].xoff_bytes : headroom);
}

void
sonic_separate_headroom(struct sonic_switch *at)
{
	for (uint32_t i = 0; i < at->npools; i++)
		at->buffer_bytes = max_u64(at->buffer_bytes, at->pools[i].size_bytes);
	for (uint32_t i = 0; i < at->npools; i++) {
		struct sonic_pool *pool = &at->pools[i];
		uint64_t all = pool->size_bytes + beside_bytes(at, i);

		if (!pool->egress && all > at->buffer_bytes && pool->size_bytes > all - at->buffer_bytes)
			pool->size_bytes -= all - at->buffer_bytes;
	}
}

void
sonic_sort_groups(struct sonic_switch *at)
{
	for (uint32_t i = 0; i < at->nports; i++) {
		uint8_t *groups = at->ports[i].settings.groups, of_group[SONIC_CLASSES];

		memcpy(of_group, groups, sizeof(of_group));
		for (uint8_t class = 0; class < SONIC_CLASSES; class ++)
			groups[class] = of_group[at->ports[i].group_of[class]];
	}
}

void
sonic_drop_pools_without_size(struct sonic_switch *at)
{
	bool had_none = at->npools == 0;

	for (uint32_t i = 0; i < at->npools; i++) {
		if (at->pools[i].has_size)
			continue;
		log_warning(
			"%s: BUFFER_POOL.%s has no size (the dynamic buffer model): pools and profiles are left out, and "
			"buffers are those of switch.profile; another file with BUFFER_POOL sizes as the switch shows them "
			"would be right",
			at->path, at->pools[i].name);
		at->npools = at->nprofiles = 0;
	}
	if (had_none && at->nports != 0 && at->ports[0].settings.lossless != 0)
		log_warning("%s: no BUFFER_POOL: buffers and headroom are those of switch.profile", at->path);
	for (uint32_t p = 0; at->npools == 0 && p < at->nports; p++) {
		memset(at->ports[p].settings.groups, SONIC_NONE, SONIC_CLASSES);
		memset(at->ports[p].settings.queues, SONIC_NONE, SONIC_CLASSES);
	}
}

static void
write_rows(const char *key, const struct sonic_switch *at, const uint8_t of[SONIC_CLASSES], FILE *to)
{
	const char *comma = "";

	fprintf(to, "    %s = (", key);
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		if (of[c] != SONIC_NONE) {
			fprintf(to, "%s \"%u %s\"", comma, c, at->profiles[of[c]].name);
			comma = ",";
		}
	fprintf(to, " );\n");
}

static void
write_pfc(const struct sonic_settings *s, FILE *to)
{
	const char *comma = "";

	fprintf(to, "    pfc = { enabled = %s; asymmetric = %s; priorities = [", s->lossless != 0 ? "true" : "false",
		s->asymmetric ? "true" : "false");
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		if (s->lossless >> c & 1) {
			fprintf(to, "%s \"%u\"", comma, c);
			comma = ",";
		}
	fprintf(to, " ]; };\n");
}

static void
write_wreds(const struct sonic_switch *at, const struct sonic_settings *s, FILE *to)
{
	const char *comma = "";

	fprintf(to, "    wred = (");
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		if (s->wreds[c] != SONIC_NONE) {
			const struct sonic_wred *wred = &at->wreds[s->wreds[c]];

			fprintf(to, "%s { class = %u; kmin = %" PRIu64 "L; kmax = %" PRIu64 "L; pmax = %.2f; }", comma, c,
				wred->kmin_bytes, wred->kmax_bytes, wred->pmax);
			comma = ",";
		}
	fprintf(to, " );\n");
}

static void
write_weights(const struct sonic_settings *s, FILE *to)
{
	const char *comma = "";
	uint32_t most = 0;

	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		most = max_u32(most, s->weights[c]);
	if (most == 0)
		return;
	fprintf(to, "    weights = [");
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		if (s->weights[c] != 0) {
			uint32_t weight = most > MAX_WEIGHT ? s->weights[c] * MAX_WEIGHT / most : s->weights[c];

			fprintf(to, "%s \"%u:%u\"", comma, c, max_u32(weight, 1));
			comma = ",";
		}
	fprintf(to, " ];\n");
}

/* Data in queue 0 is in the class that stands for it, which has the rows of 0 then. */
static void
move_best_effort(struct sonic_settings *s)
{
	s->groups[BEST_EFFORT] = s->groups[0];
	s->queues[BEST_EFFORT] = s->queues[0];
	s->wreds[BEST_EFFORT] = s->wreds[0];
	s->weights[BEST_EFFORT] = s->weights[0];
}

void
sonic_write_settings(const struct sonic_switch *at, const struct sonic_settings *settings, uint8_t data_class, FILE *to)
{
	struct sonic_settings moved = *settings, *s = &moved;
	uint8_t class = s->roce_class == 0 ? BEST_EFFORT : s->roce_class;

	if (s->roce_class == 0)
		move_best_effort(s);
	if (at->npools != 0) {
		write_rows("buffer_pg", at, s->groups, to);
		write_rows("buffer_queue", at, s->queues, to);
	}
	write_pfc(s, to);
	write_wreds(at, s, to);
	write_weights(s, to);
	if (class != SONIC_NONE)
		fprintf(to, "    class_map = [ \"%u:%u\" ];\n", data_class * DSCP_STEP, class);
	if (s->watchdog.enabled)
		fprintf(to,
			"    watchdog = { enabled = true; detection_time = \"%" PRIu32 "ms\"; restoration_time = \"%" PRIu32
			"ms\"; action = \"%s\"; };\n",
			s->watchdog.detection_ms, s->watchdog.restoration_ms, s->watchdog.action);
	else
		fprintf(to, "    watchdog = { enabled = false; };\n");
}

void
sonic_write_pools(const struct sonic_switch *at, FILE *to)
{
	const char *comma = "";

	fprintf(to, "    buffer = %" PRIu64 "L; // the largest pool: files do not have the chip's\n    buffer_pool = (",
		at->buffer_bytes);
	for (uint32_t i = 0; i < at->npools; i++) {
		const struct sonic_pool *pool = &at->pools[i];

		if (pool->size_bytes == 0)
			continue;
		fprintf(to,
			"%s\n      { name = \"%s\"; type = \"%s\"; mode = \"%s\"; size = %" PRIu64 "L; xoff = %" PRIu64
			"L; }",
			comma, pool->name, pool->egress ? "egress" : "ingress", pool->is_static ? "static" : "dynamic",
			pool->size_bytes, pool->egress ? 0 : pool->xoff_bytes);
		comma = ",";
	}
	fprintf(to, "\n    );\n    buffer_profile = (");
	comma = "";
	for (uint32_t i = 0; i < at->nprofiles; i++) {
		const struct sonic_profile *p = &at->profiles[i];

		if (at->pools[p->pool].size_bytes == 0)
			continue;
		fprintf(to, "%s\n      { name = \"%s\"; pool = \"%s\"; size = %" PRIu64 "L; ", comma, p->name,
			at->pools[p->pool].name, p->size_bytes);
		if (!at->pools[p->pool].egress)
			fprintf(to, "xon = %" PRIu64 "L; xon_offset = %" PRIu64 "L; xoff = %" PRIu64 "L; ", p->xon_bytes,
				p->xon_offset_bytes, p->xoff_bytes);
		if (p->is_static)
			fprintf(to, "mode = \"static\"; static_th = %" PRIu64 "L; }", p->static_th_bytes);
		else
			fprintf(to, "dynamic_th = %d; mode = \"dynamic\"; }", p->dynamic_th);
		comma = ",";
	}
	fprintf(to, "\n    );\n");
}
