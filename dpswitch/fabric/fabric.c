/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/fabric/fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"

static int
fabric_make_links(struct fabric *fabric, struct err *err)
{
	const struct fabric_config *config = &fabric->config;
	const struct topo *topo = config->topo;

	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];
		struct link_config link = {
			.rate_bps = port->rate_bps,
			.delay_ps = port->delay_ps + config->pipeline_ps,
			.window_ps = fabric->window_ps,
			.quantum_ps = config->quantum_ps,
			.min_frame_bytes = config->min_frame_bytes,
			.pause_bytes = config->pause_bytes,
			.seed = config->seed,
			.id = i,
			.flows = config->flows,
			.rx_port = port->peer_port,
			.inband = config->inband,
			.bodies = config->bodies,
			.pool = &fabric->lcores[0].pool,
		};

		if (link_init(&fabric->links[i], &link) < 0)
			return err_set(err, -ENOMEM, "out of memory for %u links", topo->nports);
		fabric->link_ptrs[i] = &fabric->links[i];
		/* second half: by receiver */
		fabric->link_ptrs[topo->nports + port->peer_port] = &fabric->links[i];
	}
	return 0;
}

struct fabric *
fabric_create(const struct fabric_config *config, struct err *err)
{
	const struct topo *topo = config->topo;
	struct fabric *fabric = aligned_alloc(_Alignof(struct fabric), sizeof(*fabric));

	if (fabric == NULL)
		goto no_memory;
	memset(fabric, 0, sizeof(*fabric));
	fabric->config = *config;
	fabric->window_ps = TIME_NEVER;
	for (uint32_t i = 0; i < topo->nports; i++)
		fabric->window_ps = min_u64(fabric->window_ps, topo->ports[i].delay_ps + config->pipeline_ps);
	if (fabric->window_ps < WINDOW_MIN_PS || fabric->window_ps == TIME_NEVER) {
		err_set(err, -EINVAL,
			"the shortest link's delay and timing.pipeline are together %llu ps: the fabric advances by as "
			"much, "
			"%d ps at least: raise one of them",
			(unsigned long long)fabric->window_ps, WINDOW_MIN_PS);
		errno = EINVAL;
		free(fabric);
		return NULL;
	}
	fabric->window_ps = min_u64(fabric->window_ps, WINDOW_MAX_PS);
	fabric->nodes = calloc(topo->nnodes, sizeof(*fabric->nodes));
	fabric->link_ptrs = calloc(2 * (size_t)topo->nports, sizeof(*fabric->link_ptrs));
	if (fabric->nodes == NULL || fabric->link_ptrs == NULL)
		goto no_memory;
	fabric->links = aligned_alloc(_Alignof(struct link), topo->nports * sizeof(*fabric->links));
	if (fabric->links == NULL)
		goto no_memory;
	memset(fabric->links, 0, topo->nports * sizeof(*fabric->links)); /* at once: what they hold is freed with them */
	if (fabric_make_links(fabric, err) < 0)
		goto no_memory;
	return fabric;
no_memory:
	err_set(err, -ENOMEM, "out of memory for the fabric");
	fabric_destroy(fabric);
	errno = ENOMEM;
	return NULL;
}

void
fabric_destroy(struct fabric *fabric)
{
	if (fabric == NULL)
		return;
	for (uint32_t i = 0; fabric->links != NULL && i < fabric->config.topo->nports; i++)
		link_fini(&fabric->links[i]);
	for (uint32_t i = 0; i < FABRIC_MAX_LCORES; i++) {
		free(fabric->lcores[i].nodes);
		free(fabric->lcores[i].groups);
		link_pool_fini(&fabric->lcores[i].pool);
	}
	shares_fini(&fabric->shares);
	free(fabric->link_ptrs);
	free(fabric->links);
	free(fabric->nodes);
	free(fabric);
}

