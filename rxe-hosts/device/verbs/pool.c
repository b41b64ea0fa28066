/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/pool.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "rxe-hosts/device/verbs/host.h"

/* rdma_rxe alone tells the network device below it so. @return false: it is none */
static bool
rxe_netdev(const struct verbs_host *host, char name[IF_NAMESIZE])
{
	char path[256];
	FILE *file;
	bool read;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", verbs_host_name(host));
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	read = fgets(name, IF_NAMESIZE, file) != NULL;
	fclose(file);
	if (read)
		name[strcspn(name, "\n")] = '\0';
	return read;
}

/* Without the kernel's times what this program sees is late by what it takes to be woken. */
static void
open_tap(struct verbs_host *host, const char *netdev)
{
	int rc = tap_open(&host->pool.tap, netdev);

	if (rc != 0)
		log_warning("%s: no times of the frames that cross %s: %s; those of completions are coarser",
			    verbs_host_name(host), netdev, strerror(-rc));
}

static struct ibv_qp *
create(const struct verbs_host *host, uint32_t sends, uint32_t receives)
{
	struct ibv_qp_init_attr init = {
		.send_cq = host->pool.cq,
		.recv_cq = host->pool.cq,
		.srq = receives == 0 ? host->pool.srq : NULL,
		.cap = { .max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};

	return ibv_create_qp(host->pd, &init);
}

/* Opens QPs until each port has one: their numbers follow each other. */
static int
walk(struct verbs_host *host)
{
	struct verbs_pool *pool = &host->pool;
	uint64_t began_ns = clock_now_ns();
	uint32_t missing = pool->ports.count, opened = 0;

	for (; missing != 0 && opened < VERBS_PORTS_WALK; opened++) {
		struct ibv_qp *qp = create(host, VERBS_POOL_QUEUE, 0);
		uint32_t port = qp != NULL ? verbs_ports_find(&pool->ports, verbs_rxe_sport(qp->qp_num)) : VERBS_NO_PORT;

		if (qp == NULL)
			return -errno;
		if (port == VERBS_NO_PORT || pool->senders[port] != NULL) {
			ibv_destroy_qp(qp);
			continue;
		}
		pool->senders[port] = qp;
		missing--;
	}
	log_info("%s: %u QPs opened for UD SENDs by %u UDP source ports, in %.0f ms", verbs_host_name(host), opened,
		 pool->ports.count - missing, (double)(clock_now_ns() - began_ns) / 1e6);
	return missing == 0 ? 0 : -EADDRNOTAVAIL;
}

static int
make_senders(struct verbs_host *host)
{
	struct verbs_pool *pool = &host->pool;
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	char netdev[IF_NAMESIZE];
	int rc;

	pool->by_label = !rxe_netdev(host, netdev);
	pool->senders = calloc(pool->ports.count + 1u, sizeof(struct ibv_qp *));
	pool->srq = ibv_create_srq(host->pd, &srq);
	if (pool->senders == NULL || pool->srq == NULL)
		return -ENOMEM;
	if (pool->by_label) {
		pool->senders[0] = create(host, VERBS_POOL_SENDS, 0);
		return pool->senders[0] != NULL ? verbs_ud_start(host, pool->senders[0]) : -errno;
	}
	open_tap(host, netdev);
	rc = walk(host);
	for (uint32_t i = 0; i < pool->ports.count && rc == 0; i++)
		rc = verbs_ud_start(host, pool->senders[i]);
	return rc;
}

static int
make_queues(struct verbs_host *host, uint32_t receives)
{
	struct verbs_pool *pool = &host->pool;
	size_t bytes = (size_t)VERBS_POOL_SENDS * DEVICE_UD_BYTES + (size_t)receives * VERBS_POOL_RECEIVE_BYTES;

	pool->receives = receives;
	pool->memory = calloc(1, bytes);
	pool->read = calloc(receives, sizeof(*pool->read));
	pool->ahs = calloc(2u * host->config.flows->count + 1, sizeof(struct ibv_ah *));
	pool->events = ibv_create_comp_channel(host->verbs);
	if (pool->memory == NULL || pool->read == NULL || pool->ahs == NULL || pool->events == NULL)
		return -ENOMEM;
	pool->mr = ibv_reg_mr(host->pd, pool->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	pool->cq = ibv_create_cq(host->verbs, (int)(VERBS_POOL_SENDS + receives), NULL, pool->events, 0);
	if (pool->mr == NULL || pool->cq == NULL || ibv_req_notify_cq(pool->cq, 0) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < VERBS_POOL_SENDS; i++)
		pool->free_sends[pool->nfree_sends++] = (uint16_t)i;
	pool->watch = (struct loop_watch){ .fd = pool->events->fd, .ready = verbs_pool_completions, .ctx = host };
	return loop_watch(host->config.loop, &pool->watch, EPOLLIN);
}

static int
make(struct verbs_host *host, uint32_t receives)
{
	int rc = verbs_ports_init(&host->pool.ports, host->config.flows, host->config.node);

	if (rc == 0)
		rc = make_queues(host, receives);
	if (rc == 0)
		rc = verbs_trace_open(host);
	return rc == 0 ? make_senders(host) : rc;
}

/* The QP that receives: room for as many datagrams as ever. */
static int
receive(struct verbs_host *host)
{
	struct verbs_pool *pool = &host->pool;
	int rc;

	if (pool->qp != NULL)
		ibv_destroy_qp(pool->qp);
	pool->qp = create(host, 1, pool->receives);
	rc = pool->qp != NULL ? verbs_ud_start(host, pool->qp) : -errno;
	pool->nread = 0;
	for (uint32_t slot = 0; slot < pool->receives && rc == 0; slot++)
		rc = verbs_pool_room(host, slot);
	return rc;
}

int64_t
verbs_ud_open(struct device *dev, uint16_t nic, uint32_t receives)
{
	struct verbs_host *host = verbs_of(dev);
	int rc = host->pool.cq == NULL ? make(host, receives) : 0;

	if (rc == 0)
		rc = receive(host);
	if (rc == 0)
		return host->pool.qp->qp_num;
	verbs_fail(host, true, "%s: no QPs for UD SENDs by %u UDP source ports: %s", verbs_host_name(host),
		   host->pool.ports.count, strerror(-rc));
	return rc;
}

void
verbs_pool_fini(struct verbs_host *host)
{
	struct verbs_pool *pool = &host->pool;

	if (pool->qp != NULL)
		ibv_destroy_qp(pool->qp);
	for (uint32_t i = 0; pool->senders != NULL && i < pool->ports.count + 1u; i++)
		if (pool->senders[i] != NULL)
			ibv_destroy_qp(pool->senders[i]);
	for (uint32_t i = 0; pool->ahs != NULL && i < 2 * host->config.flows->count; i++)
		if (pool->ahs[i] != NULL)
			ibv_destroy_ah(pool->ahs[i]);
	if (pool->srq != NULL)
		ibv_destroy_srq(pool->srq);
	if (pool->cq != NULL)
		ibv_destroy_cq(pool->cq);
	if (pool->events != NULL)
		ibv_destroy_comp_channel(pool->events);
	if (pool->mr != NULL)
		ibv_dereg_mr(pool->mr);
	verbs_ports_fini(&pool->ports);
	tap_close(&pool->tap);
	verbs_trace_close(host);
	free(pool->senders);
	free(pool->memory);
	free(pool->read);
	free(pool->ahs);
}
