/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port on librte_vhost: the switch serves a vhost-user socket, a guest with a virtio NIC (UML, QEMU, DPDK's
 * virtio_user) connects. The guest's receive ring is queue 0, its transmit ring queue 1.
 *
 * The library calls back from a thread of its own. What the two threads share is the device number and a flag that the
 * packet thread sets while it uses it: a device that leaves is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_vhost.h>

#include "common/clock.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "dpswitch/edge/port/port.h"

#define VHOST_QUEUES 2
#define GUEST_RX 0
#define GUEST_TX 1
#define NO_DEVICE (-1)
#define WAKE_AFTER_NS (100 * 1000) /* a ring's wake-up was slept through if it lags for so long */
#define WAKE_AGAIN_NS (1000 * 1000)
#define BUSY_POLL_NS (10 * 1000)
/*
 * Features that are offered to an unpatched guest: MRG_RXBUF (15), INDIRECT_DESC (28), EVENT_IDX (29),
 * PROTOCOL_FEATURES (30), VERSION_1 (32). UML's driver would accept the library's other features, control queue and
 * offloads, which are not served.
 */
#define GUEST_FEATURES 0x170008000ULL

/* A wake-up that the guest may have missed. */
struct wake {
	uint16_t event; /* used_event when the lag was first seen */
	bool lags;
	uint64_t due_ns;
};

struct port_vhost {
	struct port port;          /* first */
	struct port_vhost *next;   /* registry */
	_Atomic int vid;           /* written by the library's thread, read by the packet thread */
	_Atomic bool busy;         /* written by the packet thread, read by the library's */
	_Atomic uint64_t connects; /* written by the library's thread */
	struct wake wake[VHOST_QUEUES];
	bool served; /* the socket is there */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* The library names devices by socket: which port is meant. */
static struct {
	pthread_mutex_t lock;
	struct port_vhost *first;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct port_vhost *
find(int vid)
{
	char path[sizeof(((struct port_vhost *)0)->path)];
	struct port_vhost *vhost = NULL;

	if (rte_vhost_get_ifname(vid, path, sizeof(path)) < 0)
		return NULL;
	pthread_mutex_lock(&registry.lock);
	for (vhost = registry.first; vhost != NULL; vhost = vhost->next)
		if (strcmp(vhost->path, path) == 0)
			break;
	pthread_mutex_unlock(&registry.lock);
	return vhost;
}

static int
new_device(int vid)
{
	struct port_vhost *vhost = find(vid);

	if (vhost == NULL)
		return -1;
	rte_vhost_enable_guest_notification(vid, GUEST_RX, 0);
	rte_vhost_enable_guest_notification(vid, GUEST_TX, 0);
	atomic_fetch_add_explicit(&vhost->connects, 1, memory_order_relaxed);
	/* Release: the packet thread sees the library's device complete. */
	atomic_store_explicit(&vhost->vid, vid, memory_order_release);
	return 0;
}

/* seq_cst on both sides of vid and busy: either the packet thread sees no device, or it is seen to be busy. */
static void
destroy_device(int vid)
{
	struct port_vhost *vhost = find(vid);

	if (vhost == NULL)
		return;
	atomic_store_explicit(&vhost->vid, NO_DEVICE, memory_order_seq_cst);
	while (atomic_load_explicit(&vhost->busy, memory_order_seq_cst))
		clock_sleep_until_ns(clock_now_ns() + BUSY_POLL_NS);
}

/*
 * The call descriptor of a guest is the guest's: with user-mode Linux a pipe or a socket that is not emptied while the
 * guest is stopped. The library, and wake_guest(), write to it in the packet thread. Every new one passes here, under
 * the queues' locks, before the first write to it.
 */
static int
vring_state_changed(int vid, uint16_t queue, int enabled)
{
	struct rte_vhost_vring ring;
	int flags;

	if (!enabled || rte_vhost_get_vhost_vring(vid, queue, &ring) < 0 || ring.callfd < 0)
		return 0;
	flags = fcntl(ring.callfd, F_GETFL);
	return flags >= 0 && fcntl(ring.callfd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : -errno;
}

static const struct rte_vhost_device_ops device_ops = {
	.vring_state_changed = vring_state_changed,
	.new_device = new_device,
	.destroy_device = destroy_device,
};

/* @return the device, in use until leave(); NO_DEVICE, and nothing to leave */
static int
enter(struct port_vhost *vhost)
{
	int vid;

	atomic_store_explicit(&vhost->busy, true, memory_order_seq_cst);
	vid = atomic_load_explicit(&vhost->vid, memory_order_seq_cst);
	if (vid == NO_DEVICE)
		atomic_store_explicit(&vhost->busy, false, memory_order_release);
	return vid;
}

static void
leave(struct port_vhost *vhost)
{
	atomic_store_explicit(&vhost->busy, false, memory_order_release);
}

static uint16_t
receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_vhost *vhost = (struct port_vhost *)port;
	int vid = enter(vhost);
	uint16_t n;

	if (vid == NO_DEVICE)
		return 0;
	n = rte_vhost_dequeue_burst(vid, GUEST_TX, port->pool, mbufs, count);
	leave(vhost);
	if (n == 0)
		port_starved(port);
	port->count.rx_packets += n;
	for (uint16_t i = 0; i < n; i++)
		port->count.rx_bytes += rte_pktmbuf_pkt_len(mbufs[i]);
	return n;
}

static uint16_t
transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_vhost *vhost = (struct port_vhost *)port;
	int vid = enter(vhost);
	uint16_t n;

