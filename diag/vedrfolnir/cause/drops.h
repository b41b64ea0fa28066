/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the signatures that rest on drop counters. */
#pragma once

#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/cause.h"

/* The clauses of a port that counted drops: the drops, and a link that was down and dropped nothing. */
#define DROPS_CLAUSES 2
#define DROPS_CLAUSE(what)                                                                                                 \
	"{step}: {port} counts {count} " what "; {again}", "{step}: {port} was cut, with {count} " what "; {again}"

/*
 * Adds a finding for each port that dropped packets for this reason within a slow step's time, where the step's flow
 * was affected: it was the last dropped, or the port is on its configured path. Where the expired packets may be
 * agents' traceroutes alone, the step is counted as not judged.
 * @param clause  the first of the DROPS_CLAUSE() clauses of the type
 * @return true if there was one
 */
bool drops_add(struct cause_set *set, uint32_t step, enum rec_drop reason, uint32_t clause);

/* Did any port? */
bool drops_any(const struct cause_input *in, uint32_t step, enum rec_drop reason);

/* Did the exporter leave out rows of the step's time? */
bool drops_telemetry_lost(const struct evidence *ev, const struct run_step *s);

/* Did a port count drops, of a known reason, of this step's flow in its time, or was a link on its path down? */
bool drops_explain(const struct evidence *ev, const struct run_step *s);

/*
 * Is an event of a PFC watchdog (an index into ev->watchdogs) one that dropped packets at a port on this step's path, in
 * its class and time?
 */
bool drops_by_watchdog(const struct evidence *ev, const struct run_step *s, uint32_t event);

/* Did the step send packets again, by its host's report, or by an end of retries? */
bool drops_sent_again(const struct cause_input *in, uint32_t step);

/* Is it a step whose queue pair is in error, its retries spent, before the first ACK can arrive on an idle path? */
bool drops_gave_up_early(const struct cause_input *in, uint32_t step);

#define DROPS_OF_OLD_AGE 1 /* key of findings that rest on TTL drops: a loop that is seen itself takes them over */
#define DROPS_VANISHED 2   /* polling packets in a row: one alone may be lost as any packet is */

/* Where the polling packets that follow a step's flow, or its ACKs, vanish. */
struct drops_silence {
	/* they left by it and the node behind it saw none; EV_NONE: they do not vanish, or not at one place */
	uint32_t port;
	/*
	 * That node is to blame: packets that left arrived at it, by the link's counts; where these are not known,
	 * DROPS_VANISHED in a row did not arrive, or none at all of a step that never ended. Else it is chance, and the
	 * link.
	 */
	bool swallows;
	uint32_t polls;       /* number in a row */
	uint64_t lost_frames; /* by the link, as far as it is known */
};

/* Only if no port counted a drop, and no telemetry was lost: else there is no result. */
struct drops_silence drops_silence(const struct cause_input *in, uint32_t step);

/*
 * The packets that passed from hop to hop, by the reports to polling packets on both paths of a flow that sent packets
 * again. Of a link, one end counts the frames that it sent and the other those that it received; of a switch, packets
 * that arrived whole and were not counted by the egress of the flow are lost in it. Counts begin with the run: losses
 * before a step are taken off.
 */

/* Where packets were lost. */
struct passage_place {
	/*
	 * The end of the link that should have received them, or from which the switch should have forwarded them;
	 * EV_NONE: no such place is known.
	 */
	uint32_t in_port;
	uint64_t packets;
	uint64_t from_ps, to_ps; /* of the counts that show it */
};

struct passage {
	struct passage_place link; /* on the path of the data: the link that lost most */
	struct passage_place node; /* the same, the switch */
	struct passage_place back; /* the link that lost most on the path of the ACKs */
	/*
	 * A NIC at either end that stopped: its queue pairs sent more than its port, or its queue pair lacks, in a row,
	 * packets that all switches forwarded and its port received. in_port is that port.
	 */
	struct passage_place nic;
	bool sprayed; /* the flow's packets take paths of their own: the longest row that is missing shows nothing */
	/* the destination's report on the step; with ended */
	bool ended;
	uint32_t duplicates, out_of_sequence, most_missing;
	/*
	 * Packets of the step that never arrived, at least: the step had sent them again when a polling packet left,
	 * the destination had not received them twice, and no port that reported had them waiting.
	 */
	uint64_t lost;
};

/* The results of the records of a slow step's polling packets. */
struct passage passage_find(const struct cause_input *in, uint32_t step);

/* The counts of a link within a step's time. */
struct passage_link {
	bool known; /* by a reading after since_ps */
	uint64_t lost_frames, received_frames;
};

/* @param in_port  global id of the end that receives */
struct passage_link passage_of_link(const struct cause_input *in, uint32_t step, uint32_t in_port, uint64_t since_ps);

/*
 * Had the packets that NAKs made the step's sender send again arrived before, by the destination's count? A lost packet
 * does not arrive twice. A sender with go-back-N cannot know where no ACK of the first copies arrives: behind the last one.
 */
bool passage_overtaken(const struct cause_input *in, uint32_t step);

/*
 * Did a NIC stop, or the switch forward nothing for a while, or lose some packets that it should have forwarded? After a
 * loss by chance, others arrive behind the first, and no link misses as long a row.
 */
bool passage_swallows(const struct passage *passage);

/*
 * How long a step stood still until its sender noticed a loss: until a timer ended, the receiver was ready, or a NAK or
 * ACKs showed it behind the last frame: that entry has the frames sent again too. Where a timer ended, and all that was
 * sent again had arrived before, ACKs were lost: they count as late in the ledger. Without a ledger it is the time of one
 * timer at least.
 * @param frame_ps  of one of its frames on the wire
 */
uint64_t passage_stood_still_ps(const struct cause_input *in, uint32_t step, double frame_ps);

/* How long the step's sender was held up by its NIC, if that is the one that stopped. @param port  where packets vanish */
uint64_t passage_stopped_ps(const struct cause_input *in, uint32_t step, uint32_t port);

/*
 * Of a finding about a switch that swallows packets, by index: one about the same switch, meanwhile, at another of its
 * ports, that shows it better. What is dropped for one destination enters by the ports of data and of ACKs.
 * @return EV_NONE: there is none
 */
uint32_t blackhole_same(const struct cause_set *all, uint32_t finding);

/*
 * Were the ACKs lost of packets that a step sent again by time alone, so that all of these arrived twice?
 * @param set      with the step's findings about what else held its packets up
 * @param passage  of the step
 */
bool packet_loss_of_acks(const struct cause_set *set, uint32_t step, const struct passage *passage);

/*
 * The switches on the path of a step's ACKs, one of which discarded them, where they were lost: none of its links lost a
 * frame.
 * @param into  set to the port by which they enter the last one, a global id
 * @return their number; 0: a link may have lost them
 */
uint32_t blackhole_of_acks(const struct cause_input *in, uint32_t step, uint32_t *into);
