/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/page/element.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/run_files.h"

/* The mark at which the run's own data begins in web/page.html. The text before it is the template's. */
#define ELEMENT "<script type=\"application/json\" id=\"%s\">"
#define MARK "<script type=\"application/json\" id=\"data\">"
#define CLOSE "</script>\n"

/* '<' stands in strings alone; escaped, nothing in them can end the element. */
static void
write_escaped(const char *text, FILE *to)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			fputs("\\u003c", to);
		else
			fputc(*text, to);
	}
}

/* @return malloc'd; NULL with errno */
static char *
read_page(const char *path)
{
	struct err why = { "" };
	FILE *file = input_fopen(path, &why);
	char *text = NULL;
	size_t cap = 0;
	ssize_t got = file != NULL ? getdelim(&text, &cap, '\0', file) : -1;

	if (file != NULL)
		fclose(file);
	if (got >= 0)
		return text;
	free(text);
	return NULL;
}

int
page_element(const char *dir, const char *id, const json_t *value, struct err *err)
{
	char path[PATH_MAX + 32], element[128], *page, *mark, *data;
	struct outfile out;
	int ret;

	snprintf(path, sizeof(path), "%s/" RUN_PAGE, dir);
	page = read_page(path);
	mark = page != NULL ? strstr(page, MARK) : NULL;
	snprintf(element, sizeof(element), ELEMENT, id);
	if (mark != NULL && memmem(page, (size_t)(mark - page), element, strlen(element)) != NULL)
		mark = NULL;
	data = mark != NULL ? json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	ret = data != NULL ? outfile_open(&out, dir, RUN_PAGE, err) : 0;
	if (data != NULL && ret == 0) {
		fwrite(page, 1, (size_t)(mark - page), out.file);
		fputs(element, out.file);
		write_escaped(data, out.file);
		fputs(CLOSE, out.file);
		fputs(mark, out.file);
		ret = outfile_close(&out, 0, err);
	}
	free(data);
	free(page);
	return ret;
}

/* @return NULL where there is none that can be read */
static json_t *
load(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return input_json(path, 0, NULL);
}

static void
copy(const json_t *from, const char *key, json_t *to)
{
	json_t *value = json_object_get(from, key);

	if (value != NULL)
		json_object_set(to, key, value);
}

int
page_scenario(const char *run, const char *dir, struct err *err)
{
	static const char *const injected[] = { "faults", "background_flows" };
	json_t *summary = load(run, RUN_SUMMARY), *truth = load(run, RUN_TRUTH), *root = json_object();
	int ret = 0;

	json_object_set_new(root, "overrides", json_array());
	copy(summary, "overrides", root);
	copy(summary, "seed", root);
	for (size_t i = 0; i < ARRAY_LEN(injected); i++)
		copy(truth, injected[i], root);
	if (json_object_get(root, "seed") != NULL)
		ret = page_element(dir, "scenario", root, err);
	json_decref(root);
	json_decref(truth);
	json_decref(summary);
	return ret;
}
