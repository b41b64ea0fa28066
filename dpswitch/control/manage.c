/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/manage.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/manage_stream.h"
#include "common/printable.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/pingmesh_manage.h"
#include "common/wire/record.h"
#include "common/wire/record_hdr.h"
#include "common/wire/switch_manage.h"

/* The inside of the management channels, shared by manage*.c. */

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
	struct swm_flow *flows;      /* [nflows] as reported last */
	uint32_t nflows;
	struct manage_result result;
	struct manage_counter counters[MANAGE_COUNTERS]; /* [ncounters] of its device */
	uint32_t ncounters;
	struct manage_traffic traffic;
	struct err failure; /* the first error: the host's own report precedes the errors that follow from it */
};

struct manage {
	struct manage_config config;
	int epoll;
	struct manage_channel *channels; /* [nchannels] */
	uint32_t nchannels;
	uint32_t *of;              /* [topo->nnodes] index of a host's channel */
	bool connecting, stopping; /* as sent to the hosts */
	uint64_t zero_ns;          /* time 0 of the run, 0: not sent yet */
};

static void manage_answer(struct manage *manage, struct manage_channel *channel, const struct manage_message *message,
			  const struct manage_sink *sink);
static uint32_t host_records_move(struct host_records *records, struct recbuf *to, uint64_t from_ps);

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

#define QUEUE_BYTES (256 * 1024)
#define MAX_EVENTS 64

/* The host is gone, or as good as that. */
static void
manage_lose(struct manage *manage, struct manage_channel *channel, const char *why)
{
	if (channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	channel->state = MANAGE_LOST;
	err_set(&channel->failure, 0, "host %s: %s", manage_name(manage, channel), why);
}

static int
watch(struct manage *manage, int fd, struct manage_channel *channel, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = channel };

	if (epoll_ctl(manage->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_set(err, -errno, "%s cannot be watched: %s", channel->path, strerror(errno));
	return 0;
}

static int
listen_at(struct manage *manage, struct manage_channel *channel, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = manage_name(manage, channel);

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
	if (manage->epoll < 0)
		return err_set(err, -errno, "no descriptor for management channels: %s", strerror(errno));
	if (manage->channels == NULL || manage->of == NULL)
		return err_set(err, -ENOMEM, "no memory for management channels");
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++) {
		struct manage_channel *channel = &manage->channels[manage->nchannels];

		if (!manage->config.managed[i])
			continue;
		manage->of[i] = manage->nchannels++;
		*channel = (struct manage_channel){ .node = i, .listener = -1, .stream.fd = -1 };
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
		struct manage_channel *channel = &manage->channels[i];

		if (channel->connected) {
			close(channel->stream.fd);
			manage_stream_fini(&channel->stream);
		}
		if (channel->listener >= 0)
			close(channel->listener);
		if (channel->path[0] != '\0')
			unlink(channel->path);
		host_records_fini(&channel->records);
		free(channel->flows);
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

/* Sends a message to a host that listens. */
static void
manage_send(struct manage *manage, struct manage_channel *channel, enum manage_type type, const void *body, size_t size)
{
	if (channel->state == MANAGE_ABSENT || channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	if (manage_stream_send(&channel->stream, type, body, size) < 0)
		manage_lose(manage, channel, "its management channel does not take any more");
}

/* One connection a run: the listener has done its work. */
static void
greet(struct manage *manage, struct manage_channel *channel)
{
	struct err err = { 0 };
	int fd = accept4(channel->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (manage_stream_init(&channel->stream, fd, QUEUE_BYTES) < 0 || watch(manage, fd, channel, &err) < 0) {
		close(fd);
		manage_lose(manage, channel, "no memory for its management channel");
		return;
	}
	channel->connected = true;
	epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->listener, NULL);
	close(channel->listener);
	channel->listener = -1;
}

static void
receive(struct manage *manage, struct manage_channel *channel, const struct manage_sink *sink)
{
	struct manage_message message;
	struct err err = { 0 };
	int ret = manage_stream_receive(&channel->stream), taken = 0;

	while (ret >= 0 && channel->state != MANAGE_LOST &&
	       (taken = manage_stream_take(&channel->stream, &message, &err)) > 0)
		manage_answer(manage, channel, &message, sink);
	channel->traffic.bytes = channel->stream.sent_bytes + channel->stream.received_bytes;
	if (taken < 0)
		manage_lose(manage, channel, err.text);
	if (ret < 0 || channel->stream.closed)
		manage_lose(manage, channel, "its management channel closed: it, or its rxe-host, has died");
	if (ret < 0 || channel->stream.closed || channel->state == MANAGE_LOST)
		epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->stream.fd, NULL);
}

void
manage_service(struct manage *manage, const struct manage_sink *sink)
{
	struct epoll_event events[MAX_EVENTS];
	int count = epoll_wait(manage->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct manage_channel *channel = events[i].data.ptr;

		if (channel->connected)
			receive(manage, channel, sink);
		else
			greet(manage, channel);
	}
	for (uint32_t i = 0; i < manage->nchannels; i++) {
		struct manage_channel *channel = &manage->channels[i];

		if (channel->connected && channel->state != MANAGE_LOST && manage_stream_pending(&channel->stream))
			manage_stream_flush(&channel->stream);
	}
}

void
manage_connect(struct manage *manage)
{
	manage->connecting = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_CONNECT, NULL, 0);
}

void
manage_start(struct manage *manage, uint64_t zero_ns)
{
	const struct manage_start start = { zero_ns };

	manage->zero_ns = zero_ns;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_START, &start, sizeof(start));
}

void
manage_stop(struct manage *manage, uint64_t end_ps)
{
	const struct manage_stop stop = { end_ps };

	manage->stopping = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_STOP, &stop, sizeof(stop));
}

