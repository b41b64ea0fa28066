/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <metis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/* Addresses. */

#define HOST_BYTES 256
#define PATH_MOST (sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof(".new")) /* as unix_listen() takes it */

static bool
is_path(const char *address)
{
	return strchr(address, '/') != NULL;
}

/* @return the port's digits within address, NULL: there are none */
static const char *
split(const char *address, char host[HOST_BYTES])
{
	const char *colon = strrchr(address, ':');
	size_t length = colon != NULL ? (size_t)(colon - address) : 0;

	if (length == 0 || length >= HOST_BYTES || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return NULL;
	if (address[0] == '[' && colon[-1] == ']') { /* RFC 3986, 3.2.2 */
		address++;
		length -= 2;
	}
	snprintf(host, HOST_BYTES, "%.*s", (int)length, address);
	return colon + 1;
}

bool
address_is_local(const char *address)
{
	char host[HOST_BYTES];

	if (is_path(address))
		return true;
	return split(address, host) != NULL &&
	       (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0);
}

int
address_check(const char *address, struct err *err)
{
	char host[HOST_BYTES];

	if (is_path(address) && strlen(address) > PATH_MOST)
		return err_set(err, -EINVAL, "%s: a socket's path has at most %zu characters", address, PATH_MOST);
	if (is_path(address) || split(address, host) != NULL)
		return 0;
	return err_set(err, -EINVAL,
		       "\"%s\" is no address of a partition: give the path of a unix socket, with a '/', or HOST:PORT",
		       address);
}

/* @return 0 with *list to be freed; negative errno with err set: there is no such host */
static int
resolve(const char *address, bool passive, struct addrinfo **list, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0 };
	char host[HOST_BYTES];
	const char *port = split(address, host);
	int ret = port != NULL ? getaddrinfo(host, port, &hints, list) : EAI_NONAME;

	return ret == 0 ? 0 : err_set(err, -EADDRNOTAVAIL, "%s: %s", address, gai_strerror(ret));
}

static int
try_listen(const struct addrinfo *at, int backlog)
{
	int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol), one = 1, ret;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, backlog) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int
address_listen(struct unix_listener *listener, const char *address, int backlog, struct err *err)
{
	struct addrinfo *list = NULL;
	int fd, ret;

	if (is_path(address)) {
		ret = unix_listen(listener, address, err);
		if (ret == 0)
			listen(listener->fd, backlog); /* more connections than the backlog allows */
		return ret;
	}
	*listener = (struct unix_listener){ .fd = -1, .lock = -1 };
	ret = resolve(address, true, &list, err);
	if (ret < 0)
		return ret;
	fd = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
		fd = try_listen(at, backlog);
	freeaddrinfo(list);
	listener->fd = fd >= 0 ? fd : -1;
	return fd >= 0 ? 0 : err_set(err, fd, "%s: cannot listen there: %s", address, strerror(-fd));
}

/* Waits for a connection that has begun. @return 0 or negative errno */
static int
connected(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&wait, 1, ADDRESS_TRY_NS / 1000000) != 1)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

static int
try_connect(int family, const struct sockaddr *to, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, to, size) != 0)
		ret = errno == EINPROGRESS ? connected(fd) : -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int
