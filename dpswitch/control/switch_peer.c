/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/switch_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/minmax.h"

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

bool
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
			desk->counts.malformed++; /* nobody knows where the next one begins */
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
	if (at != 0) /* of a peer that has said nothing yet there is no memory */
		memmove(peer->in, peer->in + at, peer->in_used);
	return PEER_STAYS;
}

enum peer_outcome
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

uint32_t
switch_peer_events(const struct switch_desk *desk, const struct switch_peer *peer)
{
	return (is_received(peer) ? EPOLLIN : 0) | (due_bytes(desk, peer) != 0 ? EPOLLOUT : 0);
}

enum peer_outcome
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

uint64_t
switch_peer_next_ns(const struct switch_desk *desk, const struct switch_peer *peer)
{
	uint64_t due_ns = peer->nwaiting != 0 ? peer->waiting[0].due_ns : UINT64_MAX;

	if (has_request(peer))
		return desk->now_ns; /* there was no room, or no turn */
	if (peer->since_ns == 0 && due_ns != UINT64_MAX)
		return due_ns;
	return peer->in_used != 0 || peer->since_ns != 0 ? desk->now_ns + desk->config.idle_limit_ns : UINT64_MAX;
}

struct switch_peer *
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

void
switch_peer_destroy(struct switch_peer *peer)
{
	close(peer->fd);
	free(peer->in);
	free(peer->out);
	free(peer);
}
