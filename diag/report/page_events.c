/* SPDX-License-Identifier: BSD-3-Clause */
/* The page's events, as columns: what hosts detected and handed on, and what switches were asked. */
#include "common/array.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "diag/report/page_data.h"

#define SHORTEST_RUN 3

json_t *
page_indices(const uint32_t *indices, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = value_add(array, json_integer(page_index(indices[i])));
	return array;
}

static json_int_t
value_of(const struct verdict *v, const struct page_column *column, uint32_t first, uint32_t row)
{
	json_int_t value = column->of(v, first + row);

	return column->rising && row > 0 ? value - column->of(v, first + row - 1) : value;
}

/* A run of equal numbers is one pair [number, how many]. */
static json_t *
column(const struct verdict *v, const struct page_column *column, uint32_t first, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0, n; i < count; i += n) {
		json_int_t value = value_of(v, column, first, i);

		for (n = 1; i + n < count && value_of(v, column, first, i + n) == value; n++)
			;
		if (n < SHORTEST_RUN)
			n = 1;
		array = value_add(array, n == 1 ? json_integer(value) : json_pack("[I, I]", value, (json_int_t)n));
	}
	return column->rising ? json_pack("{s:o}", "steps", array) : array;
}

json_t *
page_columns(const struct verdict *v, const struct page_column *columns, size_t ncolumns, uint32_t first, uint32_t count)
{
	json_t *object = json_pack("{s:I}", "count", (json_int_t)count);

	for (size_t k = 0; k < ncolumns; k++) {
		if (json_object_set_new(object, columns[k].key, column(v, &columns[k], first, count)) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_int_t
detection_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].time_ps / PS_PER_NS);
}

static json_int_t
detection_step(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.detections[i].step);
}

static json_int_t
detection_rtt(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].rtt_ps / PS_PER_NS);
}

static json_int_t
detection_threshold(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].threshold_ps / PS_PER_NS);
}

static json_int_t
detection_stall(const struct verdict *v, uint32_t i)
{
	return v->run.detections[i].cause == REC_TRIGGER_STALL;
}

static json_int_t
detection_left(const struct verdict *v, uint32_t i)
{
	return v->run.detections[i].remaining;
}

json_t *
page_detections(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = detection_time, .rising = true },
		{ .key = "step", .of = detection_step },
		{ .key = "rtt", .of = detection_rtt },
		{ .key = "threshold", .of = detection_threshold },
		{ .key = "stall", .of = detection_stall },
		{ .key = "left", .of = detection_left },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.ndetections);
}

static json_int_t
notification_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.notifications[i].time_ps / PS_PER_NS);
}

static json_int_t
notification_from(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.notifications[i].from);
}

static json_int_t
notification_detections(const struct verdict *v, uint32_t i)
{
	return v->run.notifications[i].detections;
}

json_t *
page_notifications(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = notification_time, .rising = true },
		{ .key = "from", .of = notification_from },
		{ .key = "detections", .of = notification_detections },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.nnotifications);
}

static json_int_t
poll_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.polls[i].time_ps / PS_PER_NS);
}

static json_int_t
poll_flow(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.polls[i].flow);
}

static json_int_t
poll_port(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.polls[i].out_port);
}

static json_int_t
poll_paused(const struct verdict *v, uint32_t i)
{
	return v->run.polls[i].out_paused;
}

json_t *
page_polls(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = poll_time, .rising = true },
		{ .key = "flow", .of = poll_flow },
		{ .key = "port", .of = poll_port },
		{ .key = "paused", .of = poll_paused },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.npolls);
}