address_connect(const char *address, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct addrinfo *list = NULL;
	int fd = -EADDRNOTAVAIL, ret;

	if (is_path(address)) {
		if (strlen(address) >= sizeof(to.sun_path))
			return err_set(err, -ENAMETOOLONG, "%s: %s", address, strerror(ENAMETOOLONG));
		strcpy(to.sun_path, address);
		fd = try_connect(AF_UNIX, (const struct sockaddr *)&to, sizeof(to));
		return fd >= 0 ? fd : err_set(err, fd, "%s: %s", address, strerror(-fd));
	}
	ret = resolve(address, false, &list, err);
	if (ret < 0)
		return ret;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
		fd = try_connect(at->ai_family, at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	return fd >= 0 ? fd : err_set(err, fd, "%s: %s", address, strerror(-fd));
}

void
address_close(const char *address, struct unix_listener *listener)
{
	if (is_path(address))
		unix_listener_close(listener);
	else if (listener->fd >= 0)
		close(listener->fd);
}

/* The rendezvous. */

#define STRANGERS 32              /* that have not identified themselves */
#define STRANGER_NS 5000000000ULL /* within which they have to */
#define POLL_MS 50

/* A connection that has not been identified. */
struct stranger {
	struct channel channel;
	uint64_t since_ns;
};

struct rendezvous_state {
	const struct rendezvous *rendezvous;
	struct channel *channels;
	struct stranger strangers[STRANGERS]; /* [count] */
	uint32_t count;
	uint64_t deadline_ns;
	bool refused;    /* a connection was refused for its token */
	struct err last; /* the reason why the partition of the last try could not be connected to */
};

static bool
same_token(const char *a, const char *b)
{
	uint8_t differ = 0; /* compares all of it, wherever the first difference is */

	for (size_t i = 0; i < PARTITION_TOKEN; i++)
		differ |= (uint8_t)(a[i] ^ b[i]);
	return differ == 0;
}

const char *
rendezvous_flaw(const struct partition_hello *ours, const struct partition_hello *theirs)
{
	if (theirs->version != ours->version || theirs->layout != ours->layout)
		return "is of another version: run the same build of dpswitch everywhere";
	if (theirs->partitions != ours->partitions)
		return "counts another number of partitions: give all of them the same --partition I/N";
	if (theirs->scenario != ours->scenario)
		return "has another scenario: give all of them the same file, --set and --seed";
	if (theirs->diagnosers != ours->diagnosers)
		return "has another number of plugin diagnosers: give all of them the same --diagnoser";
	if (theirs->division != ours->division)
		return "divides the topology otherwise (another release of METIS?): name the switches of each in "
		       "\"partitions\"";
	return NULL;
}

static void
refuse(struct channel *channel, const char *why)
{
	struct partition_refuse refuse = { 0 };

	snprintf(refuse.text, sizeof(refuse.text), "%s", why);
	channel_put(channel, PARTITION_REFUSE, &refuse, sizeof(refuse), NULL, 0);
	channel_flush(channel);
	channel_fini(channel);
}

static bool
due(const struct rendezvous_state *m, struct err *err, int *ret)
{
	if (interrupt_asked())
		*ret = err_set(err, -EINTR, "interrupted before the run began");
	else if (clock_now_ns() >= m->deadline_ns)
		*ret = -ETIMEDOUT;
	return *ret != 0;
}

/* Of one that was connected to. @return 1: it is known; 0: not yet; negative errno with err set */
static int
receive_peers(const struct rendezvous_state *m, uint32_t partition, struct err *err)
{
	struct channel *channel = &m->channels[partition];
	struct channel_message message;
	struct partition_hello hello;
	struct err why = { 0 };
	char name[160];
	const char *flaw;
	int got;

	m->rendezvous->name(m->rendezvous->ctx, partition, name);
	channel_read(channel);
	got = channel_take(channel, &message, &why);
	if (got == 0 && channel->ended)
		return err_set(err, -EINVAL, "%s at %s ended before it identified itself", name,
			       m->rendezvous->addresses[partition]);
	if (got == 0)
		return 0;
	if (got > 0 && message.type == PARTITION_REFUSE)
		return err_set(err, -EINVAL, "%s at %s refuses this one, partition %u, which %.*s", name,
			       m->rendezvous->addresses[partition], m->rendezvous->partition, PARTITION_TEXT - 1,
			       (const char *)message.body);
	if (got < 0 || message.type != PARTITION_HELLO)
		return err_set(err, -EINVAL, "the program at %s is not a partition of a run%s%s",
			       m->rendezvous->addresses[partition], got < 0 ? ": " : "", got < 0 ? why.text : "");
	memcpy(&hello, message.body, sizeof(hello));
	flaw = hello.partition == partition ? rendezvous_flaw(m->rendezvous->hello, &hello)
					    : "is another partition: give all the same --partitions-at";
	if (!same_token(hello.token, m->rendezvous->hello->token))
		flaw = "has another token";
	return flaw == NULL ? 1 : err_set(err, -EINVAL, "%s at %s %s", name, m->rendezvous->addresses[partition], flaw);
}

/* @return 0 with a channel to a partition before this one; negative errno, -ETIMEDOUT without err */
static int
visit(struct rendezvous_state *m, uint32_t partition, struct err *err)
{
	struct channel *channel = &m->channels[partition];
	int fd = -1, ret = 0, known = 0;

	while (fd < 0 && !due(m, err, &ret)) {
		m->last = (struct err){ 0 };
		fd = address_connect(m->rendezvous->addresses[partition], &m->last);
		if (fd < 0)
			poll(NULL, 0, POLL_MS);
	}
	if (fd < 0)
		return ret;
	m->last = (struct err){ 0 };
	ret = channel_init(channel, fd);
	if (ret < 0)
		return err_set(err, ret, "%s: %s", m->rendezvous->addresses[partition], strerror(-ret));
	channel_put(channel, PARTITION_HELLO, m->rendezvous->hello, sizeof(*m->rendezvous->hello), NULL, 0);
	channel_flush(channel);
	while (known == 0 && !due(m, err, &ret)) {
		struct pollfd wait = { .fd = channel->fd, .events = POLLIN };

		poll(&wait, 1, POLL_MS);
		known = receive_peers(m, partition, err);
	}
	if (known > 0)
		return 0;
	channel_fini(channel);
	return known < 0 ? known : ret;
}

/* A HELLO arrived. @return 0: the peer stays or is refused; negative errno with err set: this run is impossible */
static int
admit(struct rendezvous_state *m, struct channel *channel, const struct partition_hello *hello, struct err *err)
{
	const struct rendezvous *rendezvous = m->rendezvous;
	const char *flaw;
	char name[160];

	if (!same_token(hello->token, rendezvous->hello->token)) {
		if (!m->refused)
			log_warning("a program that claims to be partition %u was rejected: its token differs",
				    hello->partition);
		m->refused = true;
		refuse(channel, "has another token");
		return 0;
	}
	flaw = rendezvous_flaw(rendezvous->hello, hello);
	if (flaw != NULL) {
		refuse(channel, flaw);
		return err_set(err, -EINVAL, "partition %u %s", hello->partition, flaw);
	}
	if (hello->partition <= rendezvous->partition || hello->partition >= rendezvous->partitions ||
	    channel_is_open(&m->channels[hello->partition])) {
		refuse(channel, "is connected already, or connected to the wrong partition");
		log_warning("a second partition %u was rejected", hello->partition);
		return 0;
	}
	rendezvous->name(rendezvous->ctx, hello->partition, name);
	log_debug("%s is here", name);
	channel_put(channel, PARTITION_HELLO, rendezvous->hello, sizeof(*rendezvous->hello), NULL, 0);
	channel_flush(channel);
	m->channels[hello->partition] = *channel;
	*channel = (struct channel){ .fd = -1 };
	return 0;
}

/* @return 0 or negative errno with err set */
static int
listen_to(struct rendezvous_state *m, struct stranger *stranger, struct err *err)
{
	struct channel_message message;
	struct partition_hello hello;
	struct err why = { 0 };
	int got;

	channel_read(&stranger->channel);
	got = channel_take(&stranger->channel, &message, &why);
	if (got == 0 && !stranger->channel.ended && clock_now_ns() - stranger->since_ns < STRANGER_NS)
		return 0;
	if (got <= 0 || message.type != PARTITION_HELLO) {
		log_warning("a connection was rejected: %s", got < 0 ? why.text : "it did not identify its partition");
		channel_fini(&stranger->channel);
		return 0;
	}
	memcpy(&hello, message.body, sizeof(hello));
	return admit(m, &stranger->channel, &hello, err);
}

/* @return 0 with a new peer, or with none where it is gone again; negative errno with err set: no more can connect */
static int
take_stranger(struct rendezvous_state *m, int listener, struct err *err)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct stranger *stranger = &m->strangers[m->count];

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return err_set(err, -errno,
			       "no further partition can connect: %s; a higher limit (ulimit -n) would be right",
			       strerror(errno));
	if (fd < 0 && (errno == ENOBUFS || errno == ENOMEM))
		return err_set(err, -errno, "no further partition can connect: %s", strerror(errno));
	if (fd >= 0 && channel_init(&stranger->channel, fd) == 0) {
		stranger->since_ns = clock_now_ns();
		m->count++;
	}
	return 0;
}

