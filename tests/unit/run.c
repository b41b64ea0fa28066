/* SPDX-License-Identifier: BSD-3-Clause */
/* The program of a folder of unit tests: runs the files that are named, or all, each in a process of its own. */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

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
#define FILES_A_CPU 2 /* at a time */
#define MAX_RUNNING 64

/* A file that is being run in a process of its own. */
struct running {
	pid_t pid; /* 0: none */
	size_t file;
	FILE *output;
};

static void
start(struct running *slot, size_t file)
{
	slot->file = file;
	slot->output = tmpfile();
	fflush(NULL);
	slot->pid = slot->output != NULL ? fork() : -1;
	if (slot->pid == 0) {
		dup2(fileno(slot->output), STDOUT_FILENO);
		dup2(fileno(slot->output), STDERR_FILENO);
		unit_exit(files[file].run() == 0 && fflush(NULL) == 0 ? 0 : 1);
	}
	if (slot->pid < 0) {
		perror(files[file].name);
		exit(1);
	}
}

/* Waits until one has ended, prints its output as a whole, and frees its slot. @return whether none of its tests failed */
static bool
end_one(struct running *slots, size_t nslots)
{
	struct running *ended = slots;
	int status = 0, c;
	pid_t pid = wait(&status);

	assert(pid > 0);
	while (ended < slots + nslots && ended->pid != pid)
		ended++;
	assert(ended < slots + nslots); /* no test leaves a child of this process */
	printf("# %s\n", files[ended->file].name);
	rewind(ended->output);
	while ((c = getc(ended->output)) != EOF)
		putchar(c);
	fclose(ended->output);
	ended->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	fprintf(stderr, "FAILED: %s\n", files[ended->file].name);
	return false;
}

/* All files, several at a time: many wait for real time to pass. @return exit code */
static int
run_all(void)
{
	struct running slots[MAX_RUNNING] = { 0 };
	size_t nslots = (size_t)(FILES_A_CPU * sysconf(_SC_NPROCESSORS_ONLN)), next = 0, failed = 0;

	nslots = nslots > MAX_RUNNING ? MAX_RUNNING : nslots;
	for (size_t ended = 0; ended < NFILES; ended++) {
		for (size_t i = 0; i < nslots && next < NFILES; i++)
			if (slots[i].pid == 0)
				start(&slots[i], next++);
		failed += !end_one(slots, nslots);
	}
	printf("# %zu files, %zu failed\n", NFILES, failed);
	return failed != 0;
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
	if (argc > 2) {
		fprintf(stderr, "usage: %s [NAME]\n", argv[0]);
		return 2;
	}
	return argc == 2 ? run_named(argv[1]) : run_all();
}
