/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/model.h"

#include <stdlib.h>

int
twin_model_infer(struct twin_model *model, struct err *err)
{
	int ret = twin_jobs_infer(model, err);

	if (ret == 0)
		ret = twin_flows_infer(model, err);
	if (ret == 0)
		twin_faults_infer(model);
	return ret;
}

void
twin_model_fini(struct twin_model *model)
{
	for (uint32_t j = 0; j < model->njobs; j++)
		free(model->jobs[j].ports);
	free(model->jobs);
	free(model->works);
	free(model->computes);
	free(model->flows);
}
