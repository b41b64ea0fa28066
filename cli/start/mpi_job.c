/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/mpi_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/private_dir.h"
#include "common/program.h"

/* Prefixes of this program's own messages: common/log.h. */
#define OURS "dpswitch: "
#define OURS_TOO "rocelab"

int
mpi_job_rank(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	return rank != NULL ? atoi(rank) : -1;
}

bool
mpi_job_has_this(void)
{
	return mpi_job_rank() >= 0;
}

/* Searches PATH as a shell does. @return 0, or -ENOPKG with err set */
static int
find_mpirun(char path[PATH_MAX], struct err *err)
{
	const char *folders = getenv("PATH");
	size_t length;

	for (; folders != NULL && *folders != '\0'; folders += length + (folders[length] == ':')) {
		length = strcspn(folders, ":");
		if (snprintf(path, PATH_MAX, "%.*s/mpirun", (int)length, folders) < PATH_MAX && access(path, X_OK) == 0)
			return 0;
	}
	return err_set(err, -ENOPKG,
		       "there is no mpirun: install openmpi-bin (scripts/setup does), or leave --processes out");
}

/* Processes share this machine's CPUs, however many it has, and keep those that they are given. */
static int
add_mpirun(struct child_args *args, const char *count, struct err *err)
{
	static const char *const words[] = { "mpirun",          "--quiet",   "--enable-recovery",
					     "--oversubscribe", "--bind-to", "none",
					     "--stdin",         "none",      "-np" };
	int ret = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && ret == 0; i++)
		ret = child_add(args, words[i], err);
	return ret == 0 ? child_add(args, count, err) : ret;
}

static void
set_environment(void)
{
	/* In a container everybody may be root. */
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	/* All of it is on this machine: mpirun and its processes need no network. */
	setenv("OMPI_MCA_oob_tcp_if_include", "lo", 0);
}

pid_t
mpi_job_start(struct mpi_job *job, uint32_t processes, const char *dir, const struct child_args *args, struct err *err)
{
	struct child_args all = { .apart = true };
	char path[PATH_MAX], program[PATH_MAX], count[16];
	int pipes[2], ret = find_mpirun(path, err);

	*job = (struct mpi_job){ .from = -1 };
	if (ret == 0)
		ret = child_find("dpswitch", "dpswitch", program, sizeof(program), err);
	snprintf(count, sizeof(count), "%u", processes);
	snprintf(job->status, sizeof(job->status), "%s/job", dir);
	if (ret == 0)
		ret = add_mpirun(&all, count, err);
	if (ret == 0)
		ret = child_add(&all, program, err);
	for (size_t i = 1; i < args->count && ret == 0; i++)
		ret = child_add(&all, args->argv[i], err);
	if (ret < 0 || child_add(&all, "--processes", err) < 0 || child_add(&all, "--status", err) < 0 ||
	    child_add(&all, job->status, err) < 0)
		return ret < 0 ? ret : -E2BIG;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_set(err, -errno, "no pipe for mpirun: %s", strerror(errno));
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	set_environment();
	all.stderr_fd = pipes[1];
	job->pid = child_start(path, &all, false, err);
	close(pipes[1]);
	job->from = pipes[0];
	if (job->pid < 0)
		close(pipes[0]);
	return job->pid;
}

static void
take_line(struct mpi_job *job)
{
	job->line[job->used] = '\0';
	job->used = 0;
	if (strncmp(job->line, OURS, strlen(OURS)) == 0 || strncmp(job->line, OURS_TOO, strlen(OURS_TOO)) == 0)
		fprintf(stderr, "%s\n", job->line);
	else if (job->why[0] == '\0' && job->line[0] != '\0' && job->line[0] != '-')
		snprintf(job->why, sizeof(job->why), "%.*s", (int)sizeof(job->why) - 1, job->line);
}

void
mpi_job_tend(struct mpi_job *job)
{
	char bytes[4096];
	ssize_t got;

	while (job->from >= 0 && (got = read(job->from, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n') {
				take_line(job);
				job->cut = false;
				continue;
			}
			if (!job->cut)
				job->line[job->used++] = bytes[i];
			job->cut |= job->used == sizeof(job->line) - 1;
		}
}

void
mpi_job_interrupt(pid_t pid)
{
	/* mpirun hands this one on; at SIGTERM it would kill all. */
	kill(pid, SIGUSR1);
}

/* @return numbers that the first process has written: its pid, at its end the exit code too */
static int
read_status(const struct mpi_job *job, int *pid, int *code)
{
	FILE *file = fopen(job->status, "re");
	int count = file != NULL ? fscanf(file, "%d %d", pid, code) : 0;

	if (file != NULL)
		fclose(file);
	return count;
}

pid_t
mpi_job_first(const struct mpi_job *job)
{
	int pid, code;

	return read_status(job, &pid, &code) > 0 ? pid : 0;
}

int
mpi_job_end(struct mpi_job *job)
{
	int pid, code, count = read_status(job, &pid, &code);
	char failed[sizeof(job->status) + sizeof(PRIVATE_DIR_FAILED)];

	snprintf(failed, sizeof(failed), "%s" PRIVATE_DIR_FAILED, job->status);
	mpi_job_tend(job);
	if (job->used != 0)
		take_line(job);
	close(job->from);
	job->from = -1;
	unlink(job->status);
	if (count == 2 && code == EXIT_NOT_BEGUN && access(failed, F_OK) == 0)
		return EXIT_FAILED;
	if (count == 2)
		return code;
	if (count == 1)
		return CHILD_KILLED + SIGKILL;
	log_error("mpirun started no process%s%s", job->why[0] != '\0' ? ": " : "", job->why);
	return EXIT_NOT_BEGUN;
}
