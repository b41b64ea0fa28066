/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/kernel_host/attach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/stall_timer.h"
#include "common/units.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/hosts.h"
#include "emulation/probing.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

struct attached {
	uint32_t node;
	struct port *port;
	struct node *kernel_host;        /* of the present fabric */
	struct kernel_host_counters nic; /* of the last one */
};

/* A flow's place in the memory of a kernel host, as that host reported it. */
struct landing {
	uint64_t addr;
	uint32_t rkey;
};

struct attach {
	struct scenario *scenario;
	struct host_driver driver;
	const char *dir;
	struct manage *manage;      /* from attach_prepare() on */
	struct record_check *check; /* of the hosts' reports */
	struct attached *hosts;     /* [nhosts] */
	uint32_t nhosts;
	struct landing *landings; /* [flows of the plan] */
	uint64_t created_ns;
	bool progress;
	/* the present fabric */
	struct emulation *emulation;
	struct edge *edge;
	/* first phase */
	bool connecting;
	uint64_t moved, moved_ns, shown_ns;
};

static struct attached *
attach_host_at(const struct attach *attach, uint32_t node)
{
	struct attached *host = attach->hosts;

	while (host->node != node)
		host++;
	return host;
}

/* Such hosts as a kind of host (emulation/hosts.h): nodes of dpswitch/edge/kernel_host, programs behind channels. */

/* The first phase ends when no frame has moved for this long. */
#define QUIET_NS 20000000ULL
#define PROGRESS_NS 200000000ULL

static bool
put_step(void *ctx, uint32_t node, const struct manage_step *step)
{
	return step_engine_put_step(((struct attach *)ctx)->emulation->engines[node], step);
}

static bool
put_iteration(void *ctx, uint32_t node, const struct manage_iteration *iteration)
{
	return step_engine_put_iteration(((struct attach *)ctx)->emulation->engines[node], iteration);
}

/* Where messages of an embedded host go in a kernel's memory. */
static bool
put_qp(void *ctx, uint32_t node, const struct manage_qp *qp)
{
	struct attach *attach = ctx;
	const struct scenario *sc = attach->scenario;
	struct flow *flow;

	if (qp->flow >= sc->plan->flows.count)
		return false;
	flow = &sc->plan->flows.flows[qp->flow];
	if ((flow->src_node != node || sc->hosts[flow->dst_node] != NULL) &&
	    (flow->dst_node != node || sc->hosts[flow->src_node] != NULL))
		return false;
	*(flow->src_node == node ? &flow->src_qpn : &flow->dst_qpn) = qp->qpn;
	attach->landings[qp->flow] = (struct landing){ .addr = qp->addr, .rkey = qp->rkey };
	return true;
}

static struct manage_reply
pingmesh(void *ctx, uint32_t node, const void *request, size_t size, uint64_t now_ps)
{
	const struct attach *attach = ctx;
	struct controller_reply reply;

	if (attach->emulation == NULL)
		return (struct manage_reply){ 0 };
	reply = probing_answer(attach->emulation, node, request, size, now_ps);
	return (struct manage_reply){ reply.bytes, reply.size };
}

/* struct message_source.describe */
static bool
describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct attach *attach = ctx;
	const struct landing *landing;

	embedded_hosts_describe(attach->emulation, p, message);
	if (p->flow < attach->scenario->plan->flows.count) {
		landing = &attach->landings[p->flow];
		message->va += landing->addr;
		message->rkey = landing->rkey;
	}
	return true;
}

/*
 * Frames that hosts may have in flight enter over partition boundaries: frames of other partitions, or of this one
 * that left and returned.
 */
static uint32_t
frames_of_all(const struct scenario *sc)
{
	uint32_t frames = 0;

	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (sc->hosts[i] != NULL)
			frames += frame_pool_frames(sc, i);
	return frames;
}

