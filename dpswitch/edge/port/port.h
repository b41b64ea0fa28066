/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port of the machine: frames as mbufs in, frames as mbufs out. One file a kind: port_vhost.c (the switch is the
 * vhost-user server: UML and QEMU guests), port_ethdev.c (anything DPDK has a driver for). Made after lcore_init(),
 * closed before lcore_fini(). A port outlives fabrics: several may run over it, one after the other. All calls are
 * made by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct rte_mbuf;
struct rte_mempool;

#define PORT_BURST 32
#define PORT_FRAME_ROOM 10240 /* default of struct port_config: one frame, jumbo or not, is one segment */
#define PORT_MBUFS 2047       /* default of struct port_config */
#define PORT_MAX_NAME 48

struct port_counters {
	uint64_t rx_packets, rx_bytes;
	uint64_t tx_packets, tx_bytes;
	uint64_t tx_refused;      /* offers of which the peer took nothing or not all */
	uint64_t rx_starved;      /* looks at the peer put off because all mbufs were in use */
	uint64_t wakeups;         /* vhost: wake-ups repeated because the guest slept through the first */
	uint64_t wakeups_refused; /* vhost: such that could not be delivered: the guest has not looked for long */
	uint64_t connects;        /* vhost: number of times that a guest connected */
};

struct port;

struct port_ops {
	uint16_t (*receive)(struct port *port, struct rte_mbuf **mbufs, uint16_t count);
	uint16_t (*transmit)(struct port *port, struct rte_mbuf **mbufs, uint16_t count);
	bool (*pending)(struct port *port);
	bool (*up)(struct port *port);
	void (*tend)(struct port *port);
	void (*close)(struct port *port);
};

/* Embedded first in each kind's own struct. */
struct port {
	const struct port_ops *ops;
	char name[PORT_MAX_NAME]; /* for people */
	struct rte_mempool *pool; /* its frames', and those built for it */
	struct port_counters count;
};

struct port_config {
	const char *name;    /* of the host behind it, unique, at most PORT_MAX_NAME - 1 characters */
	uint32_t mbufs;      /* frames from this port in flight at most; 0: PORT_MBUFS */
	uint32_t room_bytes; /* of a frame at most, in one segment; 0: PORT_FRAME_ROOM */
	uint16_t mtu;        /* ethdev: requested from the device, which may have its own; 0: no request */
};

/*
 * Serves a vhost-user socket. The peer may connect and disconnect; until it connects the port is not up, takes nothing
 * and gives nothing. With all mbufs in use nothing is dequeued: frames wait in the peer's ring, none is lost.
 * @param path  made by this call, removed by port_close(); shorter than 108 characters
 * @return NULL with err set: -EINVAL, -EIO, -ENOMEM
 */
struct port *port_vhost_create(const struct port_config *config, const char *path, struct err *err);

/*
 * Opens a device by its name, if DPDK has it already (--eal "--vdev ..."), else by DPDK device arguments, for example
 * "net_af_packet0,iface=veth0", "net_tap0,iface=tap0", "net_memif0,role=server,socket=/run/memif",
 * "net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap", "net_null0,size=64", "0000:03:00.0". Promiscuous. A tap carries an MTU
 * of 1500 at most. With all mbufs in use nothing is received: what does not fit the device's own ring meanwhile is lost
 * before it enters the fabric (rte_eth_stats.imissed).
 * @return NULL with err set: -ENODEV (no driver, or it refuses the arguments), -EIO, -ENOMEM
 */
struct port *port_ethdev_create(const struct port_config *config, const char *devargs, struct err *err);

/* Any of these. @param where  "vhost:PATH", or DPDK device arguments. @return as they */
struct port *port_open(const struct port_config *config, const char *where, struct err *err);

/* Takes frames that the peer sent, oldest first. @return how many; the mbufs are the caller's */
static inline uint16_t
port_receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	return port->ops->receive(port, mbufs, count);
}

/* Offers frames to the peer in order. @return how many it took (those are gone); the others remain the caller's */
static inline uint16_t
port_transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	return port->ops->transmit(port, mbufs, count);
}

/* @return whether frames wait to be received. Cheap; may be called while no other function of the port is. */
static inline bool
port_pending(struct port *port)
{
	return port->ops->pending(port);
}

/* @return whether the port has a peer */
static inline bool
port_up(struct port *port)
{
	return port->ops->up(port);
}

/* Looks after the peer: once a window. External hosts do it for their ports while the fabric runs. */
static inline void
port_tend(struct port *port)
{
	if (port->ops->tend != NULL)
		port->ops->tend(port);
}

/* Frames still in use elsewhere must have been given back. NULL is allowed. */
void port_close(struct port *port);

/* Functions that all kinds of ports share. */

/* Makes the pool. @return 0 or negative with err set */
int port_init(struct port *port, const struct port_ops *ops, const struct port_config *config, struct err *err);

/* Nothing was received: was it for want of mbufs? Asking for one costs less than counting those that are free. */
void port_starved(struct port *port);

/*
 * A port whose peer is a stopwatch: it sends one frame at a time, stamped with the machine's clock. Where such a frame
 * leaves, at this or another port, it notes how long it took.
 */

#define PROBE_SAMPLES 65536

/* Shared by the ports that belong together. */
struct probe {
	const uint8_t *frame; /* to send; the stamp goes to stamp_at, 8 bytes */
	uint32_t frame_bytes, stamp_at;
	uint64_t interval_ns; /* between two frames */
	uint32_t taken;       /* samples so far */
	uint32_t taken_ns[PROBE_SAMPLES];
};

/*
 * @param sends  this port sends, else it only takes
 * @return NULL with err set: -ENOMEM
 */
struct port *port_probe_create(const struct port_config *config, struct probe *probe, bool sends, struct err *err);
