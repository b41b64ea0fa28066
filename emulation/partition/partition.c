/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/partition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/manage.h"
#include "common/wire/record.h"
#include "emulation/emulation.h"
#include "emulation/hosts.h"
#include "emulation/partition/partition_peers.h"
#include "emulation/partition/processes.h"
#include "emulation/partition/rendezvous.h"
#include "rxe-hosts/steps/engine.h"

/*
 * Hosts of other partitions (emulation/hosts.h): nodes that stand still, and programs that report over the
 * partitions' streams.
 */

static struct node *
node_create(void *ctx, uint32_t node, struct err *err)
{
	const struct scenario *sc = ((struct partitions *)ctx)->scenario;
	struct node *remote = remote_node_create(sc->topo, &sc->plan->flows, node);

	if (remote == NULL) {
		err_set(err, -ENOMEM, "out of memory for host %s", sc->topo->nodes[node].name);
		errno = ENOMEM;
	}
	return remote;
}

static struct step_engine *
program_create(void *ctx, uint32_t node, struct err *err)
{
	return step_engine_create_remote(((struct partitions *)ctx)->scenario->plan, node, err);
}

static const struct partition_peer *
peer_of(const void *ctx, uint32_t node)
{
	const struct partitions *partitions = ctx;

	return &partitions->peers[partitions->partition_of[node]];
}

static bool
working(void *ctx, uint32_t node)
{
	return peer_of(ctx, node)->working;
}

static bool
sending(void *ctx, uint32_t node, uint64_t *next_ps)
{
	const struct partition_peer *peer = peer_of(ctx, node);

	*next_ps = peer->next_ps;
	return peer->sending;
}

static bool
ready(void *ctx)
{
	const struct partitions *partitions = ctx;
	bool all = true;

	for (uint32_t p = 0; p < partitions->count; p++)
		all &= p == partitions->which || !partitions->peers[p].working;
	return all;
}

static const struct host_driver_ops partition_hosts = {
	.node_create = node_create,
	.program_create = program_create,
	.working = working,
	.sending = sending,
	.ready = ready,
};

/* Before the run the partitions connect, and begin together. */

#define POLL_NS 50000000ULL
#define TOKEN_LEAST 16
#define CLOCK_ROUNDS 8
/* From the START message to the run's time 0: the message's delay on a busy machine. */
#define LEAD_NS 50000000ULL
/* A start time beyond this is from a wrong clock. */
#define ZERO_AWAY_NS 10000000000LL

static uint64_t
digest_text(const char *text, size_t size)
{
	uint64_t digest = digest_u64(DIGEST_INIT, size);

	for (size_t at = 0; at < size; at++)
		digest = digest_u64(digest, (uint8_t)text[at]);
	return digest;
}

/* Of the effective configuration. @return 0 or -ENOMEM */
static int
digest_scenario(const struct scenario *sc, uint64_t *digest)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int ret = to != NULL ? cfg_print(sc->cfg, known, scenario_tables(known, SCENARIO_MAX_TABLES), to) : -ENOMEM;

	if (to != NULL && fclose(to) != 0)
		ret = -ENOMEM;
	if (ret == 0)
		*digest = digest_text(text, size);
	free(text);
	return ret;
}

/* Values that are copied between programs need the same layout. */
static uint64_t
digest_layout(void)
{
	const uint64_t sizes[] = { PARTITION_VERSION,
				   REC_VERSION,
				   sizeof(struct node_counters),
				   PKT_TYPES,
				   REC_END_REASONS,
				   sizeof(struct manage_step),
				   sizeof(struct manage_iteration) };

	return digest_bytes(DIGEST_INIT, sizes, sizeof(sizes));
}

/* @return 0 or -EINVAL with err set */
static int
read_token(const char *path, char token[PARTITION_TOKEN], struct err *err)
{
	char line[PARTITION_TOKEN + 2] = "";
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	size_t length;

	if (path == NULL)
		return 0;
	if (file == NULL)
		return err_set(err, -EINVAL, "--token %s: %s", path, strerror(errno));
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	fclose(file);
	length = strcspn(line, "\r\n");
	if (length < TOKEN_LEAST || length > PARTITION_TOKEN)
		return err_set(err, -EINVAL, "--token %s: its first line has %zu characters%s; give it %d to %d", path,
			       length, length > PARTITION_TOKEN ? " and more" : "", TOKEN_LEAST, PARTITION_TOKEN);
	memcpy(token, line, length);
	return 0;
}

