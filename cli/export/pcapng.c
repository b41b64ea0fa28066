/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of a run's capture that are selected, as a capture again: blocks of draft-ietf-opsawg-pcapng are copied. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/export.h"
#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"

#define BLOCK_SECTION 0x0a0d0d0aU
#define BLOCK_INTERFACE 1U
#define BLOCK_PACKET 6U
#define OPTION_NAME 2
#define UNIT_PS 100 /* of times, as runs write them */
#define MAX_BLOCK_BYTES (1u << 20)
#define MAX_INTERFACES 65536

#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_CONTROL 0x8808
#define OPCODE_PFC 0x0101
#define PROTOCOL_UDP 17
#define PORT_ROCE 4791
#define BTH_ACKNOWLEDGE 0x11
#define BTH_CNP 0x81

struct reader {
	const struct export *export;
	FILE *from;
	const char *path;
	uint8_t *block; /* [MAX_BLOCK_BYTES] */
	uint32_t size, type;
	bool wanted[MAX_INTERFACES]; /* [interfaces] */
	uint32_t interfaces, found;
	uint64_t frames, copied;    /* of the capture, of the export */
	uint64_t first_ps, last_ps; /* times of the capture's frames */
};

/* Properties of a frame by which it is selected. */
struct frame_kind {
	bool pfc, roce;
	int opcode; /* of BTH; -1 */
	int sport;  /* UDP; -1 */
};

static const char *const kinds[] = { "pfc", "roce", "data", "ack", "cnp", "other" };

bool
export_is_frame_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i], name) == 0)
			return true;
	return false;
}

static uint32_t
get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t
net16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

/* @param bytes  [size] from the destination address on */
static struct frame_kind
kind_of(const uint8_t *bytes, uint32_t size)
{
	struct frame_kind kind = { .opcode = -1, .sport = -1 };
	uint32_t at = 14, type = size >= 14 ? net16(bytes + 12) : 0;

	if (type == ETHERTYPE_VLAN && size >= 18) {
		type = net16(bytes + 16);
		at = 18;
	}
	kind.pfc = type == ETHERTYPE_CONTROL && size >= at + 2 && net16(bytes + at) == OPCODE_PFC;
	if (type == ETHERTYPE_IPV4 && size >= at + 20 && bytes[at + 9] == PROTOCOL_UDP)
		at += (bytes[at] & 0xfu) * 4;
	else if (type == ETHERTYPE_IPV6 && size >= at + 40 && bytes[at + 6] == PROTOCOL_UDP)
		at += 40;
	else
		return kind;
	if (size < at + 8)
		return kind;
	kind.sport = (int)net16(bytes + at);
	kind.roce = net16(bytes + at + 2) == PORT_ROCE;
	if (kind.roce && size > at + 8)
		kind.opcode = bytes[at + 8];
	return kind;
}

static bool
is_kind(const char *name, const struct frame_kind *kind)
{
	bool answer = kind->opcode == BTH_ACKNOWLEDGE || kind->opcode == BTH_CNP;

	return strcmp(name, "pfc") == 0    ? kind->pfc
	       : strcmp(name, "roce") == 0 ? kind->roce
	       : strcmp(name, "ack") == 0  ? kind->opcode == BTH_ACKNOWLEDGE
	       : strcmp(name, "cnp") == 0  ? kind->opcode == BTH_CNP
	       : strcmp(name, "data") == 0 ? kind->roce && kind->opcode >= 0 && !answer
					   : !kind->pfc && !kind->roce;
}

/* @return 1: the next block is there; 0: the file ends; negative errno with err set */
static int
next(struct reader *reader, struct err *err)
{
	size_t got = fread(reader->block, 1, 8, reader->from);

	if (got == 0 && feof(reader->from))
		return 0;
	reader->type = get32(reader->block);
	reader->size = get32(reader->block + 4);
	if (got != 8 || reader->size < 12 || reader->size % 4 != 0 || reader->size > MAX_BLOCK_BYTES ||
	    fread(reader->block + 8, 1, reader->size - 8, reader->from) != reader->size - 8)
		return err_set(err, -EINVAL, "%s: it ends within a block, or is no capture of a run", reader->path);
	return 1;
}

