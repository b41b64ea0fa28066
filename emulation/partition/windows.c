/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitions whose hosts are all embedded: all open the same windows as one program would, in virtual time at once, in
 * real time no sooner than their clocks have reached them. After a window each sends the others the frames that cross, and
 * when something happens next in it; after those in which a program judges its run, what it knows of its hosts. A peer's
 * messages behind such a mark wait until this partition has reached it too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/minmax.h"
#include "emulation/emulation.h"
#include "emulation/partition/partition_peers.h"
#include "rxe-hosts/device/embedded/embedded.h"

/* A wait is looked at this often. */
#define SLICE_NS 50000000ULL
/* NICs in a message MADE. */
#define MADE_AT_ONCE 512
/* A peer on this machine is frozen that has been idle for this long and has sent nothing; of another, only that. */
#define FROZEN_NS 5000000000ULL
#define FROZEN_FAR_NS 30000000000ULL
/* Requests that no program has taken yet, where none waits for them: a partition that sends more is broken. */
#define REQUESTS_WAITING 65536u

static bool
has_reached(const struct partitions *partitions, uint32_t p)
{
	const struct partition_peer *peer = &partitions->peers[p];

	return p == partitions->which || peer->lost || peer->bye || peer->marks == partitions->marks;
}

bool
partition_is_ahead(const struct partitions *partitions, const struct partition_peer *peer)
{
	/* One that sends no more has ended its run: behind its last mark stands why. */
	return partitions->partition.windows && !partitions->ended && !partitions->over && !peer->channel.ended &&
	       peer->marks == partitions->marks;
}

static bool
is_awaited(const struct partitions *partitions, uint32_t p, bool all)
{
	return (all || partitions->peers[p].delay_ps != TIME_NEVER) && !has_reached(partitions, p);
}

static void
put_to_all(struct partitions *partitions, enum partition_type type, const void *body, size_t size, const void *more,
	   size_t more_size)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_put(&partitions->peers[p].channel, type, body, size, more, more_size);
}

void
partition_show_life(struct partitions *partitions)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - partitions->promised_ns < PARTITION_ALIVE_NS)
		return;
	partitions->promised_ns = now_ns;
	put_to_all(partitions, PARTITION_ALIVE, NULL, 0, NULL, 0);
	partition_flush(partitions);
}

/* mpirun waits for all processes: one that is stopped would keep it for ever. */
static void
lose_frozen(struct partitions *partitions, uint32_t p, const char *why)
{
	struct channel *channel = &partitions->peers[p].channel;

	if (channel_is_open(channel) && channel->transport->kill != NULL)
		channel->transport->kill(channel);
	partition_lose(partitions, p, why);
}

/* Of a job. Others have no program that waits for them, and are lost sooner. */
static void
watch_process(struct partitions *partitions, uint32_t p, uint64_t silent_ns)
{
	struct partition_peer *peer = &partitions->peers[p];

	if (peer->watch.pid == 0 && silent_ns >= FROZEN_FAR_NS)
		lose_frozen(partitions, p, "it sent nothing for 30 s: it is stopped or hangs, or its network is down");
	else if (peer->watch.pid != 0 && min_u64(child_idle_ns(&peer->watch), silent_ns) >= FROZEN_NS)
		lose_frozen(partitions, p, "it did nothing for 5 s: it is stopped, or hangs");
}

/* @param waited_ns  for the marks of those that are awaited */
static void
watch(struct partitions *partitions, bool all, uint64_t waited_ns)
{
	uint64_t now_ns = clock_now_ns();

	for (uint32_t p = 0; p < partitions->count; p++) {
		struct partition_peer *peer = &partitions->peers[p];
		uint64_t silent_ns;

		if (!is_awaited(partitions, p, all)) {
			peer->silent = peer->watch.stall_timer = (struct stall_timer){ 0 };
			continue;
		}
		silent_ns = stall_timer_look(&peer->silent, now_ns);
		if (partitions->job)
			watch_process(partitions, p, silent_ns);
		else if (silent_ns >= PARTITION_SILENCE_NS)
			partition_lose(partitions, p,
				       "it sent nothing for 5 s: it is stopped or hangs, or its network is down");
		else if (waited_ns >= PARTITION_STUCK_NS)
			partition_lose(partitions, p, "it did not go on for 30 s");
	}
}

