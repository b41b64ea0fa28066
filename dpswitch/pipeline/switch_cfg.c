/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches' part of a scenario. */
#include "dpswitch/pipeline/switch_cfg.h"

#include <errno.h>
#include <stddef.h>

#include "common/array.h"
#include "common/number.h"
#include "dpswitch/queue/ingress.h"

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
	{ "strict", CFG_STRINGS, offsetof(S, strict), "", 0, 0, NULL,
	  "Data classes, 1..7, that switches and embedded hosts' NICs serve before all others, a higher one before a lower "
	  "(IEEE 802.1Q 8.6.8.1); class 0 stays first" },
	{ "sampling", CFG_INT, offsetof(S, sampling), "0", 0, 1e6, NULL,
	  "Of packets that come in from hosts, one in so many is sampled, as by sFlow (RFC 3176); 0: none" },
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
	{ "kmax", CFG_BYTES, offsetof(S, kmax_bytes), "1600KB", 0, 1e12, NULL,
	  "Every packet marked above this queue; equal to kmin: a step, as DCTCP marks" },
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

#define DEFAULT_LOSSLESS_PRIO 3

int
switch_strict_classes(const struct switch_params *params, uint8_t *classes, struct err *err)
{
	*classes = 0;
	for (size_t i = 0; i < params->strict.count; i++) {
		uint64_t prio;

		if (!number_parse(params->strict.items[i], 1, 7, &prio))
			return err_set(
				err, -EINVAL,
				"%s:%d: switch.strict: \"%s\" is no data class: 1 to 7 are (class 0 is served first in any "
				"case)",
				params->where.file, params->where.line, params->strict.items[i]);
		*classes |= (uint8_t)(1u << prio);
	}
	return 0;
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
