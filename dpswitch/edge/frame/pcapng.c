/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/frame/pcapng.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/outfile.h"
#include "common/spool.h"

#define BYTE_ORDER_MAGIC 0x1a2b3c4dU
#define LINK_ETHERNET 1
/*
 * if_tsresol: 10^-10 s. Wireshark takes what a fraction of a second is in nanoseconds by 64-bit products: in a finer
 * unit they overflow within the second.
 */
#define RESOLUTION 10
#define UNIT_PS 100
/* Bytes by which the disk may lag behind, before a run waits or, in real time, loses frames. */
#define BUFFER_BYTES (16u << 20)
/* A disk that takes not a byte for so long hangs. */
#define GIVE_UP_NS 60000000000ULL
#define MAX_TEXT_BYTES 1024

enum block_type {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
};

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	SECTION_APPLICATION = 4,
	INTERFACE_NAME = 2,
	INTERFACE_DESCRIPTION = 3,
	INTERFACE_SPEED = 8,
	INTERFACE_RESOLUTION = 9,
	INTERFACE_FCS = 13,
	PACKET_FLAGS = 2,
	STATISTICS_START = 2,
	STATISTICS_END = 3,
	STATISTICS_RECEIVED = 4,
	STATISTICS_DROPPED = 5,
};

struct pcapng {
	int fd;
	struct spool *spool;
	uint64_t bytes;
	bool real_time;
	struct spool_waiter waiter;
};

/*
 * A block under construction, in the writer's byte order, which the section's magic shows. Frames are written past it.
 */
struct block {
	uint8_t bytes[4 * MAX_TEXT_BYTES];
	uint32_t size;
};

static uint32_t
padded(uint32_t bytes)
{
	return (bytes + 3) & ~3U;
}

static void
put(struct block *block, const void *data, uint32_t bytes)
{
	assert(block->size + padded(bytes) <= sizeof(block->bytes));
	memcpy(block->bytes + block->size, data, bytes);
	memset(block->bytes + block->size + bytes, 0, padded(bytes) - bytes);
	block->size += padded(bytes);
}

static void
put16(struct block *block, uint16_t a, uint16_t b)
{
	uint16_t pair[] = { a, b };

	put(block, pair, sizeof(pair));
}

static void
put32(struct block *block, uint32_t value)
{
	put(block, &value, sizeof(value));
}

/* Times are written high half first. */
static void
put_time(struct block *block, uint64_t time_ps)
{
	uint64_t units = time_ps / UNIT_PS;

	put32(block, (uint32_t)(units >> 32));
	put32(block, (uint32_t)units);
}

static void
put_option(struct block *block, enum option_code code, const void *data, uint32_t bytes)
{
	put16(block, (uint16_t)code, (uint16_t)bytes);
	put(block, data, bytes);
}

static void
put_text(struct block *block, enum option_code code, const char *text)
{
	put_option(block, code, text, (uint32_t)strnlen(text, MAX_TEXT_BYTES));
}

static void
put_time_option(struct block *block, enum option_code code, uint64_t time_ps)
{
	put16(block, (uint16_t)code, sizeof(time_ps));
	put_time(block, time_ps);
}

static void
begin(struct block *block, enum block_type type)
{
	block->size = 0;
	put32(block, type);
	put32(block, 0); /* the length, known in the end */
}

/* Before the parts of a block. @return whether there is room; not in a file that has been given up */
static bool
make_room(struct pcapng *file, size_t bytes, bool may_wait)
{
	if (spool_errno(file->spool) != 0)
		return false;
	if (spool_room(file->spool) >= bytes)
		return true;
	return may_wait && spool_wait(file->spool, bytes, GIVE_UP_NS, &file->waiter) == 0;
}

static void
emit(struct pcapng *file, const void *data, size_t bytes)
{
	file->bytes += bytes;
	spool_put(file->spool, data, bytes);
}

/* Closes the options and writes the block. */
static void
end(struct pcapng *file, struct block *block)
{
	uint32_t total;

	put16(block, OPTION_END, 0);
	total = block->size + (uint32_t)sizeof(total);
	memcpy(block->bytes + sizeof(uint32_t), &total, sizeof(total));
	put32(block, total);
	if (!make_room(file, block->size, true))
		return;
	emit(file, block->bytes, block->size);
	spool_commit(file->spool);
}

/* @return 0, or negative errno */
static int
open_file(struct pcapng *file, const char *path)
{
	struct spool_config config = { .cap_bytes = BUFFER_BYTES };
	struct err err = { 0 };
	int ret;

	file->fd = config.fd = outfile_stream(path, NULL);
	if (file->fd < 0)
		return file->fd;
	file->spool = spool_create(&config, path, &err);
	if (file->spool != NULL)
		return 0;
	ret = -errno;
	close(file->fd);
	return ret;
}

