/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench stages: each stage of the telemetry path by itself, over the records of a real run: packed into frames, put
 * through the exporter under a budget, sent over a socket, joined into evidence, diagnosed. The load is what the budget
 * carries times a factor.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/bench.h"
#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "diag/registry.h"
#include "emulation/recorder/exporter.h"

#define PORTION_BYTES 65536
#define RANKS 16
#define SOCKET_BYTES (256u << 20)

static int unix_pair(int fds[2]);
static int tcp_pair(int fds[2]);
static int udp_pair(int fds[2]);

/* Offered loads as multiples of the budget; 0: no budget. */
static const double loads[] = { 0, 0.1, 0.5, 1, 2, 10 };
#define NLOADS ARRAY_LEN(loads)

/* A portion of a datagram socket is one frame of the most that there is; nothing there slows the sender down. */
static const struct {
	const char *name;
	int (*pair)(int fds[2]);
	size_t portion_bytes;
} sockets[] = {
	{ "unix stream", unix_pair, PORTION_BYTES },
	{ "TCP over loopback", tcp_pair, PORTION_BYTES },
	{ "UDP over loopback", udp_pair, REC_FRAME_MAX_BYTES },
};

/* Received bytes per second of wall time, and the share of sent bytes that was lost. */
struct stage_socket {
	double bytes_s, lost;
};

/* Under one load. Counts and times of the run are exact, the rest is processor time, the least of all repeats. */
struct stage_load {
	uint64_t budget, made, sent, held_back, dropped, bytes, waiting_bytes, heap_bytes;
	uint64_t lag_p50_ps, lag_p99_ps, lag_max_ps;
	uint64_t dropped_of[RECORD_KINDS];
	double export_ns;
};

struct stages {
	const char *dir;
	const struct bench_options *options;
	uint8_t *records; /* reports, unpacked, in the order of the stream */
	size_t used_bytes, cap_bytes;
	uint64_t count;
	const uint8_t *stream;
	size_t stream_bytes, memory_bytes;
	double run_s, offered_bytes, hop_ns, row_ns; /* row_ns: of a record in the fabric, until it is on its file */
	size_t evidence_bytes, verdict_bytes;        /* on the heap */
	double frame_ns, framed_bytes, join_ns, diagnose_ms;
	struct stage_socket sockets[ARRAY_LEN(sockets)];
	struct stage_load loads[NLOADS];
	struct bench_throttle throttles[BENCH_THROTTLES];
	struct err *err;
};

/* @return bytes allocated by this program; 0 if its allocator does not count them */
static size_t
heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* @return by how much the heap has grown */
static size_t
grown_bytes(size_t before)
{
	size_t now = heap_bytes();

	return now > before ? now - before : 0;
}

static double
least(double before, double now)
{
	return before == 0 || now < before ? now : before;
}

static const struct rec_hdr *
record_at(const struct stages *s, size_t at)
{
	return (const struct rec_hdr *)(const void *)(s->records + at);
}

/* ---- the run ---- */

/* RANKS hosts, evenly over the fabric. @return buf */
static char *
list_ranks(int k, char *buf, size_t cap)
{
	int hosts = k * k * k / 4;
	size_t used = 0;

	for (int rank = 0; rank < RANKS; rank++)
		used += (size_t)snprintf(buf + used, cap - used, "%s\"h%d\"", rank != 0 ? ", " : "",
					 rank * (hosts / RANKS));
	return buf;
}