/* Until the neighbours, or all, have sent their messages of the last mark, or the run is over. */
static void
await_marks(struct partitions *partitions, bool all)
{
	struct pacer *pacer = &partitions->emulation->pacer;
	struct stall_timer waited = { 0 };
	uint64_t began_ns = 0, now_ns;

	for (;;) {
		bool any = false;

		partition_take_in(partitions);
		partition_flush(partitions);
		for (uint32_t p = 0; p < partitions->count && !partitions->over; p++)
			any |= is_awaited(partitions, p, all);
		if (!any)
			break;
		now_ns = clock_now_ns();
		if (began_ns == 0)
			began_ns = now_ns;
		stall_timer_look(&waited, now_ns);
		if (now_ns - began_ns >= PARTITION_ALIVE_NS) { /* it reads files: most waits are of microseconds */
			watch(partitions, all, waited.waited_ns);
			emulation_answer(partitions->emulation, partitions->emulation->fabric->window.end_ps);
		}
		partition_show_life(partitions);
		partition_sleep(partitions, clock_now_ns() + SLICE_NS);
	}
	if (began_ns == 0)
		return;
	now_ns = clock_now_ns();
	partitions->blocked_windows++;
	partitions->waits_ns += now_ns - began_ns;
	pacer->opened_ns += now_ns - began_ns; /* no work of this machine's */
}

/* ---- a window ---- */

void
partition_end_window(struct partitions *partitions, const struct window *window)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		if (!partitions->peers[p].lost && !partitions->peers[p].bye)
			partitions->peers[p].leaves_ps = window->start_ps;
	boundary_leaving_lanes(&partitions->boundary, window);
}

static uint64_t
next_of_peers(const struct partitions *partitions, bool all, uint64_t next_ps)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		if (p != partitions->which && (all || partitions->peers[p].delay_ps != TIME_NEVER))
			next_ps = min_u64(next_ps, partitions->peers[p].happens_ps);
	return next_ps;
}

/* How many datagrams this partition's NICs have made: contents expire by it, wherever they are. */
static void
show_made(struct partitions *partitions)
{
	const struct topo *topo = partitions->scenario->topo;
	struct partition_made made[MADE_AT_ONCE];
	uint32_t count = 0;

	for (uint32_t port = 0; port < topo->nports; port++) {
		if (partitions->remote[topo->ports[port].node] ||
		    !embedded_datagram_made(partitions->emulation->shared, port, &made[count].next))
			continue;
		made[count++].port = port;
		if (count == MADE_AT_ONCE) {
			put_to_all(partitions, PARTITION_MADE, made, sizeof(made), NULL, 0);
			count = 0;
		}
	}
	if (count != 0)
		put_to_all(partitions, PARTITION_MADE, made, count * sizeof(made[0]), NULL, 0);
}

int
partition_recv_made(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	const struct topo *topo = partitions->scenario->topo;
	struct partition_made made;

	if (message->size % sizeof(made) != 0)
		return err_set(err, -EPROTO, "MADE of %u B", message->size);
	for (size_t at = 0; at < message->size; at += sizeof(made)) {
		memcpy(&made, message->body + at, sizeof(made));
		if (made.port >= topo->nports || topo->nodes[topo->ports[made.port].node].kind != TOPO_HOST)
			return err_set(err, -EPROTO, "MADE: port = %u is no NIC's", made.port);
		if (partition_owns(partitions, from, topo->ports[made.port].node, err) < 0)
			return -EPROTO;
		if (embedded_datagram_set_made(partitions->emulation->shared, made.port, made.next) < 0)
			return err_set(err, -ENOMEM, "out of memory for the datagrams of another partition");
	}
	return 0;
}

uint64_t
partition_agree(void *ctx, const struct window *window, uint64_t next_ps)
{
	struct partitions *partitions = ctx;
	const struct partition_window mark = { .index = window->index, .next_ps = next_ps };
	uint64_t busy_ps = window->end_ps + partitions->emulation->fabric->window_ps, agreed_ps;
	bool has_agents = partitions->scenario->pingmesh.enabled; /* whose datagrams have contents */
	struct err err = { 0 };
	uint32_t from = 0;

	partitions->marks++;
	if (has_agents)
		show_made(partitions);
	put_to_all(partitions, PARTITION_WINDOW, &mark, sizeof(mark), NULL, 0);
	await_marks(partitions, has_agents);
	agreed_ps = next_of_peers(partitions, false, next_ps);
	if (agreed_ps >= busy_ps && !partitions->over) { /* time may be skipped: by all partitions, or none */
		await_marks(partitions, true);
		agreed_ps = next_of_peers(partitions, true, next_ps);
	}
	if (!partitions->over && boundary_enter_lanes(&partitions->boundary, window, &from, &err) < 0)
		partition_lose(partitions, from, err.text);
	return partitions->over ? TIME_NEVER : agreed_ps;
}

