/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "emulation/rxe_host/probing.h"
#include "emulation/rxe_host/tracing.h"
#include "emulation/rxe_host/upload.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/kernel_host.h"

static int begin(struct session *session, struct err *err);
static int go_on(struct session *session, struct err *err);

static void
manage_ready(void *ctx, uint32_t events)
{
	struct session *session = ctx;

	session->manage_events |= events;
}

static int
create(struct session *session, struct err *err)
{
	const struct scenario *sc = session->config.scenario;
	const struct verbs_config verbs = {
		.node = session->config.node,
		.ip = topo_nic_ip(session->config.node, 0),
		.flows = &sc->plan->flows,
		.slowest_bps = session->slowest_bps,
		.params = &sc->roce,
		.window_bytes = sc->roce.window_bytes,
		.window_is_bdp = sc->roce.window_is_bdp,
		.probes = (uint32_t)sc->detection.probes,
		.probe_interval_ps = sc->detection.probe_interval_ps,
		.watch = sc->detection.policy != REC_POLICY_OFF,
		.noise_ps = sc->detection.noise_ps,
		.embedded = session->embedded,
		.interface_of = probing_interface,
		.interface_ctx = sc->topo,
		.loop = &session->loop,
		.clock = &session->clock,
	};
	struct step_engine_config engine = {
		.plan = sc->plan,
		.node = session->config.node,
		.detection = &sc->detection,
		.jitter_ps = scenario_jitter_ps(sc),
		.start_delay_ps = faults_start_delay_ps,
		.start_ctx = &sc->faults,
	};

	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		session->embedded[i] = sc->hosts[i] == NULL && sc->nexternal != 0;
	session->verbs = verbs_host_create(&verbs, err);
	if (session->verbs == NULL)
		return -errno;
	if (probing_start(session, err) < 0)
		return -EIO;
	tracing_start(session);
	engine.probes = session->probes;
	engine.traced = session->tracer != NULL;
	engine.device = verbs_host_device(session->verbs);
	session->engine = step_engine_create(&engine, err);
	if (session->engine == NULL)
		return -errno;
	step_engine_start(session->engine);
	return verbs_host_listen(session->verbs, err);
}

int
session_run(const struct session_config *config, struct err *err)
{
	struct session session = { .config = *config, .loop.fd = -1 };
	int rc = loop_init(&session.loop);

	if (rc == 0)
		rc = manage_stream_init(&session.stream, config->manage_fd, SESSION_QUEUE_BYTES);
	if (rc < 0) {
		loop_fini(&session.loop);
		return err_set(err, rc, "cannot use the management channel: %s", strerror(-rc));
	}
	rc = begin(&session, err);
	while (rc == 0 && session.state != SESSION_STOPPED)
		rc = go_on(&session, err);
	if (rc == 0)
		rc = upload_results(&session, err);
	if (rc < 0)
		session_send_text(&session, MANAGE_FAILED, err->text);
	else if (session.error_sent)
		rc = -EIO;
	step_engine_destroy(session.engine);
	probe_agent_destroy(session.probes);
	tracer_destroy(session.tracer);
	verbs_host_destroy(session.verbs);
	free(session.slowest_bps);
	free(session.embedded);
	manage_stream_fini(&session.stream);
	loop_fini(&session.loop);
	return rc;
}

void
session_send_text(struct session *session, enum manage_type type, const char *text)
{
	struct manage_failed failed = { 0 };

	memcpy(failed.text, text, strnlen(text, sizeof(failed.text) - 1));
	if (manage_stream_send(&session->stream, type, &failed, sizeof(failed)) == 0 && type == MANAGE_FAILED)
		session_drain(session, 0);
}

int
session_drain(struct session *session, size_t left)
{
	uint64_t until_ns = clock_now_ns() + SESSION_DRAIN_NS;
	struct loop_watch watch = { .fd = session->stream.fd, .ready = manage_ready, .ctx = session };
	struct loop loop;
	int rc = loop_init(&loop);

	if (rc == 0)
		rc = loop_watch(&loop, &watch, EPOLLOUT);
	while (rc == 0 && session->stream.out_used > left) {
		int rest = manage_stream_flush(&session->stream);

		if (rest < 0)
			rc = rest;
		else if (clock_now_ns() >= until_ns)
			rc = -ETIMEDOUT;
		else if (session->stream.out_used > left)
			rc = loop_wait(&loop, until_ns);
		rc = rc == -EINTR ? 0 : rc;
	}
	loop_fini(&loop);
	return rc;
}