/* @param list  changed: addresses become strings of their own. @return 0 or -EINVAL with err set */
static int
split(char *list, const struct partition_options *options, const char *addresses[PARTITION_MAX], struct err *err)
{
	uint32_t count = 0;
	char *address;

	while ((address = strsep(&list, ",")) != NULL) {
		if (address_check(address, err) < 0)
			return -EINVAL;
		if (count == options->count)
			return err_set(err, -EINVAL, "--partitions-at has more addresses than the %u partitions",
				       options->count);
		if (!address_is_local(address) && options->token == NULL)
			return err_set(err, -EINVAL,
				       "%s can be reached from other machines: give all partitions the same --token FILE",
				       address);
		addresses[count++] = address;
	}
	if (count != options->count)
		return err_set(err, -EINVAL,
			       "--partitions-at has %u addresses for %u partitions: give one for each, in their order",
			       count, options->count);
	return 0;
}

static void
name_partition(void *ctx, uint32_t partition, char buf[160])
{
	const struct partitions *partitions = ctx;

	division_name(partitions->scenario->topo, partitions->partition_of, partition, buf);
}

/* The partitions' addresses, and the token of those that others can reach. @return 0 or negative errno with err set */
static int
read_options(const struct partition_options *options, char *list, const char *addresses[PARTITION_MAX],
	     char token[PARTITION_TOKEN], struct err *err)
{
	int ret = split(list, options, addresses, err);

	return ret == 0 ? read_token(options->token, token, err) : ret;
}

int
partition_rendezvous(struct partitions *partitions, const struct partition_options *options, uint32_t diagnosers,
		     struct err *err)
{
	struct partition_hello hello = {
		.version = PARTITION_VERSION,
		.partition = partitions->which,
		.partitions = partitions->count,
		.diagnosers = diagnosers,
		.layout = digest_layout(),
		.division = digest_text((const char *)partitions->partition_of,
					partitions->scenario->topo->nnodes * sizeof(*partitions->partition_of)),
	};
	struct channel channels[PARTITION_MAX];
	pid_t pids[PARTITION_MAX] = { 0 };
	const char *addresses[PARTITION_MAX];
	const struct rendezvous rendezvous = { partitions->which,
					       partitions->count,
					       addresses,
					       &hello,
					       partitions->scenario->limits.connect_ps / PS_PER_NS,
					       name_partition,
					       partitions,
					       options->lcores };
	char *list = strdup(options->addresses != NULL ? options->addresses : "");
	int ret = list != NULL && digest_scenario(partitions->scenario, &hello.scenario) == 0 ? 0 : -ENOMEM;

	if (ret < 0)
		err_set(err, ret, "out of memory for partitions");
	for (uint32_t p = 0; p < PARTITION_MAX; p++)
		channels[p] = (struct channel){ .fd = -1 };
	if (ret == 0 && !options->processes)
		ret = read_options(options, list, addresses, hello.token, err);
	ret = ret == 0 ? partitions->transport->rendezvous(&rendezvous, channels, pids, err) : ret;
	partitions->found = ret == 0;
	for (uint32_t p = 0; p < partitions->count; p++) {
		partitions->peers[p].channel = channels[p];
		partitions->peers[p].watch.pid = pids[p];
	}
	if (ret == 0 && partitions->which == 0)
		partitions->check = record_check_create();
	free(list);
	if (ret == 0 && partitions->which == 0 && partitions->check == NULL)
		ret = err_set(err, -ENOMEM, "out of memory for partitions");
	return ret;
}

