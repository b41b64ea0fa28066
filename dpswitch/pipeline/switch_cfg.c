/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch's part of a scenario, and what it derives from topology and timing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/number.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "dpswitch/pipeline/switch_setup.h"
#include "topo/check.h"

#define S struct switch_params
static const struct cfg_field switch_fields[] = {
	{ "buffer", CFG_BYTES, offsetof(S, buffer_bytes), "0", 0, 1e12, NULL,
	  "Packet buffer of a switch, shared by its ports; 0 sizes it from ports, rates and delays" },
	{ "lossy_queue", CFG_BYTES, offsetof(S, lossy_queue_bytes), "1MiB", 1, 1e12, NULL,
	  "Limit of an egress queue of a class without PFC; what exceeds it is dropped and counted (queue_full)" },
	{ "control_queue", CFG_BYTES, offsetof(S, control_queue_bytes), "1MiB", 1, 1e12, NULL,
	  "Limit of the egress queue of class 0 (ACKs, polling, notifications)" },
	{ "weights", CFG_STRINGS, offsetof(S, weights), "", 0, 0, NULL,
	  "DWRR weights of data classes as \"class:weight\", 1..64; classes not named weigh 1" },
};
#undef S

static const struct cfg_choice models[] = {
	{ .name = "dynamic", .value = PFC_DYNAMIC },
	{ .name = "static", .value = PFC_STATIC },
	{ 0 },
};

#define S struct switch_pfc_params
static const struct cfg_field pfc_fields[] = {
	{ "enabled", CFG_BOOL, offsetof(S, enabled), "true", 0, 0, NULL,
	  "Priority-based flow control (IEEE 802.1Qbb) on the lossless classes" },
	{ "priorities", CFG_STRINGS, offsetof(S, priorities), "", 0, 0, NULL, "Lossless classes, 1..7; default: class 3" },
	{ "model", CFG_ENUM, offsetof(S, model), "dynamic", 0, 0, models,
	  "XOFF threshold: dynamic = alpha x free pool (shared-buffer ASICs); static = xoff" },
	{ "alpha", CFG_FLOAT, offsetof(S, alpha), "0.125", 0.001, 64, NULL,
	  "dynamic: share of the free pool that one ingress may use; rounded to 1/1024" },
	{ "reserve", CFG_BYTES, offsetof(S, reserve_bytes), "4096", 0, 1e9, NULL,
	  "Guaranteed buffer of an ingress (port, class)" },
	{ "headroom", CFG_BYTES, offsetof(S, headroom_bytes), "0", 0, 1e9, NULL,
	  "Room for what is on the wire when a PAUSE leaves, per ingress (port, class); 0: 3 x rate x delay, and never "
	  "less than the cable needs" },
	{ "xoff", CFG_BYTES, offsetof(S, xoff_bytes), "64KiB", 0, 1e9, NULL,
	  "static: bytes above the reserve at which an ingress pauses its peer" },
	{ "xon_offset", CFG_BYTES, offsetof(S, xon_offset_bytes), "3072", 0, 1e9, NULL,
	  "RESUME this far below the threshold" },
};
#undef S

#define S struct switch_ecn_params
static const struct cfg_field ecn_fields[] = {
	{ "enabled", CFG_BOOL, offsetof(S, enabled), "true", 0, 0, NULL,
	  "ECN marking at dequeue (RFC 3168) with DCQCN's thresholds" },
	{ "rate", CFG_RATE, offsetof(S, reference_rate_bps), "100Gbps", 1e6, 1e13, NULL,
	  "Link rate that kmin and kmax are meant for; they scale with a port's rate" },
	{ "kmin", CFG_BYTES, offsetof(S, kmin_bytes), "400KB", 0, 1e12, NULL, "No marking up to this queue" },
	{ "kmax", CFG_BYTES, offsetof(S, kmax_bytes), "1600KB", 0, 1e12, NULL, "Every packet marked above this queue" },
	{ "pmax", CFG_FLOAT, offsetof(S, pmax), "0.2", 0, 1, NULL, "Marking probability just below kmax" },
};
#undef S

const struct cfg_table switch_cfg = {
	.path = "switch",
	.doc = "Buffers and scheduling of every switch.",
	.size = sizeof(struct switch_params),
	.fields = switch_fields,
	.nfields = ARRAY_LEN(switch_fields),
};

const struct cfg_table switch_pfc_cfg = {
	.path = "switch.pfc",
	.doc = "Priority-based flow control and the buffer model behind it.",
	.size = sizeof(struct switch_pfc_params),
	.fields = pfc_fields,
	.nfields = ARRAY_LEN(pfc_fields),
};

