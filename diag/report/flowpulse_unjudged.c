/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/flowpulse_unjudged.h"

#include <jansson.h>

#include "common/wire/enum.h"
#include "common/wire/record.h"
#include "diag/report/value.h"

#define SWITCHES_SHOWN 4
#define FLOWS_SHOWN 4

#define FLAWS ENUM_COUNT(REC_VOLUME_FLAWS)
#define REASONS (FLAWS + FLOWPULSE_HOLDS)

static const char *const flaw_names[] = { REC_VOLUME_FLAWS(ENUM_NAME) };
#define FLAW_SENTENCE(id, value, name, sentence) [value] = (sentence),
static const char *const flaw_sentences[] = { REC_VOLUME_FLAWS(FLAW_SENTENCE) };

/* A reason, and what was not judged for it. Flaws first, then what alarms are held back for. */
struct reason {
	const char *why, *because, *of; /* of: what count counts, in the singular */
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

json_t *
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

/* Flows of no collective that switches reported: what the operator moves to another class. */
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

void
flowpulse_unjudged_text(const struct text *text, const struct flowpulse *own)
{
	const struct verdict *v = text->facts.v;

	for (uint32_t i = 0; i < REASONS; i++) {
		struct reason reason = reason_of(own, i);
		char line[FACTS_TEXT] = "";

		if (reason.count == 0)
			continue;
		fmt_append(line, sizeof(line), "%s ",
			   i == REC_FLAW_SHARED ? "Blind to losses of what is sent by"
			   : reason.is_clear    ? "Nothing was lost at"
						: "Cannot tell at");
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