struct pcapng *
pcapng_create(const char *path, const char *application, const char *comment)
{
	const int64_t unknown_length = -1;
	struct pcapng *file = calloc(1, sizeof(*file));
	struct block block;
	int ret;

	if (file == NULL)
		return NULL;
	ret = open_file(file, path);
	if (ret < 0) {
		free(file);
		errno = -ret;
		return NULL;
	}
	begin(&block, BLOCK_SECTION);
	put32(&block, BYTE_ORDER_MAGIC);
	put16(&block, 1, 0); /* version 1.0 */
	put(&block, &unknown_length, sizeof(unknown_length));
	put_text(&block, SECTION_APPLICATION, application);
	put_text(&block, OPTION_COMMENT, comment);
	end(file, &block);
	return file;
}

void
pcapng_set_clock(struct pcapng *file, bool real_time, bool (*hurried)(void))
{
	file->real_time = real_time;
	file->waiter.hurried = hurried;
}

void
pcapng_interface(struct pcapng *file, const char *name, const char *description, uint64_t rate_bps, uint32_t snap_bytes)
{
	const uint8_t resolution = RESOLUTION, fcs_bytes = 0;
	struct block block;

	begin(&block, BLOCK_INTERFACE);
	put16(&block, LINK_ETHERNET, 0);
	put32(&block, snap_bytes);
	put_text(&block, INTERFACE_NAME, name);
	put_text(&block, INTERFACE_DESCRIPTION, description);
	put_option(&block, INTERFACE_SPEED, &rate_bps, sizeof(rate_bps));
	put_option(&block, INTERFACE_RESOLUTION, &resolution, sizeof(resolution));
	put_option(&block, INTERFACE_FCS, &fcs_bytes, sizeof(fcs_bytes));
	end(file, &block);
}

/* Header with its seven words, flags, the end of options, the length again. */
#define FRAME_FIXED_BYTES (7 * 4 + 8 + 4 + 4)

uint32_t
pcapng_frame_bytes(uint32_t captured_bytes)
{
	return FRAME_FIXED_BYTES + padded(captured_bytes);
}

bool
pcapng_frame(struct pcapng *file, uint32_t interface, enum pcapng_direction direction, uint64_t time_ps,
	     const uint8_t *bytes, uint32_t captured_bytes, uint32_t frame_bytes)
{
	const uint32_t total = pcapng_frame_bytes(captured_bytes), flags = direction;
	static const uint8_t zero[3];
	struct block block;

	assert(captured_bytes <= frame_bytes && frame_bytes <= PCAPNG_MAX_BYTES);
	if (!make_room(file, total, !file->real_time))
		return false;
	block.size = 0;
	put32(&block, BLOCK_PACKET);
	put32(&block, total);
	put32(&block, interface);
	put_time(&block, time_ps);
	put32(&block, captured_bytes);
	put32(&block, frame_bytes);
	emit(file, block.bytes, block.size);
	if (captured_bytes != 0)
		emit(file, bytes, captured_bytes);
	if (padded(captured_bytes) != captured_bytes)
		emit(file, zero, padded(captured_bytes) - captured_bytes);
	block.size = 0;
	put_option(&block, PACKET_FLAGS, &flags, sizeof(flags));
	put16(&block, OPTION_END, 0);
	put32(&block, total);
	emit(file, block.bytes, block.size);
	spool_commit(file->spool);
	return true;
}

/* Header with its five words, four options of 8 bytes, the end of options, the length again. */
uint32_t
pcapng_statistics_bytes(void)
{
	return 5 * 4 + 4 * 12 + 4 + 4;
}

void
pcapng_statistics(struct pcapng *file, uint32_t interface, uint64_t end_ps, uint64_t seen, uint64_t missing)
{
	struct block block;

	begin(&block, BLOCK_STATISTICS);
	put32(&block, interface);
	put_time(&block, end_ps);
	put_time_option(&block, STATISTICS_START, 0);
	put_time_option(&block, STATISTICS_END, end_ps);
	put_option(&block, STATISTICS_RECEIVED, &seen, sizeof(seen));
	put_option(&block, STATISTICS_DROPPED, &missing, sizeof(missing));
	end(file, &block);
}

uint64_t
pcapng_bytes(const struct pcapng *file)
{
	return file->bytes;
}

int
pcapng_destroy(struct pcapng *file)
{
	int error = spool_wait(file->spool, BUFFER_BYTES, GIVE_UP_NS, &file->waiter), closing = spool_close(file->spool);

	error = error != 0 ? error : closing;
	if (close(file->fd) != 0 && error == 0)
		error = errno;
	free(file);
	return -error;
}