void
fabric_attach(struct fabric *fabric, struct node *node)
{
	const struct topo *topo = fabric->config.topo;
	uint32_t first = topo->nodes[node->id].first_port;

	node->tx = fabric->link_ptrs + first;
	node->rx = fabric->link_ptrs + topo->nports + first;
	node->bodies = fabric->config.bodies;
	fabric->nodes[node->id] = node;
	if (node->ops->attached != NULL)
		node->ops->attached(node);
}

struct remote_node {
	struct node node;
	uint8_t storms[]; /* [node.nports] bit p: a storm of class p */
};

static uint64_t
remote_dropped(const struct node *node, uint16_t port, enum rec_drop reason)
{
	(void)node;
	(void)port;
	(void)reason;
	return 0;
}

static void
remote_storm(struct node *node, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	uint8_t *storms = &((struct remote_node *)node)->storms[port], bit = (uint8_t)(1u << prio);

	(void)now_ps;
	(void)interval_ps;
	*storms = on ? *storms | bit : *storms & (uint8_t)~bit;
}

static uint8_t
remote_pausing(const struct node *node, uint16_t port)
{
	return ((const struct remote_node *)node)->storms[port];
}

static void
remote_routes_changed(struct node *node)
{
	node->count.route_changes += node->topo->nodes[node->id].kind == TOPO_SWITCH;
}

static void
remote_link_changed(struct node *node, uint16_t port, uint8_t held, uint64_t now_ps)
{
	(void)port;
	(void)held;
	(void)now_ps;
	remote_routes_changed(node);
}

static void
remote_expect_work(struct node *node, bool expected)
{
	if (node->status != NODE_QP_ERROR)
		node->status = expected ? NODE_RUNNING : NODE_PASSIVE;
}

static void
remote_fail_nic(struct node *node, uint16_t port, uint8_t failure, bool on)
{
	(void)node;
	(void)port;
	(void)failure;
	(void)on;
}

static void
remote_slow_nic(struct node *node, uint16_t port, enum nic_dma_cause cause, const struct nic_dma *dma)
{
	(void)node;
	(void)port;
	(void)cause;
	(void)dma;
}

static void
remote_freeze(struct node *node, bool on, uint64_t now_ps)
{
	(void)node;
	(void)on;
	(void)now_ps;
}

static uint64_t
remote_nic_faulty(const struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
	return 0;
}

static void
remote_destroy(struct node *node)
{
	recbuf_fini(&node->records);
	free(node);
}

static const struct node_ops remote_ops = {
	.dropped = remote_dropped,
	.storm = remote_storm,
	.pausing = remote_pausing,
	.link_changed = remote_link_changed,
	.routes_changed = remote_routes_changed,
	.expect_work = remote_expect_work,
	.fail_nic = remote_fail_nic,
	.slow_nic = remote_slow_nic,
	.freeze = remote_freeze,
	.nic_faulty = remote_nic_faulty,
	.destroy = remote_destroy,
};

struct node *
remote_node_create(const struct topo *topo, const struct flow_table *flows, uint32_t id)
{
	uint16_t nports = topo->nodes[id].nports;
	struct remote_node *remote = calloc(1, sizeof(*remote) + nports * sizeof(remote->storms[0]));

	if (remote == NULL)
		return NULL;
	remote->node = (struct node){
		.ops = &remote_ops,
		.id = id,
		.nports = nports,
		.topo = topo,
		.flows = flows,
		.status = NODE_PASSIVE,
		.digest = topo->nodes[id].kind == TOPO_HOST ? DIGEST_INIT : 0,
	};
	recbuf_init(&remote->node.records, id);
	return &remote->node;
}

/* The earliest time at which one of a group's nodes has something to do, or next_ps; exact only when past the window. */
static uint64_t
group_next_ps(const struct fabric *fabric, const uint32_t *nodes, uint32_t count, uint64_t next_ps)
{
	const struct window *window = &fabric->window;

	for (uint32_t i = 0; i < count && next_ps >= window->end_ps + fabric->window_ps; i++) {
		const struct node *node = fabric->nodes[nodes[i]];

		next_ps = min_u64(next_ps, node->ops->next_ps(node));
		for (uint32_t p = 0; p < node->nports; p++) {
			next_ps = min_u64(next_ps, link_ready_ps(node->rx[p]));
			next_ps = min_u64(next_ps, link_sent_ps(node->tx[p], window->parity));
		}
	}
	return next_ps;
}

