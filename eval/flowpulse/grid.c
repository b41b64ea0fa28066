/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/outfile.h"

#define MAGIC 0x31646972675046ULL /* "FPgrid1" */
#define MAX_CELLS (1u << 26)

struct head {
	uint64_t magic;
	uint32_t iterations, nrows, paths, cell_bytes;
	uint64_t exported_bytes;
};

struct fp_grid *
fp_grid_create(uint32_t iterations, uint32_t nrows, uint32_t paths)
{
	struct fp_grid *grid = calloc(1, sizeof(*grid));

	if (grid == NULL)
		return NULL;
	grid->iterations = iterations;
	grid->nrows = nrows;
	grid->paths = paths;
	grid->cells = calloc((size_t)iterations * nrows * paths + 1, sizeof(*grid->cells));
	if (grid->cells != NULL)
		return grid;
	free(grid);
	return NULL;
}

void
fp_grid_destroy(struct fp_grid *grid)
{
	if (grid == NULL)
		return;
	free(grid->cells);
	free(grid);
}

static size_t
count_of(const struct fp_grid *grid)
{
	return (size_t)grid->iterations * grid->nrows * grid->paths;
}

int
fp_grid_save(const struct fp_grid *grid, const char *dir, const char *name, struct err *err)
{
	const struct head head = { MAGIC,       grid->iterations,       grid->nrows,
				   grid->paths, sizeof(struct fp_cell), grid->exported_bytes };
	struct outfile out;
	int ret = outfile_open(&out, dir, name, err);

	if (ret < 0)
		return ret;
	fwrite(&head, sizeof(head), 1, out.file);
	fwrite(grid->rows, sizeof(*grid->rows), grid->nrows, out.file);
	fwrite(grid->cells, sizeof(*grid->cells), count_of(grid), out.file);
	return outfile_close(&out, 0, err);
}

struct fp_grid *
fp_grid_load(const char *path)
{
	struct fp_grid *grid = NULL;
	struct head head;
	FILE *from = fopen(path, "r");

	if (from == NULL)
		return NULL;
	if (fread(&head, sizeof(head), 1, from) == 1 && head.magic == MAGIC && head.cell_bytes == sizeof(struct fp_cell) &&
	    head.nrows <= 2 * FP_MAX_LEAVES && head.paths <= FP_MAX_PATHS &&
	    (uint64_t)head.iterations * head.nrows * head.paths <= MAX_CELLS)
		grid = fp_grid_create(head.iterations, head.nrows, head.paths);
	if (grid != NULL)
		grid->exported_bytes = head.exported_bytes;
	if (grid != NULL && (fread(grid->rows, sizeof(*grid->rows), grid->nrows, from) != grid->nrows ||
			     fread(grid->cells, sizeof(*grid->cells), count_of(grid), from) != count_of(grid))) {
		fp_grid_destroy(grid);
		grid = NULL;
	}
	fclose(from);
	return grid;
}
