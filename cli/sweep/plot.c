/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/sweep.svg: a measure over the values of the first path, a line for each combination of the others. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/sweep.h"
#include "common/array.h"
#include "common/outfile.h"
#include "store/schema.h"

#define WIDTH 760
#define HEIGHT 440
#define LEFT 72
#define RIGHT 24
#define TOP 48
#define BOTTOM 72
#define LEGEND_LINE 18
#define MAX_TICKS 8
#define MAX_LINES 8 /* that colours distinguish; the title has how many there are more */
#define LABEL_BYTES 512

/* Okabe and Ito's colours, which people with colour blindness distinguish; dashes do so in print. */
static const struct {
	const char *colour, *dash;
} styles[MAX_LINES] = { { "#0072b2", "" }, { "#d55e00", "6 3" }, { "#009e73", "2 3" }, { "#cc79a7", "8 3 2 3" },
			{ "#e69f00", "" }, { "#56b4e9", "6 3" }, { "#000000", "2 3" }, { "#7f7f7f", "8 3 2 3" } };

struct plot {
	FILE *to;
	const char *measure, *unit;
	char (*labels)[LABEL_BYTES]; /* [nx] values of the first path */
	uint32_t nx;
	double top; /* of the y axis, which begins at 0 */
	uint32_t lines, height;
};

/* A text of XML. */
static void
put_text(const char *text, FILE *to)
{
	for (; *text != '\0'; text++) {
		const char *escaped = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;

		if (escaped != NULL)
			fputs(escaped, to);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, to);
	}
}

static double
x_of(const struct plot *plot, uint32_t index)
{
	double span = WIDTH - LEFT - RIGHT;

	return LEFT + span * (index + 0.5) / (plot->nx != 0 ? plot->nx : 1);
}

static double
y_of(const struct plot *plot, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / plot->top;
}

/* The step of an axis that has at most MAX_TICKS: 1, 2 or 5 times a power of ten. */
static double
tick_of(double most)
{
	double power = pow(10, floor(log10(most / MAX_TICKS)));

	for (int i = 0; i < 3; i++) {
		static const double steps[] = { 1, 2, 5 };

		if (most / (steps[i] * power) <= MAX_TICKS)
			return steps[i] * power;
	}
	return 10 * power;
}

static void
draw_axes(struct plot *plot, const char *path)
{
	double tick = tick_of(plot->top);

	for (double value = 0; value <= plot->top * 1.0001; value += tick)
		fprintf(plot->to,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
			LEFT, WIDTH - RIGHT, y_of(plot, value), y_of(plot, value), LEFT - 8, y_of(plot, value) + 4, value);
	for (uint32_t i = 0; i < plot->nx; i++) {
		if (plot->nx > 24 && i % (plot->nx / 12) != 0)
			continue;
		fprintf(plot->to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x_of(plot, i), HEIGHT - BOTTOM + 20);
		put_text(plot->labels[i], plot->to);
		fputs("</text>\n", plot->to);
	}
	fprintf(plot->to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
		HEIGHT - BOTTOM + 44);
	put_text(path, plot->to);
	fprintf(plot->to, "</text>\n<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s%s%s</text>\n", LEFT, TOP - 20,
		plot->measure, plot->unit[0] != '\0' ? ", " : "", plot->unit);
}

static uint32_t
index_of(const struct plot *plot, const char *label)
{
	uint32_t i = 0;

	while (i < plot->nx && strncmp(plot->labels[i], label, LABEL_BYTES - 1) != 0)
		i++;
	return i;
}

/* A line ends: its polyline, and its row of the legend. */
static void
end_line(struct plot *plot, const char *points, const char *name)
{
	uint32_t style = plot->lines;
	double y = HEIGHT + (style + 0.5) * LEGEND_LINE;

	plot->lines++;
	fprintf(plot->to,
		"<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
		points, styles[style].colour, styles[style].dash);
	if (name[0] == '\0')
		return;
	fprintf(plot->to,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" "
		"stroke-dasharray=\"%s\"/><text x=\"%d\" y=\"%.1f\">",
		LEFT, LEFT + 32, y, y, styles[style].colour, styles[style].dash, LEFT + 40, y + 4);
	put_text(name, plot->to);
	fputs("</text>\n", plot->to);
}

/* A point: its mean, and from the least to the most of its seeds. */
static void
draw_point(const struct plot *plot, double x, sqlite3_stmt *stmt)
{
	double mean = sqlite3_column_double(stmt, 2), least = sqlite3_column_double(stmt, 3);
	double most = sqlite3_column_double(stmt, 4);
	const char *colour = styles[plot->lines].colour;

	if (most > least)
		fprintf(plot->to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x, x,
			y_of(plot, least), y_of(plot, most), colour);
	fprintf(plot->to,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%.6g (%.6g to %.6g)</title></circle>\n", x,
		y_of(plot, mean), colour, mean, least, most);
}

