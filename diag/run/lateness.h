/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lateness of the machine that ran a fabric in real time (LATENESS records), and the part of the times by hosts'
 * clocks that it may explain. All of it are upper bounds: times within them may be the machine's, and no finding can be
 * sure of them.
 */
#pragma once

#include "diag/run/run.h"

/* The part of a time that the machine may account for. */
struct run_machine {
	uint64_t most_ps;       /* by measurement, at most */
	uint64_t unmeasured_ps; /* without a measurement */
};

/*
 * The time that a kernel host may have waited for a processor in [from_ps, to_ps). The kernel counts a wait when it
 * ends, so a wait counted in an interval may have been before it, by its own length. Other hosts: 0.
 */
struct run_machine run_waited(const struct run *run, uint32_t host, uint64_t from_ps, uint64_t to_ps);
/* How long the fabric's windows were behind the clock in [from_ps, to_ps), those of all parts in sum. */
struct run_machine run_behind(const struct run *run, uint64_t from_ps, uint64_t to_ps);

/* Is this a kernel host, whose times a late machine alters? */
bool run_is_kernel_timed(const struct run *run, uint32_t host);

/*
 * The share of a claim that the machine may explain: measured time counts in full, and unmeasured time by half, as in
 * all confidences.
 * @param claim_ps     of a time, above 0
 * @param unmeasured   share of that time, 0 to 1
 * @return 0 (none of it) to 1 (all of it): no finding has more confidence than 1 minus this
 */
double run_machine_share(double claim_ps, double most_ps, double unmeasured);

/*
 * The time by which a step's host was late, or computed for longer than configured, beyond its longest possible wait
 * for a processor.
 */
uint64_t run_host_own_ps(const struct run *run, const struct run_step *step);
/* A slow step, whose lost time the machine may explain alone? */
bool run_is_machines(const struct run *run, const struct run_step *step);
