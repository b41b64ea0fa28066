/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/judge.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "telemetry/volumes/detect.h"

/* Preconditions of the tests. */

const struct volumes_precondition volumes_preconditions[VOLUMES_TESTS] = {
	/* A single port's losses are sent again and arrive at the same port: nothing is missing. */
	[VOLUMES_TEST_THRESHOLD] = { .name = "threshold",
				     .least_ports = 2,
				     .most_ports = UINT32_MAX,
				     .otherwise = REC_FLAW_FEW },
	/*
	 * Each packet is a draw of its own: the variance follows from the number of packets, however few the ports are.
	 */
	[VOLUMES_TEST_RANDOM] = { .name = "random",
				  .least_ports = 2,
				  .most_ports = UINT32_MAX,
				  .needs_random = true,
				  .otherwise = REC_FLAW_FEW },
	/* A port is judged by the others, whose own fault is among their noise: one of three others may be left out. */
	[VOLUMES_TEST_LEARNED] = { .name = "learned",
				   .least_ports = DETECT_MIN_PORTS,
				   .most_ports = DETECT_MAX_PORTS,
				   .needs_learning = true,
				   .otherwise = REC_FLAW_FEW },
	[VOLUMES_TEST_HALF] = { .name = "half",
				.least_ports = DETECT_MIN_PORTS,
				.most_ports = DETECT_MAX_HALVED,
				.needs_learning = true,
				.otherwise = REC_FLAW_FEW },
};

bool
volumes_can_judge(enum volumes_test test, const struct volumes_basis *basis)
{
	const struct volumes_precondition *row = &volumes_preconditions[test];

	return basis->ports >= row->least_ports && basis->ports <= row->most_ports &&
	       (basis->is_random || !row->needs_random) && (!basis->is_random || !row->needs_learning);
}

bool
volumes_knows_noise(const struct volumes_basis *basis)
{
	return volumes_can_judge(VOLUMES_TEST_RANDOM, basis) || volumes_can_judge(VOLUMES_TEST_LEARNED, basis);
}

/* Prediction of volumes. */

int
predict_init(struct predict *p, const struct predict_config *config, const struct volumes_config *volumes)
{
	size_t cells = (size_t)volumes->ports * volumes->senders;
	const struct slab_row arrays[] = {
		SLAB_ROW(p->bytes, cells),
		SLAB_ROW(p->share, cells),
		SLAB_ROW(p->sum, cells),
	};

	assert(config->learn != 0);
	*p = (struct predict){ .config = *config, .ready = config->source == PREDICT_DECLARED };
	p->block = slab_alloc(arrays, ARRAY_LEN(arrays));
	return p->block != NULL ? 0 : -ENOMEM;
}

