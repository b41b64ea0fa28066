/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab reference: the scenario reference, printed from the tables that read scenarios. */
#include <jansson.h>
#include <stdio.h>

#include "cli/command.h"
#include "common/array.h"
#include "common/log.h"
#include "dpswitch/faults/fault.h"
#include "rxe-hosts/faults/host_faults.h"
#include "scenario/scenario.h"

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	if (key == ARGP_KEY_ARG)
		args_error(state, "\"%s\": reference takes no arguments", arg);
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*json = true;
	return 0;
}

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON: all tables, and the kinds of faults", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Prints every key of a scenario with its type, default, limits and meaning, in Markdown.\v"
	       "JSON: \"tables\" has the same; \"faults\" the symptoms of each kind of fault, which are keys of finding "
	       "types "
	       "that may name it, and an example of it, for a leaf-spine fabric of 2 leaves, 2 spines and 2 hosts a leaf.",
};

/* The field's min or max, a text as in a scenario; null: no limit. */
static json_t *
limit_json(const struct cfg_field *field, double value, bool is_limit)
{
	char buf[64];

	return is_limit ? json_string(cfg_limit_text(field, value, buf, sizeof(buf))) : json_null();
}

static json_t *
words_json(const struct cfg_field *field)
{
	json_t *words = json_array();

	for (const struct cfg_choice *choice = field->choices; choice->name != NULL; choice++)
		json_array_append_new(words, json_pack("{s:s, s:s?}", "word", choice->name, "meaning", choice->doc));
	return words;
}

static json_t *
key_json(const struct cfg_field *field)
{
	bool has_limits = field->type != CFG_ENUM && (field->max < field->min || field->max != 0);
	json_t *key =
		json_pack("{s:s, s:s, s:s?, s:o, s:o, s:s}", "name", field->name, "type", cfg_type_name(field), "default",
			  field->def, "min", limit_json(field, field->min, has_limits), "max",
			  limit_json(field, field->max, has_limits && field->max >= field->min), "meaning", field->doc);

	if (field->type == CFG_ENUM)
		json_object_set_new(key, "words", words_json(field));
	return key;
}

/* A table without a text of its own continues the one before: its keys are added there. */
static void
add_table(json_t *tables, const struct cfg_known *known)
{
	const struct cfg_table *table = known->table;
	json_t *keys;

	if (table->doc != NULL)
		json_array_append_new(tables, json_pack("{s:s, s:s?, s:b, s:s?, s:s, s:[]}", "path", table->path, "kind",
							known->kind, "list", table->list, "short_form", table->words,
							"meaning", table->doc, "keys"));
	keys = json_object_get(json_array_get(tables, json_array_size(tables) - 1), "keys");
	for (size_t i = 0; i < table->nfields; i++)
		json_array_append_new(keys, key_json(&table->fields[i]));
}

static void
add_faults(json_t *faults, const struct fault_ops *const *kinds)
{
	for (; *kinds != NULL; kinds++) {
		json_t *symptoms = json_array();

		for (const char *const *symptom = (*kinds)->symptoms; *symptom != NULL; symptom++)
			json_array_append_new(symptoms, json_string(*symptom));
		json_array_append_new(faults, json_pack("{s:s, s:o, s:s}", "kind", (*kinds)->kind, "symptoms", symptoms,
							"example", (*kinds)->example));
	}
}

/* @return 0 or -EIO */
static int
print_json(const struct cfg_known *known, size_t count)
{
	json_t *tables = json_array(), *faults = json_array(), *root;
	int rc;

	for (size_t i = 0; i < count; i++)
		add_table(tables, &known[i]);
	add_faults(faults, switch_faults);
	add_faults(faults, host_faults);
	root = json_pack("{s:o, s:o}", "tables", tables, "faults", faults);
	rc = root == NULL || json_dumpf(root, stdout, JSON_INDENT(2)) != 0 ? -EIO : 0;
	json_decref(root);
	putchar('\n');
	return rc;
}

int
command_reference(int argc, char **argv)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	size_t count = scenario_tables(known, SCENARIO_MAX_TABLES);
	bool json = false;

	argv[0] = "rocelab reference";
	if (args_parse(&argp, argc, argv, 0, &json) != 0)
		return EXIT_USAGE;
	if (!json)
		cfg_print_reference(known, count, stdout);
	else if (print_json(known, count) != 0) {
		log_error("out of memory for the reference");
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}
