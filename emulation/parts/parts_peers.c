/* SPDX-License-Identifier: BSD-3-Clause */
/* What other parts say, once the run has begun, and those that say nothing any more. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "emulation/parts/parts_state.h"

static uint32_t
first_node(const struct parts *parts, uint32_t part)
{
	uint32_t node = 0;

	while (parts->part_of[node] != part)
		node++;
	return node;
}

static void
end_run(struct parts *parts, enum rec_end_reason reason, uint32_t node)
{
	if (parts->over)
		return;
	parts->over = true;
	parts->reason = reason;
	parts->node = node;
}

void
parts_lose(struct parts *parts, uint32_t peer, const char *why)
{
	struct part_peer *p = &parts->peers[peer];
	char name[DIVISION_NAME];

	if (p->lost)
		return;
	p->lost = true;
	p->working = p->sending = false;
	p->leaves_ps = p->next_ps = TIME_NEVER;
	channel_fini(&p->channel);
	division_name(parts->scenario->topo, parts->part_of, peer, name);
	if (!parts->over)
		snprintf(parts->why, sizeof(parts->why), "%s was lost: %s", name, why);
	else
		log_warning("%s was lost: %s", name, why);
	end_run(parts, REC_END_PART_LOST, first_node(parts, peer));
}

int
parts_owns(const struct parts *parts, uint32_t from, uint32_t node, struct err *err)
{
	if (node < parts->scenario->topo->nnodes && parts->part_of[node] == from)
		return 0;
	return err_set(err, -EPROTO, "node = %u is not of its part", node);
}

static int
promise_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct part_peer *peer = &parts->peers[from];
	struct parts_promise promise;

	memcpy(&promise, message->body, sizeof(promise));
	if (promise.leaves_ps < peer->leaves_ps)
		return err_set(err, -EPROTO, "PROMISE: leaves_ps = %" PRIu64 "; right would be %" PRIu64 " at least",
			       promise.leaves_ps, peer->leaves_ps);
	if (promise.leaves_ps != peer->leaves_ps)
		patience_renew(&peer->stuck);
	peer->leaves_ps = promise.leaves_ps;
	peer->progress = promise.progress;
	peer->next_ps = promise.next_ps;
	peer->working = (promise.state & PARTS_WORKING) != 0;
	peer->up = (promise.state & PARTS_UP) != 0;
	peer->sending = (promise.state & PARTS_SENDING) != 0;
	return 0;
}

/* The reasons for which all parts end when one does. That of a part which is complete, or has lost another, is none. */
static int
bye_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct part_peer *peer = &parts->peers[from];
	char name[DIVISION_NAME];
	struct parts_bye bye;

	memcpy(&bye, message->body, sizeof(bye));
	if (bye.reason >= REC_END_REASONS || (bye.node != REC_NONE && bye.node >= parts->scenario->topo->nnodes))
		return err_set(err, -EPROTO, "BYE: reason = %u at node %u cannot be", bye.reason, bye.node);
	peer->bye = true;
	peer->working = peer->sending = false;
	peer->leaves_ps = peer->next_ps = TIME_NEVER;
	if (bye.reason == REC_END_COMPLETE || parts->over)
		return 0;
	division_name(parts->scenario->topo, parts->part_of, from, name);
	bye.text[sizeof(bye.text) - 1] = '\0';
	if (bye.text[0] != '\0')
		snprintf(parts->why, sizeof(parts->why), "%s ended: %s", name, bye.text);
	end_run(parts, (enum rec_end_reason)bye.reason, bye.node);
	return 0;
}

