/* SPDX-License-Identifier: BSD-3-Clause */
/* What hosts' programs say, message by message: when each is due, and what becomes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/wire/pingmesh_manage.h"
#include "dpswitch/control/manage_channel.h"
#include "dpswitch/control/manage_check.h"

union body {
	struct manage_hello hello;
	struct manage_time time;
	struct manage_connected connected;
	struct manage_progress progress;
	struct manage_qp qp;
	struct manage_step step;
	struct manage_iteration iteration;
	struct manage_result result;
	struct manage_failed failed;
};

/* What has come in, and whom it is handed to. */
struct received {
	struct manage *manage;
	struct manage_channel *channel;
	const struct manage_message *message;
	const struct manage_sink *sink;
};

/* @return the run's time; 0 before it */
static uint64_t
run_ps(const struct manage *manage)
{
	uint64_t now_ns = clock_now_ns();

	return manage->zero_ns != 0 && now_ns > manage->zero_ns ? (now_ns - manage->zero_ns) * PS_PER_NS : 0;
}

static void
hello(const struct received *received, union body *body)
{
	struct manage_channel *channel = received->channel;
	const struct manage_hello *hello = &body->hello;
	char why[160];

	if (hello->version != MANAGE_VERSION) {
		snprintf(why, sizeof(why), "its rxe-host speaks version %u of the management protocol, this is %u",
			 hello->version, MANAGE_VERSION);
		manage_lose(received->manage, channel, why);
	} else if (hello->node != channel->node || hello->digest != received->manage->config.digest) {
		manage_lose(received->manage, channel,
			    "its rxe-host has read another scenario: give both the same file, --set and --seed");
	} else {
		channel->state = MANAGE_UP;
		channel->traffic.up_ns = clock_now_ns();
		memcpy(channel->traffic.device, hello->device, sizeof(hello->device));
	}
}

static void
reply_time(const struct received *received, union body *body)
{
	body->time.fabric_ns = clock_now_ns();
	manage_send(received->manage, received->channel, MANAGE_TIME, &body->time, sizeof(body->time));
}

static void
connected(const struct received *received, union body *body)
{
	struct manage_channel *channel = received->channel;

	channel->state = MANAGE_READY;
	channel->traffic.ready_ns = clock_now_ns();
	channel->traffic.clock_error_ns = body->connected.clock_error_ns;
	channel->traffic.base_rtt_ns = body->connected.base_rtt_ns;
	channel->traffic.rtt_noise_ns = body->connected.noise_ns;
}

static void
records(const struct received *received, union body *body)
{
	(void)body; /* it may be longer */
	host_records_take(&received->channel->records, received->manage->config.check, received->channel->node,
			  manage_name(received->manage, received->channel), run_ps(received->manage),
			  received->message->body, received->message->size);
}

/* What R-Pingmesh's agent asks its controller; whoever answers checks it. */
static void
pingmesh(const struct received *received, union body *body)
{
	uint64_t request[(sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST) / 8];
	struct manage_reply reply;

	(void)body; /* it may be longer */
	if (received->message->size > sizeof(request)) {
		manage_lose(received->manage, received->channel,
			    "its agent asks R-Pingmesh's controller for more than there is");
		return;
	}
	memcpy(request, received->message->body, received->message->size);
	reply = received->sink->pingmesh(received->sink->ctx, request, received->message->size, run_ps(received->manage));
	if (reply.size > MANAGE_MAX_BODY)
		manage_lose(received->manage, received->channel,
			    "what R-Pingmesh's controller replies to it is longer than a management message: probe fewer "
			    "hosts");
	else if (reply.size != 0)
		manage_send(received->manage, received->channel, MANAGE_PINGMESH, reply.bytes, reply.size);
}

/* Its connections, for who asks on its management socket. */
static void
flows(const struct received *received, union body *body)
{
	struct manage_channel *channel = received->channel;
	uint32_t size = received->message->size, count = size / sizeof(struct swm_flow);
	const struct topo *topo = received->manage->config.topo;
	struct swm_flow *copy = malloc(size + 1u);

	(void)body; /* it may be longer */
	if (copy == NULL)
		return; /* what it told before stays */
	memcpy(copy, received->message->body, size);
	for (uint32_t i = 0; i < count; i++)
		if (size % sizeof(*copy) != 0 || copy[i].nic >= topo->nodes[channel->node].nports) {
			free(copy);
			manage_lose(received->manage, channel, "its rxe-host told of flows that it cannot have");
			return;
		}
	free(channel->flows);
	channel->flows = copy;
	channel->nflows = count;
}