static void
fabric_end(struct fabric *fabric, enum rec_end_reason reason, uint32_t node)
{
	fabric->stop = true;
	fabric->end_reason = reason;
	fabric->end_node = node;
}

/* A stall is silence where a packet is due: neither a start in the future nor a stopped machine is one. */
static void
fabric_judge_silence(struct fabric *fabric, uint64_t progress, uint64_t now_ps)
{
	const struct fabric_hooks *hooks = &fabric->hooks;
	uint64_t lived_ps = hooks->lived_ps != NULL ? hooks->lived_ps(hooks->ctx) : now_ps;

	if (progress != fabric->progress || (hooks->due != NULL && !hooks->due(hooks->ctx, now_ps))) {
		fabric->progress = progress;
		fabric->silent_since_ps = lived_ps;
	}
	if (lived_ps - fabric->silent_since_ps >= fabric->config.stall_ps)
		fabric_end(fabric, REC_END_STALL, REC_NONE);
	else
		fabric->stall_left_ps = fabric->config.stall_ps - (lived_ps - fabric->silent_since_ps);
}

/* Looks whether the run is over: an error, completion, no progress. */
static void
fabric_judge(struct fabric *fabric, uint64_t now_ps)
{
	const struct topo *topo = fabric->config.topo;
	uint64_t progress = 0;
	enum rec_end_reason reason;
	bool running = false;
	uint32_t at;

	if (fabric->hooks.over != NULL && fabric->hooks.over(fabric->hooks.ctx, &reason, &at)) {
		fabric_end(fabric, reason, at);
		return;
	}
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct node *node = fabric->nodes[i];

		progress += node->count.progress;
		running |= node->status == NODE_RUNNING;
		if (node->status == NODE_QP_ERROR)
			fabric_end(fabric, REC_END_QP_ERROR, i);
		else if (node->status == NODE_NO_BUFFER)
			fabric_end(fabric, REC_END_INVARIANT, i);
		else if (node->status == NODE_LOST)
			fabric_end(fabric, REC_END_HOST_LOST, i);
		if (fabric->stop)
			return;
	}
	if (running)
		fabric_judge_silence(fabric, progress, now_ps);
	else
		fabric_end(fabric, REC_END_COMPLETE, REC_NONE);
}

/* Decides by the packets of the last windows whether they were worth a barrier. A single lcore has no barrier. */
static void
fabric_weigh(struct fabric *fabric)
{
	const struct topo *topo = fabric->config.topo;
	uint64_t windows = fabric->window.index - fabric->weighed_windows, packets = 0;

	if (fabric->config.lcores == 1 || windows < FABRIC_HOUSEKEEPING)
		return;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		packets += fabric->nodes[i]->count.rx_packets;
	fabric->alone = (packets - fabric->weighed_packets) / windows + topo->nports / FABRIC_PORTS_A_PACKET <
			FABRIC_BARRIER_PACKETS;
	fabric->weighed_windows = fabric->window.index;
	fabric->weighed_packets = packets;
}

/* The links of a group take arrays from an lcore's pool from now on. */
static void
fabric_use_pool(struct fabric *fabric, const uint32_t *nodes, uint32_t count, struct link_pool *pool)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct node *node = fabric->nodes[nodes[i]];

		for (uint32_t p = 0; p < node->nports; p++) {
			node->tx[p]->pool = pool;
			node->rx[p]->rx_pool = pool;
		}
	}
}

/* Gives every lcore its share of the nodes. */
static void
fabric_divide(struct fabric *fabric)
{
	for (uint32_t l = 0; l < fabric->config.lcores; l++) {
		struct fabric_lcore *lcore = &fabric->lcores[l];

		lcore->ngroups = shares_groups(&fabric->shares, l, lcore->nodes, lcore->groups);
		lcore->nnodes = 0;
		for (uint32_t i = 0; i < lcore->ngroups; i++) {
			fabric_use_pool(fabric, &lcore->nodes[lcore->groups[i].from], lcore->groups[i].count, &lcore->pool);
			lcore->nnodes += lcore->groups[i].count;
		}
	}
}

