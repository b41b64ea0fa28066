/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/volumes/detect.h"

/* A sender at a port: in packets of its own mean size. */
struct locate_part {
	uint16_t sender;
	double expected, got;
	double size;       /* bytes a packet */
	double lacks;      /* share of expected; negative: it has more */
	double dispersion; /* variance of its count over its mean */
};

size_t
locate_bytes(void)
{
	return sizeof(double) + sizeof(struct locate_part) + sizeof(struct locate_place);
}

int
locate_init(struct locate *l, uint16_t ports, uint16_t senders)
{
	memset(l, 0, sizeof(*l));
	l->refers = calloc(ports, sizeof(*l->refers));
	l->scale = calloc(senders, sizeof(*l->scale));
	l->parts = calloc(senders, sizeof(*l->parts));
	l->places = calloc(senders, sizeof(*l->places));
	return l->refers != NULL && l->scale != NULL && l->parts != NULL && l->places != NULL ? 0 : -ENOMEM;
}

void
locate_fini(struct locate *l)
{
	free(l->refers);
	free(l->scale);
	free(l->parts);
	free(l->places);
	memset(l, 0, sizeof(*l));
}

static double
bytes_a_packet(const struct locate_grid *grid, uint16_t sender)
{
	uint64_t bytes = 0, packets = 0;

	for (uint16_t port = 0; port < grid->v->config.ports; port++) {
		const struct volume_count *count = &grid->slot->counts[volumes_cell(grid->v, port, sender)];

		bytes += count->bytes;
		packets += count->packets;
	}
	return packets != 0 ? (double)bytes / (double)packets : 1;
}

/* ---- the reference ---- */

/* @return the share of its prediction that a port lacks, over all senders that can be compared */
static double
port_lacks(const struct locate_grid *grid, uint16_t port)
{
	double predicted = 0, seen = 0;

	for (uint16_t s = 0; s < grid->v->nsenders; s++) {
		uint32_t cell = volumes_cell(grid->v, port, s);

		if (!grid->is_sound[s])
			continue;
		predicted += (double)grid->predicted[cell];
		seen += (double)grid->slot->counts[cell].bytes;
	}
	return predicted > 0 ? 1 - seen / predicted : 0;
}

/*
 * Ports that may be faulty themselves are no reference. One with an alarm is one where it lacks half as much, at least,
 * as the port that it would be compared with: alarms of less are noise beside that, and leaving them out makes the
 * others too many.
 */
static void
choose_ports(struct locate *l, const struct locate_grid *grid, uint16_t port)
{
	double lacks = port_lacks(grid, port);

	for (uint16_t i = 0; i < grid->v->config.ports; i++)
		l->refers[i] = i != port && !(grid->is_alarmed[i] && port_lacks(grid, i) >= lacks / 2);
}

/* @return whether there is a port to refer to that is predicted to carry bytes of the sender */
static bool
find_scale(struct locate *l, const struct locate_grid *grid, uint16_t sender)
{
	double predicted = 0, seen = 0;

	for (uint16_t port = 0; port < grid->v->config.ports; port++) {
		uint32_t cell = volumes_cell(grid->v, port, sender);

		if (!l->refers[port] || grid->predicted[cell] == 0)
			continue;
		predicted += (double)grid->predicted[cell];
		seen += (double)grid->slot->counts[cell].bytes;
	}
	l->scale[sender] = predicted > 0 && seen > 0 ? seen / predicted : 1;
	return predicted > 0 && seen > 0;
}

/* The learned noise of senders, without the port's own, as samples of their dispersion. @return their sum */
static double
known_dispersion(const struct locate_grid *grid, uint16_t port, double *freedom)
{
	double sum = 0;

	*freedom = 0;
	for (uint16_t s = 0; s < grid->v->nsenders; s++) {
		double bytes = 0, ports = 0, variance = (double)grid->variance[volumes_cell(grid->v, port, s)];

		for (uint16_t i = 0; i < grid->v->config.ports; i++) {
			bytes += (double)grid->predicted[volumes_cell(grid->v, i, s)];
			ports += grid->predicted[volumes_cell(grid->v, i, s)] != 0;
		}
		if (!grid->is_sound[s] || grid->dof[s] <= 0 || bytes <= 0)
			continue;
		variance = fmax(variance, DETECT_ROUNDING_VARIANCE);
		sum += grid->dof[s] * variance * grid->iterations * bytes_a_packet(grid, s) * ports / bytes;
		*freedom += grid->dof[s];
	}
	if (*freedom > 0)
		return sum;
	/*
	 * One sample of random spraying beside the measured ones: a few ports alone could seem to have no noise at all.
	 */
	*freedom = 1;
	return 1;
}

/* Takes the volumes of other ports for a reference. */
static void
refer(struct locate *l, const struct locate_grid *grid, uint16_t port)
{
	double freedom, sum = known_dispersion(grid, port, &freedom);

	choose_ports(l, grid, port);
	l->packets = 0;
	for (uint16_t s = 0; s < grid->v->nsenders; s++) {
		double size = bytes_a_packet(grid, s);
		uint32_t samples = 0;

		if (!grid->is_sound[s] || !find_scale(l, grid, s))
			continue;
		for (uint16_t i = 0; i < grid->v->config.ports; i++) {
			uint32_t cell = volumes_cell(grid->v, i, s);
			double expected = l->scale[s] * (double)grid->predicted[cell] / size;
			double got = (double)grid->slot->counts[cell].bytes / size;

			if (!l->refers[i] || grid->predicted[cell] == 0)
				continue;
			l->packets += got;
			if (grid->lost[cell] > 0)
				continue;
			sum += (got - expected) * (got - expected) / expected;
			samples++;
		}
		freedom += samples != 0 ? samples - 1 : 0;
	}
	l->dispersion = sum / freedom;
}

