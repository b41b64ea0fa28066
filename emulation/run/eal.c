/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/eal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dpswitch/lcore/launch.h"
#include "scenario/frame_pools.h"

/* Of the pools' memory: what their ends leave unused, and each its own. */
#define UNUSED_SHARE 8
#define POOL_MB 2
#define BYTES_PER_MB (1024 * 1024)

/*
 * With nothing to do, lcores poll where nobody else needs their CPUs: other parts of the fabric, which are taken to run here,
 * kernels that run here as hosts, and all else, for which one is left.
 */
static void
choose_idle(const struct run_options *options, struct scenario *scenario)
{
	uint32_t need = options->lcores * (options->partitions.count != 0 ? options->partitions.count : 1) + 1;
	bool guests = false;

	if (scenario->timing.idle != IDLE_AUTO)
		return;
	for (size_t i = 0; i < scenario->nhost_configs; i++)
		guests |= host_kinds[scenario->host_configs[i].kind].guest != NULL;
	need += guests;
	scenario->timing.idle = lcore_process_cpus() >= need ? IDLE_BUSY : IDLE_SLEEP;
}

/* The sum, and of what. */
static void
print_memory(const struct frame_pools *pools, uint32_t memory_mb, uint32_t frames_mb)
{
	char each[48];

	if (pools->least == pools->most)
		snprintf(each, sizeof(each), "%u", pools->most);
	else
		snprintf(each, sizeof(each), "%u to %u", pools->least, pools->most);
	printf("# DPDK: %u MB in %s, %u of them for frames of up to %u B: %s for each of %u ports\n", memory_mb,
	       lcore_has_hugepages() ? "hugepages" : "ordinary pages", frames_mb, pools->room_bytes, each, pools->ports);
}

/* Room for the frames of external hosts; NICs are looked for where one is a port by its PCI address. */
int
eal_start(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct lcore_config config = {
		.lcores = options->lcores,
		.eal = options->eal,
		.memory_mb = LCORE_MEMORY_MB,
	};
	struct frame_pools pools;
	uint32_t frames_mb = 0;

	if (scenario->nexternal != 0) {
		if (frame_pools_sum(scenario, &pools) < 0)
			return err_set(err, -ENOMEM, "out of memory for hosts");
		if (options->partitions.count != 0)
			pools.bytes *= 2; /* as many may come over cut cables */
		frames_mb = (uint32_t)((pools.bytes + BYTES_PER_MB - 1) / BYTES_PER_MB);
		config.memory_mb += frames_mb + frames_mb / UNUSED_SHARE + (pools.ports + 1) * POOL_MB;
	}

	for (size_t i = 0; i < scenario->nhost_configs; i++)
		config.pci |= host_kinds[scenario->host_configs[i].kind].remote &&
			      isxdigit((unsigned char)scenario->host_configs[i].port[0]) &&
			      strchr(scenario->host_configs[i].port, ':') != NULL;
	if (lcore_init(&config, err) < 0)
		return -EIO;
	choose_idle(options, scenario);
	if (scenario->nexternal != 0 && !options->quiet)
		print_memory(&pools, config.memory_mb, frames_mb);
	return 0;
}
