/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "common/outfile.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "emulation/volumes.h"

/* What the monitors go by: sorted by port and sender. */
static uint64_t
predicted(const struct volumes_setup *setup, const struct volumes_predicted *of)
{
	uint32_t low = 0, high = setup->npredicted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct volumes_predicted *row = &setup->predicted[middle];

		if (row->port < of->port || (row->port == of->port && row->sender < of->sender))
			low = middle + 1;
		else
			high = middle;
	}
	return setup->predicted[low].bytes;
}

int
output_prediction(const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;
	const struct volumes_owned *volumes = volumes_of(emulation);
	const struct prediction *prediction = volumes != NULL ? volumes->prediction : NULL;
	struct outfile out;
	int ret = prediction != NULL ? outfile_open(&out, dir, RUN_PREDICTION, err) : 0;

	if (ret < 0 || prediction == NULL)
		return ret;
	fputs("port,sender,run,predicted,seen\n", out.file);
	for (uint32_t i = 0; i < prediction->nrows; i++) {
		const struct volumes_predicted *row = &prediction->rows[i].predicted;
		char port[64];

		fprintf(out.file, "%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", topo_port_name(topo, row->port, port),
			topo->nodes[row->sender].name, prediction->rows[i].run, predicted(&volumes->setup, row),
			row->bytes);
	}
	return outfile_close(&out, 0, err);
}
