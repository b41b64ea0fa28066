/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of rocelab bench fabric, and one run of one of them by a given dpswitch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct fabric_case {
	const char *name;
	/* Its scenario. @param percent  of its full size, 1 to 100: the bytes of every message */
	void (*write)(FILE *to, int percent);
	bool telemetry;
	const char *lcores;
	const char *set; /* NULL, or a key of it */
};

#define FABRIC_CASES 13
extern const struct fabric_case fabric_cases[FABRIC_CASES];

/* @param only  NULL (all), or a part of its name */
bool fabric_case_is_meant(const struct fabric_case *c, const char *only);

/* Of one run, by its run.json. */
struct fabric_run {
	double mhops; /* a second of processor time, of all lcores */
	double hops, fast_share, buffer_kib;
};

/*
 * Writes a case's scenario and runs it.
 * @param dpswitch  path of the program
 * @param dir       for scratch files
 * @return 0, or negative errno with err set: the program failed (-EIO), or its run.json is not understood (-EPROTO)
 */
int fabric_case_run(const struct fabric_case *c, int percent, const char *dpswitch, const char *dir, struct fabric_run *run,
		    struct err *err);

/* This machine's processor, as the kernel names it ("AMD EPYC", family and model). @return text */
const char *fabric_cpu(char *text, size_t cap);

/*
 * The cost of a plain mac-swap hop through a net_ring port, by `dpswitch --calibration`.
 * @return ns, or negative with err set
 */
double fabric_macswap_ns(const char *dpswitch, const char *dir, struct err *err);
