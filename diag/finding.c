/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/finding.h"

#include <stdlib.h>

bool
finding_folded(const struct finding *finding)
{
	return finding->confidence < FINDING_FOLDED;
}

static void
finding_part_fini(struct finding_part *part)
{
	free(part->flow_ps);
	free(part->costless);
}

void
finding_fini(struct finding *finding)
{
	free(finding->ports);
	free(finding->flows);
	free(finding->flow_ps);
	free(finding->victims);
	free(finding->steps);
	for (uint32_t i = 0; i < finding->nparts; i++)
		finding_part_fini(&finding->parts[i]);
	free(finding->parts);
	free(finding->claims);
}
