/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/late_packets.h"

#include <math.h>

#include "common/wire/detection.h"
#include "common/wire/record.h"

/* On average, in steps that ran at the same time. */
static double
longest_mean_ps(const struct cause_input *in, const struct run_step *s)
{
	double longest_ps = 0;

	for (uint32_t i = 0; i < in->nsteps; i++)
		if (in->steps[i].start_ps <= s->end_ps && in->steps[i].end_ps >= s->start_ps)
			longest_ps = fmax(longest_ps, (double)in->steps[i].rtt_mean_ps);
	return longest_ps;
}

/* Sampled at a detection, of whatever flow. */
static double
longest_sample_ps(const struct cause_input *in, const struct run_step *s)
{
	double longest_ps = 0;

	for (uint32_t i = 0; i < in->ev->triggers.count; i++) {
		const struct rec_trigger *trigger = EV_AT(in->ev->triggers, struct rec_trigger, i);

		if (trigger->cause == REC_TRIGGER_RTT && trigger->hdr.time_ps >= s->start_ps &&
		    trigger->hdr.time_ps <= s->end_ps)
			longest_ps = fmax(longest_ps, (double)trigger->rtt_ps);
	}
	return longest_ps;
}

/* On an idle path, and behind the deepest queue and in all pauses of each port that the step met. */
static double
longest_wait_ps(const struct cause_input *in, uint32_t step)
{
	const struct prov_graph *graph = in->graphs[step];
	double sum_ps = (double)in->steps[step].base_rtt_ps;

	for (uint32_t p = 0; graph != NULL && p < graph->nmet; p++) {
		const struct prov_port *port = &graph->ports[p];
		double frame_ps = in->ev->run.frame_bytes * 8e12 / (double)in->ev->ports[port->port].rate_bps;

		sum_ps += port->depth_max * frame_ps + port->pause_ps;
	}
	return sum_ps;
}

bool
packets_may_be_late(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	if (s->waited_ps == 0)
		return false;
	if (!s->open && s->end_ps - s->start_ps < s->waited_ps + s->base_rtt_ps)
		return true;
	return (double)s->waited_ps <=
	       fmax(longest_wait_ps(in, step), fmax(longest_mean_ps(in, s), longest_sample_ps(in, s)));
}
