/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/score.h"

#include "eval/judge.h"

static bool
all_found(const struct truth *truth, const json_t *findings, struct err *why)
{
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly)
	{
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind == NULL || !kind->found(truth, anomaly, findings, why))
			return false;
	}
	return true;
}

static bool
all_borne_out(const struct truth *truth, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (!judge_confirms(truth, finding, why)) return false;
	return true;
}

/* The first that is more than what others' ACKs took of a link, in any family: that may be named, and need not be. */
static const json_t *
first_claim(const struct truth *truth, const json_t *findings)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (!judge_overtaken(truth, finding)) return finding;
	return NULL;
}

/* Do findings that the truth confirms say that such frames cost time? Then the network has some part in it. */
static bool
overtaken_in_earnest(const struct truth *truth, const json_t *findings)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (!json_is_true(json_object_get(finding, "without_effect")) &&
						     judge_overtaken(truth, finding)) return true;
	return false;
}

/* Where a host is at fault and nothing else, the verdict must say so. */
static bool
innocence_reported(const struct truth *truth, const json_t *verdict, struct err *why)
{
	bool innocent = json_is_true(json_object_get(json_object_get(verdict, "network"), "innocent"));
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly) if (!judge_kind(anomaly)->in_hosts) return true;
	innocent |=
		json_array_size(truth->anomalies) == 0 || overtaken_in_earnest(truth, json_object_get(verdict, "findings"));
	if (!innocent)
		err_set(why, 0, "the verdict does not say that the network is innocent");
	return innocent;
}

enum outcome
score_verdict(const struct truth *truth, const json_t *verdict, struct err *why)
{
	const json_t *findings = json_object_get(verdict, "findings"), *claim = first_claim(truth, findings);

	if (json_array_size(truth->anomalies) == 0 && claim != NULL) {
		err_set(why, 0, "%s at %s, where nothing is wrong", truth_text(claim, "type"), truth_text(claim, "root"));
		return OUTCOME_FP;
	}
	if (all_borne_out(truth, findings, why) && all_found(truth, findings, why) &&
	    innocence_reported(truth, verdict, why))
		return OUTCOME_TP;
	return json_array_size(findings) == 0 && json_array_size(truth->anomalies) != 0 ? OUTCOME_FN : OUTCOME_FP;
}

const char *
score_name(enum outcome outcome)
{
	static const char *const names[] = { [OUTCOME_TP] = "tp", [OUTCOME_FP] = "fp", [OUTCOME_FN] = "fn" };

	return names[outcome];
}

static double
share(uint32_t part, uint32_t rest)
{
	return part + rest != 0 ? (double)part / (part + rest) : 0;
}

double
score_precision(const struct score *score)
{
	return share(score->count[OUTCOME_TP], score->count[OUTCOME_FP]);
}

double
score_recall(const struct score *score)
{
	return share(score->count[OUTCOME_TP], score->count[OUTCOME_FN]);
}
