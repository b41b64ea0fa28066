/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>

#include "collectives/proof/proof.h"

/* Goes through the steps in one order that they allow. What promises nothing has no values, but must not race. */
static int
check_data(const struct graph *graph, const struct cells *cells, struct err *err)
{
	bool promises = graph->schedule->op != COLL_CUSTOM;
	struct races *races = races_create(graph, cells);
	struct values *values = promises ? values_create(graph, cells) : NULL;
	int rc = races == NULL || (promises && values == NULL) ? -ENOMEM : 0;

	for (uint32_t i = 0; i < coll_all_steps(graph->schedule) && rc == 0; i++) {
		rc = races_step(races, graph->order[i], err);
		if (rc == 0 && promises)
			rc = values_step(values, graph->order[i], err);
	}
	if (rc == 0 && promises)
		rc = values_complete(values, err);
	values_destroy(values);
	races_destroy(races);
	return rc;
}

int
coll_schedule_check(const struct coll_schedule *schedule, struct err *err)
{
	struct graph graph = { 0 };
	struct cells cells = { 0 };
	int rc = coll_schedule_check_form(schedule, err);

	if (rc == 0)
		rc = graph_init(&graph, schedule, err);
	if (rc == 0)
		rc = cells_init(&cells, schedule, graph.order, err);
	if (rc == 0)
		rc = check_data(&graph, &cells, err);
	if (rc == -ENOMEM)
		err_set(err, rc, "no memory to check a schedule of %" PRIu32 " ranks", schedule->ranks);
	cells_fini(&cells, schedule->ranks);
	graph_fini(&graph);
	return rc;
}
