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
#include "emulation/partition/partition_state.h"

static uint32_t
first_node(const struct partitions *partitions, uint32_t partition)
{
	uint32_t node = 0;

	while (partitions->partition_of[node] != partition)
		node++;
	return node;
}

static void
end_run(struct partitions *partitions, enum rec_end_reason reason, uint32_t node)
{
	if (partitions->over)
		return;
	partitions->over = true;
	partitions->reason = reason;
	partitions->node = node;
}

void
partition_lose(struct partitions *partitions, uint32_t peer, const char *why)
{
	struct partition_peer *p = &partitions->peers[peer];
	char name[DIVISION_NAME];

	if (p->lost)
		return;
	p->lost = true;
	p->working = p->sending = false;
	p->leaves_ps = p->next_ps = TIME_NEVER;
	channel_fini(&p->channel);
	division_name(partitions->scenario->topo, partitions->partition_of, peer, name);
	if (!partitions->over)
		snprintf(partitions->why, sizeof(partitions->why), "%s was lost: %s", name, why);
	else
		log_warning("%s was lost: %s", name, why);
	end_run(partitions, REC_END_PART_LOST, first_node(partitions, peer));
}

int
partition_owns(const struct partitions *partitions, uint32_t from, uint32_t node, struct err *err)
{
	if (node < partitions->scenario->topo->nnodes && partitions->partition_of[node] == from)
		return 0;
	return err_set(err, -EPROTO, "node = %u is not of its part", node);
}

static int
recv_promise(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	struct partition_promise promise;

	memcpy(&promise, message->body, sizeof(promise));
	if (promise.leaves_ps < peer->leaves_ps)
		return err_set(err, -EPROTO, "PROMISE: leaves_ps = %" PRIu64 "; right would be %" PRIu64 " at least",
			       promise.leaves_ps, peer->leaves_ps);
	if (promise.leaves_ps != peer->leaves_ps)
		stall_timer_renew(&peer->stuck);
	peer->leaves_ps = promise.leaves_ps;
	peer->progress = promise.progress;
	peer->next_ps = promise.next_ps;
	peer->working = (promise.state & PARTITION_WORKING) != 0;
	peer->up = (promise.state & PARTITION_UP) != 0;
	peer->sending = (promise.state & PARTITION_SENDING) != 0;
	return 0;
}

/* The reasons for which all parts end when one does. That of a part which is complete, or has lost another, is none. */
static int
recv_bye(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	char name[DIVISION_NAME];
	struct partition_bye bye;

	memcpy(&bye, message->body, sizeof(bye));
	if (bye.reason >= REC_END_REASONS || (bye.node != REC_NONE && bye.node >= partitions->scenario->topo->nnodes))
		return err_set(err, -EPROTO, "BYE: reason = %u at node %u cannot be", bye.reason, bye.node);
	peer->bye = true;
	peer->working = peer->sending = false;
	peer->leaves_ps = peer->next_ps = TIME_NEVER;
	if (bye.reason == REC_END_COMPLETE || partitions->over)
		return 0;
	division_name(partitions->scenario->topo, partitions->partition_of, from, name);
	bye.text[sizeof(bye.text) - 1] = '\0';
	if (bye.text[0] != '\0')
		snprintf(partitions->why, sizeof(partitions->why), "%s ended: %s", name, bye.text);
	end_run(partitions, (enum rec_end_reason)bye.reason, bye.node);
	return 0;
}

static int (*const handlers[PARTITION_TYPES])(struct partitions *partitions, uint32_t from,
					      const struct channel_message *message, struct err *err) = {
	[PARTITION_FRAME] = boundary_on_frame,
	[PARTITION_PAUSE] = boundary_on_pause,
	[PARTITION_PROMISE] = recv_promise,
	[PARTITION_RECORDS] = partition_recv_records,
	[PARTITION_BYE] = recv_bye,
	[PARTITION_COUNTERS] = partition_recv_counters,
	[PARTITION_STEP] = partition_recv_step,
	[PARTITION_ITERATION] = partition_recv_iteration,
	[PARTITION_FLOW] = partition_recv_flow,
	[PARTITION_RESULT] = partition_recv_result,
	[PARTITION_FAULTS] = partition_recv_faults,
	[PARTITION_REPORT] = partition_recv_report,
	[PARTITION_DONE] = partition_recv_done,
};

/* What concerns a fabric that has stopped, here or there. */
static bool
is_stale(const struct partitions *partitions, const struct partition_peer *peer, enum partition_type type)
{
	return (partitions->ended || peer->bye) &&
	       (type == PARTITION_FRAME || type == PARTITION_PAUSE || type == PARTITION_PROMISE);
}

/* Whether a message that is not whole yet shows that somebody goes on: who says again and again that he lives, when nobody asks, does not. */
static bool
is_useful(const struct partitions *partitions, const struct partition_peer *peer, enum partition_type type)
{
	return type != PARTITION_NONE && !peer->past && !is_stale(partitions, peer, type);
}

bool
partition_is_past(struct partition_peer *peer, enum partition_type type)
{
	bool was = peer->past;

	peer->past &= type != PARTITION_BYE;
	return was;
}

/* Behind the BYE of the first phase stands what it says of the next, which this part may not have come to yet: it waits there. */
static bool
is_early(const struct partitions *partitions, const struct partition_peer *peer)
{
	return peer->bye && partitions->emulation->phase == EMULATION_PREPARE;
}

static void
take_in(struct partitions *partitions, uint32_t from)
{
	struct partition_peer *peer = &partitions->peers[from];
	bool received = channel_read(&peer->channel), useful = false;
	struct channel_message message;
	struct err err = { 0 };
	int got = 0;

	while (!is_early(partitions, peer) && (got = channel_take(&peer->channel, &message, &err)) > 0) {
		if (partition_is_past(peer, message.type) || is_stale(partitions, peer, message.type))
			continue;
		useful = true;
		if (handlers[message.type] == NULL)
			got = err_set(&err, -EPROTO, "a message of type %u at this time", message.type);
		else
			got = handlers[message.type](partitions, from, &message, &err);
		if (got < 0)
			break;
	}
	if (useful || (received && is_useful(partitions, peer, channel_incoming(&peer->channel))))
		stall_timer_renew(&peer->silent);
	if (got < 0)
		partition_lose(partitions, from, err.text);
	else if (peer->channel.error != 0 && !peer->bye) /* one that has said all may be gone */
		partition_lose(partitions, from, channel_flaw(&peer->channel));
	else if (peer->channel.ended && !peer->bye)
		partition_lose(partitions, from, "its program has ended");
	else if (peer->channel.ended && partitions->which == 0 && !peer->done)
		partition_lose(partitions, from, "its program ended before it had told what became of its nodes");
}

void
partition_take_in(struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		if (partitions->peers[p].channel.fd >= 0)
			take_in(partitions, p);
}

void
partition_flush(struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_flush(&partitions->peers[p].channel);
}

void
partition_sleep(struct partitions *partitions, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = { (time_t)(left_ns / 1000000000ULL), (long)(left_ns % 1000000000ULL) };
	struct pollfd wait[PARTITION_MAX];
	uint32_t count = 0;

	for (uint32_t p = 0; p < partitions->count; p++) {
		const struct channel *channel = &partitions->peers[p].channel;

		if (channel->fd >= 0 && !channel->ended)
			wait[count++] = (struct pollfd){
				.fd = channel->fd,
				.events = channel_waits(channel) ? POLLIN | POLLOUT : POLLIN,
			};
	}
	ppoll(wait, count, &left, NULL);
}
