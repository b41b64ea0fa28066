/* SPDX-License-Identifier: BSD-3-Clause */
/* Before the run: the parts find each other, and begin together. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/interrupt.h"
#include "common/units.h"
#include "common/wire/manage.h"
#include "common/wire/record.h"
#include "emulation/partition/address.h"
#include "emulation/partition/partition_state.h"
#include "emulation/partition/rendezvous.h"

#define POLL_MS 50
#define TOKEN_LEAST 16
#define CLOCK_ROUNDS 8
/* From telling the others to the run's time 0: what that takes on a busy machine. */
#define LEAD_NS 50000000ULL
/* What a wrong clock would have it. */
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

/* What goes by value has to be laid out alike. */
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
			return err_set(err, -EINVAL, "--parts-at has more addresses than the %u parts", options->count);
		if (!address_is_local(address) && options->token == NULL)
			return err_set(err, -EINVAL,
				       "%s can be reached from other machines: give all parts the same --token FILE",
				       address);
		addresses[count++] = address;
	}
	if (count != options->count)
		return err_set(err, -EINVAL, "--parts-at has %u addresses for %u parts: give one for each, in their order",
			       count, options->count);
	return 0;
}

static void
name_partition(void *ctx, uint32_t partition, char buf[160])
{
	const struct partitions *partitions = ctx;

	division_name(partitions->scenario->topo, partitions->partition_of, partition, buf);
}

int
partition_rendezvous(struct partitions *partitions, const struct partition_options *options, struct err *err)
{
	struct partition_hello hello = {
		.version = PARTITION_VERSION,
		.partition = partitions->which,
		.partitions = partitions->count,
		.layout = digest_layout(),
		.division = digest_text((const char *)partitions->partition_of,
					partitions->scenario->topo->nnodes * sizeof(*partitions->partition_of)),
	};
	struct channel channels[PARTITION_MAX];
	const char *addresses[PARTITION_MAX];
	const struct rendezvous rendezvous = { partitions->which,
					       partitions->count,
					       addresses,
					       &hello,
					       partitions->scenario->limits.connect_ps / PS_PER_NS,
					       name_partition,
					       partitions };
	char *list = strdup(options->addresses);
	int ret = list != NULL && digest_scenario(partitions->scenario, &hello.scenario) == 0 ? 0 : -ENOMEM;

	if (ret < 0)
		err_set(err, ret, "out of memory for parts");
	for (uint32_t p = 0; p < PARTITION_MAX; p++)
		channels[p] = (struct channel){ .fd = -1 };
	ret = ret == 0 ? split(list, options, addresses, err) : ret;
	ret = ret == 0 ? read_token(options->token, hello.token, err) : ret;
	ret = ret == 0 ? rendezvous_run(&rendezvous, channels, err) : ret;
	for (uint32_t p = 0; p < partitions->count; p++)
		partitions->peers[p].channel = channels[p];
	if (ret == 0 && partitions->which == 0)
		partitions->check = record_check_create();
	free(list);
	if (ret == 0 && partitions->which == 0 && partitions->check == NULL)
		ret = err_set(err, -ENOMEM, "out of memory for parts");
	return ret;
}

/* One phase has ended, the next begins: who is slower may not have heard of it yet. */
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

/* Somebody asks how late it is. */
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
		/* What others have said already is not read yet, and no reason to wake up. */
		struct pollfd wait = { .fd = channel->fd, .events = POLLIN };

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
			poll(&wait, 1, POLL_MS);
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
	/* The first gives up first, which the others see: it begins with none who has given up. */
	uint64_t deadline_ns =
		clock_now_ns() + (partitions->which != 0 ? 2 : 1) * (partitions->scenario->limits.connect_ps / PS_PER_NS);

	if (partitions->ended)
		renew(partitions);
	return partitions->which != 0 ? start_with_first(partitions, deadline_ns, zero_ns, err)
				      : start_all(partitions, deadline_ns, zero_ns, err);
}
