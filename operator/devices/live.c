/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/run_files.h"
#include "dpswitch/control/switch_sockets.h"
#include "operator/devices/devices.h"
#include "scenario/scenario.h"

/*
 * A turn takes a quarter of the time since the last one, so that a fifth of the machine's time at most goes to
 * operators.
 */
#define TURN_SHARE 4
/* More frequent turns would find no request. */
#define TURN_GAP_NS 50000

struct live {
	struct devices devices;
	struct switch_sockets *sockets;
	uint64_t served_ns; /* end of the last turn, by the machine's clock */
	char dir[PATH_MAX];
};

static void
answer(void *state, uint64_t now_ps)
{
	struct live *live = state;
	uint64_t since_ns = clock_now_ns() - live->served_ns;

	(void)now_ps; /* the machine's clock alone counts */
	if (live->sockets == NULL || since_ns < TURN_GAP_NS)
		return;
	switch_sockets_turn(live->sockets, since_ns / TURN_SHARE);
	live->served_ns = clock_now_ns();
}

static const struct run_service service_live = {
	.name = "management",
	.answer = answer,
};

/* @return 0 or negative errno with err */
static int
open_all(struct live *live, const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct management_params *params = &emulation->scenario->management;
	struct switch_sockets_config config = {
		.dir = live->dir,
		.rtt_ns = params->rtt_ps / PS_PER_NS,
		.greeting_rtts = (uint32_t)params->greeting_rtts,
	};
	int ret;

	if (snprintf(live->dir, sizeof(live->dir), "%s/" RUN_MANAGEMENT, dir) >= (int)sizeof(live->dir))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	ret = run_dir_make(live->dir, err);
	if (ret >= 0)
		ret = devices_init(&live->devices, emulation, err);
	if (ret < 0)
		return ret;
	config.devices = live->devices.devices;
	config.ndevices = live->devices.count;
	live->sockets = switch_sockets_create(&config, err);
	return live->sockets != NULL ? 0 : -errno;
}

struct live *
live_create(struct emulation *emulation, const char *dir, struct err *err)
{
	struct live *live = calloc(1, sizeof(*live));
	int ret = live != NULL ? open_all(live, emulation, dir, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		return live;
	live_destroy(live);
	errno = -ret;
	return NULL;
}

void
live_begin(struct live *live, struct emulation *emulation)
{
	if (live == NULL)
		return;
	live->served_ns = clock_now_ns();
	emulation_attach(emulation, &service_live, live);
}

void
live_end(struct live *live)
{
	if (live == NULL)
		return;
	switch_sockets_destroy(live->sockets);
	live->sockets = NULL;
	rmdir(live->dir);
}

void
live_destroy(struct live *live)
{
	if (live == NULL)
		return;
	switch_sockets_destroy(live->sockets);
	if (live->dir[0] != '\0')
		rmdir(live->dir);
	devices_fini(&live->devices);
	free(live);
}