static int
begin(struct session *session, struct err *err)
{
	const struct scenario *sc = session->config.scenario;
	struct manage_hello hello = {
		.version = MANAGE_VERSION,
		.node = session->config.node,
		.digest = plan_digest(sc->plan),
	};
	int rc = kernel_host_check(sc, session->config.node, err);

	session->watch = (struct loop_watch){ .fd = session->stream.fd, .ready = manage_ready, .ctx = session };
	if (rc == 0)
		rc = loop_watch(&session->loop, &session->watch, EPOLLIN);
	if (rc == 0) {
		session->slowest_bps = kernel_host_slowest_bps(sc, err);
		session->embedded = calloc(sc->topo->nnodes, sizeof(*session->embedded));
		rc = session->slowest_bps == NULL ? -EHOSTUNREACH
		     : session->embedded == NULL  ? -ENOMEM
						  : create(session, err);
	}
	if (rc < 0)
		return err_set(err, rc, "cannot wait for the management channel: %s", strerror(-rc));
	session->received_ns = clock_now_ns();
	snprintf(hello.device, sizeof(hello.device), "%s", verbs_host_name(session->verbs));
	return session_send(session, MANAGE_HELLO, &hello, sizeof(hello), err);
}

int
session_send(struct session *session, enum manage_type type, const void *body, size_t size, struct err *err)
{
	int rc = manage_stream_send(&session->stream, type, body, size);

	if (rc == -EPIPE)
		return err_set(err, rc, "the management channel closed: the fabric is gone");
	return rc == 0 ? 0 : err_set(err, rc, "the management channel does not take any more: %s", strerror(-rc));
}

static int
connect_all(struct session *session, struct err *err)
{
	int rc = verbs_host_connect(session->verbs, err);
	struct manage_qp qp;

	for (uint32_t i = 0; rc == 0 && i < session->config.scenario->plan->flows.count; i++)
		if (verbs_host_static(session->verbs, i, &qp))
			rc = session_send(session, MANAGE_QP, &qp, sizeof(qp), err);
	return rc;
}

/* One message of the fabric. */
static int
hear(struct session *session, const struct manage_message *message, struct err *err)
{
	struct manage_time time;
	struct manage_start start;
	struct manage_stop stop;

	switch (message->type) {
	case MANAGE_TIME:
		memcpy(&time, message->body, sizeof(time));
		if (session->asking && time.host_ns == session->asked_ns) {
			run_clock_exchange(&session->clock, time.host_ns, time.fabric_ns, clock_now_ns());
			session->asking = false;
			session->received_ns = clock_now_ns();
		}
		return 0;
	case MANAGE_CONNECT:
		if (session->state != SESSION_WAITING)
			break;
		session->state = SESSION_CONNECTING;
		return connect_all(session, err);
	case MANAGE_START:
		if (session->state != SESSION_READY)
			break;
		memcpy(&start, message->body, sizeof(start));
		run_clock_start(&session->clock, start.zero_ns);
		session->state = SESSION_RUNNING;
		return 0;
	case MANAGE_PINGMESH:
		if (session->state != SESSION_RUNNING)
			break;
		return probing_reply(session, message, err);
	case MANAGE_STOP:
		memcpy(&stop, message->body, sizeof(stop));
		session->end_ps = stop.end_ps;
		session->state = SESSION_STOPPED;
		return 0;
	default:
		break;
	}
	return err_set(err, -EPROTO, "management channel: message of type %d out of turn", message->type);
}

static int
hear_all(struct session *session, struct err *err)
{
	struct manage_message message;
	int rc, got = manage_stream_receive(&session->stream);

	if (got < 0)
		return err_set(err, got, "the management channel broke: %s", strerror(-got));
	while (session->state != SESSION_STOPPED && (rc = manage_stream_take(&session->stream, &message, err)) != 0) {
		if (rc > 0)
			rc = hear(session, &message, err);
		if (rc < 0)
			return rc;
	}
	if (session->stream.closed && session->state != SESSION_STOPPED)
		return err_set(err, -EPIPE, "the management channel closed: the fabric is gone");
	return 0;
}