/* In real time: the window that all agreed on starts when this clock has reached it; the others hear of this partition. */
uint64_t
partition_hold(struct partitions *partitions, uint64_t earliest_ps, uint64_t start_ps)
{
	struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t until_ns = pacer->zero_ns + start_ps / PS_PER_NS, now_ns;

	for (;;) {
		partition_take_in(partitions);
		emulation_answer(partitions->emulation, earliest_ps);
		partition_flush(partitions);
		if (partitions->over)
			return TIME_NEVER;
		now_ns = clock_now_ns();
		if (now_ns >= until_ns)
			return pacer_wait(pacer, earliest_ps, start_ps);
		partition_show_life(partitions);
		if (pacer->busy)
			continue;
		partition_sleep(partitions, min_u64(until_ns, now_ns + SLICE_NS));
		pacer->slept_ns += clock_now_ns() - now_ns;
	}
}

int
partition_recv_window(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	const struct window *window = &partitions->emulation->fabric->window;
	/* One that has ended its run may have been a window ahead: it is read to its last word, which is why it ended. */
	uint64_t most = window->index + (peer->channel.ended ? 1 : 0);
	struct partition_window mark;

	memcpy(&mark, message->body, sizeof(mark));
	if (mark.index > most)
		return err_set(err, -EPROTO, "WINDOW: index = %" PRIu64 "; right would be %" PRIu64 " at most", mark.index,
			       most);
	peer->happens_ps = mark.next_ps;
	peer->marks++;
	return 0;
}

/* ---- the state of hosts ---- */

/* Of this partition's nodes that failed. @param failures  [nnodes]. @return number */
static uint32_t
list_failures(const struct partitions *partitions, struct partition_failure *failures)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < partitions->scenario->topo->nnodes; i++) {
		const struct node *node = partitions->emulation->fabric->nodes[i];
		struct partition_failure *failure = &failures[count];

		if (partitions->remote[i] || node->status == NODE_RUNNING || node->status == NODE_PASSIVE ||
		    count == PARTITION_FAILURES)
			continue;
		*failure = (struct partition_failure){ .node = i, .status = (uint32_t)node->status };
		snprintf(failure->text, sizeof(failure->text), "%s", node->error);
		count++;
	}
	return count;
}

/* Nodes of others that failed: the run ends because of the first, in whichever partition. */
static void
show_failures(struct partitions *partitions)
{
	for (uint32_t i = 0; i < partitions->nfailures; i++) {
		const struct partition_failure *failure = &partitions->failures[i];
		struct node *node = partitions->emulation->fabric->nodes[failure->node];

		node->status = (enum node_status)failure->status;
		snprintf(node->error, sizeof(node->error), "%.*s", NODE_MAX_ERROR - 1, failure->text);
	}
}

void
partition_exchange_states(struct partitions *partitions, uint64_t now_ps)
{
	struct partition_failure failures[PARTITION_FAILURES];
	uint32_t count = list_failures(partitions, failures);

	partitions->interrupted |= interrupt_asked();
	if (partitions->interrupted)
		partitions->promised.state |= PARTITION_INTERRUPTED;
	partitions->promised.leaves_ps = now_ps;
	partitions->nfailures = 0;
	partitions->marks++;
	put_to_all(partitions, PARTITION_STATE, &partitions->promised, sizeof(partitions->promised), failures,
		   count * sizeof(failures[0]));
	await_marks(partitions, true);
}

void
partition_show_states(struct partitions *partitions)
{
	emulation_watch_hosts(partitions->emulation);
	show_failures(partitions);
}

static int
recv_failure(struct partitions *partitions, uint32_t from, const struct partition_failure *failure, struct err *err)
{
	if (partition_owns(partitions, from, failure->node, err) < 0)
		return -EPROTO;
	if (failure->status <= NODE_PASSIVE || failure->status > NODE_LOST ||
	    partitions->nfailures == PARTITION_ALL_FAILURES || memchr(failure->text, '\0', sizeof(failure->text)) == NULL)
		return err_set(err, -EPROTO, "STATE: status = %u of node %u cannot be", failure->status, failure->node);
	partitions->failures[partitions->nfailures++] = *failure;
	return 0;
}