static uint32_t
missing(const struct rendezvous_state *m)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < m->rendezvous->partitions; p++)
		count += p != m->rendezvous->partition && !channel_is_open(&m->channels[p]);
	return count;
}

/* Accepts the partitions after this one. @return 0; negative errno, -ETIMEDOUT without err */
static int
receive(struct rendezvous_state *m, int listener, struct err *err)
{
	int ret = 0;

	while (ret == 0 && missing(m) != 0 && !due(m, err, &ret)) {
		struct pollfd wait[STRANGERS + 1] = { { .fd = m->count < STRANGERS ? listener : -1, .events = POLLIN } };
		uint32_t kept = 0;

		for (uint32_t i = 0; i < m->count; i++)
			wait[i + 1] = (struct pollfd){ .fd = m->strangers[i].channel.fd, .events = POLLIN };
		poll(wait, m->count + 1, POLL_MS);
		for (uint32_t i = 0; i < m->count && ret == 0; i++)
			ret = listen_to(m, &m->strangers[i], err);
		for (uint32_t i = 0; i < m->count; i++)
			if (channel_is_open(&m->strangers[i].channel))
				m->strangers[kept++] = m->strangers[i];
		m->count = kept;
		if (ret < 0)
			break;
		if (wait[0].revents != 0)
			ret = take_stranger(m, listener, err);
	}
	for (uint32_t i = 0; i < m->count; i++)
		channel_fini(&m->strangers[i].channel);
	m->count = 0;
	return ret;
}