/* An lcore that sends more than it receives gets arrays of frames back. */
static void
fabric_even_pools(struct fabric *fabric)
{
	for (uint32_t l = 1; l < fabric->config.lcores; l++)
		link_pool_even(&fabric->lcores[l - 1].pool, &fabric->lcores[l].pool);
}

/* Looks whether the run is over, or is to be. */
static void
fabric_look(struct fabric *fabric, uint64_t now_ps)
{
	fabric_judge(fabric, now_ps);
	if (!fabric->stop && fabric->hooks.interrupted != NULL && fabric->hooks.interrupted(fabric->hooks.ctx))
		fabric_end(fabric, REC_END_INTERRUPT, REC_NONE);
}

/* @return the time up to which windows may go */
static uint64_t
fabric_limit_ps(const struct fabric *fabric)
{
	const struct fabric_hooks *hooks = &fabric->hooks;
	uint64_t horizon_ps = hooks->horizon_ps != NULL ? hooks->horizon_ps(hooks->ctx) : TIME_NEVER;

	return min_u64(min_u64(fabric->change_ps, horizon_ps), fabric->config.limit_ps);
}

/*
 * Opens the window that starts at start_ps, or at earliest_ps or between them when a frame arrives from a kernel host;
 * it ends early at epochs, changes, the horizon and the end of time.
 */
static void
fabric_open_window(struct fabric *fabric, uint64_t earliest_ps, uint64_t start_ps)
{
	const struct fabric_config *config = &fabric->config;
	struct window *window = &fabric->window;
	uint64_t epoch_end_ps;

	if (fabric->hooks.pace != NULL)
		start_ps = fabric->hooks.pace(fabric->hooks.ctx, earliest_ps, start_ps);
	if (start_ps == TIME_NEVER) {
		fabric_look(fabric, earliest_ps);
		fabric->stop = true;
		return;
	}
	epoch_end_ps = (start_ps / config->epoch_ps + 1) * config->epoch_ps;
	if (fabric->hooks.change != NULL && start_ps >= fabric->change_ps) {
		fabric->hooks.change(fabric->hooks.ctx, start_ps);
		fabric->change_ps = fabric->hooks.next_change_ps(fabric->hooks.ctx, start_ps + 1);
	}
	window->start_ps = start_ps;
	window->end_ps = min_u64(min_u64(start_ps + fabric->window_ps, epoch_end_ps), fabric_limit_ps(fabric));
	if (fabric->hooks.entering != NULL)
		fabric->hooks.entering(fabric->hooks.ctx, window);
	if (fabric->hooks.arriving != NULL)
		fabric->hooks.arriving(fabric->hooks.ctx, window);
}