/* Draws the lines that a query has, one below the other: name of the line, value of the path, mean, least, most. */
static void
draw_lines(struct plot *plot, sqlite3_stmt *stmt)
{
	char name[LABEL_BYTES] = "", *points = NULL;
	size_t size = 0;
	FILE *to = NULL;

	while (sqlite3_step(stmt) == SQLITE_ROW && plot->lines < MAX_LINES) {
		const char *line = (const char *)sqlite3_column_text(stmt, 0);
		double x = x_of(plot, index_of(plot, (const char *)sqlite3_column_text(stmt, 1)));

		if (to != NULL && strncmp(name, line, LABEL_BYTES - 1) != 0) {
			fclose(to);
			end_line(plot, points, name);
			free(points);
			to = NULL;
		}
		if (plot->lines == MAX_LINES)
			return;
		snprintf(name, sizeof(name), "%s", line);
		if (to == NULL)
			to = open_memstream(&points, &size);
		if (to == NULL)
			return;
		if (sqlite3_column_type(stmt, 2) == SQLITE_NULL)
			continue;
		fprintf(to, "%.1f,%.1f ", x, y_of(plot, sqlite3_column_double(stmt, 2)));
		draw_point(plot, x, stmt);
	}
	if (to == NULL)
		return;
	fclose(to);
	end_line(plot, points, name);
	free(points);
}

/* The values of the path, in the order of the sweep, and the most of the measure. @return 0 or -ENOMEM */
static int
gather(struct plot *plot, sqlite3_stmt *stmt)
{
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *label = (const char *)sqlite3_column_text(stmt, 1);

		if (sqlite3_column_double(stmt, 4) > plot->top)
			plot->top = sqlite3_column_double(stmt, 4);
		if (index_of(plot, label) < plot->nx)
			continue;
		if (plot->nx % 64 == 0) {
			void *grown = realloc(plot->labels, (plot->nx + 64) * sizeof(*plot->labels));

			if (grown == NULL)
				return -ENOMEM;
			plot->labels = grown;
		}
		snprintf(plot->labels[plot->nx++], LABEL_BYTES, "%s", label);
	}
	if (plot->top <= 0)
		plot->top = 1;
	sqlite3_reset(stmt);
	return 0;
}

/* The query of draw_lines(). @param path  set to the first path, by sqlite3_free() @return by sqlite3_free() */
static char *
lines_query(sqlite3 *db, const char *measure, char **path)
{
	sqlite3_str *name = sqlite3_str_new(NULL), *sql = sqlite3_str_new(NULL);
	sqlite3_stmt *paths = NULL;
	char *line;

	*path = NULL;
	if (sqlite3_prepare_v2(db, "SELECT path FROM paths ORDER BY number", -1, &paths, NULL) == SQLITE_OK)
		while (sqlite3_step(paths) == SQLITE_ROW) {
			const char *text = (const char *)sqlite3_column_text(paths, 0);

			if (*path == NULL)
				*path = sqlite3_mprintf("%s", text);
			else
				sqlite3_str_appendf(name, "%s'%q = ' || \"%w\"",
						    sqlite3_str_length(name) != 0 ? " || ', ' || " : "", text, text);
		}
	sqlite3_finalize(paths);
	line = sqlite3_str_finish(name);
	if (*path == NULL)
		*path = sqlite3_mprintf("seed");
	sqlite3_str_appendf(sql,
			    "SELECT %s AS line, \"%w\" AS x, avg(\"%w\"), min(\"%w\"), max(\"%w\") FROM runs GROUP BY %s",
			    line != NULL ? line : "''", *path, measure, measure, measure,
			    strcmp(*path, "seed") == 0 ? "run ORDER BY run" : "point ORDER BY line, point");
	sqlite3_free(line);
	return sqlite3_str_finish(sql);
}

static void
draw(struct plot *plot, sqlite3_stmt *stmt, const char *path, uint32_t names)
{
	plot->height = HEIGHT + names * LEGEND_LINE + (names != 0 ? LEGEND_LINE : 0);
	fprintf(plot->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, plot->height, WIDTH, plot->height);
	draw_axes(plot, path);
	draw_lines(plot, stmt);
	fputs("</svg>\n", plot->to);
}

/* @return how many lines there are names for, of those that are drawn */
static uint32_t
count_names(sqlite3_stmt *stmt)
{
	char before[LABEL_BYTES] = "";
	uint32_t count = 0;

	while (sqlite3_step(stmt) == SQLITE_ROW && count < MAX_LINES) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		count += name[0] != '\0' && strncmp(before, name, LABEL_BYTES - 1) != 0;
		snprintf(before, sizeof(before), "%s", name);
	}
	sqlite3_reset(stmt);
	return count;
}

int
sweep_write_plot(sqlite3 *db, const char *dir, const char *measure, struct err *err)
{
	struct plot plot = { .measure = measure != NULL ? measure : sweep_first_measure(db) };
	char *path, *sql = lines_query(db, plot.measure, &path);
	sqlite3_stmt *stmt = sql != NULL && path != NULL ? store_select(db, sql, err) : NULL;
	struct outfile out;
	int ret = stmt != NULL ? gather(&plot, stmt) : -EINVAL;

	plot.unit = sweep_measure_unit(plot.measure);
	if (ret == 0)
		ret = outfile_open(&out, dir, SWEEP_PLOT, err);
	if (ret == 0) {
		uint32_t names = count_names(stmt);

		plot.to = out.file;
		draw(&plot, stmt, path, names);
		ret = outfile_close(&out, 0, err);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(path);
	sqlite3_free(sql);
	free(plot.labels);
	return ret < 0 && err->text[0] == '\0' ? err_set(err, ret, "out of memory for a plot") : ret;
}
