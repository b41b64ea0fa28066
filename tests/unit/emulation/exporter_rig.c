/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/emulation/exporter_rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/ending.h"
#include "emulation/recorder/exporter.h"

void
bench_open(struct bench *b, uint64_t budget, uint64_t burst_bytes, uint64_t queue_bytes, int socket_fd)
{
	const struct exporter_config config = { .budget = budget, .burst_bytes = burst_bytes, .queue_bytes = queue_bytes };

	bench_open_config(b, &config, socket_fd);
}

void
bench_open_config(struct bench *b, const struct exporter_config *config, int socket_fd)
{
	struct output_target targets[] = { { .ops = &output_recording }, { .ops = &output_analyzer, .fd = socket_fd } };
	struct err err = { "" };
	char dir[] = "/tmp/exporter-test-XXXXXX", path[sizeof(dir) + 16];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/recording", dir);
	targets[0].path = path;
	b->exporter = exporter_create(config, targets, socket_fd >= 0 ? 2 : 1, &err);
	assert_string_equal(err.text, "");
	assert_non_null(b->exporter);
	b->fd = open(path, O_RDONLY);
	assert_true(b->fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	for (uint32_t i = 0; i < 2; i++) {
		recbuf_init(&b->bufs[i], 10 + i);
		b->all[i] = &b->bufs[i];
	}
}

void
bench_close(struct bench *b)
{
	exporter_destroy(b->exporter);
	for (uint32_t i = 0; i < 2; i++)
		recbuf_fini(&b->bufs[i]);
	close(b->fd);
}

void
bench_report(struct bench *b, uint32_t node, uint16_t type, uint64_t time_ps)
{
	union {
		struct rec_hdr hdr;
		uint8_t bytes[256];
	} rec = { .bytes = { 0 } };

	memset(rec.bytes + sizeof(rec.hdr), (int)(b->bufs[node].seq % 251 + 1), sizeof(rec.bytes) - sizeof(rec.hdr));
	recbuf_put(&b->bufs[node], &rec, type, record_size(type), time_ps);
}

void
bench_offer(struct bench *b, uint64_t now_ps)
{
	exporter_collect(b->exporter, b->all, 2);
	exporter_advance(b->exporter, now_ps);
}

struct rec_end
bench_finish(struct bench *b, uint64_t end_ps)
{
	struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE, .end_ps = end_ps };

	exporter_collect(b->exporter, b->all, 2);
	exporter_finish(b->exporter, &end);
	return end;
}

uint8_t *
bench_recording(const struct bench *b, size_t *size_bytes)
{
	struct stat st;
	uint8_t *data;

	assert_int_equal(fstat(b->fd, &st), 0);
	*size_bytes = (size_t)st.st_size;
	data = malloc(*size_bytes + 1);
	assert_non_null(data);
	assert_int_equal(pread(b->fd, data, *size_bytes, 0), st.st_size);
	return data;
}

static void
append(uint8_t *data, size_t *used_bytes, const void *rec, size_t size_bytes)
{
	memcpy(data + *used_bytes, rec, size_bytes);
	*used_bytes += size_bytes;
}

uint8_t *
bench_records(const struct bench *b, size_t *size_bytes)
{
	static struct recframe_reader reader;
	size_t recorded_bytes, used = 0;
	uint8_t *recording = bench_recording(b, &recorded_bytes), *data = malloc(100 * recorded_bytes);

	assert_non_null(data);
	append(data, &used, recording, sizeof(struct rec_stream));
	for (size_t at = sizeof(struct rec_stream); at < recorded_bytes;) {
		uint8_t held[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
		struct rec_hdr *hdr = (void *)held;
		const struct rec_hdr *rec;
		struct err err = { "" };

		memcpy(held, recording + at, sizeof(*hdr));
		assert_true(hdr->size <= sizeof(held) && hdr->size <= recorded_bytes - at);
		memcpy(held, recording + at, hdr->size);
		at += hdr->size;
		if (hdr->type != REC_FRAME) {
			append(data, &used, held, hdr->size);
			continue;
		}
		recframe_open(&reader, hdr);
		while (recframe_next(&reader, &rec, &err) > 0)
			append(data, &used, rec, rec->size);
		assert_string_equal(err.text, "");
	}
	free(recording);
	*size_bytes = used;
	return data;
}

const struct rec_hdr *
bench_next(const uint8_t *data, size_t size_bytes, size_t *offset)
{
	const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)(data + *offset);

	if (*offset == size_bytes)
		return NULL;
	assert_true(size_bytes - *offset >= sizeof(*hdr));
	assert_true(hdr->size <= size_bytes - *offset);
	*offset += hdr->size;
	return hdr;
}

/* "type@time/node" words. */
static void
list(const struct bench *b, char *text, size_t text_bytes)
{
	size_t size_bytes, offset = sizeof(struct rec_stream), used = 0;
	uint8_t *data = bench_records(b, &size_bytes);
	const struct rec_hdr *hdr;

	text[0] = '\0';
	while ((hdr = bench_next(data, size_bytes, &offset)) != NULL && used < text_bytes) {
		int node = hdr->node == REC_NONE ? -1 : (int)hdr->node;

		used += (size_t)snprintf(text + used, text_bytes - used, "%s%u@%llu/%d", used > 0 ? " " : "", hdr->type,
					 (unsigned long long)(hdr->time_ps / PS_PER_NS), node);
	}
	free(data);
}

void
bench_expect(const struct bench *b, const char *expected)
{
	char text[8192];

	list(b, text, sizeof(text));
	assert_string_equal(text, expected);
}

void
bench_expect_end(const struct bench *b, const char *expected)
{
	char text[8192];
	size_t length;

	list(b, text, sizeof(text));
	length = strlen(text);
	assert_true(length >= strlen(expected));
	assert_string_equal(text + length - strlen(expected), expected);
}

void
bench_spend(struct bench *b)
{
	struct exporter_stats stats = { 0 };

	for (uint64_t at_ps = 0; stats.waiting_records == 0; at_ps++) {
		assert_true(at_ps < 1000);
		bench_report(b, 0, REC_FLOW_ROW, at_ps);
		bench_offer(b, at_ps + 1);
		exporter_stats(b->exporter, &stats);
	}
}

void
bench_overload(struct bench *b, uint64_t seed, uint64_t grain_ps)
{
	struct prng prng;
	uint64_t time_ps = 0, next_ps = grain_ps;

	prng_init(&prng, seed, 0);
	for (int i = 0; i < 3000; i++) {
		static const uint16_t types[] = { REC_STEP,     REC_TRIGGER,   REC_NOTIFY,     REC_POLL,    REC_PORT_ROW,
						  REC_FLOW_ROW, REC_METER_ROW, REC_MATRIX_ROW, REC_DROP_ROW };
		uint32_t node = (uint32_t)prng_below(&prng, 2);

		if (prng_below(&prng, 4) == 0)
			time_ps += prng_below(&prng, 20) * PS_PER_US;
		while (time_ps >= next_ps) {
			bench_offer(b, next_ps);
			next_ps += grain_ps;
		}
		bench_report(b, node, types[prng_below(&prng, 9)], time_ps);
	}
	bench_finish(b, time_ps + 1);
}
