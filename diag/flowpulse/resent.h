/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Retransmissions of hosts in collectives, by iteration and pair of hosts, as their RNICs count them (packet_seq_err,
 * local_ack_timeout_err) and STEP records report them. A packet that a link loses is sent again: no more than these can
 * have been lost, and without retransmissions nothing was lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/flowpulse/paths.h"

struct evidence;

#define RESENT_UNKNOWN UINT64_MAX

/* One pair of hosts in one iteration of a collective. */
struct resent_row {
	uint32_t collective; /* its id */
	uint32_t iteration;
	uint32_t src, dst; /* nodes */
	uint64_t packets;
	uint64_t bytes;    /* that were to be sent */
	uint64_t first_ps; /* its first step began; 0: not reported, UINT64_MAX: it had not begun when the run ended */
	bool is_whole;     /* every step is over and reported */
};

struct resent {
	const struct paths *paths;
	struct resent_row *rows; /* [nrows] by collective and iteration */
	uint32_t nrows;
};

/* @param paths  must outlive it @return 0 or -ENOMEM with err */
int resent_init(struct resent *resent, const struct paths *paths, const struct evidence *evidence, struct err *err);
/* Also of one that is zero. */
void resent_fini(struct resent *resent);

/*
 * @return packets that hosts sent again in the iterations of an alarm, from its senders to hosts below its switch;
 *         RESENT_UNKNOWN: not all steps were reported
 */
uint64_t resent_of(const struct resent *resent, const struct rec_volume_alarm *alarm);

/*
 * Hosts of an alarm's sender sent to other leaves meanwhile, by all paths alike, and nothing again: does that show that
 * the sender's link loses nothing at that time?
 * @param ports  that the sender's packets are spread over
 */
bool resent_clears(const struct resent *resent, const struct rec_volume_alarm *alarm, uint32_t ports);
