/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace of Perfetto. Its processes are the jobs, with a track or more a rank, on which its steps are slices; the flows;
 * the ports, with counters of queues and pauses; and the findings. Times are those of the run, in nanoseconds from 0.
 */
#include <errno.h>
#include <perfetto.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/export.h"

#include "store/schema.h"

#define SEQUENCE 1       /* of all packets: one writer */
#define STATE_CLEARED 1  /* TracePacket.SEQ_INCREMENTAL_STATE_CLEARED */
#define MAX_ARGUMENTS 12 /* of a slice */

struct trace {
	FILE *to;
	uint64_t uuids; /* given so far */
	bool begun;
	bool failed; /* a write */
};

/* A concatenation of traces is a trace: each packet is written as one that has it alone. */
static void
put(struct trace *trace, Perfetto__TracePacket *packet)
{
	Perfetto__Trace one = PERFETTO__TRACE__INIT;
	uint8_t *bytes;
	size_t size;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = !trace->begun;
	packet->sequence_flags = STATE_CLEARED;
	trace->begun = true;
	one.n_packet = 1;
	one.packet = &packet;
	size = perfetto__trace__get_packed_size(&one);
	bytes = malloc(size);
	trace->failed |= bytes == NULL || fwrite(bytes, 1, perfetto__trace__pack(&one, bytes), trace->to) != size;
	free(bytes);
}

/* @param pid  a process of its own; 0: none @param unit  of a counter; NULL: it has slices @return its uuid */
static uint64_t
put_track(struct trace *trace, uint64_t parent, const char *name, int pid, const char *unit)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	track.has_uuid = true;
	track.uuid = ++trace->uuids;
	track.has_parent_uuid = parent != 0;
	track.parent_uuid = parent;
	process.has_pid = true;
	process.pid = pid;
	process.process_name = (char *)(uintptr_t)name;
	if (pid != 0)
		track.process = &process;
	else
		track.name = (char *)(uintptr_t)name;
	counter.unit_name = (char *)(uintptr_t)unit;
	if (unit != NULL)
		track.counter = &counter;
	packet.track_descriptor = &track;
	put(trace, &packet);
	return track.uuid;
}

static void
put_event(struct trace *trace, uint64_t time_ns, Perfetto__TrackEvent *event)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = true;
	packet.timestamp = time_ns;
	packet.track_event = event;
	put(trace, &packet);
}

/* A column as an argument of a slice. @return whether it has a value */
static bool
fill_argument(Perfetto__DebugAnnotation *argument, sqlite3_stmt *stmt, int column)
{
	perfetto__debug_annotation__init(argument);
	argument->name = (char *)(uintptr_t)sqlite3_column_name(stmt, column);
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		return false;
	case SQLITE_INTEGER:
		argument->has_int_value = true;
		argument->int_value = sqlite3_column_int64(stmt, column);
		return true;
	case SQLITE_FLOAT:
		argument->has_double_value = true;
		argument->double_value = sqlite3_column_double(stmt, column);
		return true;
	default:
		argument->string_value = (char *)(uintptr_t)sqlite3_column_text(stmt, column);
		return true;
	}
}

/* Slices: columns of a query, in this order; arguments are behind. */
enum { OF_TRACK, OF_NAME, OF_START, OF_END, OF_ARGUMENTS };

/* A slice from the row of a query. */
static void
put_slice(struct trace *trace, uint64_t track, const char *category, sqlite3_stmt *stmt)
{
	Perfetto__TrackEvent begin = PERFETTO__TRACK_EVENT__INIT, end = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation arguments[MAX_ARGUMENTS], *list[MAX_ARGUMENTS];
	char *categories[] = { (char *)(uintptr_t)category };

	begin.has_type = begin.has_track_uuid = end.has_type = end.has_track_uuid = true;
	begin.type = PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN;
	end.type = PERFETTO__TRACK_EVENT__TYPE__SLICE_END;
	begin.track_uuid = end.track_uuid = track;
	begin.name = (char *)(uintptr_t)sqlite3_column_text(stmt, OF_NAME);
	begin.categories = categories;
	begin.n_categories = 1;
	begin.debug_annotations = list;
	for (int i = OF_ARGUMENTS; i < sqlite3_column_count(stmt) && begin.n_debug_annotations < MAX_ARGUMENTS; i++) {
		list[begin.n_debug_annotations] = &arguments[begin.n_debug_annotations];
		begin.n_debug_annotations += fill_argument(&arguments[begin.n_debug_annotations], stmt, i);
	}
	put_event(trace, (uint64_t)sqlite3_column_int64(stmt, OF_START), &begin);
	put_event(trace, (uint64_t)sqlite3_column_int64(stmt, OF_END), &end);
}

/* Slices of one name of a track overlap: each goes to the first of its lanes, a track each, that is free. */
struct lanes {
	char name[256];
	struct {
		uint64_t track;
		int64_t end_ns;
	} * at; /* [count] */
	size_t count;
};