/* Between windows, on the first lcore. */
static void
fabric_turn(struct fabric *fabric)
{
	struct window *window = &fabric->window;
	uint64_t next_ps = TIME_NEVER, now_ps = window->end_ps, start_ps = now_ps;
	bool idle;

	for (uint32_t l = 0; l < fabric->config.lcores; l++)
		next_ps = min_u64(next_ps, fabric->lcores[l].next_ps);
	if (fabric->hooks.sent != NULL)
		fabric->hooks.sent(fabric->hooks.ctx, window);
	if (fabric->hooks.leaving != NULL)
		fabric->hooks.leaving(fabric->hooks.ctx, window);
	if (fabric->hooks.agree != NULL)
		next_ps = fabric->hooks.agree(fabric->hooks.ctx, window, next_ps);
	idle = next_ps >= now_ps + fabric->window_ps;
	window->index++;
	window->parity = window->index & 1;
	if (idle || window->index % FABRIC_HOUSEKEEPING == 0) {
		if (fabric->hooks.collect != NULL)
			fabric->hooks.collect(fabric->hooks.ctx, now_ps);
		fabric_look(fabric, now_ps);
		fabric_weigh(fabric);
		fabric_even_pools(fabric);
		/* In real time the assignment is fixed: ports of kernel hosts belong to their lcores. */
		if (fabric->config.lcores > 1 && fabric->hooks.pace == NULL &&
		    shares_look(&fabric->shares, fabric->nodes, window->index))
			fabric_divide(fabric);
	}
	if (!fabric->stop && now_ps >= fabric->config.limit_ps)
		fabric_end(fabric, REC_END_VIRTUAL_TIME, REC_NONE);
	if (fabric->stop) {
		if (fabric->hooks.collect != NULL)
			fabric->hooks.collect(fabric->hooks.ctx, now_ps);
		return;
	}
	if (idle) {
		/* Nothing happens before next_ps: jump, but never over a change, an epoch's end or a stall. */
		uint64_t epoch_ps = (now_ps / fabric->config.epoch_ps + 1) * fabric->config.epoch_ps;
		next_ps = min_u64(min_u64(next_ps, epoch_ps), min_u64(fabric->change_ps, fabric->config.limit_ps));
		next_ps = min_u64(next_ps, now_ps + fabric->stall_left_ps);
		start_ps = next_ps > now_ps ? next_ps : now_ps;
		if (start_ps >= fabric->config.limit_ps)
			start_ps = fabric->config.limit_ps - 1;
	}
	fabric_open_window(fabric, now_ps, start_ps);
	if (fabric->stop && fabric->hooks.collect != NULL)
		fabric->hooks.collect(fabric->hooks.ctx, now_ps);
}

/* One window of a group's nodes. @param of  the lcore that it belongs to @param next_ps  of the groups before */
static uint64_t
run_group(struct fabric *fabric, const struct fabric_lcore *of, const struct shares_group *group, uint64_t next_ps)
{
	const uint32_t *nodes = &of->nodes[group->from];

	for (uint32_t i = 0; i < group->count; i++) {
		struct node *node = fabric->nodes[nodes[i]];

		node->ops->run(node, &fabric->window);
	}
	return group_next_ps(fabric, nodes, group->count, next_ps);
}

/* One window of an lcore's nodes, and of no others. */
static void
lcore_run_window(struct fabric *fabric, struct fabric_lcore *lcore)
{
	const struct shares_group all = { .count = lcore->nnodes };

	lcore->next_ps = run_group(fabric, lcore, &all, TIME_NEVER);
}

/* Groups of an lcore that nobody has begun. @param id  the lcore that runs them */
static uint64_t
run_left(struct fabric *fabric, uint32_t id, struct fabric_lcore *of, uint64_t next_ps)
{
	struct link_pool *pool = &fabric->lcores[id].pool;
	uint32_t at;

	while (atomic_load_explicit(&of->begun, memory_order_relaxed) < of->ngroups &&
	       (at = atomic_fetch_add_explicit(&of->begun, 1, memory_order_relaxed)) < of->ngroups) {
		struct shares_group *group = &of->groups[at];

		if (group->lcore != id)
			fabric_use_pool(fabric, &of->nodes[group->from], group->count, pool);
		group->lcore = id;
		next_ps = run_group(fabric, of, group, next_ps);
	}
	return next_ps;
}

/* One window on several lcores: packets do not spread evenly over it, so who is through helps. */
static void
lcore_share_window(struct fabric *fabric, uint32_t id)
{
	uint32_t lcores = fabric->config.lcores;
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < lcores; i++)
		next_ps = run_left(fabric, id, &fabric->lcores[(id + i) % lcores], next_ps);
	fabric->lcores[id].next_ps = next_ps;
}

/* Every lcore runs its part of the window. In real time that is its own nodes alone: ports of kernel hosts are its. */
static void
lcore_run(struct fabric *fabric, uint32_t id)
{
	if (fabric->config.lcores > 1 && fabric->hooks.pace == NULL)
		lcore_share_window(fabric, id);
	else
		lcore_run_window(fabric, &fabric->lcores[id]);
}