static int
fabric_begin(void *ctx, struct emulation *emulation, struct bodies **bodies, struct err *err)
{
	struct attach *attach = ctx;
	const struct scenario *sc = attach->scenario;
	uint8_t lossless, lossy = 1;
	struct edge_config config = {
		.topo = sc->topo,
		.flows = &attach->scenario->plan->flows,
		.switches = emulation->switches,
		.idle_ps = (sc->epochs_kept + 1) * sc->telemetry.epoch_ps,
		.source = { attach, describe },
		.shared = emulation->lcores > 1,
		.room_bytes = frame_pool_room(sc),
		.data_prio = sc->roce.data_prio,
		.measured_prio = sc->roce.measured_prio,
		.adopted = emulation->partition != NULL ? frames_of_all(sc) : 0,
	};

	if (switch_lossless_classes(&sc->switches.all.pfc, &lossless, err) < 0)
		return -EINVAL;
	while (lossy < SWITCH_CLASSES - 1 && (lossless >> lossy & 1) != 0)
		lossy++;
	config.lossless = lossless;
	config.lossy_prio = lossy;
	attach->emulation = emulation;
	attach->edge = edge_create(&config, err);
	if (attach->edge == NULL)
		return -errno;
	*bodies = edge_bodies(attach->edge);
	return 0;
}

static void
fabric_end(void *ctx)
{
	struct attach *attach = ctx;

	edge_destroy(attach->edge);
	attach->edge = NULL;
	attach->emulation = NULL;
}

static struct node *
node_create(void *ctx, uint32_t id, struct err *err)
{
	struct attach *attach = ctx;
	struct attached *host = attach_host_at(attach, id);
	const struct scenario *sc = attach->scenario;
	const struct switch_config *switches = &attach->emulation->switch_config;
	const struct kernel_host_nic_config nic = { .port = host->port, .pfc = sc->hosts[id]->pfc };
	const struct kernel_host_config config = {
		.node = id,
		.topo = sc->topo,
		.nics = &nic,
		.edge = attach->edge,
		.sertables = &attach->emulation->sertables,
		.telemetry = switches->telemetry_off ? NULL : &switches->telemetry,
		.window_ps = switches->window_ps,
		.mtu_bytes = sc->largest_frame_bytes,
		.min_frame_bytes = sc->min_frame_bytes,
	};

	host->kernel_host = kernel_host_create(&config, err);
	return host->kernel_host;
}

static struct step_engine *
program_create(void *ctx, uint32_t id, struct err *err)
{
	return step_engine_create_remote(((const struct attach *)ctx)->scenario->plan, id, err);
}

static size_t
frame(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	return edge_frame(((const struct attach *)ctx)->edge, p, bytes, cap_bytes);
}

static size_t
bytes_of(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	return edge_bytes(((const struct attach *)ctx)->edge, p, bytes, cap_bytes);
}

static int
adopt(void *ctx, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
	return edge_adopt(((const struct attach *)ctx)->edge, p, bytes, size_bytes, err);
}

static bool
pending(void *ctx)
{
	const struct attach *attach = ctx;
	bool any = manage_pending(attach->manage);

	for (uint32_t i = 0; i < attach->nhosts; i++) {
		port_tend(attach->hosts[i].port);
		any |= kernel_host_pending(attach->hosts[i].kernel_host);
	}
	return any;
}

static void
settle(void *ctx)
{
	edge_settle(((const struct attach *)ctx)->edge);
}

static void
attach_service(struct attach *attach)
{
	const struct manage_sink sink = { attach, put_step, put_iteration, put_qp, pingmesh };

	manage_service(attach->manage, &sink);
}

static void
service(void *ctx)
{
	attach_service(ctx);
}

static bool
working(void *ctx, uint32_t node)
{
	return manage_working(((struct attach *)ctx)->manage, node);
}

static bool
sending(void *ctx, uint32_t node, uint64_t *next_ps)
{
	return manage_sending(((struct attach *)ctx)->manage, node, next_ps);
}