/* @param policy  "off": nothing is reported */
static int
run_fabric(const struct stages *s, const char *policy, json_t **run)
{
	const struct bench_options *options = s->options;
	char scenario[PATH_MAX], path[PATH_MAX], program[PATH_MAX], ranks[RANKS * 16];
	const struct child_args args = { .argv = { "dpswitch", scenario, "--out", s->dir, "--quiet" }, .count = 5 };
	struct outfile out;
	pid_t pid;
	int ret;

	snprintf(scenario, sizeof(scenario), "%s/stages.cfg", s->dir);
	ret = outfile_open_path(&out, scenario, s->err);
	if (ret < 0)
		return ret;
	fprintf(out.file,
		"topology = { kind = \"fat-tree\"; k = %d; rate = \"%dGbps\"; delay = \"2us\"; };\n"
		"telemetry = { epoch = \"20us\"; };\n"
		"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; ranks = [ %s ]; step_bytes = \"%dKB\"; } );\n"
		"detection = { policy = \"%s\"; retain = \"0us\"; };\nexporter = { budget = \"0\"; };\n",
		options->k, options->rate_gbps, list_ranks(options->k, ranks, sizeof(ranks)), 10 * options->rate_gbps,
		policy);
	ret = outfile_close(&out, 0, s->err);
	if (ret == 0)
		ret = child_find("dpswitch", "dpswitch", program, sizeof(program), s->err);
	pid = ret == 0 ? child_start(program, &args, false, s->err) : ret;
	if (pid < 0)
		return pid;
	ret = child_wait(pid);
	if (ret != 0)
		return err_set(s->err, -EIO, "dpswitch ended with status %d", ret);
	snprintf(path, sizeof(path), "%s/run.json", s->dir);
	*run = input_json(path, 0, NULL);
	return *run != NULL ? 0 : err_set(s->err, -EIO, "%s cannot be read", path);
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int
unpack(struct stages *s)
{
	struct recframe_reader reader;
	const struct rec_hdr *rec;
	int ret = 0;

	for (size_t at = sizeof(struct rec_stream); ret == 0 && at < s->stream_bytes;) {
		uint8_t frame[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
		struct rec_hdr hdr;

		memcpy(&hdr, s->stream + at, sizeof(hdr));
		if (hdr.type == REC_FRAME) {
			memcpy(frame, s->stream + at, hdr.size);
			recframe_open(&reader, (const void *)frame);
			while ((ret = recframe_next(&reader, &rec, s->err)) > 0) {
				s->records = grow(s->records, &s->cap_bytes, s->used_bytes + rec->size, 1, "records");
				memcpy(s->records + s->used_bytes, rec, rec->size);
				s->used_bytes += rec->size;
				s->count++;
			}
		}
		at += hdr.size;
	}
	return ret;
}

/* The fabric twice, without and with reports; those of the second are the load. */
static int
record_run(struct stages *s)
{
	json_t *off = NULL, *on = NULL;
	char path[PATH_MAX];
	int ret = run_fabric(s, "off", &off);

	if (ret == 0)
		ret = run_fabric(s, "full-polling", &on);
	if (ret == 0) {
		snprintf(path, sizeof(path), "%s/records.bin", s->dir);
		s->stream = source_map(path, &s->stream_bytes, s->err);
		ret = s->stream != NULL ? unpack(s) : -EIO;
	}
	if (ret == 0) {
		s->hop_ns = number(off, "cpu_s") * 1e9 / number(off, "packet_hops");
		s->row_ns = (number(on, "cpu_s") - number(off, "cpu_s")) * 1e9 / (double)s->count;
		s->run_s = number(on, "virtual_ns") / 1e9;
		s->offered_bytes = number(json_object_get(on, "export"), "offered_bytes");
	}
	json_decref(off);
	json_decref(on);
	return ret;
}

/* ---- stages ---- */

static void
measure_framing(struct stages *s)
{
	static struct recframe frame;
	uint64_t begun_ns = clock_cpu_ns();

	s->framed_bytes = 0;
	recframe_begin(&frame, 0);
	for (size_t at = 0; at < s->used_bytes; at += record_at(s, at)->size) {
		if (recframe_put(&frame, record_at(s, at)))
			continue;
		s->framed_bytes += recframe_end(&frame)->size;
		recframe_begin(&frame, record_at(s, at)->time_ps);
		if (!recframe_put(&frame, record_at(s, at)))
			assert(!"a record that no frame holds");
	}
	if (frame.records != 0)
		s->framed_bytes += recframe_end(&frame)->size;
	s->frame_ns = least(s->frame_ns, (double)(clock_cpu_ns() - begun_ns) / (double)s->count);
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Reads from the recording by how much records were sent after their own time. */
static int
read_lags(const struct stages *s, const char *path, struct stage_load *load)
{
	uint64_t *lags_ps = malloc((s->count + 1) * sizeof(*lags_ps));
	size_t size_bytes, count = 0;
	const uint8_t *data = source_map(path, &size_bytes, s->err);
	struct recframe_reader reader;
	const struct rec_hdr *rec;
	int ret = data != NULL && lags_ps != NULL ? 0 : -EIO;

	for (size_t at = sizeof(struct rec_stream); ret == 0 && at < size_bytes;) {
		uint8_t frame[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
		struct rec_hdr hdr;

		memcpy(&hdr, data + at, sizeof(hdr));
		if (hdr.type == REC_FRAME) {
			memcpy(frame, data + at, hdr.size);
			recframe_open(&reader, (const void *)frame);
			while ((ret = recframe_next(&reader, &rec, s->err)) > 0)
				lags_ps[count++] = hdr.time_ps - rec->time_ps;
		}
		at += hdr.size;
	}
	if (ret == 0 && count != 0) {
		qsort(lags_ps, count, sizeof(*lags_ps), compare);
		load->lag_p50_ps = lags_ps[count / 2];
		load->lag_p99_ps = lags_ps[count * 99 / 100];
		load->lag_max_ps = lags_ps[count - 1];
	}
	free(lags_ps);
	return ret;
}

/* The reports of one time after another. @return the most bytes that waited */
static uint64_t
offer_all(const struct stages *s, struct exporter *exporter)
{
	struct exporter_stats stats;
	struct recbuf buf, *bufs[] = { &buf };
	uint64_t most_bytes = 0;

	recbuf_init(&buf, 0);
	for (size_t at = 0; at < s->used_bytes;) {
		uint64_t time_ps = record_at(s, at)->time_ps;

		for (; at < s->used_bytes && record_at(s, at)->time_ps == time_ps; at += record_at(s, at)->size) {
			buf.node = record_at(s, at)->node; /* one buffer for all of them */
			buf.seq = record_at(s, at)->seq;
			recbuf_append(&buf, record_at(s, at));
		}
		exporter_collect(exporter, bufs, 1);
		exporter_advance(exporter, time_ps + 1);
		exporter_stats(exporter, &stats);
		most_bytes = stats.waiting_bytes > most_bytes ? stats.waiting_bytes : most_bytes;
	}
	recbuf_fini(&buf);
	return most_bytes;
}

static int
measure_export(struct stages *s, size_t at)
{
	struct stage_load *load = &s->loads[at];
	uint64_t begun_ns = clock_cpu_ns();
	char path[PATH_MAX];
	const struct exporter_config config = {
		.budget = loads[at] > 0 ? (uint64_t)(s->offered_bytes / s->run_s / loads[at]) : 0, .queue_bytes = 1000000
	};
	const struct output_target target = { .ops = &output_recording, .path = path };
	struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE, .end_ps = (uint64_t)(s->run_s * 1e12) };
	struct exporter_stats stats;
	struct exporter *exporter;
	size_t heap;
	int ret;

	snprintf(path, sizeof(path), "%s/stage.bin", s->dir);
	heap = heap_bytes();
	exporter = exporter_create(&config, &target, 1, s->err);
	if (exporter == NULL)
		return -errno;
	load->waiting_bytes = offer_all(s, exporter);
	load->heap_bytes = grown_bytes(heap);
	exporter_finish(exporter, &end);
	load->export_ns = least(load->export_ns, (double)(clock_cpu_ns() - begun_ns) / (double)s->count);
	exporter_stats(exporter, &stats);
	load->budget = config.budget;
	load->made = stats.all.offered_records;
	load->sent = stats.all.sent_records;
	load->held_back = stats.all.deferred_records;
	load->dropped = stats.all.dropped_records;
	load->bytes = stats.frame_bytes + stats.gap_bytes;
	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++)
		load->dropped_of[kind] = stats.kinds[kind].dropped_records;
	exporter_destroy(exporter);
	ret = read_lags(s, path, load);
	if (ret == 0 && (load->made != s->count || load->sent + load->dropped != load->made))
		ret = err_set(s->err, -EPROTO, "of %llu records made %llu were sent and %llu dropped",
			      (unsigned long long)s->count, (unsigned long long)load->sent,
			      (unsigned long long)load->dropped);
	return ret;
}

static int
measure_joining(struct stages *s)
{
	struct verdict *verdict = NULL;
	struct evidence evidence;
	struct stream stream;
	size_t heap = heap_bytes(), joined_heap;
	uint64_t begun_ns = clock_cpu_ns(), joined_ns;
	int ret = 0;

	evidence_init(&evidence);
	stream_init(&stream, &evidence);
	for (size_t at = 0; ret == 0 && at < s->stream_bytes; at += PORTION_BYTES) {
		size_t left = s->stream_bytes - at;

		ret = stream_feed(&stream, s->stream + at, left < PORTION_BYTES ? left : PORTION_BYTES, s->err);
	}
	if (ret == 0)
		ret = stream_finish(&stream, s->err);
	stream_fini(&stream);
	joined_heap = heap_bytes();
	s->evidence_bytes = grown_bytes(heap);
	joined_ns = clock_cpu_ns();
	s->join_ns = least(s->join_ns, (double)(joined_ns - begun_ns) / (double)s->count);
	if (ret == 0)
		ret = registry_diagnose(&evidence, &verdict, s->err);
	s->diagnose_ms = least(s->diagnose_ms, (double)(clock_cpu_ns() - joined_ns) / 1e6);
	s->verdict_bytes = grown_bytes(joined_heap);
	verdict_destroy(verdict);
	evidence_fini(&evidence);
	s->memory_bytes = clock_peak_rss_bytes();
	return ret;
}

/* ---- sockets ---- */

/* A thread that reads until the sender is done. */
struct reader {
	int fd;
	_Atomic bool done; /* a datagram socket has no end of its own */
	uint64_t bytes, last_ns;
};

static void *
take_all(void *arg)
{
	static uint8_t portion[PORTION_BYTES];
	struct reader *reader = arg;

	for (;;) {
		ssize_t got = read(reader->fd, portion, sizeof(portion));

		if (got > 0) {
			reader->bytes += (uint64_t)got;
			reader->last_ns = clock_now_ns();
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR) || reader->done) {
			return NULL;
		}
	}
}

static int
unix_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
}

