/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ULL

static uint64_t read_ns(clockid_t id);

uint64_t
clock_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t
clock_since_1970_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t
clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t
clock_peak_rss_bytes(void)
{
	char line[256];
	uint64_t kib = 0;
	FILE *status = fopen("/proc/self/status", "re");

	if (status == NULL)
		return 0;
	while (kib == 0 && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	fclose(status);
	return kib * 1024;
}

uint64_t
clock_sleep_until_ns(uint64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S) };
	uint64_t now_ns;

	while ((now_ns = clock_now_ns()) < until_ns) {
		int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);

		assert(rc == 0 || rc == EINTR);
	}
	return now_ns - until_ns;
}

static uint64_t
read_ns(clockid_t id)
{
	struct timespec now;
	int rc = clock_gettime(id, &now);

	assert(rc == 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