int
partition_recv_state(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	struct partition_promise state;
	struct partition_failure failure;

	if ((message->size - sizeof(state)) % sizeof(failure) != 0)
		return err_set(err, -EPROTO, "STATE of %u B", message->size);
	memcpy(&state, message->body, sizeof(state));
	for (size_t at = sizeof(state); at < message->size; at += sizeof(failure)) {
		memcpy(&failure, message->body + at, sizeof(failure));
		if (recv_failure(partitions, from, &failure, err) < 0)
			return -EPROTO;
	}
	peer->progress = state.progress;
	peer->next_ps = state.next_ps;
	peer->working = (state.state & PARTITION_WORKING) != 0;
	peer->sending = (state.state & PARTITION_SENDING) != 0;
	partitions->interrupted |= (state.state & PARTITION_INTERRUPTED) != 0;
	peer->marks++;
	return 0;
}

/* ---- messages of nodes here to programs that every partition runs: requests to a controller, replies to a tracer ---- */

/* In as many messages as it needs. */
void
partition_share(void *ctx, const struct partition_request *request)
{
	size_t left = request->size;
	const char *bytes = request->bytes;

	do {
		size_t size = min_u64(left, PARTITION_MAX_BODY - sizeof(struct partition_shared));
		const struct partition_shared head = { .node = request->node,
						       .rest_bytes = (uint32_t)(left - size),
						       .time_ps = request->time_ps,
						       .program = request->program };

		put_to_all(ctx, PARTITION_SHARED, &head, sizeof(head), bytes, size);
		bytes += size;
		left -= size;
	} while (left != 0);
}

void
partition_drop_requests(struct partitions *partitions)
{
	for (uint32_t i = 0; i < partitions->nrequests; i++)
		free(partitions->requests[i].bytes);
	partitions->nrequests = 0;
}

const struct partition_request *
partition_shared(void *ctx, uint32_t *count)
{
	struct partitions *partitions = ctx;

	partition_drop_requests(partitions);
	if (!partitions->over) {
		partitions->marks++;
		put_to_all(partitions, PARTITION_SHARED_END, NULL, 0, NULL, 0);
		await_marks(partitions, true);
	}
	*count = partitions->nrequests;
	return partitions->requests;
}

bool
partition_arrived(void *ctx, enum partition_program program, struct partition_request *request)
{
	struct partitions *partitions = ctx;
	struct partition_request *requests = partitions->requests;

	for (uint32_t i = 0; i < partitions->nrequests; i++) {
		if (requests[i].program != program || requests[i].rest_bytes != 0)
			continue;
		*request = requests[i];
		memmove(&requests[i], &requests[i + 1], (--partitions->nrequests - i) * sizeof(*requests));
		return true;
	}
	return false;
}

/* The request of a node whose rest has not arrived. @return the last of all; NULL: there is none */
static struct partition_request *
unfinished(const struct partitions *partitions, uint32_t node)
{
	for (uint32_t i = partitions->nrequests; i-- > 0;)
		if (partitions->requests[i].node == node)
			return partitions->requests[i].rest_bytes != 0 ? &partitions->requests[i] : NULL;
	return NULL;
}

int
partition_recv_shared(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	size_t size = message->size - sizeof(struct partition_shared);
	struct partition_shared head;
	struct partition_request *request;
	void *bytes;

	memcpy(&head, message->body, sizeof(head));
	if (partition_owns(partitions, from, head.node, err) < 0)
		return -EPROTO;
	if (head.program >= PARTITION_PROGRAMS)
		return err_set(err, -EPROTO, "SHARED: program = %u is none", head.program);
	if (partitions->nrequests >= REQUESTS_WAITING && !partitions->partition.windows)
		return err_set(err, -EPROTO, "SHARED: %u requests wait", partitions->nrequests);
	request = unfinished(partitions, head.node);
	if (request != NULL && (uint64_t)request->rest_bytes != (uint64_t)head.rest_bytes + size)
		return err_set(err, -EPROTO, "SHARED: %zu B, and %u B later, where %u B are missing", size, head.rest_bytes,
			       request->rest_bytes);
	if (request == NULL) {
		partitions->requests = grow(partitions->requests, &partitions->requests_cap, partitions->nrequests + 1u,
					    sizeof(*partitions->requests), "requests of other partitions");
		request = &partitions->requests[partitions->nrequests++];
		*request =
			(struct partition_request){ .node = head.node, .time_ps = head.time_ps, .program = head.program };
	}
	bytes = realloc(request->bytes, request->size + size + 1);
	if (bytes == NULL)
		return err_set(err, -ENOMEM, "out of memory for requests of other partitions");
	memcpy((char *)bytes + request->size, message->body + sizeof(head), size);
	request->bytes = bytes;
	request->size += size;
	request->rest_bytes = head.rest_bytes;
	return 0;
}

int
partition_recv_shared_end(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			  struct err *err)
{
	(void)message;
	(void)err;
	partitions->peers[from].marks++;
	return 0;
}
