/* SPDX-License-Identifier: BSD-3-Clause */
/* A buffer of the records that a node reports during a window; the exporter collects them after it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Written by the node's lcore during a window; read and reset by the exporter between windows. */
struct recbuf {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	uint32_t node;
	uint32_t seq;
	uint64_t digest; /* over every record put, before any budget */
	bool discarded;  /* records here are only counted, never read: no digest is kept */
};

/*
 * Replies of a node's ports to polling packets that were not kept: no program receives them, but the switch had the work.
 * A reply of one port to one packet is a report; bytes are those of the frames (common/record/frame.h) that it takes.
 */
struct report_count {
	uint64_t unkept_reports, unkept_bytes;
};

void recbuf_init(struct recbuf *buf, uint32_t node);
void recbuf_fini(struct recbuf *buf);

/*
 * Appends a record. The caller fills the body and hdr.event; type, size, node, time and seq are set here.
 * @param rec  a struct rec_*; its header is written to
 * Memory exhaustion ends the program with a message: a lost record would be a silent one.
 */
void recbuf_put(struct recbuf *buf, void *rec, uint16_t type, size_t size_bytes, uint64_t time_ps);

/* Appends the next record of the node, as another program's buffer had it: header and all. */
void recbuf_append(struct recbuf *buf, const void *rec);

/* Taking records out in portions: whole ones, oldest first. */
/* @return bytes of the whole records at the front that fit into the limit */
size_t recbuf_front(const struct recbuf *buf, size_t most_bytes);
/* Takes the records of recbuf_front(), or fewer whole records, out of the buffer. */
void recbuf_take(struct recbuf *buf, size_t bytes);
/* Drops the newest records beyond the limit. @return their number */
uint32_t recbuf_limit(struct recbuf *buf, size_t most_bytes);