static int
name_missing(const struct rendezvous_state *m, struct err *err)
{
	char text[700] = "", name[160];
	size_t at = 0;

	for (uint32_t p = 0; p < m->rendezvous->partitions && at < sizeof(text); p++) {
		if (p == m->rendezvous->partition || channel_is_open(&m->channels[p]))
			continue;
		m->rendezvous->name(m->rendezvous->ctx, p, name);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at != 0 ? ", " : "", name);
	}
	return err_set(err, -ETIMEDOUT, "%s did not connect within %.0f s (limits.connect)%s%s%s", text,
		       (double)m->rendezvous->timeout_ns / 1e9, m->last.text[0] != '\0' ? "; " : "", m->last.text,
		       m->refused ? "; a program with another token was rejected" : "");
}

_Static_assert(CHANNEL_OUT_BYTES == 64 * 1024 * 1024, "see channel_flaw()");

#define READ_BYTES (128u * 1024)
/* Frames that arrive meanwhile are handled before more are read: a number of reads in a row. */
#define READS 16

static const struct {
	const char *name;
	uint32_t least, most;
} kinds[PARTITION_TYPES] = {
#define KIND(id, number, name, least, most) [number] = { name, least, most },
	PARTITION_MESSAGES(KIND)
#undef KIND
};