/* One phase has ended, the next begins: a slower partition may not have received that yet. */
static void
renew(struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++) {
		struct partition_peer *peer = &partitions->peers[p];

		peer->past = !peer->bye;
		peer->bye = peer->up = peer->sending = false;
		peer->working = true;
		peer->leaves_ps = peer->progress = peer->next_ps = peer->before_ps = 0;
		peer->silent = peer->stuck = (struct stall_timer){ 0 };
	}
	partitions->promised_ps = partitions->promised_ns = partitions->blocked_windows = partitions->waits_ns = 0;
	partitions->promised = (struct partition_promise){ .state = PARTITION_WORKING };
	partitions->up = partitions->ended = false;
	boundary_renew(&partitions->boundary);
}

/* Answers a CLOCK message. */
static void
reply_time(struct partitions *partitions, uint32_t from, const struct channel_message *message)
{
	struct partition_clock clock;

	memcpy(&clock, message->body, sizeof(clock));
	clock.received_ns = clock_now_ns();
	channel_put(&partitions->peers[from].channel, PARTITION_CLOCK, &clock, sizeof(clock), NULL, 0);
	channel_flush(&partitions->peers[from].channel);
}

/* @return whether a message is to be waited for no longer, but for its type */
static bool
is_for_later(struct partitions *partitions, uint32_t from, enum partition_type type, const struct channel_message *message)
{
	if (partition_is_past(&partitions->peers[from], message->type))
		return false;
	if (type != PARTITION_READY || message->type != PARTITION_CLOCK)
		return true;
	reply_time(partitions, from, message);
	return false;
}

/* Waits for a message. @param body  set to its, NULL: it has none. @return 0 or negative errno with err set */
static int
await(struct partitions *partitions, uint32_t from, enum partition_type type, uint64_t deadline_ns, void *body,
      struct err *err)
{
	struct channel *channel = &partitions->peers[from].channel;
	struct channel_message message;
	char name[DIVISION_NAME];
	struct err why = { 0 };
	int got = 0;

	name_partition(partitions, from, name);
	while (got == 0) {
		if (interrupt_asked())
			return err_set(err, -EINTR, "interrupted before the run began");
		if (clock_now_ns() >= deadline_ns)
			return err_set(err, -ETIMEDOUT, "%s was not ready within limits.connect", name);
		channel_read(channel);
		got = channel_take(channel, &message, &why);
		if (got > 0)
			got = is_for_later(partitions, from, type, &message);
		else if (got == 0 && channel->ended)
			return err_set(err, -ECONNRESET, "%s ended before the run began", name);
		else if (got == 0)
			/* Messages from others that are not read yet are no reason to wake up. */
			partitions->transport->sleep(&channel, 1, clock_now_ns() + POLL_NS);
	}
	if (got < 0 || message.type != type)
		return err_set(err, -EPROTO, "%s: %s", name, got < 0 ? why.text : "another message than that it is ready");
	if (body != NULL)
		memcpy(body, message.body, message.size);
	return 0;
}

/* As in NTP (RFC 5905): of some round trips the shortest counts, half of it is the error. */
static int
compare_clocks(struct partitions *partitions, uint64_t deadline_ns, int64_t *ahead_ns, struct err *err)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		struct partition_clock clock = { .sent_ns = clock_now_ns() };
		uint64_t took_ns;
		int ret;

		channel_put(&partitions->peers[0].channel, PARTITION_CLOCK, &clock, sizeof(clock), NULL, 0);
		channel_flush(&partitions->peers[0].channel);
		ret = await(partitions, 0, PARTITION_CLOCK, deadline_ns, &clock, err);
		if (ret < 0)
			return ret;
		took_ns = clock_now_ns() - clock.sent_ns;
		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		*ahead_ns = (int64_t)(clock.received_ns - clock.sent_ns - took_ns / 2);
	}
	partitions->clock_error_ns = best_ns / 2;
	return 0;
}

