/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "emulation/outputs/outputs.h"
#include "eval/case_file.h"
#include "eval/compare/systems.h"

/* By name the digest of its file: what another version of it found is not what this one finds. @return NULL: out of memory */
static json_t *
programs_json(void)
{
	json_t *programs = json_object();
	char digest[20];

	for (uint32_t i = 0; compare_program(i) != NULL; i++) {
		snprintf(digest, sizeof(digest), "%016" PRIx64, case_file_digest(compare_program(i)->program));
		json_object_set_new(programs, compare_program(i)->name, json_string(digest));
	}
	return programs;
}

static json_t *
corpus_json(const struct compare_study *study)
{
	return json_pack("{s:i, s:I, s:f, s:b, s:o}", "version", COMPARE_VERSION, "seed", (json_int_t)study->seed, "scale",
			 study->scale, "detection_times", study->times, "programs", programs_json());
}

/* @return a program that was another file when its results were made, or NULL */
static const char *
changed_program(const json_t *was, const json_t *is)
{
	const char *name;
	json_t *digest;

	json_object_foreach((json_t *)is, name, digest)
	{
		const json_t *before = json_object_get(was, name);

		if (before != NULL && !json_equal(before, digest))
			return name;
	}
	return NULL;
}

/* @param text  [size] what cases are of, in words */
static void
describe_corpus(const json_t *corpus, char *text, size_t size)
{
	json_t *programs = json_object_get(corpus, "programs");
	int used = snprintf(text, size, "version %lld, seed %lld, scale %g, %s times to detection, ",
			    (long long)json_integer_value(json_object_get(corpus, "version")),
			    (long long)json_integer_value(json_object_get(corpus, "seed")),
			    json_number_value(json_object_get(corpus, "scale")),
			    json_is_true(json_object_get(corpus, "detection_times")) ? "with" : "without");
	const char *name, *between = "program ";
	json_t *digest;

	if (json_object_size(programs) == 0)
		snprintf(text + used, size - (size_t)used, "no program from outside");
	json_object_foreach(programs, name, digest)
	{
		if ((size_t)used < size)
			used += snprintf(text + used, size - (size_t)used, "%s%s", between, name);
		between = ", ";
	}
}

int
compare_folder_check(const struct compare_study *study, const char *root, struct err *err)
{
	char path[PATH_MAX], text[512];
	const char *changed;
	json_t *was, *is;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/" COMPARE_CORPUS, root);
	was = json_load_file(path, 0, NULL);
	if (was == NULL)
		return access(path, F_OK) == 0
			       ? err_set(err, -EINVAL, "%s is no JSON; remove it with the cases beside it", path)
			       : -ENOENT;
	is = corpus_json(study);
	changed = changed_program(json_object_get(was, "programs"), json_object_get(is, "programs"));
	if (changed != NULL) {
		ret = err_set(err, -EINVAL,
			      "%s: %s has changed since the cases there were run with it; give another folder, or remove "
			      "this one",
			      root, changed);
	} else if (!json_equal(was, is)) {
		describe_corpus(was, text, sizeof(text));
		ret = err_set(err, -EINVAL, "%s: the cases there are of %s; ask for the same, or give another folder", root,
			      text);
	}
	json_decref(was);
	json_decref(is);
	return ret;
}

int
compare_folder_begin(const struct compare_study *study, const char *root, struct err *err)
{
	int ret = compare_folder_check(study, root, err);

	if (ret != -ENOENT)
		return ret;
	return output_json(corpus_json(study), root, COMPARE_CORPUS, err);
}