void
predict_fini(struct predict *p)
{
	free(p->block);
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

/* Derives the prediction from the learned sum: the mean load, or the split of the mean demand. */
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

/* The distance of a load from its share of an even split, squared, over that share: the sum is a chi square. */
static double
unevenness(double bytes, double even_bytes)
{
	return even_bytes > 0 ? (bytes - even_bytes) * (bytes - even_bytes) / even_bytes : 0;
}

/*
 * Adds up one sender's unevenness over the ports where its load differs from the learned one.
 * @param[in,out] was, is  unevenness of the learned load, and of the present one
 */
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

/* Scores of the missing packets. */

#define SCORES_ARRAYS 19

static void
scores_arrays(struct scores *s, const struct scores_config *config, const struct volumes_config *volumes,
	      struct slab_row rows[SCORES_ARRAYS])
{
	size_t ports = volumes->ports, senders = volumes->senders, cells = ports * senders;
	size_t pooled = config->detector == REC_DETECTOR_POOLED ? cells : 0;
	const struct slab_row all[] = {
		SLAB_ROW(s->trims, ports + 1),
		SLAB_ROW(s->learned, senders),
		SLAB_ROW(s->squares, cells),
		SLAB_ROW(s->half_trims, ports + 1),
		SLAB_ROW(s->half_learned, senders),
		SLAB_ROW(s->half_squares, cells),
		SLAB_ROW(s->stands, cells),
		SLAB_ROW(s->sums, cells),
		SLAB_ROW(s->missing, ports),
		SLAB_ROW(s->losses, ports),
		SLAB_ROW(s->lost, cells),
		SLAB_ROW(s->variance, cells),
		SLAB_ROW(s->dof, senders),
		SLAB_ROW(s->noise_bytes, cells),
		SLAB_ROW(s->history, SCORES_HISTORY * pooled),
		SLAB_ROW(s->nscored, senders),
		SLAB_ROW(s->counts, pooled),
		SLAB_ROW(s->predicted, pooled),
		SLAB_ROW(s->pooled, cells),
	};

	_Static_assert(ARRAY_LEN(all) == SCORES_ARRAYS, "each array");
	memcpy(rows, all, sizeof(all));
}

int
scores_init(struct scores *scores, const struct scores_config *config, const struct volumes_config *volumes)
{
	size_t ports = volumes->ports, senders = volumes->senders;
	struct slab_row arrays[SCORES_ARRAYS];

	memset(scores, 0, sizeof(*scores));
	scores->config = *config;
	scores_arrays(scores, config, volumes, arrays);
	scores->block = slab_alloc(arrays, SCORES_ARRAYS);
	if (scores->block == NULL)
		return -ENOMEM;
	for (size_t s = 0; s < senders; s++) {
		scores->learned[s].squares = &scores->squares[s * ports];
		scores->half_learned[s].squares = &scores->half_squares[s * ports];
	}
	if (config->detector == REC_DETECTOR_POOLED)
		detect_cusum_limits(&scores->limits, config->rate / (double)ports);
	else
		scores->limit = detect_limit(config->rate, (uint32_t)ports);
	return 0;
}

void
scores_fini(struct scores *scores)
{
	free(scores->block);
	memset(scores, 0, sizeof(*scores));
}

size_t
scores_bytes(const struct scores_config *config, const struct volumes_config *volumes)
{
	struct slab_row arrays[SCORES_ARRAYS];
	struct scores none;

	scores_arrays(&none, config, volumes, arrays);
	return slab_bytes(arrays, SCORES_ARRAYS);
}

/* Mean number of bytes that arrived of a sender. */
static double
packet_bytes(const struct volumes *v, const struct volumes_slot *slot, uint16_t sender)
{
	uint64_t bytes = 0, packets = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		bytes += slot->counts[volumes_cell(v, port, sender)].bytes;
		packets += slot->counts[volumes_cell(v, port, sender)].packets;
	}
	return packets != 0 ? (double)bytes / (double)packets : 1;
}

/* The place in the history of the packets missing in a sender's iteration, counted from its first. */
static size_t
history_at(const struct volumes *v, uint32_t iteration, uint32_t cell)
{
	return (size_t)(iteration % SCORES_HISTORY) * v->config.ports * v->config.senders + cell;
}

static uint32_t
found(struct scores *scores, uint32_t cell, double missing, const struct detect_noise *noise)
{
	if (scores->config.detector == REC_DETECTOR_POOLED)
		return detect_cusum_add(&scores->sums[cell], &scores->limits, missing, noise);
	return detect_score(missing, noise) > scores->limit;
}

/* Gathers the packets missing at a sender's ports, and the known losses of these. @return the number of ports */
static uint32_t
gather(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
       uint16_t sender, double size, struct detect_losses *losses)
{
	uint32_t ports = 0;

	*losses = (struct detect_losses){ 0 };
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		double packets = (double)predicted[cell] / size;

		if (predicted[cell] == 0)
			continue;
		scores->losses[ports] = scores->lost[cell];
		scores->missing[ports++] =
			detect_missing(&(struct volume_sample){ predicted[cell], slot->counts[cell].bytes }, size);
		losses->packets += packets;
		losses->variance += packets * (double)scores->lost[cell];
	}
	return ports;
}

/* @return the noise of packets that choose among ports by themselves, plus that of the prediction */
static struct detect_noise
random_noise(const struct scores *scores, const struct detect_losses *losses, double packets)
{
	struct detect_noise noise = detect_noise_random(packets, packets / losses->packets);

	if (scores->mean_of != 0)
		noise.variance += noise.variance / scores->mean_of;
	return noise;
}

