/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures what crosses ports of a fabric, both directions, into a pcapng file on the run's own clock. It looks at the
 * links of its ports between windows; runs that capture nothing pay nothing.
 *
 * Outbound is what the port has sent, when the last bit (its gap included) has left; inbound is what has reached its
 * MAC, when the last bit has arrived. A frame lost on a faulty cable or a link that is down is outbound at one end and
 * not inbound at the other.
 */
#pragma once

#include "common/err.h"
#include "dpswitch/fabric/fabric.h"

struct capture;

struct capture_config {
	const struct fabric *fabric;
	const uint32_t *ports; /* [nports] global port ids; copied */
	uint32_t nports;
	const char *path;
	const char *application; /* that writes it */
	const char *comment;
	uint64_t limit_bytes;  /* of the file: frames beyond it are counted only */
	uint32_t snap_bytes;   /* of each frame; 0: all */
	bool real_time;        /* the run cannot wait for the disk: frames beyond the buffer are counted only */
	bool (*hurried)(void); /* NULL, or whether a disk that hangs is to be given up soon */
	/*
	 * Writes the bytes of a packet as it is on the link, without FCS: those that ride along with it, or those that
	 * its descriptor stands for. Called between windows. @return their number, at most cap_bytes; 0: they are
	 * unknown, and the file has an empty frame of the packet's size
	 */
	size_t (*frame)(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);
	void *ctx;
};

/* Opens the file. @return NULL with err set and errno */
struct capture *capture_create(const struct capture_config *config, struct err *err);

/* Between windows, see struct fabric_hooks: takes the frames sent in the window that has ended. */
void capture_sent(struct capture *capture, const struct window *window);
/* Takes what arrives in the window that begins. */
void capture_arriving(struct capture *capture, const struct window *window);

/* Writes the rest and the statistics, and closes the file. @return 0, or the negative errno that truncated it */
int capture_close(struct capture *capture, uint64_t end_ps);
void capture_destroy(struct capture *capture);

struct capture_count {
	uint32_t port;      /* global id */
	uint64_t frames[2]; /* inbound, outbound; PFC frames included */
	uint64_t pfc_frames[2];
	uint64_t missing; /* of all: beyond the limit */
	uint64_t lagged;  /* of all: the disk did not keep up, or took no more */
};

struct capture_totals {
	uint64_t frames, missing, lagged; /* seen; of these not in the file, for one reason or the other */
	uint64_t bytes;                   /* the file's size */
	uint64_t limit_ps;                /* of the first frame beyond the limit; TIME_NEVER: none */
};

void capture_sum(const struct capture *capture, struct capture_totals *totals);
/* @return counts of ports, in the order of the configuration; *nports of them */
const struct capture_count *capture_counts(const struct capture *capture, uint32_t *nports);
