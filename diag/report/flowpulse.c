/* SPDX-License-Identifier: BSD-3-Clause */
/* How FlowPulse's section is reported; see diag/diagnoser.h. */
#include "diag/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "common/array.h"
#include "common/err.h"
#include "common/run_files.h"
#include "common/wire/layout.h"
#include "common/wire/record.h"
#include "diag/diagnoser.h"
#include "diag/flowpulse/section.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "diag/verdict.h"

/* What FlowPulse did not judge, and why: each reason once, with its count and places. */

#define SWITCHES_SHOWN 4
#define FLOWS_SHOWN 4

#define FLAWS ENUM_COUNT(REC_VOLUME_FLAWS)
#define REASONS (FLAWS + FLOWPULSE_HOLDS)

static const char *const flaw_names[] = { REC_VOLUME_FLAWS(ENUM_NAME) };
#define FLAW_SENTENCE(id, value, name, sentence) [value] = (sentence),
static const char *const flaw_sentences[] = { REC_VOLUME_FLAWS(FLAW_SENTENCE) };

/* A reason, and the number of cases that were not judged for it. Flaws first, then reasons that hold alarms back. */
struct reason {
	const char *why, *because, *of; /* of: the counted thing, in the singular */
	bool is_clear;                  /* nothing was lost */
	uint32_t count;
	uint64_t measured_bytes, other_bytes; /* REC_FLAW_SHARED */
};

static struct reason
count_flaws(const struct flowpulse *own, uint32_t flaw)
{
	struct reason reason = { .why = flaw_names[flaw], .because = flaw_sentences[flaw], .of = "iteration" };

	for (uint32_t i = 0; i < own->nflaws; i++) {
		if (own->flaws[i].flaw != flaw)
			continue;
		reason.count++;
		if (own->flaws[i].sender != REC_NONE)
			reason.of = "volume";
		if (flaw == REC_FLAW_SHARED) {
			reason.measured_bytes += own->flaws[i].predicted;
			reason.other_bytes += own->flaws[i].seen;
		}
	}
	return reason;
}

static struct reason
count_held(const struct flowpulse *own, uint32_t hold)
{
	const struct flowpulse_precondition *row = &flowpulse_preconditions[hold];
	struct reason reason = { .why = row->key, .because = row->because, .of = "alarm", .is_clear = row->is_clear };

	for (uint32_t i = 0; i < own->nalarms && hold != FLOWPULSE_JUDGED; i++)
		reason.count += own->held[i] == hold;
	return reason;
}

static struct reason
reason_of(const struct flowpulse *own, uint32_t index)
{
	return index < FLAWS ? count_flaws(own, index) : count_held(own, index - (uint32_t)FLAWS);
}

static bool
concerns(const struct flowpulse *own, uint32_t index, uint32_t node)
{
	for (uint32_t i = 0; index < FLAWS && i < own->nflaws; i++)
		if (own->flaws[i].flaw == index && own->flaws[i].hdr.node == node)
			return true;
	for (uint32_t i = 0; index >= FLAWS && i < own->nalarms; i++)
		if (own->held[i] == index - FLAWS && own->alarms[i].hdr.node == node)
			return true;
	return false;
}

/* @return an array of "not_judged": why, because, nothing_lost, count, of, switches; NULL: no memory */
static json_t *
flowpulse_unjudged_json(const struct verdict *v, const struct flowpulse *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < REASONS; i++) {
		struct reason reason = reason_of(own, i);
		json_t *switches = json_array();

		for (uint32_t node = 0; node < v->run.nnodes && reason.count != 0; node++)
			if (concerns(own, i, node))
				switches = value_add(switches, value_text(v->run.nodes[node].name));
		if (reason.count == 0) {
			json_decref(switches);
			continue;
		}
		array = value_add(array, json_pack("{s:s, s:s, s:b, s:I, s:s, s:o}", "why", reason.why, "because",
						   reason.because, "nothing_lost", reason.is_clear, "count",
						   (json_int_t)reason.count, "of", reason.of, "switches", switches));
	}
	return array;
}

