/* SPDX-License-Identifier: BSD-3-Clause */
/* External hosts as a kind of host (emulation/hosts.h): nodes of dpswitch/edge/kernel_host, programs behind channels. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/progress_line.h"
#include "emulation/embedded_hosts.h"
#include "emulation/kernel_host/attach_state.h"
#include "emulation/probing.h"
#include "operator/controller/controller.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"
#include "scenario/frame_pools.h"

/* The first phase ends when no frame has moved for so long. */
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
pingmesh(void *ctx, const void *request, size_t size, uint64_t now_ps)
{
	const struct attach *attach = ctx;
	struct controller *controller = attach->emulation != NULL ? probing_controller(attach->emulation) : NULL;
	struct controller_reply reply;

	if (controller == NULL)
		return (struct manage_reply){ 0 };
	reply = controller_handle(controller, request, size, now_ps);
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

/* What hosts may have under way comes in over cut cables: of others, or of ours that went out and back. */
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

	if (switch_lossless_classes(&sc->pfc, &lossless, err) < 0)
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
service(void *ctx)
{
	attach_service(ctx);
}

void
attach_service(struct attach *attach)
{
	const struct manage_sink sink = { attach, put_step, put_iteration, put_qp, pingmesh };

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

	attach_host_at(attach, node)->kernel_host->count.detections += manage_records(attach->manage, node, buf, from_ps);
}

static uint32_t
flows(void *ctx, uint32_t node, const struct swm_flow **list)
{
	return manage_flows(((struct attach *)ctx)->manage, node, list);
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

/* Whether all hosts are there, those of other parts of the fabric too. */
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

/* As whoever booted the host wrote it down. */
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

const struct host_driver_ops kernel_hosts = {
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
	.failure = failure,
	.clock_error_ns = clock_error_ns,
	.process = process,
	.ready = ready,
	.json = json,
	.bytes = bytes_of,
	.adopt = adopt,
};