/* Not the first. @return 0 or negative errno with err set */
static int
start_with_first(struct partitions *partitions, uint64_t deadline_ns, uint64_t *zero_ns, struct err *err)
{
	struct partition_zero zero;
	int64_t ahead_ns = 0, away_ns;
	int ret = compare_clocks(partitions, deadline_ns, &ahead_ns, err);

	if (ret < 0)
		return ret;
	channel_put(&partitions->peers[0].channel, PARTITION_READY, NULL, 0, NULL, 0);
	channel_flush(&partitions->peers[0].channel);
	ret = await(partitions, 0, PARTITION_START, deadline_ns, &zero, err);
	if (ret < 0)
		return ret;
	*zero_ns = zero.zero_ns - (uint64_t)ahead_ns;
	away_ns = (int64_t)(*zero_ns - clock_now_ns());
	if (away_ns > ZERO_AWAY_NS || away_ns < -ZERO_AWAY_NS)
		return err_set(err, -EPROTO, "START: zero_ns = %" PRIu64 " is %.1f s away", zero.zero_ns,
			       (double)away_ns / 1e9);
	return 0;
}

/* @return 0 or negative errno with err set */
static int
start_all(struct partitions *partitions, uint64_t deadline_ns, uint64_t *zero_ns, struct err *err)
{
	struct partition_zero zero;
	int ret = 0;

	for (uint32_t p = 1; p < partitions->count && ret == 0; p++)
		ret = await(partitions, p, PARTITION_READY, deadline_ns, NULL, err);
	*zero_ns = zero.zero_ns = clock_now_ns() + LEAD_NS;
	for (uint32_t p = 1; p < partitions->count && ret == 0; p++)
		channel_put(&partitions->peers[p].channel, PARTITION_START, &zero, sizeof(zero), NULL, 0);
	partition_flush(partitions);
	return ret;
}

int
partition_start(struct partitions *partitions, uint64_t *zero_ns, struct err *err)
{
	/* The first partition times out first, and the others see it: it begins only if none has timed out. */
	uint64_t deadline_ns =
		clock_now_ns() + (partitions->which != 0 ? 2 : 1) * (partitions->scenario->limits.connect_ps / PS_PER_NS);

	if (partitions->ended)
		renew(partitions);
	return partitions->which != 0 ? start_with_first(partitions, deadline_ns, zero_ns, err)
				      : start_all(partitions, deadline_ns, zero_ns, err);
}

/* How far this partition may advance, with kernel hosts. */

#define LOOKAHEAD_WINDOWS 4
#define LOOKAHEAD_LEAST_PS (200 * PS_PER_US)

static uint64_t
partition_horizon(void *ctx)
{
	const struct partitions *partitions = ctx;
	uint64_t horizon_ps = TIME_NEVER;

	for (uint32_t p = 0; p < partitions->count; p++) {
		const struct partition_peer *peer = &partitions->peers[p];

		if (peer->delay_ps != TIME_NEVER && peer->leaves_ps != TIME_NEVER)
			horizon_ps = min_u64(horizon_ps, peer->leaves_ps + peer->delay_ps);
	}
	return horizon_ps;
}

/* The run's time by the clock; 0 before it has begun. */
static uint64_t
run_ps(const struct pacer *pacer, uint64_t now_ns)
{
	return now_ns > pacer->zero_ns ? (now_ns - pacer->zero_ns) * PS_PER_NS : 0;
}

/*
 * With kernel hosts a frame may arrive at any time. It enters no earlier than the promised time, which is a while
 * ahead, so that not every window of the others waits for a message.
 */
static uint64_t
lookahead_ps(const struct partitions *partitions)
{
	return max_u64(LOOKAHEAD_WINDOWS * partitions->emulation->pacer.window_ps, LOOKAHEAD_LEAST_PS);
}

/* When the next window is to start. */
static uint64_t
goal_of(const struct partitions *partitions, uint64_t earliest_ps, uint64_t start_ps, uint64_t now_ns)
{
	const struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t goal_ps = max_u64(earliest_ps, min_u64(start_ps, boundary_next_ps(&partitions->boundary)));
	uint64_t now_ps = run_ps(pacer, now_ns), frame_ps = max_u64(earliest_ps, max_u64(partitions->promised_ps, now_ps));

	if (now_ns < pacer->zero_ns || frame_ps >= goal_ps || !pacer->pending(pacer->ctx))
		return goal_ps;
	return frame_ps;
}

