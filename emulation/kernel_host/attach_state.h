/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of what attaches external hosts, shared by the files of this folder. */
#pragma once

#include "emulation/kernel_host/attach.h"

struct attached {
	uint32_t node;
	struct port *port;
	struct node *kernel_host;        /* of the present fabric */
	struct kernel_host_counters nic; /* of the last one */
};

/* A flow's place in the memory of a host with its own kernel, as that host said. */
struct landing {
	uint64_t addr;
	uint32_t rkey;
};

struct attach {
	struct scenario *scenario;
	struct host_driver driver;
	const char *dir;
	struct manage *manage;      /* from attach_prepare() on */
	struct record_check *check; /* of what the hosts report */
	struct attached *hosts;     /* [nhosts] */
	uint32_t nhosts;
	struct landing *landings; /* [flows of the plan] */
	uint64_t created_ns;
	bool progress;
	/* the present fabric */
	struct emulation *emulation;
	struct edge *edge;
	/* first phase */
	bool connecting;
	uint64_t moved, moved_ns, shown_ns;
};

/* attach.c */
struct attached *attach_host_at(const struct attach *attach, uint32_t node);
/* driver.c */
extern const struct host_driver_ops kernel_hosts;
/* Hears and answers the hosts' programs. */
void attach_service(struct attach *attach);
