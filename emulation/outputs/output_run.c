/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "common/clock.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/hosts.h"
#include "emulation/outputs/outputs.h"
#include "rxe-hosts/agent/policy.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

static const char *
end_reason(enum rec_end_reason reason)
{
	static const char *const names[] = { REC_ENDINGS(ENUM_NAME) };

	return names[reason];
}

const char *
output_limit(enum rec_end_reason reason)
{
	static const char *const keys[REC_END_REASONS] = {
		[REC_END_VIRTUAL_TIME] = "limits.virtual_time",
		[REC_END_STALL] = "limits.stall",
	};

	return keys[reason];
}

static json_t *
invariants_json(const struct emulation *emulation)
{
	struct invariant results[EMULATION_INVARIANTS];
	json_t *list = json_array();

	emulation_check(emulation, results);
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "name", results[i].name, "holds", results[i].holds,
						      "text", results[i].text));
	return list;
}

static json_t *
drops_json(const struct emulation *emulation)
{
	static const char *const names[] = { REC_DROPS(ENUM_NAME) };
	const struct topo *topo = emulation->scenario->topo;
	uint64_t packets[REC_DROP_REASONS] = { 0 };
	json_t *drops = json_object();

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (partition_is_remote(emulation, i))
			continue; /* its partition reports them */
		for (uint16_t p = 0; p < topo->nodes[i].nports; p++)
			for (uint32_t r = 0; r < REC_DROP_REASONS; r++)
				packets[r] += emulation_dropped(emulation, i, p, (enum rec_drop)r);
		packets[REC_DROP_INJECTED] += emulation->fabric->nodes[i]->count.lost_packets;
	}
	for (uint32_t i = 0; i < topo->nports; i++) {
		packets[REC_DROP_INJECTED] += emulation->fabric->links[i].injected_packets;
		packets[REC_DROP_LINK_DOWN] += emulation->fabric->links[i].down_packets;
	}
	for (uint32_t r = 0; r < REC_DROP_REASONS; r++)
		json_object_set_new(drops, names[r], json_integer((json_int_t)packets[r]));
	return drops;
}

static json_t *
export_json(const struct emulation *emulation)
{
	const struct exporter_stats *stats = &emulation->result.export;
	json_t *json =
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "offered_bytes", (json_int_t)stats->offered_bytes,
			  "sent_bytes", (json_int_t)(stats->frame_bytes + stats->gap_bytes), "offered_records",
			  (json_int_t)stats->all.offered_records, "sent_records", (json_int_t)stats->all.sent_records,
			  "deferred_records", (json_int_t)stats->all.deferred_records, "dropped_records",
			  (json_int_t)stats->all.dropped_records, "peak_bytes_per_s",
			  (json_int_t)exporter_peak(emulation->exporter), "stream_bytes", (json_int_t)stats->stream_bytes);

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats output = sink_stats(exporter_outputs(emulation->exporter), *ops);
		char key[64];

		if ((*ops)->report == NULL)
			continue;
		snprintf(key, sizeof(key), "%s_lost", (*ops)->name);
		json_object_set_new(json, key, json_integer(output.error));
		snprintf(key, sizeof(key), "%s_missed_records", (*ops)->name);
		json_object_set_new(json, key, json_integer((json_int_t)output.dropped_records));
	}
	return json;
}

/* The embedded hosts' transports: retransmissions, duplicates and their causes. */
static json_t *
transport_json(const struct emulation *emulation)
{
	struct embedded_counters sum;

	embedded_hosts_sum(emulation, &sum);
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
			 emulation->scenario->roce.transport->name, "retransmits", (json_int_t)sum.retransmits, "timeouts",
			 (json_int_t)sum.timeouts, "naks", (json_int_t)sum.naks_received, "duplicates",
			 (json_int_t)sum.duplicates, "out_of_sequence", (json_int_t)sum.out_of_sequence, "early",
			 (json_int_t)sum.early, "acks_withheld", (json_int_t)sum.acks_withheld, "cnps_sent",
			 (json_int_t)sum.cnps_sent, "cnps_handled", (json_int_t)sum.cnps_handled);
}

/* The cost of the policy, by the paper's count (VEDRFOLNIR IV-B): verdict.json has the same. */
static json_t *
overhead_json(const struct emulation *emulation)
{
	const struct rec_end *end = &emulation->result.end;

	static const char *const policies[] = { REC_POLICIES(ENUM_NAME) };

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "policy",
			 policies[emulation->scenario->detection.policy], "telemetry_bytes", (json_int_t)end->kept_bytes,
			 "telemetry_bytes_collected", (json_int_t)end->collected_bytes, "bandwidth_bytes",
			 (json_int_t)(end->kept_bytes + end->polling_bytes + end->notification_bytes), "polls",
			 (json_int_t)end->polling_packets, "reports", (json_int_t)end->kept_reports, "reports_collected",
			 (json_int_t)end->collected_reports, "triggers", (json_int_t)end->detections);
}

