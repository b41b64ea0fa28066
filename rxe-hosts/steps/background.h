/* SPDX-License-Identifier: BSD-3-Clause */
/* A background flow at its source host: posts a message at its start time, or one after the other. */
#pragma once

#include "rxe-hosts/steps/judged.h"

struct background {
	const struct plan_background *plan;
	uint64_t wake_ps;     /* when to post; TIME_NEVER */
	uint64_t start_ps;    /* of the first message; valid if started */
	uint64_t end_ps;      /* of the last complete message */
	uint64_t messages;    /* complete */
	uint64_t acked_bytes; /* of a message that failed, or was open at the close */
	uint64_t retransmits;
	bool started, sending, failed;
	struct judge judge; /* agent NULL: it is not judged */
};

void background_init(struct background *background, const struct plan_background *plan);
void background_wake(struct background *background, struct device *device, uint64_t now_ps);
void background_sent(struct background *background, struct device *device, const struct wc *wc);
void background_failed(struct background *background, const struct wc *wc);
/* The end of the run: what the open message has acknowledged. */
void background_close(struct background *background, struct device *device, uint64_t now_ps);
/* Whether there is something left to send. */
bool background_open(const struct background *background);
