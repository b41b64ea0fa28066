/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of a host with its own kernel, from its management channel until the fabric takes them. Here they enter the
 * program: what cannot be, or not be read, is left out and counted; the run, and what the host says besides, are of use
 * without it.
 */
#pragma once

#include "common/record/buffer.h"
#include "common/record/check.h"

struct host_records {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	uint64_t refused;
	struct err why; /* the first of them, with the host's name */
};

void host_records_fini(struct host_records *records);

/*
 * @param node, name  of the host: records are its own whatever they say
 * @param now_ps      of the run: what is reported has happened
 * @param body        whole records, in form (common/manage_stream.h)
 */
void host_records_take(struct host_records *records, struct record_check *check, uint32_t node, const char *name,
		       uint64_t now_ps, const void *body, uint32_t size);

/* Moves all of them; those older than from_ps count as reported then. @return detections among them */
uint32_t host_records_move(struct host_records *records, struct recbuf *to, uint64_t from_ps);