/* "l0, l1 and 3 more" */
static void
append_switches(const struct verdict *v, const struct flowpulse *own, uint32_t index, char *line, size_t cap)
{
	uint32_t count = 0;

	for (uint32_t node = 0; node < v->run.nnodes; node++) {
		if (!concerns(own, index, node))
			continue;
		if (count < SWITCHES_SHOWN)
			fmt_append(line, cap, "%s%s", count != 0 ? ", " : "", v->run.nodes[node].name);
		count++;
	}
	if (count > SWITCHES_SHOWN)
		fmt_append(line, cap, " and %u more", count - SWITCHES_SHOWN);
}

/* Is a host cabled to a switch that sends up others' data in the measured class? */
static bool
is_at_shared(const struct verdict *v, const struct flowpulse *own, uint32_t host)
{
	if (host >= v->run.nnodes)
		return false;
	for (uint32_t i = 0; i < v->run.nodes[host].nports; i++) {
		uint32_t leaf = v->run.ports[v->run.nodes[host].first_port + i].peer_node;

		if (leaf != RUN_NONE && concerns(own, REC_FLAW_SHARED, leaf))
			return true;
	}
	return false;
}

/* Flows of no collective that switches reported: candidates for another class. */
static void
append_flows(const struct verdict *v, const struct flowpulse *own, char *line, size_t cap)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->run.nflows; i++) {
		const struct run_flow *flow = &v->run.flows[i];

		if (flow->collective || !is_at_shared(v, own, flow->src))
			continue;
		if (count < FLOWS_SHOWN)
			fmt_append(line, cap, "%s%s", count != 0 ? ", " : " Switches reported ", flow->name);
		count++;
	}
	if (count > FLOWS_SHOWN)
		fmt_append(line, cap, " and %u more", count - FLOWS_SHOWN);
	if (count != 0)
		fmt_append(line, cap, ".");
}

/* "Cannot judge l0 and l1, because ...: 12 alarms." */
static void
flowpulse_unjudged_text(const struct text *text, const struct flowpulse *own)
{
	const struct verdict *v = text->facts.v;

	for (uint32_t i = 0; i < REASONS; i++) {
		struct reason reason = reason_of(own, i);
		char line[FACTS_TEXT] = "";

		if (reason.count == 0)
			continue;
		fmt_append(line, sizeof(line), "%s ",
			   i == REC_FLAW_SHARED ? "Blind to losses of data sent by"
			   : reason.is_clear    ? "Nothing was lost at"
						: "Cannot judge");
		append_switches(v, own, i, line, sizeof(line));
		fmt_append(line, sizeof(line), ", because %s: %u %s%s%s.", reason.because, reason.count, reason.of,
			   reason.count == 1 ? "" : "s", reason.is_clear ? "" : " not judged");
		if (i == REC_FLAW_SHARED) {
			fmt_append(line, sizeof(line), " It was %s beside %s measured.", fmt_bytes(reason.other_bytes).text,
				   fmt_bytes(reason.measured_bytes).text);
			append_flows(v, own, line, sizeof(line));
		}
		fprintf(text->to, "  ");
		text_wrap(text, line, 2);
	}
}

#define DOUBTFUL_SHOWN 6

static int write_volumes(const struct verdict *v, FILE *to);

const struct diagnoser_file flowpulse_files[FLOWPULSE_FILES] = {
	{ .name = RUN_VOLUMES, .write = write_volumes },
};

static const char *const predictions[] = { REC_PREDICTIONS(ENUM_NAME) };
static const char *const detectors[] = { REC_DETECTORS(ENUM_NAME) };

static const char *
node_name(const struct verdict *v, uint32_t node)
{
	return node < v->run.nnodes ? v->run.nodes[node].name : "?";
}