/* Scores one port. @param at  its index among the sender's ports @param noise  of the sent packets, as learned */
static void
score(struct scores *scores, const struct detect_losses *losses, const struct detect_noise *learned, uint32_t cell,
      uint32_t at, double packets, double size)
{
	struct detect_noise noise = scores->config.is_random
					    ? random_noise(scores, losses, packets)
					    : detect_noise_lossy(learned, losses, packets, (double)scores->lost[cell]);

	scores->variance[cell] = (float)learned->variance;
	scores->noise_bytes[cell] =
		(float)((scores->limit * sqrt(fmax(noise.variance, 0)) + DETECT_ROUNDING_PACKETS) * size);
	scores->pooled[cell] = found(scores, cell, scores->missing[at], &noise);
}

/*
 * Faults at several ports hide each other: each is in the noise that the others are judged by. While at least half of
 * the ports are sound, their counts lie close together: a port that lacks more than the noise of that half stands out.
 */
static void
score_by_half(struct scores *scores, const struct volumes *v, const struct detect_losses *losses, uint16_t sender,
	      uint32_t count, const uint64_t *predicted, double size)
{
	struct detect_ports ports = { count, scores->losses, scores->half_trims, true };
	struct detect_learned *learned = &scores->half_learned[sender];
	uint32_t at = 0;

	if (scores->config.detector != REC_DETECTOR_THRESHOLD ||
	    !volumes_can_judge(VOLUMES_TEST_HALF, &(struct volumes_basis){ count, scores->config.is_random }))
		return;
	detect_learn(learned, &ports, scores->missing);
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		struct detect_noise noise;

		if (predicted[cell] == 0)
			continue;
		noise = detect_noise_learned(learned, &ports, at);
		noise = detect_noise_lossy(&noise, losses, (double)predicted[cell] / size, (double)scores->lost[cell]);
		scores->stands[cell] = detect_score(scores->missing[at++], &noise) > scores->limit;
	}
}

/* The noise that a port's count is scored by. @param at  which of the sender's ports it is */
static struct detect_noise
noise_of(struct scores *scores, const struct detect_ports *ports, uint16_t sender, const struct detect_losses *losses,
	 uint32_t at, double packets)
{
	if (volumes_can_judge(VOLUMES_TEST_LEARNED, &(struct volumes_basis){ ports->count, false }))
		return detect_noise_learned(&scores->learned[sender], ports, at);
	return detect_noise_random(packets, packets / losses->packets);
}

bool
scores_sender(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
	      uint16_t sender)
{
	double size = packet_bytes(v, slot, sender);
	struct detect_learned *learned = &scores->learned[sender];
	struct detect_ports ports = { .lost = scores->losses, .trims = scores->trims };
	bool first = learned->iterations <= 0, learns;
	struct detect_losses losses;
	uint32_t at = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		scores->pooled[volumes_cell(v, port, sender)] = 0;
		scores->stands[volumes_cell(v, port, sender)] = false;
	}
	ports.count = gather(scores, v, slot, predicted, sender, size, &losses);
	scores->dof[sender] = 0;
	if (!volumes_knows_noise(&(struct volumes_basis){ ports.count, scores->config.is_random }))
		return false;
	learns = volumes_can_judge(VOLUMES_TEST_LEARNED, &(struct volumes_basis){ ports.count, false });
	if (first && learns) /* its noise is its own */
		detect_learn(learned, &ports, scores->missing);
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		struct detect_noise noise;

		if (predicted[cell] == 0)
			continue;
		if (scores->config.detector == REC_DETECTOR_POOLED)
			scores->history[history_at(v, scores->nscored[sender], cell)] = (float)(scores->missing[at] * size);
		noise = noise_of(scores, &ports, sender, &losses, at, (double)predicted[cell] / size);
		scores->dof[sender] = noise.dof;
		score(scores, &losses, &noise, cell, at++, (double)predicted[cell] / size, size);
	}
	if (!first && learns)
		detect_learn(learned, &ports, scores->missing);
	score_by_half(scores, v, &losses, sender, ports.count, predicted, size);
	scores->nscored[sender]++;
	return true;
}

