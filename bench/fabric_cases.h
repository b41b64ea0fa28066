/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of rocelab bench fabric, and one run of one of them by a given dpswitch. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* A dpswitch to measure. */
struct fabric_program {
	char path[PATH_MAX];
	bool has_profiles; /* it knows switch.profile and host.profile: runs have ns3's, the only values before */
};

/*
 * Finds out what a program knows. @param program  with its path
 * @param dir  for scratch files
 * @return 0, or negative errno with err set: it cannot be started
 */
int fabric_program_probe(struct fabric_program *program, const char *dir, struct err *err);

struct fabric_case {
	const char *name;
	/* Writes the case's scenario. @param percent  of its full size, 1 to 100: the bytes of every message */
	void (*write)(FILE *to, int percent);
	bool telemetry;
	const char *lcores;
	const char *set; /* NULL, or a key of it */
};

#define FABRIC_CASES 13
extern const struct fabric_case fabric_cases[FABRIC_CASES];

/* @param only  NULL (all), or a part of its name */
bool fabric_case_is_meant(const struct fabric_case *c, const char *only);

/*
 * Finds out whether a program takes a case: an older one may not know a key of its scenario, and refuses it.
 * @param program  as fabric_program_probe() left it
 * @param dir      for scratch files
 * @param known    out: false, if it refuses the scenario
 * @return 0, or negative errno with err set: it cannot be started
 */
int fabric_case_probe(const struct fabric_case *c, const struct fabric_program *program, const char *dir, bool *known,
		      struct err *err);

/* Results of one run, from its run.json. */
struct fabric_run {
	double mhops; /* a second of processor time, of all lcores */
	double hops, fast_share, buffer_kib;
};

/*
 * Writes a case's scenario and runs it, with the profiles ns3: a case stays what it is whatever the defaults are.
 * @param dir  for scratch files
 * @return 0, or negative errno with err set: the program failed (-EIO), or its run.json is not understood (-EPROTO)
 */
int fabric_case_run(const struct fabric_case *c, int percent, const struct fabric_program *program, const char *dir,
		    struct fabric_run *run, struct err *err);

/* This machine's processor, as the kernel names it ("AMD EPYC", family and model). @return text */
const char *fabric_cpu(char *text, size_t cap);

/*
 * The cost of a plain mac-swap hop through a net_ring port, by `dpswitch --calibration`.
 * @return ns, or negative with err set
 */
double fabric_macswap_ns(const char *dpswitch, const char *dir, struct err *err);