/* When the first rank of a job began, and its last one was done; "end_ns" is null where one was not. */
static void
add_times(const struct emulation *emulation, uint32_t job, json_t *to)
{
	const struct plan *plan = emulation->scenario->plan;
	uint64_t start_ps = TIME_NEVER, end_ps = 0;
	bool complete = true;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t it = 0; plan->collectives[c].job == job && it < plan->collectives[c].iterations; it++) {
			struct collective_result seen =
				step_engines_result(emulation->engines, emulation->scenario->topo->nnodes, c, it);

			complete &= seen.complete;
			if (seen.complete && seen.start_ps < start_ps)
				start_ps = seen.start_ps;
			if (seen.complete && seen.end_ps > end_ps)
				end_ps = seen.end_ps;
		}
	}
	json_object_set_new(to, "start_ns",
			    start_ps != TIME_NEVER ? json_integer((json_int_t)(start_ps / PS_PER_NS)) : json_null());
	json_object_set_new(to, "end_ns", complete ? json_integer((json_int_t)(end_ps / PS_PER_NS)) : json_null());
}

/* The names of the numbers in steps.csv and verdict.json, and when jobs began and ended. */
static json_t *
jobs_json(const struct emulation *emulation)
{
	const struct plan *plan = emulation->scenario->plan;
	json_t *jobs = json_array();

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		json_t *job = json_array_get(jobs, json_array_size(jobs) - 1);
		struct rec_collective rec;

		if (!plan->collectives[c].enabled)
			continue;
		plan_collective_record(plan, c, 0, &rec);
		if (job == NULL || json_integer_value(json_object_get(job, "job")) != (json_int_t)rec.job) {
			job = json_pack("{s:I, s:s%, s:I, s:[]}", "job", (json_int_t)rec.job, "name", rec.job_name,
					strnlen(rec.job_name, sizeof(rec.job_name)), "iterations",
					(json_int_t)plan->collectives[c].iterations, "collectives");
			add_times(emulation, rec.job, job);
			json_array_append_new(jobs, job);
		}
		json_array_append_new(json_object_get(job, "collectives"),
				      json_pack("{s:I, s:s%, s:I}", "collective", (json_int_t)rec.id, "name", rec.name,
						strnlen(rec.name, sizeof(rec.name)), "steps", (json_int_t)rec.steps));
	}
	return jobs;
}

/* All that hosts, switches and faults made, whatever the origin of the request. */
static json_t *
made_json(const struct emulation *emulation)
{
	uint64_t packets = 0, bytes = 0;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		packets += emulation->fabric->nodes[i]->count.born_packets;
		bytes += emulation->fabric->nodes[i]->count.born_bytes;
	}
	return json_pack("{s:I, s:I}", "packets", (json_int_t)packets, "bytes", (json_int_t)bytes);
}

/* Hosts with their own kernel; NULL: there are none. */
static json_t *
hosts_json(const struct emulation *emulation)
{
	json_t *list = NULL;

	for (uint32_t i = 0; i < emulation->drivers.count && list == NULL; i++)
		if (emulation->drivers.rows[i].ops->json != NULL)
			list = emulation->drivers.rows[i].ops->json(emulation->drivers.rows[i].ctx);
	return list;
}

json_t *
output_run_own(const struct emulation *emulation)
{
	json_t *own = json_object(), *hosts = hosts_json(emulation);

	json_object_set_new(own, "virtual_ns", json_integer((json_int_t)(emulation->fabric->window.end_ps / 1000)));
	json_object_set_new(own, "invariants", invariants_json(emulation));
	json_object_set_new(own, "drops", drops_json(emulation));
	if (emulation->scenario->nexternal < emulation->scenario->topo->nhosts)
		json_object_set_new(own, "transport", transport_json(emulation));
	if (hosts != NULL)
		json_object_set_new(own, "hosts", hosts);
	return own;
}

/* The overrides of the command line, in its order. */
static json_t *
overrides_json(const struct scenario *scenario)
{
	json_t *array = json_array();
	const char *line = scenario->overrides, *end;

	for (; line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1)
		json_array_append_new(array, json_stringn(line, (size_t)(end - line)));
	return array;
}

