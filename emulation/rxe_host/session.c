/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/session.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/manage_stream.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "common/wire/detection.h"
#include "common/wire/pingmesh_manage.h"
#include "common/wire/record.h"
#include "common/wire/switch_manage.h"
#include "rxe-hosts/device/verbs/verbs.h"
#include "rxe-hosts/probe/agent.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/tracing/tracer.h"

#define SESSION_QUEUE_BYTES (256u << 10)
#define SESSION_MAX_RECORDS (4u << 20) /* bytes that wait for room in the queue; more are lost, and counted */
#define SESSION_DRAIN_NS 5000000000ull /* how long the fabric may take to read the last words */
#define SESSION_ASK_FAST_NS 10000000ull
#define SESSION_ASK_NS 500000000ull
#define SESSION_REPORT_NS 20000000ull
#define SESSION_SILENCE_NS 30000000000ull /* without an answer: a serial line does not report a closed peer */

enum session_state {
	SESSION_WAITING, /* for CONNECT */
	SESSION_CONNECTING,
	SESSION_READY, /* CONNECTED was sent */
	SESSION_RUNNING,
	SESSION_STOPPED,
};

struct session {
	struct session_config config;
	enum session_state state;
	struct loop loop;
	struct loop_watch watch;                /* of the management channel */
	uint32_t watched_events, manage_events; /* subscribed; seen in this turn */
	struct manage_stream stream;
	struct run_clock clock;
	struct verbs_host *verbs;
	struct step_engine *engine;
	struct probe_agent *probes; /* R-Pingmesh's; NULL: none */
	struct tracer *tracer;      /* of connections, for it; NULL: none */
	uint64_t trace_ns;          /* when it is to be called */
	uint64_t flows_ns;          /* FLOWS: the next */
	uint64_t *slowest_bps;
	bool *embedded;                  /* [nodes] hosts without a connection manager */
	uint64_t ask_ns, asked_ns;       /* TIME: the next, the one in flight */
	uint64_t received_ns;            /* the last answer */
	uint64_t report_ns;              /* RECORDS and PROGRESS: the next */
	struct manage_progress progress; /* as sent last */
	uint64_t end_ps;                 /* SESSION_STOPPED */
	uint32_t lost_records;
	bool asking, error_sent, progress_sent;
};

static int session_send(struct session *session, enum manage_type type, const void *body, size_t size, struct err *err);
static void session_send_text(struct session *session, enum manage_type type, const char *text);
static int session_drain(struct session *session, size_t left);

/* The management channel. */