int
channel_init(struct channel *channel, int fd)
{
	int one = 1, flags = fcntl(fd, F_GETFL), ret = 0;

	*channel = (struct channel){ .transport = &transport_stream, .fd = fd };
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		ret = -errno;
		channel_fini(channel);
		return ret;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* refused by unix sockets, which need none */
	return 0;
}

void
channel_fini(struct channel *channel)
{
	if (channel_is_open(channel))
		channel->transport->close(channel);
	free(channel->in);
	free(channel->out);
	*channel = (struct channel){ .fd = -1 };
}

uint8_t *
channel_place(struct channel *channel, enum partition_type type, size_t size)
{
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC, .type = (uint16_t)type, .size = (uint32_t)size };
	uint8_t *at;

	if (!channel_is_open(channel) || channel->error != 0)
		return NULL;
	if (channel_left_bytes(channel) > CHANNEL_OUT_BYTES) {
		channel->error = ENOBUFS;
		return NULL;
	}
	channel->out = grow(channel->out, &channel->out_cap, channel->out_used + sizeof(hdr) + size, 1,
			    "messages to another partition");
	at = channel->out + channel->out_used;
	memcpy(at, &hdr, sizeof(hdr));
	channel->out_used += sizeof(hdr) + size;
	return at + sizeof(hdr);
}

void
channel_put(struct channel *channel, enum partition_type type, const void *body, size_t size, const void *more,
	    size_t more_size)
{
	uint8_t *at = channel_place(channel, type, size + more_size);

	if (at != NULL && size != 0)
		memcpy(at, body, size);
	if (at != NULL && more_size != 0)
		memcpy(at + size, more, more_size);
}

void
channel_flush(struct channel *channel)
{
	if (channel_is_open(channel) && channel->error == 0)
		channel->transport->flush(channel);
	if (channel->out_head == channel->out_used) {
		channel->out_head = channel->out_used = 0;
	} else if (channel->out_head > channel->out_cap / 2) {
		memmove(channel->out, channel->out + channel->out_head, channel->out_used - channel->out_head);
		channel->out_used -= channel->out_head;
		channel->out_head = 0;
	}
}

void
channel_shut(struct channel *channel)
{
	if (!channel_is_open(channel) || channel->shut || channel_waits(channel))
		return;
	channel->shut = true;
	channel->transport->shut(channel);
}

bool
channel_read(struct channel *channel)
{
	if (channel->in_head != 0) {
		memmove(channel->in, channel->in + channel->in_head, channel->in_used - channel->in_head);
		channel->in_used -= channel->in_head;
		channel->in_head = 0;
	}
	return channel_is_open(channel) && !channel->ended && channel->transport->read(channel);
}

void
channel_append(struct channel *channel, const void *data, size_t size)
{
	channel->in = grow(channel->in, &channel->in_cap, channel->in_used + size, 1, "messages of another partition");
	memcpy(channel->in + channel->in_used, data, size);
	channel->in_used += size;
}

/* ---- stream sockets ---- */

static int
stream_rendezvous(const struct rendezvous *rendezvous, struct channel *channels, pid_t *pids, struct err *err)
{
	struct rendezvous_state m = { .rendezvous = rendezvous,
				      .channels = channels,
				      .deadline_ns = clock_now_ns() + rendezvous->timeout_ns };
	struct unix_listener listener = { .fd = -1, .lock = -1 };
	int ret = 0;

	memset(pids, 0, rendezvous->partitions * sizeof(*pids)); /* a program says nothing of its number */
	for (uint32_t p = 0; p < rendezvous->partitions; p++)
		channels[p] = (struct channel){ .fd = -1 };
	if (rendezvous->partition + 1 < rendezvous->partitions) {
		ret = address_listen(&listener, rendezvous->addresses[rendezvous->partition], PARTITION_MAX, err);
		ret = ret < 0 ? -EINVAL : 0;
	}
	for (uint32_t p = 0; ret == 0 && p < rendezvous->partition; p++)
		ret = visit(&m, p, err);
	if (ret == 0)
		ret = receive(&m, listener.fd, err);
	address_close(rendezvous->addresses[rendezvous->partition], &listener);
	return ret == -ETIMEDOUT ? name_missing(&m, err) : ret;
}

