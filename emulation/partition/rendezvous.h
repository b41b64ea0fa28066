/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before a run a fabric is divided among partitions, which connect: each listens, and connects to those before it; both
 * identify themselves and the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/unix_socket.h"
#include "common/wire/partition.h"

/*
 * Messages of common/wire/partition.h to one other partition and from it, over a transport that keeps their order. What
 * the transport does not take at once is kept, up to a bound.
 */

/* The bytes that a peer may leave unread before it is given up. */
#define CHANNEL_OUT_BYTES (64u * 1024 * 1024)

struct channel;

struct rendezvous {
	uint32_t partition, partitions;
	const char *const *addresses; /* [partitions] */
	const struct partition_hello *hello;
	uint64_t timeout_ns;
	/* The name of a partition, for people. */
	void (*name)(void *ctx, uint32_t partition, char buf[160]);
	void *ctx;
	uint32_t lcores; /* of this partition, which wait for others by polling */
};

/* How partitions find each other, and how bytes reach one. No call waits, except for rendezvous and sleep. */
struct transport {
	/*
	 * All of a run connect, and identify themselves.
	 * @param channels  [partitions] set to those to the others, as far as they connected, also where it fails
	 * @param pids      [partitions] set: the others' processes on this machine; 0: not known
	 * @return 0, or with err set: -EINVAL (another scenario, version, division, token, or an address that cannot be
	 *         had), -ETIMEDOUT with the names of those that did not connect, -EMFILE or -ENFILE where no more can be
	 *         accepted, -EINTR
	 */
	int (*rendezvous)(const struct rendezvous *rendezvous, struct channel *channels, pid_t *pids, struct err *err);
	/* Takes bytes of channel->out, as many as leave now. */
	void (*flush)(struct channel *channel);
	/* Appends the bytes that have arrived (channel_append()), or sets channel->ended. @return whether any have */
	bool (*read)(struct channel *channel);
	/* Everything has left, and nothing follows: the other end reads channel->ended. */
	void (*shut)(struct channel *channel);
	void (*close)(struct channel *channel);
	/* Until a message arrives on one of [count] open channels, one takes what waits, or a time of clock_now_ns(). */
	void (*sleep)(struct channel *const *channels, uint32_t count, uint64_t until_ns);
	/* The other program is stopped, or hangs: ends it, where it is on this machine. NULL: that is not its task */
	void (*kill)(struct channel *channel);
	/* All channels are closed. @param lost  a partition is gone: nothing waits for it. NULL: nothing to do */
	void (*end)(bool lost);
};

/* Non-blocking stream sockets: unix, TCP. */
extern const struct transport transport_stream;

struct channel {
	const struct transport *transport; /* NULL: closed */
	int fd;                            /* transport_stream's; -1: closed, or another transport */
	void *state;                       /* of other transports */
	uint8_t *in;
	size_t in_head, in_used, in_cap; /* [in_head, in_used) waits to be taken */
	uint8_t *out;
	size_t out_head, out_used, out_cap;
	size_t leaving_bytes; /* taken from out, and not yet out of this program */
	bool ended;           /* the other end has closed; messages that it had sent can still be taken */
	bool shut;            /* this end sends no more */
	int error;            /* errno of a read or write; ENOBUFS: it left too much unread */
};

struct channel_message {
	enum partition_type type;
	uint32_t size;
	const uint8_t *body; /* until the next channel_take() or channel_read() */
};

/* Takes a connected descriptor over. @return 0 or negative errno, with the descriptor closed */
int channel_init(struct channel *channel, int fd);
void channel_fini(struct channel *channel);

/*
 * Appends a message whose body the caller writes before anything else. Nothing leaves until channel_flush().
 * @return the body, [size] of any alignment; NULL: the channel is closed, or has failed
 */
uint8_t *channel_place(struct channel *channel, enum partition_type type, size_t size);
/* Appends a message of up to two buffers. */
void channel_put(struct channel *channel, enum partition_type type, const void *body, size_t size, const void *more,
		 size_t more_size);
/* Writes the bytes that the socket takes. */
void channel_flush(struct channel *channel);
/*
 * Ends sending, once all has been written. A program that closes a TCP connection with unread bytes resets it (RFC
 * 1122, 4.2.2.13), and what the other end has not received is lost: shut it down first, and read until the other end
 * has done so, too.
 */
void channel_shut(struct channel *channel);
/* Reads what is there. @return whether anything arrived */
bool channel_read(struct channel *channel);
/* For transports: bytes that have arrived. */
void channel_append(struct channel *channel, const void *data, size_t size);
/* @return 1 with the next whole message; 0: none yet; -EPROTO with err set: it is no message */
int channel_take(struct channel *channel, struct channel_message *message, struct err *err);

/* @return the meaning of channel->error, for people */
const char *channel_flaw(const struct channel *channel);

/*
 * @return the type of the message that is arriving, from its header; PARTITION_NONE: there is none, or its header is
 *         incomplete
 */
enum partition_type channel_incoming(const struct channel *channel);

static inline bool
channel_is_open(const struct channel *channel)
{
	return channel->transport != NULL;
}

/* The bytes that have not left. */
static inline size_t
channel_left_bytes(const struct channel *channel)
{
	return channel->out_used - channel->out_head + channel->leaving_bytes;
}

static inline bool
channel_waits(const struct channel *channel)
{
	return channel_left_bytes(channel) != 0;
}

/* The reason why a peer is not of this run, for people; NULL: it is. */
const char *rendezvous_flaw(const struct partition_hello *ours, const struct partition_hello *theirs);

/* The address at which a partition listens: the path of a unix socket (it has a '/'), or HOST:PORT. */

/* Whether only this machine's users can connect: unix, or 127.0.0.1, ::1, localhost. */
bool address_is_local(const char *address);
/* @return 0; -EINVAL with err set: it is no address */
int address_check(const char *address, struct err *err);
/*
 * @param backlog   that may connect at once
 * @param listener  set: its fd listens; a path is its own, of HOST:PORT there is no lock
 * @return 0 or negative errno with err set
 */
int address_listen(struct unix_listener *listener, const char *address, int backlog, struct err *err);
/*
 * Tries all addresses that a name has once, and waits for ADDRESS_TRY_NS at most for each.
 * @return descriptor, closed on exec; or negative errno with err set: nothing listens there
 */
#define ADDRESS_TRY_NS 500000000
int address_connect(const char *address, struct err *err);
/* Closes a listener, and removes its path. */
void address_close(const char *address, struct unix_listener *listener);

/*
 * Which partition of a fabric runs which node. Every partition computes it for itself, from the same scenario, with
 * the same result: the partitions compare a digest of it in the handshake.
 */

struct scenario;
struct topo;

/*
 * Switches by the scenario's partitions groups, or, where there are none, by METIS: work (a switch's ports, twice those of
 * its hosts) evenly, with few boundary cables. A host is where the switch of its first port is, unless a group names
 * it.
 * @param partitions  2 to PARTITION_MAX
 * @param partition   set, [topo->nnodes]
 * @return 0, or negative errno with err set
 */
int division_make(const struct scenario *scenario, uint32_t partitions, uint32_t *partition, struct err *err);

/* "partition 1 (b, h2 and 1 more)", for people. @param buf  of DIVISION_NAME bytes. @return buf */
#define DIVISION_NAME 160
char *division_name(const struct topo *topo, const uint32_t *partition, uint32_t which, char *buf);
