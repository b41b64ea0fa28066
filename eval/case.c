/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/case.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/hash.h"
#include "eval/family.h"
#include "eval/place.h"

static uint64_t
case_stream(const char *draws, uint32_t index, uint32_t attempt)
{
	uint64_t stream = DIGEST_INIT;

	for (const char *p = draws; *p != '\0'; p++)
		stream = digest_u64(stream, (uint64_t)*p);
	return digest_u64(stream, (uint64_t)index << 32 | attempt);
}

int
case_init(struct eval_case *c, const struct family *family, uint32_t index, uint32_t attempt,
	  const struct case_source *source)
{
	*c = (struct eval_case){
		.family = family,
		.index = index,
		.attempt = attempt,
		.source = source,
		.timeout = "0ps", /* as in the paper's simulator: senders never time out */
		.routing = source->network->routing,
		.anomalies = json_array(),
	};
	prng_init(&c->prng, source->seed, case_stream(family->draws, index, attempt));
	c->run_seed = prng_below(&c->prng, 1000000);
	c->routing.seed = c->run_seed;
	c->routing.pins = NULL;
	if (c->anomalies == NULL)
		return -ENOMEM;
	if (shape_sends(source->shape, &c->sends) < 0) {
		case_fini(c);
		return -ENOMEM;
	}
	place_apart(c);
	return 0;
}

void
case_fini(struct eval_case *c)
{
	json_decref(c->anomalies);
	c->anomalies = NULL;
}

double
case_stretch(const struct case_source *source)
{
	const struct topo *topo = source->network->topo;

	return source->scale * CASE_RATE_BPS / (double)topo_port_of(topo, topo->hosts[0], 0)->rate_bps;
}

static uint64_t
between(struct eval_case *c, double factor, double min, double max)
{
	uint64_t amount = (uint64_t)(factor * (min + prng_unit(&c->prng) * (max - min)));

	return amount > 0 ? amount : 1;
}

uint64_t
case_bytes(struct eval_case *c, double min_bytes, double max_bytes)
{
	return between(c, c->source->scale, min_bytes, max_bytes);
}

uint64_t
case_time_ns(struct eval_case *c, double min_ns, double max_ns)
{
	return between(c, case_stretch(c->source), min_ns, max_ns);
}

uint32_t
case_pick(struct eval_case *c, uint32_t min, uint32_t max)
{
	return min + (uint32_t)prng_below(&c->prng, max - min + 1);
}

struct case_flow *
case_add_flow(struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, uint64_t bytes, uint64_t start_ns)
{
	struct case_flow *flow = &c->flows[c->nflows];

	assert(c->nflows < CASE_MAX_FLOWS);
	*flow = (struct case_flow){ src, dst, sport != 0 ? sport : (uint16_t)(CASE_FIRST_SPORT + c->nflows), bytes,
				    start_ns };
	c->nflows++;
	return flow;
}

void
case_add_fault(struct eval_case *c, const char *fmt, ...)
{
	va_list args;

	assert(c->nfaults < CASE_MAX_FAULTS);
	va_start(args, fmt);
	vsnprintf(c->faults[c->nfaults++], sizeof(c->faults[0]), fmt, args);
	va_end(args);
}

void
case_add_pin(struct eval_case *c, uint32_t src, uint32_t dst, const uint32_t *ports, uint32_t count)
{
	const struct topo *topo = c->routing.topo;
	char *text = c->pins[c->npins];
	size_t cap = sizeof(c->pins[0]), used;

	assert(c->npins < CASE_MAX_PINS);
	c->npins++;
	used = (size_t)snprintf(text, cap, "{ src = \"%s\"; dst = \"%s\"; data = [", topo->nodes[src].name,
				topo->nodes[dst].name);
	for (uint32_t i = 0; i < count; i++) {
		char port[64];

		used += (size_t)snprintf(text + used, cap - used, "%s \"%s\"", i != 0 ? "," : "",
					 topo_port_name(topo, ports[i], port));
		assert(used < cap);
	}
	used += (size_t)snprintf(text + used, cap - used, " ]; }");
	assert(used < cap);
}

void
case_add_anomaly(struct eval_case *c, json_t *anomaly)
{
	json_array_append_new(c->anomalies, anomaly);
}

char *
case_flow_name(const struct eval_case *c, const struct case_flow *flow, char *buf)
{
	const struct topo_node *nodes = c->routing.topo->nodes;

	snprintf(buf, CASE_NAME, "%s->%s/%u>%u", nodes[flow->src].name, nodes[flow->dst].name, flow->sport,
		 ROCEV2_UDP_PORT);
	return buf;
}
