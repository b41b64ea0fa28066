/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which alarms can be judged. An alarm reports that a port received less than predicted. That a link lost it is a
 * conclusion, which rests on the rows of this module. Where one of them does not hold, the alarm is part of no fault,
 * and the section reports the row's reason with the number of such alarms.
 */
#pragma once

#include "diag/flowpulse/resent.h"
#include "diag/flowpulse/section.h"

/* The known facts of an alarm besides itself. */
struct flowpulse_facts {
	uint64_t resent;            /* resent_of() */
	uint64_t undelivered_bytes; /* resent_undelivered_bytes(), with headers */
	bool is_partial;            /* its switch had judged a part of the iteration before */
	uint64_t
		other_bytes; /* of the measured class, that left its senders' switches meanwhile and others can have shifted */
};

/* @return the first precondition of an alarm that does not hold; FLOWPULSE_JUDGED */
enum flowpulse_hold flowpulse_hold_of(const struct rec_volume_alarm *alarm, const struct flowpulse_facts *facts);

/* Sets own->held, own->resent and own->is_cleared, which have room. */
void flowpulse_judge(struct flowpulse *own, const struct paths *paths, const struct resent *resent);
