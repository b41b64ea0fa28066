/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer (papers: "FlowTracer: A Tool for Uncovering Network Path Usage Imbalance in AI Training Clusters"): the ways of
 * all flows, hop by hop as hosts and switches told them, how evenly links carry them (Eq. 1), and, from hosts' reports of
 * steps, what it cost that they do not.
 */
#pragma once

#include "diag/diagnoser.h"

int flowtracer_diagnose(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
void flowtracer_destroy(void *section);