/* The block of an interface: is it of the port that is asked for? */
static void
take_interface(struct reader *reader)
{
	const char *port = reader->export->port;
	bool wanted = port == NULL;

	for (uint32_t at = 16; !wanted && at + 4 <= reader->size - 4;) {
		uint32_t code = get32(reader->block + at) & 0xffff, length = get32(reader->block + at) >> 16;

		if (code == 0 || at + 4 + length > reader->size - 4)
			break;
		wanted = code == OPTION_NAME && length == strlen(port) && memcmp(reader->block + at + 4, port, length) == 0;
		at += 4 + (length + 3) / 4 * 4;
	}
	if (reader->interfaces < MAX_INTERFACES)
		reader->wanted[reader->interfaces] = wanted;
	reader->interfaces++;
	reader->found += wanted;
}

static bool
is_selected(struct reader *reader)
{
	const struct export *export = reader->export;
	const uint8_t *block = reader->block;
	uint32_t interface = get32(block + 8), captured;
	struct frame_kind kind;
	uint64_t time_ps;

	if (reader->size < 32)
		return false;
	captured = get32(block + 20);
	time_ps = ((uint64_t)get32(block + 12) << 32 | get32(block + 16)) * UNIT_PS;
	if (reader->frames++ == 0)
		reader->first_ps = time_ps;
	reader->last_ps = time_ps;
	if (interface >= reader->interfaces || interface >= MAX_INTERFACES || !reader->wanted[interface])
		return false;
	if (captured > reader->size - 32 || time_ps < export->from_ps || time_ps >= export->to_ps)
		return false;
	kind = kind_of(block + 28, captured);
	return (export->frames == NULL || is_kind(export->frames, &kind)) &&
	       (export->sport < 0 || kind.sport == export->sport);
}

/* Interfaces keep their numbers; statistics, which count all frames, are left out. @return 0 or negative errno, err set */
static int
copy(struct reader *reader, FILE *to, struct err *err)
{
	int ret;

	while ((ret = next(reader, err)) == 1) {
		bool selected = reader->type == BLOCK_SECTION || reader->type == BLOCK_INTERFACE;

		if (reader->type == BLOCK_INTERFACE)
			take_interface(reader);
		if (reader->type == BLOCK_PACKET) {
			selected = is_selected(reader);
			reader->copied += selected;
		}
		if (selected && fwrite(reader->block, 1, reader->size, to) != reader->size)
			return err_set(err, -EIO, "the capture could not be written: %s", strerror(errno));
	}
	if (ret == 0 && reader->found == 0)
		return err_set(err, -EINVAL, "--port %s: it was not captured", reader->export->port);
	if (ret == 0 && reader->copied == 0)
		log_warning("none of the %" PRIu64 " frames of %s is selected; they are from %.6f ms to %.6f ms",
			    reader->frames, reader->path, (double)reader->first_ps / (double)PS_PER_MS,
			    (double)reader->last_ps / (double)PS_PER_MS);
	return ret;
}

int
export_pcapng(const struct export *export, FILE *to, struct err *err)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct err why = { "" };
	char path[PATH_MAX];
	int ret = 0;

	if (reader != NULL)
		reader->block = malloc(MAX_BLOCK_BYTES);
	if (reader == NULL || reader->block == NULL) {
		ret = err_set(err, -ENOMEM, "out of memory");
	} else if (snprintf(path, sizeof(path), "%s/" RUN_CAPTURE, export->dir) >= (int)sizeof(path)) {
		ret = err_set(err, -ENAMETOOLONG, "%s: too long a path", export->dir);
	} else {
		reader->export = export;
		reader->path = path;
		reader->from = input_fopen(path, &why);
		ret = reader->from != NULL ? copy(reader, to, err)
					   : err_set(err, -ENOENT, "%s: rocelab run --capture PORT writes one", why.text);
	}
	if (reader != NULL && reader->from != NULL)
		fclose(reader->from);
	free(reader != NULL ? reader->block : NULL);
	free(reader);
	return ret;
}
