/* SPDX-License-Identifier: BSD-3-Clause */
/* The record stream's decoder: any portions, strict with headers, and a bad report costs no other. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/unix_socket.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/collect_rig.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/refused_call.h"
#include "tests/unit/unit.h"

static void
refuse(const struct records *r, int code, const char *words)
{
	struct evidence ev;
	struct err err;

	assert_int_equal(decode(r, SIZE_MAX / 2, &ev, &err), code);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	evidence_fini(&ev);
}

static void
test_any_portions(void **state)
{
	static const size_t portions[] = { 1, 7, 24, 100, 1 << 20 };
	struct records r;

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	for (size_t i = 0; i < ARRAY_LEN(portions); i++) {
		struct evidence ev;
		struct err err;

		assert_int_equal(decode(&r, portions[i], &ev, &err), 0);
		assert_true(ev.ended);
		assert_int_equal(ev.nnodes, 3);
		assert_int_equal(ev.nports, 4);
		assert_int_equal(ev.nsteps, 4);
		assert_int_equal(ev.kinds[REC_PORT], 4);
		evidence_fini(&ev);
	}
	records_fini(&r);
}

/* The same stream with its reports in frames. */
static void
pack(const struct records *r, struct records *packed)
{
	static struct recframe frame;
	static struct rec_hdr none;
	size_t used = sizeof(struct rec_stream);

	records_init(packed);
	recframe_begin(&frame, PS_PER_S);
	while (used <= r->used_bytes) {
		const struct rec_hdr *rec = used < r->used_bytes ? (const void *)(r->data + used) : &none;

		if (used < r->used_bytes && record_is_report(rec->type) && recframe_put(&frame, rec)) {
			used += rec->size;
			continue;
		}
		if (frame.records != 0)
			records_append(packed, recframe_end(&frame), frame.used_bytes);
		recframe_begin(&frame, PS_PER_S);
		if (used < r->used_bytes && record_is_report(rec->type))
			continue;
		if (used < r->used_bytes)
			records_append(packed, rec, rec->size);
		used += used < r->used_bytes ? rec->size : 1;
	}
}

/* What is packed is what is not; but for its bytes. */
static void
test_frames(void **state)
{
	struct records r, packed;

	two_hosts(&r);
	records_put_port(&r, 0, records_port_row(0, 0, 0, 10, 1, 1));
	records_put_port(&r, 0, records_port_row(1, 0, 0, 20, 1, 1));
	records_put_flow(&r, 0, records_flow_row(0, records_tuple(1, 2, 10000), 0, 0, 10, 1));
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	pack(&r, &packed);
	assert_true(packed.used_bytes < r.used_bytes);
	for (size_t portion = 1; portion < 2000; portion += 333) {
		struct evidence plain, ev;
		struct err err;

		assert_int_equal(decode(&r, portion, &plain, &err), 0);
		assert_int_equal(decode(&packed, portion, &ev, &err), 0);
		assert_true(ev.ended);
		assert_int_equal(ev.left_out, 0);
		assert_memory_equal(ev.kinds, plain.kinds, sizeof(ev.kinds));
		assert_int_equal(ev.port_rows.count, 2);
		assert_memory_equal(ev.port_rows.data, plain.port_rows.data, 2 * sizeof(struct rec_port_row));
		assert_memory_equal(ev.flow_rows.data, plain.flow_rows.data, sizeof(struct rec_flow_row));
		assert_int_equal(plain.telemetry_bytes, 2 * sizeof(struct rec_port_row) + sizeof(struct rec_flow_row));
		assert_true(ev.telemetry_bytes < plain.telemetry_bytes);
		assert_int_equal(ev.bytes, packed.used_bytes - sizeof(struct rec_stream));
		evidence_fini(&plain);
		evidence_fini(&ev);
	}
	records_fini(&r);
	records_fini(&packed);
}

