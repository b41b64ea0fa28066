/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/counting/series.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/unix_socket.h"
#include "store/store.h"

#define SEND_LIMIT_S 5  /* for a reader that does not read */
#define SHORTAGE_MS 100 /* without descriptors, readers wait so long for the next try */

struct live_counters {
	struct unix_listener listener;
	pthread_t thread;
	bool started;
	int stop;            /* eventfd: the run is over */
	atomic_bool asked;   /* set by the listening thread (release), cleared by the one that collects */
	atomic_bool closing; /* written by the owner, read by the listening thread */
	sem_t written;       /* the snapshot is the listening thread's again */
	struct snapshot snapshot;
};

/* Sends all that was written. A reader that has gone is no error. */
static void
send_all(const struct snapshot *snapshot, int fd)
{
	const struct timeval limit = { .tv_sec = SEND_LIMIT_S };
	size_t sent = 0;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	while (snapshot->error == 0 && sent < snapshot->size) {
		ssize_t n = send(fd, snapshot->bytes + sent, snapshot->size - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
}

static void *
serve(void *arg)
{
	struct live_counters *live = arg;
	struct pollfd fds[] = { { live->listener.fd, POLLIN, 0 }, { live->stop, POLLIN, 0 } };

	/* The last post of written comes after closing: the thread that took it waits for no other. */
	while (!atomic_load(&live->closing) && poll(fds, 2, -1) > 0 && fds[1].revents == 0) {
		int fd = accept4(live->listener.fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			poll(&fds[1], 1, SHORTAGE_MS);
			continue;
		}
		atomic_store_explicit(&live->asked, true, memory_order_release);
		while (sem_wait(&live->written) < 0)
			;
		if (!atomic_load(&live->closing))
			send_all(&live->snapshot, fd);
		close(fd);
	}
	return NULL;
}

/* @return 0 or an errno */
static int
start(struct live_counters *live)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&live->thread, NULL, serve, live);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	live->started = error == 0;
	return error;
}

struct live_counters *
live_counters_create(const char *dir)
{
	struct live_counters *live = calloc(1, sizeof(*live));
	struct err err = { 0 };
	char path[UNIX_LISTEN_BYTES];

	if (live == NULL)
		return NULL;
	live->listener = (struct unix_listener){ .fd = -1, .lock = -1 };
	sem_init(&live->written, 0, 0);
	live->stop = eventfd(0, EFD_CLOEXEC);
	if (snprintf(path, sizeof(path), "%s/" RUN_LIVE, dir) >= (int)sizeof(path))
		err_set(&err, -ENAMETOOLONG, "%s: too long a path for a socket", dir);
	else if (live->stop >= 0 && unix_listen(&live->listener, path, &err) == 0 && start(live) == 0)
		return live;
	log_debug("rocelab show --live cannot ask this run: %s", err.text);
	live_counters_destroy(live);
	return NULL;
}

void
live_counters_destroy(struct live_counters *live)
{
	const uint64_t one = 1;

	if (live == NULL)
		return;
	atomic_store(&live->closing, true);
	if (live->started) {
		sem_post(&live->written); /* who waits for a snapshot gets none */
		if (write(live->stop, &one, sizeof(one)) == sizeof(one))
			pthread_join(live->thread, NULL);
	}
	unix_listener_close(&live->listener);
	if (live->stop >= 0)
		close(live->stop);
	sem_destroy(&live->written);
	snapshot_fini(&live->snapshot);
	free(live);
}

struct snapshot *
live_counters_asked(struct live_counters *live)
{
	if (live == NULL || !atomic_load_explicit(&live->asked, memory_order_acquire))
		return NULL;
	atomic_store_explicit(&live->asked, false, memory_order_relaxed);
	return &live->snapshot;
}

void
live_counters_answer(struct live_counters *live)
{
	sem_post(&live->written);
}
