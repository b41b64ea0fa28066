/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service of a run: code that works between the windows of a fabric, on its first lcore, beside switches and hosts.
 * A service is a file with its row, and a line in the table of services (emulation/services.c), or is attached by the
 * program that starts the run. Neither the emulation nor the head of the stream knows any service by name. NULL where
 * a service has no such part.
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
	 * @param state  set to the argument of the other members, if the scenario enables the service; else left NULL
	 * @return 0 or negative errno with err set; the value of *state is destroyed
	 */
	int (*create)(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err);
	/* When change() is due next, at or after now_ps; TIME_NEVER: not as things are. */
	uint64_t (*next_ps)(const void *state, uint64_t now_ps);
	/* Between windows, wherever any service is due. Services change in the order of their rows. */
	void (*change)(void *state, uint64_t now_ps);
	/* Answers requests from outside the fabric; after each window, and while a window waits for its time. */
	void (*answer)(void *state, uint64_t now_ps);
	/* After each window, before its records are exported. */
	void (*collect)(void *state, uint64_t now_ps);
	/* Whether the run continues for it, even when all hosts are done. */
	bool (*busy)(const void *state);
	/* An operator's knowledge of it before the run, as records. */
	void (*stream_head)(const void *state, struct exporter *exporter);
	/* After the last window and the hosts' last reports: its last records. */
	void (*finish)(void *state, uint64_t end_ps);
	/* Its members of run.json. @param root  the object */
	void (*report)(const void *state, json_t *root);
	/* Before nodes are destroyed. NULL: the caller that attached it owns the state. */
	void (*destroy)(void *state);
};

/* The services of every run, in the order in which they change the fabric and write the stream's head. */
extern const struct run_service *const run_services[]; /* ends with NULL */

/* Links that faults take down and bring up become known to the switches that are not at their ends. */
extern const struct run_service service_rerouting;
/*
 * FlowTracer: processes and threads of an operator's tracer ask hosts for their flows and switches for the egress of
 * each.
 */
extern const struct run_service service_flowtracer;

/*
 * One line on stderr, a few times a second, while a run goes on, when that is a terminal. Just before the first window.
 * @return 0, or -ENOMEM with err set
 */
int progress_attach(struct emulation *emulation, struct err *err);
/*
 * Starts to measure how late the machine runs a fabric in real time: LATENESS records. Just before the first window.
 * @return 0 or negative errno with err set
 */
int lateness_attach(struct emulation *emulation, struct err *err);