static void
records(void *ctx, uint32_t node, struct recbuf *buf, uint64_t from_ps)
{
	const struct attach *attach = ctx;

	attach_host_at(attach, node)->kernel_host->count.detections += manage_records(attach->manage, node, buf, from_ps);
}

static uint32_t
flows(void *ctx, uint32_t node, const struct swm_flow **list)
{
	return manage_flows(((struct attach *)ctx)->manage, node, list);
}

static uint32_t
counters(void *ctx, uint32_t node, const struct manage_counter **list)
{
	return manage_counters(((struct attach *)ctx)->manage, node, list);
}

static const char *
failure(void *ctx, uint32_t *node, bool *lost)
{
	return manage_failure(((struct attach *)ctx)->manage, node, lost);
}

static void
show_progress(struct attach *attach, uint64_t now_ns)
{
	char names[160];

	if (!attach->progress || now_ns - attach->shown_ns < PROGRESS_NS)
		return;
	attach->shown_ns = now_ns;
	progress_line("%s  %.1f s  waiting for %s to %s", attach->scenario->name,
		      (double)(now_ns - attach->created_ns) / 1e9,
		      manage_missing(attach->manage, attach->connecting ? MANAGE_READY : MANAGE_UP, names, sizeof(names)),
		      attach->connecting ? "connect" : "start");
}

/* Whether all hosts are up, those of other partitions included. */
static bool
all_up(const struct attach *attach)
{
	const struct partition *partition = attach->emulation->partition;
	bool up = manage_all(attach->manage, MANAGE_UP);

	return partition != NULL ? partition->ops->up(partition->ctx, up) : up;
}

/* Once all hosts are there they connect; once they are connected, nothing moves before the run. */
static bool
ready(void *ctx)
{
	struct attach *attach = ctx;
	uint64_t now_ns = clock_now_ns();
	struct fabric_totals totals;

	show_progress(attach, now_ns);
	if (!attach->connecting && all_up(attach)) {
		manage_connect(attach->manage);
		attach->connecting = true;
	}
	fabric_sum(attach->emulation->fabric, &totals);
	if (totals.hops != attach->moved) {
		attach->moved = totals.hops;
		attach->moved_ns = now_ns;
	}
	return manage_all(attach->manage, MANAGE_READY) && now_ns - attach->moved_ns >= QUIET_NS;
}

/* The pid in the file that the host's launcher wrote. */
static pid_t
process(void *ctx, uint32_t node)
{
	const struct attach *attach = ctx;
	char path[PATH_MAX];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "%s/%s.pid", attach->dir, attach->scenario->topo->nodes[node].name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%d", &pid) != 1 || pid <= 0)
		pid = 0;
	fclose(file);
	return pid;
}

static uint64_t
clock_error_ns(void *ctx)
{
	const struct attach *attach = ctx;
	uint64_t worst_ns = 0;

	for (uint32_t i = 0; i < attach_hosts(attach); i++)
		worst_ns = max_u64(worst_ns, attach_host(attach, i).manage.clock_error_ns);
	return worst_ns;
}

static json_t *
json(void *ctx)
{
	const struct attach *attach = ctx;

	return attach_json(attach, attach->scenario->topo);
}

static const struct host_driver_ops kernel_hosts = {
	.fabric_begin = fabric_begin,
	.fabric_end = fabric_end,
	.node_create = node_create,
	.program_create = program_create,
	.frame = frame,
	.pending = pending,
	.settle = settle,
	.service = service,
	.working = working,
	.sending = sending,
	.records = records,
	.flows = flows,
	.counters = counters,
	.failure = failure,
	.clock_error_ns = clock_error_ns,
	.process = process,
	.ready = ready,
	.json = json,
	.bytes = bytes_of,
	.adopt = adopt,
};

/* Their ports. */

