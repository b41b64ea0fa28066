/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which alarms can be judged. An alarm reports that a port received less than predicted. That a link lost it is a
 * conclusion, which rests on the rows of this module. Where one of them does not hold, the alarm is part of no fault,
 * and the section reports the row's reason with the number of such alarms.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/flowpulse/links.h"
#include "diag/flowpulse/section.h"
#include "diag/run/run.h"

/*
 * Retransmissions of hosts in collectives, by iteration and pair of hosts, as their RNICs count them (packet_seq_err,
 * local_ack_timeout_err) and STEP records report them. A packet that a link loses is sent again: no more than these can
 * have been lost, and without retransmissions nothing was lost.
 */

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
 * A link that ends at a port loses packets of all senders alike. Is there one of them alone whose hosts sent anything
 * again, while of the others', by the same ports, some would have been lost at the alarm's rate? Then the others' were
 * spread unevenly, and what the port misses for sure is of that sender.
 * @param ports  that each sender's packets are spread over, in all switches of the alarm's tier below which they end
 * @return the switch of that sender's hosts; REC_NONE: none or several sent again, or not all steps were reported
 */
uint32_t resent_only_sender(const struct resent *resent, const struct rec_volume_alarm *alarm, uint32_t ports);

/*
 * Some of an alarm's iterations may not have been over when the switch judged them: it takes a pause of the senders for
 * their end, and the end of the run.
 * @return payload that its senders may have had to deliver then to hosts below its switch: of steps that are not over,
 *         what was never acknowledged; of others no more than their RNICs can send until the steps' end
 */
uint64_t resent_undelivered_bytes(const struct resent *resent, const struct rec_volume_alarm *alarm);

/* @return when the first of an alarm's senders began to send in its iterations; UINT64_MAX: not reported */
uint64_t resent_began_ps(const struct resent *resent, const struct rec_volume_alarm *alarm);

/* The known facts of an alarm besides itself. */
struct flowpulse_facts {
	uint64_t resent;            /* resent_of(), without packets that arrived twice */
	uint64_t undelivered_bytes; /* resent_undelivered_bytes(), with headers */
	double less;                /* share that is missing of all ports together */
	bool is_partial;            /* its switch had judged a part of the iteration before */
	/* of the measured class, that left its senders' switches meanwhile and others can have shifted */
	uint64_t other_bytes;
};

/* @return the first precondition of an alarm that does not hold; FLOWPULSE_JUDGED */
enum flowpulse_hold flowpulse_hold_of(const struct rec_volume_alarm *alarm, const struct flowpulse_facts *facts);

/* Sets own->held, own->resent, own->is_cleared and own->only_sender, which have room. */
void flowpulse_judge(struct flowpulse *own, const struct paths *paths, const struct resent *resent);

/* The loss rates of faulty links. */

/* Packets that the alarms of a fault expected and got, and the variance of the expected ones. */
struct flowpulse_lost {
	double expected, got, dispersion;
	bool is_unbounded; /* of an alarm at least, hosts did not report their retransmissions */
};

/*
 * Estimates each fault's drop rate and its interval at 95 %: the alarms of all switches and iterations are samples of
 * one rate. The first and last iteration of a fault may have had it for a part of their time: alarms of these that lack
 * less than those between them are left out, and none lost more than hosts sent again (resent_of()).
 * @param fault_of  [own->nalarms] fault of each alarm that is judged
 * @return [own->nfaults] the counts of the rates, to free(); NULL: no memory
 */
struct flowpulse_lost *flowpulse_rates(struct flowpulse *own, const struct run *run, const uint32_t *fault_of,
				       struct err *err);

/*
 * A loss makes hosts send packets again, which arrive by other ports: where noise is large, another port of the same
 * senders may raise an alarm by chance, and the retransmissions seem to bear it out. Sets is_of_others of each fault
 * whose alarms miss more than twice what is left of their senders' retransmissions (FLOWPULSE_EXCESS) without those of
 * the faults that more alarms name: the rate of each, of as many packets as the alarm expected.
 * @param fault_of  as flowpulse_rates(), which has been called
 */
void flowpulse_share_resent(struct flowpulse *own, const struct paths *paths, const uint32_t *fault_of);
