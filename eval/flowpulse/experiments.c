/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/experiments.h"

#include <string.h>

const struct fp_point fp_papers_point = { { 32, 16, 1 }, "adaptive", 10000 };
const struct fp_point fp_random_point = { { 8, 4, 1 }, "random", 1000000 };

const struct fp_method_ops *
fp_own_test(const struct fp_point *point)
{
	return strcmp(point->spraying, "random") == 0 ? &fp_random : &fp_learned;
}

const struct fp_experiment fp_experiments[] = {
	{ "prediction", "volumes of a leaf's ports, predicted and seen (Fig. 2)", fp_exp_prediction },
	{ "relearning", "a transient fault while loads are learned (Fig. 3)", fp_exp_relearning },
	{ "roc", "false positives and negatives by threshold and drop rate (Fig. 5a)", fp_exp_roc },
	{ "radix", "a drop rate of 0.8 % by radix (Fig. 5b)", fp_exp_radix },
	{ "size", "by collective size and drop rate (Fig. 5c)", fp_exp_size },
	{ "known", "with links that are down, or lossy, and known to be (6)", fp_exp_known },
	{ "places", "which link leaves name, with one sender a leaf and with two (Fig. 4)", fp_exp_places },
	{ "flows", "the same with one and with several flows a leaf that leave it at a time (5.1)", fp_exp_flows },
	{ "fib", "the same of a spine that swallows one sender's packets to one receiver", fp_exp_fib },
	{ "priority", "volumes beside other data, in its class and in one of their own (5.1)", fp_exp_priority },
	{ "alarms", "false alarms per port and iteration, asked for and measured", fp_exp_alarms },
	{ "limit", "the smallest drop rate that any test could find, and that ours do", fp_exp_limit },
	{ "pooled", "iterations pooled: drop rates found within so many", fp_exp_pooled },
	{ "bytes", "what leaves the switches: alarms alone, and all counts", fp_exp_bytes },
	{ 0 },
};