static const char *
port_name(const struct verdict *v, uint32_t node, uint16_t port)
{
	return v->run.ports[v->run.nodes[node].first_port + port].name;
}

/* Of a port's peer. */
static const char *
peer_name(const struct verdict *v, uint32_t node, uint16_t port)
{
	return node_name(v, v->run.ports[v->run.nodes[node].first_port + port].peer_node);
}

/* Seen over predicted, less 1, in percent. */
static double
change_percent(uint64_t predicted, uint64_t seen)
{
	return predicted != 0 ? 100 * ((double)seen / (double)predicted - 1) : 0;
}

/* ---- verdict.json ---- */

static json_t *
monitor_json(const struct flowpulse *own)
{
	return json_pack("{s:s, s:I, s:I, s:s, s:o, s:o, s:b, s:b}", "prediction", predictions[own->config.prediction],
			 "simulated_runs", (json_int_t)own->config.runs, "simulated_iterations",
			 (json_int_t)own->config.iterations, "detector", detectors[own->config.detector], "threshold",
			 value_real((double)own->config.threshold_ppm / REC_PPM), "tolerance",
			 value_real((double)own->config.tolerance_ppm / REC_PPM), "counts", own->config.counts != 0,
			 "ports_alone", own->config.ports_alone != 0);
}

static json_t *
switches_json(const struct verdict *v, const struct flowpulse *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nmonitors; i++) {
		const struct rec_monitored *m = &own->monitors[i];

		array = value_add(array,
				  json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "switch",
					    value_text(node_name(v, m->hdr.node)), "ports", (json_int_t)m->ports, "senders",
					    (json_int_t)m->senders, "compared", (json_int_t)m->compared, "learned",
					    (json_int_t)m->learned, "relearned", (json_int_t)m->relearned, "flawed",
					    (json_int_t)m->flawed, "alarms", (json_int_t)m->alarms, "memory_bytes",
					    (json_int_t)m->bytes, "late_packets", (json_int_t)m->late_packets,
					    "lost_packets", (json_int_t)m->lost_packets));
	}
	return array;
}

static json_t *
links_json(const struct verdict *v, const struct flowpulse_fault *fault)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < fault->nlinks; i++) {
		const struct flowpulse_link *link = &fault->links[i];
		bool known = run_known_at(&v->run, link->port, RUN_NONE) != RUN_NONE;

		array = value_add(
			array, json_pack("{s:o, s:o, s:o, s:b}", "port",
					 link->port != RUN_NONE ? value_text(v->run.ports[link->port].name) : json_null(),
					 "from", value_text(node_name(v, link->from)), "to",
					 value_text(node_name(v, link->to)), "known", known));
	}
	return array;
}

static json_t *
faults_json(const struct verdict *v, const struct flowpulse *own, uint32_t begin, uint32_t end)
{
	json_t *array = json_array();

	for (uint32_t i = begin; i < end; i++) {
		const struct flowpulse_fault *f = &own->faults[i];
		const struct rec_volume_alarm *first = &own->alarms[f->first];

		array = value_add(
			array,
			json_pack("{s:s, s:o, s:o, s:[o, o], s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I}", "place",
				  f->nlinks == 2        ? "pair"
				  : f->links[0].is_path ? "path"
							: "link",
				  "links", links_json(v, f), "drop_rate", value_real(f->drop), "drop_rate_95",
				  value_real(f->low), value_real(f->high), "first_iteration",
				  (json_int_t)f->first_iteration, "last_iteration", (json_int_t)f->last_iteration,
				  "iterations", (json_int_t)f->iterations, "alarms", (json_int_t)f->alarms, "switches",
				  (json_int_t)f->switches, "seen_by", value_text(node_name(v, first->hdr.node)), "at",
				  value_text(port_name(v, first->hdr.node, first->port)), "first_ns",
				  value_ns(first->hdr.time_ps), "predicted_bytes", (json_int_t)first->predicted,
				  "seen_bytes", (json_int_t)first->seen));
	}
	return array;
}

