/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/integration/port_rig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "common/array.h"
#include "dpswitch/edge/port/port.h"

static bool pending(struct port *port);

static uint16_t
receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_rig *rig = (struct port_rig *)port;
	uint16_t n = 0;

	while (n < count && pending(port)) {
		const struct port_rig_frame *frame = &rig->in[rig->next];

		mbufs[n] = rte_pktmbuf_alloc(port->pool);
		if (mbufs[n] == NULL) {
			port->count.rx_starved++;
			break;
		}
		memcpy(rte_pktmbuf_append(mbufs[n++], (uint16_t)frame->size), frame->data, frame->size);
		rig->received_ns[rig->next++] = rig->now_ns;
	}
	return n;
}

static uint16_t
transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_rig *rig = (struct port_rig *)port;
	uint16_t n = 0;

	if (rig->now_ns >= rig->deaf_from_ns && rig->now_ns < rig->deaf_until_ns)
		return 0;
	while (n < count && n < rig->takes) {
		struct port_rig_frame *frame = &rig->out[rig->nout++];

		assert(rig->nout < PORT_RIG_MAX);
		frame->size = rte_pktmbuf_data_len(mbufs[n]);
		frame->data = malloc(frame->size);
		memcpy(frame->data, rte_pktmbuf_mtod(mbufs[n], uint8_t *), frame->size);
		rte_pktmbuf_free(mbufs[n++]);
	}
	if (rig->first_taken_ns == 0 && n != 0)
		rig->first_taken_ns = rig->now_ns;
	return n;
}

static bool
pending(struct port *port)
{
	const struct port_rig *rig = (const struct port_rig *)port;

	return rig->next < rig->nin && rig->held_until_ns[rig->next] <= rig->now_ns;
}

static bool
up(struct port *port)
{
	return !((const struct port_rig *)port)->gone;
}

static void
tend(struct port *port)
{
	struct port_rig *rig = (struct port_rig *)port;

	rig->now_ns = *rig->clock_ps / 1000;
}

static void
close_rig(struct port *port)
{
	struct port_rig *rig = (struct port_rig *)port;

	for (uint32_t i = 0; i < rig->nin; i++)
		free(rig->in[i].data);
	for (uint32_t i = 0; i < rig->nout; i++)
		free(rig->out[i].data);
	free(rig);
}

static const struct port_ops ops = { receive, transmit, pending, up, tend, close_rig };

int
port_rig_eal(void)
{
	static bool started;
	char *argv[] = { (char[]){ "test" },
			 (char[]){ "--no-huge" },
			 (char[]){ "--no-pci" },
			 (char[]){ "--no-shconf" },
			 (char[]){ "-m" },
			 (char[]){ "256" },
			 (char[]){ "--no-telemetry" },
			 (char[]){ "--log-level" },
			 (char[]){ "lib.eal:error" },
			 (char[]){ "-l" },
			 (char[]){ "0" } };

	if (started)
		return 0;
	started = rte_eal_init(ARRAY_LEN(argv), argv) >= 0;
	return started ? 0 : -1;
}

struct port_rig *
port_rig_create(const char *name, uint32_t mbufs)
{
	struct port_rig *rig = calloc(1, sizeof(*rig));
	const struct port_config config = { .name = name, .mbufs = mbufs, .room_bytes = PORT_RIG_ROOM_BYTES };
	struct err err = { 0 };

	assert(rig != NULL && port_init(&rig->port, &ops, &config, &err) == 0);
	rig->takes = PORT_BURST;
	return rig;
}

void
port_rig_destroy(struct port_rig *rig)
{
	port_close(&rig->port);
}

void
port_rig_send(struct port_rig *rig, const uint8_t *bytes, uint32_t size_bytes)
{
	struct port_rig_frame *frame = &rig->in[rig->nin++];

	assert(rig->nin <= PORT_RIG_MAX);
	frame->size = size_bytes;
	frame->data = malloc(size_bytes);
	memcpy(frame->data, bytes, size_bytes);
}

void
port_rig_hold(struct port_rig *rig, uint64_t now_ns)
{
	rig->held_until_ns[rig->nin] = now_ns;
}

uint32_t
port_rig_in_use(const struct port_rig *rig)
{
	return rte_mempool_in_use_count(rig->port.pool);
}
