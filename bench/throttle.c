/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Analyzers that are slow or stopped, for rocelab bench stages: the exporter over a socket whose reader takes so much a
 * second. In virtual time the exporter waits; in real time it drops records, and the fabric's thread notices nothing.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/bench.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/record/buffer.h"
#include "common/record/frame.h"
#include "common/units.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "emulation/recorder/exporter.h"

#define PORTION_BYTES 65536
#define WAIT_NAP_NS 1000000ULL
#define MOST_BYTES (24u << 20) /* of the stream: three times an output's buffer */

const struct bench_throttle_case bench_throttle_cases[BENCH_THROTTLES] = {
	{ "full speed", true, 0, false }, { "20 MB/s", true, 20000000, false }, { "5 MB/s", true, 5000000, false },
	{ "stopped", true, 0, true },     { "full speed", false, 0, false },    { "20 MB/s", false, 20000000, false },
};

/* The analyzer's end. */
struct reader {
	const struct bench_throttle_case *of;
	int fd;
	_Atomic bool offered; /* written by the offering thread: a stopped analyzer goes on, so that the run ends */
	uint8_t *data;
	size_t used_bytes, cap_bytes;
};

static void *
read_all(void *arg)
{
	struct reader *r = arg;
	uint64_t begun_ns = clock_now_ns(), taken_bytes = 0;
	ssize_t got;

	do {
		while (r->of->stopped && !atomic_load_explicit(&r->offered, memory_order_acquire))
			clock_sleep_until_ns(clock_now_ns() + WAIT_NAP_NS);
		r->data = grow(r->data, &r->cap_bytes, r->used_bytes + PORTION_BYTES, 1, "records");
		got = read(r->fd, r->data + r->used_bytes, PORTION_BYTES);
		r->used_bytes += got > 0 ? (size_t)got : 0;
		taken_bytes += got > 0 ? (uint64_t)got : 0;
		if (r->of->bytes_s != 0 && !atomic_load_explicit(&r->offered, memory_order_acquire))
			clock_sleep_until_ns(begun_ns + (uint64_t)((double)taken_bytes * 1e9 / (double)r->of->bytes_s));
	} while (got > 0);
	return NULL;
}

/* Received, and reported as dropped by kind. */
static int
count(const struct reader *r, struct bench_throttle *result, struct err *err)
{
	struct recframe_reader reader;
	const struct rec_hdr *rec;
	struct rec_gap gap;
	struct rec_hdr hdr;
	int ret = 0;

	for (size_t at = sizeof(struct rec_stream); ret == 0 && at + sizeof(hdr) <= r->used_bytes; at += hdr.size) {
		uint8_t frame[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));

		memcpy(&hdr, r->data + at, sizeof(hdr));
		if (hdr.type == REC_GAP) {
			memcpy(&gap, r->data + at, sizeof(gap));
			result->dropped += gap.dropped;
			result->dropped_of[gap.kind] += gap.dropped;
		}
		if (hdr.type != REC_FRAME)
			continue;
		memcpy(frame, r->data + at, hdr.size);
		recframe_open(&reader, (const void *)frame);
		while ((ret = recframe_next(&reader, &rec, err)) > 0)
			result->received++;
	}
	return ret;
}

/* Offers the reports of one time. @return where the next ones are */
static size_t
offer(const struct bench_load *load, size_t at, uint64_t shift_ps, struct exporter *exporter, struct bench_throttle *result)
{
	const struct rec_hdr *first = (const void *)(load->records + at), *rec = first;
	struct recbuf buf, *bufs[] = { &buf };
	uint64_t begun_ns, spent_ns;
	union {
		struct rec_hdr hdr;
		uint8_t bytes[REC_FRAME_MAX_BYTES];
	} copy;

	recbuf_init(&buf, 0);
	for (; at < load->used_bytes && (rec = (const void *)(load->records + at))->time_ps == first->time_ps;
	     at += rec->size) {
		memcpy(copy.bytes, rec, rec->size);
		copy.hdr.time_ps += shift_ps;
		buf.node = rec->node; /* one buffer for all of them */
		buf.seq = rec->seq;
		recbuf_append(&buf, &copy.hdr);
		result->made++;
	}
	begun_ns = clock_now_ns();
	exporter_collect(exporter, bufs, 1);
	exporter_advance(exporter, first->time_ps + shift_ps + 1);
	spent_ns = clock_now_ns() - begun_ns;
	result->spent_ns += spent_ns;
	result->longest_ns = spent_ns > result->longest_ns ? spent_ns : result->longest_ns;
	recbuf_fini(&buf);
	return at;
}

/* The load again and again, until its stream would have MOST_BYTES. */
static void
offer_all(const struct bench_load *load, struct exporter *exporter, struct bench_throttle *result)
{
	struct exporter_stats stats = { 0 };
	uint64_t shift_ps = 0;

	for (; stats.frame_bytes < MOST_BYTES; shift_ps += load->span_ps) {
		for (size_t at = 0; at < load->used_bytes;)
			at = offer(load, at, shift_ps, exporter, result);
		exporter_stats(exporter, &stats);
	}
	result->bytes = stats.frame_bytes;
	result->end_ps = shift_ps;
}

int
bench_throttle_measure(const struct bench_load *load, size_t which, struct bench_throttle *result, struct err *err)
{
	struct reader reader = { .of = &bench_throttle_cases[which] };
	const struct exporter_config config = { .queue_bytes = 1000000 };
	struct output_target target = { .ops = &output_analyzer };
	struct exporter *exporter;
	pthread_t thread;
	int fds[2], ret = 0;

	*result = (struct bench_throttle){ 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(err, -errno, "no socket pair: %s", strerror(errno));
	reader.fd = fds[1];
	target.fd = fds[0];
	exporter = exporter_create(&config, &target, 1, err);
	if (exporter == NULL)
		ret = -errno;
	else if (pthread_create(&thread, NULL, read_all, &reader) != 0)
		ret = err_set(err, -EAGAIN, "no thread for the analyzer's end");
	if (ret == 0) {
		struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE };

		exporter_set_clock(exporter, reader.of->real, NULL);
		offer_all(load, exporter, result);
		atomic_store_explicit(&reader.offered, true, memory_order_release);
		end.end_ps = result->end_ps;
		exporter_finish(exporter, &end);
		shutdown(fds[0], SHUT_WR);
		pthread_join(thread, NULL);
		ret = count(&reader, result, err);
	}
	exporter_destroy(exporter);
	close(fds[0]);
	close(fds[1]);
	free(reader.data);
	if (ret == 0 && result->received + result->dropped != result->made)
		ret = err_set(err, -EPROTO, "of %llu records made %llu arrived and %llu are reported as dropped",
			      (unsigned long long)result->made, (unsigned long long)result->received,
			      (unsigned long long)result->dropped);
	return ret;
}
