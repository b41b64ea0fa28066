/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/devices/devices.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/minmax.h"
#include "common/run_files.h"
#include "common/units.h"
#include "dpswitch/control/switch_sockets.h"
#include "emulation/injection.h"
#include "emulation/service.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

#define PROTOCOL_UDP 17
#define MAX_CHANGES 1000000u /* of faults that begin and end again */

struct host_list {
	const struct plan *plan;
	struct node *host;                /* an embedded one; NULL: it has its own kernel */
	const struct host_driver *driver; /* of such a kernel */
	uint32_t node;
	const uint32_t *flows; /* [count] */
	uint32_t count;
};

/* @return whether RDMA netlink lists the flow with both ends: a connected queue pair. Datagrams have no far end there. */
static bool
is_listed(const struct flow *flow)
{
	return flow->kind == FLOW_COLLECTIVE || flow->kind == FLOW_BACKGROUND || flow->kind == FLOW_TRAFFIC;
}

/* Kernel hosts report the flows of their own kernels. */
static uint32_t
kernel_count(void *ctx)
{
	const struct host_list *list = ctx;
	const struct swm_flow *flows;

	return list->driver->ops->flows(list->driver->ctx, list->node, &flows);
}

static bool
kernel_get(void *ctx, uint32_t i, struct swm_flow *out)
{
	const struct host_list *list = ctx;
	const struct swm_flow *flows;

	if (i >= list->driver->ops->flows(list->driver->ctx, list->node, &flows))
		return false;
	*out = flows[i];
	return true;
}

static uint32_t
flow_count(void *ctx)
{
	return ((const struct host_list *)ctx)->count;
}

static bool
flow_get(void *ctx, uint32_t i, struct swm_flow *out)
{
	const struct host_list *list = ctx;
	const struct plan_flow *of = &list->plan->of[list->flows[i]];
	const struct flow *flow = &list->plan->flows.flows[list->flows[i]];
	const struct embedded_flow described = embedded_flow_of(list->host, list->flows[i]);

	*out = (struct swm_flow){
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->dport,
		.protocol = PROTOCOL_UDP,
		.flags = SWM_RDMA,
		.nic = described.nic,
		.messages = described.messages,
		.job = flow->kind == FLOW_COLLECTIVE ? list->plan->collectives[of->owner].job : SWM_ANY,
		.qpn = flow->src_qpn,
	};
	return true;
}

/* Flows by their source, in their order. */
static int
list_flows(struct devices *devices, const struct plan *plan, uint32_t nnodes)
{
	uint32_t *next;

	for (uint32_t f = 0; f < plan->flows.count; f++)
		if (is_listed(&plan->flows.flows[f]))
			devices->lists[plan->flows.flows[f].src_node].count++;
	next = calloc(nnodes + 1u, sizeof(*next));
	if (next == NULL)
		return -ENOMEM;
	for (uint32_t i = 0, at = 0; i < nnodes; i++) {
		devices->lists[i].plan = plan;
		devices->lists[i].flows = devices->flows + at;
		next[i] = at;
		at += devices->lists[i].count;
	}
	for (uint32_t f = 0; f < plan->flows.count; f++)
		if (is_listed(&plan->flows.flows[f]))
			devices->flows[next[plan->flows.flows[f].src_node]++] = f;
	free(next);
	return 0;
}

