/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/switch_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/unix_socket.h"
#include "topo/topo.h"

/*
 * One connection to a management socket: requests as they arrive, replies until they are due and taken. It never waits.
 */

/* Bytes of a reply, and when they may be read. */
struct waiting {
	uint64_t due_ns;
	uint32_t bytes;
};

struct switch_peer {
	int fd;
	uint32_t device;
	uint32_t at;          /* in its owner's list */
	uint32_t events;      /* that epoll looks for */
	uint64_t since_ns;    /* since when its socket has not taken a due reply; 0: it has */
	uint64_t received_ns; /* time of its last bytes */
	uint8_t *in, *out;
	size_t in_used, in_cap, out_used, out_cap;
	struct waiting waiting[SWITCH_SOCKETS_MAX_WAITING];
	uint32_t nwaiting;
};

/* State that all connections share. */
struct switch_desk {
	struct switch_sockets_config config;
	struct switch_sockets_counts counts;
	uint64_t now_ns;
	uint64_t turn_end_ns; /* no request but a first is answered later; UINT64_MAX: all are */
	uint64_t answered;    /* requests in this turn */
	_Alignas(8) uint8_t reply[ANSWER_MAX_BYTES];
};

/* State of a connection after a step on it; its owner closes those that do not stay, and counts nothing then. */
enum peer_outcome { PEER_STAYS, PEER_ENDS };

#define BACKLOG 128
#define MAX_EVENTS 64
#define SHORTAGE_NS 100000000 /* without descriptors, connections wait so long for the next try */

struct door {
	struct unix_listener listener;
};

struct switch_sockets {
	struct switch_desk desk;
	struct door *doors;         /* [ndevices] */
	struct switch_peer **peers; /* [SWITCH_SOCKETS_MAX_PEERS], npeers of them */
	uint32_t npeers;
	uint32_t turn_at;  /* whose requests ended the last turn: the peers before it are next */
	uint64_t retry_ns; /* when connections are accepted again; 0: they are */
	int epoll;
};

static bool switch_desk_has_turn(const struct switch_desk *desk);
static enum peer_outcome switch_peer_receive(struct switch_desk *desk, struct switch_peer *peer);
static uint32_t switch_peer_events(const struct switch_desk *desk, const struct switch_peer *peer);
static enum peer_outcome switch_peer_tend(struct switch_desk *desk, struct switch_peer *peer);
static uint64_t switch_peer_next_ns(const struct switch_desk *desk, const struct switch_peer *peer);
static struct switch_peer *switch_peer_create(struct switch_desk *desk, int fd, uint32_t device);
static void switch_peer_destroy(struct switch_peer *peer);

static void
drop(struct switch_sockets *s, struct switch_peer *peer)
{
	s->peers[peer->at] = s->peers[--s->npeers];
	s->peers[peer->at]->at = peer->at;
	switch_peer_destroy(peer);
}

static void
look_for(struct switch_sockets *s, struct switch_peer *peer)
{
	uint32_t events = switch_peer_events(&s->desk, peer);
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)(uintptr_t)peer };

	if (events == peer->events)
		return;
	peer->events = events;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, peer->fd, &event);
}

/* A connection that was silent for long makes room for another. @return whether there is room */
static bool
has_room(struct switch_sockets *s)
{
	struct switch_peer *idle = NULL;

	if (s->npeers < SWITCH_SOCKETS_MAX_PEERS)
		return true;
	for (uint32_t i = 0; i < s->npeers; i++)
		if (idle == NULL || s->peers[i]->received_ns < idle->received_ns)
			idle = s->peers[i];
	if (s->desk.now_ns - idle->received_ns <= s->desk.config.idle_limit_ns)
		return false;
	s->desk.counts.gave_up++;
	drop(s, idle);
	return true;
}

/* @param events  EPOLLIN, or 0: not now */
static void
watch_doors(struct switch_sockets *s, uint32_t events)
{
	for (uint32_t i = 0; i < s->desk.config.ndevices; i++) {
		struct epoll_event event = { .events = events, .data.u64 = i };

		epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->doors[i].listener.fd, &event);
	}
}

