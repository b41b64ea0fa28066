/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts of a driver of the test's own, in real time, without EAL. */
#pragma once

#include "emulation/emulation.h"

#define PAIR                                                                                                               \
	"topology = { kind = \"explicit\"; rate = \"1Gbps\"; delay = \"30us\"; switches = [ \"s\" ]; "                     \
	"hosts = [ \"a\", \"b\" ]; links = ( \"a s\", \"b s\" ); }; "

/* What the emulation asked of the driver, and what it shall hear. */
struct fake {
	struct emulation *emulation;
	uint32_t fabrics, nodes, serviced, asked_pending, started, closed;
	uint32_t busy;  /* so many services long its hosts have work, or are not ready */
	uint32_t fails; /* at this service the first host is lost; 0: never */
	bool reported;
	bool reports_late; /* at every question, of when it was asked last, and the second host of a little later */
};

extern const struct host_driver_ops fake_hosts;

struct scenario *hosts_load(const char *text);
/* Two of these hosts, and a flow between them. */
struct scenario *hosts_load_pair(void);
