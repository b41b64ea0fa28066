/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program of a folder of unit tests: runs the file that is named, or all, each in a process of its own. The output of
 * files that failed is printed last, and then a line for each, which names its tests that failed. Where a signal ends the
 * program, as a limit of time does, these are the files and tests that were running.
 */
#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
#define LINE_BYTES 512
#define STILL_RUNNING ": still running:" /* when a signal asked for the end */

/* A file that is being run in a process of its own. */
struct running {
	pid_t pid; /* 0: none */
	size_t file;
	FILE *output;
};

/* Of files that failed: printed last, as people read the end. */
struct failures {
	size_t nfiles;
	FILE *outputs, *lines;
	char *outputs_text, *lines_text;
	size_t outputs_bytes, lines_bytes;
};

static void
start(struct running *slot, size_t file, const sigset_t *awaited)
{
	slot->file = file;
	slot->output = tmpfile();
	fflush(NULL);
	slot->pid = slot->output != NULL ? fork() : -1;
	if (slot->pid == 0) {
		sigprocmask(SIG_UNBLOCK, awaited, NULL);
		dup2(fileno(slot->output), STDOUT_FILENO);
		dup2(fileno(slot->output), STDERR_FILENO);
		unit_exit(files[file].run() == 0 && fflush(NULL) == 0 ? 0 : 1);
	}
	if (slot->pid < 0) {
		perror(files[file].name);
		exit(1);
	}
}

/* Prints the output of a file, and frees its slot. @param failure how it failed, or NULL */
static void
print_file(struct running *ended, const char *failure, struct failures *failures)
{
	char line[LINE_BYTES], test[LINE_BYTES], began[LINE_BYTES] = "";
	FILE *to = failure != NULL ? failures->outputs : stdout;

	if (failure != NULL) {
		fprintf(to, "# %s\n", files[ended->file].name);
		fprintf(failures->lines, "FAILED: %s%s", files[ended->file].name, failure);
		failures->nfiles++;
	}
	rewind(ended->output);
	while (fgets(line, sizeof(line), ended->output) != NULL) {
		fputs(line, to);
		if (sscanf(line, "[ RUN ] %s", test) == 1) {
			memcpy(began, test, sizeof(began));
		} else if (sscanf(line, "[ FAILED ] %s", test) == 1 && strcmp(test, began) == 0) {
			fprintf(failures->lines, " %s", test);
			began[0] = '\0';
		} else if (sscanf(line, "[ OK ] %s", test) == 1 || sscanf(line, "[ SKIPPED ] %s", test) == 1) {
			began[0] = '\0';
		}
	}
	if (failure != NULL)
		fprintf(failures->lines, "%s%s\n", began[0] != '\0' ? " in " : "", began);
	fclose(ended->output);
	ended->pid = 0;
}

/* A process has ended. */
static void
end_one(struct running *slots, pid_t pid, int status, const struct rusage *used, struct failures *failures)
{
	struct running *ended = slots;
	char by_signal[LINE_BYTES];
	int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	while (ended < slots + MAX_RUNNING && ended->pid != pid)
		ended++;
	assert(ended < slots + MAX_RUNNING); /* no test leaves a child of this process */
	printf("# %s: %.2f s of processor time\n", files[ended->file].name,
	       (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
		       (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6);
	snprintf(by_signal, sizeof(by_signal), ": ended by %s:", strsignal(signal_number));
	/* What ends this process group may reach a file's process first: it was running. */
	if (signal_number == SIGTERM || signal_number == SIGINT)
		print_file(ended, STILL_RUNNING, failures);
	else if (signal_number != 0)
		print_file(ended, by_signal, failures);
	else
		print_file(ended, WEXITSTATUS(status) == 0 ? NULL : ":", failures);
	fflush(stdout);
}

/* A signal asks for the end of what is running. */
static void
end_all(struct running *slots, struct failures *failures)
{
	for (struct running *slot = slots; slot < slots + MAX_RUNNING; slot++)
		if (slot->pid != 0) {
			kill(slot->pid, SIGKILL);
			print_file(slot, STILL_RUNNING, failures);
		}
}

/* All files, several at a time: many wait for real time to pass. @return how many were begun */
static size_t
run_files(struct failures *failures)
{
	struct running slots[MAX_RUNNING] = { 0 };
	size_t nslots = (size_t)(FILES_A_CPU * sysconf(_SC_NPROCESSORS_ONLN)), next = 0, ended = 0;
	struct rusage used;
	int number, status;
	sigset_t awaited;
	pid_t pid;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGINT);
	sigaddset(&awaited, SIGTERM);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	nslots = nslots > MAX_RUNNING ? MAX_RUNNING : nslots;
	while (ended < NFILES) {
		for (size_t i = 0; i < nslots && next < NFILES; i++)
			if (slots[i].pid == 0)
				start(&slots[i], next++, &awaited);
		if (sigwait(&awaited, &number) != 0 || number != SIGCHLD) {
			end_all(slots, failures);
			return next;
		}
		for (; (pid = wait4(-1, &status, WNOHANG, &used)) > 0; ended++)
			end_one(slots, pid, status, &used, failures);
	}
	return next;
}

/* @return exit code */
static int
run_all(void)
{
	struct failures failures = { 0 };
	size_t begun;

	failures.outputs = open_memstream(&failures.outputs_text, &failures.outputs_bytes);
	failures.lines = open_memstream(&failures.lines_text, &failures.lines_bytes);
	if (failures.outputs == NULL || failures.lines == NULL) {
		perror("open_memstream");
		return 1;
	}
	begun = run_files(&failures);
	fclose(failures.outputs);
	fclose(failures.lines);
	printf("# %zu files, %zu failed, %zu not begun\n", NFILES, failures.nfiles, NFILES - begun);
	fflush(stdout);
	fprintf(stderr, "%s%s", failures.outputs_text, failures.lines_text);
	free(failures.outputs_text);
	free(failures.lines_text);
	return failures.nfiles != 0;
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