static void
test_bad_frames(void **state)
{
	struct rec_hdr frame = { .type = REC_FRAME, .size = sizeof(frame) };
	uint8_t row[] = { REC_RUN, 0, 0, 0, 0, 0, 0, 0 };
	struct records r;

	two_hosts(&r);
	records_append(&r, &frame, sizeof(frame));
	refuse(&r, -EPROTO, "a frame of 24 B; right would be 25 to 1472");
	((struct rec_hdr *)(r.data + r.used_bytes - sizeof(frame)))->size = REC_FRAME_MAX_BYTES + 1;
	refuse(&r, -EPROTO, "a frame of 1473 B");
	((struct rec_hdr *)(r.data + r.used_bytes - sizeof(frame)))->size = sizeof(frame) + sizeof(row);
	records_append(&r, row, sizeof(row));
	refuse(&r, -EPROTO, "a frame holds a record of type 1, which is no report");
	records_fini(&r);
}

/* Behind the end there is nothing, in frames neither. */
static void
test_frames_behind_the_end(void **state)
{
	struct rec_port_row row = records_port_row(0, 0, 0, 10, 1, 1);
	static struct recframe frame;
	struct records r;

	(void)state;
	row.hdr = (struct rec_hdr){ .type = REC_PORT_ROW, .size = sizeof(row) };
	two_hosts(&r);
	records_end(&r, REC_END_COMPLETE, PS_PER_S);
	recframe_begin(&frame, PS_PER_S);
	assert_true(recframe_put(&frame, &row.hdr));
	records_append(&r, recframe_end(&frame), frame.used_bytes);
	refuse(&r, -EINVAL, "behind END");
	records_fini(&r);
}

static void
test_stream_header(void **state)
{
	struct rec_stream *hdr;
	struct records r;

	two_hosts(&r);
	hdr = (struct rec_stream *)r.data;
	hdr->magic++;
	refuse(&r, -EPROTO, "not a record stream");
	hdr->magic--;
	hdr->version = 2;
	refuse(&r, -EPROTO, "version 2");
	hdr->version = REC_VERSION;
	hdr->size = 24;
	refuse(&r, -EPROTO, "header of 24 B");
	records_fini(&r);
}

static void
test_bad_records(void **state)
{
	struct rec_hdr *run;
	struct records r;

	two_hosts(&r);
	run = (struct rec_hdr *)(r.data + sizeof(struct rec_stream));
	run->type = 15;
	refuse(&r, -EPROTO, "byte 16: unknown record type 15");
	run->type = 60000;
	refuse(&r, -EPROTO, "unknown record type 60000");
	run->type = REC_RUN;
	run->size = 104;
	refuse(&r, -EPROTO, "has 104 B, not 120 B");
	run->size = 0;
	refuse(&r, -EPROTO, "has 0 B");
	run->size = sizeof(struct rec_run);
	((struct rec_run *)run)->epoch_ps = 0;
	refuse(&r, -EINVAL, "byte 16: RUN: epoch_ps = 0; right would be 1 to 1152921504606846976");
	records_fini(&r);
}

/* Without a header record that can be understood there is no stream. */
static void
test_bad_headers(void **state)
{
	struct records r;

	two_hosts(&r);
	records_run(&r);
	refuse(&r, -EINVAL, "second RUN record");
	records_fini(&r);

	fabric(&r, 1);
	records_node(&r, 4, "x", false, 1);
	refuse(&r, -EINVAL, "NODE of node 4: node = 4; right would be 3, the next one");
	records_fini(&r);

	two_hosts(&r);
	records_end(&r, REC_END_COMPLETE, 1);
	records_step(&r, 1, 1, REC_NONE, 0, 1);
	refuse(&r, -EINVAL, "behind END");
	records_fini(&r);

	fabric(&r, 1);
	records_collective(&r, 2, 1);
	records_schedule(&r, 2, 1, 1, 2, REC_NONE, 1);
	refuse(&r, -EINVAL, "rank = 2; right would be below 2");
	records_fini(&r);

	for (uint64_t ports = 0; ports < 3; ports++) { /* not described, without the route's port, with one too many */
		struct rec_route route = { .flow = records_tuple(1, 2, 10000), .port = 1, .ecmp = 1 };
		struct rec_ecmp set = { .set = 1, .ports = { ports == 2 ? 7 : 1 } };

		two_hosts(&r);
		if (ports != 0)
			RECORDS_PUT(&r, set, REC_ECMP, 0, 0);
		RECORDS_PUT(&r, route, REC_ROUTE, 0, 0);
		refuse(&r, -EINVAL,
		       ports == 2 ? "ports = 2; right would be members below 2"
				  : "ecmp = 1; right would be 0, or a described set of node 0 with port 1");
		records_fini(&r);
	}

	records_init(&r);
	refuse(&r, -EINVAL, "no RUN record");
	records_fini(&r);
	fabric(&r, 2);
	r.used_bytes -= sizeof(struct rec_port);
	refuse(&r, -EINVAL, "node 1 has 2 ports, 1 of them are described");
	records_fini(&r);
	fabric(&r, 1);
	records_collective(&r, 2, 2);
	records_end(&r, REC_END_COMPLETE, 1);
	refuse(&r, -EINVAL, "0 SCHEDULE records; it needs 4");
	records_fini(&r);
}

