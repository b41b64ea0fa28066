/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of a run's time, fitted to runs: work of hops and of nodes in a window, against what a window costs where several
 * lcores or machines meet at its end. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One run on one lcore. */
struct scale_sample {
	double hops, windows, nodes, flows; /* a hop: a packet that arrives at a node */
	double cpu_s;
};

/* Terms of the processor time on one lcore, in the order of scale_model.ns. */
enum scale_term {
	SCALE_HOP,    /* a hop */
	SCALE_SPREAD, /* a hop, times the binary logarithm of the nodes: what no near cache holds */
	SCALE_NODE,   /* a node in a window, whether it has packets or not */
	SCALE_BUILD,  /* a node, once */
	SCALE_FLOW,   /* a flow, once */
	SCALE_TERMS
};

struct scale_model {
	double ns[SCALE_TERMS]; /* none is negative */
};

/*
 * Least squares of relative errors. A term that would be negative, or that runs do not tell from others, is 0.
 * @return 0; -ENODATA: too few runs
 */
int scale_model_fit(const struct scale_sample *samples, size_t count, struct scale_model *model);

/* @return processor time on one lcore, in seconds; cpu_s of the sample is not read */
double scale_model_time(const struct scale_model *model, const struct scale_sample *sample);

/* Machines that share a fabric. Every member but the model's is an assumption or a measurement of one machine. */
struct scale_cluster {
	uint32_t machines, cores; /* cores of each */
	double efficiency;        /* of these cores together, 0 to 1 */
	double sync_ns;           /* a window's exchange between machines: latency, and waiting for the slowest */
	double message_ns;        /* a packet that crosses to another machine, at both ends */
	double crossing;          /* of the hops, those to another machine, if there were infinitely many */
};

struct scale_forecast {
	double work_s, sync_s, message_s; /* their sum is the run's time */
};

/* @param work  of the whole fabric. @return the forecast for these machines */
struct scale_forecast scale_model_forecast(const struct scale_model *model, const struct scale_sample *work,
					   const struct scale_cluster *cluster);
