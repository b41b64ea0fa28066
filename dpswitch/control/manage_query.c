/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the hosts with a channel. */
#include <stdio.h>

#include "dpswitch/control/manage_channel.h"

enum manage_state
manage_state(const struct manage *manage, uint32_t node)
{
	return manage_channel(manage, node)->state;
}

bool
manage_all(const struct manage *manage, enum manage_state state)
{
	for (uint32_t i = 0; i < manage->nchannels; i++)
		if (manage->channels[i].state < state || manage->channels[i].state == MANAGE_LOST)
			return false;
	return true;
}

bool
manage_over(const struct manage *manage)
{
	for (uint32_t i = 0; i < manage->nchannels; i++)
		if (manage->channels[i].state < MANAGE_FINISHED)
			return false;
	return true;
}

const char *
manage_failure(const struct manage *manage, uint32_t *node, bool *lost)
{
	const struct manage_channel *found = NULL;

	for (uint32_t i = 0; i < manage->nchannels; i++) {
		const struct manage_channel *channel = &manage->channels[i];

		if (channel->state == MANAGE_LOST && (found == NULL || found->state != MANAGE_LOST))
			found = channel;
		else if (channel->failure.text[0] != '\0' && found == NULL)
			found = channel;
	}
	if (found == NULL)
		return NULL;
	*node = found->node;
	*lost = found->state == MANAGE_LOST;
	return found->failure.text;
}

char *
manage_missing(const struct manage *manage, enum manage_state state, char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < manage->nchannels; i++)
		if (manage->channels[i].state < state && used < cap)
			used += (size_t)snprintf(buf + used, cap - used, "%s%s", used != 0 ? ", " : "",
						 manage_name(manage, &manage->channels[i]));
	return buf;
}

uint32_t
manage_first_missing(const struct manage *manage, enum manage_state state)
{
	for (uint32_t i = 0; i < manage->nchannels; i++)
		if (manage->channels[i].state < state)
			return manage->channels[i].node;
	return REC_NONE;
}

uint32_t
manage_flows(const struct manage *manage, uint32_t node, const struct swm_flow **flows)
{
	const struct manage_channel *channel = manage_channel(manage, node);

	*flows = channel->flows;
	return channel->nflows;
}

bool
manage_working(const struct manage *manage, uint32_t node)
{
	const struct manage_channel *channel = manage_channel(manage, node);

	return !channel->progressed || channel->progress.working != 0 || channel->progress.background != 0;
}

bool
manage_sending(const struct manage *manage, uint32_t node, uint64_t *next_ps)
{
	const struct manage_channel *channel = manage_channel(manage, node);

	*next_ps = channel->progressed ? channel->progress.next_ps : UINT64_MAX;
	return !channel->progressed || channel->progress.sending != 0;
}

uint32_t
manage_records(struct manage *manage, uint32_t node, struct recbuf *records, uint64_t from_ps)
{
	return host_records_move(&manage_channel(manage, node)->records, records, from_ps);
}

const struct manage_result *
manage_result(const struct manage *manage, uint32_t node)
{
	const struct manage_channel *channel = manage_channel(manage, node);

	return channel->state == MANAGE_FINISHED ? &channel->result : NULL;
}

struct manage_traffic
manage_traffic(const struct manage *manage, uint32_t node)
{
	const struct manage_channel *channel = manage_channel(manage, node);
	struct manage_traffic traffic = channel->traffic;

	traffic.refused_records = channel->records.refused;
	return traffic;
}

const char *
manage_refused(const struct manage *manage, uint32_t node)
{
	return manage_channel(manage, node)->records.why.text;
}