/*
 * Handles a failed accept. For want of descriptors, stops watching the listeners for a while: the connections stay
 * pending and would end every wait at once.
 */
static void
not_accepted(struct switch_sockets *s)
{
	if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR || s->retry_ns != 0)
		return;
	s->retry_ns = s->desk.now_ns + SHORTAGE_NS;
	watch_doors(s, 0);
}

static void
accept_again(struct switch_sockets *s)
{
	if (s->retry_ns == 0 || s->desk.now_ns < s->retry_ns)
		return;
	s->retry_ns = 0;
	watch_doors(s, EPOLLIN);
}

static void
greet(struct switch_sockets *s, uint32_t device)
{
	for (uint32_t i = 0; i < BACKLOG; i++) {
		int fd = accept4(s->doors[device].listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct switch_peer *peer = fd >= 0 && has_room(s) ? switch_peer_create(&s->desk, fd, device) : NULL;
		struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)(uintptr_t)peer };

		if (fd < 0) {
			not_accepted(s);
			return;
		}
		if (peer == NULL) {
			s->desk.counts.turned_away++;
			close(fd);
			continue;
		}
		if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
			s->desk.counts.turned_away++;
			switch_peer_destroy(peer);
			continue;
		}
		s->desk.counts.peers++;
		peer->at = s->npeers;
		s->peers[s->npeers++] = peer;
	}
}

/* Doors are numbers, peers are pointers, which are larger. */
static bool
is_door(const struct switch_sockets *s, const struct epoll_event *event)
{
	return event->data.u64 < s->desk.config.ndevices;
}

/* Until something is due, at most. */
static uint64_t
wait_of(const struct switch_sockets *s, uint64_t wait_ns)
{
	if (s->retry_ns != 0)
		wait_ns = min_u64(wait_ns, s->retry_ns - s->desk.now_ns);
	for (uint32_t i = 0; i < s->npeers && wait_ns != 0; i++) {
		uint64_t next_ns = switch_peer_next_ns(&s->desk, s->peers[i]);

		wait_ns = min_u64(wait_ns, next_ns > s->desk.now_ns ? next_ns - s->desk.now_ns : 0);
	}
	return wait_ns;
}

/* A peer has one event at most, and is removed by its own event alone. */
static void
receive(struct switch_sockets *s, const struct epoll_event *event)
{
	struct switch_peer *peer = (struct switch_peer *)(uintptr_t)event->data.u64;
	enum peer_outcome outcome = PEER_STAYS;

	if ((event->events & EPOLLIN) != 0) {
		outcome = switch_peer_receive(&s->desk, peer);
	} else if ((event->events & (EPOLLHUP | EPOLLERR)) != 0) {
		s->desk.counts.gave_up++;
		outcome = PEER_ENDS;
	}
	if (outcome == PEER_ENDS)
		drop(s, peer);
}

/* @param over  whether the turn was over before; set when it is */
static void
tend(struct switch_sockets *s, uint32_t i, bool *over)
{
	struct switch_peer *peer = s->peers[i];

	if (switch_peer_tend(&s->desk, peer) == PEER_ENDS)
		drop(s, peer); /* the last one takes its place */
	else
		look_for(s, peer);
	if (!*over && !switch_desk_has_turn(&s->desk)) {
		*over = true;
		s->turn_at = i;
	}
}

static void
tend_all(struct switch_sockets *s)
{
	uint32_t start = min_u32(s->turn_at, s->npeers);
	bool over = false;

	for (uint32_t i = start; i-- > 0;)
		tend(s, i, &over);
	for (uint32_t i = s->npeers; i-- > start;)
		tend(s, i, &over);
}