void
fabric_run(struct fabric *fabric, uint32_t lcore_id)
{
	if (lcore_id == 0) {
		fabric->change_ps = TIME_NEVER;
		if (fabric->hooks.next_change_ps != NULL)
			fabric->change_ps = fabric->hooks.next_change_ps(fabric->hooks.ctx, 0);
		fabric_open_window(fabric, 0, 0);
	}
	barrier_wait(&fabric->barrier);
	while (!fabric->stop) {
		lcore_run(fabric, lcore_id);
		barrier_wait(&fabric->barrier);
		if (lcore_id == 0)
			fabric_turn(fabric);
		while (lcore_id == 0 && fabric->alone && !fabric->stop) {
			for (uint32_t l = 0; l < fabric->config.lcores; l++)
				lcore_run_window(fabric, &fabric->lcores[l]);
			fabric_turn(fabric);
		}
		for (uint32_t l = 0; lcore_id == 0 && l < fabric->config.lcores; l++)
			atomic_store_explicit(&fabric->lcores[l].begun, 0, memory_order_relaxed);
		barrier_wait(&fabric->barrier);
	}
}

uint8_t
fabric_pausing(const struct fabric *fabric, uint32_t port)
{
	const struct topo_port *at = &fabric->config.topo->ports[port];
	const struct node *node = fabric->nodes[at->node];

	if (fabric->hooks.pausing != NULL && fabric_is_remote(fabric, at->node))
		return fabric->hooks.pausing(fabric->hooks.ctx, port);
	return node->ops->pausing(node, at->index);
}

uint64_t
fabric_digest(const struct fabric *fabric)
{
	uint64_t digest = DIGEST_INIT;

	for (uint32_t i = 0; i < fabric->config.topo->nnodes; i++) {
		digest = digest_u64(digest, fabric->nodes[i]->digest);
		digest = digest_u64(digest, fabric->nodes[i]->records.digest);
	}
	return digest;
}

void
fabric_sum(const struct fabric *fabric, struct fabric_totals *totals)
{
	*totals = (struct fabric_totals){ .windows = fabric->window.index };
	for (uint32_t i = 0; i < fabric->config.topo->nnodes; i++) {
		const struct node_counters *count = &fabric->nodes[i]->count;

		totals->hops += count->rx_packets;
		totals->switch_windows += count->windows;
		totals->fast_windows += count->fast_windows;
	}
	for (uint32_t i = 0; i < fabric->config.topo->nports; i++) {
		const struct link *link = &fabric->links[i];

		link_in_flight(link, &totals->in_flight_packets, &totals->in_flight_bytes);
		totals->lost_packets += link->injected_packets + link->down_packets;
		totals->lost_bytes += link->injected_bytes + link->down_bytes;
	}
}

int
fabric_partition(struct fabric *fabric, struct err *err)
{
	const struct topo *topo = fabric->config.topo;
	uint32_t lcores = fabric->config.lcores;
	int ret;

	if (lcores == 0 || lcores > FABRIC_MAX_LCORES)
		return err_set(err, -EINVAL, "cannot divide %u nodes over %u lcores (1..%u)", topo->nnodes, lcores,
			       FABRIC_MAX_LCORES);
	ret = shares_init(&fabric->shares, topo, fabric->config.remote, lcores);
	for (uint32_t l = 0; ret == 0 && l < lcores; l++) {
		fabric->lcores[l].nodes = calloc(topo->nnodes, sizeof(*fabric->lcores[l].nodes));
		fabric->lcores[l].groups = calloc(topo->nnodes, sizeof(*fabric->lcores[l].groups));
		ret = fabric->lcores[l].nodes == NULL || fabric->lcores[l].groups == NULL ? -ENOMEM : 0;
	}
	if (ret < 0)
		return err_set(err, ret, "out of memory for the nodes of %u lcores", lcores);
	fabric_divide(fabric);
	barrier_init(&fabric->barrier, lcores);
	return 0;
}
