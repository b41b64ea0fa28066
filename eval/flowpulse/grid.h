/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of the leaves of a run: a cell for each iteration, row (leaf and sending leaf) and path (spine). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "telemetry/volumes/detect.h"

#define FP_MAX_LEAVES 128
#define FP_MAX_PATHS 128

/* A leaf-spine fabric with its hosts first, then leaves, then spines, as topologies of kind leaf-spine number them. */
struct fp_fabric {
	uint32_t leaves, spines, hosts_per_leaf;
};

struct fp_cell {
	struct volume_sample bytes;
	uint64_t packets;  /* seen */
	uint64_t end_ps;   /* when the leaf judged the iteration */
	uint64_t is_sound; /* it has no flaw that prevents a comparison */
};

struct fp_row {
	uint32_t leaf, sender; /* numbers of leaves */
};

/* A link, or pair of links, that a leaf named in an iteration: as its record has it. */
struct fp_alarm {
	uint32_t iteration, leaf, path;
	uint32_t sender; /* leaf, FP_NO_LEAF: it is the link that ends at the port */
	uint32_t place;  /* enum rec_loss_place */
	uint32_t drop_ppm, low_ppm, high_ppm;
};

#define FP_NO_LEAF UINT32_MAX

struct fp_grid {
	uint32_t iterations, nrows, paths;
	struct fp_row rows[2 * FP_MAX_LEAVES]; /* [nrows] */
	uint64_t exported_bytes;               /* the monitors' records, in frames that left the switches */
	struct fp_cell *cells;                 /* [iterations * nrows * paths] */
	float *lost;             /* [nrows * paths] share of the sent packets that operators know to be lost */
	struct fp_alarm *alarms; /* [nalarms], by leaf */
	size_t nalarms;
};

/* @return a grid of empty cells, NULL: no memory */
struct fp_grid *fp_grid_create(uint32_t iterations, uint32_t nrows, uint32_t paths);
void fp_grid_destroy(struct fp_grid *grid);

static inline struct fp_cell *
fp_cell(const struct fp_grid *grid, uint32_t iteration, uint32_t row, uint32_t path)
{
	return &grid->cells[((size_t)iteration * grid->nrows + row) * grid->paths + path];
}

/* DIR/NAME, but for lost[]. @return 0, or negative errno with err set */
int fp_grid_save(const struct fp_grid *grid, const char *dir, const char *name, struct err *err);
/* @return the grid that fp_grid_save() wrote, with nothing in lost[]; NULL: there is none, or it is damaged */
struct fp_grid *fp_grid_load(const char *path);
