/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, opening and running a host with its own RDMA device. */
#include "rxe-hosts/device/verbs/verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "rxe-hosts/device/verbs/host.h"

struct verbs_out *
verbs_out_of(const struct verbs_host *host, uint32_t flow)
{
	assert(host->config.flows->flows[flow].src_node == host->config.node &&
	       host->config.flows->flows[flow].kind != FLOW_CONTROL);
	return &host->outs[host->slot_of[flow]];
}

uint64_t
verbs_now_ps(const struct verbs_host *host)
{
	return run_clock_ps(host->config.clock, host->now_ns);
}

uint64_t
verbs_look(struct verbs_host *host)
{
	host->now_ns = clock_now_ns();
	return host->now_ns;
}

void
verbs_fail(struct verbs_host *host, bool broken, const char *fmt, ...)
{
	va_list args;

	if (broken)
		host->state = VERBS_BROKEN;
	if (host->error[0] != '\0')
		return;
	va_start(args, fmt);
	vsnprintf(host->error, sizeof(host->error), fmt, args);
	va_end(args);
}

char *
verbs_flow_text(const struct verbs_host *host, uint32_t flow, char *buf)
{
	const struct flow *f = &host->config.flows->flows[flow];

	snprintf(buf, 64, "%u.%u.%u.%u->%u.%u.%u.%u/%u", f->src_ip >> 24, f->src_ip >> 16 & 255, f->src_ip >> 8 & 255,
		 f->src_ip & 255, f->dst_ip >> 24, f->dst_ip >> 16 & 255, f->dst_ip >> 8 & 255, f->dst_ip & 255, f->sport);
	return buf;
}

static void
conn_init(struct verbs_host *host, struct verbs_conn *conn, uint32_t flow, uint32_t slot, enum conn_role role, bool active)
{
	*conn = (struct verbs_conn){ .host = host, .flow = flow, .slot = slot, .role = role, .active = active };
}

