/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/run/fill.h"
#include "diag/vedrfolnir/vedrfolnir.h"

int
verdict_build(const struct evidence *evidence, const struct vedrfolnir_options *options, struct verdict **out,
	      struct err *err)
{
	static const struct vedrfolnir_options defaults;
	struct verdict *v = run_alloc(1, sizeof(*v), err);
	int rc;

	if (v == NULL)
		return -ENOMEM;
	rc = run_build(&v->run, evidence, err);
	if (rc == 0)
		rc = vedrfolnir_diagnose(v, evidence, options != NULL ? options : &defaults, err);
	if (rc != 0) {
		verdict_destroy(v);
		return rc;
	}
	vedrfolnir_conclude(v, evidence);
	*out = v;
	return 0;
}

void
verdict_destroy(struct verdict *v)
{
	if (v == NULL)
		return;
	for (uint32_t i = 0; i < v->nfindings; i++)
		finding_fini(&v->findings[i]);
	free(v->findings);
	vedrfolnir_fini(&v->vedrfolnir);
	run_fini(&v->run);
	free(v);
}
