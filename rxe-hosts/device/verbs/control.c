/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control packets (common/control.h) are ordinary UDP datagrams in their own class (paper III-C2, III-C3). A sending socket
 * is made for each: its source port is the flow's, by which receiver and switches know it. Each kind is received on its
 * port.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"
#include "rxe-hosts/device/verbs/host.h"

/* @return a socket, or negative errno */
static int
udp_socket(uint32_t ip, uint16_t port, uint8_t prio)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip), .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP), tos = prio << 5;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

/* Class of a kind's packets: polls go ahead of all, others in their flow's. */
static uint8_t
class_of(const struct control_kind *kind, const struct flow *flow)
{
	return kind->names_flow ? 0 : flow->prio;
}

int
verbs_send_control(struct verbs_host *host, const struct datagram *datagram)
{
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	const struct control_kind *kind = control_of_type(datagram->type);
	const struct control control = {
		.id = datagram->id,
		.arg = datagram->arg,
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = ROCEV2_UDP_PORT,
	};
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(flow->dst_ip) };
	uint8_t contents[CONTROL_MAX_BYTES];
	ssize_t sent;
	int fd;

	if (kind == NULL)
		return -ENOTSUP;
	fd = udp_socket(flow->src_ip, flow->sport, class_of(kind, flow));
	if (fd < 0)
		return fd;
	to.sin_port = htons(kind->udp_port);
	kind->write(contents, &control);
	sent = sendto(fd, contents, kind->bytes, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
	if (sent != (ssize_t)kind->bytes)
		return -EIO;
	host->count.control[kind->type].packets++;
	host->count.control[kind->type].bytes += control_wire_bytes(kind);
	return 0;
}

/* @return the flow of notifications from an address and port to this host; UINT32_MAX: none */
static uint32_t
notify_flow(const struct verbs_host *host, const struct sockaddr_in *from)
{
	for (uint32_t i = 0; i < host->config.flows->count; i++) {
		const struct flow *flow = &host->config.flows->flows[i];

		if (flow->kind == FLOW_CONTROL && flow->dst_node == host->config.node &&
		    flow->src_ip == ntohl(from->sin_addr.s_addr) && flow->sport == ntohs(from->sin_port))
			return i;
	}
	return UINT32_MAX;
}

/* A polling packet ends here. What it asks of the host's NIC, the switch at its other end tells. */
static void
poll_arrived(struct verbs_host *host, const struct sockaddr_in *from, const struct control *control)
{
	host->count.polls_received++;
}

static void
notification_arrived(struct verbs_host *host, const struct sockaddr_in *from, const struct control *control)
{
	const struct datagram datagram = {
		.flow = notify_flow(host, from), .id = control->id, .arg = control->arg, .type = PKT_NOTIFY
	};

	verbs_look(host);
	if (datagram.flow != UINT32_MAX)
		host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
}

/* What is done with a control packet that came in, by type. */
static void (*const arrived[PKT_TYPES])(struct verbs_host *host, const struct sockaddr_in *from,
					const struct control *control) = {
	[PKT_POLL] = poll_arrived,
	[PKT_NOTIFY] = notification_arrived,
};

static void
control_ready(void *ctx, uint32_t events)
{
	const struct verbs_control_socket *at = ctx;
	uint8_t data[CONTROL_MAX_BYTES + 1]; /* shows what is too long */
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct control control;
	ssize_t got;

	while ((got = recvfrom(at->fd, data, sizeof(data), 0, (struct sockaddr *)&from, &size)) >= 0) {
		size = sizeof(from);
		if (got == (ssize_t)at->kind->bytes && at->kind->read(data, &control))
			arrived[at->kind->type](at->host, &from, &control);
	}
}

static int
listen_on(struct verbs_host *host, struct verbs_control_socket *at, struct err *err)
{
	uint16_t port = at->kind->udp_port;
	int rc;

	at->host = host;
	at->fd = udp_socket(host->config.ip, port, 0);
	if (at->fd < 0)
		return err_set(err, at->fd, "cannot receive on UDP port %u: %s", port, strerror(-at->fd));
	at->watch = (struct loop_watch){ .fd = at->fd, .ready = control_ready, .ctx = at };
	rc = loop_watch(host->config.loop, &at->watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "cannot wait for UDP port %u: %s", port, strerror(-rc));
}

int
verbs_control_init(struct verbs_host *host, struct err *err)
{
	int rc = 0;

	for (uint8_t type = 0; type < PKT_TYPES && rc == 0; type++) {
		host->control_in[type].kind = arrived[type] != NULL ? control_of_type(type) : NULL;
		if (host->control_in[type].kind != NULL)
			rc = listen_on(host, &host->control_in[type], err);
	}
	return rc;
}

void
verbs_control_fini(struct verbs_host *host)
{
	for (uint8_t type = 0; type < PKT_TYPES; type++)
		if (host->control_in[type].kind != NULL && host->control_in[type].fd >= 0)
			close(host->control_in[type].fd);
}