static int
open_tcp(const char *where, const char *colon, struct err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char host[256];
	int rc, fd = -1;

	if ((size_t)(colon - where) >= sizeof(host))
		return err_set(err, -ENAMETOOLONG, "%s: the host's name is too long", where);
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = '\0';
	rc = getaddrinfo(host, colon + 1, &hints, &list);
	if (rc != 0)
		return err_set(err, -EHOSTUNREACH, "%s: neither a device, a socket nor HOST:PORT: %s", where,
			       gai_strerror(rc));
	rc = -EHOSTUNREACH;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		rc = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		return err_set(err, rc, "%s: no fabric there: %s", where, strerror(-rc));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

int
manage_open(const char *where, struct err *err)
{
	const char *colon = strrchr(where, ':');
	struct stat status;
	unsigned inherited;
	int fd, end;

	if (sscanf(where, "fd:%u%n", &inherited, &end) == 1 && where[end] == '\0') {
		fd = fcntl((int)inherited, F_DUPFD_CLOEXEC, 0);
		return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", where, strerror(errno));
	}
	if (stat(where, &status) < 0) {
		if (colon != NULL && colon != where)
			return open_tcp(where, colon, err);
		return err_set(err, -errno, "%s: %s", where, strerror(errno));
	}
	if (S_ISSOCK(status.st_mode))
		return unix_connect(where, "fabric", err);
	if (!S_ISCHR(status.st_mode))
		return err_set(err, -EINVAL, "%s: neither a serial line, a socket nor HOST:PORT", where);
	fd = open(where, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", where, strerror(errno));
}

/* R-Pingmesh's agent on this host: its controller is at the other end of the management channel. */

/*
 * Makes the agent, over a device that exists, and opens its QPs. Nothing where R-Pingmesh is off. @return 0 or negative
 * errno with err
 */
static int
probing_start(struct session *session, struct err *err)
{
	const struct scenario *sc = session->config.scenario;
	const struct probe_agent_config config = {
		.device = verbs_host_device(session->verbs),
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.node = session->config.node,
		.seed = (uint64_t)sc->root.seed,
		.service = sc->pingmesh.service,
		.traces = sc->pingmesh.trace_rate != 0,
	};
	const char *why;
	int rc;

	if (!sc->pingmesh.enabled)
		return 0;
	session->probes = probe_agent_create(&config);
	if (session->probes == NULL)
		return err_set(err, -ENOMEM, "no memory for R-Pingmesh's agent");
	rc = probe_agent_start(session->probes);
	why = verbs_host_error(session->verbs);
	return rc == 0 ? 0 : err_set(err, rc, "%s", why != NULL ? why : "no memory for R-Pingmesh's agent");
}

/* struct verbs_config's interface_of. @param ctx  struct topo */
static uint32_t
probing_interface(const void *ctx, uint32_t ip)
{
	const struct topo *topo = ctx;
	uint32_t node = (ip & 0xffff) - 1;
	uint16_t port = ip >> 16 & 0x7f;

	if (node >= topo->nnodes || port >= topo->nodes[node].nports || topo_nic_ip(node, port) != ip)
		return UINT32_MAX;
	return node << EXPIRED_NODE_SHIFT | port;
}

/* Sends the agent's requests. @return 0 or negative errno with err */
static int
probing_ask(struct session *session, struct err *err)
{
	struct probe_request request;

	if (session->probes == NULL || session->state != SESSION_RUNNING ||
	    !manage_stream_has_room(&session->stream, sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST) ||
	    !probe_agent_asks(session->probes, &request))
		return 0;
	return session_send(session, MANAGE_PINGMESH, request.bytes, request.size, err);
}

/* Gives it the controller's reply. @return 0 or negative errno with err */
static int
probing_reply(struct session *session, const struct manage_message *message, struct err *err)
{
	if (session->probes == NULL)
		return err_set(err, -EPROTO, "management channel: a reply to an agent that there is not");
	if (probe_agent_reply(session->probes, message->body, message->size) != 0)
		return err_set(err, -ENOMEM, "no memory for a reply of R-Pingmesh's controller");
	step_engine_rearm(session->engine);
	return 0;
}

/* Service tracing: the agent learns of connections from the kernel or, where that does not report them, from the ranks. */

#define FLOWS_NS 500000000ULL /* between two lists of connections */
#define PROTOCOL_UDP 17

/* Flows that are not in the plan have no number here: their tuples are not probed. */
static void
changed(void *ctx, const struct traced_tuple *tuple, bool open)
{
	struct session *session = ctx;
	const struct plan *plan = session->config.scenario->plan;
	const struct device *device = verbs_host_device(session->verbs);

	for (uint32_t i = 0; session->probes != NULL && i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];
		uint32_t collective = plan->of[i].kind == FLOW_COLLECTIVE ? plan->of[i].owner : REC_NONE;

		if (flow->src_node != session->config.node || flow->dst_ip != tuple->peer_ip ||
		    flow->sport != tuple->sport || flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
			continue;
		probe_agent_connection(session->probes, i, collective, open, device->ops->now(device));
		step_engine_rearm(session->engine);
		return;
	}
	if (session->probes == NULL)
		return; /* only the management needs it, and gets all connections */
	log_info("connection by UDP source port %u: %s, and not probed: it is none of the scenario's", tuple->sport,
		 open ? "opened" : "closed");
}

/* Starts the tracer where an agent needs it, and logs by which of two methods it traces. */
static void
tracing_start(struct session *session)
{
	const struct tracer_config config = {
		.device = verbs_host_name(session->verbs), .loop = &session->loop, .changed = changed, .ctx = session
	};
	struct err err = { 0 };

	if ((session->probes == NULL || !session->config.scenario->pingmesh.service) &&
	    !session->config.scenario->management.sockets)
		return;
	session->tracer = tracer_create(&config, &err);
	if (session->tracer != NULL)
		log_info("connections are traced by rdma netlink and frames");
	else
		log_warning("connections are those that this host's ranks report: %s", err.text);
}

/* The job whose planned flow has a tuple. */
static uint32_t
job_of(const struct session *session, const struct traced_tuple *tuple)
{
	const struct plan *plan = session->config.scenario->plan;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		if (flow->kind == FLOW_COLLECTIVE && flow->src_node == session->config.node &&
		    flow->dst_ip == tuple->peer_ip && flow->sport == tuple->sport)
			return plan->collectives[plan->of[i].owner].job;
	}
	return SWM_ANY;
}

/* Answers the requests of operators' tools to this host; where the channel is full, the next time. */
static void
render_flows(struct session *session, uint64_t now_ns)
{
	struct traced_connection rows[TRACED_QPS];
	struct swm_flow flows[TRACED_QPS];
	struct err err = { 0 };
	uint32_t count;

	if (!session->config.scenario->management.sockets || now_ns < session->flows_ns)
		return;
	session->flows_ns = now_ns + FLOWS_NS;
	count = tracer_connections(session->tracer, rows, TRACED_QPS);
	for (uint32_t i = 0; i < count; i++)
		flows[i] = (struct swm_flow){
			.src_ip = topo_nic_ip(session->config.node, 0),
			.dst_ip = rows[i].tuple.peer_ip,
			.sport = rows[i].tuple.sport,
			.dport = ROCEV2_UDP_PORT,
			.protocol = PROTOCOL_UDP,
			.flags = SWM_RDMA,
			.job = job_of(session, &rows[i].tuple),
			.qpn = rows[i].qpn,
		};
	if (manage_stream_has_room(&session->stream, count * sizeof(flows[0])))
		session_send(session, MANAGE_FLOWS, flows, count * sizeof(flows[0]), &err);
}

/* While it runs. @return when it is to be called next; UINT64_MAX: never */
static uint64_t
tracing_run(struct session *session, uint64_t now_ns)
{
	if (session->tracer == NULL || session->state != SESSION_RUNNING)
		return UINT64_MAX;
	tracer_run(session->tracer, now_ns);
	render_flows(session, now_ns);
	return tracer_next_ns(session->tracer);
}

/* The reports of a host to the fabric while it runs, and at the end. */

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
 * Sends messages that change the course of the run at once, everything else in batches; records always before the
 * progress that they are part of: the fabric may end the run when it receives that.
 */
static int
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
send_counters(struct session *session, struct err *err)
{
	struct manage_counter counters[MANAGE_COUNTERS];
	uint32_t count = verbs_host_device_counters(session->verbs, counters);
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++)
		rc = send_last(session, MANAGE_COUNTER, &counters[i], sizeof(counters[i]), err);
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

/* The end: open steps, STEP, ITERATION, COUNTER, RESULT; returns when the fabric has them. @return as above */
static int
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
		rc = send_counters(session, err);
	if (rc == 0)
		rc = send_result(session, err);
	if (rc == 0)
		rc = session_drain(session, 0);
	return rc == 0 ? 0 : err_set(err, rc, "the fabric does not read the results: %s", strerror(-rc));
}

