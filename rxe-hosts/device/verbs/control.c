/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notification and polling packets are ordinary UDP datagrams in their own class (paper III-C2, III-C3). A sending
 * socket is made for each: its source port is the flow's, by which receiver and switches know it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"
#include "common/wire/notify.h"
#include "common/wire/poll.h"
#include "rxe-hosts/device/verbs/host.h"

#define DATAGRAM_BYTES 64 /* larger than any that is expected */

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

/* @return bytes of link time; 0: it could not be sent */
static uint32_t
send_control(const struct flow *flow, uint8_t prio, uint8_t type, const struct control *control)
{
	const struct control_kind *kind = control_of_type(type);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(flow->dst_ip),
				  .sin_port = htons(kind->udp_port) };
	int fd = udp_socket(flow->src_ip, flow->sport, prio);
	uint8_t contents[CONTROL_MAX_BYTES];
	bool sent;

	if (fd < 0)
		return 0;
	kind->write(contents, control);
	sent = sendto(fd, contents, kind->bytes, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)kind->bytes;
	close(fd);
	return sent ? control_wire_bytes(kind) : 0;
}

void
verbs_send_notification(struct device *dev, uint32_t flow, uint32_t step, uint32_t detections)
{
	struct verbs_host *host = verbs_of(dev);
	const struct flow *f = &host->config.flows->flows[flow];
	uint32_t bytes = send_control(f, f->prio, PKT_NOTIFY, &(struct control){ .id = step, .arg = detections });

	host->count.notification_packets += bytes != 0;
	host->count.notification_bytes += bytes;
}

void
verbs_send_poll(struct device *dev, uint32_t victim_flow, uint32_t event, uint8_t flags)
{
	struct verbs_host *host = verbs_of(dev);
	const struct flow *f = &host->config.flows->flows[victim_flow];
	const struct control poll = {
		.id = event,
		.arg = flags,
		.src_ip = f->src_ip,
		.dst_ip = f->dst_ip,
		.sport = f->sport,
		.dport = ROCEV2_UDP_PORT,
	};
	uint32_t bytes = send_control(f, 0, PKT_POLL, &poll);

	host->count.polling_packets += bytes != 0;
	host->count.polling_bytes += bytes;
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

static void
notification_ready(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	uint8_t data[DATAGRAM_BYTES];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct wire_notify packet;
	ssize_t got;

	while ((got = recvfrom(host->notify_in.fd, data, sizeof(data), 0, (struct sockaddr *)&from, &size)) >= 0) {
		uint32_t flow = notify_flow(host, &from);

		size = sizeof(from);
		verbs_look(host);
		if (got != sizeof(packet) || flow == UINT32_MAX)
			continue;
		memcpy(&packet, data, sizeof(packet));
		if (be32toh(packet.magic) == NOTIFY_MAGIC && packet.version == NOTIFY_VERSION)
			host->client.notified(host->client.ctx, flow, be32toh(packet.step), be32toh(packet.detections),
					      verbs_now_ps(host));
	}
}

/* A polling packet ends here. What it asks of the host's NIC, the switch at its other end tells. */
static void
poll_ready(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	uint8_t data[DATAGRAM_BYTES];
	struct wire_poll packet;
	ssize_t got;

	while ((got = recv(host->poll_in.fd, data, sizeof(data), 0)) >= 0) {
		if (got != sizeof(packet))
			continue;
		memcpy(&packet, data, sizeof(packet));
		host->count.polls_received += be32toh(packet.magic) == POLL_MAGIC && packet.version == POLL_VERSION;
	}
}

static int
listen_on(struct verbs_host *host, struct verbs_control_socket *at, uint16_t port,
	  void (*ready)(void *ctx, uint32_t events), struct err *err)
{
	int rc;

	at->fd = udp_socket(host->config.ip, port, 0);
	if (at->fd < 0)
		return err_set(err, at->fd, "cannot receive on UDP port %u: %s", port, strerror(-at->fd));
	at->watch = (struct loop_watch){ .fd = at->fd, .ready = ready, .ctx = host };
	rc = loop_watch(host->config.loop, &at->watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "cannot wait for UDP port %u: %s", port, strerror(-rc));
}

int
verbs_control_init(struct verbs_host *host, struct err *err)
{
	int rc = listen_on(host, &host->notify_in, NOTIFY_UDP_PORT, notification_ready, err);

	return rc == 0 ? listen_on(host, &host->poll_in, POLL_UDP_PORT, poll_ready, err) : rc;
}

void
verbs_control_fini(struct verbs_host *host)
{
	if (host->notify_in.fd >= 0)
		close(host->notify_in.fd);
	if (host->poll_in.fd >= 0)
		close(host->poll_in.fd);
}