/* @return a socket at a free port of loopback, address set to it; -1 */
static int
bound(int type, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (fd >= 0 && bind(fd, (struct sockaddr *)address, size) == 0 &&
	    getsockname(fd, (struct sockaddr *)address, &size) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
tcp_pair(int fds[2])
{
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address);

	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[1] = -1;
	if (listener >= 0 && fds[0] >= 0 && listen(listener, 1) == 0 &&
	    connect(fds[0], (struct sockaddr *)&address, sizeof(address)) == 0)
		fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (listener >= 0)
		close(listener);
	return fds[1] >= 0 ? 0 : -1;
}

static int
udp_pair(int fds[2])
{
	const struct timeval silence = { .tv_usec = 50000 };
	struct sockaddr_in address;

	fds[1] = bound(SOCK_DGRAM, &address);
	fds[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fds[0] < 0 || fds[1] < 0 || setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) < 0)
		return -1;
	return connect(fds[0], (struct sockaddr *)&address, sizeof(address));
}

/* @return bytes sent: the stream again and again; -1 with errno */
static int64_t
send_all(const struct stages *s, int fd, size_t portion_bytes)
{
	int64_t sent_bytes = 0;

	while (sent_bytes < SOCKET_BYTES)
		for (size_t at = 0; at < s->stream_bytes;) {
			size_t left = s->stream_bytes - at;
			ssize_t put = send(fd, s->stream + at, left < portion_bytes ? left : portion_bytes, MSG_NOSIGNAL);

			if (put < 0)
				return -1;
			at += (size_t)put;
			sent_bytes += put;
		}
	return sent_bytes;
}

