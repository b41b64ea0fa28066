/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/interrupt.h"
#include "common/record/check.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/unix_socket.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"

int
source_open_file(const char *path, struct err *err)
{
	return input_open(path, err);
}

const void *
source_map(const char *path, size_t *size_bytes, struct err *err)
{
	int fd = source_open_file(path, err);
	void *data = MAP_FAILED;
	off_t end;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	end = lseek(fd, 0, SEEK_END);
	if (end > 0)
		data = mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, fd, 0);
	else
		errno = EINVAL;
	if (data == MAP_FAILED)
		err_set(err, -errno, "%s: it must be a file that can be read more than once: %s", path, strerror(errno));
	close(fd);
	*size_bytes = (size_t)end;
	return data != MAP_FAILED ? data : NULL;
}

/* Closes fd and keeps the error. */
static int
fail(int fd, const char *address, const char *what, struct err *err)
{
	int code = errno;

	close(fd);
	return err_set(err, -code, "%s: %s: %s", address, what, strerror(code));
}

static int
listen_tcp(const char *address, const char *colon, struct err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	char host[256];
	int fd, rc, on = 1;

	if ((size_t)(colon - address) >= sizeof(host))
		return err_set(err, -ENAMETOOLONG, "%s: host name too long", address);
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = '\0';
	rc = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &list);
	if (rc != 0)
		return err_set(err, -EADDRNOTAVAIL, "%s: %s", address, gai_strerror(rc));
	fd = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
	if (fd < 0) {
		rc = err_set(err, -errno, "%s: socket: %s", address, strerror(errno));
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = fd;
		if (bind(fd, list->ai_addr, list->ai_addrlen) != 0)
			rc = fail(fd, address, "bind", err);
		else if (listen(fd, 1) != 0)
			rc = fail(fd, address, "listen", err);
	}
	freeaddrinfo(list);
	return rc;
}

/* @return whether a client has connected; else a signal has ended the wait */
static bool
wait_for_peer(int listener, const sigset_t *before)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };

	interrupt_catch(NULL);
	while (ppoll(&fd, 1, NULL, before) < 0)
		if (errno != EINTR || interrupt_asked())
			return errno != EINTR;
	return true;
}

int
source_accept(const char *address, sigset_t *before, struct err *err)
{
	const char *colon = strchr(address, '/') == NULL ? strrchr(address, ':') : NULL;
	struct unix_listener own = { .fd = -1, .lock = -1 };
	int listener = colon != NULL ? listen_tcp(address, colon, err) : unix_listen(&own, address, err), fd;

	interrupt_hold(before);
	if (listener < 0)
		return listener;
	if (colon == NULL)
		listener = own.fd;
	if (!wait_for_peer(listener, before)) {
		fd = err_set(err, -EINTR, "%s: interrupted before a run connected", address);
	} else {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC); /* which does not wait */
		if (fd < 0)
			fd = err_set(err, -errno, "%s: accept: %s", address, strerror(errno));
	}
	if (colon == NULL)
		unix_listener_close(&own);
	else
		close(listener);
	return fd;
}

#define READ_BYTES (256u << 10)

static int take_header(struct stream *stream, struct err *err);
static int take_held(struct stream *stream, struct err *err);
static int wanted_bytes(const struct stream *stream, uint32_t *want_bytes, struct err *err);

void
stream_init(struct stream *stream, struct evidence *ev)
{
	*stream = (struct stream){ .ev = ev };
}

void
stream_fini(struct stream *stream)
{
	record_check_destroy(stream->check);
	stream->check = NULL;
}

