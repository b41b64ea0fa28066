/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record_dump FILE: every record of a recorded stream, in C, a line each, for tests of readers in other languages:
 *   NAME node time_ps seq event FIELD=VALUE ...
 * Tuples are src_ip:dst_ip:sport:dport; texts are in hexadecimal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/frame.h"
#include "common/record/kinds.h"

static void
print_field(const uint8_t *record, const struct record_field *field)
{
	struct rec_tuple tuple;
	uint64_t number = 0;

	printf(" %s=", field->name);
	if (field->rule == RECORD_TUPLE) {
		memcpy(&tuple, record + field->at, sizeof(tuple));
		printf("%u:%u:%u:%u", tuple.src_ip, tuple.dst_ip, tuple.sport, tuple.dport);
	} else if (field->rule == RECORD_NAME || field->rule == RECORD_TEXT) {
		for (uint16_t i = 0; i < field->size && record[field->at + i] != 0; i++)
			printf("%02x", record[field->at + i]);
	} else {
		memcpy(&number, record + field->at, field->size);
		printf("%" PRIu64, number);
	}
}

static void
print_record(const struct rec_hdr *hdr)
{
	const struct record_kind *kind = &record_kinds[hdr->type];

	printf("%s %u %" PRIu64 " %u %u", kind->name, hdr->node, hdr->time_ps, hdr->seq, hdr->event);
	for (uint32_t i = 0; i < kind->nfields; i++)
		print_field((const uint8_t *)hdr, &kind->fields[i]);
	putchar('\n');
}

static int
print_piece(const struct rec_hdr *hdr)
{
	static struct recframe_reader reader;
	struct err err = { "" };
	const struct rec_hdr *rec;
	int more = 0;

	if (hdr->type != REC_FRAME) {
		print_record(hdr);
		return 0;
	}
	recframe_open(&reader, hdr);
	while ((more = recframe_next(&reader, &rec, &err)) > 0)
		print_record(rec);
	return more;
}

int
main(int argc, char **argv)
{
	static _Alignas(8) uint8_t piece[UINT16_MAX];
	struct rec_stream head;
	struct rec_hdr hdr;
	FILE *from = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (from == NULL || fread(&head, 1, sizeof(head), from) != sizeof(head))
		return EXIT_FAILURE;
	while (fread(piece, 1, sizeof(hdr), from) == sizeof(hdr)) {
		memcpy(&hdr, piece, sizeof(hdr));
		if (hdr.size < sizeof(hdr) ||
		    fread(piece + sizeof(hdr), 1, hdr.size - sizeof(hdr), from) != hdr.size - sizeof(hdr) ||
		    print_piece((const struct rec_hdr *)piece) < 0)
			return EXIT_FAILURE;
	}
	fclose(from);
	return EXIT_SUCCESS;
}
