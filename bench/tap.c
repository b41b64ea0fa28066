/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analyzer's end of the socket, for rocelab bench telemetry: takes a run's records in as the analyzer does, and
 * counts.
 */
#include "bench/bench.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/record/frame.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"

#define PORTION_BYTES 65536 /* as the analyzer reads */
#define LOOK_MS 50

/* Lags in ps. */
struct lags {
	uint64_t *ps;
	size_t count, cap;
};

/* Bytes that left at a time of the run. */
struct tap_sent {
	uint64_t time_ps, bytes;
};

/* The state of the count. */
struct walk {
	struct tap_counts *counts;
	const struct tap_portion *portion; /* the portion with the current record */
	uint64_t zero_ns, epoch_ps;
	struct lags run, wall;
	double made_ps, released_ps, received_ns, joined_ns; /* sums over epochs; the last two by the wall clock */
	struct rec_end end;
	/* By node: its index in by_switch plus one; 0: it is no switch. [nnodes] */
	uint32_t *switches;
	size_t nnodes, cap_nodes;
	struct tap_sent *sent; /* [nsent] */
	size_t nsent, cap_sent;
};

static int
accept_sender(int listener, pid_t sender, struct err *err)
{
	struct pollfd waiting = { .fd = listener, .events = POLLIN };
	int fd, status;

	while (poll(&waiting, 1, LOOK_MS) <= 0)
		if (child_poll(sender, &status))
			return err_set(err, -ECHILD, "dpswitch ended with status %d before it sent anything", status);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, -errno, "no connection to dpswitch: %s", strerror(errno));
}

/* @return as read() */
static ssize_t
take_portion(struct bench_tap *tap, int fd)
{
	ssize_t got;

	tap->data = grow(tap->data, &tap->cap_bytes, tap->used_bytes + PORTION_BYTES, 1, "records");
	do
		got = read(fd, tap->data + tap->used_bytes, PORTION_BYTES);
	while (got < 0 && errno == EINTR);
	if (tap->nportions == 0)
		tap->begun_ns = clock_now_ns();
	return got;
}

/* Feeds a portion to the evidence, and notes the time. */
static int
feed_portion(struct bench_tap *tap, struct stream *stream, size_t size_bytes, struct err *err)
{
	uint64_t before_ns = clock_cpu_ns(), got_ns = clock_now_ns();
	int ret = stream_feed(stream, tap->data + tap->used_bytes, size_bytes, err);

	tap->take_in_ns += clock_cpu_ns() - before_ns;
	tap->used_bytes += size_bytes;
	tap->portions = grow(tap->portions, &tap->cap_portions, tap->nportions + 1, sizeof(*tap->portions), "portions");
	tap->portions[tap->nportions++] = (struct tap_portion){ tap->used_bytes, got_ns, clock_now_ns() };
	return ret;
}

int
bench_tap_read(struct bench_tap *tap, int listener, pid_t sender, struct err *err)
{
	int fd = accept_sender(listener, sender, err), ret = 0;
	struct evidence evidence;
	struct stream stream;
	ssize_t got = 0;

	if (fd < 0)
		return fd;
	evidence_init(&evidence);
	stream_init(&stream, &evidence);
	while (ret == 0 && (got = take_portion(tap, fd)) > 0)
		ret = feed_portion(tap, &stream, (size_t)got, err);
	if (ret == 0 && got < 0)
		ret = err_set(err, -errno, "the connection to dpswitch broke: %s", strerror(errno));
	if (ret == 0)
		ret = stream_finish(&stream, err);
	stream_fini(&stream);
	evidence_fini(&evidence);
	close(fd);
	return ret;
}

static void
add_lag(struct lags *lags, uint64_t ps)
{
	lags->ps = grow(lags->ps, &lags->cap, lags->count + 1, sizeof(*lags->ps), "lags");
	lags->ps[lags->count++] = ps;
}

/* The closed epochs that a row reports; each is reported once. */
static void
count_epochs(struct walk *walk, const struct rec_port_row *row, uint64_t sent_ps)
{
	for (uint64_t epoch = row->epoch_first; row->state_only == 0 && epoch <= row->epoch_last; epoch++) {
		uint64_t end_ps = (epoch + 1) * walk->epoch_ps, end_ns = walk->zero_ns + end_ps / PS_PER_NS;

		if (end_ps > row->hdr.time_ps)
			continue;
		walk->counts->epochs++;
		add_lag(&walk->run, sent_ps - end_ps);
		walk->made_ps += (double)(row->hdr.time_ps - end_ps);
		walk->released_ps += (double)(sent_ps - row->hdr.time_ps);
		if (walk->zero_ns == 0)
			continue;
		walk->received_ns += (double)walk->portion->got_ns - (double)(walk->zero_ns + sent_ps / PS_PER_NS);
		walk->joined_ns += (double)(walk->portion->taken_ns - walk->portion->got_ns);
		add_lag(&walk->wall, (walk->portion->taken_ns - end_ns) * PS_PER_NS);
	}
}

