/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/hosts.h"

#include <errno.h>

#include "common/wire/detection.h"
#include "dpswitch/edge/frame/frame.h"
#include "emulation/emulation.h"
#include "emulation/probing.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

static int
fabric_begin(void *ctx, struct emulation *emulation, struct bodies **bodies, struct err *err)
{
	(void)ctx;
	(void)bodies; /* descriptors are complete without bodies */
	emulation->shared = embedded_shared_create(emulation->scenario->topo, &emulation->scenario->plan->flows, err);
	return emulation->shared != NULL ? 0 : -errno;
}

static void
fabric_end(void *ctx)
{
	struct emulation *emulation = ctx;

	embedded_shared_destroy(emulation->shared);
	emulation->shared = NULL;
}

static struct node *
node_create(void *ctx, uint32_t id, struct err *err)
{
	struct emulation *emulation = ctx;
	const struct scenario *sc = emulation->scenario;
	const struct embedded_config config = {
		.node = id,
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.shared = emulation->shared,
		.sertables = &emulation->sertables,
		.params = &sc->roce,
		.telemetry = emulation->switch_config.telemetry_off ? NULL : &emulation->switch_config.telemetry,
		.bdp_bytes = sc->bdp_bytes,
		.bond_seed = sc->routing.seed,
		.strict = sc->strict & (uint8_t) ~(1u << sc->roce.cc.cnp_prio), /* NICs send CNPs before any data */
		.ledger = sc->detection.policy != REC_POLICY_OFF,
	};

	return embedded_host_create(&config, err);
}

static struct step_engine *
program_create(void *ctx, uint32_t id, struct err *err)
{
	struct emulation *emulation = ctx;
	const struct scenario *sc = emulation->scenario;
	struct step_engine_config config = {
		.plan = sc->plan,
		.node = id,
		.device = embedded_device(emulation->hosts[id]),
		.detection = &sc->detection,
		.start_delay_ps = faults_start_delay_ps,
		.start_ctx = &sc->faults,
	};

	if (probing_start_agent(emulation, id, &config.probes, err) != 0) {
		errno = ENOMEM;
		return NULL;
	}
	return step_engine_create(&config, err);
}

static void
start(void *ctx, uint32_t node)
{
	step_engine_start(((struct emulation *)ctx)->engines[node]);
}

static void
close_program(void *ctx, uint32_t node, uint64_t end_ps)
{
	step_engine_close(((struct emulation *)ctx)->engines[node], end_ps);
}

static bool
working(void *ctx, uint32_t node)
{
	const struct step_engine *engine = ((const struct emulation *)ctx)->engines[node];

	return step_engine_state(engine) == STEP_ENGINE_WORKING || step_engine_background_open(engine);
}

static bool
sending(void *ctx, uint32_t node, uint64_t *next_ps)
{
	const struct step_engine *engine = ((const struct emulation *)ctx)->engines[node];

	*next_ps = step_engine_next_ps(engine);
	return step_engine_sending(engine);
}

bool
embedded_hosts_describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct emulation *emulation = ctx;

	embedded_describe(emulation->shared, &emulation->scenario->roce, p, message);
	return true;
}

void
embedded_hosts_sum(const struct emulation *emulation, struct embedded_counters *sum)
{
	const struct topo *topo = emulation->scenario->topo;

	*sum = (struct embedded_counters){ 0 };
	for (uint32_t h = 0; h < topo->nhosts; h++) {
		struct embedded_counters one;

		if (emulation->scenario->hosts[topo->hosts[h]] != NULL || partition_is_remote(emulation, topo->hosts[h]))
			continue;
		embedded_sum(emulation->hosts[topo->hosts[h]], &one);
		sum->retransmits += one.retransmits;
		sum->timeouts += one.timeouts;
		sum->naks_received += one.naks_received;
		sum->duplicates += one.duplicates;
		sum->out_of_sequence += one.out_of_sequence;
		sum->early += one.early;
		sum->acks_withheld += one.acks_withheld;
		sum->cnps_sent += one.cnps_sent;
		sum->cnps_handled += one.cnps_handled;
	}
}

/* Made of descriptor, flow and message; a message from another partition arrived with its descriptor. */
static size_t
frame(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct emulation *emulation = ctx;
	const struct bodies *bodies = emulation->fabric->config.bodies;
	struct pkt_message message;
	struct pkt plain = *p;
	struct body body;
	struct frame f;

	if (!(p->flags & PKT_BYTES)) {
		embedded_hosts_describe(ctx, p, &message);
	} else if (bodies->ops->read(bodies, p->arg, &body)) {
		message = (struct pkt_message){ .va = body.va, .dma_bytes = body.dma_bytes, .payload = body.payload };
		plain.arg = body.imm;
		plain.flags &= (uint8_t)~PKT_BYTES;
	} else {
		return 0;
	}
	frame_from_pkt(&f, &plain, &emulation->scenario->plan->flows.flows[p->flow], &message, false);
	f.ipv6 = emulation->scenario->roce.ip_bytes != 0;
	return frame_build(&f, bytes, cap_bytes);
}

const struct host_driver_ops embedded_hosts = {
	.fabric_begin = fabric_begin,
	.fabric_end = fabric_end,
	.node_create = node_create,
	.program_create = program_create,
	.start = start,
	.close = close_program,
	.working = working,
	.sending = sending,
	.frame = frame,
};