void
scores_sum(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
	   uint32_t iterations)
{
	for (uint16_t s = 0; s < v->nsenders; s++) {
		uint32_t count = iterations < scores->nscored[s] ? iterations : scores->nscored[s];
		double size = packet_bytes(v, slot, s);

		for (uint16_t port = 0; port < v->config.ports; port++) {
			uint32_t cell = volumes_cell(v, port, s);
			double bytes = (double)(predicted[cell] * count);

			for (uint32_t i = 1; i <= count; i++)
				bytes -= (double)scores->history[history_at(v, scores->nscored[s] - i, cell)];
			scores->predicted[cell] = predicted[cell] * count;
			bytes = predicted[cell] != 0 ? fmax(bytes, 0) : 0;
			scores->counts[cell] =
				(struct volume_count){ (uint64_t)llround(bytes), (uint64_t)llround(bytes / size) };
		}
	}
}

void
scores_forget(struct scores *scores, const struct volumes *v)
{
	memset(scores->sums, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->sums));
	memset(scores->squares, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->squares));
	memset(scores->half_squares, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->half_squares));
	memset(scores->dof, 0, v->config.senders * sizeof(*scores->dof));
	for (uint16_t s = 0; s < v->config.senders; s++)
		scores->learned[s].iterations = scores->half_learned[s].iterations = 0;
	memset(scores->nscored, 0, v->config.senders * sizeof(*scores->nscored));
}

/* The monitor of one switch. */

#define LEAST_PACKET_BYTES 64 /* on any wire */

size_t
judge_bytes(const struct judge_config *config)
{
	size_t ports = config->volumes.ports, senders = config->volumes.senders, cells = ports * senders;
	size_t a_cell = VOLUMES_SLOTS * sizeof(struct volume_count) + 3 * sizeof(uint64_t) + sizeof(struct judge_alarm);
	size_t a_sender = (VOLUMES_SLOTS + 1) * sizeof(uint64_t) + 2 * sizeof(uint32_t) + locate_bytes() + 2 * sizeof(bool);

	return sizeof(struct judge) + scores_bytes(&config->scores, &config->volumes) + cells * a_cell +
	       senders * a_sender + ports * 2 * sizeof(bool) + (config->relative ? cells * sizeof(uint64_t) : 0);
}

int
judge_init(struct judge *j, const struct judge_config *config)
{
	const struct volumes_config *volumes = &config->volumes;
	size_t ports = volumes->ports, senders = volumes->senders;
	struct predict_config predict = config->predict;
	const struct slab_row arrays[] = {
		SLAB_ROW(j->flaws, senders),          SLAB_ROW(j->is_sound, senders),
		SLAB_ROW(j->is_scored, senders),      SLAB_ROW(j->is_alarmed, ports),
		SLAB_ROW(j->alarms, ports * senders), SLAB_ROW(j->scaled, config->relative ? ports * senders : 0),
	};

	memset(j, 0, sizeof(*j));
	j->config = *config;
	predict.threshold_ppm = config->threshold_ppm;
	j->block = slab_alloc(arrays, ARRAY_LEN(arrays));
	if (j->block == NULL)
		return -ENOMEM;
	if (volumes_init(&j->volumes, volumes) < 0 || predict_init(&j->predict, &predict, volumes) < 0)
		return -ENOMEM;
	if (scores_init(&j->scores, &config->scores, volumes) < 0)
		return -ENOMEM;
	j->expected = config->relative ? j->scaled : j->predict.bytes;
	return locate_init(&j->locate, volumes->ports, volumes->senders);
}

void
judge_fini(struct judge *j)
{
	volumes_fini(&j->volumes);
	predict_fini(&j->predict);
	locate_fini(&j->locate);
	scores_fini(&j->scores);
	free(j->block);
	memset(j, 0, sizeof(*j));
}

static struct volume_sample
sample_at(const struct judge *j, const struct volumes_slot *slot, uint16_t port, uint16_t sender)
{
	uint32_t cell = volumes_cell(&j->volumes, port, sender);

	return (struct volume_sample){ j->expected[cell], slot->counts[cell].bytes };
}

struct volume_sample
judge_port(const struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	struct volume_sample sum = { 0, 0 };

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample one = sample_at(j, slot, port, s);

		if (!j->is_sound[s])
			continue;
		sum.predicted += one.predicted;
		sum.seen += one.seen;
	}
	return sum;
}

