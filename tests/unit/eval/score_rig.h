/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts and truths made by hand, in JSON with single quotes. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eval/judge.h"

/* A step of 1 ms, so that 5 us are in earnest; "a->b" and "b->c" are the collective's, "x->b" and "y->b" others'. */
#define MEANING(anomalies) "{ 'step_ns': 1000000, 'collective_flows': ['a->b', 'b->c'], 'anomalies': [" anomalies "] }"
#define CONTEND(port, one, other, ns, depth)                                                                               \
	"{ 'port': '" port "', 'flows': ['" one "', '" other "'], 'together_ns': " #ns ", 'depth_mean': " #depth " }"
#define PAUSED_BY(port, by, ns, at_end) "{ 'port': '" port "', 'by': '" by "', 'paused_ns': " #ns ", 'at_end': " at_end " }"
#define HOLDING_BY(port, by, flow, ns, at_ns)                                                                              \
	"{ 'port': '" port "', 'by': '" by "', 'paused_ns': 50000, 'at_end': false, 'held': [ { 'flow': '" flow            \
	"', 'held_ns': " #ns ", 'first_ns': " #at_ns ", 'last_ns': " #at_ns " } ] }"
#define HOLDING(port, flow, ns) HOLDING_BY(port, "s", flow, ns, 0)
#define PAUSED(port, ns, at_end) PAUSED_BY(port, "s", ns, at_end)
#define FABRIC_OF(contentions, pauses, overtakings)                                                                        \
	"{ 'contentions': [" contentions "], 'pauses': [" pauses "], 'overtakings': [" overtakings "] }"
#define FABRIC(contentions, pauses) FABRIC_OF(contentions, pauses, "")
#define OVERTOOK(port, flow) "{ 'port': '" port "', 'flow': '" flow "', 'acks': true, 'link_ns': 9000 }"
#define STEP(number) "{ 'rank': 0, 'step': " number " }"
#define FINDING(type, root, ports, flows, victims, steps)                                                                  \
	"{ 'type': '" type "', 'root': '" root "', 'ports': [" ports "], 'flows': [" flows "], 'victims': [" victims       \
	"], 'iterations': [{ 'steps': [" steps "] }] }"
#define QUEUE(type, root, flows) FINDING(type, root, "'" root "'", flows, "'a->b'", STEP("1"))
#define PLAIN(type, root) FINDING(type, root, "'" root "'", "", "'a->b'", STEP("1"))

static json_t *
parse(const char *text)
{
	char quoted[4096];
	json_t *root;
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		assert_true(i + 1 < sizeof(quoted));
		quoted[i] = text[i] == '\'' ? '"' : text[i];
	}
	quoted[i] = '\0';
	root = json_loads(quoted, 0, NULL);
	if (root == NULL)
		fail_msg("no JSON: %s", quoted);
	return root;
}

static void
load(struct truth *truth, const char *meaning, const char *fabric)
{
	json_t *parts[2] = { parse(meaning), parse(fabric) };
	struct err err = { 0 };

	assert_int_equal(truth_init(truth, parts[0], parts[1], &err), 0);
	json_decref(parts[0]);
	json_decref(parts[1]);
}

/* @param findings  of a verdict @param innocent  "true" or "false" */
static enum outcome
outcome(const char *meaning, const char *fabric, const char *findings, const char *innocent)
{
	char text[4096];
	struct truth truth;
	struct err why = { 0 };
	enum outcome result;
	json_t *verdict;

	load(&truth, meaning, fabric);
	snprintf(text, sizeof(text), "{ 'findings': [%s], 'network': { 'innocent': %s } }", findings, innocent);
	verdict = parse(text);
	result = score_verdict(&truth, verdict, &why);
	assert_int_equal(result == OUTCOME_TP, why.text[0] == '\0');
	json_decref(verdict);
	truth_fini(&truth);
	return result;
}
