/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/pools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"

#define ALPHA_SHIFT 10 /* dynamic_th is -8 at least */
#define NO_LIMIT_BYTES (UINT64_MAX / 4)

static const struct switch_settings *
settings_at(const struct sw *sw, uint16_t port)
{
	const struct switch_config *config = sw->config;

	return switch_settings_at(config->setup, config->topo, config->topo->nodes[sw->node.id].first_port + port);
}

int
pools_create(const struct switch_config *config, uint32_t node, struct pools **made)
{
	const struct switch_buffers *buffers = switch_settings_of(config->setup, node)->buffers;
	uint16_t nports = config->topo->nodes[node].nports;
	struct pools *pools;

	*made = NULL;
	if (buffers == NULL || buffers->npools == 0)
		return 0;
	pools = calloc(1, sizeof(*pools));
	if (pools == NULL)
		return -ENOMEM;
	*made = pools;
	pools->tight = calloc(nports, sizeof(*pools->tight));
	pools->queues = calloc((size_t)nports * SWITCH_CLASSES, sizeof(*pools->queues));
	if (pools->tight == NULL || pools->queues == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < buffers->npools; i++)
		pools->headroom[i].limit_bytes = buffers->pools[i].shared_xoff_bytes;
	return 0;
}

void
pools_destroy(struct pools *pools)
{
	if (pools == NULL)
		return;
	free(pools->tight);
	free(pools->queues);
	free(pools);
}

uint8_t
pools_groups(const struct switch_config *config, uint32_t node)
{
	const struct topo_node *at = &config->topo->nodes[node];
	uint8_t classes = 0;

	for (uint16_t port = 0; port < at->nports; port++) {
		const struct buffer_rows *groups =
			&switch_settings_at(config->setup, config->topo, at->first_port + port)->groups;

		for (size_t i = 0; i < groups->count; i++)
			classes |= (uint8_t)(1u << groups->rows[i].class);
	}
	return classes;
}

/* The threshold of a profile in its pool; a static one of 0 is none (SAI, SHARED_STATIC_TH). */
static struct pfc_params
params_of(const struct switch_buffers *buffers, const struct buffer_profile_params *profile)
{
	const struct buffer_pool_params *pool = &buffers->pools[profile->pool];
	struct pfc_params params;

	memset(&params, 0, sizeof(params)); /* to be compared */
	params.model = (enum pfc_model)(profile->mode != BUFFER_MODE_INHERIT ? profile->mode : pool->mode);
	params.alpha_num = 1u << (ALPHA_SHIFT + profile->dynamic_th);
	params.alpha_shift = ALPHA_SHIFT;
	params.pool_bytes = pool->size_bytes;
	params.reserve_bytes = profile->size_bytes;
	params.xoff_bytes =
		profile->static_th_bytes != 0 ? min_u64(profile->static_th_bytes, pool->size_bytes) : pool->size_bytes;
	params.xon_offset_bytes = profile->xon_offset_bytes;
	params.xon_bytes = profile->xon_bytes > profile->size_bytes ? profile->xon_bytes - profile->size_bytes : 0;
	params.pool = profile->pool;
	return params;
}

/* A group with a profile. @return what it takes beside its pool */
static uint64_t
size_group(struct sw *sw, uint16_t port, uint8_t prio, const struct buffer_row_params *row)
{
	const struct switch_buffers *buffers = settings_at(sw, port)->buffers;
	const struct buffer_profile_params *profile = &buffers->profiles[row->profile];
	struct pfc_params params = params_of(buffers, profile);
	struct account *account = &sw->account;
	struct pfc_ingress *in = &account->ingress[account_index(account, port, prio)];
	bool lossless = account_configured(sw, port) >> prio & 1;

	in->params = account_put_params(account, &params);
	in->headroom_limit_bytes = lossless ? profile->xoff_bytes : 0;
	if (lossless && profile->xoff_bytes < account_headroom_needed(sw, port))
		account->pools->tight[port] |= (uint8_t)(1u << prio);
	account->pools->headroom[profile->pool].needed_bytes += in->headroom_limit_bytes;
	return profile->size_bytes + (buffers->pools[profile->pool].shared_xoff_bytes == 0 ? in->headroom_limit_bytes : 0);
}

/* A group of a class that is charged at other ports alone: it has no limit, and is in no pool. */
static void
free_group(struct account *account, uint16_t port, uint8_t prio)
{
	struct pfc_params params;

	memset(&params, 0, sizeof(params));
	params.model = PFC_STATIC;
	params.reserve_bytes = NO_LIMIT_BYTES;
	params.pool = BUFFER_POOLS;
	account->ingress[account_index(account, port, prio)].params = account_put_params(account, &params);
}