/* Of switches and iterations with an alarm: a row a port. */
static json_t *
volumes_json(const struct verdict *v, const struct flowpulse *own)
{
	json_t *array = json_array();
	bool any = false;

	for (uint32_t first = 0, end; first < own->nports; first = end) {
		const struct flowpulse_volume *p = &own->ports[first];

		any = false;
		for (end = first; end < own->nports && own->ports[end].node == p->node &&
				  own->ports[end].time_ps == p->time_ps && own->ports[end].iteration == p->iteration;
		     end++)
			any |= own->ports[end].alarmed;
		for (uint32_t i = first; i < end && any; i++) {
			const struct flowpulse_volume *port = &own->ports[i];

			array = value_add(array, json_pack("{s:o, s:o, s:I, s:o, s:I, s:I, s:b, s:b}", "port",
							   value_text(port_name(v, port->node, port->port)), "from",
							   value_text(peer_name(v, port->node, port->port)), "iteration",
							   (json_int_t)port->iteration, "time_ns", value_ns(port->time_ps),
							   "predicted_bytes", (json_int_t)port->predicted, "seen_bytes",
							   (json_int_t)port->seen, "alarm", port->alarmed, "compared",
							   !port->flawed && !port->learned));
		}
	}
	return array;
}

static json_t *
unmeasured_json(const struct verdict *v, const struct flowpulse *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nflaws; i++) {
		const struct rec_volume_flaw *flaw = &own->flaws[i];

		array = value_add(
			array,
			json_pack("{s:o, s:o, s:I, s:s, s:I, s:I}", "switch", value_text(node_name(v, flaw->hdr.node)),
				  "sender", flaw->sender != REC_NONE ? value_text(node_name(v, flaw->sender)) : json_null(),
				  "iteration", (json_int_t)flaw->iteration, "why", flaw_names[flaw->flaw],
				  "predicted_bytes", (json_int_t)flaw->predicted, "seen_bytes", (json_int_t)flaw->seen));
	}
	return array;
}

/* The meaning of the values of "why". */
static json_t *
reasons_json(const struct flowpulse *own)
{
	json_t *reasons = json_object();

	for (uint32_t i = 0; i < own->nflaws; i++)
		reasons =
			value_set(reasons, flaw_names[own->flaws[i].flaw], json_string(flaw_sentences[own->flaws[i].flaw]));
	return reasons;
}

int
flowpulse_json(const struct verdict *v, const struct section *section, json_t *root)
{
	const struct flowpulse *own = section->own;
	json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "monitor", monitor_json(own), "switches",
				switches_json(v, own), "faults", faults_json(v, own, 0, own->nfaults), "doubtful",
				faults_json(v, own, own->nfaults, own->nfaults + own->ndoubtful), "volumes",
				volumes_json(v, own), "unmeasured", unmeasured_json(v, own), "reasons", reasons_json(own),
				"not_judged", flowpulse_unjudged_json(v, own));

	return json_object_set_new(root, FLOWPULSE_NAME, all) == 0 ? 0 : -ENOMEM;
}

/* ---- flowpulse.csv ---- */

static int
write_volumes(const struct verdict *v, FILE *to)
{
	const struct section *section = verdict_section(v, FLOWPULSE_NAME);
	const struct flowpulse *own = section->own;

	fputs("port,sender,iteration,predicted,seen\n", to);
	for (uint32_t i = 0; i < own->nvolumes; i++) {
		const struct rec_volume *volume = &own->volumes[i];

		fprintf(to, "%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", port_name(v, volume->hdr.node, volume->port),
			node_name(v, volume->sender), volume->iteration, volume->predicted, volume->seen);
	}
	return ferror(to) ? -EIO : 0;
}