/*
 * Promises that this partition's next frame starts at goal_ps, unless one arrives before; over a partition boundary
 * it arrives at the horizon or later. A partition without a new promise repeats the last one as a sign of life.
 */
static void
promise(struct partitions *partitions, uint64_t goal_ps, uint64_t horizon_ps, uint64_t now_ns)
{
	const struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t leaves_ps = min_u64(goal_ps, horizon_ps), ahead_ps = lookahead_ps(partitions);

	if (run_ps(pacer, now_ns) + ahead_ps < leaves_ps) {
		leaves_ps = run_ps(pacer, now_ns) + ahead_ps;
		if (leaves_ps < partitions->promised_ps + ahead_ps / 2)
			leaves_ps = partitions->promised_ps; /* a little more is not worth a message */
	}
	if (leaves_ps <= partitions->promised_ps && now_ns - partitions->promised_ns < PARTITION_ALIVE_NS)
		return;
	partitions->promised_ps = max_u64(partitions->promised_ps, leaves_ps);
	partitions->promised_ns = now_ns;
	partitions->promised.leaves_ps = partitions->promised_ps;
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_put(&partitions->peers[p].channel, PARTITION_PROMISE, &partitions->promised,
			    sizeof(partitions->promised), NULL, 0);
}

/* Finds the partitions that delay the window: one that is silent, or repeats its promise, is lost. */
static void
watch(struct partitions *partitions, uint64_t end_ps, uint64_t now_ns)
{
	for (uint32_t p = 0; p < partitions->count; p++) {
		struct partition_peer *peer = &partitions->peers[p];

		if (peer->delay_ps == TIME_NEVER || peer->leaves_ps == TIME_NEVER ||
		    peer->leaves_ps + peer->delay_ps >= end_ps) {
			peer->stuck = (struct stall_timer){ 0 };
			peer->silent = (struct stall_timer){ 0 };
			continue;
		}
		if (stall_timer_look(&peer->silent, now_ns) >= PARTITION_SILENCE_NS)
			partition_lose(partitions, p,
				       "it sent nothing for 5 s: it is stopped or hangs, or its network is down");
		else if (stall_timer_look(&peer->stuck, now_ns) >= PARTITION_STUCK_NS)
			partition_lose(partitions, p, "it did not go on for 30 s");
	}
}

/* The clock at a time of the run. */
static uint64_t
wall_ns(const struct pacer *pacer, uint64_t time_ps)
{
	return pacer->zero_ns + time_ps / PS_PER_NS;
}

static uint64_t
partition_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	struct partitions *partitions = ctx;
	struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t goal_ps, horizon_ps, now_ns, until_ns, slept_ns;
	bool blocked = false;

	if (partitions->partition.windows)
		return partition_hold(partitions, earliest_ps, start_ps);
	for (;;) {
		partition_take_in(partitions);
		emulation_answer(partitions->emulation, earliest_ps); /* however long the others take */
		if (partitions->over || interrupt_asked())
			return TIME_NEVER;
		now_ns = clock_now_ns();
		goal_ps = goal_of(partitions, earliest_ps, start_ps, now_ns);
		horizon_ps = partition_horizon(partitions);
		promise(partitions, goal_ps, horizon_ps, now_ns);
		partition_flush(partitions);
		until_ns = wall_ns(pacer, goal_ps);
		if (now_ns >= until_ns && horizon_ps >= goal_ps + pacer->window_ps)
			break;
		stall_timer_look(&pacer->lived, now_ns);
		if (now_ns >= until_ns) {
			watch(partitions, goal_ps + pacer->window_ps, now_ns);
			partitions->blocked_windows += !blocked;
			blocked = true;
			until_ns = now_ns + PARTITION_ALIVE_NS / 2;
		}
		if (pacer->busy)
			continue;
		partition_sleep(partitions, min_u64(until_ns, now_ns + PACER_NAP_NS));
		slept_ns = clock_now_ns() - now_ns;
		pacer->slept_ns += slept_ns;
		partitions->waits_ns += blocked ? slept_ns : 0;
		pacer->opened_ns += blocked ? slept_ns : 0; /* no work of this machine's */
	}
	return pacer_wait(pacer, earliest_ps, goal_ps);
}

