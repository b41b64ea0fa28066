/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What passed from hop to hop, by what polling packets were told on both ways of a flow that sent packets again. Of a link, one end
 * counts the frames that it sent and the other those that came; of a switch, what came in whole and was not counted by
 * the port where the flow leaves is lost in it. Counts begin with the run: what was lost before a step is taken off.
 */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/* Where packets were lost. */
struct passage_place {
	uint32_t
		in_port; /* the end of the link that they should have come in by, or from which the switch should have passed them
	                     on; EV_NONE: no such place is known */
	uint64_t packets;
	uint64_t from_ps, to_ps; /* of the counts that tell of it */
};

struct passage {
	struct passage_place link; /* on the way of the data: the link that lost most */
	struct passage_place node; /* the same, the switch */
	struct passage_place back; /* the link that lost most on the way of the ACKs */
	/* what the destination told of the step; with ended */
	bool ended;
	uint32_t duplicates, out_of_sequence, most_missing;
	/*
	 * Packets of the step that never arrived, at least: the step had sent them again when a polling packet left, the
	 * destination had not received them twice, and no port that reported had them waiting.
	 */
	uint64_t lost;
};

/* What the records of a slow step's polling packets tell. */
struct passage passage_find(const struct cause_input *in, uint32_t step);

/*
 * Did the switch pass nothing for a while, or lose some of what it should have passed? Of what is lost by chance, others
 * arrive behind the first, and so long a row is missing nowhere.
 */
bool passage_swallows(const struct passage *passage);

/* What a link did within a step's time. */
struct passage_link {
	bool known; /* by a reading after since_ps */
	uint64_t lost_frames, received_frames;
};
/* @param in_port  global id of the end that takes in */
struct passage_link passage_of_link(const struct cause_input *in, uint32_t step, uint32_t in_port, uint64_t since_ps);
