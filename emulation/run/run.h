/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario from its first window to the files it leaves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "emulation/capturing.h"
#include "emulation/partition/partition.h"
#include "plugin/account.h"

struct scenario;

struct run_options {
	struct capture_options capture;
	const char *out;                             /* directory of recording, steps.csv, run.json, truth.json */
	const char *analyzer;                        /* unix socket, NULL: none */
	const char *diagnosers[PLUGIN_PROGRAMS + 1]; /* [ndiagnosers] plugin diagnosers; one more than the limit */
	uint32_t ndiagnosers;
	const char *hosts;      /* directory for the sockets of kernel hosts; NULL: none may connect */
	const char *management; /* directory for management sockets; NULL: that in out */
	uint32_t lcores;
	const char *eal; /* further arguments of DPDK's EAL, NULL: none */
	bool quiet, brief;
	struct partition_options partitions; /* count 0: all of the fabric is here; a job is left at the end */
};

/* @return exit code (common/program.h); err set where nothing has been printed yet */
int run_scenario(const struct run_options *options, struct scenario *scenario, struct err *err);