/* A partition from its creation to its end. */

static void
join(void *ctx, struct emulation *emulation)
{
	struct partitions *partitions = ctx;

	partitions->emulation = partitions->boundary.emulation = emulation;
}

static int
start(void *ctx, uint64_t *zero_ns, struct err *err)
{
	return partition_start(ctx, zero_ns, err);
}

void
partition_stop(struct partitions *partitions)
{
	const struct fabric *fabric = partitions->emulation->fabric;
	struct partition_bye bye = {
		.end_ps = fabric->window.end_ps,
		.reason = fabric->end_reason,
		.node = fabric->end_node,
	};

	if (fabric->end_node < partitions->scenario->topo->nnodes && fabric->nodes[fabric->end_node]->error[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%s", fabric->nodes[fabric->end_node]->error);
	else if (partitions->why[0] != '\0')
		snprintf(bye.text, sizeof(bye.text), "%.*s", PARTITION_TEXT - 1, partitions->why);
	partitions->ended = true;
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_put(&partitions->peers[p].channel, PARTITION_BYE, &bye, sizeof(bye), NULL, 0);
	partition_flush(partitions);
	boundary_stop(&partitions->boundary);
}

static void
stop(void *ctx)
{
	partition_stop(ctx);
}

static bool
up(void *ctx, bool ours)
{
	struct partitions *partitions = ctx;
	bool all = partitions->up = ours;

	for (uint32_t p = 0; p < partitions->count; p++)
		all &= p == partitions->which || partitions->peers[p].up;
	return all;
}

static struct bodies *
bodies(void *ctx)
{
	return &((struct partitions *)ctx)->boundary.segments.base;
}

static void
leaving(void *ctx, const struct window *window)
{
	struct partitions *partitions = ctx;

	if (partitions->partition.windows)
		partition_end_window(partitions, window);
	else
		boundary_leaving(&partitions->boundary, window);
}

static void
entering(void *ctx, const struct window *window)
{
	struct partitions *partitions = ctx;
	struct err err = { 0 };
	uint32_t from = 0;

	if (partitions->partition.windows)
		return; /* they are on their cables since the last window's end */
	if (boundary_entering(&partitions->boundary, window, &from, &err) < 0)
		partition_lose(partitions, from, err.text);
}

static uint8_t
pausing(void *ctx, uint32_t port)
{
	return boundary_held(&((const struct partitions *)ctx)->boundary, port);
}

static bool
interrupted(void *ctx)
{
	const struct partitions *partitions = ctx;

	return partitions->partition.windows ? partitions->interrupted : interrupt_asked();
}

static bool
over(void *ctx, enum rec_end_reason *reason, uint32_t *node)
{
	const struct partitions *partitions = ctx;

	*reason = partitions->reason;
	*node = partitions->node;
	return partitions->over;
}

static struct partition_crossed
crossed(const void *ctx)
{
	return ((const struct partitions *)ctx)->boundary.crossed;
}

static const char *
why(const void *ctx)
{
	const struct partitions *partitions = ctx;

	return partitions->why[0] != '\0' ? partitions->why : NULL;
}

static bool
broken(const void *ctx)
{
	const struct partitions *partitions = ctx;
	bool any = false;

	for (uint32_t p = 0; p < partitions->count; p++)
		any |= partitions->peers[p].lost || partitions->peers[p].violates;
	return any;
}

static bool
prints_end(const void *ctx)
{
	const struct partitions *partitions = ctx;

	for (uint32_t p = 0; partitions->job && p < partitions->which; p++)
		if (!partitions->peers[p].lost)
			return false;
	return true;
}

static const json_t *
reported(const void *ctx, uint32_t partition)
{
	return ((const struct partitions *)ctx)->peers[partition].reported;
}

static uint64_t
clock_error_ns(const void *ctx)
{
	const struct partitions *partitions = ctx;
	uint64_t worst_ns = emulation_clock_error_ns(partitions->emulation);

	if (worst_ns != 0)
		worst_ns += partitions->clock_error_ns; /* the first partition's is 0 */
	for (uint32_t p = 0; p < partitions->count; p++)
		worst_ns = max_u64(worst_ns, partition_clock_error_ns(partitions->peers[p].reported));
	return worst_ns;
}

static json_t *
partition_json(const void *ctx)
{
	const struct partitions *partitions = ctx;
	const struct topo *topo = partitions->scenario->topo;
	json_t *nodes = json_array(), *root;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!partitions->remote[i])
			json_array_append_new(nodes, json_string(topo->nodes[i].name));
	root = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "partition",
			 (json_int_t)partitions->which, "of", (json_int_t)partitions->count, "nodes", nodes, "plan_steps",
			 (json_int_t)partitions->scenario->plan->share_steps, "boundary_links",
			 (json_int_t)partitions->boundary.count, "frames_in",
			 (json_int_t)partitions->boundary.crossed.in_packets, "frames_out",
			 (json_int_t)partitions->boundary.crossed.out_packets, "bytes_out",
			 (json_int_t)partitions->boundary.crossed.out_bytes, "frames_ended",
			 (json_int_t)partitions->boundary.crossed.ended_packets, "windows_waited",
			 (json_int_t)partitions->blocked_windows, "waited_s", (double)partitions->waits_ns / 1e9,
			 "clock_error_us", (double)partitions->clock_error_ns / 1e3);
	return root;
}

