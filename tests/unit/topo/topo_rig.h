/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies from text, for tests. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cfg/cfg.h"
#include "topo/build.h"

#define MAX_TABLES 16

/* Loads text as "t.cfg", checks its keys and builds its topology. @return 0, or what failed with err set */
static inline int
try_topo(const char *text, struct cfg **cfg, struct topo **topo, struct err *err)
{
	struct cfg_known known[MAX_TABLES];
	size_t count = topo_tables(known, MAX_TABLES);
	int rc;

	*topo = NULL;
	*cfg = cfg_load_string(text, "t.cfg", err);
	if (*cfg == NULL)
		return -EINVAL;
	rc = cfg_check(*cfg, known, count, err);
	return rc == 0 ? topo_build(*cfg, topo, err) : rc;
}

static inline struct topo *
make_topo(const char *text, struct cfg **cfg)
{
	struct err err = { "" };
	struct topo *topo;

	if (try_topo(text, cfg, &topo, &err) != 0)
		fail_msg("%s", err.text);
	return topo;
}

/* The text must be refused with this message. */
static inline void
expect_topo_error(const char *text, const char *message)
{
	struct err err = { "" };
	struct topo *topo;
	struct cfg *cfg;
	int rc = try_topo(text, &cfg, &topo, &err);

	assert_string_equal(err.text, message);
	assert_int_equal(rc, -EINVAL);
	assert_null(topo);
	cfg_destroy(cfg);
}

/* Peer of a port given as "6:2", as "3:4". buf of 40 bytes. */
static inline const char *
peer_of(const struct topo *topo, const char *port, char *buf)
{
	uint32_t id = topo_find_port(topo, port);

	assert_int_not_equal(id, TOPO_NONE);
	return topo_port_name(topo, topo->ports[id].peer_port, buf);
}
