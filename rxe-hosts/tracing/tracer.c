/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/tracing/tracer.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/flow.h"
#include "common/wire/eth.h"

#define LOOK_NS 200000000ULL /* between two dumps of the queue pairs */
#define PART_BYTES 32768     /* of a dump: more than the kernel makes it */
#define FRAMES_AT_ONCE 64
#define SAMPLED_MASK 7 /* one frame of eight */

struct tracer {
	struct tracer_config config;
	uint32_t index; /* of the device */
	int netlink, packets;
	struct loop_watch watch; /* of packets */
	uint64_t next_ns;
	uint8_t part[PART_BYTES];
	struct traced_qp qps[TRACED_QPS];
	struct connections connections;
};

/* The packets of reliable connections to RoCEv2's port by IPv4 without options, one of eight: their first bytes. */
static int
filter(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_TYPE_IPV4, 0, 11),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_VERSION_IHL, 0, 9),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_PROTOCOL_UDP, 0, 7),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCEV2_UDP_PORT, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 42),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x20, 3, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SAMPLED_MASK, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, TRACED_FRAME_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

static void
packets_ready(void *ctx, uint32_t events)
{
	struct tracer *tracer = ctx;

	(void)events;
	for (uint32_t i = 0; i < FRAMES_AT_ONCE; i++) {
		uint8_t bytes[TRACED_FRAME_BYTES];
		struct sockaddr_ll from;
		socklen_t size = sizeof(from);
		struct traced_frame frame;
		ssize_t got =
			recvfrom(tracer->packets, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &size);

		if (got < 0)
			return;
		if (tracing_frame_read(&frame, bytes, (size_t)got, from.sll_pkttype == PACKET_OUTGOING))
			connections_frame(&tracer->connections, &frame);
	}
}

/* The network device below soft-RoCE. */
static int
netdev_of(const char *device)
{
	char path[256], name[IF_NAMESIZE] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", device);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(name, sizeof(name), file) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
	return (int)if_nametoindex(name);
}

static int
open_packets(struct tracer *tracer, struct err *err)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = netdev_of(tracer->config.device) };
	int rc;

	if (address.sll_ifindex == 0)
		return err_set(err, -ENODEV, "%s has no network device whose frames can be seen", tracer->config.device);
	tracer->packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = tracer->packets < 0 ? -errno : filter(tracer->packets);
	if (rc == 0 && bind(tracer->packets, (struct sockaddr *)&address, sizeof(address)) < 0)
		rc = -errno;
	tracer->watch = (struct loop_watch){ .fd = tracer->packets, .ready = packets_ready, .ctx = tracer };
	if (rc == 0)
		rc = loop_watch(tracer->config.loop, &tracer->watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "no packet socket: %s", strerror(-rc));
}

/* Netlink answers at once: a dump's parts are made as they are read. */
static int
ask(struct tracer *tracer, const uint8_t *request, size_t size, struct tracing_reply *reply)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int rc = 0;

	if (sendto(tracer->netlink, request, size, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) != (ssize_t)size)
		return -errno;
	while (rc == 0 && !reply->done) {
		ssize_t got = recv(tracer->netlink, tracer->part, sizeof(tracer->part), MSG_DONTWAIT);

		rc = got > 0 ? tracing_read(reply, tracer->part, (size_t)got) : got == 0 ? -EPROTO : -errno;
	}
	return rc;
}

static int
open_netlink(struct tracer *tracer, struct err *err)
{
	uint8_t request[TRACING_REQUEST_BYTES];
	struct tracing_reply reply = { .device = tracer->config.device };
	int rc;

	tracer->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_RDMA);
	rc = tracer->netlink < 0 ? -errno : ask(tracer, request, tracing_ask_devices(request), &reply);
	tracer->index = reply.index;
	if (rc == 0 && !reply.found)
		rc = -ENODEV;
	return rc == 0 ? 0 : err_set(err, rc, "rdma netlink does not report %s: %s", tracer->config.device, strerror(-rc));
}

struct tracer *
tracer_create(const struct tracer_config *config, struct err *err)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int rc;

	if (tracer == NULL) {
		err_set(err, -ENOMEM, "no memory to trace connections");
		return NULL;
	}
	tracer->config = *config;
	tracer->netlink = tracer->packets = -1;
	tracer->connections.changed = config->changed;
	tracer->connections.ctx = config->ctx;
	rc = open_netlink(tracer, err);
	if (rc == 0)
		rc = open_packets(tracer, err);
	if (rc == 0)
		return tracer;
	tracer_destroy(tracer);
	errno = -rc;
	return NULL;
}

void
tracer_destroy(struct tracer *tracer)
{
	if (tracer == NULL)
		return;
	if (tracer->netlink >= 0)
		close(tracer->netlink);
	if (tracer->packets >= 0)
		close(tracer->packets);
	free(tracer);
}

/* A failed dump is ignored: the next one follows. */
void
tracer_run(struct tracer *tracer, uint64_t now_ns)
{
	struct tracing_reply reply = { .qps = tracer->qps, .cap = TRACED_QPS };
	uint8_t request[TRACING_REQUEST_BYTES];

	if (now_ns < tracer->next_ns)
		return;
	tracer->next_ns = now_ns + LOOK_NS;
	if (ask(tracer, request, tracing_ask_qps(request, tracer->index), &reply) == 0)
		connections_qps(&tracer->connections, reply.qps, reply.count);
}

uint32_t
tracer_connections(const struct tracer *tracer, struct traced_connection *rows, uint32_t cap)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < tracer->connections.count && count < cap; i++)
		if (tracer->connections.rows[i].is_reported)
			rows[count++] = (struct traced_connection){ tracer->connections.rows[i].tuple,
								    tracer->connections.rows[i].qp.lqpn };
	return count;
}

uint64_t
tracer_next_ns(const struct tracer *tracer)
{
	return tracer->next_ns;
}