static void
alive(void *ctx)
{
	partition_show_life(ctx);
}

static const struct partition_ops ops = {
	.join = join,
	.start = start,
	.stop = stop,
	.up = up,
	.bodies = bodies,
	.pace = partition_pace,
	.leaving = leaving,
	.entering = entering,
	.horizon_ps = partition_horizon,
	.agree = partition_agree,
	.pausing = pausing,
	.interrupted = interrupted,
	.alive = alive,
	.share = partition_share,
	.shared = partition_shared,
	.arrived = partition_arrived,
	.over = over,
	.collect = partition_collect,
	.finish = partition_finish,
	.crossed = crossed,
	.why = why,
	.broken = broken,
	.prints_end = prints_end,
	.reported = reported,
	.clock_error_ns = clock_error_ns,
	.json = partition_json,
};

/* The features that partitions lack. */
static int
check_scenario(const struct scenario *sc, bool processes, struct err *err)
{
	if (!processes && sc->timing.clock != CLOCK_REAL)
		return cfg_fail(
			&sc->timing.where, "clock", err,
			"partitions of a fabric run in real time: set it to \"real\"; in virtual time its processes "
			"are those of mpirun (--processes)");
	if (processes && sc->timing.clock == CLOCK_REAL)
		return cfg_fail(&sc->timing.where, "clock", err,
				"processes of an MPI job run in virtual time: in real time use --partitions");
	if (sc->nexternal != 0 && sc->nexternal != sc->topo->nhosts)
		return cfg_fail(&sc->host_configs[0].where, "kind", err,
				"embedded hosts beside kernel hosts need an undivided fabric, because the bytes of their "
				"messages are read where frames leave: run it without --partitions");
	return 0;
}

int
partition_join_job(struct partition_options *options, struct err *err)
{
	return processes_begin(&options->which, &options->count, &options->transport, err);
}

void
partition_leave_job(const struct partition_options *options, bool lost)
{
	if (options->transport != NULL)
		options->transport->end(lost);
}

int
partition_number(const char *text, struct partition_options *options, struct err *err)
{
	char rest;

	if (sscanf(text, "%4" SCNu32 "/%4" SCNu32 "%c", &options->which, &options->count, &rest) == 2 &&
	    options->count >= 2 && options->count <= PARTITION_MAX && options->which < options->count &&
	    strspn(text, "0123456789/") == strlen(text))
		return 0;
	return err_set(err, -EINVAL, "\"%s\" is no partition: give I/N, as 0/2 and 1/2; N is 2 to %d", text, PARTITION_MAX);
}