/* A prediction in proportion to what the port has that brings most of it. */
static void
scale_prediction(struct judge *j, const struct volumes_slot *slot, uint16_t sender)
{
	double most = 0;

	for (uint16_t port = 0; port < j->config.volumes.ports; port++) {
		uint32_t cell = volumes_cell(&j->volumes, port, sender);
		double predicted = (double)j->predict.bytes[cell];

		if (predicted > 0 && (double)slot->counts[cell].bytes > most * predicted)
			most = (double)slot->counts[cell].bytes / predicted;
	}
	for (uint16_t port = 0; port < j->config.volumes.ports; port++) {
		uint32_t cell = volumes_cell(&j->volumes, port, sender);

		j->scaled[cell] = (uint64_t)llround((double)j->predict.bytes[cell] * (most > 0 ? most : 1));
	}
}

/* Predictions of ports are whole bytes: all of them together may be off by less than a packet, and demand never is. */
static bool
is_rounding(const struct volume_sample *sum)
{
	uint64_t least = sum->seen < sum->predicted ? sum->seen : sum->predicted;

	return sum->seen + sum->predicted - 2 * least < LEAST_PACKET_BYTES;
}

/*
 * Can the detector judge no sender of this kind?
 * @param ports  that something of it is predicted at
 */
static bool
is_few(const struct judge *j, uint32_t ports)
{
	const struct volumes_basis basis = { ports, j->config.scores.is_random };

	if (j->config.scores.detector == REC_DETECTOR_THRESHOLD)
		return ports != 0 && !volumes_can_judge(VOLUMES_TEST_THRESHOLD, &basis);
	return ports != 0 && !volumes_knows_noise(&basis);
}

/* Senders whose volumes can be compared: those that sent the predicted bytes, by any ports. */
static void
check_senders(struct judge *j, const struct volumes_slot *slot)
{
	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample sum = { 0, 0 };
		uint32_t ports = 0;
		bool differs;

		if (j->config.relative)
			scale_prediction(j, slot, s);
		for (uint16_t port = 0; port < j->volumes.config.ports; port++) {
			struct volume_sample one = sample_at(j, slot, port, s);

			sum.predicted += one.predicted;
			sum.seen += one.seen;
			ports += one.predicted != 0;
		}
		differs = j->config.relative ? sum.seen == 0 && sum.predicted != 0
					     : detect_differs(&sum, j->config.tolerance_ppm) && !is_rounding(&sum);
		j->flaws[s] = 0;
		if (j->predict.ready && sum.predicted == 0 && sum.seen != 0)
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_UNKNOWN);
		else if (j->predict.ready && differs)
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_DEMAND);
		j->is_sound[s] = j->flaws[s] == 0;
		if (j->is_sound[s] && is_few(j, ports))
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_FEW);
	}
}

/* Does the port lack too much by the threshold, of all senders or of one? */
static bool
lacks(const struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	struct volume_sample sample = judge_port(j, slot, port);
	bool any = detect_threshold(&sample, j->config.threshold_ppm);

	for (uint16_t s = 0; s < j->volumes.nsenders && !any && !j->config.ports_alone; s++) {
		sample = sample_at(j, slot, port, s);
		any = j->is_sound[s] && detect_threshold(&sample, j->config.threshold_ppm);
	}
	return any;
}

/* @return in how many iterations together the scores find packets missing at the port, at least; 0: in none */
static uint32_t
scored(const struct judge *j, uint16_t port)
{
	uint32_t least = 0;

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		uint32_t pooled = j->is_sound[s] ? j->scores.pooled[volumes_cell(&j->volumes, port, s)] : 0;

		if (pooled != 0 && (least == 0 || pooled < least))
			least = pooled;
	}
	return least;
}

/*
 * A threshold assumes that a fault-free port deviates from its prediction by less than the threshold. Where a sender's
 * noise is no less, the packets missing at a port have to stand out from that noise; else its volumes are uneven, and
 * no fault.
 */
