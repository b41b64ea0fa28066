/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/judged.h"

#include "common/tag.h"
#include "common/wire/record.h"

const struct flowpulse_precondition flowpulse_preconditions[FLOWPULSE_HOLDS] = {
	[FLOWPULSE_JUDGED] = { .key = "judged" },
	[FLOWPULSE_UNFINISHED] = { .key = "unfinished",
				   .because = "their switches took a pause of the senders, longer than flowpulse.idle, or "
					      "the end of the run for the end of those iterations, and had counted a part "
					      "of them alone" },
	[FLOWPULSE_NOT_LOST] = { .key = "not-lost",
				 .because =
					 "hosts sent nothing again in those iterations: packets were spread unevenly, and "
					 "none was lost",
				 .is_clear = true },
	[FLOWPULSE_EXCESS] = { .key = "excess",
			       .because = "more than twice as much is missing as hosts sent again: most of it was spread "
					  "unevenly, and not lost" },
	[FLOWPULSE_SHARED] = { .key = "shared",
			       .because =
				       "other data of the measured class left the senders' switches by the same ports, no "
				       "less than is missing, and spraying evens out the sum: give the collective a class "
				       "of its own (host.measured_prio, switch.strict)" },
	[FLOWPULSE_NO_NOISE] = { .key = "noise",
				 .because =
					 "the noise of spraying cannot be learned from two or three ports, and what hosts "
					 "sent again does not show a loss: it was not reported, or they send again what "
					 "arrives out of order (host.transport = \"go-back-n\")" },
};

/* Packets of an alarm's senders that are missing. */
static double
missing_packets(const struct rec_volume_alarm *alarm)
{
	double bytes = alarm->expected > alarm->got ? (double)(alarm->expected - alarm->got) : 0;

	return alarm->packets != 0 ? bytes * (double)alarm->packets / (double)alarm->got : 0;
}

enum flowpulse_hold
flowpulse_hold_of(const struct rec_volume_alarm *alarm, const struct flowpulse_facts *facts)
{
	bool is_reported = facts->resent != RESENT_UNKNOWN;

	if (facts->is_partial ||
	    (facts->undelivered_bytes != 0 && alarm->expected <= alarm->got + facts->undelivered_bytes))
		return FLOWPULSE_UNFINISHED;
	if (is_reported && facts->resent == 0)
		return FLOWPULSE_NOT_LOST;
	/* All that is lost is sent again; where hosts sent less than half of it again, spraying moved the most. */
	if (is_reported && missing_packets(alarm) > 2 * (double)facts->resent)
		return FLOWPULSE_EXCESS;
	/* A port was sent less measured data by at most the other traffic that it was sent instead. */
	if (facts->other_bytes != 0 && alarm->expected <= alarm->got + facts->other_bytes)
		return FLOWPULSE_SHARED;
	return alarm->noise == REC_NOISE_UNKNOWN && !is_reported ? FLOWPULSE_NO_NOISE : FLOWPULSE_JUDGED;
}

/* Does a switch send the packets that an alarm misses? @param node  of a monitor */
static bool
is_sender(const struct paths *paths, const struct rec_volume_alarm *alarm, uint32_t node)
{
	if (alarm->sender == REC_NONE)
		return node != alarm->hdr.node;
	return node == alarm->sender ||
	       (paths_is_of_pods(paths, alarm->hdr.node) && paths->pod[node] == paths->pod[alarm->sender]);
}

static uint64_t
others_of(const struct flowpulse *own, const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < own->nflaws; i++) {
		const struct rec_volume_flaw *flaw = &own->flaws[i];
		bool is_meanwhile = flaw->iteration == REC_NONE || (flaw->iteration <= alarm->iteration &&
								    alarm->iteration - flaw->iteration < alarm->pooled);

		if (flaw->flaw == REC_FLAW_SHARED && is_meanwhile && is_sender(paths, alarm, flaw->hdr.node))
			bytes += flaw->seen;
	}
	return bytes;
}

/* Monitors count frames, hosts their payload. */
static uint64_t
undelivered_of(const struct paths *paths, const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	const struct rec_run *config = &paths->run->config;
	uint64_t bytes = resent_undelivered_bytes(resent, alarm);

	if (bytes == 0 || config->payload_bytes == 0)
		return 0;
	return bytes + (bytes / config->payload_bytes + 1) * (config->frame_bytes - config->payload_bytes);
}

/* @return the first volume at this time or later: they are in order of time */
static uint32_t
first_volume_at(const struct flowpulse *own, uint64_t time_ps)
{
	uint32_t lo = 0, hi = own->nvolumes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (own->volumes[mid].hdr.time_ps < time_ps)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
is_of_iteration(const struct rec_volume_alarm *alarm, uint32_t node, uint32_t iteration)
{
	return node == alarm->hdr.node && iteration % TAG_ITERATIONS == alarm->iteration % TAG_ITERATIONS;
}

/*
 * Had the alarm's switch judged a part of its iteration before, once its first sender had begun? A switch judges an
 * iteration once, unless it takes a pause for its end.
 */
static bool
was_judged_before(const struct flowpulse *own, const struct resent *resent, const struct rec_volume_alarm *alarm)
{
	uint64_t began_ps = resent_began_ps(resent, alarm), now_ps = alarm->hdr.time_ps;

	for (uint32_t i = first_volume_at(own, began_ps); i < own->nvolumes && own->volumes[i].hdr.time_ps < now_ps; i++)
		if (is_of_iteration(alarm, own->volumes[i].hdr.node, own->volumes[i].iteration))
			return true;
	for (uint32_t i = 0; i < own->nflaws && own->flaws[i].hdr.time_ps < now_ps; i++)
		if (own->flaws[i].hdr.time_ps >= began_ps && own->flaws[i].flaw != REC_FLAW_SHARED &&
		    is_of_iteration(alarm, own->flaws[i].hdr.node, own->flaws[i].iteration))
			return true;
	return false;
}

/* Monitored ports of a switch: a sender's packets are spread over all of them, or fewer. */
static uint32_t
ports_of(const struct flowpulse *own, uint32_t node)
{
	for (uint32_t i = 0; i < own->nmonitors; i++)
		if (own->monitors[i].hdr.node == node && own->monitors[i].ports != 0)
			return own->monitors[i].ports;
	return REC_NONE; /* not known yet: no proof */
}

void
flowpulse_judge(struct flowpulse *own, const struct paths *paths, const struct resent *resent)
{
	for (uint32_t i = 0; i < own->nalarms; i++) {
		const struct rec_volume_alarm *alarm = &own->alarms[i];
		struct flowpulse_facts facts = { .resent = resent_of(resent, alarm),
						 .undelivered_bytes = undelivered_of(paths, resent, alarm),
						 .is_partial = was_judged_before(own, resent, alarm),
						 .other_bytes = others_of(own, paths, alarm) };

		/* Perhaps in vain: then only the absence of retransmissions is a proof. */
		if (own->config.in_order && facts.resent != 0)
			facts.resent = RESENT_UNKNOWN;
		own->resent[i] = facts.resent;
		own->is_cleared[i] = resent_clears(resent, alarm, ports_of(own, alarm->hdr.node));
		own->held[i] = (uint8_t)flowpulse_hold_of(alarm, &facts);
	}
}