static void
serve(struct switch_sockets *s, uint64_t wait_ns, uint64_t turn_ns)
{
	struct epoll_event events[MAX_EVENTS];
	struct timespec timeout;
	int count;

	s->desk.now_ns = clock_now_ns();
	accept_again(s);
	wait_ns = wait_of(s, wait_ns);
	timeout = (struct timespec){ (time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000) };
	count = epoll_pwait2(s->epoll, events, MAX_EVENTS, &timeout, NULL);
	s->desk.now_ns = clock_now_ns();
	s->desk.turn_end_ns = turn_ns != UINT64_MAX ? s->desk.now_ns + turn_ns : UINT64_MAX;
	s->desk.answered = 0;
	for (int i = 0; i < count; i++)
		if (!is_door(s, &events[i]))
			receive(s, &events[i]);
	for (int i = 0; i < count; i++)
		if (is_door(s, &events[i]))
			greet(s, (uint32_t)events[i].data.u64);
	tend_all(s);
}

void
switch_sockets_serve(struct switch_sockets *s, uint64_t wait_ns)
{
	serve(s, wait_ns, UINT64_MAX);
}

void
switch_sockets_turn(struct switch_sockets *s, uint64_t turn_ns)
{
	serve(s, 0, turn_ns);
}

const struct switch_sockets_counts *
switch_sockets_counts(const struct switch_sockets *s)
{
	return &s->desk.counts;
}

/* A descriptor for each device, and each connection. */
static void
raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int
open_door(struct switch_sockets *s, uint32_t i, struct err *err)
{
	const struct answer_device *device = &s->desk.config.devices[i];
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
	struct door *door = &s->doors[i];
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "%s/%s" SWITCH_SOCKETS_SUFFIX, s->desk.config.dir,
		 device->topo->nodes[device->node].name);
	ret = unix_listen(&door->listener, path, err);
	if (ret < 0)
		return ret;
	if (listen(door->listener.fd, BACKLOG) < 0 ||
	    fcntl(door->listener.fd, F_SETFL, fcntl(door->listener.fd, F_GETFL) | O_NONBLOCK) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, door->listener.fd, &event) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

struct switch_sockets *
switch_sockets_create(const struct switch_sockets_config *config, struct err *err)
{
	struct switch_sockets *s = calloc(1, sizeof(*s));
	int ret = 0;

	raise_limit();
	if (s != NULL) {
		s->desk.config = *config;
		s->doors = calloc(config->ndevices + 1u, sizeof(*s->doors));
		s->peers = calloc(SWITCH_SOCKETS_MAX_PEERS, sizeof(struct switch_peer *));
		s->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (s->epoll < 0)
			ret = err_set(err, -errno, "no descriptor for management sockets: %s", strerror(errno));
	}
	if (s == NULL || s->doors == NULL || s->peers == NULL)
		ret = err_set(err, -ENOMEM, "no memory for management sockets");
	if (s != NULL && s->desk.config.idle_limit_ns == 0)
		s->desk.config.idle_limit_ns = SWITCH_SOCKETS_TIMEOUT_NS;
	for (uint32_t i = 0; i < config->ndevices && s != NULL && s->doors != NULL; i++)
		s->doors[i].listener = (struct unix_listener){ .fd = -1, .lock = -1 };
	for (uint32_t i = 0; ret == 0 && i < config->ndevices; i++)
		ret = open_door(s, i, err);
	if (ret == 0)
		return s;
	switch_sockets_destroy(s);
	errno = -ret;
	return NULL;
}

void
switch_sockets_destroy(struct switch_sockets *s)
{
	if (s == NULL)
		return;
	while (s->npeers != 0)
		drop(s, s->peers[0]);
	for (uint32_t i = 0; s->doors != NULL && i < s->desk.config.ndevices; i++)
		unix_listener_close(&s->doors[i].listener);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->doors);
	free(s->peers);
	free(s);
}

/* One connection. */

#define MAX_MESSAGE (sizeof(struct swm_hdr) + SWM_MAX_REQUEST)
#define FIRST_BYTES 1024u
#define MAX_OUT_BYTES (1u << 20) /* of replies that wait, but for one */

static enum peer_outcome
give_up(struct switch_desk *desk)
{
	desk->counts.gave_up++;
	return PEER_ENDS;
}

