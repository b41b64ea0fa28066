/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/verdict_internal.h"

int
verdict_build(const struct evidence *evidence, const struct verdict_options *options, struct verdict **out, struct err *err)
{
	static const struct verdict_options defaults;
	struct verdict *v = verdict_alloc(1, sizeof(*v), err);
	int rc;

	if (v == NULL)
		return -ENOMEM;
	rc = verdict_fill_fabric(v, evidence, err);
	if (rc == 0)
		rc = verdict_fill_steps(v, evidence, err);
	if (rc == 0)
		rc = verdict_fill_events(v, evidence, err);
	if (rc == 0)
		rc = verdict_explain(v, evidence, options != NULL ? options : &defaults, err);
	if (rc == 0)
		rc = verdict_account(v, evidence, err);
	if (rc != 0) {
		verdict_destroy(v);
		return rc;
	}
	verdict_conclude(v, evidence);
	*out = v;
	return 0;
}

static void
free_graph(struct verdict_provenance *graph)
{
	free(graph->vertices);
	free(graph->edges);
	free(graph->waits);
	free(graph->scores);
}

static void
free_finding(struct verdict_finding *finding)
{
	free(finding->ports);
	free(finding->flows);
	free(finding->victims);
	free(finding->steps);
}

void
verdict_destroy(struct verdict *v)
{
	if (v == NULL)
		return;
	for (uint32_t i = 0; v->waiting != NULL && i < v->ncollectives; i++) {
		free(v->waiting[i].vertices);
		free(v->waiting[i].edges);
		free(v->waiting[i].path);
	}
	for (uint32_t i = 0; i < v->ngraphs; i++)
		free_graph(&v->graphs[i]);
	for (uint32_t i = 0; i < v->nfindings; i++)
		free_finding(&v->findings[i]);
	for (uint32_t i = 0; i < v->ncontributors; i++)
		free(v->contributors[i].shares);
	free(v->nodes);
	free(v->ports);
	free(v->flows);
	free(v->hops);
	free(v->collectives);
	free(v->steps);
	free(v->waiting);
	free(v->graphs);
	free(v->detections);
	free(v->polls);
	free(v->notifications);
	free(v->gaps);
	free(v->drops);
	free(v->findings);
	free(v->contributors);
	free(v->overhead.kinds);
	free(v);
}

const char *
verdict_type_name(enum verdict_type type)
{
	static const char *const names[VERDICT_TYPES] = {
		[VERDICT_FLOW_CONTENTION] = "flow_contention",
		[VERDICT_INCAST] = "incast",
		[VERDICT_PFC_BACKPRESSURE] = "pfc_backpressure",
		[VERDICT_PFC_STORM] = "pfc_storm",
		[VERDICT_PFC_DEADLOCK] = "pfc_deadlock",
		[VERDICT_FORWARDING_LOOP] = "forwarding_loop",
		[VERDICT_LOAD_IMBALANCE] = "load_imbalance",
		[VERDICT_PACKET_LOSS] = "packet_loss",
		[VERDICT_LINK_DOWN] = "link_down",
		[VERDICT_BLACKHOLE] = "blackhole",
		[VERDICT_SLOW_HOST] = "slow_host",
	};

	return (unsigned)type < VERDICT_TYPES ? names[type] : "unknown";
}

void *
verdict_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of the verdict", count, size_bytes);
	return p;
}
