/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/input_file.h"
#include "common/outfile.h"

#define MAGIC 0x31646972675046ULL /* "FPgrid1" */
#define MAX_CELLS (1u << 26)
#define MAX_ALARMS (1u << 24)

struct head {
	uint64_t magic;
	uint32_t iterations, nrows, paths, cell_bytes;
	uint64_t exported_bytes, nalarms;
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
	grid->lost = calloc((size_t)nrows * paths + 1, sizeof(*grid->lost));
	if (grid->cells != NULL && grid->lost != NULL)
		return grid;
	fp_grid_destroy(grid);
	return NULL;
}

void
fp_grid_destroy(struct fp_grid *grid)
{
	if (grid == NULL)
		return;
	free(grid->cells);
	free(grid->lost);
	free(grid->alarms);
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
	const struct head head = { .magic = MAGIC,
				   .iterations = grid->iterations,
				   .nrows = grid->nrows,
				   .paths = grid->paths,
				   .cell_bytes = sizeof(struct fp_cell),
				   .exported_bytes = grid->exported_bytes,
				   .nalarms = grid->nalarms };
	struct outfile out;
	int ret = outfile_open(&out, dir, name, err);

	if (ret < 0)
		return ret;
	fwrite(&head, sizeof(head), 1, out.file);
	fwrite(grid->rows, sizeof(*grid->rows), grid->nrows, out.file);
	fwrite(grid->cells, sizeof(*grid->cells), count_of(grid), out.file);
	if (grid->nalarms != 0)
		fwrite(grid->alarms, sizeof(*grid->alarms), grid->nalarms, out.file);
	return outfile_close(&out, 0, err);
}

static bool
is_sane(const struct head *head)
{
	return head->magic == MAGIC && head->cell_bytes == sizeof(struct fp_cell) && head->nrows <= 2 * FP_MAX_LEAVES &&
	       head->paths <= FP_MAX_PATHS && (uint64_t)head->iterations * head->nrows * head->paths <= MAX_CELLS &&
	       head->nalarms <= MAX_ALARMS;
}

static bool
read_body(struct fp_grid *grid, const struct head *head, FILE *from)
{
	grid->exported_bytes = head->exported_bytes;
	grid->alarms = calloc(head->nalarms + 1, sizeof(*grid->alarms));
	grid->nalarms = head->nalarms;
	return grid->alarms != NULL && fread(grid->rows, sizeof(*grid->rows), grid->nrows, from) == grid->nrows &&
	       fread(grid->cells, sizeof(*grid->cells), count_of(grid), from) == count_of(grid) &&
	       fread(grid->alarms, sizeof(*grid->alarms), grid->nalarms, from) == grid->nalarms;
}

struct fp_grid *
fp_grid_load(const char *path)
{
	struct fp_grid *grid = NULL;
	struct head head;
	struct err why = { "" };
	FILE *from = input_fopen(path, &why);

	if (from == NULL)
		return NULL;
	if (fread(&head, sizeof(head), 1, from) == 1 && is_sane(&head))
		grid = fp_grid_create(head.iterations, head.nrows, head.paths);
	if (grid != NULL && !read_body(grid, &head, from)) {
		fp_grid_destroy(grid);
		grid = NULL;
	}
	fclose(from);
	return grid;
}