static void
add_node(struct walk *walk, const struct rec_node *node)
{
	bool is_counted = node->kind == 0 && walk->counts->nswitches < BENCH_MAX_SWITCHES;

	walk->switches = grow(walk->switches, &walk->cap_nodes, walk->nnodes + 1, sizeof(*walk->switches), "nodes");
	walk->switches[walk->nnodes++] = is_counted ? ++walk->counts->nswitches : 0;
}

static void
add_sent(struct walk *walk, uint64_t time_ps, uint64_t bytes)
{
	walk->counts->bytes += bytes;
	walk->sent = grow(walk->sent, &walk->cap_sent, walk->nsent + 1, sizeof(*walk->sent), "times of frames");
	walk->sent[walk->nsent++] = (struct tap_sent){ time_ps, bytes };
}

/* Times ascend. */
static uint64_t
fullest(const struct walk *walk)
{
	uint64_t bytes = 0, most_bytes = 0;

	for (size_t first = 0, i = 0; i < walk->nsent; i++) {
		bytes += walk->sent[i].bytes;
		while (walk->sent[first].time_ps + PS_PER_MS <= walk->sent[i].time_ps)
			bytes -= walk->sent[first++].bytes;
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	return most_bytes;
}

static int
count_frame(struct walk *walk, const uint8_t *data, size_t size_bytes, struct err *err)
{
	uint8_t frame[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
	const struct rec_hdr *hdr = (const void *)frame, *rec;
	struct recframe_reader reader;
	int ret;

	memcpy(frame, data, size_bytes);
	walk->counts->frames++;
	add_sent(walk, hdr->time_ps, size_bytes);
	recframe_open(&reader, hdr);
	while ((ret = recframe_next(&reader, &rec, err)) > 0) {
		walk->counts->on_time += rec->time_ps == hdr->time_ps;
		walk->counts->held_back += rec->time_ps < hdr->time_ps;
		if (rec->node < walk->nnodes && walk->switches[rec->node] != 0)
			walk->counts->by_switch[walk->switches[rec->node] - 1]++;
		if (rec->type == REC_PORT_ROW)
			count_epochs(walk, (const struct rec_port_row *)(const void *)rec, hdr->time_ps);
	}
	return ret;
}

static int
count_record(struct walk *walk, const uint8_t *data, const struct rec_hdr *hdr, struct err *err)
{
	struct rec_run run;
	struct rec_node node;
	struct rec_gap gap;

	switch (hdr->type) {
	case REC_NODE:
		memcpy(&node, data, sizeof(node));
		add_node(walk, &node);
		return 0;
	case REC_RUN:
		memcpy(&run, data, sizeof(run));
		walk->epoch_ps = run.epoch_ps;
		return 0;
	case REC_FRAME:
		return count_frame(walk, data, hdr->size, err);
	case REC_GAP:
		memcpy(&gap, data, sizeof(gap));
		walk->counts->dropped += gap.dropped;
		add_sent(walk, hdr->time_ps, sizeof(gap));
		return 0;
	case REC_END:
		memcpy(&walk->end, data, sizeof(walk->end));
		return 0;
	default:
		return 0;
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct tap_lag
summarize(struct lags *lags)
{
	struct tap_lag lag = { 0 };

	if (lags->count != 0) {
		qsort(lags->ps, lags->count, sizeof(*lags->ps), compare);
		lag.p50_us = (double)lags->ps[lags->count / 2] / (double)PS_PER_US;
		lag.p99_us = (double)lags->ps[lags->count * 99 / 100] / (double)PS_PER_US;
		lag.max_us = (double)lags->ps[lags->count - 1] / (double)PS_PER_US;
	}
	free(lags->ps);
	return lag;
}

/* The records made, by the run's account, are those received and those in gaps. */
static int
check(const struct tap_counts *counts, const struct rec_end *end, struct err *err)
{
	uint64_t collected = counts->on_time + counts->held_back;

	if (end->offered_records == collected + counts->dropped && end->sent_records == collected &&
	    end->deferred_records == counts->held_back && end->dropped_records == counts->dropped &&
	    end->sent_bytes == counts->bytes)
		return 0;
	return err_set(err, -EPROTO,
		       "of %" PRIu64 " records made %" PRIu64 " arrived in time, %" PRIu64 " late, %" PRIu64
		       " are reported as dropped, in %" PRIu64 " B; the run counts %" PRIu64 " sent, %" PRIu64
		       " of them late, %" PRIu64 " dropped, %" PRIu64 " B",
		       end->offered_records, counts->on_time, counts->held_back, counts->dropped, counts->bytes,
		       end->sent_records, end->deferred_records, end->dropped_records, end->sent_bytes);
}

int
bench_tap_count(const struct bench_tap *tap, uint64_t zero_ns, struct tap_counts *counts, struct err *err)
{
	struct walk walk = { .counts = counts, .portion = tap->portions, .zero_ns = zero_ns };
	struct rec_hdr hdr;
	int ret = 0;

	*counts = (struct tap_counts){ 0 };
	for (size_t at = sizeof(struct rec_stream); ret == 0 && at < tap->used_bytes; at += hdr.size) {
		memcpy(&hdr, tap->data + at, sizeof(hdr)); /* the evidence has accepted it: it is whole */
		while (walk.portion->end_bytes < at + hdr.size)
			walk.portion++;
		ret = count_record(&walk, tap->data + at, &hdr, err);
	}
	counts->made = walk.end.offered_records;
	counts->run = summarize(&walk.run);
	counts->wall = summarize(&walk.wall);
	counts->fullest_bytes = fullest(&walk);
	if (counts->epochs != 0) {
		counts->made_us = walk.made_ps / 1e6 / (double)counts->epochs;
		counts->released_us = walk.released_ps / 1e6 / (double)counts->epochs;
		counts->received_us = walk.received_ns / 1e3 / (double)counts->epochs;
		counts->joined_us = walk.joined_ns / 1e3 / (double)counts->epochs;
	}
	free(walk.switches);
	free(walk.sent);
	return ret == 0 ? check(counts, &walk.end, err) : ret;
}

int
bench_tap_run(struct bench_tap *tap, const char *scenario, const char *dir, const char *lcores, json_t **run,
	      struct err *err)
{
	char path[PATH_MAX], socket[PATH_MAX];
	const struct child_args args = { .argv = { "dpswitch", scenario, "--out", dir, "--quiet", "--analyzer", socket,
						   lcores != NULL ? "--lcores" : NULL, lcores },
					 .count = lcores != NULL ? 9 : 7 };
	struct unix_listener listener;
	json_error_t error;
	int ret = child_find("dpswitch", "dpswitch", path, sizeof(path), err), status;
	pid_t pid;

	snprintf(socket, sizeof(socket), "%s/records.sock", dir);
	ret = ret == 0 ? unix_listen(&listener, socket, err) : ret;
	if (ret < 0)
		return ret;
	pid = ret = child_start(path, &args, false, err);
	if (pid >= 0) {
		ret = bench_tap_read(tap, listener.fd, pid, err);
		status = ret == -ECHILD ? 0 : child_wait(pid);
		if (ret == 0 && status != 0)
			ret = err_set(err, -EIO, "dpswitch ended with status %d", status);
	}
	unix_listener_close(&listener);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	*run = input_json(path, 0, &error);
	return *run != NULL ? 0 : err_set(err, -EINVAL, "%s: %s", path, error.text);
}

/* @return 0, or negative errno with err set */
static int
read_arrivals(struct bench_tap *tap, const char *dir, struct err *err)
{
	struct tap_portion portion;
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_ARRIVALS, dir);
	file = fopen(path, "re");
	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	(void)!fscanf(file, "%*[^\n]"); /* the columns' names */
	while (fscanf(file, "%zu,%" SCNu64 ",%" SCNu64, &portion.end_bytes, &portion.got_ns, &portion.taken_ns) == 3) {
		tap->portions =
			grow(tap->portions, &tap->cap_portions, tap->nportions + 1, sizeof(*tap->portions), "portions");
		tap->portions[tap->nportions++] = portion;
	}
	fclose(file);
	if (tap->nportions != 0 && tap->portions[tap->nportions - 1].end_bytes == tap->used_bytes)
		return 0;
	return err_set(err, -EPROTO, "%s: the analyzer received %zu B, and the recording has %zu B", path,
		       tap->nportions != 0 ? tap->portions[tap->nportions - 1].end_bytes : 0, tap->used_bytes);
}

int
bench_tap_recording(const char *dir, uint64_t zero_ns, struct tap_counts *counts, struct err *err)
{
	struct bench_tap tap = { 0 };
	char path[PATH_MAX];
	const uint8_t *data;
	int ret;

	snprintf(path, sizeof(path), "%s/" RUN_RECORDING, dir);
	data = source_map(path, &tap.used_bytes, err);
	if (data == NULL)
		return -EIO;
	tap.data = (uint8_t *)(uintptr_t)data; /* which is read alone */
	ret = read_arrivals(&tap, dir, err);
	if (ret == 0)
		ret = bench_tap_count(&tap, zero_ns, counts, err);
	munmap(tap.data, tap.used_bytes);
	free(tap.portions);
	return ret;
}

void
bench_tap_fini(struct bench_tap *tap)
{
	free(tap->data);
	free(tap->portions);
	*tap = (struct bench_tap){ 0 };
}
