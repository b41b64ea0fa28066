/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/egress.h"

#include <errno.h>

#include "common/pkt_chance.h"
#include "common/units.h"

static int
setup_weights(const struct switch_config *config, struct dwrr *dwrr, struct err *err)
{
	const struct switch_params *params = config->params;

	for (uint32_t c = 0; c < DWRR_CLASSES; c++)
		dwrr->quantum_bytes[c] = config->mtu_bytes;
	for (size_t i = 0; i < params->weights.count; i++) {
		const char *text = params->weights.items[i];
		uint64_t prio, weight;
		const char *colon = number_scan(text, &prio);

		if (colon == NULL || *colon != ':' || !number_parse(colon + 1, 1, 64, &weight) || prio < 1 || prio > 7)
			return err_set(err, -EINVAL,
				       "%s:%d: switch.weights: \"%s\": write \"class:weight\", class 1 to 7, weight 1 to "
				       "64, as in \"3:2\"",
				       params->where.file, params->where.line, text);
		dwrr->quantum_bytes[prio] = (uint32_t)weight * config->mtu_bytes;
	}
	return 0;
}

void
egress_limits(const struct switch_config *config, uint8_t lossless, uint64_t limit_bytes[SWITCH_CLASSES])
{
	const struct switch_params *params = config->params;

	for (uint32_t c = 0; c < SWITCH_CLASSES; c++) {
		limit_bytes[c] = c == 0 ? params->control_queue_bytes : params->lossy_queue_bytes;
		if (lossless >> c & 1)
			limit_bytes[c] = UINT64_MAX;
	}
}

/* One class at a port of this rate. @return 0, or -EINVAL with err set */
static int
setup_class(struct ecn_params *ecn, const struct switch_config *config, const struct switch_wred_params *wred,
	    uint64_t rate_bps, struct err *err)
{
	if (wred->kmin_bytes > wred->kmax_bytes)
		return err_set(err, -EINVAL,
			       "%s:%d: %s: kmin %llu B lies above kmax %llu B: give a kmin of kmax at most; equal, every "
			       "packet above them is marked",
			       wred->where.file, wred->where.line, wred->class != 0 ? "switch.wred" : "switch.ecn",
			       (unsigned long long)wred->kmin_bytes, (unsigned long long)wred->kmax_bytes);
	*ecn = (struct ecn_params){
		.kmin_bytes = switch_ecn_bytes(config->ecn, wred->kmin_bytes, rate_bps),
		.kmax_bytes = switch_ecn_bytes(config->ecn, wred->kmax_bytes, rate_bps),
		.pmax = wred->pmax,
	};
	ecn->ramp_bytes = (double)(ecn->kmax_bytes - ecn->kmin_bytes);
	return 0;
}

/* By switch.ecn, where it is on, and by the rows of switch.wred. Class 0 carries control, which is not ECN-capable. */
static int
setup_ecn(struct ecn_params ecn[SWITCH_CLASSES], const struct switch_config *config, const struct topo_port *cable,
	  struct err *err)
{
	const struct switch_wred_params common = {
		.where = config->ecn->where,
		.kmin_bytes = config->ecn->kmin_bytes,
		.kmax_bytes = config->ecn->kmax_bytes,
		.pmax = config->ecn->pmax,
	};
	int ret = 0;

	for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
		ecn[c] = (struct ecn_params){ .kmin_bytes = ECN_NEVER, .kmax_bytes = ECN_NEVER };
	for (uint32_t c = 1; ret == 0 && c < SWITCH_CLASSES && config->ecn->enabled; c++)
		ret = setup_class(&ecn[c], config, &common, cable->rate_bps, err);
	for (size_t i = 0; ret == 0 && i < config->nwreds; i++) {
		const struct switch_wred_params *wred = &config->wreds[i];

		for (size_t j = 0; j < i; j++)
			if (config->wreds[j].class == wred->class)
				return cfg_fail(&wred->where, "class", err, "%d is in an earlier row: one row a class",
						(int)wred->class);
		ret = setup_class(&ecn[wred->class], config, wred, cable->rate_bps, err);
	}
	return ret;
}

int
egress_init(struct egress *egress, const struct switch_config *config, uint32_t node, uint16_t port, struct err *err)
{
	const struct topo_port *cable = topo_port_of(config->topo, node, port);
	const struct sertable *table = sertables_get(config->sertables, cable->rate_bps);
	char name[64];

	if (table == NULL)
		return err_set(err, -ERANGE, "%s: %llu bit/s: the slowest link possible is 20 Mbps",
			       topo_port_name(config->topo, config->topo->nodes[node].first_port + port, name),
			       (unsigned long long)cable->rate_bps);
	egress->ser_ps = table->ps;
	if (setup_ecn(egress->ecn, config, cable, err) < 0)
		return -EINVAL;
	for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
		egress->q[c].inband = config->inband != NULL;
	if (config->inband != NULL)
		egress->int_rate = (uint32_t)int_rate_index(config->inband, cable->rate_bps);
	egress->ecn_stream = pkt_chance_stream(config->seed, PKT_CHANCE_ECN, (uint32_t)(cable - config->topo->ports));
	if (switch_strict_classes(config->params, &egress->strict, err) < 0)
		return -EINVAL;
	return setup_weights(config, &egress->dwrr, err);
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