/* Often at first, to find an exchange that nothing delayed; then against the clocks drifting apart. */
static int
ask_time(struct session *session, uint64_t now_ns, struct err *err)
{
	struct manage_time time = { .host_ns = now_ns };

	if (now_ns > session->received_ns + SESSION_SILENCE_NS)
		return err_set(err, -ETIMEDOUT, "the fabric has been silent for %llu s", SESSION_SILENCE_NS / 1000000000);
	if (now_ns < session->ask_ns || !manage_stream_has_room(&session->stream, sizeof(time)))
		return 0;
	session->ask_ns = now_ns + (session->clock.exchanges < RUN_CLOCK_EXCHANGES ? SESSION_ASK_FAST_NS : SESSION_ASK_NS);
	session->asking = true;
	session->asked_ns = now_ns;
	return session_send(session, MANAGE_TIME, &time, sizeof(time), err);
}

static int
connected(struct session *session, struct err *err)
{
	struct verbs_counters counters;
	struct manage_connected body;

	verbs_host_count(session->verbs, &counters);
	body = (struct manage_connected){
		.qps = counters.qps,
		.clock_error_ns = session->clock.error_ns,
		.base_rtt_ns = counters.base_rtt_ps / PS_PER_NS,
		.noise_ns = counters.noise_ps / PS_PER_NS,
	};
	session->state = SESSION_READY;
	return session_send(session, MANAGE_CONNECTED, &body, sizeof(body), err);
}

static int
watch_device(struct session *session, struct err *err)
{
	const char *error = verbs_host_error(session->verbs);

	if (verbs_host_state(session->verbs) == VERBS_BROKEN)
		return err_set(err, -EIO, "%s", error);
	if (error != NULL && !session->error_sent) {
		session->error_sent = true;
		log_error("%s", error);
		session_send_text(session, MANAGE_QP_ERROR, error);
	}
	if (session->state == SESSION_CONNECTING && verbs_host_state(session->verbs) == VERBS_UP &&
	    session->clock.exchanges >= RUN_CLOCK_EXCHANGES)
		return connected(session, err);
	return 0;
}

/* @return when there is something to do, by clock_now_ns() */
static uint64_t
next_ns(const struct session *session)
{
	uint64_t next = verbs_host_next_ns(session->verbs);

	next = session->ask_ns < next ? session->ask_ns : next;
	if (session->state == SESSION_RUNNING && session->report_ns < next)
		next = session->report_ns;
	if (session->state == SESSION_RUNNING && session->trace_ns < next)
		next = session->trace_ns;
	return next;
}

static int
go_on(struct session *session, struct err *err)
{
	uint32_t events = EPOLLIN | (manage_stream_pending(&session->stream) ? EPOLLOUT : 0);
	uint64_t now_ns;
	int rc = 0;

	if (events != session->watched_events)
		rc = loop_change(&session->loop, &session->watch, events);
	session->watched_events = events;
	session->manage_events = 0;
	if (rc == 0)
		rc = loop_wait(&session->loop, next_ns(session));
	now_ns = clock_now_ns();
	if (rc < 0 && rc != -EINTR)
		return err_set(err, rc, "cannot wait: %s", strerror(-rc));
	if (*session->config.interrupted)
		return err_set(err, -EINTR, "interrupted");
	rc = manage_stream_flush(&session->stream);
	if (rc < 0 && rc != -EPIPE)
		return err_set(err, rc, "the management channel broke: %s", strerror(-rc));
	rc = (session->manage_events & ~EPOLLOUT) != 0 ? hear_all(session, err) : 0;
	if (rc < 0 || session->state == SESSION_STOPPED)
		return rc;
	verbs_host_run(session->verbs);
	session->trace_ns = tracing_run(session, now_ns);
	rc = watch_device(session, err);
	if (rc == 0)
		rc = probing_ask(session, err);
	if (rc == 0)
		rc = ask_time(session, now_ns, err);
	if (rc == 0 && session->state == SESSION_RUNNING)
		rc = upload_progress(session, now_ns, err);
	return rc;
}
