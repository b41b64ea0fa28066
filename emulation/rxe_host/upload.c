/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/upload.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"

static struct recbuf *
records_of(struct session *session)
{
	struct device *device = verbs_host_device(session->verbs);

	return device->ops->records(device);
}

static int
send_records(struct session *session, struct err *err)
{
	struct recbuf *records = records_of(session);
	int rc = 0;

	while (rc == 0 && records->used_bytes != 0) {
		size_t room = session->stream.out_cap - session->stream.out_used, bytes;

		if (room <= sizeof(struct manage_hdr))
			break;
		room -= sizeof(struct manage_hdr);
		bytes = recbuf_front(records, room < MANAGE_MAX_BODY ? room : MANAGE_MAX_BODY);
		if (bytes == 0)
			break;
		rc = session_send(session, MANAGE_RECORDS, records->data, bytes, err);
		recbuf_take(records, bytes);
	}
	/* The channel is not read: the newest go, the order of the others stays. */
	session->lost_records += recbuf_limit(records, SESSION_MAX_RECORDS);
	return rc;
}

static struct manage_progress
progress_of(const struct session *session)
{
	return (struct manage_progress){
		.acked_bytes = verbs_host_acked_bytes(session->verbs),
		.working = step_engine_state(session->engine) == STEP_ENGINE_WORKING,
		.background = step_engine_background_open(session->engine),
		.sending = step_engine_sending(session->engine),
		.next_ps = step_engine_next_ps(session->engine),
	};
}

/*
 * What changes the course of the run goes at once, everything else in batches; records always before the progress that
 * they are part of: the fabric may end the run when it hears of that.
 */
int
upload_progress(struct session *session, uint64_t now_ns, struct err *err)
{
	struct manage_progress now = progress_of(session);
	const struct manage_progress *last_sent = &session->progress;
	bool turn = !session->progress_sent || now.working != last_sent->working || now.background != last_sent->background;
	bool due = now_ns >= session->report_ns;
	int rc;

	if (!turn && !due)
		return 0;
	session->report_ns = now_ns + SESSION_REPORT_NS;
	rc = send_records(session, err);
	if (rc < 0 || records_of(session)->used_bytes != 0 || !manage_stream_has_room(&session->stream, sizeof(now)) ||
	    (!turn && now.acked_bytes == last_sent->acked_bytes && now.sending == last_sent->sending &&
	     now.next_ps == last_sent->next_ps))
		return rc;
	session->progress_sent = true;
	session->progress = now;
	return session_send(session, MANAGE_PROGRESS, &now, sizeof(now), err);
}

/* Now there is time to wait for room. */
static int
send_last(struct session *session, enum manage_type type, const void *body, size_t size, struct err *err)
{
	int rc = session_drain(session, session->stream.out_cap - sizeof(struct manage_hdr) - size);

	if (rc < 0)
		return err_set(err, rc, "the fabric does not read the results: %s", strerror(-rc));
	return session_send(session, type, body, size, err);
}

static int
send_steps(struct session *session, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < step_engine_rows(session->engine) && rc == 0; i++) {
		struct manage_step step = step_engine_get_step(session->engine, i);

		rc = send_last(session, MANAGE_STEP, &step, sizeof(step), err);
	}
	for (size_t i = 0; i < step_engine_iterations(session->engine) && rc == 0; i++) {
		struct manage_iteration iteration = step_engine_get_iteration(session->engine, i);

		rc = send_last(session, MANAGE_ITERATION, &iteration, sizeof(iteration), err);
	}
	return rc;
}

static int
send_result(struct session *session, struct err *err)
{
	struct verbs_counters counters;
	struct manage_result result;

	verbs_host_count(session->verbs, &counters);
	result = (struct manage_result){
		.naks = counters.naks,
		.timeouts = counters.timeouts,
		.notification_packets = counters.control[PKT_NOTIFY].packets,
		.notification_bytes = counters.control[PKT_NOTIFY].bytes,
		.polling_packets = counters.control[PKT_POLL].packets,
		.polling_bytes = counters.control[PKT_POLL].bytes,
		.probe_packets = counters.probe_packets,
		.probe_bytes = counters.probe_bytes,
		.cpu_ns = clock_cpu_ns(),
		.peak_rss_bytes = clock_peak_rss_bytes(),
		.unexpected = step_engine_unexpected(session->engine),
		.manage_bytes = session->stream.sent_bytes + session->stream.out_used,
		.failed = session->error_sent,
		.lost_records = session->lost_records,
	};
	return send_last(session, MANAGE_RESULT, &result, sizeof(result), err);
}

int
upload_results(struct session *session, struct err *err)
{
	int rc;

	step_engine_close(session->engine, session->end_ps);
	do {
		rc = session_drain(session, 0);
		if (rc < 0)
			return err_set(err, rc, "the fabric does not read the records: %s", strerror(-rc));
		rc = send_records(session, err);
	} while (rc == 0 && records_of(session)->used_bytes != 0);
	if (rc == 0)
		rc = send_steps(session, err);
	if (rc == 0)
		rc = send_result(session, err);
	if (rc == 0)
		rc = session_drain(session, 0);
	return rc == 0 ? 0 : err_set(err, rc, "the fabric does not read the results: %s", strerror(-rc));
}
