/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the words of a study: inputs, policies, budgets, epochs. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/run_files.h"
#include "common/wire/detection.h"
#include "eval/case.h"
#include "eval/tradeoff/tradeoff.h"
#include "plugin/account.h"

uint32_t
tradeoff_points(const struct tradeoff *study)
{
	return study->npolicies * study->nepochs * study->nbudgets;
}

struct tradeoff_point
tradeoff_point(const struct tradeoff *study, uint32_t number)
{
	return (struct tradeoff_point){ .policy = number / study->nbudgets / study->nepochs,
					.epoch = number / study->nbudgets % study->nepochs,
					.budget = number % study->nbudgets };
}

int
tradeoff_add_input(struct tradeoff *study, const char *word, struct err *err)
{
	struct tradeoff_input *input = &study->inputs[study->ninputs];

	if (study->ninputs == TRADEOFF_MAX_INPUTS)
		return err_set(err, -EINVAL, "more than %d scenarios and families", TRADEOFF_MAX_INPUTS);
	*input = (struct tradeoff_input){ .family = family_find(word) };
	if (input->family != NULL || strcmp(word, TRADEOFF_CAUSES) == 0) {
		snprintf(input->name, sizeof(input->name), "%s", word);
	} else if (access(word, R_OK) == 0) {
		snprintf(input->path, sizeof(input->path), "%s", word);
		run_dir_name(word, input->name, sizeof(input->name));
	} else {
		return err_set(err, -EINVAL,
			       "\"%s\" is no file that can be read, no family and not \"" TRADEOFF_CAUSES
			       "\"; rocelab eval --help lists the families",
			       word);
	}
	for (uint32_t i = 0; i < study->ninputs; i++)
		if (strcmp(study->inputs[i].name, input->name) == 0)
			return err_set(err, -EINVAL, "\"%s\" is named twice: its name is its folder's", input->name);
	study->ninputs++;
	return 0;
}

/* The word before the first '+' is a detection policy. */
static bool
is_detection(const char *word)
{
	static const char *const names[] = { REC_POLICIES(ENUM_NAME) };
	size_t len = strcspn(word, "+");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && strncmp(names[i], word, len) == 0)
			return i != REC_POLICY_OFF;
	return false;
}

static int
add_program(struct tradeoff_policy *policy, const char *word, struct err *err)
{
	struct plugin_account account;

	if (realpath(word, policy->program) == NULL || access(word, X_OK) < 0)
		return err_set(err, -EINVAL,
			       "--policy %s: a word with a slash is a program's path, and this one cannot run: %s", word,
			       strerror(errno));
	plugin_account_init(&account, policy->program, NULL, 0);
	snprintf(policy->name, sizeof(policy->name), "%.*s", TRADEOFF_WORD - 1, account.name);
	return 0;
}

int
tradeoff_add_policy(struct tradeoff *study, const char *word, struct err *err)
{
	struct tradeoff_policy *policy = &study->policies[study->npolicies];
	int ret = 0;

	if (study->npolicies == TRADEOFF_MAX_POLICIES)
		return err_set(err, -EINVAL, "--policy: more than %d", TRADEOFF_MAX_POLICIES);
	*policy = (struct tradeoff_policy){ 0 };
	if (system_is_program(word))
		ret = add_program(policy, word, err);
	else if (snprintf(policy->name, sizeof(policy->name), "%s", word) >= (int)sizeof(policy->name))
		ret = err_set(err, -EINVAL, "--policy %s: at most %d characters each", word, TRADEOFF_WORD - 1);
	else if (is_detection(word))
		policy->detection = policy->name;
	else if ((policy->system = system_find(word)) == NULL)
		ret = err_set(
			err, -EINVAL,
			"--policy %s: no detection policy (vedrfolnir, vedrfolnir-paper, vedrfolnir-poster, "
			"hawkeye-minr, hawkeye-maxr, full-polling), no system (flowpulse, pingmesh, flowtracer), and no "
			"program's path with a slash",
			word);
	for (uint32_t i = 0; ret == 0 && i < study->npolicies; i++)
		if (strcmp(study->policies[i].name, policy->name) == 0)
			ret = err_set(err, -EINVAL, "--policy: \"%s\" is named twice", policy->name);
	study->npolicies += ret == 0;
	return ret;
}

static int
add_value(struct tradeoff_value *values, uint32_t *count, uint32_t most, const char *option, const char *word,
	  struct err *err)
{
	if (*count == most)
		return err_set(err, -EINVAL, "%s: more than %u", option, most);
	for (uint32_t i = 0; i < *count; i++)
		if (strcmp(values[i].text, word) == 0)
			return err_set(err, -EINVAL, "%s: \"%s\" is named twice", option, word);
	if (snprintf(values[*count].text, TRADEOFF_WORD, "%s", word) >= TRADEOFF_WORD || strpbrk(word, "/ \"") != NULL)
		return err_set(err, -EINVAL, "%s %s: no such value", option, word);
	(*count)++;
	return 0;
}

int
tradeoff_add_budget(struct tradeoff *study, const char *word, struct err *err)
{
	return add_value(study->budgets, &study->nbudgets, TRADEOFF_MAX_BUDGETS, "--budget", word, err);
}

int
tradeoff_add_epoch(struct tradeoff *study, const char *word, struct err *err)
{
	return add_value(study->epochs, &study->nepochs, TRADEOFF_MAX_EPOCHS, "--epoch", word, err);
}