static void
stream_flush(struct channel *channel)
{
	while (channel->error == 0 && channel->out_head < channel->out_used) {
		ssize_t sent = send(channel->fd, channel->out + channel->out_head, channel->out_used - channel->out_head,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN)
			channel->error = errno;
		if (sent < 0)
			break;
		channel->out_head += (size_t)sent;
	}
}

static bool
stream_read(struct channel *channel)
{
	bool any = false;

	for (uint32_t i = 0; i < READS && !channel->ended; i++) {
		ssize_t got;

		channel->in = grow(channel->in, &channel->in_cap, channel->in_used + READ_BYTES, 1,
				   "messages of another partition");
		got = recv(channel->fd, channel->in + channel->in_used, READ_BYTES, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0) {
			channel->ended = true;
			break;
		}
		any = true;
		channel->in_used += (size_t)got;
		if ((size_t)got < READ_BYTES)
			break;
	}
	return any;
}

static void
stream_shut(struct channel *channel)
{
	shutdown(channel->fd, SHUT_WR);
}

static void
stream_close(struct channel *channel)
{
	close(channel->fd);
}

static void
stream_sleep(struct channel *const *channels, uint32_t count, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = { (time_t)(left_ns / 1000000000ULL), (long)(left_ns % 1000000000ULL) };
	struct pollfd wait[PARTITION_MAX];

	for (uint32_t i = 0; i < count; i++)
		wait[i] = (struct pollfd){ .fd = channels[i]->ended ? -1 : channels[i]->fd,
					   .events = channel_waits(channels[i]) ? POLLIN | POLLOUT : POLLIN };
	ppoll(wait, count, &left, NULL);
}

const struct transport transport_stream = {
	.rendezvous = stream_rendezvous,
	.flush = stream_flush,
	.read = stream_read,
	.shut = stream_shut,
	.close = stream_close,
	.sleep = stream_sleep,
};

int
channel_take(struct channel *channel, struct channel_message *message, struct err *err)
{
	size_t left = channel->in_used - channel->in_head;
	struct partition_hdr hdr;

	if (left < sizeof(hdr))
		return 0;
	memcpy(&hdr, channel->in + channel->in_head, sizeof(hdr));
	if (hdr.magic != PARTITION_MAGIC)
		return err_set(err, -EPROTO, "not a message of a partition (magic %#x)", hdr.magic);
	if (hdr.type >= PARTITION_TYPES || hdr.type == PARTITION_NONE)
		return err_set(err, -EPROTO, "type = %u is not a message of a partition", hdr.type);
	if (hdr.size < kinds[hdr.type].least || hdr.size > kinds[hdr.type].most)
		return err_set(err, -EPROTO, "%s of %u B; right would be %u to %u", kinds[hdr.type].name, hdr.size,
			       kinds[hdr.type].least, kinds[hdr.type].most);
	if (left < sizeof(hdr) + hdr.size)
		return 0;
	*message = (struct channel_message){ hdr.type, hdr.size, channel->in + channel->in_head + sizeof(hdr) };
	channel->in_head += sizeof(hdr) + hdr.size;
	return 1;
}

enum partition_type
channel_incoming(const struct channel *channel)
{
	struct partition_hdr hdr;

	if (channel->in_used - channel->in_head < sizeof(hdr))
		return PARTITION_NONE;
	memcpy(&hdr, channel->in + channel->in_head, sizeof(hdr));
	return hdr.type;
}

const char *
channel_flaw(const struct channel *channel)
{
	return channel->error == ENOBUFS ? "it leaves more than 64 MB unread" : strerror(channel->error);
}

