/* SPDX-License-Identifier: BSD-3-Clause */
/* A line that an outside program says on its control socket: an object with one member, which says what it is. */
#pragma once

#include <stddef.h>

#include "outside/finding.h"

enum outside_kind {
	OUTSIDE_DONE,      /* {"done": TURN}: all that it has to say of this turn is said */
	OUTSIDE_FINDING,   /* {"finding": {...}} */
	OUTSIDE_POLL_PORT, /* {"poll": {"port": "6:2"}} */
	OUTSIDE_POLL_FLOW, /* {"poll": {"flow": "h1->h2/20000>4791"}} */
	OUTSIDE_PROBE,     /* {"probe": {"from": "h1", "to": "h2"}} */
};

struct outside_answer {
	enum outside_kind kind;
	uint64_t turn;
	char name[OUTSIDE_NAME], to[OUTSIDE_NAME]; /* of a port or flow; of hosts */
	struct outside_finding finding;
};

/*
 * @param line    [bytes] without its line feed; anybody's bytes
 * @param answer  outside_answer_fini() in any case
 * @return 0; -EINVAL with err saying what is wrong with it; -ENOMEM
 */
int outside_answer_read(const char *line, size_t bytes, struct outside_answer *answer, struct err *err);
void outside_answer_fini(struct outside_answer *answer);
