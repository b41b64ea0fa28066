/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/stall_timer.h"

/* The thread looks for work so often. */
#define NAP_NS 5000000ULL
#define NS_PER_S 1000000000ULL
/* Bytes that are written at once, without being gathered any further. */
#define CHUNK_BYTES (64u << 10)
#define POLL_MS 50
#define WAIT_NAP_NS 1000000ULL
/* The thread ends within POLL_MS, or it hangs. */
#define END_NS 2000000000ULL

/* Bytes up to here are measured since then. */
struct mark {
	uint64_t end_bytes, since_ns;
};

struct spool {
	struct spool_config config;
	uint8_t *ring;                    /* [cap_bytes]; positions count on and are taken modulo that */
	uint64_t put_bytes;               /* the filler's own: not all of it is committed */
	_Atomic uint64_t committed_bytes; /* written by the filler */
	_Atomic uint64_t flush_bytes;     /* written by the filler: to be written up to here at once */
	_Atomic bool closing;             /* written by the filler: the thread is to end */
	_Atomic uint64_t free_bytes;      /* written by the thread: up to here the filler may write again */
	_Atomic uint64_t taken_bytes;     /* written by the thread: up to here the other end has it */
	_Atomic bool ended;               /* written by the thread: it touches nothing any more */
	_Atomic int error;                /* the first of either stays */
	struct mark *marks;               /* [SPOOL_MARKS], a ring as above, or NULL: none was set */
	_Atomic uint64_t marked;          /* written by the filler */
	_Atomic uint64_t measured;        /* written by the thread */
	struct delays delays;             /* the thread's, before it stores taken_bytes */
	sem_t woken;                      /* posted by the filler */
	pthread_t thread;
};

static void
fail(struct spool *spool, int error)
{
	int none = 0;

	atomic_compare_exchange_strong(&spool->error, &none, error);
}

int
spool_errno(const struct spool *spool)
{
	return atomic_load_explicit(&spool->error, memory_order_acquire);
}

static bool
over(const struct spool *spool)
{
	return spool_errno(spool) != 0 || atomic_load_explicit(&spool->closing, memory_order_acquire);
}

/* Describes the bytes of the ring between two positions. @return 1 part, or 2 if they wrap around */
static int
parts_of(const struct spool *spool, uint64_t from, uint64_t to, struct iovec parts[2])
{
	size_t at = from % spool->config.cap_bytes, size = to - from, first = spool->config.cap_bytes - at;

	parts[0] = (struct iovec){ spool->ring + at, size < first ? size : first };
	parts[1] = (struct iovec){ spool->ring, size - parts[0].iov_len };
	return parts[1].iov_len != 0 ? 2 : 1;
}

/* @return bytes taken, 0: none at the moment, -1 with errno */
static ssize_t
write_some(const struct spool *spool, uint64_t from, uint64_t to)
{
	struct pollfd writable = { .fd = spool->config.fd, .events = POLLOUT };
	struct iovec parts[2];
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = (size_t)parts_of(spool, from, to, parts) };
	ssize_t done = spool->config.socket ? sendmsg(spool->config.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
					    : writev(spool->config.fd, parts, (int)message.msg_iovlen);

	if (done >= 0 || (errno != EAGAIN && errno != EINTR))
		return done;
	poll(&writable, 1, POLL_MS);
	return 0;
}

/* Notes the delays of all marks up to what the other end has. */
static void
measure(struct spool *spool, uint64_t taken_bytes)
{
	uint64_t end = atomic_load_explicit(&spool->marked, memory_order_acquire),
		 at = atomic_load_explicit(&spool->measured, memory_order_relaxed), now_ns;

	if (at == end)
		return;
	now_ns = clock_now_ns();
	for (; at < end && spool->marks[at % SPOOL_MARKS].end_bytes <= taken_bytes; at++) {
		uint64_t since_ns = spool->marks[at % SPOOL_MARKS].since_ns;

		delays_note(&spool->delays, now_ns > since_ns ? now_ns - since_ns : 0);
	}
	atomic_store_explicit(&spool->measured, at, memory_order_release);
}

/* All of [from, to), which ends with a whole. A file that takes only some of it is truncated to its last whole. */
static void
write_all(struct spool *spool, uint64_t from, uint64_t to)
{
	uint64_t at = from;

	while (at < to && !over(spool)) {
		ssize_t done = write_some(spool, at, to);

		if (done < 0)
			fail(spool, errno);
		else
			at += (size_t)done;
		measure(spool, at);
		atomic_store_explicit(&spool->taken_bytes, at, memory_order_release);
	}
	if (at < to && at > from && !spool->config.socket && ftruncate(spool->config.fd, (off_t)from) < 0)
		fail(spool, errno);
	atomic_store_explicit(&spool->free_bytes, to, memory_order_release);
}

/* Until then, or until it is woken. */
static void
nap(struct spool *spool, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S) };

	sem_clockwait(&spool->woken, CLOCK_MONOTONIC, &until);
}

static void *
empty(void *arg)
{
	struct spool *spool = arg;
	uint64_t written = 0, due_ns = 0;

	while (!over(spool)) {
		uint64_t to = atomic_load_explicit(&spool->committed_bytes, memory_order_acquire), now_ns = clock_now_ns();

		if (to == written)
			due_ns = now_ns + SPOOL_GATHER_NS;
		if (to - written >= CHUNK_BYTES || (to != written && now_ns >= due_ns) ||
		    written < atomic_load_explicit(&spool->flush_bytes, memory_order_acquire)) {
			write_all(spool, written, to);
			written = to;
		} else {
			nap(spool, now_ns + NAP_NS);
		}
	}
	atomic_store_explicit(&spool->ended, true, memory_order_release);
	return NULL;
}

