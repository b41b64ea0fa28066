/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/attach/attach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/patience.h"
#include "common/progress_line.h"
#include "common/units.h"
#include "dpswitch/lcore/launch.h"
#include "rxe-hosts/steps/remote.h"

/* The first phase ends when no frame has moved for so long. */
#define QUIET_NS 20000000ULL
/* From telling the hosts to the run's time 0. */
#define LEAD_NS 50000000ULL
/* What hosts may take to report after the run. */
#define STOP_NS 5000000000ULL
#define STOP_POLL_NS 500000ULL
#define PROGRESS_NS 200000000ULL

struct attached {
	uint32_t node;
	struct port *port;
	struct node *external;        /* of the present fabric */
	struct external_counters nic; /* of the last one */
};

/* A flow's place in the memory of a host with its own kernel, as that host said. */
struct landing {
	uint64_t addr;
	uint32_t rkey;
};

struct attach {
	struct scenario *scenario;
	struct outside outside;
	const char *dir;
	struct manage *manage;      /* from attach_prepare() on */
	struct record_check *check; /* of what the hosts report */
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

static const char *const kind_names[] = {
	[HOST_EMBEDDED] = "embedded", [HOST_GUEST] = "guest", [HOST_QEMU] = "qemu",
	[HOST_NETNS] = "netns",       [HOST_PORT] = "port",
};

static struct attached *
host_at(const struct attach *attach, uint32_t node)
{
	struct attached *host = attach->hosts;

	while (host->node != node)
		host++;
	return host;
}

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

/* struct message_source.describe */
static bool
describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct attach *attach = ctx;
	const struct landing *landing;

	emulation_describe(attach->emulation, p, message);
	if (p->flow < attach->scenario->plan->flows.count) {
		landing = &attach->landings[p->flow];
		message->va += landing->addr;
		message->rkey = landing->rkey;
	}
	return true;
}

static struct bodies *
fabric_begin(void *ctx, struct emulation *emulation, struct err *err)
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
		.data_prio = sc->roce.data_prio,
	};

	if (switch_lossless_classes(&sc->pfc, &lossless, err) < 0)
		return NULL;
	while (lossy < SWITCH_CLASSES - 1 && (lossless >> lossy & 1) != 0)
		lossy++;
	config.lossless = lossless;
	config.lossy_prio = lossy;
	attach->emulation = emulation;
	attach->edge = edge_create(&config, err);
	return attach->edge != NULL ? edge_bodies(attach->edge) : NULL;
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
	struct attached *host = host_at(attach, id);
	const struct scenario *sc = attach->scenario;
	const struct switch_config *switches = &attach->emulation->switch_config;
	const struct external_nic_config nic = { .port = host->port, .pfc = sc->hosts[id]->pfc };
	const struct external_config config = {
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

	host->external = external_host_create(&config, err);
	return host->external;
}

static size_t
frame(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	return edge_frame(((const struct attach *)ctx)->edge, p, bytes, cap_bytes);
}

static bool
pending(void *ctx)
{
	const struct attach *attach = ctx;
	bool any = manage_pending(attach->manage);

	for (uint32_t i = 0; i < attach->nhosts; i++) {
		port_tend(attach->hosts[i].port);
		any |= external_pending(attach->hosts[i].external);
	}
	return any;
}

static void
service(void *ctx)
{
	struct attach *attach = ctx;
	const struct manage_sink sink = { attach, put_step, put_iteration, put_qp };

	manage_service(attach->manage, &sink);
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

	host_at(attach, node)->external->count.detections += manage_records(attach->manage, node, buf, from_ps);
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
		      attach->connecting ? "connect" : "come up");
}

/* Once all hosts are there they connect; once they are connected, nothing moves before the run. */
static bool
ready(void *ctx)
{
	struct attach *attach = ctx;
	uint64_t now_ns = clock_now_ns();
	struct fabric_totals totals;

	show_progress(attach, now_ns);
	if (!attach->connecting && manage_all(attach->manage, MANAGE_UP)) {
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

static const struct outside_ops outside_ops = {
	.fabric_begin = fabric_begin,
	.fabric_end = fabric_end,
	.node_create = node_create,
	.frame = frame,
	.pending = pending,
	.service = service,
	.working = working,
	.sending = sending,
	.records = records,
	.failure = failure,
	.ready = ready,
};

static struct port *
open_port(const struct attach *attach, uint32_t node, const char *dir, struct err *err)
{
	static const char vhost_prefix[] = "vhost:";
	const struct host_config *host = attach->scenario->hosts[node];
	const struct port_config config = {
		.name = attach->scenario->topo->nodes[node].name,
		.mtu = (uint16_t)attach->scenario->host_mtu_bytes,
	};
	char path[PATH_MAX];

	switch ((enum host_kind)host->kind) {
	case HOST_PORT:
		if (strncmp(host->port, vhost_prefix, sizeof(vhost_prefix) - 1) == 0)
			return port_vhost_create(&config, host->port + sizeof(vhost_prefix) - 1, err);
		return port_ethdev_create(&config, host->port, err);
	case HOST_NETNS: /* the launcher moves the tap into the namespace */
		snprintf(path, sizeof(path), "net_tap_%u,iface=rl-%s", node, config.name);
		return port_ethdev_create(&config, path, err);
	default:
		snprintf(path, sizeof(path), "%s/%s.vhost", dir, config.name);
		return port_vhost_create(&config, path, err);
	}
}

static int
open_all(struct attach *attach, const char *dir, struct err *err)
{
	const struct scenario *sc = attach->scenario;

	attach->dir = dir;
	attach->hosts = calloc(sc->noutside, sizeof(*attach->hosts));
	attach->landings = calloc(sc->plan->flows.count + 1u, sizeof(*attach->landings));
	attach->check = record_check_create();
	if (attach->check == NULL || attach->hosts == NULL || attach->landings == NULL ||
	    flow_table_reserve(&attach->scenario->plan->flows, EDGE_FOREIGN_FLOWS) < 0)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		struct attached *host = &attach->hosts[attach->nhosts];

		if (sc->hosts[i] == NULL)
			continue;
		host->node = i;
		host->port = open_port(attach, i, dir, err);
		if (host->port == NULL)
			return -EIO;
		attach->nhosts++;
	}
	return 0;
}

/* The channels come last: who finds one knows that the fabric is ready for the host. */
static int
open_channels(struct attach *attach, struct err *err)
{
	const struct scenario *sc = attach->scenario;
	bool *outside = calloc(sc->topo->nnodes, sizeof(*outside));
	const struct manage_config config = {
		.topo = sc->topo,
		.outside = outside,
		.dir = attach->dir,
		.digest = plan_digest(sc->plan),
		.check = attach->check,
	};

	if (outside == NULL)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < attach->nhosts; i++)
		outside[attach->hosts[i].node] = true;
	attach->manage = manage_create(&config, err);
	free(outside);
	return attach->manage != NULL ? 0 : -errno;
}

