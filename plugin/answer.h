/* SPDX-License-Identifier: BSD-3-Clause */
/* A line that an outside program says on its control socket: an object with one member, which says what it is. */
#pragma once

#include <stddef.h>

#include "plugin/finding.h"

enum plugin_kind {
	PLUGIN_DONE,      /* {"done": TURN}: all that it has to say of this turn is said */
	PLUGIN_FINDING,   /* {"finding": {...}} */
	PLUGIN_POLL_PORT, /* {"poll": {"port": "6:2"}} */
	PLUGIN_POLL_FLOW, /* {"poll": {"flow": "h1->h2/20000>4791"}} */
	PLUGIN_PROBE,     /* {"probe": {"from": "h1", "to": "h2"}} */
};

struct plugin_answer {
	enum plugin_kind kind;
	uint64_t turn;
	char name[PLUGIN_NAME], to[PLUGIN_NAME]; /* of a port or flow; of hosts */
	struct plugin_finding finding;
};

/*
 * @param line    [bytes] without its line feed; anybody's bytes
 * @param answer  plugin_answer_fini() in any case
 * @return 0; -EINVAL with err saying what is wrong with it; -ENOMEM
 */
int plugin_answer_read(const char *line, size_t bytes, struct plugin_answer *answer, struct err *err);
void plugin_answer_fini(struct plugin_answer *answer);