/* Measures a socket from one thread to another, in wall time; keeps the repeat in which the most arrived. */
static int
measure_socket(struct stages *s, size_t which)
{
	struct stage_socket *best = &s->sockets[which];
	int fds[2] = { -1, -1 }, ret = sockets[which].pair(fds);
	uint64_t begun_ns = clock_now_ns();
	struct reader reader = { .fd = fds[1], .last_ns = begun_ns + 1 };
	pthread_t thread;
	int64_t sent_bytes;
	double bytes_s;

	if (ret < 0 || pthread_create(&thread, NULL, take_all, &reader) != 0)
		return err_set(s->err, -errno, "no %s socket: %s", sockets[which].name, strerror(errno));
	sent_bytes = send_all(s, fds[0], sockets[which].portion_bytes);
	if (sent_bytes < 0)
		ret = err_set(s->err, -errno, "%s: %s", sockets[which].name, strerror(errno));
	shutdown(fds[0], SHUT_WR);
	reader.done = true;
	pthread_join(thread, NULL);
	bytes_s = (double)reader.bytes * 1e9 / (double)(reader.last_ns - begun_ns);
	if (ret == 0 && bytes_s > best->bytes_s)
		*best = (struct stage_socket){ bytes_s, 1 - (double)reader.bytes / (double)sent_bytes };
	close(fds[0]);
	close(fds[1]);
	return ret;
}

