/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the vertices of a provenance graph stand: three rows, ports in the order in which they halt each other. */
#pragma once

#include <stdbool.h>

#include "diag/vedrfolnir/section.h"

#define PLANE_PORT_HALF 38 /* half the width of a port, px */
#define PLANE_MAX_ROW 9    /* shapes side by side */

struct plane_spot {
	double x, y; /* middle, px */
	bool shown;
};

struct plane {
	struct plane_spot *spots; /* [nvertices] of the graph */
	double height, pitch;     /* pitch: distance of neighbouring ports */
	double most[3];           /* weight of the heaviest edge of each kind */
	uint32_t hidden;          /* vertices left out: the weakest of their row, and those no edge shown leads to */
};

/* Is the edge heavy enough, among those of its kind, to be shown? */
bool plane_shows(const struct plane *plane, const struct provenance_edge *edge);

/* @return 0 or -ENOMEM */
int plane_init(struct plane *plane, const struct verdict *v, const struct provenance *g);
void plane_fini(struct plane *plane);
