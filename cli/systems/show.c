/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/show.h"

#include <errno.h>

#include "cli/page/element.h"
#include "cli/systems/json.h"
#include "cli/systems/print.h"
#include "common/exit_code.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"

static size_t
count_findings(const json_t *comparison)
{
	const json_t *system;
	size_t count = 0, i;

	json_array_foreach(json_object_get(comparison, "systems"), i, system) count +=
		json_array_size(json_object_get(system, "findings"));
	return count;
}

/* People read it also where no file could hold it. @return 0 or negative errno with err */
static int
show(const struct systems_plan *plan, json_t *comparison, bool json, struct err *err)
{
	int ret = output_json(json_incref(comparison), plan->dir, RUN_COMPARISON, err), rc = 0;

	if (ret == 0)
		ret = page_element(plan->dir, "comparison", comparison, err);
	if (json)
		rc = json_dumpf(comparison, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER) == 0 && putchar('\n') != EOF &&
				     fflush(stdout) == 0
			     ? 0
			     : -EIO;
	else
		rc = systems_print(comparison, plan->dir, stdout);
	if (rc != 0)
		err_set(err, rc, "cannot print the comparison");
	return ret != 0 ? ret : rc;
}

int
systems_show(struct systems_plan *plan, bool json, size_t *findings, struct err *err)
{
	struct systems_verdict verdicts[SYSTEMS_MAX];
	int worst = systems_verdicts(plan, verdicts), ret;
	json_t *comparison = systems_json(plan, verdicts);

	systems_verdicts_fini(plan, verdicts);
	if (comparison == NULL)
		return err_set(err, -ENOMEM, "out of memory for " RUN_COMPARISON);
	*findings = count_findings(comparison);
	ret = show(plan, comparison, json, err);
	json_decref(comparison);
	return ret < 0 ? ret : worst;
}
