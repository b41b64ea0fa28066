/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/manage.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/manage_stream.h"
#include "common/units.h"
#include "dpswitch/control/host_records.h"
#include "dpswitch/control/manage_check.h"

#define QUEUE_BYTES (256 * 1024)
#define MAX_EVENTS 64

struct channel {
	uint32_t node;
	enum manage_state state;
	int listener;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	bool connected;
	struct manage_stream stream;
	struct manage_progress progress;
	bool progressed;
	struct host_records records; /* that wait to be moved */
	struct manage_result result;
	struct manage_traffic traffic;
	struct err failure; /* the first that went wrong: what the host said itself comes before what followed from it */
};

struct manage {
	struct manage_config config;
	int epoll;
	struct channel *channels; /* [nchannels] */
	uint32_t nchannels;
	uint32_t *of;              /* [topo->nnodes] index of a host's channel */
	bool connecting, stopping; /* as told to the hosts */
	uint64_t zero_ns;          /* time 0 of the run, 0: not told yet */
};

static struct channel *
channel_of(const struct manage *manage, uint32_t node)
{
	return &manage->channels[manage->of[node]];
}

static const char *
name_of(const struct manage *manage, const struct channel *channel)
{
	return manage->config.topo->nodes[channel->node].name;
}

static void
lose(struct manage *manage, struct channel *channel, const char *why)
{
	if (channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	channel->state = MANAGE_LOST;
	err_set(&channel->failure, 0, "host %s: %s", name_of(manage, channel), why);
}

static int
watch(struct manage *manage, int fd, struct channel *channel, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = channel };

	if (epoll_ctl(manage->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_set(err, -errno, "%s cannot be watched: %s", channel->path, strerror(errno));
	return 0;
}

static int
listen_at(struct manage *manage, struct channel *channel, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = name_of(manage, channel);

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s.manage", manage->config.dir, name) >=
	    (int)sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s/%s.manage: a socket's path has at most %zu characters",
			       manage->config.dir, name, sizeof(address.sun_path) - 1);
	channel->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (channel->listener < 0 || bind(channel->listener, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
	memcpy(channel->path, address.sun_path, sizeof(channel->path));
	if (listen(channel->listener, 1) < 0)
		return err_set(err, -errno, "%s: %s", channel->path, strerror(errno));
	return watch(manage, channel->listener, channel, err);
}

static int
make_channels(struct manage *manage, struct err *err)
{
	const struct topo *topo = manage->config.topo;
	int ret = 0;

	manage->channels = calloc(topo->nhosts + 1u, sizeof(*manage->channels));
	manage->of = calloc(topo->nnodes, sizeof(*manage->of));
	manage->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (manage->channels == NULL || manage->of == NULL || manage->epoll < 0)
		return err_set(err, -ENOMEM, "no memory for management channels");
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++) {
		struct channel *channel = &manage->channels[manage->nchannels];

		if (!manage->config.managed[i])
			continue;
		manage->of[i] = manage->nchannels++;
		*channel = (struct channel){ .node = i, .listener = -1, .stream.fd = -1 };
		ret = listen_at(manage, channel, err);
	}
	return ret;
}

struct manage *
manage_create(const struct manage_config *config, struct err *err)
{
	struct manage *manage = calloc(1, sizeof(*manage));
	int ret;

	if (manage == NULL) {
		err_set(err, -ENOMEM, "no memory for management channels");
		return NULL;
	}
	manage->config = *config;
	ret = make_channels(manage, err);
	manage->config.managed = NULL;
	if (ret == 0)
		return manage;
	manage_destroy(manage);
	errno = -ret;
	return NULL;
}

void
manage_destroy(struct manage *manage)
{
	if (manage == NULL)
		return;
	for (uint32_t i = 0; i < manage->nchannels; i++) {
		struct channel *channel = &manage->channels[i];

		if (channel->connected) {
			close(channel->stream.fd);
			manage_stream_fini(&channel->stream);
		}
		if (channel->listener >= 0)
			close(channel->listener);
		if (channel->path[0] != '\0')
			unlink(channel->path);
		host_records_fini(&channel->records);
	}
	if (manage->epoll >= 0)
		close(manage->epoll);
	free(manage->channels);
	free(manage->of);
	free(manage);
}

bool
manage_pending(struct manage *manage)
{
	struct epoll_event event;

	return epoll_wait(manage->epoll, &event, 1, 0) > 0;
}

static void
say(struct manage *manage, struct channel *channel, enum manage_type type, const void *body, size_t size)
{
	if (channel->state == MANAGE_ABSENT || channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	if (manage_stream_send(&channel->stream, type, body, size) < 0)
		lose(manage, channel, "its management channel does not take any more");
}

/* One connection a run: the listener has done its work. */
static void
greet(struct manage *manage, struct channel *channel)
{
	struct err err = { 0 };
	int fd = accept4(channel->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (manage_stream_init(&channel->stream, fd, QUEUE_BYTES) < 0 || watch(manage, fd, channel, &err) < 0) {
		close(fd);
		lose(manage, channel, "no memory for its management channel");
		return;
	}
	channel->connected = true;
	epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->listener, NULL);
	close(channel->listener);
	channel->listener = -1;
}

/* @return the run's time; 0 before it */
static uint64_t
run_ps(const struct manage *manage)
{
	uint64_t now_ns = clock_now_ns();

	return manage->zero_ns != 0 && now_ns > manage->zero_ns ? (now_ns - manage->zero_ns) * PS_PER_NS : 0;
}

static void
hello(struct manage *manage, struct channel *channel, const struct manage_hello *said)
{
	char why[160];

	if (said->version != MANAGE_VERSION) {
		snprintf(why, sizeof(why), "its rxe-host speaks version %u of the management protocol, this is %u",
			 said->version, MANAGE_VERSION);
		lose(manage, channel, why);
	} else if (said->node != channel->node || said->digest != manage->config.digest) {
		lose(manage, channel, "its rxe-host has read another scenario: give both the same file, --set and --seed");
	} else {
		channel->state = MANAGE_UP;
		channel->traffic.up_ns = clock_now_ns();
		memcpy(channel->traffic.device, said->device, sizeof(said->device));
	}
}

/* @return whether this message is allowed now */
static bool
is_due(const struct manage *manage, const struct channel *channel, enum manage_type type)
{
	switch (type) {
	case MANAGE_HELLO:
		return channel->state == MANAGE_ABSENT;
	case MANAGE_TIME:
	case MANAGE_FAILED:
		return true;
	case MANAGE_CONNECTED:
	case MANAGE_QP:
		return channel->state == MANAGE_UP && manage->connecting;
	case MANAGE_RECORDS:
	case MANAGE_PROGRESS:
	case MANAGE_QP_ERROR:
		return channel->state == MANAGE_READY;
	case MANAGE_STEP:
	case MANAGE_ITERATION:
	case MANAGE_RESULT:
		return channel->state == MANAGE_READY && manage->stopping;
	default:
		return false;
	}
}

static void
answer(struct manage *manage, struct channel *channel, const struct manage_message *message, const struct manage_sink *sink)
{
	union {
		struct manage_hello hello;
		struct manage_time time;
		struct manage_connected connected;
		struct manage_progress progress;
		struct manage_qp qp;
		struct manage_step step;
		struct manage_iteration iteration;
		struct manage_result result;
		struct manage_failed failed;
	} body = { 0 };
	struct err why = { 0 };

	if (!is_due(manage, channel, message->type)) {
		lose(manage, channel, "its rxe-host sent a management message out of turn");
		return;
	}
	if (message->type != MANAGE_RECORDS)
		memcpy(&body, message->body, message->size < sizeof(body) ? message->size : sizeof(body));
	if (manage_check(message->type, &body, &why) < 0) {
		lose(manage, channel, why.text);
		return;
	}
	switch (message->type) {
	case MANAGE_HELLO:
		hello(manage, channel, &body.hello);
		break;
	case MANAGE_TIME:
		body.time.fabric_ns = clock_now_ns();
		say(manage, channel, MANAGE_TIME, &body.time, sizeof(body.time));
		break;
	case MANAGE_CONNECTED:
		channel->state = MANAGE_READY;
		channel->traffic.ready_ns = clock_now_ns();
		channel->traffic.clock_error_ns = body.connected.clock_error_ns;
		channel->traffic.base_rtt_ns = body.connected.base_rtt_ns;
		channel->traffic.rtt_noise_ns = body.connected.noise_ns;
		break;
	case MANAGE_RECORDS:
		host_records_take(&channel->records, manage->config.check, channel->node, name_of(manage, channel),
				  run_ps(manage), message->body, message->size);
		break;
	case MANAGE_PROGRESS:
		channel->progress = body.progress;
		channel->progressed = true;
		break;
	case MANAGE_QP:
		if (!sink->qp(sink->ctx, channel->node, &body.qp))
			lose(manage, channel, "its rxe-host reported a queue pair that is not in the plan");
		break;
	case MANAGE_STEP:
		if (!sink->step(sink->ctx, channel->node, &body.step))
			lose(manage, channel, "its rxe-host reported a step that is not in the plan");
		break;
	case MANAGE_ITERATION:
		if (!sink->iteration(sink->ctx, channel->node, &body.iteration))
			lose(manage, channel, "its rxe-host reported an iteration that is not in the plan");
		break;
	case MANAGE_RESULT:
		channel->result = body.result;
		channel->state = MANAGE_FINISHED;
		break;
	case MANAGE_FAILED:
		lose(manage, channel, body.failed.text);
		break;
	default:
		err_set(&channel->failure, 0, "host %s: %s", name_of(manage, channel), body.failed.text);
		break;
	}
}

static void
hear(struct manage *manage, struct channel *channel, const struct manage_sink *sink)
{
	struct manage_message message;
	struct err err = { 0 };
	int ret = manage_stream_receive(&channel->stream), taken = 0;

	while (ret >= 0 && channel->state != MANAGE_LOST &&
	       (taken = manage_stream_take(&channel->stream, &message, &err)) > 0)
		answer(manage, channel, &message, sink);
	channel->traffic.bytes = channel->stream.sent_bytes + channel->stream.received_bytes;
	if (taken < 0)
		lose(manage, channel, err.text);
	if (ret < 0 || channel->stream.closed)
		lose(manage, channel, "its management channel closed: it, or its rxe-host, has died");
	if (ret < 0 || channel->stream.closed || channel->state == MANAGE_LOST)
		epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->stream.fd, NULL);
}

void
manage_service(struct manage *manage, const struct manage_sink *sink)
{
	struct epoll_event events[MAX_EVENTS];
	int count = epoll_wait(manage->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct channel *channel = events[i].data.ptr;

		if (channel->connected)
			hear(manage, channel, sink);
		else
			greet(manage, channel);
	}
	for (uint32_t i = 0; i < manage->nchannels; i++) {
		struct channel *channel = &manage->channels[i];

		if (channel->connected && channel->state != MANAGE_LOST && manage_stream_pending(&channel->stream))
			manage_stream_flush(&channel->stream);
	}
}

enum manage_state
manage_state(const struct manage *manage, uint32_t node)
{
	return channel_of(manage, node)->state;
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
	const struct channel *found = NULL;

	for (uint32_t i = 0; i < manage->nchannels; i++) {
		const struct channel *channel = &manage->channels[i];

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
						 name_of(manage, &manage->channels[i]));
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

void
manage_connect(struct manage *manage)
{
	manage->connecting = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		say(manage, &manage->channels[i], MANAGE_CONNECT, NULL, 0);
}

void
manage_start(struct manage *manage, uint64_t zero_ns)
{
	const struct manage_start start = { zero_ns };

	manage->zero_ns = zero_ns;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		say(manage, &manage->channels[i], MANAGE_START, &start, sizeof(start));
}

void
manage_stop(struct manage *manage, uint64_t end_ps)
{
	const struct manage_stop stop = { end_ps };

	manage->stopping = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		say(manage, &manage->channels[i], MANAGE_STOP, &stop, sizeof(stop));
}

bool
manage_working(const struct manage *manage, uint32_t node)
{
	const struct channel *channel = channel_of(manage, node);

	return !channel->progressed || channel->progress.working != 0 || channel->progress.background != 0;
}

bool
manage_sending(const struct manage *manage, uint32_t node, uint64_t *next_ps)
{
	const struct channel *channel = channel_of(manage, node);

	*next_ps = channel->progressed ? channel->progress.next_ps : UINT64_MAX;
	return !channel->progressed || channel->progress.sending != 0;
}

uint32_t
manage_records(struct manage *manage, uint32_t node, struct recbuf *records, uint64_t from_ps)
{
	return host_records_move(&channel_of(manage, node)->records, records, from_ps);
}

const struct manage_result *
manage_result(const struct manage *manage, uint32_t node)
{
	const struct channel *channel = channel_of(manage, node);

	return channel->state == MANAGE_FINISHED ? &channel->result : NULL;
}

struct manage_traffic
manage_traffic(const struct manage *manage, uint32_t node)
{
	const struct channel *channel = channel_of(manage, node);
	struct manage_traffic traffic = channel->traffic;

	traffic.refused_records = channel->records.refused;
	return traffic;
}

const char *
manage_refused(const struct manage *manage, uint32_t node)
{
	return channel_of(manage, node)->records.why.text;
}
