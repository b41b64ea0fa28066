/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/page/element.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/outfile.h"
#include "common/run_files.h"

/* Where the run's own data begins: web/page.html. What stands before is the template's alone. */
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
	FILE *file = fopen(path, "re");
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
	char path[PATH_MAX + 32], *page, *mark, *data;
	struct outfile out;
	int ret;

	snprintf(path, sizeof(path), "%s/" RUN_PAGE, dir);
	page = read_page(path);
	mark = page != NULL ? strstr(page, MARK) : NULL;
	data = mark != NULL ? json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	ret = data != NULL ? outfile_open(&out, dir, RUN_PAGE, err) : 0;
	if (data != NULL && ret == 0) {
		fwrite(page, 1, (size_t)(mark - page), out.file);
		fprintf(out.file, "<script type=\"application/json\" id=\"%s\">", id);
		write_escaped(data, out.file);
		fputs(CLOSE, out.file);
		fputs(mark, out.file);
		ret = outfile_close(&out, 0, err);
	}
	free(data);
	free(page);
	return ret;
}
