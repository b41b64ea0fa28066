/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/egress.h"

#include <errno.h>

#include "common/pkt_chance.h"
#include "common/units.h"
#include "dpswitch/pipeline/settings.h"

static int
setup_weights(const struct switch_config *config, const struct switch_params *params, struct dwrr *dwrr, struct err *err)
{
	uint8_t weight_of[SWITCH_CLASSES];
	int ret = switch_weights(params, weight_of, err);

	for (uint32_t c = 0; ret == 0 && c < DWRR_CLASSES; c++)
		dwrr->quantum_bytes[c] = weight_of[c] * config->mtu_bytes;
	return ret;
}

/* Bytes of a frame besides its IP packet: Ethernet header, FCS, preamble, gap. A kernel host's tag counts as packet. */
#define FRAME_OVERHEAD_BYTES (14 + 4 + 20)

void
egress_rules_init(struct egress_rules *rules, const struct switch_settings *settings, uint8_t lossless, uint8_t obeys)
{
	const struct switch_params *params = &settings->params;

	for (uint32_t c = 0; c < SWITCH_CLASSES; c++) {
		rules->limit_bytes[c] = c == 0 ? params->control_queue_bytes : params->lossy_queue_bytes;
		if (lossless >> c & 1)
			rules->limit_bytes[c] = UINT64_MAX;
	}
	rules->max_wire_bytes =
		settings->mtu_bytes != 0 ? (uint32_t)settings->mtu_bytes + FRAME_OVERHEAD_BYTES : UINT32_MAX;
	rules->obeys = obeys;
}

/* One class at a port of this rate. @return 0, or -EINVAL with err set */
static int
setup_class(struct ecn_params *ecn, const struct switch_ecn_params *scale, const struct switch_wred_params *wred,
	    uint64_t rate_bps, struct err *err)
{
	if (wred->kmin_bytes > wred->kmax_bytes)
		return cfg_fail(
			&wred->where, NULL, err,
			"kmin %llu B lies above kmax %llu B: give a kmin of kmax at most; equal, every packet above them "
			"is marked",
			(unsigned long long)wred->kmin_bytes, (unsigned long long)wred->kmax_bytes);
	*ecn = (struct ecn_params){
		.kmin_bytes = switch_ecn_bytes(scale, wred->kmin_bytes, rate_bps),
		.kmax_bytes = switch_ecn_bytes(scale, wred->kmax_bytes, rate_bps),
		.pmax = wred->pmax,
	};
	ecn->ramp_bytes = (double)(ecn->kmax_bytes - ecn->kmin_bytes);
	return 0;
}

/*
 * Sets up marking by switch.ecn, if that is on, and by the rows of switch.wred. Class 0 carries control, which is not
 * ECN-capable.
 */
static int
setup_ecn(struct ecn_params ecn[SWITCH_CLASSES], const struct switch_settings *settings, const struct topo_port *cable,
	  struct err *err)
{
	const struct switch_wred_params common = {
		.where = settings->ecn.where,
		.kmin_bytes = settings->ecn.kmin_bytes,
		.kmax_bytes = settings->ecn.kmax_bytes,
		.pmax = settings->ecn.pmax,
	};
	int ret = 0;

	for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
		ecn[c] = (struct ecn_params){ .kmin_bytes = ECN_NEVER, .kmax_bytes = ECN_NEVER };
	for (uint32_t c = 1; ret == 0 && c < SWITCH_CLASSES && settings->ecn.enabled; c++)
		ret = setup_class(&ecn[c], &settings->ecn, &common, cable->rate_bps, err);
	for (size_t i = 0; ret == 0 && i < settings->nwreds; i++)
		ret = setup_class(&ecn[settings->wreds[i].class], &settings->ecn, &settings->wreds[i], cable->rate_bps,
				  err);
	return ret;
}

int
egress_init(struct egress *egress, const struct switch_config *config, uint32_t node, uint16_t port, struct err *err)
{
	const struct topo_port *cable = topo_port_of(config->topo, node, port);
	const struct sertable *table = sertables_get(config->sertables, cable->rate_bps);
	const struct switch_settings *settings =
		switch_settings_at(config->setup, config->topo, (uint32_t)(cable - config->topo->ports));
	char name[64];

	if (table == NULL)
		return err_set(err, -ERANGE, "%s: %llu bit/s: the slowest link possible is 20 Mbps",
			       topo_port_name(config->topo, config->topo->nodes[node].first_port + port, name),
			       (unsigned long long)cable->rate_bps);
	egress->ser_ps = table->ps;
	if (setup_ecn(egress->ecn, settings, cable, err) < 0)
		return -EINVAL;
	for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
		egress->q[c].inband = config->inband != NULL;
	if (config->inband != NULL)
		egress->int_rate = (uint32_t)int_rate_index(config->inband, cable->rate_bps);
	egress->ecn_stream = pkt_chance_stream(config->seed, PKT_CHANCE_ECN, (uint32_t)(cable - config->topo->ports));
	if (switch_strict_classes(&config->setup->all.params, &egress->strict, err) < 0)
		return -EINVAL;
	return setup_weights(config, &settings->params, &egress->dwrr, err);
}

void
egress_fini(struct egress *egress, struct bodies *bodies)
{
	for (uint32_t c = 0; c < SWITCH_CLASSES; c++) {
		for (uint32_t i = 0; i < fifo_count(&egress->q[c]); i++)
			body_release(bodies, fifo_at(&egress->q[c], i));
		fifo_fini(&egress->q[c]);
	}
}

void
egress_held(const struct egress *egress, uint64_t *packets, uint64_t *bytes)
{
	for (uint32_t c = 0; c < SWITCH_CLASSES; c++) {
		*packets += fifo_count(&egress->q[c]);
		*bytes += egress->q[c].bytes;
	}
}

uint8_t
egress_select_data(struct egress *egress, uint32_t ready)
{
	uint32_t heads[SWITCH_CLASSES];

	if ((ready & egress->strict) != 0)
		return (uint8_t)(31 - __builtin_clz(ready & egress->strict));
	for (uint8_t c = 1; c < SWITCH_CLASSES; c++)
		heads[c] = ready >> c & 1 ? fifo_peek(&egress->q[c])->wire_bytes : 0;
	return dwrr_next(&egress->dwrr, ready, heads);
}

uint32_t
egress_depth_strict(const struct egress *egress, uint8_t prio)
{
	uint32_t depth = 0;

	for (uint32_t ahead = egress->backlog & egress_ahead(egress, prio) & SWITCH_DATA_CLASSES; ahead != 0;
	     ahead &= ahead - 1)
		depth += fifo_count(&egress->q[__builtin_ctz(ahead)]);
	return depth;
}
