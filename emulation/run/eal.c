/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/eal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dpswitch/lcore/launch.h"

/* PORT_MBUFS of PORT_FRAME_ROOM each, and what comes with them. */
#define PORT_MEMORY_MB 48

/*
 * With nothing to do, lcores poll where nobody else needs their CPUs: other parts of the fabric, which are taken to run here,
 * kernels that run here as hosts, and all else, for which one is left.
 */
static void
choose_idle(const struct run_options *options, struct scenario *scenario)
{
	uint32_t need = options->lcores * (options->parts.count != 0 ? options->parts.count : 1) + 1;
	bool guests = false;

	if (scenario->timing.idle != IDLE_AUTO)
		return;
	for (size_t i = 0; i < scenario->nhost_configs; i++)
		guests |= host_kinds[scenario->host_configs[i].kind].guest != NULL;
	need += guests;
	scenario->timing.idle = lcore_process_cpus() >= need ? IDLE_BUSY : IDLE_SLEEP;
}

/* Room for the frames of external hosts; NICs are looked for where one is a port by its PCI address. */
int
eal_start(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct lcore_config config = {
		.lcores = options->lcores,
		.eal = options->eal,
		.memory_mb = LCORE_MEMORY_MB + scenario->nexternal * PORT_MEMORY_MB,
	};

	for (size_t i = 0; i < scenario->nhost_configs; i++)
		config.pci |= host_kinds[scenario->host_configs[i].kind].foreign &&
			      isxdigit((unsigned char)scenario->host_configs[i].port[0]) &&
			      strchr(scenario->host_configs[i].port, ':') != NULL;
	if (lcore_init(&config, err) < 0)
		return -EIO;
	choose_idle(options, scenario);
	if (scenario->nexternal != 0 && !options->quiet)
		printf("# DPDK: %u MB, %u of them for the frames of %u ports, in %s\n", config.memory_mb,
		       scenario->nexternal * PORT_MEMORY_MB, scenario->nexternal,
		       lcore_has_hugepages() ? "hugepages" : "ordinary pages");
	return 0;
}