/* "from l1 to s1 (l1:4)" */
static void
print_link(const struct verdict *v, const struct flowpulse_link *link, char *buf, size_t cap)
{
	fmt_append(buf, cap, "%s %s to %s", link->is_path ? "on the path from" : "from", node_name(v, link->from),
		   node_name(v, link->to));
	if (link->port != RUN_NONE)
		fmt_append(buf, cap, " (%s)", v->run.ports[link->port].name);
}

static void
print_fault(const struct text *text, const struct flowpulse *own, const struct flowpulse_fault *fault)
{
	const struct verdict *v = text->facts.v;
	const struct rec_volume_alarm *first = &own->alarms[fault->first];
	char line[FACTS_TEXT] = "";

	fmt_append(line, sizeof(line), "The link ");
	print_link(v, &fault->links[0], line, sizeof(line));
	if (fault->nlinks == 1 && fault->links[0].is_path)
		fmt_append(line, sizeof(line), ": %s did not compare this traffic, which would show which one. It",
			   node_name(v, fault->links[0].to));
	if (fault->nlinks == 2) {
		fmt_append(line, sizeof(line), ", or the one ");
		print_link(v, &fault->links[1], line, sizeof(line));
		fmt_append(
			line, sizeof(line),
			flowpulse_is_fleeting(own, fault)
				? ": %s misses packets of one sender alone, as it does if the second fails only while that "
				  "one sends. It"
				: ": with one sender at %s the two cannot be distinguished. It",
			node_name(v, first->hdr.node));
	}
	fmt_append(line, sizeof(line),
		   " loses %.2f %% of its packets (%.2f to %.2f at 95 %%): %u alarm%s of %u switch%s, in ",
		   100 * fault->drop, 100 * fault->low, 100 * fault->high, fault->alarms, fault->alarms == 1 ? "" : "s",
		   fault->switches, fault->switches == 1 ? "" : "es");
	if (fault->iterations == 1)
		fmt_append(line, sizeof(line), "iteration %u.", fault->first_iteration);
	else
		fmt_append(line, sizeof(line), "%u iterations from %u to %u.", fault->iterations, fault->first_iteration,
			   fault->last_iteration);
	for (uint32_t i = 0; i < fault->nlinks; i++) {
		uint32_t at = run_known_at(&v->run, fault->links[i].port, RUN_NONE);
		char known[128];

		if (at != RUN_NONE)
			fmt_append(line, sizeof(line), " Known before the run: %s.",
				   facts_known(&v->run, &v->run.known[at], known, sizeof(known)));
	}
	text_wrap(text, line, 5);
}

/* Predicted and seen volume of every port of the leaf that saw it first. @return 0 or -ENOMEM */
static int
show_ports(const struct text *text, const struct flowpulse *own, const struct rec_volume_alarm *first)
{
	static const char *const columns[] = { "PORT", "FROM", "PREDICTED", "SEEN", "CHANGE", "" };
	static const bool right[] = { false, false, true, true, true, false };
	const struct verdict *v = text->facts.v;
	struct libscols_table *table = table_create(columns, right, ARRAY_LEN(columns));
	int rc = table != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < own->nports && rc == 0; i++) {
		const struct flowpulse_volume *p = &own->ports[i];
		char change[32];

		if (p->node != first->hdr.node || p->time_ps != first->hdr.time_ps || p->iteration != first->iteration)
			continue;
		snprintf(change, sizeof(change), "%+.2f %%", change_percent(p->predicted, p->seen));
		rc = table_row(table, port_name(v, p->node, p->port), peer_name(v, p->node, p->port),
			       fmt_count(p->predicted).text, fmt_count(p->seen).text, change, p->alarmed ? "alarm" : "",
			       NULL);
	}
	if (rc == 0) {
		fprintf(text->to, "     Iteration %u at %s, in bytes:\n", first->iteration, node_name(v, first->hdr.node));
		rc = table_print(table, text->to);
	}
	table_destroy(table);
	return rc;
}