static json_t *
run_json(const struct emulation *emulation)
{
	const struct fabric *fabric = emulation->fabric;
	double cpu_s = (double)emulation->result.cpu_ns / 1e9;
	struct fabric_totals totals;
	char digest[24];
	json_t *root, *own;

	fabric_sum(fabric, &totals);
	snprintf(digest, sizeof(digest), "%016" PRIx64, fabric_digest(fabric));
	root = json_pack("{s:i, s:s, s:I, s:f, s:f, s:f, s:I, s:i, s:I, s:f, s:I, s:s, s:I, s:s}", "schema_version", 1,
			 "name", emulation->scenario->name, "packet_hops", (json_int_t)totals.hops, "wall_s",
			 (double)emulation->result.wall_ns / 1e9, "cpu_s", cpu_s, "hops_per_cpu_s",
			 cpu_s > 0 ? (double)totals.hops / cpu_s : 0, "rss_bytes", (json_int_t)clock_peak_rss_bytes(),
			 "lcores", (int)fabric->config.lcores, "windows", (json_int_t)totals.windows, "fast_path_share",
			 totals.switch_windows != 0 ? (double)totals.fast_windows / (double)totals.switch_windows : 1.0,
			 "switch_buffer_bytes", (json_int_t)emulation->largest_buffer_bytes, "end_reason",
			 end_reason(fabric->end_reason), "seed", (json_int_t)emulation->scenario->root.seed, "digest",
			 digest);
	if (output_limit(fabric->end_reason) != NULL)
		json_object_set_new(root, "end_limit", json_string(output_limit(fabric->end_reason)));
	if (emulation->result.error_text != NULL)
		json_object_set_new(root, "error", json_string(emulation->result.error_text));
	json_object_set_new(root, "overrides", overrides_json(emulation->scenario));
	json_object_set_new(root, "jobs", jobs_json(emulation));
	json_object_set_new(root, "made", made_json(emulation));
	own = output_run_own(emulation);
	json_object_update(root, own);
	json_decref(own);
	output_partition_add(emulation, "run", root);
	json_object_set_new(root, "export", export_json(emulation));
	json_object_set_new(root, "overhead", overhead_json(emulation));
	return root;
}

/* A name that the scenario has from its file stays with it when the configuration runs again from another. */
static void
print_name(const struct scenario *scenario, FILE *to)
{
	if (scenario->root.name != NULL)
		return;
	fputs("name = \"", to);
	for (const char *c = scenario->name; *c != '\0'; c++)
		fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	fputs("\"; # the file's\n", to);
}

int
output_config(const struct scenario *scenario, const char *dir, struct err *err)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	struct outfile out;
	int ret = outfile_open(&out, dir, RUN_CONFIG, err);

	if (ret < 0)
		return ret;
	print_name(scenario, out.file);
	ret = cfg_print(scenario->cfg, known, scenario_tables(known, SCENARIO_MAX_TABLES), out.file);
	return outfile_close(&out, ret, err);
}

static json_t *
delays_json(const struct delays *delays)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "frames", (json_int_t)delays->count, "mean",
			 delays_mean(delays) / 1e3, "p50", (double)delays_quantile(delays, 0.5) / 1e3, "p99",
			 (double)delays_quantile(delays, 0.99) / 1e3, "max", (double)delays->max_ns / 1e3);
}

/* From a frame's time until it is in the outputs' buffers, and until each has written it; us of the wall clock. */
static json_t *
frames_json(const struct emulation *emulation)
{
	const struct sink *sink = exporter_outputs(emulation->exporter);
	json_t *json = json_pack("{s:o}", "queued", delays_json(&sink->queued));

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats output = sink_stats(sink, *ops);

		if (output.ops != NULL)
			json_object_set_new(json, (*ops)->name, delays_json(output.written));
	}
	return json;
}

static json_t *
realtime_json(const struct emulation *emulation)
{
	const struct pacer *pacer = &emulation->pacer;

	return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o}", "zero_clock_ns", (json_int_t)pacer->zero_ns, "windows",
			 (json_int_t)pacer->windows, "late_windows", (json_int_t)pacer->late_windows, "worst_late_us",
			 (double)pacer->worst_late_ps / (double)PS_PER_US, "idle_share",
			 (double)pacer->slept_ns / (double)(emulation->result.wall_ns + 1), "scale_rates_by",
			 pacer_scale(pacer), "lateness", json_null(), "frames_us", frames_json(emulation));
}

int
output_json(json_t *root, const char *dir, const char *name, struct err *err)
{
	struct outfile out;
	int ret = root != NULL ? outfile_open(&out, dir, name, err) : err_set(err, -ENOMEM, "%s: out of memory", name);

	if (ret == 0) {
		if (json_dumpf(root, out.file, JSON_INDENT(1) | JSON_PRESERVE_ORDER) < 0 && ferror(out.file) == 0)
			ret = -ENOMEM;
		ret = outfile_close(&out, ret, err);
	}
	json_decref(root);
	return ret;
}

int
output_run(const struct emulation *emulation, const char *dir, struct err *err)
{
	json_t *root = run_json(emulation);
	struct flow_summary flows;

	if (emulation->scenario->timing.clock == CLOCK_REAL)
		json_object_set_new(root, "realtime", realtime_json(emulation));
	emulation_report(emulation, root);
	if (flow_summary(emulation, &flows) == 0 && flows.flows != 0)
		json_object_set_new(root, "flows", flow_summary_json(&flows));
	if (emulation->partition != NULL)
		json_object_set_new(root, "partition", emulation->partition->ops->json(emulation->partition->ctx));
	return output_json(root, dir, RUN_SUMMARY, err);
}