static struct port *
open_port(const struct attach *attach, uint32_t node, const char *dir, struct err *err)
{
	const struct host_config *host = attach->scenario->hosts[node];
	const struct port_config config = {
		.name = attach->scenario->topo->nodes[node].name,
		.mtu = (uint16_t)attach->scenario->host_mtu_bytes,
		.mbufs = frame_pool_frames(attach->scenario, node),
		.room_bytes = frame_pool_room(attach->scenario),
	};
	const struct host_cable cable = { host, dir, config.name, node };
	char where[PATH_MAX];

	host_kinds[host->kind].port(&cable, where, sizeof(where));
	return port_open(&config, where, err);
}

static int
open_all(struct attach *attach, const bool *remote, const char *dir, struct err *err)
{
	const struct scenario *sc = attach->scenario;

	attach->dir = dir;
	attach->hosts = calloc(sc->nexternal, sizeof(*attach->hosts));
	attach->landings = calloc(sc->plan->flows.count + 1u, sizeof(*attach->landings));
	attach->check = record_check_create();
	if (attach->check == NULL || attach->hosts == NULL || attach->landings == NULL ||
	    flow_table_reserve(&attach->scenario->plan->flows, EDGE_UNPLANNED_FLOWS) < 0)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		struct attached *host = &attach->hosts[attach->nhosts];

		if (sc->hosts[i] == NULL || (remote != NULL && remote[i]))
			continue;
		host->node = i;
		host->port = open_port(attach, i, dir, err);
		if (host->port == NULL)
			return -EIO;
		attach->nhosts++;
	}
	return 0;
}

struct attach *
attach_create(struct scenario *scenario, const bool *remote, const char *dir, struct err *err)
{
	struct attach *attach = calloc(1, sizeof(*attach));

	if (attach == NULL) {
		err_set(err, -ENOMEM, "out of memory for hosts");
		return NULL;
	}
	attach->scenario = scenario;
	attach->driver = (struct host_driver){ &kernel_hosts, attach };
	attach->created_ns = clock_now_ns();
	if (open_all(attach, remote, dir, err) == 0)
		return attach;
	attach_destroy(attach);
	return NULL;
}

void
attach_destroy(struct attach *attach)
{
	if (attach == NULL)
		return;
	manage_destroy(attach->manage);
	for (uint32_t i = 0; i < attach->nhosts; i++)
		port_close(attach->hosts[i].port);
	record_check_destroy(attach->check);
	free(attach->hosts);
	free(attach->landings);
	free(attach);
}

const struct host_driver *
attach_driver(const struct attach *attach)
{
	return &attach->driver;
}

struct record_check *
attach_check(const struct attach *attach)
{
	return attach->check;
}

uint32_t
attach_hosts(const struct attach *attach)
{
	return attach->nhosts;
}

struct attach_host
attach_host(const struct attach *attach, uint32_t index)
{
	const struct attached *host = &attach->hosts[index];
	struct manage_traffic manage = manage_traffic(attach->manage, host->node);

	return (struct attach_host){
		.node = host->node,
		.kind = host_kind_name(attach->scenario->hosts[host->node]->kind),
		.port = host->port->count,
		.nic = host->nic,
		.result = manage_result(attach->manage, host->node),
		.manage = manage,
		.refused = manage_refused(attach->manage, host->node),
		.up_ns = manage.up_ns != 0 ? manage.up_ns - attach->created_ns : 0,
		.ready_ns = manage.ready_ns != 0 ? manage.ready_ns - attach->created_ns : 0,
	};
}

/* Before a run with such hosts, its start, and its end. */

/* Time limit for hosts to report after the run. */
#define STOP_NS 5000000000ULL
#define STOP_POLL_NS 500000ULL

/* The channels are last: a program that finds one knows that the fabric is ready for the host. */
static int
open_channels(struct attach *attach, struct err *err)
{
	const struct scenario *sc = attach->scenario;
	bool *managed = calloc(sc->topo->nnodes, sizeof(*managed));
	const struct manage_config config = {
		.topo = sc->topo,
		.managed = managed,
		.dir = attach->dir,
		.digest = plan_digest(sc->plan),
		.check = attach->check,
	};

	if (managed == NULL)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < attach->nhosts; i++)
		managed[attach->hosts[i].node] = true;
	attach->manage = manage_create(&config, err);
	free(managed);
	return attach->manage != NULL ? 0 : -errno;
}

