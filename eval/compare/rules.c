/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rules, as docs/compare-rules.md has it. */
#include <stdio.h>
#include <string.h>

#include "eval/compare/summary.h"

/* Hawkeye and full polling are judged by the rules of the diagnoser that they share with VEDRFOLNIR. */
static bool
has_column(const struct compare_system *system)
{
	return system->program == NULL && strcmp(system->name, compare_row_of(system)->diagnoser) == 0;
}

/* @param system  NULL: is it of none of ours? */
static bool
is_its(const struct compare_system *system, const char *type)
{
	bool is = system == NULL;

	for (uint32_t s = 0; system == NULL && s < compare_nsystems; s++)
		is &= compare_systems[s].program != NULL || !compare_is_its(&compare_systems[s], type);
	return system == NULL ? is : compare_is_its(system, type);
}

/* Types of one system that are worth so much at their place. @return how many */
static uint32_t
list_types(const struct compare_fault *fault, const struct compare_system *system, enum compare_grade grade, FILE *to)
{
	uint32_t count = 0;

	for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++)
		if (rule->at == grade && is_its(system, rule->type))
			fprintf(to, "%s`%s`", count++ != 0 ? ", " : "", rule->type);
	return count;
}

static void
print_cell(const struct compare_fault *fault, const struct compare_system *system, FILE *to)
{
	uint32_t count = list_types(fault, system, COMPARE_RIGHT, to);
	bool any = false;

	for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++)
		any |= rule->at == COMPARE_PARTLY && is_its(system, rule->type);
	if (any) {
		fputs(count != 0 ? "; partly " : "partly ", to);
		list_types(fault, system, COMPARE_PARTLY, to);
	} else if (count == 0) {
		fputc('-', to);
	}
}

void
compare_print_rules(FILE *to)
{
	fputs("| fault | what is put in |", to);
	for (uint32_t s = 0; s < compare_nsystems; s++)
		if (has_column(&compare_systems[s]))
			fprintf(to, " %s |", compare_row_of(&compare_systems[s])->title);
	fputs(" others |\n|---|---|", to);
	for (uint32_t s = 0; s < compare_nsystems; s++)
		fputs(has_column(&compare_systems[s]) ? "---|" : "", to);
	fputs("---|\n", to);
	for (const struct compare_fault *fault = compare_faults; fault->group.name != NULL; fault++) {
		fprintf(to, "| %s | %s |", fault->group.name, fault->group.doc);
		for (uint32_t s = 0; s < compare_nsystems; s++) {
			if (!has_column(&compare_systems[s]))
				continue;
			fputc(' ', to);
			print_cell(fault, &compare_systems[s], to);
			fputs(" |", to);
		}
		fputc(' ', to);
		print_cell(fault, NULL, to);
		fputs(" |\n", to);
	}
}