/* The flows that start or end here. */
static int
place_flows(struct verbs_host *host)
{
	const struct verbs_config *config = &host->config;
	uint32_t count = config->flows->count;

	host->slot_of = malloc((count + 1) * sizeof(*host->slot_of));
	host->outs = calloc(count + 1, sizeof(*host->outs));
	host->ins = calloc(count + 1, sizeof(*host->ins));
	if (host->slot_of == NULL || host->outs == NULL || host->ins == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct flow *flow = &config->flows->flows[i];

		host->slot_of[i] = UINT32_MAX;
		if (flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
			continue;
		if (flow->src_node == config->node) {
			struct verbs_out *out = &host->outs[host->nouts];

			conn_init(host, &out->data, i, host->nouts, CONN_DATA, true);
			conn_init(host, &out->probe, i, host->nouts, CONN_PROBE, true);
			verbs_outbox_init(&out->outbox, config->window_bytes, config->params->mtu_bytes);
			if (verbs_is_static(host, i)) {
				verbs_outbox_init_whole(&out->outbox);
				out->nidle = config->probes; /* nobody answers probes */
			}
			out->watched = flow->kind == FLOW_COLLECTIVE && config->watch;
			out->idle_ps = calloc(config->probes, sizeof(*out->idle_ps));
			host->slot_of[i] = host->nouts++;
			if (out->idle_ps == NULL)
				return -ENOMEM;
		} else if (flow->dst_node == config->node) {
			struct verbs_in *in = &host->ins[host->nins];

			conn_init(host, &in->data, i, host->nins, CONN_DATA, false);
			conn_init(host, &in->probe, i, host->nins, CONN_PROBE, false);
			in->mirrored = config->params->real_payload && flow->kind == FLOW_COLLECTIVE;
			host->slot_of[i] = host->nins++;
		}
	}
	return 0;
}

/* Binding to the host's address finds the device that has it. */
static int
open_device(struct verbs_host *host, struct err *err)
{
	uint32_t ip = host->config.ip;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(ip),
				       .sin_port = htons(VERBS_CM_PORT) };

	host->cm = rdma_create_event_channel();
	if (host->cm == NULL)
		return err_set(err, -errno,
			       "no RDMA connection manager: %s; does this kernel have rdma_ucm, and /dev/infiniband"
			       " its device?",
			       strerror(errno));
	if (rdma_create_id(host->cm, &host->listener, host, RDMA_PS_TCP) != 0)
		return err_set(err, -errno, "cannot use the RDMA connection manager: %s", strerror(errno));
	if (rdma_bind_addr(host->listener, (struct sockaddr *)&address) != 0 || host->listener->verbs == NULL)
		return err_set(err, -ENODEV,
			       "no RDMA device has the address %u.%u.%u.%u of this host: give it to the network"
			       " device, then for soft-RoCE `rdma link add rxe0 type rxe netdev DEVICE`",
			       ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
	host->verbs = host->listener->verbs;
	host->port = host->listener->port_num;
	return verbs_port_init(host, err);
}

static int
open_queues(struct verbs_host *host, struct err *err)
{
	int entries = (int)(host->nouts * (VERBS_MAX_PIECES + 1) + host->nins * DEVICE_MAX_POSTED + 2 * VERBS_UD_SLOTS + 1);

	host->pd = ibv_alloc_pd(host->verbs);
	host->events = ibv_create_comp_channel(host->verbs);
	if (host->pd == NULL || host->events == NULL)
		return err_set(err, -errno, "%s: no protection domain or completion channel: %s", verbs_host_name(host),
			       strerror(errno));
	host->cq = ibv_create_cq(host->verbs, entries, NULL, host->events, 0);
	if (host->cq == NULL || ibv_req_notify_cq(host->cq, 0) != 0)
		return err_set(err, -errno, "%s: no completion queue of %d entries: %s", verbs_host_name(host), entries,
			       strerror(errno));
	host->cq_watch = (struct loop_watch){ .fd = host->events->fd, .ready = verbs_completions, .ctx = host };
	return 0;
}

struct verbs_host *
verbs_host_create(const struct verbs_config *config, struct err *err)
{
	struct verbs_host *host = calloc(1, sizeof(*host));
	int rc = -ENOMEM;

	if (host != NULL) {
		host->config = *config;
		host->dev = (struct device){ .ops = &verbs_device_ops, .own_background = true };
		host->timer_ps = TIME_NEVER;
		host->pool.tap.fd = host->pool.icmp = host->pool.raw = -1;
		recbuf_init(&host->records, config->node);
		for (int i = 0; i < VERBS_COUNTERS; i++)
			host->counter_fds[i] = -1;
		rc = place_flows(host);
	}
	if (rc < 0)
		err_set(err, rc, "no memory for %u flows", config->flows->count);
	if (rc == 0)
		rc = open_device(host, err);
	if (rc == 0)
		rc = open_queues(host, err);
	if (rc == 0)
		rc = verbs_control_init(host, err);
	if (rc == 0) {
		verbs_counters_init(host);
		return host;
	}
	verbs_host_destroy(host);
	errno = -rc;
	return NULL;
}

void
verbs_host_destroy(struct verbs_host *host)
{
	if (host == NULL)
		return;
	for (uint32_t i = 0; i < host->nouts; i++) {
		verbs_conn_close(&host->outs[i].data);
		verbs_conn_close(&host->outs[i].probe);
		free(host->outs[i].idle_ps);
	}
	for (uint32_t i = 0; i < host->nins; i++) {
		verbs_conn_close(&host->ins[i].data);
		verbs_conn_close(&host->ins[i].probe);
	}
	if (host->listener != NULL)
		rdma_destroy_id(host->listener);
	verbs_ud_fini(host);
	verbs_pool_fini(host);
	if (host->cq != NULL)
		ibv_destroy_cq(host->cq);
	if (host->events != NULL)
		ibv_destroy_comp_channel(host->events);
	verbs_memory_fini(host);
	if (host->pd != NULL)
		ibv_dealloc_pd(host->pd);
	if (host->cm != NULL)
		rdma_destroy_event_channel(host->cm);
	verbs_control_fini(host);
	verbs_counters_fini(host);
	recbuf_fini(&host->records);
	free(host->slot_of);
	free(host->outs);
	free(host->ins);
	free(host);
}

struct device *
verbs_host_device(struct verbs_host *host)
{
	return &host->dev;
}

const char *
verbs_host_name(const struct verbs_host *host)
{
	return ibv_get_device_name(host->verbs->device);
}

int
verbs_host_listen(struct verbs_host *host, struct err *err)
{
	int rc = verbs_memory_init(host, err);

	if (rc == 0)
		rc = verbs_cm_listen(host, err);
	if (rc == 0)
		rc = loop_watch(host->config.loop, &host->cm_watch, EPOLLIN);
	if (rc == 0)
		rc = loop_watch(host->config.loop, &host->cq_watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "cannot wait for the RDMA device's events: %s", strerror(-rc));
}

int
verbs_host_connect(struct verbs_host *host, struct err *err)
{
	host->state = VERBS_CONNECTING;
	for (uint32_t i = 0; i < host->nouts; i++) {
		struct verbs_out *out = &host->outs[i];

		if (verbs_is_static(host, out->data.flow)) {
			verbs_static_start(&out->data);
			continue;
		}
		verbs_conn_start(&out->data);
		verbs_conn_start(&out->probe);
	}
	for (uint32_t i = 0; i < host->nins; i++)
		if (verbs_is_static(host, host->ins[i].data.flow))
			verbs_static_start(&host->ins[i].data);
	return host->state == VERBS_BROKEN ? err_set(err, -EIO, "%s", host->error) : 0;
}

enum verbs_state
verbs_host_state(const struct verbs_host *host)
{
	return host->state;
}

const char *
verbs_host_error(const struct verbs_host *host)
{
	return host->error[0] != '\0' ? host->error : NULL;
}

static bool
is_up(const struct verbs_conn *data, const struct verbs_conn *probe)
{
	return data->state == CONN_UP && (probe->state == CONN_UP || verbs_is_static(data->host, data->flow));
}

static bool
all_up(const struct verbs_host *host)
{
	for (uint32_t i = 0; i < host->nouts; i++)
		if (!is_up(&host->outs[i].data, &host->outs[i].probe))
			return false;
	for (uint32_t i = 0; i < host->nins; i++)
		if (!is_up(&host->ins[i].data, &host->ins[i].probe))
			return false;
	return true;
}

static bool
all_measured(const struct verbs_host *host)
{
	for (uint32_t i = 0; i < host->nouts; i++)
		if (host->outs[i].nidle < host->config.probes)
			return false;
	return true;
}

void
verbs_host_run(struct verbs_host *host)
{
	uint64_t now_ns = verbs_look(host);

	if (host->state == VERBS_CONNECTING && all_up(host))
		host->state = VERBS_MEASURING;
	if (host->state == VERBS_MEASURING && all_measured(host))
		host->state = VERBS_UP;
	if (host->state != VERBS_MEASURING && host->state != VERBS_UP)
		return;
	verbs_probes_run(host, now_ns);
	if (run_clock_host_ns(host->config.clock, host->timer_ps) <= now_ns) {
		host->timer_ps = TIME_NEVER;
		host->client.timer(host->client.ctx, verbs_now_ps(host));
	}
	if (host->open != 0 && host->tick_ns <= now_ns) {
		host->tick_ns = now_ns + VERBS_TICK_NS;
		host->client.tick(host->client.ctx, verbs_now_ps(host));
	}
}

uint64_t
verbs_host_next_ns(const struct verbs_host *host)
{
	uint64_t next_ns = run_clock_host_ns(host->config.clock, host->timer_ps);
	uint64_t probe_ns = verbs_probes_next_ns(host);

	if (host->state != VERBS_MEASURING && host->state != VERBS_UP)
		return UINT64_MAX;
	if (host->open != 0 && host->tick_ns < next_ns)
		next_ns = host->tick_ns;
	return probe_ns < next_ns ? probe_ns : next_ns;
}

void
verbs_host_count(struct verbs_host *host, struct verbs_counters *counters)
{
	struct verbs_resent resent = verbs_resent(host, 0);

	*counters = host->count;
	counters->naks = resent.naks - host->first_resent.naks;
	counters->timeouts = resent.timeouts - host->first_resent.timeouts;
	counters->qps = 2 * (host->nouts + host->nins);
	for (uint32_t i = 0; i < host->nouts; i++) {
		const struct rtt_filter *rtt = &host->outs[i].rtt;

		counters->base_rtt_ps = rtt->base_ps > counters->base_rtt_ps ? rtt->base_ps : counters->base_rtt_ps;
		counters->noise_ps = rtt->noise_ps > counters->noise_ps ? rtt->noise_ps : counters->noise_ps;
	}
}

uint64_t
verbs_host_acked_bytes(const struct verbs_host *host)
{
	return host->acked_bytes;
}