/* @param words  in what is said of the one record that is left out */
static void
leave_out(struct records *r, const char *words)
{
	struct rec_step report;
	struct evidence ev;
	struct err err;

	records_step(r, 1, 1, REC_NONE, 0, PS_PER_MS); /* what follows is taken again */
	assert_int_equal(decode(r, SIZE_MAX / 2, &ev, &err), 0);
	assert_int_equal(ev.left_out, 1);
	assert_true(evidence_report(&ev, 0, &report));
	if (strstr(ev.left_out_why.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", ev.left_out_why.text, words);
	evidence_fini(&ev);
	records_fini(r);
}

/* One node's bad report does not cost what all others said. */
static void
test_bad_reports(void **state)
{
	struct rec_end end = { .reason = REC_END_REASONS, .at_node = REC_NONE };
	struct rec_gap gap = { .kind = REC_STEP, .dropped = 2, .dropped_bytes = 96 };
	struct rec_tuple tuple = records_tuple(1, 2, 10000);
	struct rec_step open = { .step = 1, WAITED_NONE, .open = 1, .end_ps = 1 };
	struct rec_step waited = { .step = 1, .waited_rank = 2, .waited_step = 1 };
	struct rec_port_row row = records_port_row(0, 0, 0, 1ULL << 60, 1, 1);
	struct records r;

	two_hosts(&r);
	records_put_port(&r, 0, records_port_row(2, 0, 0, 1, 1, 1));
	leave_out(&r, "PORT_ROW of node 0: port = 2; right would be below 2");
	two_hosts(&r);
	records_put_port(&r, 0, row);
	leave_out(&r, "packets = 1152921504606846976; right would be at most 4503599627370496");
	two_hosts(&r);
	records_put_flow(&r, 0, records_flow_row(0, tuple, 5, 4, 1, 1));
	leave_out(&r, "epoch_last = 4; right would be at least 5");
	two_hosts(&r);
	records_step(&r, 1, 3, REC_NONE, 0, 1);
	leave_out(&r, "node = 3; right would be a host");
	two_hosts(&r);
	records_step(&r, 3, 1, REC_NONE, 0, 1);
	leave_out(&r, "step = 3; right would be at most 2");
	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 9, 5);
	leave_out(&r, "STEP of node 1: end_ps = 5; right would be 9 at least");
	two_hosts(&r);
	RECORDS_PUT(&r, open, REC_STEP, 1, 5);
	leave_out(&r, "end_ps = 1; right would be 0");
	two_hosts(&r);
	RECORDS_PUT(&r, waited, REC_STEP, 1, 5);
	leave_out(&r, "waited_rank = 2; right would be below 2");
	two_hosts(&r);
	RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 1);
	leave_out(&r, "dropped_bytes = 96; right would be 464 of 2 records");
	two_hosts(&r);
	RECORDS_PUT(&r, end, REC_END, REC_NONE, 1);
	leave_out(&r, "END: reason = 8; right would be 0 to 7");
}

