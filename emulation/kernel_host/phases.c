/* SPDX-License-Identifier: BSD-3-Clause */
/* Before a run with external hosts, its start, and its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/progress_line.h"
#include "common/stall_timer.h"
#include "common/units.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/kernel_host/attach_state.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"

/* What hosts may take to report after the run. */
#define STOP_NS 5000000000ULL
#define STOP_POLL_NS 500000ULL

/* The channels come last: who finds one knows that the fabric is ready for the host. */
static int
open_channels(struct attach *attach, struct err *err)
{
	const struct scenario *sc = attach->scenario;
	bool *managed = calloc(sc->topo->nnodes, sizeof(*managed));
	const struct manage_config config = {
		.topo = sc->topo,
		.managed = managed,
		.dir = attach->dir,
		.digest = plan_digest(sc->plan),
		.check = attach->check,
	};

	if (managed == NULL)
		return err_set(err, -ENOMEM, "out of memory for hosts");
	for (uint32_t i = 0; i < attach->nhosts; i++)
		managed[attach->hosts[i].node] = true;
	attach->manage = manage_create(&config, err);
	free(managed);
	return attach->manage != NULL ? 0 : -errno;
}

/* Whom it waited for, in vain: hosts of this part are named, others by theirs. */
static int
name_missing(const struct attach *attach, struct err *err)
{
	enum manage_state state = attach->connecting ? MANAGE_READY : MANAGE_UP;
	const char *what = attach->connecting ? "connect" : "come up";
	char names[160], limit[32];

	units_format_time(attach->scenario->limits.connect_ps, limit, sizeof(limit));
	if (manage_first_missing(attach->manage, state) == REC_NONE)
		return err_set(err, -ETIMEDOUT, "hosts of other parts did not %s within limits.connect = %s", what, limit);
	return err_set(err, -ETIMEDOUT, "%s did not %s within limits.connect = %s",
		       manage_missing(attach->manage, state, names, sizeof(names)), what, limit);
}

/* How the first phase ended. */
static int
judge(const struct attach *attach, const struct emulation *emulation, struct err *err)
{
	const struct partition *partition = emulation->partition;
	uint32_t node;
	bool lost;
	const char *why = manage_failure(attach->manage, &node, &lost);

	if (why != NULL)
		return err_set(err, -ECONNRESET, "%s", why);
	if (emulation->fabric->end_reason == REC_END_COMPLETE)
		return 0;
	if (emulation->fabric->end_reason == REC_END_INTERRUPT)
		return err_set(err, -EINTR, "interrupted before the run began");
	if (partition != NULL && partition->ops->why(partition->ctx) != NULL)
		return err_set(err, -ECONNRESET, "%s", partition->ops->why(partition->ctx));
	return name_missing(attach, err);
}

/* @return 0 or negative errno with err set: it did not begin, or could not go on */
static int
forward(struct attach *attach, struct emulation *emulation, struct err *err)
{
	const struct partition *partition = emulation->partition;
	uint64_t zero_ns = clock_now_ns();
	int ret = partition != NULL ? partition->ops->start(partition->ctx, &zero_ns, err) : 0;

	if (ret < 0)
		return ret;
	emulation_begin(emulation, NULL, zero_ns);
	ret = lcore_run(emulation->fabric, err);
	if (partition != NULL)
		partition->ops->stop(partition->ctx);
	return ret == 0 ? judge(attach, emulation, err) : ret;
}

int
attach_prepare(struct attach *attach, uint32_t lcores, const struct partition *partition, bool progress, struct err *err)
{
	const struct emulation_options options = {
		.lcores = lcores,
		.kernel_host = &attach->driver,
		.phase = EMULATION_PREPARE,
		.partition = partition,
	};
	struct emulation *emulation = emulation_create(attach->scenario, &options, err);
	int ret;

	if (emulation == NULL)
		return -errno;
	attach->progress = progress;
	ret = open_channels(attach, err);
	if (ret == 0)
		ret = forward(attach, emulation, err);
	if (progress)
		progress_line("%s", "");
	emulation_destroy(emulation);
	return ret;
}

void
attach_start(struct attach *attach, uint64_t zero_ns)
{
	manage_start(attach->manage, zero_ns);
}

/* A host that is gone has been named already. */
static void
name_silent(const struct attach *attach)
{
	struct fabric *fabric = attach->emulation->fabric;
	uint32_t first = manage_first_missing(attach->manage, MANAGE_FINISHED);
	char names[160];

	if (first == REC_NONE)
		return;
	log_warning("no answer at the end of the run: %s; stopped, or stuck",
		    manage_missing(attach->manage, MANAGE_FINISHED, names, sizeof(names)));
	if (fabric->end_node == REC_NONE)
		fabric->end_node = first;
}

void
attach_stop(struct attach *attach, uint64_t end_ps)
{
	struct stall_timer stall_timer = { 0 };

	manage_stop(attach->manage, end_ps);
	while (!manage_over(attach->manage) && stall_timer_look(&stall_timer, clock_now_ns()) < STOP_NS) {
		attach_service(attach);
		clock_sleep_until_ns(clock_now_ns() + STOP_POLL_NS);
	}
	name_silent(attach);
	for (uint32_t i = 0; i < attach->nhosts; i++) {
		struct attached *host = &attach->hosts[i];
		const struct manage_result *result = manage_result(attach->manage, host->node);

		if (result != NULL)
			step_engine_put_unexpected(attach->emulation->engines[host->node], result->unexpected);
		kernel_host_sum(host->kernel_host, &host->nic);
	}
}
