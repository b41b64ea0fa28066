/* SPDX-License-Identifier: BSD-3-Clause */
/* The program of a folder of unit tests: runs the files that are named, or all, each in a process of its own. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT_TEST_ROW(name) int name##_test(void);
UNIT_TESTS(UNIT_TEST_ROW)
#undef UNIT_TEST_ROW

static const struct {
	const char *name;
	int (*run)(void);
} files[] = {
#define UNIT_TEST_ROW(name) { #name, name##_test },
	UNIT_TESTS(UNIT_TEST_ROW)
};

#define NFILES (sizeof(files) / sizeof(files[0]))

/* @return whether none of its tests failed */
static int
run_apart(size_t file)
{
	int status = 0;
	pid_t pid;

	printf("# %s\n", files[file].name);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(files[file].run() == 0 && fflush(NULL) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One file stays in this process, where a debugger has it. @return exit code */
static int
run_named(const char *name)
{
	for (size_t i = 0; i < NFILES; i++)
		if (strcmp(files[i].name, name) == 0)
			return files[i].run() == 0 ? 0 : 1;
	fprintf(stderr, "no test \"%s\"; there are:", name);
	for (size_t i = 0; i < NFILES; i++)
		fprintf(stderr, " %s", files[i].name);
	fputc('\n', stderr);
	return 2;
}

int
main(int argc, char **argv)
{
	size_t failed = 0;

	if (argc > 2) {
		fprintf(stderr, "usage: %s [NAME]\n", argv[0]);
		return 2;
	}
	if (argc == 2)
		return run_named(argv[1]);
	for (size_t i = 0; i < NFILES; i++) {
		if (run_apart(i))
			continue;
		failed++;
		fprintf(stderr, "FAILED: %s\n", files[i].name);
	}
	printf("# %zu files, %zu failed\n", NFILES, failed);
	return failed != 0;
}
