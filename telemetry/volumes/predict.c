/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/predict.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
predict_init(struct predict *p, const struct predict_config *config, const struct volumes_config *volumes)
{
	size_t cells = (size_t)volumes->ports * volumes->senders;

	assert(config->learn != 0);
	*p = (struct predict){ .config = *config, .ready = config->source == PREDICT_DECLARED };
	p->bytes = calloc(cells, sizeof(*p->bytes));
	p->share = calloc(cells, sizeof(*p->share));
	p->sum = calloc(cells, sizeof(*p->sum));
	return p->bytes != NULL && p->share != NULL && p->sum != NULL ? 0 : -ENOMEM;
}

void
predict_fini(struct predict *p)
{
	free(p->bytes);
	free(p->share);
	free(p->sum);
	memset(p, 0, sizeof(*p));
}

/* Splits what one sender sends by all ports together. */
static void
split(struct predict *p, const struct volumes *v, uint16_t sender)
{
	uint64_t demand_bytes = 0;

	for (uint16_t port = 0; port < v->config.ports; port++)
		demand_bytes += p->bytes[volumes_cell(v, port, sender)];
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);

		p->bytes[cell] = predict_of_demand(demand_bytes, p->share[cell]);
	}
}

/* What was summed up is what an iteration has, or what its demand is. */
static void
conclude(struct predict *p, const struct volumes *v)
{
	uint32_t cells = (uint32_t)v->config.ports * v->config.senders;

	for (uint32_t i = 0; i < cells; i++)
		p->bytes[i] = p->sum[i] / p->learned;
	for (uint16_t s = 0; s < v->nsenders && p->config.source == PREDICT_MEASURED; s++)
		split(p, v, s);
	p->ready = true;
}

void
predict_learn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot)
{
	uint32_t cells = (uint32_t)v->config.ports * v->config.senders;

	for (uint32_t i = 0; i < cells; i++)
		p->sum[i] += slot->counts[i].bytes;
	if (++p->learned == p->config.learn)
		conclude(p, v);
}

void
predict_clear(struct predict *p, const struct volumes *v)
{
	memset(p->bytes, 0, (size_t)v->config.ports * v->config.senders * sizeof(*p->bytes));
}

void
predict_forget(struct predict *p, const struct volumes *v)
{
	if (p->config.source == PREDICT_DECLARED)
		return;
	memset(p->sum, 0, (size_t)v->config.ports * v->config.senders * sizeof(*p->sum));
	predict_clear(p, v);
	p->learned = 0;
	p->ready = false;
}

void
predict_split(struct predict *p, const struct volumes *v)
{
	if (p->config.source == PREDICT_LEARNED || !p->ready)
		predict_forget(p, v);
	for (uint16_t s = 0; s < v->nsenders && p->config.source == PREDICT_MEASURED && p->ready; s++)
		split(p, v, s);
}

/* How far a load is from its part of an even split, in squares of it over that part: what is summed is a chi square. */
static double
unevenness(double bytes, double even_bytes)
{
	return even_bytes > 0 ? (bytes - even_bytes) * (bytes - even_bytes) / even_bytes : 0;
}

/* Of one sender, at the ports where its load differs. @param[in,out] was, is  unevenness of what was learned, and now */
static void
add_unevenness(const struct predict *p, const struct volumes *v, const struct volumes_slot *slot, uint16_t sender,
	       double *was, double *is)
{
	double predicted = 0, seen = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		predicted += (double)p->bytes[volumes_cell(v, port, sender)];
		seen += (double)slot->counts[volumes_cell(v, port, sender)].bytes;
	}
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		struct volume_sample sample = { p->bytes[cell], slot->counts[cell].bytes };
		double share = (double)p->share[cell] / (double)PREDICT_WHOLE;

		if (!detect_differs(&sample, p->config.threshold_ppm))
			continue;
		*was += unevenness((double)sample.predicted, predicted * share);
		*is += unevenness((double)sample.seen, seen * share);
	}
}

bool
predict_relearn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot, const bool *is_sound)
{
	uint32_t cells = (uint32_t)v->config.ports * v->config.senders;
	double was = 0, is = 0;

	if (p->config.source != PREDICT_LEARNED || !p->ready)
		return false;
	for (uint16_t s = 0; s < v->nsenders; s++)
		if (is_sound[s])
			add_unevenness(p, v, slot, s, &was, &is);
	if (is >= was)
		return false;
	for (uint32_t i = 0; i < cells; i++)
		p->bytes[i] = p->sum[i] = slot->counts[i].bytes;
	p->learned = 1;
	return true;
}