const struct cfg_table switch_ecn_cfg = {
	.path = "switch.ecn",
	.doc = "Explicit congestion notification.",
	.size = sizeof(struct switch_ecn_params),
	.fields = ecn_fields,
	.nfields = ARRAY_LEN(ecn_fields),
};

#define ALPHA_SHIFT 10
/* Sized by default, the pool holds of every link the larger of the two, and one ingress alone may use as much of its own. */
#define POOL_WINDOWS 4
#define POOL_FRAMES 8 /* the largest ones: more than the windows of a slow link */
#define DEFAULT_LOSSLESS_PRIO 3

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
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, index);
	uint64_t needed = topo_headroom_bytes(cable, fastest_bps(config, cable, sw->ports[index].ser_ps),
					      config->pipeline_ps, config->mtu_bytes, sw->nclasses * config->pause_bytes);
	uint64_t usual = bytes_in(cable->rate_bps, 3 * cable->delay_ps);

	/* Longer on both ways: the PAUSE's, and that of what is sent until it arrives. */
	needed += bytes_in(cable->rate_bps, 2 * config->extra_delay_ps);
	*headroom_bytes = usual > needed ? usual : needed;
	if (config->pfc->headroom_bytes != 0)
		*headroom_bytes = config->pfc->headroom_bytes;
	for (uint32_t c = 0; c < sw->nclasses; c++)
		sw->ingress[index * sw->nclasses + c].headroom_limit_bytes = *headroom_bytes;
	if (sw->nclasses == 0)
		return 0;
	return topo_check_headroom(config->topo, (uint32_t)(cable - config->topo->ports), *headroom_bytes, needed,
				   &config->pfc->where, err);
}

int
switch_lossless_classes(const struct switch_pfc_params *pfc, uint8_t *classes, struct err *err)
{
	*classes = 0;
	for (size_t i = 0; i < pfc->priorities.count; i++) {
		uint64_t prio;

		if (!number_parse(pfc->priorities.items[i], 1, 7, &prio))
			return err_set(err, -EINVAL,
				       "%s:%d: switch.pfc.priorities: \"%s\" is no lossless class: 1 to 7 are (class 0 "
				       "carries ACKs and is never paused)",
				       pfc->where.file, pfc->where.line, pfc->priorities.items[i]);
		*classes |= (uint8_t)(1u << prio);
	}
	if (pfc->priorities.count == 0)
		*classes = 1u << DEFAULT_LOSSLESS_PRIO;
	if (!pfc->enabled)
		*classes = 0;
	return 0;
}

int
switch_setup_classes(struct sw *sw, struct err *err)
{
	int ret = switch_lossless_classes(sw->config->pfc, &sw->lossless, err);

	if (ret < 0)
		return ret;
	memset(sw->class_index, 0, sizeof(sw->class_index));
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (switch_is_lossless(sw, prio))
			sw->class_index[prio] = (uint8_t)sw->nclasses++;
	return 0;
}

static int
setup_weights(const struct sw *sw, struct dwrr *dwrr, struct err *err)
{
	const struct switch_params *params = sw->config->params;

	for (uint32_t c = 0; c < DWRR_CLASSES; c++)
		dwrr->quantum_bytes[c] = sw->config->mtu_bytes;
	for (size_t i = 0; i < params->weights.count; i++) {
		const char *text = params->weights.items[i];
		uint64_t prio, weight;
		const char *colon = number_scan(text, &prio);

		if (colon == NULL || *colon != ':' || !number_parse(colon + 1, 1, 64, &weight) || prio < 1 || prio > 7)
			return err_set(err, -EINVAL,
				       "%s:%d: switch.weights: \"%s\": write \"class:weight\", class 1 to 7, weight 1 to "
				       "64, as in \"3:2\"",
				       params->where.file, params->where.line, text);
		dwrr->quantum_bytes[prio] = (uint32_t)weight * sw->config->mtu_bytes;
	}
	return 0;
}