/* @return the track of a slice; 0: out of memory */
static uint64_t
lane_of(struct trace *trace, struct lanes *lanes, uint64_t parent, sqlite3_stmt *stmt)
{
	const char *name = (const char *)sqlite3_column_text(stmt, OF_TRACK);
	int64_t start_ns = sqlite3_column_int64(stmt, OF_START), end_ns = sqlite3_column_int64(stmt, OF_END);
	size_t i = 0;
	void *grown;

	if (strncmp(lanes->name, name, sizeof(lanes->name) - 1) != 0)
		lanes->count = 0;
	snprintf(lanes->name, sizeof(lanes->name), "%s", name);
	while (i < lanes->count && lanes->at[i].end_ns > start_ns)
		i++;
	if (i == lanes->count) {
		grown = realloc(lanes->at, (i + 1) * sizeof(*lanes->at));
		if (grown == NULL)
			return 0;
		lanes->at = grown;
		lanes->count++;
		lanes->at[i].track = put_track(trace, parent, lanes->name, 0, NULL);
	}
	lanes->at[i].end_ns = end_ns;
	return lanes->at[i].track;
}

/* @param stmt  rows ordered by the name of their track, then by start; ends @return 0 or negative errno with err set */
static int
put_slices(struct trace *trace, uint64_t parent, const char *category, sqlite3_stmt *stmt, struct err *err)
{
	struct lanes lanes = { 0 };
	int result, ret = 0;

	while (ret == 0 && (result = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t track = lane_of(trace, &lanes, parent, stmt);

		if (track == 0)
			ret = err_set(err, -ENOMEM, "out of memory for a trace");
		else
			put_slice(trace, track, category, stmt);
	}
	if (ret == 0 && result != SQLITE_DONE)
		ret = err_set(err, -EIO, "%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
	free(lanes.at);
	sqlite3_finalize(stmt);
	return ret;
}

/* Processes, each with the slices of a query, whose :job is the number of the job. */
static const char steps_of_job[] =
	"SELECT printf('rank %d (%s)', rank, a.name) AS track, coalesce((SELECT name FROM collectives c WHERE c.job = "
	"steps.job"
	" AND c.collective = steps.collective LIMIT 1), 'collective') || ' step ' || step AS name, start_ns,"
	" coalesce(end_ns, (SELECT value FROM run WHERE key = 'end_ns')), iteration, channel, a.name AS src, b.name AS dst,"
	" bytes, ideal_ns, expect_ns, waited_rank, waited_step, end_ns IS NULL AS open FROM steps"
	" LEFT JOIN nodes a ON a.node = steps.src LEFT JOIN nodes b ON b.node = steps.dst WHERE job = :job"
	" ORDER BY rank, start_ns, steps.rowid";
static const char flows_query[] =
	"SELECT a.name || ' -> ' || b.name AS track, coalesce(generator, 'flow') AS name, coalesce(begin_ns, start_ns),"
	" coalesce(end_ns, (SELECT value FROM run WHERE key = 'end_ns')), bytes, start_ns AS arrival_ns, fct_ns, ideal_ns,"
	" retransmits, end_ns IS NULL AS open FROM flows JOIN nodes a ON a.node = src JOIN nodes b ON b.node = dst"
	" ORDER BY 1, 3, flows.rowid";
static const char findings_query[] =
	"SELECT printf('finding %d', finding) AS track, type || ' ' || root AS name, start_ns, end_ns, explained_ns,"
	" regained_ns, confidence, evidence FROM findings WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY "
	"finding";

static int
put_process(struct trace *trace, sqlite3 *db, const char *name, const char *category, const char *sql, int64_t job,
	    struct err *err)
{
	sqlite3_stmt *stmt = store_select(db, sql, err);
	uint64_t process;

	if (stmt == NULL)
		return -EINVAL;
	if (sqlite3_bind_parameter_count(stmt) != 0)
		sqlite3_bind_int64(stmt, 1, job);
	process = put_track(trace, 0, name, (int)trace->uuids + 1, NULL);
	return put_slices(trace, process, category, stmt, err);
}

static int
put_jobs(struct trace *trace, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *jobs = store_select(db, "SELECT job, 'job ' || name FROM jobs ORDER BY job", err);
	int ret = jobs != NULL ? 0 : -EINVAL;

	while (ret == 0 && sqlite3_step(jobs) == SQLITE_ROW)
		ret = put_process(trace, db, (const char *)sqlite3_column_text(jobs, 1), "step", steps_of_job,
				  sqlite3_column_int64(jobs, 0), err);
	sqlite3_finalize(jobs);
	return ret;
}

/* Samples of all series, each with the one before and behind. */
#define SAMPLES                                                                                                            \
	"WITH times AS (SELECT time_ns FROM queue_series UNION SELECT time_ns FROM port_series),"                          \
	" samples AS (SELECT time_ns, lag(time_ns, 1, 0) OVER w AS before_ns, lead(time_ns) OVER w AS next_ns FROM times"  \
	" WINDOW w AS (ORDER BY time_ns)), "
#define OF_CLASS "WINDOW w AS (PARTITION BY port, class ORDER BY time_ns)"

/*
 * Counters: a track for each port and class that has any: name, unit, time, value. A class has a row of the series where
 * something waited or paused: where the next sample has none, the counter is 0 from there on.
 */
static const char *const counter_queries[] = {
	SAMPLES "own AS (SELECT port, class, time_ns, bytes, next_ns, lead(time_ns) OVER w AS own_next_ns FROM queue_series"
		" JOIN samples USING (time_ns) WHERE (port, class) IN (SELECT port, class FROM queue_series WHERE bytes > "
		"0) " OF_CLASS
		"), filled AS (SELECT port, class, time_ns, bytes FROM own UNION ALL SELECT port, class, next_ns, 0"
		" FROM own WHERE bytes > 0 AND next_ns IS NOT NULL AND own_next_ns IS NOT next_ns)"
		" SELECT name || ' queue ' || class, 'B', time_ns, bytes FROM filled JOIN ports USING (port)"
		" ORDER BY port, class, time_ns",
	/* The share of the time since the sample before, from that one on. */
	SAMPLES
	"own AS (SELECT port, class, before_ns, time_ns, 100.0 * (rx_pause_duration_ns - lag(rx_pause_duration_ns, 1,"
	" 0) OVER w) / nullif(time_ns - before_ns, 0) AS share, lead(before_ns) OVER w AS own_next_ns FROM queue_series"
	" JOIN samples USING (time_ns) WHERE (port, class) IN (SELECT port, class FROM queue_series WHERE"
	" rx_pause_duration_ns > 0) " OF_CLASS "), filled AS (SELECT port, class, before_ns AS time_ns, share FROM own"
	" UNION ALL SELECT port, class, time_ns, 0.0 FROM own WHERE own_next_ns IS NOT time_ns)"
	" SELECT name || ' paused ' || class, '%', time_ns, min(share, 100.0) FROM filled JOIN ports USING (port)"
	" ORDER BY port, class, time_ns",
	"SELECT ports.name || ' ECN marks ' || class, 'packets', time_ns, ecn_marked_packets FROM queue_series"
	" JOIN ports USING (port) WHERE (port, class) IN (SELECT port, class FROM queue_series WHERE ecn_marked_packets > "
	"0)"
	" ORDER BY port, class, time_ns",
};

static void
put_counter(struct trace *trace, uint64_t track, sqlite3_stmt *stmt)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	bool whole = sqlite3_column_type(stmt, 3) == SQLITE_INTEGER;

	event.has_type = event.has_track_uuid = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__COUNTER;
	event.track_uuid = track;
	event.has_counter_value = whole;
	event.counter_value = sqlite3_column_int64(stmt, 3);
	event.has_double_counter_value = !whole;
	event.double_counter_value = sqlite3_column_double(stmt, 3);
	put_event(trace, (uint64_t)sqlite3_column_int64(stmt, 2), &event);
}

static int
put_counters(struct trace *trace, sqlite3 *db, struct err *err)
{
	uint64_t process = put_track(trace, 0, "ports", (int)trace->uuids + 1, NULL), track = 0;

	for (size_t i = 0; i < sizeof(counter_queries) / sizeof(counter_queries[0]); i++) {
		sqlite3_stmt *stmt = store_select(db, counter_queries[i], err);
		char name[256] = "";
		int result;

		if (stmt == NULL)
			return -EINVAL;
		while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
			const char *of = (const char *)sqlite3_column_text(stmt, 0);

			if (strncmp(name, of, sizeof(name) - 1) != 0)
				track = put_track(trace, process, of, 0, (const char *)sqlite3_column_text(stmt, 1));
			snprintf(name, sizeof(name), "%s", of);
			put_counter(trace, track, stmt);
		}
		sqlite3_finalize(stmt);
		if (result != SQLITE_DONE)
			return err_set(err, -EIO, "%s", sqlite3_errmsg(db));
	}
	return 0;
}

int
export_perfetto(const struct export *export, FILE *to, struct err *err)
{
	struct trace trace = { .to = to };
	int ret = put_process(&trace, export->db, "findings", "finding", findings_query, 0, err);

	if (ret == 0)
		ret = put_jobs(&trace, export->db, err);
	if (ret == 0)
		ret = put_process(&trace, export->db, "flows", "flow", flows_query, 0, err);
	if (ret == 0)
		ret = put_counters(&trace, export->db, err);
	return ret == 0 && trace.failed ? err_set(err, -EIO, "the trace could not be written") : ret;
}
