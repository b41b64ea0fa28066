/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the management channels, shared by manage*.c. */
#pragma once

#include <sys/un.h>

#include "common/manage_stream.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/control/host_records.h"
#include "dpswitch/control/manage.h"

struct manage_channel {
	uint32_t node;
	enum manage_state state;
	int listener;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	bool connected;
	struct manage_stream stream;
	struct manage_progress progress;
	bool progressed;
	struct host_records records; /* that wait to be moved */
	struct swm_flow *flows;      /* [nflows] as told last */
	uint32_t nflows;
	struct manage_result result;
	struct manage_traffic traffic;
	struct err failure; /* the first that went wrong: what the host said itself comes before what followed from it */
};

struct manage {
	struct manage_config config;
	int epoll;
	struct manage_channel *channels; /* [nchannels] */
	uint32_t nchannels;
	uint32_t *of;              /* [topo->nnodes] index of a host's channel */
	bool connecting, stopping; /* as told to the hosts */
	uint64_t zero_ns;          /* time 0 of the run, 0: not told yet */
};

static inline struct manage_channel *
manage_channel(const struct manage *manage, uint32_t node)
{
	return &manage->channels[manage->of[node]];
}

static inline const char *
manage_name(const struct manage *manage, const struct manage_channel *channel)
{
	return manage->config.topo->nodes[channel->node].name;
}

/* manage.c */
/* The host is gone, or as good as that. */
void manage_lose(struct manage *manage, struct manage_channel *channel, const char *why);
/* To a host that listens. */
void manage_send(struct manage *manage, struct manage_channel *channel, enum manage_type type, const void *body,
		 size_t size);
/* manage_answer.c: a message came in */
void manage_answer(struct manage *manage, struct manage_channel *channel, const struct manage_message *message,
		   const struct manage_sink *sink);