/* Division of nodes. */

#define UNSET UINT32_MAX
/* METIS draws: everybody from here. */
#define DIVISION_SEED 17

/* The switch that a node goes with: itself, or that of a host's first port. */
static uint32_t
group_of(const struct topo *topo, uint32_t node)
{
	return topo->nodes[node].kind == TOPO_HOST ? topo_port_of(topo, node, 0)->peer : node;
}

/* Names are known, and each stands once: the scenario was checked. */
static void
assign_named(const struct scenario *sc, uint32_t *partition)
{
	for (size_t g = 0; g < sc->npartitions; g++)
		for (size_t i = 0; i < sc->partitions[g].names.count; i++)
			partition[topo_find(sc->topo, sc->partitions[g].names.items[i])] = (uint32_t)g;
}

/* The graph of switches in METIS's format: neighbours of vertex v are adjncy[xadj[v] .. xadj[v + 1]). */
struct graph {
	idx_t *xadj, *adjncy, *crossing, *weight, *partition; /* crossing: what passes to a neighbour, and back */
	uint32_t *vertex;                                     /* [nnodes] of a switch */
	uint64_t *packets;                                    /* [nports] predicted to leave each port */
	uint64_t unit;                                        /* of weights */
	idx_t count, edges;
};

/* METIS adds up weights in 32 bits. */
#define MOST_WEIGHT (1u << 28)

static void
graph_fini(struct graph *g)
{
	free(g->xadj);
	free(g->adjncy);
	free(g->crossing);
	free(g->packets);
	free(g->weight);
	free(g->partition);
	free(g->vertex);
}

/* A cable to a neighbour: one more to the same, or the first. */
static void
graph_add(struct graph *g, idx_t from, idx_t neighbour, uint64_t packets)
{
	idx_t at = from;

	while (at < g->edges && g->adjncy[at] != neighbour)
		at++;
	g->adjncy[at] = neighbour;
	g->crossing[at] += 1 + (idx_t)(packets / g->unit);
	g->edges += at == g->edges;
}

/* A node's work is the packets that arrive there, and those that a host makes; and a look at each port. */
static idx_t
work_of(const struct graph *g, const struct topo *topo, uint32_t node)
{
	uint64_t packets = 0;

	for (uint16_t p = 0; p < topo->nodes[node].nports; p++) {
		const struct topo_port *port = topo_port_of(topo, node, p);

		packets += g->packets[port->peer_port];
		if (topo->nodes[node].kind == TOPO_HOST)
			packets += g->packets[topo->nodes[node].first_port + p];
	}
	return topo->nodes[node].nports + (idx_t)(packets / g->unit);
}

static int
predict(struct graph *g, const struct scenario *sc)
{
	const struct expect_frames frames = { .payload_bytes = sc->roce.mtu_bytes, .frames_per_ack = sc->roce.ack_every };
	uint64_t all = 0;
	int ret = plan_predict_packets(sc->plan, &sc->routing, &frames, g->packets);

	for (uint32_t i = 0; i < sc->topo->nports; i++)
		all += g->packets[i];
	g->unit = 1 + 2 * all / MOST_WEIGHT;
	return ret;
}

