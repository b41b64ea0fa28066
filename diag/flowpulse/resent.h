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
	uint64_t bytes;         /* that were to be sent */
	uint64_t first_ps;      /* its first step began; 0: not reported, UINT64_MAX: it had not begun when the run ended */
	uint64_t last_ps;       /* the last of its reported steps that are over ended */
	uint64_t unacked_bytes; /* of its other steps */
	bool is_whole;          /* every step is over and reported */
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

/*
 * Some of an alarm's iterations may not have been over when the switch judged them: it takes a pause of the senders for
 * their end, and the end of the run.
 * @return payload that its senders may have had to deliver then to hosts below its switch: of steps that are not over,
 *         what was never acknowledged; of others no more than their RNICs can send until the steps' end
 */
uint64_t resent_undelivered_bytes(const struct resent *resent, const struct rec_volume_alarm *alarm);

/* @return when the first of an alarm's senders began to send in its iterations; UINT64_MAX: not reported */
uint64_t resent_began_ps(const struct resent *resent, const struct rec_volume_alarm *alarm);
