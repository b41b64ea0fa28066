/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One report of a port, under way: of all that a port is asked for within telem_config.retain_ps the first is kept, as
 * Hawkeye does to bound what the analyzer has to process. What is not kept is made and counted all the same.
 */
#pragma once

#include "telemetry/epoch.h"
#include "telemetry/report.h"

struct answer {
	struct recbuf *records; /* where its rows go */
	size_t from;            /* its first byte there */
	bool kept;
};

/*
 * Puts the port's rows where they belong; the caller may add more of its own to answer.records.
 * @param whole    with the rows of what left by the port; else the present state alone
 * @param records  the node's
 * @param spare    for what is not kept: emptied by answer_end(). Initialised by the caller
 */
struct answer answer_begin(struct telem_port *t, bool whole, const struct telem_present *present, struct recbuf *records,
			   struct recbuf *spare, uint32_t event, uint64_t now_ps);

/* @return bytes of the rows, packed for the wire */
size_t answer_end(const struct answer *answer);