int
stream_feed(struct stream *stream, const void *data, size_t size_bytes, struct err *err)
{
	const uint8_t *p = data;

	while (size_bytes > 0) {
		uint32_t want = 0, take;
		int rc = wanted_bytes(stream, &want, err);

		assert(rc == 0); /* what is held was wanted */
		take = want - stream->held_bytes;
		if (take > size_bytes)
			take = (uint32_t)size_bytes;
		memcpy(stream->held + stream->held_bytes, p, take);
		stream->held_bytes += take;
		p += take;
		size_bytes -= take;
		if (stream->held_bytes < want)
			continue;
		/* With the header of a record complete, its size is known: compute the need again before taking it. */
		rc = wanted_bytes(stream, &want, err);
		if (rc != 0)
			return rc;
		if (stream->held_bytes < want)
			continue;
		rc = take_held(stream, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
stream_finish(struct stream *stream, struct err *err)
{
	struct err why = { 0 };

	if (!stream->opened)
		return err_set(err, -EINVAL,
			       "the record stream ends after %u B, within its own header: nothing was recorded",
			       stream->held_bytes);
	stream->ev->torn_bytes = stream->held_bytes;
	if (record_check_finish(stream->check, &why) != 0)
		return err_set(err, -EINVAL, "record stream of %" PRIu64 " B: %.600s",
			       stream->offset_bytes + stream->held_bytes, why.text);
	return evidence_finish(stream->ev, err);
}

int
stream_read_fd(int fd, struct evidence *ev, FILE *arrivals, struct err *err)
{
	struct stream stream;
	uint64_t end_bytes = 0, read_ns;
	uint8_t *buf = malloc(READ_BYTES);
	int rc = 0;

	if (buf == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u B of read buffer", READ_BYTES);
	stream_init(&stream, ev);
	for (;;) {
		ssize_t got = read(fd, buf, READ_BYTES);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0 || (got < 0 && errno == ECONNRESET))
			break;
		if (got < 0) {
			rc = err_set(err, -errno, "reading the record stream: %s", strerror(errno));
			break;
		}
		read_ns = clock_now_ns();
		rc = stream_feed(&stream, buf, (size_t)got, err);
		if (rc != 0)
			break;
		end_bytes += (uint64_t)got;
		if (arrivals != NULL)
			fprintf(arrivals, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", end_bytes, read_ns, clock_now_ns());
	}
	free(buf);
	if (rc == 0)
		rc = stream_finish(&stream, err);
	stream_fini(&stream);
	return rc;
}

/* The number of bytes that must be held before anything can be decided. */
static int
wanted_bytes(const struct stream *stream, uint32_t *want_bytes, struct err *err)
{
	struct rec_hdr hdr;
	size_t size;

	if (!stream->opened) {
		*want_bytes = sizeof(struct rec_stream);
		return 0;
	}
	if (stream->held_bytes < sizeof(hdr)) {
		*want_bytes = sizeof(hdr);
		return 0;
	}
	memcpy(&hdr, stream->held, sizeof(hdr));
	if (hdr.type == REC_FRAME && hdr.size > sizeof(hdr) && hdr.size <= REC_FRAME_MAX_BYTES) {
		*want_bytes = hdr.size;
		return 0;
	}
	if (hdr.type == REC_FRAME)
		return err_set(err, -EPROTO, "record stream, byte %" PRIu64 ": a frame of %u B; right would be %zu to %u",
			       stream->offset_bytes, hdr.size, sizeof(hdr) + 1, REC_FRAME_MAX_BYTES);
	size = record_size(hdr.type);
	if (size == 0)
		return err_set(err, -EPROTO, "record stream, byte %" PRIu64 ": unknown record type %u",
			       stream->offset_bytes, hdr.type);
	if (hdr.size != size)
		return err_set(err, -EPROTO, "record stream, byte %" PRIu64 ": %s (type %u) has %u B, not %zu B",
			       stream->offset_bytes, record_kinds[hdr.type].name, hdr.type, hdr.size, size);
	*want_bytes = hdr.size;
	return 0;
}

static int
take_header(struct stream *stream, struct err *err)
{
	struct rec_stream hdr;

	memcpy(&hdr, stream->held, sizeof(hdr));
	if (hdr.magic != REC_MAGIC)
		return err_set(err, -EPROTO, "not a record stream: magic %#" PRIx64 ", expected %#" PRIx64, hdr.magic,
			       (uint64_t)REC_MAGIC);
	if (hdr.version != REC_VERSION)
		return err_set(err, -EPROTO, "record stream of version %u, this analyzer reads version %u", hdr.version,
			       REC_VERSION);
	if (hdr.size != sizeof(hdr))
		return err_set(err, -EPROTO, "record stream with a header of %u B, expected %zu B", hdr.size, sizeof(hdr));
	stream->check = record_check_create();
	if (stream->check == NULL)
		return err_set(err, -ENOMEM, "out of memory for the checks of a record stream");
	stream->opened = true;
	stream->offset_bytes = sizeof(hdr);
	stream->held_bytes = 0;
	return 0;
}

/* The error of a record and its place; kept of the first that is left out, err of one that refuses the stream. */
static int
refuse(struct stream *stream, const struct rec_hdr *rec, struct err *err)
{
	struct evidence *ev = stream->ev;
	bool fatal = record_is_header(rec->type) || ev->ended;

	err_set(fatal ? err : &ev->left_out_why, 0, "record stream, byte %" PRIu64 ": %.600s", stream->offset_bytes,
		stream->why.text);
	stream->why.text[0] = '\0';
	if (fatal)
		return -EINVAL;
	if (ev->left_out++ == 0)
		ev->left_out_node = rec->node;
	return 0;
}

static int
take_record(struct stream *stream, const struct rec_hdr *rec, struct err *err)
{
	int rc = record_check(stream->check, rec, &stream->why);

	if (rc == -EINVAL)
		return refuse(stream, rec, err);
	if (rc != 0)
		return err_set(err, rc, "%s", stream->why.text);
	return evidence_add(stream->ev, rec, err);
}

static int
take_frame(struct stream *stream, struct err *err)
{
	const uint8_t *row = stream->held;
	const struct rec_hdr *rec;
	int rc, more;

	recframe_open(&stream->frame, (const struct rec_hdr *)stream->held);
	while ((more = recframe_next(&stream->frame, &rec, &stream->why)) > 0) {
		stream->ev->kind_bytes[rec->type] += (uint64_t)(stream->frame.at - row);
		row = stream->frame.at;
		rc = take_record(stream, rec, err);
		if (rc != 0)
			return rc;
	}
	if (more < 0)
		return err_set(err, more, "record stream, byte %" PRIu64 ": %.600s", stream->offset_bytes,
			       stream->why.text);
	return 0;
}

static int
take_held(struct stream *stream, struct err *err)
{
	const struct rec_hdr *hdr = (const struct rec_hdr *)stream->held;
	uint16_t type = hdr->type;
	int rc;

	if (!stream->opened)
		return take_header(stream, err);
	rc = type == REC_FRAME ? take_frame(stream, err) : take_record(stream, hdr, err);
	if (rc != 0)
		return rc;
	if (type == REC_FRAME)
		type = stream->frame.last.type;
	else
		stream->ev->kind_bytes[type] += stream->held_bytes;
	stream->ev->bytes += stream->held_bytes;
	stream->ev->telemetry_bytes += record_is(type, REC_TELEMETRY) ? stream->held_bytes : 0;
	stream->offset_bytes += stream->held_bytes;
	stream->held_bytes = 0;
	return 0;
}