/* Reports the hosts that did not come up in time: those of this partition by name, others by their own partition. */
static int
name_missing(const struct attach *attach, struct err *err)
{
	enum manage_state state = attach->connecting ? MANAGE_READY : MANAGE_UP;
	const char *what = attach->connecting ? "connect" : "start";
	char names[160], limit[32];

	units_format_time(attach->scenario->limits.connect_ps, limit, sizeof(limit));
	if (manage_first_missing(attach->manage, state) == REC_NONE)
		return err_set(err, -ETIMEDOUT, "hosts of other partitions did not %s within limits.connect = %s", what,
			       limit);
	return err_set(err, -ETIMEDOUT, "%s did not %s within limits.connect = %s",
		       manage_missing(attach->manage, state, names, sizeof(names)), what, limit);
}

/* How the first phase ended. */
static int
judge(const struct attach *attach, const struct emulation *emulation, struct err *err)
{
	const struct partition *partition = emulation->partition;
	uint32_t node;
	bool lost;
	const char *why = manage_failure(attach->manage, &node, &lost);

	if (why != NULL)
		return err_set(err, -ECONNRESET, "%s", why);
	if (emulation->fabric->end_reason == REC_END_COMPLETE)
		return 0;
	if (emulation->fabric->end_reason == REC_END_INTERRUPT)
		return err_set(err, -EINTR, "interrupted before the run began");
	if (partition != NULL && partition->ops->why(partition->ctx) != NULL)
		return err_set(err, -ECONNRESET, "%s", partition->ops->why(partition->ctx));
	return name_missing(attach, err);
}

/* @return 0 or negative errno with err set: it did not begin, or could not go on */
static int
forward(struct attach *attach, struct emulation *emulation, struct err *err)
{
	const struct partition *partition = emulation->partition;
	uint64_t zero_ns = clock_now_ns();
	int ret = partition != NULL ? partition->ops->start(partition->ctx, &zero_ns, err) : 0;

	if (ret < 0)
		return ret;
	emulation_begin(emulation, NULL, zero_ns);
	ret = lcore_run(emulation->fabric, err);
	if (partition != NULL)
		partition->ops->stop(partition->ctx);
	return ret == 0 ? judge(attach, emulation, err) : ret;
}

int
attach_prepare(struct attach *attach, uint32_t lcores, const struct partition *partition, bool progress, struct err *err)
{
	const struct emulation_options options = {
		.lcores = lcores,
		.kernel_host = &attach->driver,
		.phase = EMULATION_PREPARE,
		.partition = partition,
	};
	struct emulation *emulation = emulation_create(attach->scenario, &options, err);
	int ret;

	if (emulation == NULL)
		return -errno;
	attach->progress = progress;
	ret = open_channels(attach, err);
	if (ret == 0)
		ret = forward(attach, emulation, err);
	if (progress)
		progress_line("%s", "");
	emulation_destroy(emulation);
	return ret;
}

void
attach_start(struct attach *attach, uint64_t zero_ns)
{
	manage_start(attach->manage, zero_ns);
}

/* A host that is gone has been named already. */
static void
name_silent(const struct attach *attach)
{
	struct fabric *fabric = attach->emulation->fabric;
	uint32_t first = manage_first_missing(attach->manage, MANAGE_FINISHED);
	char names[160];

	if (first == REC_NONE)
		return;
	log_warning("no answer at the end of the run: %s; stopped, or stuck",
		    manage_missing(attach->manage, MANAGE_FINISHED, names, sizeof(names)));
	if (fabric->end_node == REC_NONE)
		fabric->end_node = first;
}

