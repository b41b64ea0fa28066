/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/counting/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record_run.h"
#include "scenario/scenario.h"
#include "store/store.h"

/* The buffer: for what a disk or a busy machine may lag behind, and for some samples of every port in any case. */
#define LEAST_CELLS (64 * 1024u)
#define PORT_CELLS 64

/* All counters as they are now, for `rocelab show --live`. */
static void
write_snapshot(const struct series *series, struct snapshot *snapshot, uint64_t now_ps)
{
	struct run_store *store = run_store_of_snapshot(snapshot);
	struct series now = *series;

	snapshot_begin(snapshot);
	if (store == NULL) {
		snapshot->error = ENOMEM;
		return;
	}
	now.store = store;
	totals_write(&now, now_ps);
	rows_write(series->emulation, store, false);
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT("end_ns"), STORE_INT(now_ps / PS_PER_NS) });
	snapshot_end(snapshot);
	run_store_destroy(store);
}

static void
collect(void *state, uint64_t now_ps)
{
	struct series *series = state;
	struct snapshot *snapshot = live_counters_asked(series->live);

	series_collect(series, now_ps);
	if (snapshot == NULL)
		return;
	write_snapshot(series, snapshot, now_ps);
	live_counters_answer(series->live);
}

static void
destroy(void *state)
{
	struct series *series = state;

	live_counters_destroy(series->live);
	run_store_destroy(series->store);
	series_fini(series);
	free(series);
}

static const struct run_service service_counting = {
	.name = "counting",
	.collect = collect,
	.destroy = destroy,
};

int
counting_begin(struct emulation *emulation, const char *dir, struct err *err)
{
	size_t cells = max_u64(LEAST_CELLS, (uint64_t)PORT_CELLS * emulation->scenario->topo->nports);
	struct series *series;
	int ret;

	if (!emulation->scenario->counters.enabled)
		return 0;
	series = calloc(1, sizeof(*series));
	if (series == NULL)
		return err_set(err, -ENOMEM, "out of memory for counters");
	ret = series_init(series, emulation, NULL, err);
	if (ret == 0) {
		series->store = run_store_create(dir, cells, err);
		ret = series->store != NULL ? 0 : -errno;
	}
	if (ret == 0) {
		series->live = live_counters_create(dir);
		emulation_attach(emulation, &service_counting, series);
	} else {
		destroy(series);
	}
	return ret;
}

static void
put_text(struct run_store *store, const char *key, const char *value)
{
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT(key), STORE_TEXT(value) });
}

static void
put_number(struct run_store *store, const char *key, uint64_t value)
{
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT(key), STORE_INT(value) });
}

static void
write_run(const struct series *series)
{
	static const char *const endings[] = { REC_ENDINGS(ENUM_NAME) };
	const struct emulation *emulation = series->emulation;
	const struct fabric *fabric = emulation->fabric;
	struct run_store *store = series->store;
	char digest[24];

	snprintf(digest, sizeof(digest), "%016" PRIx64, fabric_digest(fabric));
	put_number(store, "schema_version", STORE_VERSION);
	put_text(store, "name", emulation->scenario->name);
	put_number(store, "seed", (uint64_t)emulation->scenario->root.seed);
	put_text(store, "clock", emulation->scenario->timing.clock == CLOCK_REAL ? "real" : "virtual");
	put_number(store, "end_ns", fabric->window.end_ps / PS_PER_NS);
	put_text(store, "end_reason", endings[fabric->end_reason]);
	put_text(store, "digest", digest);
	put_number(store, "period_ns", series->period_ps / PS_PER_NS);
	put_number(store, "coarsest_ns", max_u64(series->coarsest_ps, series->period_ps) / PS_PER_NS);
	put_number(store, "samples", series->samples);
	put_number(store, "rows", series->rows);
	put_number(store, "skipped_samples", series->skipped);
}

int
counting_end(struct emulation *emulation, struct err *err)
{
	struct series *series = emulation_service(emulation, &service_counting);
	uint64_t end_ps = emulation->fabric->window.end_ps;

	if (series == NULL)
		return 0;
	live_counters_destroy(series->live);
	series->live = NULL;
	run_store_settle(series->store);
	series_finish(series, end_ps);
	totals_write(series, end_ps);
	rows_write(emulation, series->store, true);
	write_run(series);
	return run_store_close(series->store, err);
}
