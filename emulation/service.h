/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service of a run: what works between the windows of a fabric, on its first lcore, beside switches and hosts. A service is
 * a file with its row, and a line in the table of services (emulation/services.c), or is attached by the program that starts
 * the run. Neither the emulation nor the head of the stream knows any service by name. NULL where a service has no such part.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct emulation;
struct emulation_options;
struct exporter;

#define RUN_SERVICES 16 /* of an emulation */

struct run_service {
	const char *name;
	/*
	 * Before nodes are made; the fabric is there.
	 * @param state  set to what the other members get, if the scenario wants the service; else left NULL
	 * @return 0 or negative errno with err set; what *state was set to is destroyed
	 */
	int (*create)(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err);
	/* When change() is due next, at or after now_ps; TIME_NEVER: not as things are. */
	uint64_t (*next_ps)(const void *state, uint64_t now_ps);
	/* Between windows, wherever any service is due. Services change in the order of their rows. */
	void (*change)(void *state, uint64_t now_ps);
	/* Whoever asks from outside of the fabric gets an answer; after each window, and while a window waits for its time. */
	void (*answer)(void *state, uint64_t now_ps);
	/* After each window, before its records are exported. */
	void (*collect)(void *state, uint64_t now_ps);
	/* Whether the run goes on for it, whatever hosts have done. */
	bool (*busy)(const void *state);
	/* What an operator knows of it before the run, as records. */
	void (*stream_head)(const void *state, struct exporter *exporter);
	/* After the last window and the hosts' last reports: its last records. */
	void (*finish)(void *state, uint64_t end_ps);
	/* Its members of run.json. @param root  the object */
	void (*report)(const void *state, json_t *root);
	/* Before nodes are destroyed. NULL: whoever attached it owns the state. */
	void (*destroy)(void *state);
};