static void
print_monitors(const struct text *text, const struct flowpulse *own)
{
	uint64_t ports = 0, compared = 0, learned = 0;
	uint32_t bytes = 0;
	char line[FACTS_TEXT] = "";

	for (uint32_t i = 0; i < own->nmonitors; i++) {
		ports += own->monitors[i].ports;
		compared += own->monitors[i].compared;
		learned += (uint64_t)own->monitors[i].learned + own->monitors[i].relearned;
		bytes = own->monitors[i].bytes > bytes ? own->monitors[i].bytes : bytes;
	}
	fmt_append(line, sizeof(line),
		   "%u switches monitored %" PRIu64 " ports, with up to %s each; they compared %" PRIu64 " iterations",
		   own->nmonitors, ports, fmt_bytes(bytes).text, compared);
	if (learned != 0)
		fmt_append(line, sizeof(line), " and learned from %" PRIu64, learned);
	fmt_append(line, sizeof(line), ". Prediction: %s", predictions[own->config.prediction]);
	if (own->config.runs != 0)
		fmt_append(line, sizeof(line), " (%u runs of %u iterations, %s of fabric time)", own->config.runs,
			   own->config.iterations,
			   fmt_time(fmt_unit_for(own->config.virtual_ps), own->config.virtual_ps).text);
	fmt_append(line, sizeof(line), ". FlowPulse does not estimate the time that a fault costs.");
	if (own->nfaults + own->ndoubtful == 0 && compared != 0)
		fmt_append(line, sizeof(line), " Nothing %swas lost.",
			   own->nflaws + own->nalarms != 0 ? "that could be judged " : "");
	fprintf(text->to, "  ");
	text_wrap(text, line, 2);
}

/* Alarms that are no finding. */
static void
print_uncertain(const struct text *text, const struct flowpulse *own)
{
	const struct verdict *v = text->facts.v;

	for (uint32_t i = own->nfaults; i < own->nfaults + own->ndoubtful && i < own->nfaults + DOUBTFUL_SHOWN; i++) {
		const struct flowpulse_fault *fault = &own->faults[i];
		const struct rec_volume_alarm *first = &own->alarms[fault->first];
		char line[FACTS_TEXT] = "";

		fmt_append(line, sizeof(line),
			   "No finding: %u alarm%s of %s, first in iteration %u at %s, of what may be lost ", fault->alarms,
			   fault->alarms == 1 ? "" : "s", node_name(v, first->hdr.node), first->iteration,
			   port_name(v, first->hdr.node, first->port));
		print_link(v, &fault->links[0], line, sizeof(line));
		fmt_append(line, sizeof(line), ": %.2f %%, %s (%.2f to %.2f at 95 %%).", 100 * fault->drop,
			   fault->is_of_others ? "which hosts did not send again beyond other links' losses"
			   : fault->is_scattered && fault->low > 0 ? "which packets that depend on each other make as well"
								   : "which chance makes as well",
			   100 * fault->low, 100 * fault->high);
		fprintf(text->to, "  ");
		text_wrap(text, line, 2);
	}
	if (own->ndoubtful > DOUBTFUL_SHOWN)
		fprintf(text->to, "  ... and %u more, in verdict.json\n", own->ndoubtful - DOUBTFUL_SHOWN);
}

int
flowpulse_text(const struct text *text, const struct section *section)
{
	const struct flowpulse *own = section->own;
	int rc = 0;

	text_title(text, "Silent faults, by volumes of measured collectives (FlowPulse)");
	print_monitors(text, own);
	for (uint32_t i = 0; i < own->nfaults && rc == 0; i++) {
		fprintf(text->to, "  %u. ", i + 1);
		print_fault(text, own, &own->faults[i]);
		rc = show_ports(text, own, &own->alarms[own->faults[i].first]);
	}
	print_uncertain(text, own);
	flowpulse_unjudged_text(text, own);
	return rc;
}
