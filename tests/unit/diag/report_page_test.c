/* SPDX-License-Identifier: BSD-3-Clause */
/* The page and the graphs: well-formed, bounded, accepted by other programs, and nothing gets in unescaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "tests/unit/diag/report_files.h"
#include "tests/unit/diag/report_fixture.h"

#define MAX_DEPTH 32

/* Steps over a tag. @return behind it; depth and open names follow */
static const char *
check_tag(const char *p, char stack[MAX_DEPTH][24], int *depth)
{
	const char *name = p + 1 + (p[1] == '/'), *end = p + 1;
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
	char quote = 0;

	for (; *end != '>' || quote != 0; end++) {
		assert_true(*end != '\0' && *end != '<');
		if (quote != 0 ? *end == quote : *end == '"' || *end == '\'')
			quote = quote != 0 ? 0 : *end;
	}
	assert_true(len > 0 && len < 24);
	if (p[1] == '/') {
		(*depth)--;
		assert_true(*depth >= 0);
		if (strlen(stack[*depth]) != len || strncmp(stack[*depth], name, len) != 0)
			fail_msg("</%.*s> closes <%s>", (int)len, name, stack[*depth]);
	} else if (end[-1] != '/') {
		assert_true(*depth < MAX_DEPTH);
		snprintf(stack[(*depth)++], 24, "%.*s", (int)len, name);
	}
	return end + 1;
}

/* Tags nest, attributes are quoted, '&' starts a character reference: what an XML parser asks for. */
static void
check_page(const char *page)
{
	static const char *const references[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	char stack[MAX_DEPTH][24];
	int depth = 0, n = 0;
	const char *p = page;

	assert_memory_equal(p, "<!DOCTYPE html>\n", 16);
	for (p += 16; *p != '\0';) {
		if (*p == '<') {
			p = check_tag(p, stack, &depth);
			n++;
			continue;
		}
		if (*p == '&') {
			size_t r = 0;

			while (r < 5 && strncmp(p, references[r], strlen(references[r])) != 0)
				r++;
			assert_true(r < 5);
		}
		assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
		p++;
	}
	assert_int_equal(depth, 0);
	assert_true(n > 100);
	/* Self-contained. */
	assert_null(strstr(page, " src="));
	assert_null(strstr(page, " href="));
	assert_null(strstr(page, "@import"));
	assert_null(strstr(page, "url(http"));
}

static void
page_is_well_formed(void **state)
{
	struct verdict *(*const make[])(void) = { fixture_case, fixture_clean, fixture_stalled };

	for (size_t i = 0; i < 3; i++) {
		struct files files = report_files_write(make[i]());
		char *page = report_files_read(&files, "report.html");

		check_page(page);
		assert_non_null(strstr(page, i == 0 ? "root 6:2" : i == 1 ? "The network is innocent." : "6 open"));
		free(page);
		report_files_remove(&files);
	}
}

/* 32,512 steps. */
static void
page_of_large_run_is_bounded(void **state)
{
	struct files files = report_files_write(fixture_large(128, 254));
	char *page = report_files_read(&files, "report.html");

	check_page(page);
	assert_in_range(strlen(page), 100000, 4000000);
	assert_non_null(strstr(page, "64 of 128 ranks shown"));
	assert_non_null(strstr(page, "All of the graph is in waiting.dot."));
	free(page);
	report_files_remove(&files);
}

static void
dot_accepts(const struct files *files, const char *name, const char *expected)
{
	char command[512], *svg;

	snprintf(command, sizeof(command), "dot -Tsvg -o %s/out.svg %s/%s 2>%s/out.err && ! test -s %s/out.err", files->dir,
		 files->dir, name, files->dir, files->dir);
	assert_int_equal(system(command), 0);
	svg = report_files_read(files, "out.svg");
	assert_non_null(strstr(svg, expected));
	free(svg);
	snprintf(command, sizeof(command), "rm %s/out.svg %s/out.err", files->dir, files->dir);
	assert_int_equal(system(command), 0);
}

static void
graphviz_draws_the_graphs(void **state)
{
	struct files files;

	if (system("command -v dot >/dev/null") != 0) {
		print_message("SKIPPED: graphviz is not installed\n");
		skip();
	}
	files = report_files_write(fixture_case());
	dot_accepts(&files, "waiting.dot", "70.134 ms");
	dot_accepts(&files, "provenance.dot", "6:2");
	report_files_remove(&files);
}

/* Names that would end a string, a tag or a line, and bytes that are no text at all. */
static void
hostile_names_do_no_harm(void **state)
{
	struct verdict *v = fixture_case();
	struct files files;
	char *page, *text, *dot, *json;
	json_t *root;

	strcpy(v->run.nodes[6].name, "\"><script>alert(1)</script>");
	strcpy(v->run.ports[fixture_port(v, "6:2")].name, "\\\"<&'\x1b[31m\xff\xc3");
	strcpy(v->run.flows[F17_18].name, "</title>\"\\\n\x9b"
					  "31m");
	strcpy(v->findings[0].root, "]]>\x01\xf0\x9f");
	strcpy(v->run.config.name, "<b>&\"\xed\xa0\x80");
	memset(v->findings[0].evidence, '<', sizeof(v->findings[0].evidence) - 1);
	files = report_files_write(v);
	page = report_files_read(&files, "report.html");
	check_page(page);
	assert_null(strstr(page, "<script>alert"));
	text = report_files_read(&files, "report.txt");
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\x9b'));
	assert_null(strchr(text, '\x01'));
	json = report_files_read(&files, "verdict.json");
	root = json_loads(json, 0, NULL);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(root, "findings"), 0), "root")), "]]>???");
	json_decref(root);
	free(json);
	dot = report_files_read(&files, "provenance.dot");
	assert_null(strchr(dot, '\x1b'));
	if (system("command -v dot >/dev/null") == 0)
		dot_accepts(&files, "provenance.dot", "svg");
	free(dot);
	free(text);
	free(page);
	report_files_remove(&files);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_is_well_formed),
		cmocka_unit_test(page_of_large_run_is_bounded),
		cmocka_unit_test(graphviz_draws_the_graphs),
		cmocka_unit_test(hostile_names_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