static int
setup_port(struct sw *sw, uint16_t index, struct err *err)
{
	const struct switch_config *config = sw->config;
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, index);
	struct switch_port *port = &sw->ports[index];
	const struct sertable *table = sertables_get(config->sertables, cable->rate_bps);
	double scale = (double)cable->rate_bps / (double)config->ecn->reference_rate_bps;
	char name[64];

	if (table == NULL)
		return err_set(err, -ERANGE, "%s: %llu bit/s: the slowest link possible is 20 Mbps",
			       topo_port_name(config->topo, config->topo->nodes[sw->node.id].first_port + index, name),
			       (unsigned long long)cable->rate_bps);
	port->ser_ps = table->ps;
	port->ecn = (struct ecn_params){
		.enabled = config->ecn->enabled,
		.kmin_bytes = (uint64_t)llround((double)config->ecn->kmin_bytes * scale),
		.kmax_bytes = (uint64_t)llround((double)config->ecn->kmax_bytes * scale),
		.pmax = config->ecn->pmax,
	};
	if (config->ecn->enabled && config->ecn->kmin_bytes >= config->ecn->kmax_bytes)
		return err_set(err, -EINVAL, "%s:%d: switch.ecn: kmin %llu B must lie below kmax %llu B",
			       config->ecn->where.file, config->ecn->where.line,
			       (unsigned long long)config->ecn->kmin_bytes, (unsigned long long)config->ecn->kmax_bytes);
	prng_init(&port->prng, config->seed, 0x65636eULL << 32 | (cable - config->topo->ports));
	port_truth_init(&port->truth, &port->flows);
	if (port_flows_init(&port->flows, config->flows) < 0 ||
	    telem_init(&port->telem, &sw->telemetry, &port->flows, index) < 0)
		return err_set(err, -ENOMEM, "out of memory for telemetry");
	return setup_weights(sw, &port->dwrr, err);
}

/* Headroom of every ingress; the pool is what buffer is left. */
static int
setup_buffer(struct sw *sw, struct err *err)
{
	const struct switch_config *config = sw->config;
	const struct switch_pfc_params *pfc = config->pfc;
	uint64_t headroom = 0, reserves = (uint64_t)sw->node.nports * sw->nclasses * pfc->reserve_bytes;
	uint64_t pool = 0, alone = 0, buffer;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, i);
		uint64_t windows = POOL_WINDOWS * bytes_in(cable->rate_bps, config->window_ps);
		uint64_t frames = (uint64_t)POOL_FRAMES * config->mtu_bytes, limit;
		int ret = setup_headroom(sw, i, &limit, err);

		if (ret < 0)
			return ret;
		headroom += limit * sw->nclasses;
		windows = windows > frames ? windows : frames;
		pool += windows;
		alone = windows > alone ? windows : alone;
	}
	buffer = config->params->buffer_bytes;
	if (pfc->model == PFC_DYNAMIC && pool < (uint64_t)((double)alone / pfc->alpha))
		pool = (uint64_t)((double)alone / pfc->alpha);
	if (buffer == 0)
		buffer = headroom + reserves + pool;
	if (buffer <= headroom + reserves && sw->nclasses != 0)
		return err_set(err, -EINVAL,
			       "%s:%d: switch.buffer = %llu leaves no pool for %s: headroom takes %llu and reserves %llu; "
			       "needs more than %llu",
			       config->params->where.file, config->params->where.line, (unsigned long long)buffer,
			       config->topo->nodes[sw->node.id].name, (unsigned long long)headroom,
			       (unsigned long long)reserves, (unsigned long long)(headroom + reserves));
	sw->buffer_bytes = buffer;
	sw->pfc = (struct pfc_params){
		.model = (enum pfc_model)pfc->model,
		.alpha_num = (uint32_t)lround(pfc->alpha * (1 << ALPHA_SHIFT)),
		.alpha_shift = ALPHA_SHIFT,
		.pool_bytes = buffer > headroom + reserves ? buffer - headroom - reserves : 0,
		.reserve_bytes = pfc->reserve_bytes,
		.xoff_bytes = pfc->xoff_bytes,
		.xon_offset_bytes = pfc->xon_offset_bytes,
	};
	if (sw->nclasses != 0 && pfc_threshold(&sw->pfc, 0) <= config->mtu_bytes)
		return err_set(err, -EINVAL,
			       "%s:%d: switch %s: the XOFF threshold of %llu B does not exceed one frame of %u B: give "
			       "switch.pfc.alpha, xoff or switch.buffer so that it does",
			       pfc->where.file, pfc->where.line, config->topo->nodes[sw->node.id].name,
			       (unsigned long long)pfc_threshold(&sw->pfc, 0), config->mtu_bytes);
	return 0;
}

int
switch_setup(struct sw *sw, struct err *err)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		int ret = setup_port(sw, i, err);

		if (ret < 0)
			return ret;
	}
	return setup_buffer(sw, err);
}
