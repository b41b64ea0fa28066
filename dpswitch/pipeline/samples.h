/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets sampled as sFlow has it (RFC 3176, 3.2; sFlow version 5, 3.1): of the arrivals at a port whose peer is a
 * host, each packet with the same probability, by a number of packets to pass over that is drawn behind each that was
 * taken. Of most windows' arrivals it is a subtraction; the headers of one packet in rate are copied. The latest of
 * each port are kept for queries.
 */
#pragma once

#include "common/prng.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/switch_cfg.h"

struct samples_port {
	uint64_t skip;  /* arrivals until the next that is taken, that included */
	uint64_t pool;  /* arrivals so far */
	uint64_t taken; /* of these; number n is ring[n % SWM_MAX_SAMPLES] */
	struct prng prng;
	struct swm_sample *ring; /* NULL: its peer is no host */
};

struct switch_samples {
	uint32_t rate;
	uint16_t nports;
	struct samples_port *ports; /* [nports] */
};

/*
 * Makes the sampler of a switch, if the configuration asks for one and the switch has a port to a host.
 * @param samples  set to it, NULL: there is none
 * @return 0 or -ENOMEM
 */
int switch_samples_create(const struct switch_config *config, const struct node *node, struct switch_samples **samples);
void switch_samples_destroy(struct switch_samples *samples); /* also of NULL */

/* Takes those whose turn it is. */
void samples_take(const struct switch_samples *samples, struct samples_port *port, const struct flow_table *flows,
		  const struct pkt *pkts, uint32_t count);

/* Arrivals of one port, in a window: of the switch's thread. */
static inline void
switch_samples_count(struct switch_samples *samples, uint16_t in_port, const struct flow_table *flows,
		     const struct pkt *pkts, uint32_t count)
{
	struct samples_port *port = &samples->ports[in_port];

	if (port->ring == NULL)
		return;
	port->pool += count;
	if (__builtin_expect(port->skip > count, 1))
		port->skip -= count;
	else
		samples_take(samples, port, flows, pkts, count);
}

/*
 * Lists the kept samples of a port, the oldest first; between windows.
 * @param list  filled in
 * @param rows  [SWM_MAX_SAMPLES]
 * @return false: the switch has no such port, or the port does not lead to a host
 */
bool switch_samples_list(const struct switch_samples *samples, uint16_t port, struct swm_samples *list,
			 struct swm_sample *rows);

/* How many packets are passed over until the next, that included: geometric, so that each has probability 1 / rate. */
uint64_t samples_draw(struct prng *prng, uint32_t rate);