static int (*const handlers[PARTS_TYPES])(struct parts *parts, uint32_t from, const struct channel_message *message,
					  struct err *err) = {
	[PARTS_FRAME] = cut_frame_came,
	[PARTS_PAUSE] = cut_pause_came,
	[PARTS_PROMISE] = promise_came,
	[PARTS_RECORDS] = parts_records_came,
	[PARTS_BYE] = bye_came,
	[PARTS_COUNTERS] = parts_counters_came,
	[PARTS_STEP] = parts_step_came,
	[PARTS_ITERATION] = parts_iteration_came,
	[PARTS_FLOW] = parts_flow_came,
	[PARTS_RESULT] = parts_result_came,
	[PARTS_FAULTS] = parts_faults_came,
	[PARTS_REPORT] = parts_report_came,
	[PARTS_DONE] = parts_done_came,
};

/* What concerns a fabric that has stopped, here or there. */
static bool
is_stale(const struct parts *parts, const struct part_peer *peer, enum parts_type type)
{
	return (parts->ended || peer->bye) && (type == PARTS_FRAME || type == PARTS_PAUSE || type == PARTS_PROMISE);
}

/* Whether a message that is not whole yet shows that somebody goes on: who says again and again that he lives, when nobody asks, does not. */
static bool
is_useful(const struct parts *parts, const struct part_peer *peer, enum parts_type type)
{
	return type != PARTS_NONE && !peer->past && !is_stale(parts, peer, type);
}

bool
parts_is_past(struct part_peer *peer, enum parts_type type)
{
	bool was = peer->past;

	peer->past &= type != PARTS_BYE;
	return was;
}

/* Behind the BYE of the first phase stands what it says of the next, which this part may not have come to yet: it waits there. */
static bool
is_early(const struct parts *parts, const struct part_peer *peer)
{
	return peer->bye && parts->emulation->phase == EMULATION_PREPARE;
}

static void
take_in(struct parts *parts, uint32_t from)
{
	struct part_peer *peer = &parts->peers[from];
	bool came = channel_read(&peer->channel), useful = false;
	struct channel_message message;
	struct err err = { 0 };
	int got = 0;

	while (!is_early(parts, peer) && (got = channel_take(&peer->channel, &message, &err)) > 0) {
		if (parts_is_past(peer, message.type) || is_stale(parts, peer, message.type))
			continue;
		useful = true;
		if (handlers[message.type] == NULL)
			got = err_set(&err, -EPROTO, "a message of type %u at this time", message.type);
		else
			got = handlers[message.type](parts, from, &message, &err);
		if (got < 0)
			break;
	}
	if (useful || (came && is_useful(parts, peer, channel_coming(&peer->channel))))
		patience_renew(&peer->silent);
	if (got < 0)
		parts_lose(parts, from, err.text);
	else if (peer->channel.error != 0 && !peer->bye) /* one that has said all may be gone */
		parts_lose(parts, from, channel_flaw(&peer->channel));
	else if (peer->channel.ended && !peer->bye)
		parts_lose(parts, from, "its program has ended");
	else if (peer->channel.ended && parts->which == 0 && !peer->done)
		parts_lose(parts, from, "its program ended before it had told what became of its nodes");
}

void
parts_take_in(struct parts *parts)
{
	for (uint32_t p = 0; p < parts->count; p++)
		if (parts->peers[p].channel.fd >= 0)
			take_in(parts, p);
}

void
parts_flush(struct parts *parts)
{
	for (uint32_t p = 0; p < parts->count; p++)
		channel_flush(&parts->peers[p].channel);
}

void
parts_sleep(struct parts *parts, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = { (time_t)(left_ns / 1000000000ULL), (long)(left_ns % 1000000000ULL) };
	struct pollfd wait[PARTS_MAX];
	uint32_t count = 0;

	for (uint32_t p = 0; p < parts->count; p++) {
		const struct channel *channel = &parts->peers[p].channel;

		if (channel->fd >= 0 && !channel->ended)
			wait[count++] = (struct pollfd){
				.fd = channel->fd,
				.events = channel_waits(channel) ? POLLIN | POLLOUT : POLLIN,
			};
	}
	ppoll(wait, count, &left, NULL);
}