struct partitions *
partition_create(struct scenario *scenario, const struct partition_options *options, struct err *err)
{
	const struct topo *topo = scenario->topo;
	struct partitions *partitions = calloc(1, sizeof(*partitions));
	int ret = check_scenario(scenario, options->processes, err);

	if (partitions == NULL || ret < 0) {
		free(partitions);
		err_set(err, -ENOMEM, "out of memory for partitions");
		return NULL;
	}
	partitions->which = options->which;
	partitions->count = options->count;
	partitions->scenario = scenario;
	partitions->transport = options->processes ? options->transport : &transport_stream;
	partitions->job = options->processes;
	scenario->plan->flows.labelled = scenario->nexternal == 0;
	partitions->node = REC_NONE;
	partitions->promised.state = PARTITION_WORKING; /* until it has looked at its hosts */
	for (uint32_t p = 0; p < PARTITION_MAX; p++)
		partitions->peers[p] = (struct partition_peer){ .channel.fd = -1,
								.delay_ps = TIME_NEVER,
								.working = p < partitions->count };
	partitions->partition_of = calloc(topo->nnodes + 1u, sizeof(*partitions->partition_of));
	partitions->remote = calloc(topo->nnodes + 1u, sizeof(*partitions->remote));
	partitions->failures = calloc(PARTITION_ALL_FAILURES, sizeof(*partitions->failures));
	ret = partitions->partition_of != NULL && partitions->remote != NULL && partitions->failures != NULL
		      ? division_make(scenario, partitions->count, partitions->partition_of, err)
		      : err_set(err, -ENOMEM, "out of memory for partitions");
	if (ret == 0 && boundary_init(&partitions->boundary, scenario, partitions->partition_of, partitions->which) < 0)
		ret = err_set(err, -ENOMEM, "out of memory for partitions");
	if (ret < 0) {
		partition_destroy(partitions);
		return NULL;
	}
	for (uint32_t p = 0; p < PARTITION_MAX; p++)
		partitions->boundary.channels[p] = &partitions->peers[p].channel;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		partitions->remote[i] = partitions->partition_of[i] != partitions->which;
	for (uint32_t i = 0; i < partitions->boundary.count; i++) {
		struct partition_peer *peer = &partitions->peers[partitions->boundary.crossings[i].from];

		peer->delay_ps = min_u64(peer->delay_ps, topo->ports[partitions->boundary.crossings[i].port].delay_ps +
								 scenario->timing.pipeline_ps);
	}
	partitions->partition = (struct partition){ &ops,
						    partitions,
						    partitions->which,
						    partitions->count,
						    partitions->remote,
						    partitions->which == 0,
						    scenario->nexternal == 0,
						    { &partition_hosts, partitions } };
	return partitions;
}

void
partition_destroy(struct partitions *partitions)
{
	if (partitions == NULL)
		return;
	for (uint32_t p = 0; p < PARTITION_MAX; p++) {
		channel_shut(&partitions->peers[p].channel);
		channel_fini(&partitions->peers[p].channel);
		json_decref(partitions->peers[p].reported);
		free(partitions->peers[p].report);
	}
	boundary_fini(&partitions->boundary);
	record_check_destroy(partitions->check);
	partition_drop_requests(partitions);
	free(partitions->requests);
	free(partitions->failures);
	free(partitions->partition_of);
	free(partitions->remote);
	free(partitions);
}

bool
partition_has_lost(const struct partitions *partitions)
{
	for (uint32_t p = 0; p < partitions->count; p++)
		if (partitions->peers[p].lost)
			return true;
	return !partitions->found;
}

const struct partition *
partition_here(const struct partitions *partitions)
{
	return partitions != NULL ? &partitions->partition : NULL;
}

struct record_check *
partition_check(const struct partitions *partitions)
{
	return partitions->check;
}

char *
partition_describe(const struct partitions *partitions, char *buf)
{
	char name[DIVISION_NAME];

	division_name(partitions->scenario->topo, partitions->partition_of, partitions->which, name);
	snprintf(buf, 200, "%s of %u, %u cables cut", name, partitions->count, partitions->boundary.count);
	return buf;
}
