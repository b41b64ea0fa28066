/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

#define MAX_MESSAGE (sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST)
#define WAIT_MS 200 /* between checks for peers that take too long */

struct peer {
	int fd;            /* -1: none */
	uint64_t since_ns; /* it last moved on: a whole request, a whole reply */
	uint32_t used;
	_Alignas(8) uint8_t in[MAX_MESSAGE];
	uint8_t *out; /* unsent rest of a reply, NULL: nothing */
	size_t out_at, out_size;
};

struct server {
	const struct serve_config *config;
	struct serve_counts *counts;
	struct peer *peers; /* [SERVE_MAX_PEERS] */
	bool is_short;      /* out of descriptors: pending connections wait until the next check */
};

static void
drop(struct peer *peer)
{
	close(peer->fd);
	free(peer->out);
	peer->fd = -1;
	peer->out = NULL;
	peer->used = 0;
}

/* ---- replies ---- */

static void
send_rest(struct server *s, struct peer *peer)
{
	ssize_t sent = send(peer->fd, peer->out + peer->out_at, peer->out_size - peer->out_at, MSG_NOSIGNAL);

	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			s->counts->gave_up++;
			drop(peer);
		}
		return;
	}
	peer->out_at += (size_t)sent;
	if (peer->out_at < peer->out_size)
		return;
	free(peer->out);
	peer->out = NULL;
	peer->since_ns = clock_now_ns();
}

/* @return whether the peer is still there */
static bool
reply(struct server *s, struct peer *peer, size_t size)
{
	struct controller_reply made = controller_handle(s->config->controller, peer->in, size, s->config->now_ps());
	const struct pingmesh_hdr *hdr = made.bytes;

	s->counts->requests++;
	s->counts->refused += hdr->type == PINGMESH_REFUSED;
	peer->used -= (uint32_t)size;
	memmove(peer->in, peer->in + size, peer->used);
	peer->out = malloc(made.size);
	if (peer->out == NULL) {
		s->counts->gave_up++;
		drop(peer);
		return false;
	}
	memcpy(peer->out, made.bytes, made.size);
	peer->out_at = 0;
	peer->out_size = made.size;
	send_rest(s, peer);
	return peer->fd >= 0;
}

/* ---- requests ---- */

/* Whole requests, as long as replies are taken. */
static void
take_requests(struct server *s, struct peer *peer)
{
	while (peer->out == NULL && peer->used >= sizeof(struct pingmesh_hdr)) {
		const struct pingmesh_hdr *hdr = (const void *)peer->in;

		if (hdr->magic != PINGMESH_MAGIC || hdr->size > PINGMESH_MAX_REQUEST) {
			s->counts->malformed++; /* the start of the next one is unknown */
			drop(peer);
			return;
		}
		if (peer->used < sizeof(*hdr) + hdr->size || !reply(s, peer, sizeof(*hdr) + hdr->size))
			return;
	}
}

static void
receive(struct server *s, struct peer *peer)
{
	ssize_t got = recv(peer->fd, peer->in + peer->used, sizeof(peer->in) - peer->used, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		s->counts->gave_up += peer->used != 0;
		drop(peer);
		return;
	}
	peer->used += (uint32_t)got;
	take_requests(s, peer);
}

static void
serve_peer(struct server *s, struct peer *peer, short events)
{
	if (peer->out != NULL) {
		if ((events & (POLLOUT | POLLERR | POLLHUP)) != 0)
			send_rest(s, peer);
		if (peer->fd >= 0)
			take_requests(s, peer);
	} else if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) {
		receive(s, peer);
	}
}

/* ---- peers ---- */

static void
accept_peers(struct server *s)
{
	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		int fd = accept4(s->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct peer *peer = s->peers;

		s->is_short = fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
		if (fd < 0)
			return;
		while (peer < s->peers + SERVE_MAX_PEERS && peer->fd >= 0)
			peer++;
		if (peer == s->peers + SERVE_MAX_PEERS) {
			s->counts->turned_away++;
			close(fd);
			continue;
		}
		s->counts->peers++;
		peer->fd = fd;
		peer->since_ns = clock_now_ns();
	}
}

static void
drop_slow(struct server *s)
{
	uint64_t now_ns = clock_now_ns();

	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->fd < 0 || now_ns - peer->since_ns <= s->config->idle_limit_ms * UINT64_C(1000000))
			continue;
		s->counts->gave_up += peer->used != 0 || peer->out != NULL;
		drop(peer);
	}
}

/* The listening socket and all peers; no more than there are descriptors, which is as many as poll(2) takes. */
static uint32_t
list_fds(const struct server *s, struct pollfd fds[1 + SERVE_MAX_PEERS], struct peer *of[1 + SERVE_MAX_PEERS])
{
	uint32_t count = 1;

	fds[0] = (struct pollfd){ .fd = s->config->listener, .events = s->is_short ? 0 : POLLIN };
	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->fd < 0)
			continue;
		of[count] = peer;
		fds[count++] = (struct pollfd){ .fd = peer->fd, .events = peer->out != NULL ? POLLOUT : POLLIN };
	}
	return count;
}

static int
wait_and_serve(struct server *s, struct err *err)
{
	const struct timespec timeout = { .tv_nsec = WAIT_MS * 1000000L };
	struct pollfd fds[1 + SERVE_MAX_PEERS];
	struct peer *of[1 + SERVE_MAX_PEERS];
	uint32_t count = list_fds(s, fds, of);

	if (ppoll(fds, count, &timeout, s->config->waiting) < 0)
		return errno == EINTR ? 0 : err_set(err, -errno, "poll: %s", strerror(errno));
	s->is_short = false;
	if ((fds[0].revents & (POLLERR | POLLNVAL)) != 0)
		return err_set(err, -EIO, "the controller's socket is closed");
	for (uint32_t i = 1; i < count; i++)
		if (fds[i].revents != 0)
			serve_peer(s, of[i], fds[i].revents);
	if (fds[0].revents != 0)
		accept_peers(s);
	drop_slow(s);
	return 0;
}

int
serve(const struct serve_config *config, struct serve_counts *counts, struct err *err)
{
	struct server s = { .config = config, .counts = counts, .peers = calloc(SERVE_MAX_PEERS, sizeof(*s.peers)) };
	int rc = s.peers != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u peers", SERVE_MAX_PEERS);

	*counts = (struct serve_counts){ 0 };
	for (uint32_t i = 0; i < SERVE_MAX_PEERS && rc == 0; i++)
		s.peers[i].fd = -1;
	if (rc == 0 && fcntl(config->listener, F_SETFL, fcntl(config->listener, F_GETFL) | O_NONBLOCK) < 0)
		rc = err_set(err, -errno, "fcntl: %s", strerror(errno));
	while (rc == 0 && !config->is_over())
		rc = wait_and_serve(&s, err);
	for (uint32_t i = 0; s.peers != NULL && i < SERVE_MAX_PEERS; i++)
		if (s.peers[i].fd >= 0)
			drop(&s.peers[i]);
	free(s.peers);
	return rc;
}