static bool
make_room(uint8_t **buf, size_t *cap, size_t need)
{
	size_t bytes = *cap != 0 ? *cap : FIRST_BYTES;
	uint8_t *more;

	while (bytes < need)
		bytes *= 2;
	if (bytes == *cap)
		return true;
	more = realloc(*buf, bytes);
	if (more == NULL)
		return false;
	*buf = more;
	*cap = bytes;
	return true;
}

/* desk->reply can be read at due_ns. @return false: there is no memory */
static bool
put_reply(struct switch_desk *desk, struct switch_peer *peer, size_t size, uint64_t due_ns)
{
	if (!make_room(&peer->out, &peer->out_cap, peer->out_used + size))
		return false;
	memcpy(peer->out + peer->out_used, desk->reply, size);
	peer->out_used += size;
	peer->waiting[peer->nwaiting++] = (struct waiting){ due_ns, (uint32_t)size };
	return true;
}

static bool
is_full(const struct switch_peer *peer)
{
	return peer->nwaiting == SWITCH_SOCKETS_MAX_WAITING || peer->out_used > MAX_OUT_BYTES;
}

/* ---- replies ---- */

static size_t
due_bytes(const struct switch_desk *desk, const struct switch_peer *peer)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < peer->nwaiting && peer->waiting[i].due_ns <= desk->now_ns; i++)
		bytes += peer->waiting[i].bytes;
	return bytes;
}

static void
taken(struct switch_peer *peer, size_t bytes)
{
	uint32_t whole = 0;

	peer->out_used -= bytes;
	memmove(peer->out, peer->out + bytes, peer->out_used);
	while (whole < peer->nwaiting && bytes >= peer->waiting[whole].bytes)
		bytes -= peer->waiting[whole++].bytes;
	peer->nwaiting -= whole;
	memmove(peer->waiting, peer->waiting + whole, peer->nwaiting * sizeof(peer->waiting[0]));
	if (bytes != 0)
		peer->waiting[0].bytes -= (uint32_t)bytes;
}