static void
progress(const struct received *received, union body *body)
{
	received->channel->progress = body->progress;
	received->channel->progressed = true;
}

static void
qp(const struct received *received, union body *body)
{
	if (!received->sink->qp(received->sink->ctx, received->channel->node, &body->qp))
		manage_lose(received->manage, received->channel,
			    "its rxe-host reported a queue pair that is not in the plan");
}

static void
step(const struct received *received, union body *body)
{
	if (!received->sink->step(received->sink->ctx, received->channel->node, &body->step))
		manage_lose(received->manage, received->channel, "its rxe-host reported a step that is not in the plan");
}

static void
iteration(const struct received *received, union body *body)
{
	if (!received->sink->iteration(received->sink->ctx, received->channel->node, &body->iteration))
		manage_lose(received->manage, received->channel,
			    "its rxe-host reported an iteration that is not in the plan");
}

static void
result(const struct received *received, union body *body)
{
	received->channel->result = body->result;
	received->channel->state = MANAGE_FINISHED;
}

static void
failed(const struct received *received, union body *body)
{
	manage_lose(received->manage, received->channel, body->failed.text);
}

/* It goes on, and says what else it has to say. */
static void
qp_error(const struct received *received, union body *body)
{
	err_set(&received->channel->failure, 0, "host %s: %s", manage_name(received->manage, received->channel),
		body->failed.text);
}

static bool
before_hello(const struct manage *manage, const struct manage_channel *channel)
{
	(void)manage;
	return channel->state == MANAGE_ABSENT;
}

static bool
always(const struct manage *manage, const struct manage_channel *channel)
{
	(void)manage;
	(void)channel;
	return true;
}

static bool
while_connecting(const struct manage *manage, const struct manage_channel *channel)
{
	return channel->state == MANAGE_UP && manage->connecting;
}

static bool
once_ready(const struct manage *manage, const struct manage_channel *channel)
{
	(void)manage;
	return channel->state == MANAGE_READY;
}

static bool
while_stopping(const struct manage *manage, const struct manage_channel *channel)
{
	return channel->state == MANAGE_READY && manage->stopping;
}

static const struct {
	bool (*due)(const struct manage *manage, const struct manage_channel *channel);
	void (*take)(const struct received *received, union body *body);
} answers[] = {
	[MANAGE_HELLO] = { before_hello, hello },
	[MANAGE_TIME] = { always, reply_time },
	[MANAGE_CONNECTED] = { while_connecting, connected },
	[MANAGE_QP] = { while_connecting, qp },
	[MANAGE_RECORDS] = { once_ready, records },
	[MANAGE_FLOWS] = { once_ready, flows },
	[MANAGE_PROGRESS] = { once_ready, progress },
	[MANAGE_QP_ERROR] = { once_ready, qp_error },
	[MANAGE_PINGMESH] = { once_ready, pingmesh },
	[MANAGE_STEP] = { while_stopping, step },
	[MANAGE_ITERATION] = { while_stopping, iteration },
	[MANAGE_RESULT] = { while_stopping, result },
	[MANAGE_FAILED] = { always, failed },
};

void
manage_answer(struct manage *manage, struct manage_channel *channel, const struct manage_message *message,
	      const struct manage_sink *sink)
{
	const struct received received = { manage, channel, message, sink };
	union body body = { 0 };
	struct err why = { 0 };

	if (message->type >= ARRAY_LEN(answers) || answers[message->type].due == NULL ||
	    !answers[message->type].due(manage, channel)) {
		manage_lose(manage, channel, "its rxe-host sent a management message out of turn");
		return;
	}
	if (message->type != MANAGE_RECORDS)
		memcpy(&body, message->body, message->size < sizeof(body) ? message->size : sizeof(body));
	if (manage_check(message->type, &body, &why) < 0)
		manage_lose(manage, channel, why.text);
	else
		answers[message->type].take(&received, &body);
}
