/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of all benchmarks. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/record/kinds.h"
#include "dpswitch/edge/port/port_round.h"

#define BENCH_MAX_REPEATS 20

struct study;

struct bench_options {
	int repeats; /* of every case; pairs of runs where `against` is set */
	bool json;
	/* Options of `stages`: */
	int k, rate_gbps;
	/* Options of `fabric`: */
	const char *against; /* NULL, or what the programs are compared with: a path */
	int percent;         /* of the cases' full size, 1 to 100 */
	const char *only;    /* NULL, or a part of the names of the cases that are meant */
};

/* rocelab bench agent: the cost of R-Pingmesh's agents to hosts and network (R-Pingmesh 6, Fig. 7). */

/*
 * Measures as often as the options say and prints the best.
 * @param dir  for a scenario
 * @return 0 or a negative errno with err
 */
int bench_agent(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench analyzer: how fast records become a verdict, and how that grows with the fabric. */

/*
 * Measures every case as often as the options say, short ones more often, and prints the best of each.
 * @param dir  not used
 * @return 0 or a negative errno with err
 */
int bench_analyzer(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench fabric. */

/*
 * Runs every case as often as the options say and prints medians and the best.
 * @param dir  for scratch files, removed by the caller
 * @return 0, or negative errno with err set
 */
int bench_fabric(const char *dir, const struct bench_options *options, struct err *err);

/*
 * Compares these programs with another rocelab, case by case, and prints the median of the pairs' ratios beside the noise
 * of this machine. A ratio below 0.95 by more than the noise is a failure.
 * @param dir  for scratch files, removed by the caller
 * @return 0; -EINVAL with err set: options->against is refused; or another negative errno with err set: a program failed,
 * or a case is slower
 */
int bench_fabric_against(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench monitor: the cost of a host's monitor and detection agent (VEDRFOLNIR Fig. 11). */

/*
 * Measures every case as often as the options say and prints the best of each.
 * @param dir  not used
 * @return 0 or a negative errno with err
 */
int bench_monitor(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench trace: how long FlowTracer takes (Fig. 4, 5), with processes, threads and sockets as they are. */

/*
 * Measures every case as often as the options say and prints the best of each.
 * @param dir  for sockets
 * @return 0 or a negative errno with err
 */
int bench_trace(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench telemetry: the cost of bringing the switches' telemetry to the analyzer, by budget. */

/*
 * Runs every case as often as the options say and prints counts, bytes and lags, which repeat in virtual time, and the best
 * times.
 * @param dir  for scratch files and a socket, removed by the caller
 * @return 0, or negative errno with err set: a run failed, or its counts do not agree
 */
int bench_telemetry(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench stages: each stage of the telemetry path by itself, and the exporter by load. */

/*
 * Runs a fabric once, and every stage over its records as often as the options say.
 * @param dir  for scratch files, removed by the caller
 * @return 0, or negative errno with err set: a run failed, or counts do not agree
 */
int bench_stages(const char *dir, const struct bench_options *options, struct err *err);

/* Slow and stopped analyzers: a part of rocelab bench stages. */

#define BENCH_THROTTLES 6

struct bench_throttle_case {
	const char *name;
	bool real;        /* time: the run cannot wait */
	uint64_t bytes_s; /* that the analyzer reads; 0: all it can */
	bool stopped;     /* it reads nothing until everything has been offered */
};

extern const struct bench_throttle_case bench_throttle_cases[BENCH_THROTTLES];

/* Reports to offer again and again. */
struct bench_load {
	const uint8_t *records; /* by time */
	size_t used_bytes;
	uint64_t span_ps; /* after the last of them the first comes again */
};

struct bench_throttle {
	uint64_t made, received, dropped, bytes; /* records; bytes of frames, with those that were dropped */
	uint64_t dropped_of[RECORD_KINDS];
	uint64_t spent_ns, longest_ns; /* of the thread that offers: wall time in the exporter, and of one call */
	uint64_t end_ps;
};

/*
 * Offers the load to an analyzer that reads as the case has it.
 * @return 0, or negative errno with err set: received and dropped records are not those made
 */
int bench_throttle_measure(const struct bench_load *load, size_t which, struct bench_throttle *result, struct err *err);

/* rocelab bench state: bytes of telemetry that a port and a flow keep, by structure. The same on any 64-bit machine. */

/* @param dir  for a scenario. @return 0 or negative errno with err */
int bench_state(const char *dir, const struct bench_options *options, struct err *err);

/* rocelab bench epochs: in real time, when an epoch is at the analyzer, and in which stage the time goes. */

/*
 * Runs every case as often as the options say and prints the run with the least median. Guests that do not run here are no
 * error.
 * @param dir  for scratch files, removed by the caller
 * @return 0, or negative errno with err set: a run failed, or its counts do not agree
 */
int bench_epochs(const char *dir, const struct bench_options *options, struct err *err);

/*
 * Benchmarks that keep their runs in a folder: tests of the BMWG's drafts on AI fabrics; speed against size, and a
 * model of it; and, as rocelab bench telemetry SCENARIO|FAMILY..., the accuracy that a telemetry budget buys.
 */
extern const struct study bench_ai_fabric, bench_scale, bench_tradeoff;

/* rocelab bench realtime. */

/*
 * Measures and prints.
 * @param dir  for scratch files, removed by this call
 * @return 0, or negative with err set
 */
int bench_realtime(const char *dir, const struct bench_options *options, struct err *err);

/*
 * The analyzer's end of the socket, for rocelab bench telemetry: takes a run's records in as the analyzer does, and
 * counts.
 */

/* Bytes up to here were with the evidence by then. */
struct tap_portion {
	size_t end_bytes;
	uint64_t got_ns;   /* clock_now_ns() when they had been read */
	uint64_t taken_ns; /* and when they were with the evidence */
};

/* The records received over the socket. Zero-initialise. */
struct bench_tap {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	struct tap_portion *portions;
	size_t nportions, cap_portions;
	uint64_t begun_ns;   /* clock_now_ns() at the first byte */
	uint64_t take_in_ns; /* processor time */
};

/* Time from an epoch's end until the analyzer knows its row, over all reported epochs. */
struct tap_lag {
	double p50_us, p99_us, max_us;
};

#define BENCH_MAX_SWITCHES 1024 /* further ones are not in by_switch */

struct tap_counts {
	uint64_t made;               /* records, by the run's own account (REC_END) */
	uint64_t on_time, held_back; /* received: sent at their own time, or later */
	uint64_t dropped;            /* reported by gaps */
	uint64_t bytes;              /* of frames and gaps */
	uint64_t frames, epochs;
	uint64_t fullest_bytes;                 /* the most that left in a millisecond of the run's time */
	uint64_t by_switch[BENCH_MAX_SWITCHES]; /* [nswitches] records received of each */
	uint32_t nswitches;
	struct tap_lag run;  /* in the run's time, until the budget let the row go */
	struct tap_lag wall; /* until the evidence had it; 0 without a zero_ns */
	/* Means over epochs: from its end to its row; until the budget let it go; then until it was read, and joined. */
	double made_us, released_us, received_us, joined_us;
};

/*
 * Takes in a stream to its end, from the program that connects.
 * @param listener  of unix_listen()
 * @param sender    the process that is to connect
 * @return 0, or negative errno with err set: it ended without connecting, or the stream is none
 */
int bench_tap_read(struct bench_tap *tap, int listener, pid_t sender, struct err *err);

/*
 * Counts the received records, and compares them with the run's own account.
 * @param zero_ns  clock_now_ns() at the run's time 0; 0: the run's time is virtual
 * @return 0, or -EPROTO with err set: the records made are not those received and dropped
 */
int bench_tap_count(const struct bench_tap *tap, uint64_t zero_ns, struct tap_counts *counts, struct err *err);

/*
 * Runs dpswitch with this process for its analyzer.
 * @param dir     for the run's files and the socket
 * @param lcores  NULL: as many as it takes itself
 * @param run     its run.json, the caller's to release
 * @return 0, or negative errno with err set
 */
int bench_tap_run(struct bench_tap *tap, const char *scenario, const char *dir, const char *lcores, json_t **run,
		  struct err *err);

/*
 * Counts the recording of a run in a folder, by the times that its analyzer noted (rocelab run --arrivals).
 * @return as bench_tap_count(); -EPROTO too where the analyzer did not receive all of the recording
 */
int bench_tap_recording(const char *dir, uint64_t zero_ns, struct tap_counts *counts, struct err *err);

void bench_tap_fini(struct bench_tap *tap);

/* The cost of FlowPulse's monitors to a sprayed fabric: a part of rocelab bench telemetry. */

/*
 * One fabric with a faulty link: without monitors, with monitors that report alarms, and with those that report all
 * volumes.
 */
#define BENCH_VOLUMES_CASES 3

struct bench_volumes {
	double hop_ns[BENCH_VOLUMES_CASES]; /* processor time of the fabric, of a packet at a node; the least of all runs */
	uint64_t sent_bytes[BENCH_VOLUMES_CASES]; /* by the monitors: records sent without them are left out */
	uint64_t port_bytes;                      /* memory of a monitor, by its ports */
};

/*
 * Runs all of them `repeats` times, in turn.
 * @param dir       for scratch files, removed by the caller
 * @param dpswitch  its path
 * @return 0, or negative errno with err set
 */
int bench_volumes_measure(struct bench_volumes *bench, const char *dir, const char *dpswitch, int repeats, struct err *err);
void bench_volumes_print(const struct bench_volumes *bench, int repeats);
/* @return a list of rows */
json_t *bench_volumes_json(const struct bench_volumes *bench);

/* The gain of a second lcore: two pairs of ports on one lcore, on two, and two programs with a pair each. */

/* Frames per second of wall time in each setup's best run, and the share of the CPUs' time that its lcores got. */
struct bench_lcores {
	bool measured; /* false: this process may use one CPU alone */
	double one_pps, two_pps, apart_pps;
	double one_share, two_share, apart_share;
};

/*
 * Takes the three in turn.
 * @param forwarder  path of dpswitch-forward
 * @param dir        for scratch files
 * @return 0, or negative with err set
 */
int bench_lcores_measure(const char *forwarder, const char *dir, int repeats, struct bench_lcores *result, struct err *err);
/* Prints the result in words, and whether this machine was too busy for the figures to mean anything. */
void bench_lcores_print(const struct bench_lcores *result);
json_t *bench_lcores_json(const struct bench_lcores *result);

/*
 * The cost of other kinds of ports: frames go round over memif, vhost or af_packet and one switch, beside DPDK's
 * testpmd.
 */

#define BENCH_ROUND_KINDS (PORT_ROUND_KINDS - 1)

/* Processor time per round of one kind of port, ns: of all processes and threads in it. */
struct bench_round {
	const char *kind;
	double packet_ns;         /* median */
	double io_ns, macswap_ns; /* 0: no testpmd */
	struct err why;           /* text: it was not measured, and why */
};

/*
 * Takes the kinds in turn; a kind that the machine lacks is reported in its row.
 * @param forwarder  path of dpswitch-forward
 * @param dir        for scratch files
 * @param rows       [BENCH_ROUND_KINDS]
 * @return 0, or negative with err set
 */
int bench_round_measure(const char *forwarder, const char *dir, int repeats, struct bench_round *rows, struct err *err);
void bench_round_print(const struct bench_round *rows);
json_t *bench_round_json(const struct bench_round *rows);

/* Arithmetic of a comparison by pairs of runs: each pair gives a ratio, this program's rate by the other's. */

/* A median ratio below this is slower, unless noise explains it. */
#define PAIRS_BAR 0.95

/*
 * @param values  [count], not empty; sorted by this call. @return their median: the mean of the middle two of an even count
 */
double pairs_median(double *values, size_t count);

/*
 * The noise of a median of `count` ratios: two standard errors. It is estimated from as many pairs of a program with
 * itself, whose true ratio is 1: the median distance of their logarithms from 0 is robust against single disturbed runs.
 * The factors of a normal distribution are 1.4826 from that to the standard deviation, and sqrt(pi/2) from a mean's error
 * to a median's.
 * @param own  ratios of the program with itself, [count], positive, at least one
 * @return a share: 0.02 for 2 % up or down
 */
double pairs_noise(const double *own, size_t count);

/*
 * @return whether a program that loses twice as much as the bar allows could pass in this noise: a pass then shows
 *         little
 */
bool pairs_noisy(double noise);

/* @return whether a median ratio is below the bar by more than the noise, a share of the ratio */
bool pairs_slower(double ratio, double noise);
