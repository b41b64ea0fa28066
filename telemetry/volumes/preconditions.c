/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/preconditions.h"

#include "telemetry/volumes/detect_noise.h"

const struct volumes_precondition volumes_preconditions[VOLUMES_TESTS] = {
	/* What a single port loses arrives later by the same port: nothing is missing. */
	[VOLUMES_TEST_THRESHOLD] = { .name = "threshold",
				     .least_ports = 2,
				     .most_ports = UINT32_MAX,
				     .otherwise = REC_FLAW_FEW },
	/* Each packet is a draw of its own: the variance follows from the number of packets, however few the ports are. */
	[VOLUMES_TEST_RANDOM] = { .name = "random",
				  .least_ports = 2,
				  .most_ports = UINT32_MAX,
				  .needs_random = true,
				  .otherwise = REC_FLAW_FEW },
	/* A port is judged by the others, whose own fault is among their noise: one of three others may be left out. */
	[VOLUMES_TEST_LEARNED] = { .name = "learned",
				   .least_ports = DETECT_MIN_PORTS,
				   .most_ports = DETECT_MAX_PORTS,
				   .needs_learning = true,
				   .otherwise = REC_FLAW_FEW },
	[VOLUMES_TEST_HALF] = { .name = "half",
				.least_ports = DETECT_MIN_PORTS,
				.most_ports = DETECT_MAX_HALVED,
				.needs_learning = true,
				.otherwise = REC_FLAW_FEW },
};

bool
volumes_can_judge(enum volumes_test test, const struct volumes_basis *basis)
{
	const struct volumes_precondition *row = &volumes_preconditions[test];

	return basis->ports >= row->least_ports && basis->ports <= row->most_ports &&
	       (basis->is_random || !row->needs_random) && (!basis->is_random || !row->needs_learning);
}

bool
volumes_knows_noise(const struct volumes_basis *basis)
{
	return volumes_can_judge(VOLUMES_TEST_RANDOM, basis) || volumes_can_judge(VOLUMES_TEST_LEARNED, basis);
}