void
attach_stop(struct attach *attach, uint64_t end_ps)
{
	struct stall_timer stall_timer = { 0 };

	manage_stop(attach->manage, end_ps);
	while (!manage_over(attach->manage) && stall_timer_look(&stall_timer, clock_now_ns()) < STOP_NS) {
		attach_service(attach);
		clock_sleep_until_ns(clock_now_ns() + STOP_POLL_NS);
	}
	name_silent(attach);
	for (uint32_t i = 0; i < attach->nhosts; i++) {
		struct attached *host = &attach->hosts[i];
		const struct manage_result *result = manage_result(attach->manage, host->node);

		if (result != NULL)
			step_engine_put_unexpected(attach->emulation->engines[host->node], result->unexpected);
		kernel_host_sum(host->kernel_host, &host->nic);
	}
}

/* The hosts' state and counters, for run.json. */

static json_t *
port_json(const struct port_counters *port)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "from_host_packets", (json_int_t)port->rx_packets,
			 "from_host_bytes", (json_int_t)port->rx_bytes, "to_host_packets", (json_int_t)port->tx_packets,
			 "to_host_bytes", (json_int_t)port->tx_bytes, "ring_full", (json_int_t)port->tx_refused,
			 "wakeups_repeated", (json_int_t)port->wakeups, "wakeups_refused",
			 (json_int_t)port->wakeups_refused, "connects", (json_int_t)port->connects);
}

static json_t *
nic_json(const struct kernel_host_counters *nic)
{
	json_t *dropped = json_object(), *json;

	for (int r = 0; r < EDGE_DROP_REASONS; r++)
		json_object_set_new(dropped, edge_drop_name((enum edge_drop)r), json_integer((json_int_t)nic->dropped[r]));
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "entered_packets", (json_int_t)nic->in_packets,
			 "left_packets", (json_int_t)nic->out_packets, "undeliverable", (json_int_t)nic->undeliverable,
			 "held_max_bytes", (json_int_t)nic->held_max_bytes, "pauses_sent", (json_int_t)nic->pauses_sent,
			 "pauses_received", (json_int_t)nic->pauses_received, "paused_ms",
			 (double)nic->paused_ps / (double)PS_PER_MS);
	json_object_set_new(json, "refused", dropped);
	return json;
}

static json_t *
program_json(const struct manage_result *result)
{
	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cpu_s",
			 (double)result->cpu_ns / 1e9, "peak_rss_bytes", (json_int_t)result->peak_rss_bytes, "naks",
			 (json_int_t)result->naks, "timeouts", (json_int_t)result->timeouts, "lost_records",
			 (json_int_t)result->lost_records, "probe_packets", (json_int_t)result->probe_packets,
			 "probe_bytes", (json_int_t)result->probe_bytes, "polling_packets",
			 (json_int_t)result->polling_packets, "notification_packets",
			 (json_int_t)result->notification_packets, "manage_bytes", (json_int_t)result->manage_bytes,
			 "unexpected", (json_int_t)result->unexpected, "qp_error", (json_int_t)result->failed);
}

json_t *
attach_json(const struct attach *attach, const struct topo *topo)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);
		json_t *json = json_pack(
			"{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "host", topo->nodes[host.node].name, "kind",
			host.kind, "device", host.manage.device, "up_s", (double)host.up_ns / 1e9, "connected_s",
			(double)host.ready_ns / 1e9, "clock_error_us", (double)host.manage.clock_error_ns / 1e3,
			"base_rtt_us", (double)host.manage.base_rtt_ns / 1e3, "rtt_noise_us",
			(double)host.manage.rtt_noise_ns / 1e3, "manage_bytes", (json_int_t)host.manage.bytes,
			"refused_records", (json_int_t)host.manage.refused_records);

		if (host.refused[0] != '\0')
			json_object_set_new(json, "refused", json_string(host.refused));
		json_object_set_new(json, "port", port_json(&host.port));
		json_object_set_new(json, "nic", nic_json(&host.nic));
		if (host.result != NULL)
			json_object_set_new(json, "program", program_json(host.result));
		json_array_append_new(list, json);
	}
	return list;
}
