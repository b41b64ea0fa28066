/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, opening and running a host with its own RDMA device. */
#include "rxe-hosts/device/verbs/host.h"
#include "rxe-hosts/device/verbs/label.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/units.h"
#include "rxe-hosts/device/verbs/verbs.h"

static int verbs_memory_init(struct verbs_host *host, struct err *err);
static void verbs_memory_fini(struct verbs_host *host);
static void verbs_counters_init(struct verbs_host *host);
static void verbs_counters_fini(struct verbs_host *host);

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
				out->nidle = config->probes; /* probes have no responder */
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
		rc = verbs_datagrams_init(host, err);
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
	verbs_datagrams_fini(host);
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

/* The device interface of a host with its own RDMA device. */

static void
set_client(struct device *dev, const struct device_client *client)
{
	verbs_of(dev)->client = *client;
}

static void
register_region(struct device *dev, void *base, uint64_t bytes)
{
	verbs_of(dev)->region = base;
	verbs_of(dev)->region_bytes = bytes;
}

static int
post_receive(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes)
{
	return -ENOTSUP;
}

/* A device's congestion control is its own; a kernel's soft-RoCE has none. */
static void
reset_qp(struct device *dev, uint32_t flow)
{
}

static void
query_times(const struct device *dev, uint32_t flow, struct send_times *times)
{
	*times = (struct send_times){ .rtt = verbs_out_of(verbs_of(dev), flow)->rtt.confirmed };
}

static void
query_qp(const struct device *dev, uint32_t flow, struct qp_state *state)
{
	struct verbs_host *host = verbs_of(dev);
	const struct verbs_out *out = verbs_out_of(host, flow);
	uint64_t now_ps = verbs_now_ps(host), age_ps = rtt_age_ps(&out->rtt, host->now_ns);

	*state = (struct qp_state){
		.acked_bytes = out->outbox.acked_bytes,
		.last_rtt_ps = rtt_confirmed_ps(&out->rtt),
	};
	if (!verbs_outbox_open(&out->outbox))
		return;
	state->outstanding_bytes = out->outbox.posts[out->outbox.head % DEVICE_MAX_POSTED].bytes - state->acked_bytes;
	/* The last piece is acknowledged, but the header may still be in flight: the message is not complete. */
	if (state->outstanding_bytes == 0)
		state->outstanding_bytes = 1;
	state->oldest_unacked_ps = now_ps > age_ps ? now_ps - age_ps : 0;
	state->retransmits = verbs_retransmits(host, out, verbs_resent(host, VERBS_COUNTERS_AGE_NS));
}

static void
set_timer(struct device *dev, uint64_t when_ps)
{
	verbs_of(dev)->timer_ps = when_ps;
}

static uint64_t
now(const struct device *dev)
{
	return verbs_now_ps(verbs_of(dev));
}

static struct recbuf *
records(struct device *dev)
{
	return &verbs_of(dev)->records;
}

const struct device_ops verbs_device_ops = {
	.set_client = set_client,
	.register_region = register_region,
	.post_send = verbs_post_send,
	.post_receive = post_receive,
	.reset_qp = reset_qp,
	.query_qp = query_qp,
	.query_times = query_times,
	.path_rtt = verbs_path_rtt,
	.post_datagram = verbs_post_datagram,
	.ud_qpn = verbs_ud_qpn,
	.ud_open = verbs_ud_open,
	.ud_receive = verbs_ud_receive,
	.set_timer = set_timer,
	.now = now,
	.records = records,
};

/* Memory that the device may read and write: the client's region, landings for the peers' messages, scratch. */

#define ALIGN 4096ull
#define SLOTS_BYTES (DEVICE_MAX_POSTED * sizeof(struct verbs_header))

static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGN - 1) & ~(ALIGN - 1);
}