	if (vid == NO_DEVICE)
		return 0;
	n = rte_vhost_enqueue_burst(vid, GUEST_RX, mbufs, count); /* copies */
	leave(vhost);
	for (uint16_t i = 0; i < n; i++)
		port->count.tx_bytes += rte_pktmbuf_pkt_len(mbufs[i]);
	rte_pktmbuf_free_bulk(mbufs, n);
	port->count.tx_packets += n;
	port->count.tx_refused += n < count;
	return n;
}

static bool
pending(struct port *port)
{
	struct port_vhost *vhost = (struct port_vhost *)port;
	int vid = enter(vhost);
	bool any;

	if (vid == NO_DEVICE)
		return false;
	any = (rte_vhost_rx_queue_count(vid, GUEST_TX) & 0xffff) != 0; /* a difference of 16-bit indices */
	leave(vhost);
	return any;
}

static bool
up(struct port *port)
{
	return atomic_load_explicit(&((struct port_vhost *)port)->vid, memory_order_acquire) != NO_DEVICE;
}

/*
 * UML can sleep through a wake-up: then used_event, the index up to which the guest wants a notification, stays behind
 * the used index, and with a full ring no frame ever moves again. Seen for WAKE_AFTER_NS at the same place, the guest
 * is notified again. A guest whose descriptor is full of notifications is not looking: the library's own calls are lost
 * there too, unseen.
 */
static void
wake_guest(struct port_vhost *vhost, int vid, uint16_t queue, uint64_t now_ns)
{
	struct wake *wake = &vhost->wake[queue];
	struct rte_vhost_vring ring;
	uint16_t event, used;
	uint64_t one = 1;

	if (rte_vhost_get_vhost_vring(vid, queue, &ring) < 0 || ring.avail == NULL || ring.used == NULL || ring.callfd < 0)
		return;
	event = *(volatile uint16_t *)&ring.avail->ring[ring.size];
	used = *(volatile uint16_t *)&ring.used->idx;
	if (event == used || (uint16_t)(used - event) > ring.size) {
		wake->lags = false;
	} else if (!wake->lags || wake->event != event) {
		*wake = (struct wake){ .event = event, .lags = true, .due_ns = now_ns + WAKE_AFTER_NS };
	} else if (now_ns >= wake->due_ns) {
		wake->due_ns = now_ns + WAKE_AGAIN_NS;
		if (write(ring.callfd, &one, sizeof(one)) == sizeof(one))
			vhost->port.count.wakeups++;
		else
			vhost->port.count.wakeups_refused++;
	}
}

static void
tend(struct port *port)
{
	struct port_vhost *vhost = (struct port_vhost *)port;
	uint64_t now_ns = clock_now_ns();
	int vid = enter(vhost);

	port->count.connects = atomic_load_explicit(&vhost->connects, memory_order_relaxed);
	if (vid == NO_DEVICE)
		return;
	for (uint16_t queue = 0; queue < VHOST_QUEUES; queue++)
		wake_guest(vhost, vid, queue, now_ns);
	leave(vhost);
}

static void
close_socket(struct port *port)
{
	struct port_vhost *vhost = (struct port_vhost *)port;
	struct port_vhost **at = &registry.first;

	if (vhost->served)
		rte_vhost_driver_unregister(vhost->path); /* calls destroy_device(), removes the socket */
	pthread_mutex_lock(&registry.lock);
	while (*at != NULL && *at != vhost)
		at = &(*at)->next;
	if (*at != NULL)
		*at = vhost->next;
	pthread_mutex_unlock(&registry.lock);
	free(vhost);
}

static const struct port_ops ops = {
	.receive = receive,
	.transmit = transmit,
	.pending = pending,
	.up = up,
	.tend = tend,
	.close = close_socket,
};

static int
serve(struct port_vhost *vhost, struct err *err)
{
	int ret = unix_remove_stale(vhost->path, err);

	if (ret < 0)
		return ret;
	if (rte_vhost_driver_register(vhost->path, RTE_VHOST_USER_NET_COMPLIANT_OL_FLAGS) < 0)
		return err_set(err, -EIO, "%s: %s", vhost->path, strerror(EIO));
	if (rte_vhost_driver_disable_features(vhost->path, ~GUEST_FEATURES) < 0 ||
	    rte_vhost_driver_callback_register(vhost->path, &device_ops) < 0 || rte_vhost_driver_start(vhost->path) < 0) {
		rte_vhost_driver_unregister(vhost->path);
		return err_set(err, -EIO, "%s: %s", vhost->path, strerror(EIO));
	}
	vhost->served = true;
	return 0;
}

struct port *
port_vhost_create(const struct port_config *config, const char *path, struct err *err)
{
	struct port_vhost *vhost = calloc(1, sizeof(*vhost));
	struct err reason = { 0 };
	int ret = -ENOMEM;

	if (vhost == NULL)
		goto fail;
	/* User-mode Linux takes its calls by a pipe: to call one that has just died would end us. */
	signal(SIGPIPE, SIG_IGN);
	atomic_init(&vhost->vid, NO_DEVICE);
	ret = -ENAMETOOLONG;
	if (strlen(path) >= sizeof(vhost->path)) {
		err_set(err, ret, "port of %s: %s: a socket's path has at most %zu characters", config->name, path,
			sizeof(vhost->path) - 1);
		goto fail;
	}
	rte_log_set_level_pattern("lib.vhost.*", RTE_LOG_CRIT);
	ret = port_init(&vhost->port, &ops, config, err);
	if (ret < 0)
		goto fail;
	strcpy(vhost->path, path);
	pthread_mutex_lock(&registry.lock);
	vhost->next = registry.first;
	registry.first = vhost;
	pthread_mutex_unlock(&registry.lock);
	ret = serve(vhost, &reason);
	if (ret == 0)
		return &vhost->port;
	err_set(err, ret, "port of %s: cannot serve %s", config->name, reason.text);
fail:
	if (vhost != NULL && vhost->port.pool != NULL)
		port_close(&vhost->port);
	else
		free(vhost);
	errno = -ret;
	return NULL;
}