/* ---- hypotheses ---- */

static int
by_lack(const void *a, const void *b)
{
	const struct locate_part *x = a, *y = b;

	if (x->lacks != y->lacks)
		return x->lacks > y->lacks ? -1 : 1;
	return (int)x->sender - (int)y->sender;
}

/* Variance over mean of a count of packets that are lost with this chance: of spraying, thinned, and of the losses. */
static double
thinned(double dispersion, double drop)
{
	drop = drop < 0 ? 0 : drop;
	return (1 - drop) * (1 - drop) * dispersion + drop * (1 - drop);
}

/* A normal distribution's surprise, -2 ln of its density but for constants, at a share with this deficit. */
static double
surprise(const struct locate_part *part, double assumed)
{
	double variance = thinned(part->dispersion, assumed) / part->expected;

	variance += 1 / (part->expected * part->expected); /* what a packet more or less makes */
	return (part->lacks - assumed) * (part->lacks - assumed) / variance + log(variance);
}

static double
local_surprise(const struct locate_part *parts, uint32_t count)
{
	double expected = 0, got = 0, sum = 2 * log(LOCATE_ODDS);

	for (uint32_t i = 0; i < count; i++) {
		expected += parts[i].expected;
		got += parts[i].got;
	}
	for (uint32_t i = 0; i < count; i++)
		sum += surprise(&parts[i], 1 - got / expected);
	return sum;
}

static double
remote_surprise(const struct locate_part *parts, uint32_t count, uint32_t faulty)
{
	double sum = 2 * log(LOCATE_ODDS) * faulty;

	for (uint32_t i = 0; i < count; i++)
		sum += surprise(&parts[i], i < faulty && parts[i].lacks > 0 ? parts[i].lacks : 0);
	return sum;
}

/* ---- places ---- */

/* Describes the loss of these senders at one link. */
static struct locate_place
make_place(enum rec_loss_place where, const struct locate_part *parts, uint32_t count, const struct locate *l)
{
	struct locate_place place = { .where = where,
				      .sender = where == REC_LOSS_LOCAL ? VOLUMES_NO_SENDER : parts->sender };
	double variance = 0, deviation, share;

	for (uint32_t i = 0; i < count; i++) {
		place.expected_packets += parts[i].expected;
		place.got_packets += parts[i].got;
		place.expected_bytes += parts[i].expected * parts[i].size;
		place.got_bytes += parts[i].got * parts[i].size;
	}
	place.dispersion = l->dispersion;
	place.reference_packets = l->packets;
	share = place.got_packets / place.expected_packets;
	place.drop = share < 1 ? 1 - share : 0;
	for (uint32_t i = 0; i < count; i++)
		variance += parts[i].expected * thinned(parts[i].dispersion, place.drop);
	deviation = variance / (place.expected_packets * place.expected_packets);
	if (l->packets > 0)
		deviation += share * share * l->dispersion / l->packets;
	deviation = sqrt(deviation);
	place.drop_low = fmax(0, place.drop - LOCATE_Z95 * deviation);
	place.drop_high = fmin(1, place.drop + LOCATE_Z95 * deviation);
	return place;
}

static uint32_t
collect(struct locate *l, const struct locate_grid *grid, uint16_t port)
{
	uint32_t count = 0;

	for (uint16_t s = 0; s < grid->v->nsenders; s++) {
		uint32_t cell = volumes_cell(grid->v, port, s);
		double size = bytes_a_packet(grid, s);
		struct locate_part *part = &l->parts[count];

		if (!grid->is_sound[s] || grid->predicted[cell] == 0)
			continue;
		part->sender = s;
		part->size = size;
		part->expected = l->scale[s] * (double)grid->predicted[cell] / size;
		part->got = (double)grid->slot->counts[cell].bytes / size;
		part->lacks = 1 - part->got / part->expected;
		part->dispersion = (1 - (double)grid->lost[cell]) * l->dispersion + (double)grid->lost[cell];
		count++;
	}
	qsort(l->parts, count, sizeof(*l->parts), by_lack);
	return count;
}

uint32_t
locate_port(struct locate *l, const struct locate_grid *grid, uint16_t port)
{
	uint32_t count, faulty = 1;
	double local, remote = INFINITY;
	bool unsure;

	refer(l, grid, port);
	count = collect(l, grid, port);
	if (count == 0 || l->parts[0].lacks <= 0)
		return 0;
	local = local_surprise(l->parts, count);
	for (uint32_t k = 1; k <= count && l->parts[k - 1].lacks > 0; k++) {
		double k_remote = remote_surprise(l->parts, count, k);

		if (k_remote < remote)
			faulty = k;
		remote = fmin(remote, k_remote);
	}
	unsure = faulty == 1 && fabs(local - remote) < 2 * log(LOCATE_LEAST_ODDS);
	if (local < remote && !unsure) {
		l->places[0] = make_place(REC_LOSS_LOCAL, l->parts, count, l);
		return 1;
	}
	for (uint32_t i = 0; i < faulty; i++)
		l->places[i] = make_place(unsure ? REC_LOSS_PAIR : REC_LOSS_REMOTE, &l->parts[i], 1, l);
	return faulty;
}