/* Queries about the hosts with a channel. */

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

uint32_t
manage_counters(const struct manage *manage, uint32_t node, const struct manage_counter **counters)
{
	const struct manage_channel *channel = manage_channel(manage, node);

	*counters = channel->counters;
	return channel->ncounters;
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

/* Messages from hosts' programs: when each is due, and its handler. */

union body {
	struct manage_hello hello;
	struct manage_time time;
	struct manage_connected connected;
	struct manage_progress progress;
	struct manage_qp qp;
	struct manage_step step;
	struct manage_iteration iteration;
	struct manage_counter counter;
	struct manage_result result;
	struct manage_failed failed;
};

/* Received bytes, and where they are delivered. */
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

/* Requests of R-Pingmesh's agent to its controller; the controller checks them. */
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
	reply = received->sink->pingmesh(received->sink->ctx, received->channel->node, request, received->message->size,
					 run_ps(received->manage));
	if (reply.size > MANAGE_MAX_BODY)
		manage_lose(received->manage, received->channel,
			    "what R-Pingmesh's controller replies to it is longer than a management message: probe fewer "
			    "hosts");
	else if (reply.size != 0)
		manage_send(received->manage, received->channel, MANAGE_PINGMESH, reply.bytes, reply.size);
}

/* Keeps a host's connections, for queries on its management socket. */
static void
flows(const struct received *received, union body *body)
{
	struct manage_channel *channel = received->channel;
	uint32_t size = received->message->size, count = size / sizeof(struct swm_flow);
	const struct topo *topo = received->manage->config.topo;
	struct swm_flow *copy = malloc(size + 1u);
	bool good = size % sizeof(*copy) == 0;

	(void)body; /* it may be longer */
	if (copy == NULL)
		return; /* earlier reports stay */
	memcpy(copy, received->message->body, size);
	for (uint32_t i = 0; i < count && good; i++)
		good = copy[i].nic < topo->nodes[channel->node].nports;
	if (!good) {
		free(copy);
		manage_lose(received->manage, channel, "its rxe-host reported flows that it cannot have");
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
counter(const struct received *received, union body *body)
{
	struct manage_channel *channel = received->channel;

	if (channel->ncounters == MANAGE_COUNTERS)
		manage_lose(received->manage, channel, "its rxe-host reported more counters than a device has");
	else
		channel->counters[channel->ncounters++] = body->counter;
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

/* Keeps the text of a QP error. The host goes on, and sends the rest of its messages. */
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
	[MANAGE_COUNTER] = { while_stopping, counter },
	[MANAGE_RESULT] = { while_stopping, result },
	[MANAGE_FAILED] = { always, failed },
};

/* A message has arrived. */
static void
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

/* Every field of a message, before anything is made of it. */

#define MAX_NS (RECORD_MAX_PS / 1000)
#define MAX_QPN 0xffffff

static const struct field {
	const char *name;
	enum manage_type type;
	uint16_t at, size; /* bytes */
	uint64_t max;
} fields[] = {
#define FIELD(type_, body, member, most)                                                                                   \
	{                                                                                                                  \
		.name = #type_ "." #member, .type = MANAGE_##type_, .at = offsetof(struct body, member),                   \
		.size = sizeof(((struct body *)0)->member), .max = (most)                                                  \
	}
	FIELD(CONNECTED, manage_connected, reserved, 0),
	FIELD(CONNECTED, manage_connected, clock_error_ns, MAX_NS),
	FIELD(CONNECTED, manage_connected, base_rtt_ns, MAX_NS),
	FIELD(CONNECTED, manage_connected, noise_ns, MAX_NS),
	FIELD(PROGRESS, manage_progress, acked_bytes, RECORD_MAX_COUNT),
	FIELD(PROGRESS, manage_progress, working, 1),
	FIELD(PROGRESS, manage_progress, background, 1),
	FIELD(PROGRESS, manage_progress, sending, 1),
	FIELD(PROGRESS, manage_progress, reserved, 0),
	FIELD(QP, manage_qp, qpn, MAX_QPN),
	FIELD(QP, manage_qp, reserved, 0),
	FIELD(STEP, manage_step, open, REC_STEP_WAITS),
	FIELD(STEP, manage_step, bytes, RECORD_MAX_COUNT),
	FIELD(STEP, manage_step, acked_bytes, RECORD_MAX_COUNT),
	FIELD(STEP, manage_step, start_ps, RECORD_MAX_PS),
	FIELD(STEP, manage_step, end_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, started, 1),
	FIELD(ITERATION, manage_iteration, start_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, end_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, wrong, RECORD_MAX_COUNT),
	FIELD(COUNTER, manage_counter, value, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, naks, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, timeouts, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, notification_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, polling_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, probe_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, notification_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, polling_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, probe_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, cpu_ns, MAX_NS),
	FIELD(RESULT, manage_result, peak_rss_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, unexpected, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, manage_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, failed, 1),
#undef FIELD
};

static uint64_t
value_of(const void *body, const struct field *field)
{
	const uint8_t *at = (const uint8_t *)body + field->at;
	uint32_t narrow;
	uint64_t wide;

	if (field->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static int
check_progress(const struct manage_progress *progress, struct err *err)
{
	if (progress->next_ps <= RECORD_MAX_PS || progress->next_ps == UINT64_MAX)
		return 0;
	return err_set(err, -EINVAL, "PROGRESS.next_ps = %" PRIu64 "; right would be at most %llu, or %" PRIu64 ", none",
		       progress->next_ps, RECORD_MAX_PS, UINT64_MAX);
}

static int
check_qp(const struct manage_qp *qp, struct err *err)
{
	if (qp->bytes <= UINT64_MAX - qp->addr)
		return 0;
	return err_set(err, -EINVAL, "QP.bytes = %" PRIu64 "; right would be what fits behind %#" PRIx64, qp->bytes,
		       qp->addr);
}

static int
check_step(const struct manage_step *step, struct err *err)
{
	if (step->open || step->end_ps >= step->start_ps)
		return 0;
	return err_set(err, -EINVAL, "STEP.end_ps = %" PRIu64 "; right would be %" PRIu64 " at least, when it began",
		       step->end_ps, step->start_ps);
}

static int
check_iteration(const struct manage_iteration *iteration, struct err *err)
{
	if (iteration->end_ps == 0 || (iteration->started && iteration->end_ps >= iteration->start_ps))
		return 0;
	return err_set(err, -EINVAL,
		       "ITERATION.end_ps = %" PRIu64 "; right would be 0, not complete, or %" PRIu64
		       " at least, when it began",
		       iteration->end_ps, iteration->start_ps);
}

static int
check_counter(const struct manage_counter *counter, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t length = strnlen(counter->name, sizeof(counter->name));

	if (length != 0 && length != sizeof(counter->name) && strspn(counter->name, letters) == length)
		return 0;
	return err_set(err, -EINVAL, "COUNTER.name is none; right would be 1 to %zu of a to z, 0 to 9 and _",
		       sizeof(counter->name) - 1);
}

static void
make_plain(char *text, size_t size_bytes)
{
	text[size_bytes - 1] = '\0';
	printable_text(text, text, size_bytes);
}

int
manage_check(enum manage_type type, void *body, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].type == type && value_of(body, &fields[i]) > fields[i].max)
			return err_set(err, -EINVAL, "%s = %" PRIu64 "; right would be at most %" PRIu64, fields[i].name,
				       value_of(body, &fields[i]), fields[i].max);
	}
	switch (type) {
	case MANAGE_HELLO:
		make_plain(((struct manage_hello *)body)->device, sizeof(((struct manage_hello *)body)->device));
		return 0;
	case MANAGE_FAILED:
	case MANAGE_QP_ERROR:
		make_plain(((struct manage_failed *)body)->text, MANAGE_TEXT);
		return 0;
	case MANAGE_PROGRESS:
		return check_progress(body, err);
	case MANAGE_COUNTER:
		return check_counter(body, err);
	case MANAGE_QP:
		return check_qp(body, err);
	case MANAGE_STEP:
		return check_step(body, err);
	case MANAGE_ITERATION:
		return check_iteration(body, err);
	default:
		return 0;
	}
}

/* Records of hosts, until the fabric takes them. */

void
host_records_fini(struct host_records *records)
{
	free(records->data);
	*records = (struct host_records){ 0 };
}

static void
make_room(struct host_records *records, uint32_t size)
{
	size_t cap = 2 * (records->cap_bytes + size);
	uint8_t *data;

	if (records->cap_bytes - records->used_bytes >= size)
		return;
	data = realloc(records->data, cap);
	assert(data != NULL);
	records->data = data;
	records->cap_bytes = cap;
}

/* @return 0; -EINVAL with err: not a record that this host can have sent, or not readable */
static int
check_record(struct record_check *check, const struct rec_hdr *rec, uint64_t now_ps, struct err *err)
{
	if (record_size(rec->type) == 0 || !record_is(rec->type, REC_HOST))
		return err_set(err, -EINVAL, "a record of type %u is not a host's", rec->type);
	if (rec->size != record_size(rec->type))
		return err_set(err, -EINVAL, "%s of %u B; right would be %zu B", record_kinds[rec->type].name, rec->size,
			       record_size(rec->type));
	if (rec->time_ps > now_ps + RECORD_AHEAD_PS)
		return err_set(err, -EINVAL, "%s: time_ps = %" PRIu64 "; right would be a time that has passed",
			       record_kinds[rec->type].name, rec->time_ps);
	return record_check(check, rec, err);
}

void
host_records_take(struct host_records *records, struct record_check *check, uint32_t node, const char *name,
		  uint64_t now_ps, const void *body, uint32_t size)
{
	make_room(records, size);
	for (size_t at = 0, of; at < size; at += of) {
		struct rec_hdr *rec = (struct rec_hdr *)(void *)(records->data + records->used_bytes);
		struct err why = { 0 };

		memcpy(rec, (const uint8_t *)body + at, sizeof(*rec));
		of = rec->size;
		memcpy(rec, (const uint8_t *)body + at, of);
		rec->node = node;
		if (check_record(check, rec, now_ps, &why) == 0) {
			records->used_bytes += of;
			continue;
		}
		records->refused++;
		err_set(&records->why, 0, "host %s: %.600s", name, why.text);
	}
}

/* Moves all of them; those older than from_ps count as reported then. @return detections among them */
static uint32_t
host_records_move(struct host_records *records, struct recbuf *to, uint64_t from_ps)
{
	uint32_t detections = 0;

	for (size_t at = 0; at < records->used_bytes;) {
		struct rec_hdr *hdr = (struct rec_hdr *)(void *)(records->data + at);
		size_t size = hdr->size;

		detections += hdr->type == REC_TRIGGER;
		recbuf_put(to, hdr, hdr->type, size, hdr->time_ps > from_ps ? hdr->time_ps : from_ps);
		at += size;
	}
	records->used_bytes = 0;
	return detections;
}
