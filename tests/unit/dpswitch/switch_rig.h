/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One switch between generators. Frames of 1000 B take 80 ns at 100 Gbps and 800 ns at 10 Gbps; cables are 1 us long and
 * receivers take no time. Frame k of a burst from time 0 on is with the switch at (k + 1) x 80 ns + 1 us. For one test
 * program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"

#define NS PS_PER_NS
#define FRAME_NS 80
#define SLOW_NS 800
#define DELAY_NS 1000
#define FIRST_NS (FRAME_NS + DELAY_NS) /* the first frame is with the switch */
#define PAUSE_PS 6720                  /* 84 B at 100 Gbps */

#define NETWORK(links)                                                                                                     \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S\" ]; "                    \
	"hosts = [ \"a\", \"b\", \"c\" ]; links = (" links "); };"

/* a and c send, b receives through a tenth of their rate. */
static const char narrow[] = NETWORK("\"a S\", \"b S 10Gbps\", \"c S\"");
static const char wide[] = NETWORK("\"a S\", \"b S\", \"c S\"");

enum { PORT_A, PORT_B, PORT_C };

static inline void
start(struct frig *rig)
{
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* Static thresholds: 2000 B reserved, XOFF 10000 B above, XON 3000 B below that. */
static inline void
static_pfc(struct frig *rig)
{
	rig->setup.all.pfc.model = PFC_STATIC;
	rig->setup.all.pfc.reserve_bytes = 2000;
	rig->setup.all.pfc.xoff_bytes = 10000;
	rig->setup.all.pfc.xon_offset_bytes = 3000;
}

/* @return order in which b received, one letter a frame by its priority digit */
static inline void
order_of(const struct frig_host *host, char *buf, size_t cap)
{
	size_t n = host->ngot < cap - 1 ? host->ngot : cap - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = (char)('0' + host->got[i].prio);
	buf[n] = '\0';
}