struct attach *
attach_create(struct scenario *scenario, const char *dir, struct err *err)
{
	struct attach *attach = calloc(1, sizeof(*attach));

	if (attach == NULL) {
		err_set(err, -ENOMEM, "out of memory for hosts");
		return NULL;
	}
	attach->scenario = scenario;
	attach->outside = (struct outside){ &outside_ops, attach };
	attach->created_ns = clock_now_ns();
	if (open_all(attach, dir, err) == 0)
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

const struct outside *
attach_outside(const struct attach *attach)
{
	return &attach->outside;
}

struct record_check *
attach_check(const struct attach *attach)
{
	return attach->check;
}

/* How the first phase ended. */
static int
judge(const struct attach *attach, const struct emulation *emulation, struct err *err)
{
	enum manage_state state = attach->connecting ? MANAGE_READY : MANAGE_UP;
	char names[160], limit[32];
	uint32_t node;
	bool lost;
	const char *why = manage_failure(attach->manage, &node, &lost);

	if (why != NULL)
		return err_set(err, -ECONNRESET, "%s", why);
	if (emulation->fabric->end_reason == REC_END_COMPLETE)
		return 0;
	if (emulation->fabric->end_reason == REC_END_INTERRUPT)
		return err_set(err, -EINTR, "interrupted before the run began");
	return err_set(err, -ETIMEDOUT, "%s did not %s within limits.connect = %s",
		       manage_missing(attach->manage, state, names, sizeof(names)),
		       attach->connecting ? "connect" : "come up",
		       units_format_time(attach->scenario->limits.connect_ps, limit, sizeof(limit)));
}

int
attach_prepare(struct attach *attach, uint32_t lcores, bool progress, struct err *err)
{
	const struct emulation_options options = {
		.lcores = lcores,
		.outside = &attach->outside,
		.phase = EMULATION_PREPARE,
	};
	struct emulation *emulation = emulation_create(attach->scenario, &options, err);
	int ret;

	if (emulation == NULL)
		return -errno;
	ret = open_channels(attach, err);
	if (ret == 0) {
		attach->progress = progress;
		emulation_begin(emulation, NULL, clock_now_ns());
		ret = lcore_run(emulation->fabric, err);
	}
	if (progress)
		progress_line("%s", "");
	if (ret == 0)
		ret = judge(attach, emulation, err);
	emulation_destroy(emulation);
	return ret;
}

uint64_t
attach_start(struct attach *attach)
{
	uint64_t zero_ns = clock_now_ns() + LEAD_NS;

	manage_start(attach->manage, zero_ns);
	return zero_ns;
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
	struct patience patience = { 0 };

	manage_stop(attach->manage, end_ps);
	while (!manage_over(attach->manage) && patience_look(&patience, clock_now_ns()) < STOP_NS) {
		service(attach);
		clock_sleep_until_ns(clock_now_ns() + STOP_POLL_NS);
	}
	name_silent(attach);
	for (uint32_t i = 0; i < attach->nhosts; i++) {
		struct attached *host = &attach->hosts[i];
		const struct manage_result *result = manage_result(attach->manage, host->node);

		if (result != NULL)
			step_engine_put_unexpected(attach->emulation->engines[host->node], result->unexpected);
		external_sum(host->external, &host->nic);
	}
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
		.kind = kind_names[attach->scenario->hosts[host->node]->kind],
		.port = host->port->count,
		.nic = host->nic,
		.result = manage_result(attach->manage, host->node),
		.manage = manage,
		.refused = manage_refused(attach->manage, host->node),
		.up_ns = manage.up_ns != 0 ? manage.up_ns - attach->created_ns : 0,
		.ready_ns = manage.ready_ns != 0 ? manage.ready_ns - attach->created_ns : 0,
	};
}
