/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each test of a sender's volumes takes for granted. Where that does not hold the test is silent, and the monitor reports
 * the row's reason: nothing was judged. docs/flowpulse.md, "What a test needs".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/volume.h"

enum volumes_test {
	VOLUMES_TEST_THRESHOLD, /* less than predicted by a share (5.3) */
	VOLUMES_TEST_RANDOM,    /* less than binomial noise explains */
	VOLUMES_TEST_LEARNED,   /* less than the noise of the sender's other ports explains */
	VOLUMES_TEST_HALF,      /* less than the noise of the nearer half of them explains */
	VOLUMES_TESTS
};

/* What a switch knows of a sender before it judges it. */
struct volumes_basis {
	uint32_t ports; /* that something of it is predicted at */
	bool is_random; /* its packets choose among them by themselves, and the noise of the prediction is known */
};

struct volumes_precondition {
	const char *name;
	uint32_t least_ports, most_ports;
	bool needs_random, needs_learning; /* noise is known beforehand; it has to be learned */
	enum rec_flaw otherwise;
};

extern const struct volumes_precondition volumes_preconditions[VOLUMES_TESTS];

/* @return whether a test can judge a sender */
bool volumes_can_judge(enum volumes_test test, const struct volumes_basis *basis);
/* @return whether the noise of a sender's counts can be known, by either of the tests of noise */
bool volumes_knows_noise(const struct volumes_basis *basis);
