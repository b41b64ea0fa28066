/* SPDX-License-Identifier: BSD-3-Clause */
/* One process of the tracer: its threads, and their results, in memory of its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/switch_manage.h"
#include "operator/tracer/tracer.h"

struct tracer_process {
	const struct tracer_config *config;
	uint32_t first, count; /* of config->sources, its own */
	struct traced **lists; /* [count] of each source */
	uint32_t *nflows;      /* [count] */
	char **silent;         /* [nnodes] why a device is not queried any more; NULL: it is */
	struct tracer_work work;
};

/* Traces all flows of its sources. What it found goes with the program. @return 0 or -ENOMEM */
int tracer_process_run(struct tracer_process *process);

/* A connection to a device's management socket (common/wire/switch_manage.h). Every wait has an end. */

struct client {
	int fd;
	uint32_t tag; /* of the last request */
	uint64_t timeout_ns;
	uint64_t *bytes; /* counts bytes in both directions */
	_Alignas(8) uint8_t buf[sizeof(struct swm_hdr) + SWM_MAX_REPLY];
};

/*
 * Connects, and waits for the greeting of the expected device.
 * @return 0; with err set -ETIMEDOUT, -EPROTO (another device, or an invalid message), or the system's errno
 */
int client_open(struct client *client, const char *path, const char *name, struct err *err);
void client_close(struct client *client);

/*
 * Sends a request.
 * @param rows  behind body; may be of no bytes
 * @return as client_open()
 */
int client_ask(struct client *client, enum swm_type type, const void *body, size_t size, const void *rows,
	       size_t rows_bytes, struct err *err);
/*
 * Waits for the reply to the oldest request whose reply was not taken.
 * @param tag   that it must have
 * @param type  that it must be of
 * @return its bytes, in client->buf, aligned to 8, valid until the next call; negative: as client_open(), and -EACCES:
 * refused
 */
int client_reply(struct client *client, uint32_t tag, enum swm_type type, const void **body, struct err *err);