static bool
stands_out(struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	uint32_t uneven = 0;

	if (scored(j, port) != 0)
		return true;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++)
		if (j->is_scored[s] && j->scores.stands[volumes_cell(&j->volumes, port, s)])
			return true;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample sample = sample_at(j, slot, port, s);
		double threshold_bytes = (double)sample.predicted * j->config.threshold_ppm / DETECT_PPM;

		if (!j->is_scored[s] || !detect_threshold(&sample, j->config.threshold_ppm) ||
		    threshold_bytes >= (double)j->scores.noise_bytes[volumes_cell(&j->volumes, port, s)])
			continue;
		j->flaws[s] = VOLUMES_FLAW(REC_FLAW_UNEVEN);
		uneven++;
	}
	return uneven == 0;
}

/* Locates what a port lacks, by the iterations that it was found in. @return places */
static uint32_t
locate(struct judge *j, const struct volumes_slot *slot, uint16_t port, uint32_t pooled)
{
	struct volumes_slot sum = *slot;
	struct locate_grid grid = { .v = &j->volumes,
				    .slot = slot,
				    .predicted = j->expected,
				    .is_sound = j->is_sound,
				    .is_alarmed = j->is_alarmed,
				    .variance = j->scores.variance,
				    .dof = j->scores.dof,
				    .lost = j->scores.lost,
				    .iterations = 1 };

	if (pooled > 1) {
		grid.iterations = pooled < SCORES_HISTORY ? pooled : SCORES_HISTORY;
		scores_sum(&j->scores, &j->volumes, slot, j->expected, grid.iterations);
		sum.counts = j->scores.counts;
		grid.slot = &sum;
		grid.predicted = j->scores.predicted;
	}
	return locate_port(&j->locate, &grid, port);
}

/* The least that is known of the noise of the senders that an alarm is about. */
static enum rec_noise
noise_known(const struct judge *j, uint16_t port, const struct locate_place *place)
{
	enum rec_noise known = j->config.scores.is_random ? REC_NOISE_RANDOM : REC_NOISE_LEARNED;

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		bool is_concerned = place->sender == VOLUMES_NO_SENDER ? j->is_sound[s] : place->sender == s;

		if (is_concerned && j->expected[volumes_cell(&j->volumes, port, s)] != 0 && !j->is_scored[s])
			known = REC_NOISE_UNKNOWN;
	}
	return known;
}

static void
compare(struct judge *j, const struct volumes_slot *slot)
{
	bool by_threshold = j->config.scores.detector == REC_DETECTOR_THRESHOLD;

	if (j->config.predict.source == PREDICT_LEARNED)
		j->scores.mean_of = j->predict.learned;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++)
		j->is_scored[s] = j->is_sound[s] && scores_sender(&j->scores, &j->volumes, slot, j->expected, s);
	for (uint16_t port = 0; port < j->volumes.config.ports; port++)
		j->is_alarmed[port] =
			by_threshold ? lacks(j, slot, port) && stands_out(j, slot, port) : scored(j, port) != 0;
	for (uint16_t port = 0; port < j->volumes.config.ports; port++) {
		uint32_t pooled = by_threshold ? 1 : scored(j, port);
		uint32_t places = j->is_alarmed[port] ? locate(j, slot, port, pooled) : 0;

		for (uint32_t i = 0; i < places; i++)
			j->alarms[j->nalarms++] = (struct judge_alarm){
				.port = port,
				.sample = judge_port(j, slot, port),
				.pooled = pooled,
				.place = j->locate.places[i],
				.noise = noise_known(j, port, &j->locate.places[i]),
			};
	}
}

enum judge_outcome
judge_iteration(struct judge *j, const struct volumes_slot *slot)
{
	j->nalarms = 0;
	if (slot->new_task) {
		predict_forget(&j->predict, &j->volumes);
		scores_forget(&j->scores, &j->volumes);
	}
	memset(j->is_alarmed, 0, j->volumes.config.ports * sizeof(*j->is_alarmed));
	check_senders(j, slot);
	if (slot->flaws != 0) {
		j->outcome = JUDGE_FLAWED;
	} else if (!j->predict.ready) {
		predict_learn(&j->predict, &j->volumes, slot);
		j->outcome = JUDGE_LEARNED;
	} else if (predict_relearn(&j->predict, &j->volumes, slot, j->is_sound)) {
		scores_forget(&j->scores, &j->volumes);
		j->outcome = JUDGE_RELEARNED;
	} else {
		compare(j, slot);
		j->outcome = JUDGE_COMPARED;
	}
	return j->outcome;
}
