/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/port/port_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "common/clock.h"
#include "dpswitch/edge/port/port_kind.h"

struct port_probe {
	struct port port; /* first */
	struct probe *probe;
	bool sends;
	uint64_t due_ns;
};

static bool
pending(struct port *port)
{
	const struct port_probe *p = (const struct port_probe *)port;

	return p->sends && p->probe->taken < PROBE_SAMPLES && clock_now_ns() >= p->due_ns;
}

static uint16_t
receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_probe *p = (struct port_probe *)port;
	uint64_t now_ns = clock_now_ns();
	uint8_t *bytes;

	if (count == 0 || !pending(port))
		return 0;
	mbufs[0] = rte_pktmbuf_alloc(port->pool);
	if (mbufs[0] == NULL)
		return 0;
	bytes = (uint8_t *)rte_pktmbuf_append(mbufs[0], (uint16_t)p->probe->frame_bytes);
	memcpy(bytes, p->probe->frame, p->probe->frame_bytes);
	memcpy(bytes + p->probe->stamp_at, &now_ns, sizeof(now_ns));
	p->due_ns = now_ns + p->probe->interval_ns;
	port->count.rx_packets++;
	port->count.rx_bytes += p->probe->frame_bytes;
	return 1;
}

static uint16_t
transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct probe *probe = ((struct port_probe *)port)->probe;
	uint64_t now_ns = clock_now_ns(), sent_ns;

	for (uint16_t i = 0; i < count && probe->taken < PROBE_SAMPLES; i++) {
		if (rte_pktmbuf_data_len(mbufs[i]) != probe->frame_bytes)
			continue;
		memcpy(&sent_ns, rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, probe->stamp_at), sizeof(sent_ns));
		probe->taken_ns[probe->taken++] = (uint32_t)(now_ns - sent_ns);
	}
	rte_pktmbuf_free_bulk(mbufs, count);
	port->count.tx_packets += count;
	return count;
}

static bool
up(struct port *port)
{
	(void)port;
	return true;
}

static void
close_probe(struct port *port)
{
	free(port);
}

static const struct port_ops ops = {
	.receive = receive,
	.transmit = transmit,
	.pending = pending,
	.up = up,
	.close = close_probe,
};

struct port *
port_probe_create(const struct port_config *config, struct probe *probe, bool sends, struct err *err)
{
	struct port_probe *p = calloc(1, sizeof(*p));
	int ret = p != NULL ? port_init(&p->port, &ops, config, err) : err_set(err, -ENOMEM, "out of memory for a port");

	if (ret == 0) {
		p->probe = probe;
		p->sends = sends;
		return &p->port;
	}
	free(p);
	errno = -ret;
	return NULL;
}
