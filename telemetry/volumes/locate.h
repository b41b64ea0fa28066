/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which link lost packets: senders at one port compared (5.3, Fig. 4). If all of them lack the same share, it is the
 * link that ends at this port; if one does, the link from its leaf to that spine. With one sender the two look the
 * same.
 *
 * A sender's volume is compared with what its volumes at other ports make of the prediction, so that neither repeated
 * packets nor a demand that is somewhat off count. What spraying alone makes volumes differ is measured at those ports
 * too, and has been learned in iterations before: dispersion is the variance of a count over its mean, 1 for random
 * spraying, less for adaptive. A port with a known loss varies by that, too, and is not measured. Then the hypotheses
 * are compared by their likelihood, each further faulty link being LOCATE_ODDS times less likely than none:
 *
 *   local     all senders lack one share
 *   remote k  the k senders that lack most each lack a share of their own, the others nothing
 */
#pragma once

#include <stddef.h>

#include "telemetry/volumes/volumes.h"

#define LOCATE_ODDS 10000.0     /* of a link that is well to one that is not */
#define LOCATE_LEAST_ODDS 100.0 /* likelihood ratio above which the better hypothesis is named alone */
#define LOCATE_Z95 1.959964     /* standard deviations that hold 95 % of a normal distribution */

struct locate_part;

/* One iteration at a switch, or the sum of several. */
struct locate_grid {
	const struct volumes *v;
	const struct volumes_slot *slot;
	const uint64_t *predicted; /* [ports * senders] */
	const bool *is_sound;      /* [senders] whose volumes can be compared */
	const bool *is_alarmed;    /* [ports] */
	const float *variance;     /* [ports * senders] of a count in one iteration, as far as spraying goes */
	const double *dof;         /* [senders] degrees of freedom of that; 0: not learned */
	const float *lost;         /* [ports * senders] share that is known to be lost before it is counted */
	uint32_t iterations;       /* in slot and predicted */
};

/* One link, or pair of links, and its lost packets. */
struct locate_place {
	enum rec_loss_place where;
	uint16_t sender; /* VOLUMES_NO_SENDER: local */
	/* Of the senders concerned, expected by what other ports saw of them. */
	double expected_packets, got_packets;
	double expected_bytes, got_bytes;
	double dispersion;                /* of counts, as other ports have it */
	double reference_packets;         /* counted at other ports */
	double drop, drop_low, drop_high; /* share of packets lost, and its interval at 95 % */
};

/* Of a switch: the counts of an iteration at the ports without an alarm, and room to compare senders. */
struct locate {
	bool *refers;  /* [ports] those that the others are compared with */
	double *scale; /* [senders] seen over predicted */
	double dispersion;
	double packets;              /* counted there */
	struct locate_part *parts;   /* [senders] */
	struct locate_place *places; /* [senders] */
};

/* @return bytes of a sender */
size_t locate_bytes(void);
/* @return 0 or -ENOMEM */
int locate_init(struct locate *l, uint16_t ports, uint16_t senders);
/* Also of one that is zero. */
void locate_fini(struct locate *l);

/* @return how many links of those that a port depends on lost packets: set in places; 0: no sender lacks anything */
uint32_t locate_port(struct locate *l, const struct locate_grid *grid, uint16_t port);