int
devices_init(struct devices *devices, const struct emulation *emulation, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;
	const struct plan *plan = emulation->scenario->plan;

	*devices = (struct devices){ 0 };
	devices->devices = calloc(topo->nnodes, sizeof(*devices->devices));
	devices->lists = calloc(topo->nnodes, sizeof(*devices->lists));
	devices->flows = calloc(plan->flows.count + 1u, sizeof(*devices->flows));
	devices->index = flow_index_create(&plan->flows);
	if (devices->devices == NULL || devices->lists == NULL || devices->flows == NULL || devices->index == NULL ||
	    list_flows(devices, plan, topo->nnodes) < 0)
		return err_set(err, -ENOMEM, "out of memory for management sockets");
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		struct answer_device *device = &devices->devices[devices->count];

		if (partition_is_remote(emulation, i))
			continue;
		devices->count++;
		*device = (struct answer_device){ .topo = topo, .node = i, .index = devices->index };
		if (emulation->scenario->hosts[i] == NULL)
			devices->lists[i].host = emulation->hosts[i];
		if (topo->nodes[i].kind == TOPO_SWITCH)
			device->sw = emulation->switches[i];
		else if (devices->lists[i].host != NULL)
			device->flows = (struct host_flows){ &devices->lists[i], flow_count, flow_get };
		else
			device->flows = (struct host_flows){ &devices->lists[i], kernel_count, kernel_get };
		devices->lists[i].driver = emulation->driver_of[i];
		devices->lists[i].node = i;
	}
	return 0;
}

void
devices_fini(struct devices *devices)
{
	free(devices->devices);
	free(devices->lists);
	free(devices->flows);
	flow_index_destroy(devices->index);
	*devices = (struct devices){ 0 };
}

const struct run_service *const devices_services[] = { &service_injection, &service_rerouting, NULL };

int
devices_set_time(struct emulation *emulation, uint64_t at_ps, struct err *err)
{
	uint64_t now_ps = 0;

	for (uint32_t i = 0; at_ps != TIME_NEVER && i < MAX_CHANGES; i++) {
		uint64_t next_ps = TIME_NEVER;

		for (uint32_t s = 0; devices_services[s] != NULL; s++)
			next_ps = min_u64(next_ps, devices_services[s]->next_ps(
							   emulation_service(emulation, devices_services[s]), now_ps));
		if (next_ps > at_ps)
			return 0;
		for (uint32_t s = 0; devices_services[s] != NULL; s++)
			devices_services[s]->change(emulation_service(emulation, devices_services[s]), next_ps);
		now_ps = next_ps + 1;
	}
	return at_ps == TIME_NEVER
		       ? 0
		       : err_set(err, -E2BIG, "faults begin and end more than %u times until then", MAX_CHANGES);
}

#define LOOK_NS 100000000ULL /* between checks for a request to end */

struct standing {
	struct emulation *emulation;
	struct devices devices;
	struct switch_sockets *sockets;
	struct switch_sockets_counts *counts; /* shared with the process that serves, which writes them */
	pid_t pid;                            /* 0: none serves */
};

