/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "common/array.h"
#include "common/units.h"
#include "emulation/recorder/exporter.h"

static const struct cfg_field exporter_fields[] = {
	{ "budget", CFG_BYTES, offsetof(struct exporter_config, budget), "1250MB", 0, 0, NULL,
	  "Bytes a second, in the run's own time, that telemetry may take on its way to the analyzer: the default is what "
	  "a port of 10 Gbps of the analyzer's takes. 0: unlimited." },
	{ "burst", CFG_BYTES, offsetof(struct exporter_config, burst_bytes), "0", 0, 1 << 30, NULL,
	  "Bytes that may leave at once after a pause. 0: what the budget gives in a millisecond, at least 4608." },
	{ "queue", CFG_BYTES, offsetof(struct exporter_config, queue_bytes), "1MB", 0, 1 << 30, NULL,
	  "Bytes that may wait for the budget; what exceeds it is dropped, the least relevant first, and counted." },
};

const struct cfg_table exporter_cfg_table = {
	.path = "exporter",
	.doc = "What telemetry may cost on its way from switches and hosts to the analyzer.",
	.size = sizeof(struct exporter_config),
	.fields = exporter_fields,
	.nfields = ARRAY_LEN(exporter_fields),
};

int
exporter_check(const struct exporter_config *config, struct err *err)
{
	if (config->burst_bytes == 0 || config->burst_bytes >= EXPORTER_BURST_MIN)
		return 0;
	return err_set(err, -EINVAL, "%s:%d: exporter.burst = %llu B holds no frame: at least %d, or 0 for a default",
		       config->where.file != NULL ? config->where.file : "exporter", config->where.line,
		       (unsigned long long)config->burst_bytes, EXPORTER_BURST_MIN);
}

uint64_t
exporter_burst_bytes(const struct exporter_config *config)
{
	uint64_t burst_bytes = (uint64_t)((unsigned __int128)config->budget * EXPORTER_PEAK_PS / PS_PER_S);

	if (config->burst_bytes != 0)
		return config->burst_bytes;
	return burst_bytes > EXPORTER_BURST_MIN ? burst_bytes : EXPORTER_BURST_MIN;
}