static int
size_groups(struct sw *sw, uint16_t port, uint64_t *bytes, struct err *err)
{
	const struct switch_settings *settings = settings_at(sw, port);
	uint8_t lossless = account_configured(sw, port);

	for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++) {
		const struct buffer_row_params *row = buffer_row_of(&settings->groups, prio);
		const struct pfc_ingress *in = &sw->account.ingress[account_index(&sw->account, port, prio)];
		char name[64];

		if (!account_is_charged(&sw->account, prio))
			continue;
		if (row == NULL && (lossless >> prio & 1) != 0)
			return cfg_fail(&settings->buffers->pools[0].where, NULL, err,
					"class %u has PFC at %s and no row in buffer_pg: --set 'switch.buffer_pg.[0]=\"%u "
					"PROFILE\"' gives it one",
					prio,
					topo_port_name(sw->config->topo,
						       sw->config->topo->nodes[sw->node.id].first_port + port, name),
					prio);
		if (row == NULL) {
			free_group(&sw->account, port, prio);
			continue;
		}
		*bytes += size_group(sw, port, prio, row);
		if ((lossless >> prio & 1) != 0 &&
		    pfc_threshold(account_params(&sw->account, in), 0) <= sw->config->mtu_bytes)
			return cfg_fail(
				&row->where, "profile", err,
				"\"%s\" pauses class %u at %llu B, no more than one frame of %u B: give it a larger "
				"dynamic_th or static_th, or its pool another size",
				row->profile_name, prio,
				(unsigned long long)pfc_threshold(account_params(&sw->account, in), 0),
				sw->config->mtu_bytes);
	}
	return 0;
}

static void
size_queues(struct sw *sw, uint16_t port)
{
	const struct switch_settings *settings = settings_at(sw, port);
	struct pools *pools = sw->account.pools;

	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
		const struct buffer_row_params *row = buffer_row_of(&settings->queues, prio);
		struct pool_queue *queue = &pools->queues[port * SWITCH_CLASSES + prio];

		queue->pool = BUFFER_POOLS;
		if (row == NULL)
			continue;
		queue->params = params_of(settings->buffers, &settings->buffers->profiles[row->profile]);
		queue->pool = (uint8_t)queue->params.pool;
		pools->has_queues = true;
	}
}

int
pools_size(struct sw *sw, uint64_t *buffer_bytes, struct err *err)
{
	const struct switch_buffers *buffers = switch_settings_of(sw->config->setup, sw->node.id)->buffers;
	struct pools *pools = sw->account.pools;
	int ret = 0;

	*buffer_bytes = 0;
	for (size_t i = 0; i < buffers->npools; i++)
		if (!buffers->pools[i].egress)
			*buffer_bytes += buffers->pools[i].size_bytes + buffers->pools[i].shared_xoff_bytes;
	for (uint16_t port = 0; ret == 0 && port < sw->node.nports; port++) {
		ret = size_groups(sw, port, buffer_bytes, err);
		size_queues(sw, port);
	}
	for (uint16_t port = 0; ret == 0 && port < sw->node.nports; port++) {
		uint8_t lossless = account_configured(sw, port);

		for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++) {
			const struct pool_headroom *headroom;

			if ((lossless >> prio & 1) == 0)
				continue;
			headroom = &pools->headroom[account_params(&sw->account, &sw->account.ingress[account_index(
											 &sw->account, port, prio)])
							    ->pool];
			if (headroom->limit_bytes != 0 && headroom->needed_bytes > headroom->limit_bytes)
				pools->tight[port] |= (uint8_t)(1u << prio);
		}
		switch_misconfigure(sw, port, NULL);
	}
	return ret;
}

static uint64_t
used_bytes(const struct switch_port *port, const struct pool_queue *queue, uint8_t prio)
{
	uint64_t bytes = egress_class_bytes(&port->egress, prio);

	return bytes > queue->params.reserve_bytes ? bytes - queue->params.reserve_bytes : 0;
}

/* @return whether a pool holds another number of bytes than before */
static bool
add_up(struct sw *sw)
{
	struct pools *pools = sw->account.pools;
	uint64_t bytes[BUFFER_POOLS + 1] = { 0 };
	bool changed;

	for (uint16_t i = 0; i < sw->node.nports; i++)
		for (uint32_t backlog = sw->ports[i].egress.backlog; backlog != 0; backlog &= backlog - 1) {
			uint8_t prio = (uint8_t)__builtin_ctz(backlog);
			const struct pool_queue *queue = &pools->queues[i * SWITCH_CLASSES + prio];

			bytes[queue->pool] += used_bytes(&sw->ports[i], queue, prio);
		}
	changed = memcmp(bytes, pools->egress_bytes, sizeof(pools->egress_bytes)) != 0;
	memcpy(pools->egress_bytes, bytes, sizeof(pools->egress_bytes));
	return changed;
}

/* A queue may grow to its reserve, and above it by its threshold, as far as the pool has room. */
static uint64_t
limit_bytes(const struct pools *pools, const struct switch_port *port, const struct pool_queue *queue, uint8_t prio)
{
	uint64_t shared = pools->egress_bytes[queue->pool], size = queue->params.pool_bytes;
	uint64_t room = (size > shared ? size - shared : 0) + used_bytes(port, queue, prio);

	return queue->params.reserve_bytes + min_u64(pfc_threshold(&queue->params, shared), room);
}

void
pools_open(struct sw *sw)
{
	struct pools *pools = sw->account.pools;

	if (!pools->has_queues || (!add_up(sw) && pools->limited && sw->watchdog == NULL))
		return;
	pools->limited = true;
	memset(sw->limit_bytes, 0xff, sizeof(sw->limit_bytes));
	for (uint16_t i = 0; i < sw->node.nports; i++)
		for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
			const struct pool_queue *queue = &pools->queues[i * SWITCH_CLASSES + prio];
			uint64_t *limit = &sw->rules[i].limit_bytes[prio];

			if (queue->pool != BUFFER_POOLS && !watchdog_drops(sw->watchdog, i, prio))
				*limit = limit_bytes(pools, &sw->ports[i], queue, prio);
			sw->limit_bytes[prio] = min_u64(sw->limit_bytes[prio], *limit);
		}
}