static int
open_all(struct standing *standing, const struct standing_config *config, struct err *err)
{
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = devices_services };
	struct switch_sockets_config sockets = { .dir = config->dir,
						 .rtt_ns = config->rtt_ns,
						 .greeting_rtts = config->greeting_rtts };

	scenario_embed_hosts(config->scenario);
	standing->emulation = emulation_create(config->scenario, &how, err);
	if (standing->emulation == NULL)
		return -errno;
	if (devices_set_time(standing->emulation, config->at_ps, err) < 0 ||
	    devices_init(&standing->devices, standing->emulation, err) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; config->flows != NULL && i < standing->devices.count; i++)
		standing->devices.devices[i].flows = config->flows[i];
	standing->counts = mmap(NULL, sizeof(*standing->counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (standing->counts == MAP_FAILED) {
		standing->counts = NULL;
		return err_set(err, -ENOMEM, "no memory for what management sockets count");
	}
	sockets.devices = standing->devices.devices;
	sockets.ndevices = standing->devices.count;
	standing->sockets = switch_sockets_create(&sockets, err);
	return standing->sockets != NULL ? 0 : -errno;
}

struct standing *
standing_open(const struct standing_config *config, struct err *err)
{
	struct standing *standing = calloc(1, sizeof(*standing));
	int ret = standing != NULL ? open_all(standing, config, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		return standing;
	standing_close(standing);
	errno = -ret;
	return NULL;
}

void
standing_close(struct standing *standing)
{
	if (standing == NULL)
		return;
	if (standing->pid != 0)
		child_end(standing->pid);
	switch_sockets_destroy(standing->sockets);
	devices_fini(&standing->devices);
	emulation_destroy(standing->emulation);
	if (standing->counts != NULL)
		munmap(standing->counts, sizeof(*standing->counts));
	free(standing);
}

static void
serve_once(struct standing *standing)
{
	switch_sockets_serve(standing->sockets, LOOK_NS);
	*standing->counts = *switch_sockets_counts(standing->sockets);
}

/* Serves in the new process, which ends with its parent, and by SIGTERM. */
static _Noreturn void
serve_always(struct standing *standing, pid_t parent, const sigset_t *before)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	while (getppid() == parent)
		serve_once(standing);
	_exit(0);
}

int
standing_start(struct standing *standing, struct err *err)
{
	pid_t parent = getpid();
	sigset_t before;
	pid_t pid = child_fork(&before);

	if (pid == 0)
		serve_always(standing, parent, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	standing->pid = pid;
	return 0;
}

void
standing_serve(struct standing *standing, uint64_t for_ns)
{
	uint64_t end_ns = clock_now_ns() + for_ns;

	while (!interrupt_asked() && clock_now_ns() < end_ns)
		serve_once(standing);
}

struct switch_sockets_counts
standing_counts(const struct standing *standing)
{
	return *standing->counts;
}

/* ---- Management sockets of a run in real time ---- */

/*
 * A turn takes a quarter of the time since the last one, so that a fifth of the machine's time at most goes to
 * operators.
 */
#define TURN_SHARE 4
/* More frequent turns would find no request. */
#define TURN_GAP_NS 50000

struct live {
	struct devices devices;
	struct switch_sockets *sockets;
	uint64_t served_ns; /* end of the last turn, by the machine's clock */
	char dir[PATH_MAX];
};

static void
live_answer(void *state, uint64_t now_ps)
{
	struct live *live = state;
	uint64_t since_ns = clock_now_ns() - live->served_ns;

	(void)now_ps; /* the machine's clock alone counts */
	if (live->sockets == NULL || since_ns < TURN_GAP_NS)
		return;
	switch_sockets_turn(live->sockets, since_ns / TURN_SHARE);
	live->served_ns = clock_now_ns();
}

static const struct run_service service_live = {
	.name = "management",
	.answer = live_answer,
};

/* @return 0 or negative errno with err */
static int
live_open(struct live *live, const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct management_params *params = &emulation->scenario->management;
	struct switch_sockets_config config = {
		.dir = live->dir,
		.rtt_ns = params->rtt_ps / PS_PER_NS,
		.greeting_rtts = (uint32_t)params->greeting_rtts,
	};
	int ret;

	if (snprintf(live->dir, sizeof(live->dir), "%s", dir) >= (int)sizeof(live->dir))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	ret = run_dir_make(live->dir, err);
	if (ret >= 0)
		ret = devices_init(&live->devices, emulation, err);
	if (ret < 0)
		return ret;
	config.devices = live->devices.devices;
	config.ndevices = live->devices.count;
	live->sockets = switch_sockets_create(&config, err);
	return live->sockets != NULL ? 0 : -errno;
}

struct live *
live_create(struct emulation *emulation, const char *dir, struct err *err)
{
	struct live *live = calloc(1, sizeof(*live));
	int ret = live != NULL ? live_open(live, emulation, dir, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		return live;
	live_destroy(live);
	errno = -ret;
	return NULL;
}

void
live_begin(struct live *live, struct emulation *emulation)
{
	if (live == NULL)
		return;
	live->served_ns = clock_now_ns();
	emulation_attach(emulation, &service_live, live);
}

void
live_end(struct live *live)
{
	if (live == NULL)
		return;
	switch_sockets_destroy(live->sockets);
	live->sockets = NULL;
	rmdir(live->dir);
}

void
live_destroy(struct live *live)
{
	if (live == NULL)
		return;
	switch_sockets_destroy(live->sockets);
	if (live->dir[0] != '\0')
		rmdir(live->dir);
	devices_fini(&live->devices);
	free(live);
}