/* The repeat that took the fabric's thread the least time stays. */
static int
measure_throttle(struct stages *s, size_t which)
{
	const struct bench_load load = { s->records, s->used_bytes, (uint64_t)(s->run_s * 1e12) + PS_PER_MS };
	struct bench_throttle *best = &s->throttles[which], now;
	int ret = bench_throttle_measure(&load, which, &now, s->err);

	if (ret == 0 && (best->made == 0 || now.spent_ns < best->spent_ns))
		*best = now;
	return ret;
}

static int
measure(struct stages *s)
{
	int ret = record_run(s);

	for (int n = 0; ret == 0 && n < s->options->repeats; n++) {
		measure_framing(s);
		ret = measure_joining(s);
		for (size_t i = 0; ret == 0 && i < NLOADS; i++)
			ret = measure_export(s, i);
		for (size_t i = 0; ret == 0 && i < ARRAY_LEN(sockets); i++)
			ret = measure_socket(s, i);
		for (size_t i = 0; ret == 0 && i < BENCH_THROTTLES; i++)
			ret = measure_throttle(s, i);
	}
	return ret;
}

/* ---- for people and machines ---- */

static void
print_loads(const struct stages *s)
{
	static const char *const columns[] = { "LOAD",  "BUDGET MB/S", "MADE",     "IN TIME", "HELD BACK", "DROPPED",
					       "BYTES", "LATE US",     "QUEUE KB", "HEAP KB", "EXPORT NS", "K/S A CORE" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, SCOLS_FL_RIGHT);
	for (size_t i = 0; i < NLOADS; i++) {
		const struct stage_load *l = &s->loads[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[ARRAY_LEN(columns)][48];

		snprintf(cell[0], 48, loads[i] > 0 ? "%g" : "-", loads[i]);
		snprintf(cell[1], 48, l->budget != 0 ? "%.1f" : "-", (double)l->budget / 1e6);
		snprintf(cell[2], 48, "%llu", (unsigned long long)l->made);
		snprintf(cell[3], 48, "%llu", (unsigned long long)(l->sent - l->held_back));
		snprintf(cell[4], 48, "%llu", (unsigned long long)l->held_back);
		snprintf(cell[5], 48, "%llu", (unsigned long long)l->dropped);
		snprintf(cell[6], 48, "%llu", (unsigned long long)l->bytes);
		snprintf(cell[7], 48, "%.1f %.1f %.1f", (double)l->lag_p50_ps / 1e6, (double)l->lag_p99_ps / 1e6,
			 (double)l->lag_max_ps / 1e6);
		snprintf(cell[8], 48, "%.0f", (double)l->waiting_bytes / 1e3);
		snprintf(cell[9], 48, "%.0f", (double)l->heap_bytes / 1e3);
		snprintf(cell[10], 48, "%.0f", l->export_ns);
		snprintf(cell[11], 48, "%.0f", 1e6 / l->export_ns);
		for (size_t c = 0; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void
print_stages(const struct stages *s)
{
	double packed = s->framed_bytes / (double)s->count;

	printf("\nfat-tree K=%d, %d Gbps, every port's rows every 20 us. LOAD: bytes offered in the run, in what the "
	       "budget "
	       "carries. LATE: from a\nrecord's time until it left; median, 99 %%, most. Processor time of a record, and a "
	       "hop "
	       "is %.1f ns:\n",
	       s->options->k, s->options->rate_gbps, s->hop_ns);
	printf("  counted, reported, sent to a file in the run %8.0f ns\n", s->row_ns);
	printf("  packed into a frame                          %8.0f ns  %.1f MB/s a core, %.1f B a record\n", s->frame_ns,
	       packed * 1e3 / s->frame_ns, packed);
	printf("  checked and joined into evidence             %8.0f ns  %.1f MB/s a core, %.1f B a record on the heap\n",
	       s->join_ns, packed * 1e3 / s->join_ns, (double)s->evidence_bytes / (double)s->count);
	printf("  diagnosed, all of it                         %8.1f ms  %.1f kB on the heap\n", s->diagnose_ms,
	       (double)s->verdict_bytes / 1e3);
	for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
		printf("  over %-17s                       %8.0f MB/s  %.1f %% lost\n", sockets[i].name,
		       s->sockets[i].bytes_s / 1e6, 100 * s->sockets[i].lost);
	printf("Most memory of this program, with the recording: %.1f MB. Best of %d runs.\n",
	       (double)s->memory_bytes / 1e6, s->options->repeats);
}

/* "12 PORT_ROW, 3 STEP": what was dropped. */
static void
list_dropped(const struct bench_throttle *t, char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t kind = 0; kind < RECORD_KINDS && used < cap; kind++)
		if (t->dropped_of[kind] != 0)
			used += (size_t)snprintf(buf + used, cap - used, "%s%llu %s", used != 0 ? ", " : "",
						 (unsigned long long)t->dropped_of[kind], record_kinds[kind].title);
}

static void
print_throttles(const struct stages *s)
{
	static const char *const columns[] = { "ANALYZER",        "TIME",   "MADE", "RECEIVED", "DROPPED", "NS A RECORD",
					       "LONGEST CALL MS", "OF THEM" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i < 2 || i == 7 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < BENCH_THROTTLES; i++) {
		const struct bench_throttle *t = &s->throttles[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[ARRAY_LEN(columns)][128];

		snprintf(cell[0], 128, "%s", bench_throttle_cases[i].name);
		snprintf(cell[1], 128, "%s", bench_throttle_cases[i].real ? "real" : "virtual");
		snprintf(cell[2], 128, "%llu", (unsigned long long)t->made);
		snprintf(cell[3], 128, "%llu", (unsigned long long)t->received);
		snprintf(cell[4], 128, "%llu", (unsigned long long)t->dropped);
		snprintf(cell[5], 128, "%.0f", (double)t->spent_ns / (double)t->made);
		snprintf(cell[6], 128, "%.2f", (double)t->longest_ns / 1e6);
		list_dropped(t, cell[7], 128);
		for (size_t c = 0; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	puts("\nThe same records again and again, to an analyzer that reads so fast; NS: wall time of the fabric's thread "
	     "in "
	     "the exporter.\nIn virtual time it waits for the analyzer, in real time records are dropped instead:");
	scols_print_table(table);
	scols_unref_table(table);
}

static json_t *
throttle_json(const struct stages *s, size_t i)
{
	const struct bench_throttle *t = &s->throttles[i];
	json_t *kinds = json_object();

	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++)
		if (t->dropped_of[kind] != 0)
			json_object_set_new(kinds, record_kinds[kind].title, json_integer((json_int_t)t->dropped_of[kind]));
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:I, s:f, s:f}", "analyzer", bench_throttle_cases[i].name, "clock",
			 bench_throttle_cases[i].real ? "real" : "virtual", "made", (json_int_t)t->made, "received",
			 (json_int_t)t->received, "dropped", (json_int_t)t->dropped, "dropped_of", kinds, "bytes",
			 (json_int_t)t->bytes, "record_ns", (double)t->spent_ns / (double)t->made, "longest_ms",
			 (double)t->longest_ns / 1e6);
}

static json_t *
load_json(const struct stages *s, size_t i)
{
	const struct stage_load *l = &s->loads[i];
	json_t *kinds = json_object();

	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++)
		if (l->dropped_of[kind] != 0)
			json_object_set_new(kinds, record_kinds[kind].title, json_integer((json_int_t)l->dropped_of[kind]));
	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "load", loads[i],
			 "budget", (json_int_t)l->budget, "made", (json_int_t)l->made, "in_time",
			 (json_int_t)(l->sent - l->held_back), "held_back", (json_int_t)l->held_back, "dropped",
			 (json_int_t)l->dropped, "bytes", (json_int_t)l->bytes, "waiting_bytes",
			 (json_int_t)l->waiting_bytes, "heap_bytes", (json_int_t)l->heap_bytes, "late_p50_us",
			 (double)l->lag_p50_ps / 1e6, "late_p99_us", (double)l->lag_p99_ps / 1e6, "late_max_us",
			 (double)l->lag_max_ps / 1e6, "export_ns", l->export_ns, "dropped_of", kinds);
}

static void
print_json(const struct stages *s)
{
	json_t *rows = json_array(), *over = json_object(), *throttles = json_array(), *root;

	for (size_t i = 0; i < NLOADS; i++)
		json_array_append_new(rows, load_json(s, i));
	for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
		json_object_set_new(over, sockets[i].name,
				    json_pack("{s:f, s:f}", "bytes_s", s->sockets[i].bytes_s, "lost", s->sockets[i].lost));
	for (size_t i = 0; i < BENCH_THROTTLES; i++)
		json_array_append_new(throttles, throttle_json(s, i));
	root = json_pack("{s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o, s:o}", "k", s->options->k, "rate_gbps",
			 s->options->rate_gbps, "records", (json_int_t)s->count, "framed_bytes", s->framed_bytes, "hop_ns",
			 s->hop_ns, "row_ns", s->row_ns, "frame_ns", s->frame_ns, "join_ns", s->join_ns, "diagnose_ms",
			 s->diagnose_ms, "memory_bytes", (json_int_t)s->memory_bytes, "sockets", over, "loads", rows);
	json_object_set_new(root, "evidence_bytes", json_integer((json_int_t)s->evidence_bytes));
	json_object_set_new(root, "verdict_bytes", json_integer((json_int_t)s->verdict_bytes));
	json_object_set_new(root, "analyzers", throttles);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_stages(const char *dir, const struct bench_options *options, struct err *err)
{
	struct stages s = { .dir = dir, .options = options, .err = err };
	int ret = measure(&s);

	if (ret == 0 && options->json)
		print_json(&s);
	else if (ret == 0) {
		print_loads(&s);
		print_stages(&s);
		print_throttles(&s);
	}
	free(s.records);
	return ret;
}