static int
graph_init(struct graph *g, const struct scenario *sc)
{
	const struct topo *topo = sc->topo;

	*g = (struct graph){
		.xadj = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.adjncy = calloc(topo->nports + 1u, sizeof(idx_t)),
		.crossing = calloc(topo->nports + 1u, sizeof(idx_t)),
		.packets = calloc(topo->nports + 1u, sizeof(uint64_t)),
		.weight = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.partition = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.vertex = calloc(topo->nnodes + 1u, sizeof(uint32_t)),
	};
	if (g->xadj == NULL || g->adjncy == NULL || g->crossing == NULL || g->packets == NULL || g->weight == NULL ||
	    g->partition == NULL || g->vertex == NULL)
		return -ENOMEM;
	if (predict(g, sc) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_SWITCH)
			g->vertex[i] = (uint32_t)g->count++;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		uint32_t group = group_of(topo, i);
		idx_t from = g->edges;

		g->weight[g->vertex[group]] += work_of(g, topo, i);
		for (uint16_t p = 0; topo->nodes[i].kind == TOPO_SWITCH && p < topo->nodes[i].nports; p++) {
			const struct topo_port *port = topo_port_of(topo, i, p);

			if (topo->nodes[port->peer].kind == TOPO_SWITCH)
				graph_add(g, from, (idx_t)g->vertex[port->peer],
					  g->packets[topo->nodes[i].first_port + p] + g->packets[port->peer_port]);
		}
		if (topo->nodes[i].kind == TOPO_SWITCH)
			g->xadj[g->vertex[i] + 1] = g->edges;
	}
	return 0;
}

static int
assign_by_metis(const struct scenario *sc, uint32_t partitions, uint32_t *partition, struct err *err)
{
	idx_t options[METIS_NOPTIONS], one = 1, count = (idx_t)partitions, boundary = 0;
	const struct topo *topo = sc->topo;
	struct graph g;
	int ret = graph_init(&g, sc);

	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = DIVISION_SEED;
	if (ret == 0 && METIS_PartGraphRecursive(&g.count, &one, g.xadj, g.adjncy, g.weight, NULL, g.crossing, &count, NULL,
						 NULL, options, &boundary, g.partition) != METIS_OK)
		ret = -EINVAL;
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_SWITCH)
			partition[i] = (uint32_t)g.partition[g.vertex[i]];
	graph_fini(&g);
	return ret == 0 ? 0 : err_set(err, ret, "this topology could not be divided into %u partitions", partitions);
}

int
division_make(const struct scenario *sc, uint32_t partitions, uint32_t *partition, struct err *err)
{
	const struct topo *topo = sc->topo;
	int ret = 0;

	if (sc->npartitions != 0 && sc->npartitions != partitions)
		return cfg_fail(&sc->partitions[0].where, NULL, err,
				"the scenario has %zu partitions, and %u are asked for", sc->npartitions, partitions);
	if (partitions > topo->nswitches)
		return err_set(err, -EINVAL, "%s: %u partitions of %u switches: every partition needs a switch",
			       cfg_file(sc->cfg), partitions, topo->nswitches);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		partition[i] = UNSET;
	if (sc->npartitions != 0)
		assign_named(sc, partition);
	else
		ret = assign_by_metis(sc, partitions, partition, err);
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++)
		if (partition[i] == UNSET)
			partition[i] = partition[group_of(topo, i)];
	for (uint32_t p = 0; ret == 0 && p < partitions; p++) {
		bool any = false;

		for (uint32_t i = 0; i < topo->nnodes; i++)
			any |= partition[i] == p;
		if (!any)
			ret = err_set(err, -EINVAL,
				      "%s: partition %u of %u would have no node: ask for fewer, or name switches in "
				      "\"partitions\"",
				      cfg_file(sc->cfg), p, partitions);
	}
	return ret;
}

char *
division_name(const struct topo *topo, const uint32_t *partition, uint32_t which, char *buf)
{
	uint32_t count = 0, shown = 0;
	int at = snprintf(buf, DIVISION_NAME, "partition %u (", which);

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		count += partition[i] == which;
		if (partition[i] != which || shown == 3)
			continue;
		at += snprintf(buf + at, DIVISION_NAME - (size_t)at, "%s%s", shown != 0 ? ", " : "", topo->nodes[i].name);
		shown++;
	}
	if (count > shown)
		snprintf(buf + at, DIVISION_NAME - (size_t)at, " and %u more)", count - shown);
	else
		snprintf(buf + at, DIVISION_NAME - (size_t)at, ")");
	return buf;
}
