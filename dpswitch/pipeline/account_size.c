/* SPDX-License-Identifier: BSD-3-Clause */
/* How large a switch's buffer is, and what of it is headroom, reserve and pool. */
#include <errno.h>
#include <math.h>

#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/check.h"

#define ALPHA_SHIFT 10
/* Sized by default, the pool holds of every link the larger of the two, and one ingress alone may use as much of its own. */
#define POOL_WINDOWS 4
#define POOL_FRAMES 8 /* the largest ones: more than the windows of a slow link */

/* Rate x time in bytes. */
static uint64_t
bytes_in(uint64_t rate_bps, uint64_t time_ps)
{
	return (uint64_t)((unsigned __int128)rate_bps * time_ps / 8 / PS_PER_S);
}

/* The rate at which a cable's frames really follow each other: a quantum floors their times. */
static uint64_t
fastest_bps(const struct switch_config *config, const struct topo_port *cable, const uint32_t *ser_ps)
{
	uint64_t fastest = cable->rate_bps;

	for (uint32_t bytes = config->min_frame_bytes; config->sertables->quantum_ps != 0 && bytes <= config->mtu_bytes;
	     bytes++) {
		uint64_t bps = (uint64_t)((unsigned __int128)bytes * 8 * PS_PER_S / ser_ps[bytes]);

		fastest = bps > fastest ? bps : fastest;
	}
	return fastest;
}

/* Room behind the threshold of one ingress. @return 0 or -EINVAL: what is configured is short for the cable */
static int
setup_headroom(struct sw *sw, uint16_t index, uint64_t *headroom_bytes, struct err *err)
{
	const struct switch_config *config = sw->config;
	struct account *a = &sw->account;
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, index);
	uint64_t needed = topo_headroom_bytes(cable, fastest_bps(config, cable, sw->ports[index].egress.ser_ps),
					      config->pipeline_ps, config->mtu_bytes, a->nclasses * config->pause_bytes);
	uint64_t usual = bytes_in(cable->rate_bps, 3 * cable->delay_ps);

	/* Longer on both ways: the PAUSE's, and that of what is sent until it arrives. */
	needed += bytes_in(cable->rate_bps, 2 * config->extra_delay_ps);
	*headroom_bytes = usual > needed ? usual : needed;
	if (config->pfc->headroom_bytes != 0)
		*headroom_bytes = config->pfc->headroom_bytes;
	for (uint32_t i = index; i < a->nports * a->nclasses; i += a->nports)
		a->ingress[i].headroom_limit_bytes = *headroom_bytes;
	if (a->nclasses == 0)
		return 0;
	return topo_check_headroom(config->topo, (uint32_t)(cable - config->topo->ports), *headroom_bytes, needed,
				   &config->pfc->where, err);
}

int
account_size(struct sw *sw, struct err *err)
{
	const struct switch_config *config = sw->config;
	struct account *a = &sw->account;
	const struct switch_pfc_params *pfc = config->pfc;
	uint64_t headroom = 0, reserves = (uint64_t)sw->node.nports * a->nclasses * pfc->reserve_bytes;
	uint64_t pool = 0, alone = 0, buffer;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, i);
		uint64_t windows = POOL_WINDOWS * bytes_in(cable->rate_bps, config->window_ps);
		uint64_t frames = (uint64_t)POOL_FRAMES * config->mtu_bytes, limit;
		int ret = setup_headroom(sw, i, &limit, err);

		if (ret < 0)
			return ret;
		headroom += limit * a->nclasses;
		windows = windows > frames ? windows : frames;
		pool += windows;
		alone = windows > alone ? windows : alone;
	}
	buffer = config->params->buffer_bytes;
	if (pfc->model == PFC_DYNAMIC && pool < (uint64_t)((double)alone / pfc->alpha))
		pool = (uint64_t)((double)alone / pfc->alpha);
	if (buffer == 0)
		buffer = headroom + reserves + pool;
	if (buffer <= headroom + reserves && a->nclasses != 0)
		return err_set(err, -EINVAL,
			       "%s:%d: switch.buffer = %llu leaves no pool for %s: headroom takes %llu and reserves %llu; "
			       "needs more than %llu",
			       config->params->where.file, config->params->where.line, (unsigned long long)buffer,
			       config->topo->nodes[sw->node.id].name, (unsigned long long)headroom,
			       (unsigned long long)reserves, (unsigned long long)(headroom + reserves));
	a->buffer_bytes = buffer;
	a->pfc = (struct pfc_params){
		.model = (enum pfc_model)pfc->model,
		.alpha_num = (uint32_t)lround(pfc->alpha * (1 << ALPHA_SHIFT)),
		.alpha_shift = ALPHA_SHIFT,
		.pool_bytes = buffer > headroom + reserves ? buffer - headroom - reserves : 0,
		.reserve_bytes = pfc->reserve_bytes,
		.xoff_bytes = pfc->xoff_bytes,
		.xon_offset_bytes = pfc->xon_offset_bytes,
	};
	if (a->nclasses != 0 && pfc_threshold(&a->pfc, 0) <= config->mtu_bytes)
		return err_set(err, -EINVAL,
			       "%s:%d: switch %s: the XOFF threshold of %llu B does not exceed one frame of %u B: give "
			       "switch.pfc.alpha, xoff or switch.buffer so that it does",
			       pfc->where.file, pfc->where.line, config->topo->nodes[sw->node.id].name,
			       (unsigned long long)pfc_threshold(&a->pfc, 0), config->mtu_bytes);
	return 0;
}
