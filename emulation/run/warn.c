/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/warn.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/idle_faults.h"

void
warn_of_capture(const struct run_options *options, const struct emulation *emulation)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(emulation->capture, &totals);
	if (emulation->capture_errno != 0)
		log_warning("%s/" RUN_CAPTURE " is cut short: %s", options->out, strerror(emulation->capture_errno));
	else if (totals.lagged != 0)
		log_warning("%s/" RUN_CAPTURE " lacks %" PRIu64 " of %" PRIu64 " frames: the disk did not keep up; "
			    "--capture-bytes makes less of them",
			    options->out, totals.lagged, totals.frames);
	if (totals.missing != 0)
		log_warning("%s/" RUN_CAPTURE " reached its limit of %s at %s: %" PRIu64 " of %" PRIu64
			    " frames are not in it; --capture-limit and --capture-bytes make room",
			    options->out, units_format_bytes(options->capture.limit_bytes, limit, sizeof(limit)),
			    units_format_time(totals.limit_ps, when, sizeof(when)), totals.missing, totals.frames);
}

bool
warn_of_stream(const struct run_options *options, const struct exporter *exporter)
{
	bool whole = true;

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats stats = sink_stats(exporter_outputs(exporter), *ops);

		if ((*ops)->tell != NULL)
			(*ops)->tell(&stats, options->out);
		whole &= !(*ops)->kept || stats.error == 0;
	}
	return whole;
}

void
warn_of_idle_faults(const struct emulation *emulation)
{
	json_t *list = idle_faults_json(emulation), *text;
	size_t i;

	json_array_foreach(list, i, text) log_warning("%s", json_string_value(text));
	json_decref(list);
}

void
warn_of_refusals(const struct attach *attach)
{
	for (uint32_t i = 0; attach != NULL && i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);

		if (host.manage.refused_records != 0)
			log_warning("%" PRIu64 " records of a host were refused, the first: %s",
				    host.manage.refused_records, host.refused);
	}
}

void
warn_order(const struct scenario *sc)
{
	const struct balance_ops *balance = sc->balance.ops;

	if (balance->reorders && !balance->per_flow && (!sc->roce.any_order || sc->nexternal != 0))
		log_warning("load_balancing.kind = \"%s\" sends a flow's packets by many ways, and some come too early: a "
			    "go-back-N receiver answers those with NAKs, and everything behind them is sent again%s",
			    balance->name,
			    sc->nexternal != 0 ? "; hosts with their own kernel have no other"
					       : "; host.transport = \"selective\" takes them as they come");
}

/* Is there other data that measured data does not go before: in its class, or in one that shares the link with it? */
static bool
shares_class(const struct scenario *sc)
{
	const struct flow_table *flows = &sc->plan->flows;
	uint8_t measured = 0, others = 0;

	for (uint32_t i = 0; i < flows->count; i++) {
		uint8_t class = (uint8_t)(1u << flows->flows[i].prio);

		if (sc->plan->of[i].measured)
			measured |= class;
		else if (flows->flows[i].kind != FLOW_CONTROL && flows->flows[i].kind != FLOW_PROBE)
			others |= class;
	}
	return (measured & others) != 0 || (others != 0 && (measured & ~sc->strict) != 0);
}

void
warn_of_shared_class(const struct scenario *sc)
{
	const struct balance_ops *balance = sc->balance.ops;

	if (sc->volumes.enabled && balance_evens_out(&sc->balance) && shares_class(sc))
		log_warning("%s:%d: flowpulse: load_balancing.kind = \"%s\" evens out all flows together, and others have "
			    "data that "
			    "switches do not let wait for the measured collective's: what they take of a port may look "
			    "like a loss "
			    "of a few percent; give it a class that is served first (host.measured_prio, switch.strict)",
			    sc->volumes.where.file, sc->volumes.where.line, balance->name);
}

void
warn_late(const struct emulation *emulation)
{
	const struct pacer *pacer = &emulation->pacer;
	double scale = pacer_scale(pacer);
	char worst[32];

	if (scale < 1)
		log_warning("this machine did not keep up: %.1f %% of the windows were late, by up to %s; scale the "
			    "links' rates by %.2g",
			    100.0 * (double)pacer->late_windows / (double)pacer->windows,
			    units_format_time(pacer->worst_late_ps, worst, sizeof(worst)), scale);
}