/* Signals are for others. @return 0 or an errno */
static int
start(struct spool *spool)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&spool->thread, NULL, empty, spool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct spool *
spool_create(const struct spool_config *config, const char *what, struct err *err)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int flags = fcntl(config->fd, F_GETFL), error = ENOMEM;

	if (spool == NULL)
		goto fail;
	spool->config = *config;
	sem_init(&spool->woken, 0, 0);
	spool->ring = malloc(config->cap_bytes);
	if (spool->ring == NULL)
		goto fail;
	error = 0;
	/* A pipe would hold the thread as a socket does; a regular file takes no notice. */
	if (flags < 0 || fcntl(config->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		error = errno;
	if (error == 0)
		error = start(spool);
	if (error == 0)
		return spool;
	free(spool->ring);
fail:
	err_set(err, -error, "%s: no buffer of %zu B, or no thread for it: %s", what, config->cap_bytes, strerror(error));
	free(spool);
	errno = error;
	return NULL;
}

size_t
spool_room(const struct spool *spool)
{
	uint64_t free_bytes = atomic_load_explicit(&spool->free_bytes, memory_order_acquire);

	return spool->config.cap_bytes - (size_t)(spool->put_bytes - free_bytes);
}

void
spool_put(struct spool *spool, const void *data, size_t size_bytes)
{
	struct iovec parts[2];

	if (size_bytes == 0)
		return;
	assert(size_bytes <= spool_room(spool));
	parts_of(spool, spool->put_bytes, spool->put_bytes + size_bytes, parts);
	memcpy(parts[0].iov_base, data, parts[0].iov_len);
	memcpy(parts[1].iov_base, (const uint8_t *)data + parts[0].iov_len, parts[1].iov_len);
	spool->put_bytes += size_bytes;
}

void
spool_commit(struct spool *spool)
{
	/* Release: the thread sees the bytes. */
	atomic_store_explicit(&spool->committed_bytes, spool->put_bytes, memory_order_release);
}

void
spool_mark(struct spool *spool, uint64_t since_ns)
{
	uint64_t at = atomic_load_explicit(&spool->marked, memory_order_relaxed);

	if (spool->marks == NULL)
		spool->marks = malloc(SPOOL_MARKS * sizeof(*spool->marks));
	if (spool->marks == NULL || at - atomic_load_explicit(&spool->measured, memory_order_acquire) == SPOOL_MARKS)
		return;
	spool->marks[at % SPOOL_MARKS] = (struct mark){ spool->put_bytes, since_ns };
	/* Release: the thread sees the mark. Its bytes are not committed yet, so it sees it before it writes them. */
	atomic_store_explicit(&spool->marked, at + 1, memory_order_release);
}

const struct delays *
spool_delays(const struct spool *spool)
{
	return &spool->delays;
}

void
spool_flush(struct spool *spool)
{
	uint64_t committed = atomic_load_explicit(&spool->committed_bytes, memory_order_relaxed);

	atomic_store_explicit(&spool->flush_bytes, committed, memory_order_release);
}

void
spool_wake(struct spool *spool)
{
	spool_flush(spool);
	sem_post(&spool->woken);
}

int
spool_wait(struct spool *spool, size_t size_bytes, uint64_t give_up_ns, const struct spool_waiter *waiter)
{
	uint64_t taken = atomic_load_explicit(&spool->taken_bytes, memory_order_acquire);
	struct stall_timer stall_timer = { 0 };

	spool_flush(spool);
	while (spool_errno(spool) == 0 && spool_room(spool) < size_bytes) {
		uint64_t now_ns = clock_now_ns(),
			 now_taken = atomic_load_explicit(&spool->taken_bytes, memory_order_acquire);
		uint64_t limit_ns = waiter->hurried != NULL && waiter->hurried() ? give_up_ns / 10 : give_up_ns;

		if (now_taken != taken)
			stall_timer_renew(&stall_timer);
		taken = now_taken;
		if (waiter->meanwhile != NULL)
			waiter->meanwhile(waiter->ctx);
		if (stall_timer_look(&stall_timer, now_ns) >= limit_ns)
			fail(spool, ETIMEDOUT);
		clock_sleep_until_ns(now_ns + WAIT_NAP_NS);
	}
	return spool_errno(spool);
}

int
spool_close(struct spool *spool)
{
	uint64_t deadline_ns = clock_now_ns() + END_NS;
	int error;

	atomic_store_explicit(&spool->closing, true, memory_order_release);
	while (!atomic_load_explicit(&spool->ended, memory_order_acquire) && clock_now_ns() < deadline_ns)
		clock_sleep_until_ns(clock_now_ns() + WAIT_NAP_NS);
	error = spool_errno(spool);
	if (!atomic_load_explicit(&spool->ended, memory_order_acquire)) {
		pthread_detach(spool->thread);
		return error;
	}
	pthread_join(spool->thread, NULL);
	sem_destroy(&spool->woken);
	free(spool->marks);
	free(spool->ring);
	free(spool);
	return error;
}