static enum peer_outcome
send_due(struct switch_desk *desk, struct switch_peer *peer)
{
	size_t due = due_bytes(desk, peer);
	ssize_t sent;

	if (due == 0)
		return PEER_STAYS;
	sent = send(peer->fd, peer->out, due, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return give_up(desk);
	if (sent > 0) {
		desk->counts.out_bytes += (uint64_t)sent;
		taken(peer, (size_t)sent);
		peer->since_ns = 0;
	}
	if ((size_t)(sent < 0 ? 0 : sent) < due && peer->since_ns == 0)
		peer->since_ns = desk->now_ns;
	return PEER_STAYS;
}

/* ---- requests ---- */

static bool
switch_desk_has_turn(const struct switch_desk *desk)
{
	return desk->answered == 0 || desk->turn_end_ns == UINT64_MAX || clock_now_ns() < desk->turn_end_ns;
}

/* Whole requests, as long as there is room for their replies. */
static enum peer_outcome
answer_all(struct switch_desk *desk, struct switch_peer *peer)
{
	size_t at = 0;

	while (!is_full(peer) && peer->in_used - at >= sizeof(struct swm_hdr) && switch_desk_has_turn(desk)) {
		const struct swm_hdr *hdr = (const void *)(peer->in + at);
		size_t size = sizeof(*hdr) + hdr->size, made;

		if (hdr->magic != SWM_MAGIC || hdr->size > SWM_MAX_REQUEST || hdr->size % 8 != 0) {
			desk->counts.malformed++; /* the start of the next request is unknown */
			return PEER_ENDS;
		}
		if (peer->in_used - at < size)
			break;
		made = answer_request(&desk->config.devices[peer->device], hdr, size, desk->reply);
		desk->answered++;
		desk->counts.requests++;
		desk->counts.refused += ((const struct swm_hdr *)(const void *)desk->reply)->type == SWM_REFUSED;
		if (!put_reply(desk, peer, made, desk->now_ns + desk->config.rtt_ns))
			return give_up(desk);
		at += size;
	}
	peer->in_used -= at;
	if (at != 0) /* a peer that has sent nothing yet uses no memory */
		memmove(peer->in, peer->in + at, peer->in_used);
	return PEER_STAYS;
}

/* Receives from a peer's socket, which has data or has closed; requests are answered by switch_peer_tend(). */
static enum peer_outcome
switch_peer_receive(struct switch_desk *desk, struct switch_peer *peer)
{
	ssize_t got;

	if (peer->in_used == peer->in_cap && !make_room(&peer->in, &peer->in_cap, peer->in_cap + 1))
		return give_up(desk);
	got = recv(peer->fd, peer->in + peer->in_used, peer->in_cap - peer->in_used, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return PEER_STAYS;
	if (got <= 0) {
		desk->counts.gave_up += peer->in_used != 0;
		return PEER_ENDS;
	}
	desk->counts.in_bytes += (uint64_t)got;
	peer->in_used += (size_t)got;
	peer->received_ns = desk->now_ns;
	return PEER_STAYS;
}

/* A request is there in full, and there is room for its reply. */
static bool
has_request(const struct switch_peer *peer)
{
	const struct swm_hdr *hdr = (const void *)peer->in;

	return !is_full(peer) && peer->in_used >= sizeof(*hdr) && peer->in_used >= sizeof(*hdr) + hdr->size;
}

static bool
is_received(const struct switch_peer *peer)
{
	return !is_full(peer) && peer->in_used < MAX_MESSAGE;
}

/* @return the events to watch at the peer's socket: bits of epoll(7) */
static uint32_t
switch_peer_events(const struct switch_desk *desk, const struct switch_peer *peer)
{
	return (is_received(peer) ? EPOLLIN : 0) | (due_bytes(desk, peer) != 0 ? EPOLLOUT : 0);
}

/* Answers requests, sends due replies, and checks whether the peer takes too long. */
static enum peer_outcome
switch_peer_tend(struct switch_desk *desk, struct switch_peer *peer)
{
	bool has_part;

	if (send_due(desk, peer) != PEER_STAYS || answer_all(desk, peer) != PEER_STAYS ||
	    send_due(desk, peer) != PEER_STAYS)
		return PEER_ENDS;
	has_part = peer->in_used != 0 && !is_full(peer) && !has_request(peer);
	if ((has_part && desk->now_ns - peer->received_ns > desk->config.idle_limit_ns) ||
	    (peer->since_ns != 0 && desk->now_ns - peer->since_ns > desk->config.idle_limit_ns))
		return give_up(desk);
	return PEER_STAYS;
}

/* When it wants to be tended next; UINT64_MAX: when its socket has something */
static uint64_t
switch_peer_next_ns(const struct switch_desk *desk, const struct switch_peer *peer)
{
	uint64_t due_ns = peer->nwaiting != 0 ? peer->waiting[0].due_ns : UINT64_MAX;

	if (has_request(peer))
		return desk->now_ns; /* there was no room, or no turn */
	if (peer->since_ns == 0 && due_ns != UINT64_MAX)
		return due_ns;
	return peer->in_used != 0 || peer->since_ns != 0 ? desk->now_ns + desk->config.idle_limit_ns : UINT64_MAX;
}

/* @param fd  taken over. @return NULL: out of memory */
static struct switch_peer *
switch_peer_create(struct switch_desk *desk, int fd, uint32_t device)
{
	struct switch_peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	*peer = (struct switch_peer){ .fd = fd, .device = device, .events = EPOLLIN, .received_ns = desk->now_ns };
	if (put_reply(desk, peer, answer_hello(&desk->config.devices[device], desk->reply),
		      desk->now_ns + desk->config.greeting_rtts * desk->config.rtt_ns))
		return peer;
	free(peer);
	return NULL;
}

static void
switch_peer_destroy(struct switch_peer *peer)
{
	close(peer->fd);
	free(peer->in);
	free(peer->out);
	free(peer);
}