/* The first is named, all are counted. */
static void
test_several_bad_reports(void **state)
{
	struct records r;
	struct evidence ev;
	struct err err;

	(void)state;
	two_hosts(&r);
	records_step(&r, 3, 2, REC_NONE, 0, 1);
	records_step(&r, 4, 1, REC_NONE, 0, 1);
	assert_int_equal(decode(&r, SIZE_MAX / 2, &ev, &err), 0);
	assert_int_equal(ev.left_out, 2);
	assert_int_equal(ev.left_out_node, 2);
	assert_non_null(strstr(ev.left_out_why.text, "step = 3; right would be at most 2"));
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_truncated(void **state)
{
	struct evidence ev;
	struct records r;
	struct err err;

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	r.used_bytes -= 8; /* in the middle of the step record */
	assert_int_equal(decode(&r, 1000, &ev, &err), 0);
	assert_false(ev.ended);
	assert_int_equal(ev.reports.count, 0);
	assert_int_equal(ev.torn_bytes, sizeof(struct rec_step) - 8);
	evidence_fini(&ev);
	records_fini(&r);
}

/* The same stream, each time without one more allocation: what is refused is an error, and nothing is lost of it. */
static void
test_without_memory(void **state)
{
	uint32_t refused = 0;
	struct records r;

	(void)state;
	two_hosts(&r);
	for (uint32_t i = 0; i < 40; i++) { /* more nodes and collectives than there is room for at first */
		char name[16];

		snprintf(name, sizeof(name), "x%u", i);
		records_put_port(&r, 0, records_port_row(0, i, i, 10, 1, 1));
	}
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	FOR_EACH_REFUSED(nth)
	{
		struct evidence ev;
		struct err err;
		int rc = decode(&r, SIZE_MAX / 2, &ev, &err);
		bool was = alloc_was_refused();

		if (rc != (was ? -ENOMEM : 0) || (was && strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		evidence_fini(&ev);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused > 10);
	records_fini(&r);
}

/* From a descriptor: a whole stream, one that is refused, and a descriptor that cannot be read. */
static void
test_descriptors(void **state)
{
	struct evidence ev;
	struct err err = { 0 };
	struct records r;
	int fd = memfd_create("stream", 0);

	(void)state;
	two_hosts(&r);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	assert_int_equal(write(fd, r.data, r.used_bytes), r.used_bytes);
	for (int i = 0; i < 4; i++) {
		static const int codes[] = { 0, -EINVAL, -EBADF, -ENOMEM };

		lseek(fd, 0, SEEK_SET);
		if (i == 1)
			assert_int_equal(ftruncate(fd, (off_t)sizeof(struct rec_stream) - 1), 0);
		evidence_init(&ev);
		err.text[0] = '\0';
		alloc_refuse(i == 3);
		assert_int_equal(stream_read_fd(i == 2 ? -1 : fd, &ev, NULL, &err), codes[i]);
		assert_int_equal(alloc_was_refused(), i == 3);
		assert_true(i == 0 ? ev.ended : err.text[0] != '\0');
		evidence_fini(&ev);
	}
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(write(fd, "no stream of records at all, but a text", 39), 39);
	lseek(fd, 0, SEEK_SET);
	evidence_init(&ev);
	assert_int_equal(stream_read_fd(fd, &ev, NULL, &err), -EPROTO);
	evidence_fini(&ev);
	close(fd);
	records_fini(&r);
}

/* A recording is mapped if it is a file with bytes in it. */
static void
test_mapped_files(void **state)
{
	char path[] = "/tmp/rocelab-stream-XXXXXX";
	int fd = mkstemp(path);
	struct err err = { 0 };
	const void *data;
	size_t size = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_null(source_map(path, &size, &err));
	assert_non_null(strstr(err.text, "read more than once"));
	assert_int_equal(write(fd, "bytes", 5), 5);
	close(fd);
	data = source_map(path, &size, &err);
	assert_non_null(data);
	assert_int_equal(size, 5);
	assert_null(source_map("/dev/zero", &(size_t){ 0 }, &err)); /* no file */
	assert_memory_equal(data, "bytes", 5);
	assert_int_equal(munmap((void *)(uintptr_t)data, size), 0);
	unlink(path);
	err.text[0] = '\0';
	assert_null(source_map(path, &size, &err));
	assert_int_equal(errno, ENOENT);
}

/* A connection that breaks off is a stream that ends: what arrived counts. */
static void
test_reset_connections(void **state)
{
	struct evidence ev;
	struct err err = { 0 };
	struct records r;
	int fds[2];

	(void)state;
	two_hosts(&r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(write(fds[0], r.data, r.used_bytes), r.used_bytes);
	assert_int_equal(write(fds[1], "x", 1), 1);
	close(fds[0]); /* with a byte that was not read */
	evidence_init(&ev);
	if (stream_read_fd(fds[1], &ev, NULL, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(ev.nnodes, 3);
	assert_false(ev.ended);
	evidence_fini(&ev);
	close(fds[1]);
	records_fini(&r);
}

struct peer {
	pthread_t thread;
	const char *path;
	uint16_t tcp_port;
	int fd;
	const pthread_t *interrupted; /* gets a signal before; NULL: none does */
	atomic_bool stop;             /* nobody listens */
};

static void
on_signal(int number)
{
	(void)number;
}

static void *
connect_soon(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct peer *peer = arg;
	struct err err;

	for (int i = 0; peer->interrupted != NULL && i < 20; i++) {
		poll(NULL, 0, 1);
		pthread_kill(*peer->interrupted, SIGUSR2);
	}
	for (peer->fd = -1; peer->fd < 0 && !atomic_load(&peer->stop); poll(NULL, 0, 1)) {
		if (peer->path != NULL) {
			peer->fd = unix_connect(peer->path, "analyzer", &err);
			continue;
		}
		to.sin_port = htons(peer->tcp_port);
		peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(peer->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
			close(peer->fd);
			peer->fd = -1;
		}
	}
	return NULL;
}

/* @return a TCP port of the loopback that nobody listens at */
static uint16_t
free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	close(fd);
	return ntohs(at.sin_port);
}

/* One connection, at a socket's path or at a port of the loopback; what is no address is refused. */
static void
test_connections(void **state)
{
	char path[64], address[32], long_host[300];
	struct err err = { 0 };
	sigset_t before;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/rocelab-stream-%d.sock", (int)getpid());
	for (int tcp = 0; tcp < 3; tcp++) {
		struct peer peer = { .path = tcp ? NULL : path, .tcp_port = free_port() };
		char byte = 0;
		int fd;

		snprintf(address, sizeof(address), "%s:%u", tcp == 1 ? "127.0.0.1" : "", peer.tcp_port);
		assert_int_equal(pthread_create(&peer.thread, NULL, connect_soon, &peer), 0);
		fd = source_accept(tcp ? address : path, &before, &err);
		if (fd < 0)
			fail_msg("%s", err.text);
		sigprocmask(SIG_SETMASK, &before, NULL);
		pthread_join(peer.thread, NULL);
		assert_int_equal(write(peer.fd, "x", 1), 1);
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_int_equal(byte, 'x');
		close(fd);
		close(peer.fd);
		assert_int_not_equal(access(path, F_OK), 0); /* its name is gone */
	}
	memset(long_host, 'h', sizeof(long_host));
	memcpy(long_host + sizeof(long_host) - 3, ":1", 3);
	assert_int_equal(source_accept(long_host, &before, &err), -ENAMETOOLONG);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(source_accept("127.0.0.1:no-such-service", &before, &err), -EADDRNOTAVAIL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(source_accept("192.0.2.1:1", &before, &err), -EADDRNOTAVAIL); /* an address of no interface here */
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_true(source_accept("/no/such/folder/socket", &before, &err) < 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

struct accepting {
	uint16_t port;
	int rc;
	struct err err;
};

static void
accept_one(void *arg)
{
	struct accepting *a = arg;
	struct peer peer = { .tcp_port = a->port };
	char address[32];
	sigset_t before;

	snprintf(address, sizeof(address), "127.0.0.1:%u", a->port);
	pthread_create(&peer.thread, NULL, connect_soon, &peer);
	a->rc = source_accept(address, &before, &a->err);
	atomic_store(&peer.stop, true);
	pthread_join(peer.thread, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (a->rc >= 0)
		close(a->rc);
	if (peer.fd >= 0)
		close(peer.fd);
}

/* What the system refuses has its words, and the address; without ppoll() the call itself waits. */
static void
test_refused_connections(void **state)
{
	static const struct {
		long number;
		int error;
		const char *what;
	} cases[] = {
		{ SYS_listen, EADDRINUSE, "listen: " },
		{ SYS_accept4, EMFILE, "accept: " },
		{ SYS_ppoll, ENOMEM, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct accepting a = { .port = free_port() };

		WITHOUT_CALL(cases[i].number, cases[i].error, accept_one, &a);
		if (cases[i].what == NULL) {
			assert_true(a.rc >= 0);
			continue;
		}
		assert_int_equal(a.rc, -cases[i].error);
		assert_non_null(strstr(a.err.text, cases[i].what));
		assert_non_null(strstr(a.err.text, "127.0.0.1:"));
		assert_non_null(strstr(a.err.text, strerror(cases[i].error)));
	}
}

static void
accept_without_socket(void *arg)
{
	struct accepting *a = arg;
	sigset_t before;

	a->rc = source_accept("127.0.0.1:1", &before, &a->err);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
test_no_socket(void **state)
{
	struct accepting a = { 0 };

	(void)state;
	WITHOUT_CALL(SYS_socket, EMFILE, accept_without_socket, &a);
	assert_int_equal(a.rc, -EMFILE);
	assert_non_null(strstr(a.err.text, "127.0.0.1:1: socket: "));
}

/* A line a read: bytes so far, when they were read, when they had been taken. */
static void
test_arrivals(void **state)
{
	unsigned long long bytes = 0, read_ns = 0, taken_ns = 0;
	int fd = memfd_create("stream", 0);
	struct err err = { 0 };
	struct evidence ev;
	struct records r;
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	(void)state;
	two_hosts(&r);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	assert_int_equal(write(fd, r.data, r.used_bytes), r.used_bytes);
	lseek(fd, 0, SEEK_SET);
	evidence_init(&ev);
	assert_int_equal(stream_read_fd(fd, &ev, to, &err), 0);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(sscanf(text, "%llu,%llu,%llu\n", &bytes, &read_ns, &taken_ns), 3);
	assert_int_equal(bytes, r.used_bytes);
	assert_true(taken_ns >= read_ns && read_ns > 0);
	evidence_fini(&ev);
	records_fini(&r);
	free(text);
	close(fd);
}

struct late_stream {
	struct peer peer;
	const struct records *records;
	int to;
};

static void *
interrupt_and_write(void *arg)
{
	struct late_stream *late = arg;

	for (int i = 0; i < 20; i++) {
		poll(NULL, 0, 1);
		pthread_kill(*late->peer.interrupted, SIGUSR2);
	}
	assert_int_equal(write(late->to, late->records->data, late->records->used_bytes), late->records->used_bytes);
	close(late->to);
	return NULL;
}

/* Signals that end nothing, while it waits for a connection and for bytes. */
static void
test_interrupted(void **state)
{
	const struct sigaction quiet = { .sa_handler = on_signal };
	const pthread_t self = pthread_self();
	struct late_stream late = { .peer = { .interrupted = &self } };
	struct peer peer = { .interrupted = &self };
	struct err err = { 0 };
	struct evidence ev;
	struct records r;
	char path[64];
	sigset_t before;
	int fds[2], fd;

	(void)state;
	sigaction(SIGUSR2, &quiet, NULL);
	snprintf(path, sizeof(path), "/tmp/rocelab-stream-%d.sock", (int)getpid());
	peer.path = path;
	assert_int_equal(pthread_create(&peer.thread, NULL, connect_soon, &peer), 0);
	fd = source_accept(path, &before, &err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (fd < 0)
		fail_msg("%s", err.text);
	pthread_join(peer.thread, NULL);
	close(fd);
	close(peer.fd);
	two_hosts(&r);
	assert_int_equal(pipe(fds), 0);
	late.records = &r;
	late.to = fds[1];
	assert_int_equal(pthread_create(&late.peer.thread, NULL, interrupt_and_write, &late), 0);
	evidence_init(&ev);
	if (stream_read_fd(fds[0], &ev, NULL, &err) != 0)
		fail_msg("%s", err.text);
	pthread_join(late.peer.thread, NULL);
	assert_int_equal(ev.nnodes, 3);
	evidence_fini(&ev);
	close(fds[0]);
	records_fini(&r);
}

UNIT_TEST(stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_portions),
		cmocka_unit_test(test_refused_connections),
		cmocka_unit_test(test_no_socket),
		cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_several_bad_reports),
		cmocka_unit_test(test_stream_header),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_frames_behind_the_end),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_reset_connections),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_bad_reports),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_mapped_files),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
