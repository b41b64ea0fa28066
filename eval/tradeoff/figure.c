/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves as SVG: a measure against bytes a second, logarithmic. */
#include <errno.h>
#include <math.h>

#include "common/array.h"
#include "eval/tradeoff/tradeoff.h"

#define WIDTH 760
#define HEIGHT 420
#define LEFT 70
#define RIGHT 530 /* of the axes; the legend stands beyond */
#define TOP 24
#define BOTTOM 360
#define Y_LINES 5

/* Colours that the colour-blind distinguish (Okabe and Ito), one a policy. */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
				       "#e69f00", "#56b4e9", "#000000", "#999999" };
/* Strokes, one an epoch. */
static const char *const dashes[] = { "none", "6 3", "2 3", "8 3 2 3" };

struct axes {
	double least_log, most_log; /* of bytes a second, powers of ten */
	double most;                /* of the measure, in its unit */
};

struct spot {
	bool there;
	double x, y, low, high;
};

static double
x_of(const struct axes *axes, double bytes_s)
{
	double at = bytes_s > 0 ? log10(bytes_s) : axes->least_log;

	at = at < axes->least_log ? axes->least_log : at;
	return LEFT + (at - axes->least_log) / (axes->most_log - axes->least_log) * (RIGHT - LEFT);
}

static double
y_of(const struct axes *axes, double value)
{
	return BOTTOM - value / axes->most * (BOTTOM - TOP);
}

/* 1, 2 or 5 times a power of ten, at least the value. */
static double
round_up(double value)
{
	double ten = pow(10, floor(log10(value)));

	return value <= ten ? ten : value <= 2 * ten ? 2 * ten : value <= 5 * ten ? 5 * ten : 10 * ten;
}

/* @return 0 or -ENOMEM */
static int
axes_init(const struct tradeoff *study, enum tradeoff_measure measure, struct axes *axes)
{
	const struct tradeoff_measure_row *row = &tradeoff_measures[measure];
	double least = INFINITY, most = 0;

	*axes = (struct axes){ 0 };
	for (uint32_t point = 0; point < tradeoff_points(study); point++) {
		struct tradeoff_sum sum;

		if (tradeoff_sum(study, NULL, point, &sum) < 0)
			return -ENOMEM;
		if (sum.measures[measure].count == 0)
			continue;
		if (sum.measures[TRADEOFF_SOCKET].value > 0) {
			least = fmin(least, sum.measures[TRADEOFF_SOCKET].value);
			most = fmax(most, sum.measures[TRADEOFF_SOCKET].value);
		}
		axes->most = fmax(axes->most, sum.measures[measure].high / row->one);
	}
	axes->most = row->unit[0] == '%' && axes->most > 50 ? 100 : axes->most > 0 ? round_up(axes->most) : 1;
	axes->least_log = most > 0 ? floor(log10(least)) : 0;
	axes->most_log = most > 0 ? ceil(log10(most)) : 1;
	axes->most_log += axes->most_log == axes->least_log;
	return 0;
}

static void
draw_axes(const struct tradeoff_measure_row *row, const struct axes *axes, FILE *to)
{
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	for (int i = 0; i <= Y_LINES; i++) {
		double value = axes->most * i / Y_LINES, y = y_of(axes, value);

		fprintf(to,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, y, RIGHT, y, LEFT - 6, y + 4, value);
	}
	for (double at = axes->least_log; at <= axes->most_log; at++) {
		double x = x_of(axes, pow(10, at));

		fprintf(to,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g%s</text>\n",
			x, TOP, x, BOTTOM, x, BOTTOM + 18,
			pow(10, at) / (at >= 6   ? 1e6
				       : at >= 3 ? 1e3
						 : 1),
			at >= 6   ? " MB/s"
			: at >= 3 ? " kB/s"
				  : " B/s");
	}
	fprintf(to,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes a second to the analyzer</text>\n"
		"<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">%s%s%s</text>\n",
		(LEFT + RIGHT) / 2, BOTTOM + 40, (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2, row->title,
		row->unit[0] != '\0' ? ", " : "", row->unit);
}

static int
find_spots(const struct tradeoff *study, uint32_t first, enum tradeoff_measure measure, const struct axes *axes,
	   struct spot *spots)
{
	double one = tradeoff_measures[measure].one;

	for (uint32_t b = 0; b < study->nbudgets; b++) {
		struct tradeoff_sum sum;
		const struct bootstrap *of = &sum.measures[measure];

		if (tradeoff_sum(study, NULL, first + b, &sum) < 0)
			return -ENOMEM;
		spots[b] = (struct spot){ .there = of->count != 0,
					  .x = x_of(axes, sum.measures[TRADEOFF_SOCKET].value),
					  .y = y_of(axes, of->value / one),
					  .low = y_of(axes, of->low / one),
					  .high = y_of(axes, of->high / one) };
	}
	return 0;
}

/* @param number  of the curve: its place in the legend */
static void
draw_curve(const struct tradeoff *study, uint32_t number, const struct spot *spots, FILE *to)
{
	uint32_t policy = number / study->nepochs, epoch = number % study->nepochs;
	const char *colour = colours[policy % ARRAY_LEN(colours)], *dash = dashes[epoch % ARRAY_LEN(dashes)];
	const char *length = study->epochs[epoch].text;
	bool begun = false;

	fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"", colour, dash);
	for (uint32_t b = 0; b < study->nbudgets; b++) {
		if (!spots[b].there)
			continue;
		fprintf(to, "%s%.1f %.1f", begun ? " L" : "M", spots[b].x, spots[b].y);
		begun = true;
	}
	fputs("\"/>\n", to);
	for (uint32_t b = 0; b < study->nbudgets; b++)
		if (spots[b].there)
			fprintf(to,
				"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>"
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>budget %s</title></circle>\n",
				spots[b].x, spots[b].low, spots[b].x, spots[b].high, colour, spots[b].x, spots[b].y, colour,
				study->budgets[b].text[0] != '\0' ? study->budgets[b].text : "of the scenario");
	fprintf(to,
		"<line x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>"
		"<text x=\"%d\" y=\"%u\">%s%s%s</text>\n",
		RIGHT + 16, TOP + 12 + 18 * number, RIGHT + 40, TOP + 12 + 18 * number, colour, dash, RIGHT + 46,
		TOP + 16 + 18 * number, study->policies[policy].name, length[0] != '\0' ? ", " : "", length);
}

int
tradeoff_figure(const struct tradeoff *study, enum tradeoff_measure measure, FILE *to)
{
	struct spot spots[TRADEOFF_MAX_BUDGETS];
	struct axes axes;
	int ret = axes_init(study, measure, &axes);

	if (ret < 0)
		return ret;
	draw_axes(&tradeoff_measures[measure], &axes, to);
	for (uint32_t curve = 0; ret == 0 && curve < study->npolicies * study->nepochs; curve++) {
		ret = find_spots(study, curve * study->nbudgets, measure, &axes, spots);
		if (ret == 0)
			draw_curve(study, curve, spots, to);
	}
	fputs("</svg>\n", to);
	return ret;
}
