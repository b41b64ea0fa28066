/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are written aside and moved into place: whole or not there, and never through a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/outfile-test-XXXXXX";

static const char *
path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void
holds(const char *name, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path_of(name), "r");

	assert_non_null(file);
	assert_true(fread(found, 1, sizeof(found) - 1, file) <= sizeof(found));
	fclose(file);
	assert_string_equal(found, text);
}

static bool
there(const char *name)
{
	struct stat status;

	return lstat(path_of(name), &status) == 0;
}

static int
make_dir(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
remove_dir(void **state)
{
	(void)state;
	return rmdir(dir); /* no test leaves anything */
}

static void
the_old_one_stays_until_the_new_one_is_whole(void **state)
{
	struct outfile out;
	struct err err = { 0 };

	(void)state;
	put("a.json", "old");
	assert_int_equal(outfile_open(&out, dir, "a.json", &err), 0);
	fputs("new", out.file);
	holds("a.json", "old");
	assert_int_equal(outfile_close(&out, 0, &err), 0);
	holds("a.json", "new");
	assert_int_equal(outfile_open_path(&out, path_of("a.json"), &err), 0);
	fputs("half", out.file);
	assert_int_equal(outfile_close(&out, -EINVAL, &err), -EINVAL); /* its writer gave up */
	holds("a.json", "new");
	assert_false(there(".a.json.new"));
	assert_int_equal(unlink(path_of("a.json")), 0);
}

static void
files_that_belong_together_appear_together(void **state)
{
	struct outfile one, two;
	struct err err = { 0 };

	(void)state;
	put("1", "old");
	assert_int_equal(outfile_open(&one, dir, "1", &err), 0);
	assert_int_equal(outfile_open(&two, dir, "2", &err), 0);
	assert_int_equal(outfile_finish(&one, 0, &err), 0);
	assert_int_equal(outfile_finish(&two, -EIO, &err), -EIO);
	holds("1", "old");
	outfile_drop(&one);
	outfile_drop(&two);
	assert_false(there(".1.new") || there(".2.new") || there("2"));
	assert_int_equal(outfile_open(&one, dir, "1", &err), 0);
	assert_int_equal(outfile_finish(&one, 0, &err), 0);
	assert_int_equal(outfile_place(&one, &err), 0);
	outfile_drop(&one); /* it is in its place */
	holds("1", "");
	assert_int_equal(unlink(path_of("1")), 0);
}

static void
a_full_disk_leaves_no_half_file(void **state)
{
	const struct rlimit little = { 10000, RLIM_INFINITY };
	struct rlimit before;
	struct outfile out;
	struct err err = { 0 };

	(void)state;
	put("a.json", "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(outfile_open(&out, dir, "a.json", &err), 0);
	for (int i = 0; i < 20000; i++)
		fputc('x', out.file);
	assert_int_equal(outfile_close(&out, 0, &err), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(err.text, "a.json: cannot be written: File too large"));
	holds("a.json", "old");
	assert_false(there(".a.json.new"));
	assert_int_equal(unlink(path_of("a.json")), 0);
}

static void
links_are_replaced_and_not_followed(void **state)
{
	struct outfile out;
	struct err err = { 0 };
	int fd;

	(void)state;
	put("mine", "precious");
	assert_int_equal(symlink("mine", path_of("a")), 0);
	assert_int_equal(symlink("mine", path_of(".a.new")), 0);
	assert_int_equal(symlink("mine", path_of("b")), 0);
	assert_int_equal(outfile_open(&out, dir, "a", &err), 0);
	assert_int_equal(outfile_close(&out, 0, &err), 0);
	fd = outfile_stream(path_of("b"), &err);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "b", 1), 1);
	close(fd);
	holds("mine", "precious");
	holds("a", "");
	holds("b", "b");
	for (const char *const *name = (const char *const[]){ "mine", "a", "b", NULL }; *name != NULL; name++)
		assert_int_equal(unlink(path_of(*name)), 0);
}

static void
what_is_no_file_stays(void **state)
{
	struct outfile out;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(mkdir(path_of("records.bin"), 0700), 0);
	assert_int_equal(outfile_stream(path_of("records.bin"), &err), -EEXIST);
	assert_non_null(strstr(err.text, "records.bin"));
	err = (struct err){ 0 };
	assert_int_equal(outfile_open(&out, dir, "records.bin", &err), -EINVAL);
	assert_non_null(strstr(err.text, "records.bin is there, and no regular file"));
	assert_int_equal(symlink("/dev/null", path_of("sink")), 0);
	assert_int_equal(outfile_open(&out, dir, "sink", &err), -EINVAL);
	assert_true(there("sink") && !there(".sink.new"));
	assert_int_equal(unlink(path_of("sink")), 0);
	assert_false(there(".records.bin.new"));
	assert_int_equal(run_files_remove(dir, NULL), -EEXIST);
	assert_int_equal(rmdir(path_of("records.bin")), 0);
}

static void
an_earlier_run_goes_and_nothing_else(void **state)
{
	static const char *const ours[] = { "verdict.json",   "run.json",         "truth.json",       "records.bin",
					    "capture.pcapng", ".report.html.new", ".verdict.json.new" };
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		put(ours[i], "old");
	put("notes.txt", "mine");
	assert_int_equal(run_files_remove(dir, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		assert_false(there(ours[i]));
	holds("notes.txt", "mine");
	assert_int_equal(unlink(path_of("notes.txt")), 0);
	assert_int_equal(run_files_remove(dir, &err), 0); /* an empty folder is fine */
}

static void
a_folder_without_rights_is_refused(void **state)
{
	struct err err = { 0 };
	int status;
	pid_t child;

	(void)state;
	put("verdict.json", "old");
	assert_int_equal(chmod(dir, 0555), 0);
	child = fork(); /* root may write anywhere */
	if (child == 0) {
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		_exit(run_files_check(dir, &err) != -EACCES || strstr(err.text, "Permission denied") == NULL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(unlink(path_of("verdict.json")), 0);
	assert_int_equal(run_files_check(path_of("absent"), &err), 0);
}

UNIT_TEST(outfile)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_old_one_stays_until_the_new_one_is_whole, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(files_that_belong_together_appear_together, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_full_disk_leaves_no_half_file, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(links_are_replaced_and_not_followed, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(what_is_no_file_stays, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_folder_without_rights_is_refused, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(an_earlier_run_goes_and_nothing_else, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
