/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that does nothing by itself: it notes what its client asks for, and the test says what happens when.
 * The bench for steps, monitor and agent.
 */
#pragma once

#include "common/record/buffer.h"
#include "common/wire/record.h"
#include "rxe-hosts/device/device.h"

#define SCRIPTED_FLOWS 64
#define SCRIPTED_LOG 256

struct scripted_post {
	uint32_t flow;
	struct send_wr wr;
	uint64_t time_ps;
	bool delivered, acked;
};

struct scripted_notice {
	uint32_t flow, step, detections;
};

struct scripted_poll {
	uint32_t flow, event;
	uint8_t flags;
	uint64_t time_ps;
};

struct scripted_device {
	struct device device; /* first: the ops get this pointer */
	const struct device_client *client;
	struct recbuf records;
	uint64_t now_ps, timer_ps;
	uint8_t *region;
	uint64_t region_bytes;
	struct qp_state qp[SCRIPTED_FLOWS];
	struct send_times times[SCRIPTED_FLOWS];
	struct path_rtt measured; /* of every path; base_ps 0: nothing was */
	bool error[SCRIPTED_FLOWS];
	struct scripted_post posts[SCRIPTED_LOG];
	struct scripted_notice notices[SCRIPTED_LOG];
	struct scripted_poll polls[SCRIPTED_LOG];
	struct datagram datagrams[SCRIPTED_LOG]; /* others */
	uint32_t nposts, nnotices, npolls, ndatagrams, nresets, nnic_reports;
};

void scripted_init(struct scripted_device *dev, uint32_t node);
void scripted_fini(struct scripted_device *dev);

/* The timer is due, if it is set for now_ps or earlier. */
void scripted_timer(struct scripted_device *dev, uint64_t now_ps);
/* An ACK of a byte with a sample; it becomes the flow's last. */
void scripted_rtt(struct scripted_device *dev, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps);
/* The end of a window. */
void scripted_tick(struct scripted_device *dev, uint64_t now_ps);
/* A datagram comes in. */
void scripted_receive(struct scripted_device *dev, const struct datagram *datagram, uint64_t now_ps);
void scripted_notify(struct scripted_device *dev, uint32_t flow, uint32_t step, uint32_t detections, uint64_t now_ps);

/* A posted message arrives at dev `to`, its bytes (if any) in segments of 100 B, with its completion there. */
void scripted_deliver(struct scripted_device *from, uint32_t post, struct scripted_device *to, uint64_t now_ps);
/* Its last ACK comes in. */
void scripted_ack(struct scripted_device *from, uint32_t post, uint64_t now_ps);
/* Its queue pair gives up after acked_bytes. */
void scripted_fail(struct scripted_device *from, uint32_t post, uint64_t acked_bytes, uint64_t now_ps);

/* @return the n-th record (from 0) of a type that the host reported, NULL when there are fewer */
const void *scripted_record(const struct scripted_device *dev, enum rec_type type, uint32_t n);
