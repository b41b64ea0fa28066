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
#include "dpswitch/control/switch_peer.h"

#define BACKLOG 128
#define MAX_EVENTS 64

struct door {
	struct unix_listener listener;
};

struct switch_sockets {
	struct switch_desk desk;
	struct door *doors;         /* [ndevices] */
	struct switch_peer **peers; /* [SWITCH_SOCKETS_MAX_PEERS], npeers of them */
	uint32_t npeers;
	uint32_t turn_at; /* whose requests ended the last turn: the peers before it are next */
	int epoll;
};

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

/* One that has had nothing to say for long makes room for another. @return whether there is room */
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

static void
greet(struct switch_sockets *s, uint32_t device)
{
	for (uint32_t i = 0; i < BACKLOG; i++) {
		int fd = accept4(s->doors[device].listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct switch_peer *peer = fd >= 0 && has_room(s) ? switch_peer_create(&s->desk, fd, device) : NULL;
		struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)(uintptr_t)peer };

		if (fd < 0)
			return;
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
	for (uint32_t i = 0; i < s->npeers && wait_ns != 0; i++) {
		uint64_t next_ns = switch_peer_next_ns(&s->desk, s->peers[i]);

		wait_ns = min_u64(wait_ns, next_ns > s->desk.now_ns ? next_ns - s->desk.now_ns : 0);
	}
	return wait_ns;
}

/* A peer has one event at most, and goes by its own alone. */
static void
hear(struct switch_sockets *s, const struct epoll_event *event)
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
	wait_ns = wait_of(s, wait_ns);
	timeout = (struct timespec){ (time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000) };
	count = epoll_pwait2(s->epoll, events, MAX_EVENTS, &timeout, NULL);
	s->desk.now_ns = clock_now_ns();
	s->desk.turn_end_ns = turn_ns != UINT64_MAX ? s->desk.now_ns + turn_ns : UINT64_MAX;
	s->desk.answered = 0;
	for (int i = 0; i < count; i++)
		if (!is_door(s, &events[i]))
			hear(s, &events[i]);
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

	if (s != NULL) {
		s->desk.config = *config;
		s->epoll = epoll_create1(EPOLL_CLOEXEC);
		s->doors = calloc(config->ndevices + 1u, sizeof(*s->doors));
		s->peers = calloc(SWITCH_SOCKETS_MAX_PEERS, sizeof(struct switch_peer *));
	}
	if (s == NULL || s->epoll < 0 || s->doors == NULL || s->peers == NULL)
		ret = err_set(err, -ENOMEM, "no memory for management sockets");
	if (s != NULL && s->desk.config.idle_limit_ns == 0)
		s->desk.config.idle_limit_ns = SWITCH_SOCKETS_TIMEOUT_NS;
	raise_limit();
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
