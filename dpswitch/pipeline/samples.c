/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/control.h"
#include "common/wire/eth.h"
#include "dpswitch/pipeline/settings.h"

#define STREAM UINT64_C(0x5346) /* of the run's seed: apart from those of switches' other chance */

/* Headers in the first bytes of the packet: of a flow's answers, the flow's reversed. */
static struct swm_sample
sample_of(const struct pkt *p, const struct flow *flow)
{
	const struct control_kind *control = control_of_type(p->type);
	bool back = (p->flags & PKT_REVERSE) != 0;
	struct swm_sample sample = {
		.src_ip = back ? flow->dst_ip : flow->src_ip,
		.dst_ip = back ? flow->src_ip : flow->dst_ip,
		.sport = flow->sport,
		.dport = control != NULL ? control->udp_port : flow->dport,
		.protocol = flow->protocol != 0 ? flow->protocol : IPV4_PROTOCOL_UDP,
	};

	sample.is_rocev2 = control == NULL && (flow->kind != FLOW_UNPLANNED ||
					       (sample.protocol == IPV4_PROTOCOL_UDP && flow->dport == ROCEV2_UDP_PORT));
	sample.opcode = sample.is_rocev2 ? p->opcode : 0;
	return sample;
}

uint64_t
samples_draw(struct prng *prng, uint32_t rate)
{
	double unit = 1 - prng_unit(prng); /* in (0, 1] */

	return rate == 1 ? 1 : 1 + (uint64_t)(log(unit) / log1p(-1.0 / rate));
}

void
samples_take(const struct switch_samples *samples, struct samples_port *port, const struct flow_table *flows,
	     const struct pkt *pkts, uint32_t count)
{
	uint64_t at = port->skip;

	for (; at <= count; at += samples_draw(&port->prng, samples->rate)) {
		const struct pkt *p = &pkts[at - 1];

		port->ring[port->taken++ % SWM_MAX_SAMPLES] = sample_of(p, &flows->flows[p->flow]);
	}
	port->skip = at - count;
}

bool
switch_samples_list(const struct switch_samples *samples, uint16_t port, struct swm_samples *list, struct swm_sample *rows)
{
	const struct samples_port *of = port < samples->nports ? &samples->ports[port] : NULL;

	if (of == NULL || of->ring == NULL)
		return false;
	*list = (struct swm_samples){
		.count = of->taken < SWM_MAX_SAMPLES ? (uint32_t)of->taken : SWM_MAX_SAMPLES,
		.sampling_rate = samples->rate,
		.sample_pool = of->pool,
		.taken = of->taken,
	};
	for (uint32_t i = 0; i < list->count; i++)
		rows[i] = of->ring[(of->taken - list->count + i) % SWM_MAX_SAMPLES];
	return true;
}

/* @return whether some port's peer is a host, or there is no memory */
static bool
begin_ports(struct switch_samples *samples, const struct switch_config *config, const struct node *node, int *ret)
{
	bool any = false;

	for (uint16_t i = 0; i < node->nports; i++) {
		struct samples_port *port = &samples->ports[i];

		if (config->topo->nodes[topo_port_of(config->topo, node->id, i)->peer].kind != TOPO_HOST)
			continue;
		any = true;
		prng_init(&port->prng, config->seed ^ STREAM << 48, topo_port_stream(node->id, i));
		port->skip = samples_draw(&port->prng, samples->rate);
		port->ring = calloc(SWM_MAX_SAMPLES, sizeof(*port->ring));
		if (port->ring == NULL)
			*ret = -ENOMEM;
	}
	return any;
}

int
switch_samples_create(const struct switch_config *config, const struct node *node, struct switch_samples **samples)
{
	struct switch_samples *made;
	int ret = 0;

	*samples = NULL;
	if (config->setup->all.params.sampling == 0)
		return 0;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->rate = (uint32_t)config->setup->all.params.sampling;
	made->nports = node->nports;
	made->ports = calloc(node->nports, sizeof(*made->ports));
	if (made->ports == NULL)
		ret = -ENOMEM;
	if (ret == 0 && begin_ports(made, config, node, &ret) && ret == 0) {
		*samples = made;
		return 0;
	}
	switch_samples_destroy(made);
	return ret;
}

void
switch_samples_destroy(struct switch_samples *samples)
{
	for (uint16_t i = 0; samples != NULL && samples->ports != NULL && i < samples->nports; i++)
		free(samples->ports[i].ring);
	if (samples != NULL)
		free(samples->ports);
	free(samples);
}
