/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "common/outfile.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "emulation/volumes.h"

/* What the monitors go by: sorted by port and sender. */
static uint64_t
predicted(const struct volumes_setup *setup, const struct volumes_told *of)
{
	uint32_t low = 0, high = setup->ntold;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct volumes_told *told = &setup->told[middle];

		if (told->port < of->port || (told->port == of->port && told->sender < of->sender))
			low = middle + 1;
		else
			high = middle;
	}
	return setup->told[low].bytes;
}

int
output_prediction(const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;
	const struct volumes_owned *volumes = volumes_of(emulation);
	const struct foretold *foretold = volumes != NULL ? volumes->foretold : NULL;
	struct outfile out;
	int ret = foretold != NULL ? outfile_open(&out, dir, RUN_PREDICTION, err) : 0;

	if (ret < 0 || foretold == NULL)
		return ret;
	fputs("port,sender,run,predicted,seen\n", out.file);
	for (uint32_t i = 0; i < foretold->nrows; i++) {
		const struct volumes_told *told = &foretold->rows[i].told;
		char port[64];

		fprintf(out.file, "%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", topo_port_name(topo, told->port, port),
			topo->nodes[told->sender].name, foretold->rows[i].run, predicted(&volumes->setup, told),
			told->bytes);
	}
	return outfile_close(&out, 0, err);
}