/* The session. */

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

/* Sends a text as far as that is possible. */
static void
session_send_text(struct session *session, enum manage_type type, const char *text)
{
	struct manage_failed failed = { 0 };

	memcpy(failed.text, text, strnlen(text, sizeof(failed.text) - 1));
	if (manage_stream_send(&session->stream, type, &failed, sizeof(failed)) == 0 && type == MANAGE_FAILED)
		session_drain(session, 0);
}

/* Waits until at most a number of bytes wait to be sent. @return 0 or negative errno */
static int
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

/* @return 0, or negative errno with err set: a full queue is an error */
static int
session_send(struct session *session, enum manage_type type, const void *body, size_t size, struct err *err)
{
	int rc = manage_stream_send(&session->stream, type, body, size);

	if (rc == -EPIPE)
		return err_set(err, rc, "the management channel closed: the fabric has ended");
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
receive(struct session *session, const struct manage_message *message, struct err *err)
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
receive_all(struct session *session, struct err *err)
{
	struct manage_message message;
	int rc, got = manage_stream_receive(&session->stream);

	if (got < 0)
		return err_set(err, got, "the management channel broke: %s", strerror(-got));
	while (session->state != SESSION_STOPPED && (rc = manage_stream_take(&session->stream, &message, err)) != 0) {
		if (rc > 0)
			rc = receive(session, &message, err);
		if (rc < 0)
			return rc;
	}
	if (session->stream.closed && session->state != SESSION_STOPPED)
		return err_set(err, -EPIPE, "the management channel closed: the fabric has ended");
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
	rc = (session->manage_events & ~EPOLLOUT) != 0 ? receive_all(session, err) : 0;
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
