/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/run.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire/ending.h"
#include "diag/run/fill.h"

int
run_build(struct run *run, const struct evidence *evidence, struct err *err)
{
	int rc = run_fill_fabric(run, evidence, err);

	if (rc == 0)
		rc = run_fill_steps(run, evidence, err);
	if (rc == 0)
		rc = run_fill_events(run, evidence, err);
	if (rc == 0)
		rc = run_account(run, evidence, err);
	return rc;
}

void
run_fini(struct run *run)
{
	free(run->nodes);
	free(run->ports);
	free(run->flows);
	free(run->hops);
	free(run->collectives);
	free(run->steps);
	free(run->detections);
	free(run->polls);
	free(run->notifications);
	free(run->overhead.kinds);
}

bool
run_complete(const struct run *run)
{
	return !run->truncated && run->overhead.left_out == 0 && run->overhead.astray == 0 && run->overhead.dropped == 0 &&
	       run->missing.steps == 0 && run->missing.unscheduled == 0;
}

bool
run_finished(const struct run *run)
{
	return !run->truncated && run->end_reason == REC_END_COMPLETE;
}

void *
run_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of the verdict", count, size_bytes);
	return p;
}
