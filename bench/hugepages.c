/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/hugepages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIR "/sys/kernel/mm/hugepages/hugepages-2048kB/"

/* @return a count; -1: none is told */
static long
read_count(const char *path)
{
	FILE *file = fopen(path, "r");
	long count = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%ld", &count) != 1)
		count = -1;
	fclose(file);
	return count;
}

static int
set_count(long count)
{
	FILE *file = fopen(DIR "nr_hugepages", "w");
	int ret = file != NULL && fprintf(file, "%ld\n", count) > 0 ? 0 : -1;

	if (file != NULL && fclose(file) != 0)
		ret = -1;
	return ret;
}

/* Another process, which nothing that ends this one ends, too. */
static void
keep(int alive, long before)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (read(alive, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(set_count(before) == 0 ? 0 : 1);
}

/* @return 0 with somebody who gives back what there will be more than before */
static int
start_holder(struct hugepages *pages, long before, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pages->holder = fork();
	if (pages->holder == 0) {
		close(ends[1]);
		keep(ends[0], before);
	}
	close(ends[0]);
	pages->alive = ends[1];
	if (pages->holder > 0)
		return 0;
	pages->holder = 0;
	close(ends[1]);
	return err_set(err, -errno, "fork: %s", strerror(errno));
}

int
hugepages_ask(struct hugepages *pages, unsigned long count, struct err *err)
{
	long before = read_count(DIR "nr_hugepages"), free = read_count(DIR "free_hugepages");
	int ret;

	*pages = (struct hugepages){ 0 };
	if (free >= (long)count)
		return 0;
	if (before < 0 || free < 0)
		return err_set(err, -ENOTSUP, "this kernel has no hugepages of 2 MB");
	if (access(DIR "nr_hugepages", W_OK) < 0)
		return err_set(err, -EPERM, "%ld hugepages are free, and %lu wanted, which root can have", free, count);
	ret = start_holder(pages, before, err);
	if (ret < 0)
		return ret;
	if (set_count(before - free + (long)count) == 0 && read_count(DIR "free_hugepages") >= (long)count)
		return 0;
	hugepages_give_back(pages);
	return err_set(err, -ENOMEM, "the kernel has no %lu hugepages of 2 MB", count);
}

void
hugepages_give_back(struct hugepages *pages)
{
	if (pages->holder == 0)
		return;
	close(pages->alive);
	while (waitpid(pages->holder, NULL, 0) < 0 && errno == EINTR)
		;
	*pages = (struct hugepages){ 0 };
}