static void *
get_memory(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

/* Without real payload all pieces share one landing; else each flow has room for its messages. */
static void
measure(struct verbs_host *host)
{
	host->landings_bytes = VERBS_MAX_PIECE_BYTES;
	for (uint32_t i = 0; i < host->nins; i++) {
		struct verbs_in *in = &host->ins[i];

		in->landing_from = 0;
		in->landing_end = VERBS_MAX_PIECE_BYTES;
		if (in->mirrored)
			host->client.extent(host->client.ctx, in->data.flow, &in->landing_from, &in->landing_end);
		host->landings_bytes +=
			aligned(SLOTS_BYTES) + (in->mirrored ? aligned(in->landing_end - in->landing_from) : 0);
	}
}

static void
lay_out(struct verbs_host *host)
{
	uint64_t at = VERBS_MAX_PIECE_BYTES;

	for (uint32_t i = 0; i < host->nins; i++) {
		struct verbs_in *in = &host->ins[i];

		in->headers = (const struct verbs_header *)(host->landings + at);
		at += aligned(SLOTS_BYTES);
		in->landing = in->mirrored ? host->landings + at : host->landings;
		at += in->mirrored ? aligned(in->landing_end - in->landing_from) : 0;
	}
}

static struct ibv_mr *
give(struct verbs_host *host, void *base, uint64_t bytes, int access, struct err *err)
{
	struct ibv_mr *mr = base != NULL ? ibv_reg_mr(host->pd, base, bytes, access) : NULL;

	if (mr == NULL)
		err_set(err, -errno,
			"%s: cannot register %llu bytes of memory: %s; raise the limit of locked memory (ulimit -l)"
			" or make the collectives smaller",
			verbs_host_name(host), (unsigned long long)bytes, strerror(errno));
	return mr;
}

static int
verbs_memory_init(struct verbs_host *host, struct err *err)
{
	measure(host);
	host->landings = get_memory(host->landings_bytes);
	host->scratch = get_memory(VERBS_MAX_PIECE_BYTES);
	errno = ENOMEM;
	host->landing_mr =
		give(host, host->landings, host->landings_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, err);
	host->scratch_mr = give(host, host->scratch, VERBS_MAX_PIECE_BYTES, 0, err);
	if (host->landing_mr == NULL || host->scratch_mr == NULL)
		return -ENOMEM;
	lay_out(host);
	if (host->region == NULL)
		return 0;
	host->region_mr = give(host, host->region, host->region_bytes, 0, err);
	return host->region_mr != NULL ? 0 : -ENOMEM;
}

static void
verbs_memory_fini(struct verbs_host *host)
{
	struct ibv_mr *mrs[] = { host->region_mr, host->landing_mr, host->scratch_mr };

	for (size_t i = 0; i < ARRAY_LEN(mrs); i++)
		if (mrs[i] != NULL)
			ibv_dereg_mr(mrs[i]);
	if (host->landings != NULL)
		munmap(host->landings, host->landings_bytes);
	if (host->scratch != NULL)
		munmap(host->scratch, VERBS_MAX_PIECE_BYTES);
}

/*
 * Verbs do not report retransmissions, a device's counters do (rdma-statistic(8)). They count for the whole device: an
 * increment while a message is in flight may belong to another.
 */

/* Names of rdma_rxe, then of mlx5 and others. Timeouts of rdma_rxe include retransmissions after a NAK. */
static const struct {
	const char *name;
	bool timeout;
} counters[VERBS_COUNTERS] = {
	{ "rcvd_seq_err", false },
	{ "completer_retry_err", true },
	{ "packet_seq_err", false },
	{ "local_ack_timeout_err", true },
};

#define COUNTER_PATH 512

static void
counters_path(const struct verbs_host *host, const char *name, char path[COUNTER_PATH])
{
	snprintf(path, COUNTER_PATH, "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", verbs_host_name(host), host->port,
		 name);
}

/* Files that hold a number. mlx5's lifespan is how old the others may be, in ms. */
static bool
read_counter(const char *path, const char *name, struct manage_counter *counter)
{
	FILE *file = strcmp(name, "lifespan") != 0 && strlen(name) < sizeof(counter->name) ? fopen(path, "re") : NULL;
	bool is_number;

	if (file == NULL)
		return false;
	*counter = (struct manage_counter){ 0 };
	strcpy(counter->name, name);
	is_number = fscanf(file, "%" SCNu64, &counter->value) == 1;
	fclose(file);
	return is_number;
}

/* @param list  [MANAGE_COUNTERS] set, by name. @return how many */
static uint32_t
read_counters(const struct verbs_host *host, struct manage_counter *list)
{
	struct dirent **entries = NULL;
	uint32_t used = 0;
	char path[COUNTER_PATH];
	int count;

	counters_path(host, "", path);
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		counters_path(host, entries[i]->d_name, path);
		if (used < MANAGE_COUNTERS && entries[i]->d_name[0] != '.' &&
		    read_counter(path, entries[i]->d_name, &list[used]))
			used++;
		free(entries[i]);
	}
	free(entries);
	return used;
}

uint32_t
verbs_host_device_counters(const struct verbs_host *host, struct manage_counter *list)
{
	uint32_t count = read_counters(host, list), first = 0;

	/* Both lists are by name. */
	for (uint32_t i = 0; i < count; i++) {
		while (first < host->nfirst_counters && strcmp(host->first_counters[first].name, list[i].name) < 0)
			first++;
		if (first < host->nfirst_counters && strcmp(host->first_counters[first].name, list[i].name) == 0)
			list[i].value -= host->first_counters[first].value;
	}
	return count;
}

static void
verbs_counters_init(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char path[COUNTER_PATH];

		counters_path(host, counters[i].name, path);
		host->counter_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	host->first_resent = verbs_resent(host, 0);
	host->nfirst_counters = read_counters(host, host->first_counters);
}

static void
verbs_counters_fini(struct verbs_host *host)
{
	for (int i = 0; i < VERBS_COUNTERS; i++) {
		if (host->counter_fds[i] >= 0)
			close(host->counter_fds[i]);
		host->counter_fds[i] = -1;
	}
}

struct verbs_resent
verbs_resent(struct verbs_host *host, uint64_t age_ns)
{
	struct verbs_resent resent = { 0 };

	if (age_ns != 0 && host->now_ns - host->resent_ns < age_ns)
		return host->resent;

	for (int i = 0; i < VERBS_COUNTERS; i++) {
		char text[32];
		ssize_t got = host->counter_fds[i] >= 0 ? pread(host->counter_fds[i], text, sizeof(text) - 1, 0) : 0;

		if (got <= 0)
			continue;
		text[got] = '\0';
		*(counters[i].timeout ? &resent.timeouts : &resent.naks) += strtoull(text, NULL, 10);
	}
	host->resent = resent;
	host->resent_ns = host->now_ns;
	return resent;
}

/*
 * The timer of rdma_rxe also fires, and sends one packet again, while acknowledgements arrive steadily. A timeout
 * counts only if no acknowledgement arrived in half of the timer's minimum.
 */
uint32_t
verbs_retransmits(const struct verbs_host *host, const struct verbs_out *out, struct verbs_resent now)
{
	uint64_t naks = now.naks - out->resent.naks, timeouts = now.timeouts - out->resent.timeouts;
	uint64_t timeout_ns = 4096ull << verbs_timeout(host->config.params->kernel_timeout_ps);

	return (uint32_t)(out->silent_ns >= timeout_ns / 2 && timeouts > naks ? timeouts : naks);
}
