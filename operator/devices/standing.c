/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/devices/standing.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/units.h"
#include "operator/devices/devices.h"

#define LOOK_NS 100000000ULL /* between checks for a request to end */

struct standing {
	struct emulation *emulation;
	struct devices devices;
	struct switch_sockets *sockets;
	struct switch_sockets_counts *counts; /* shared with the process that serves, which writes them */
	pid_t pid;                            /* 0: none serves */
};

static int
open_all(struct standing *standing, const struct standing_config *config, struct err *err)
{
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = devices_services };
	struct switch_sockets_config sockets = { .dir = config->dir,
						 .rtt_ns = config->rtt_ns,
						 .greeting_rtts = config->greeting_rtts };

	scenario_embed_hosts(config->scenario);
	standing->emulation = emulation_create(config->scenario, &how, err);
	if (standing->emulation == NULL)
		return -errno;
	if (devices_set_time(standing->emulation, config->at_ps, err) < 0 ||
	    devices_init(&standing->devices, standing->emulation, err) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; config->flows != NULL && i < standing->devices.count; i++)
		standing->devices.devices[i].flows = config->flows[i];
	standing->counts = mmap(NULL, sizeof(*standing->counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (standing->counts == MAP_FAILED) {
		standing->counts = NULL;
		return err_set(err, -ENOMEM, "no memory for what management sockets count");
	}
	sockets.devices = standing->devices.devices;
	sockets.ndevices = standing->devices.count;
	standing->sockets = switch_sockets_create(&sockets, err);
	return standing->sockets != NULL ? 0 : -errno;
}

struct standing *
standing_open(const struct standing_config *config, struct err *err)
{
	struct standing *standing = calloc(1, sizeof(*standing));
	int ret = standing != NULL ? open_all(standing, config, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		return standing;
	standing_close(standing);
	errno = -ret;
	return NULL;
}

void
standing_close(struct standing *standing)
{
	if (standing == NULL)
		return;
	if (standing->pid != 0)
		child_end(standing->pid);
	switch_sockets_destroy(standing->sockets);
	devices_fini(&standing->devices);
	emulation_destroy(standing->emulation);
	if (standing->counts != NULL)
		munmap(standing->counts, sizeof(*standing->counts));
	free(standing);
}

static void
serve_once(struct standing *standing)
{
	switch_sockets_serve(standing->sockets, LOOK_NS);
	*standing->counts = *switch_sockets_counts(standing->sockets);
}

/* In the new process: it ends with its parent, and by SIGTERM. */
static _Noreturn void
serve_always(struct standing *standing, pid_t parent, const sigset_t *before)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	while (getppid() == parent)
		serve_once(standing);
	_exit(0);
}

int
standing_start(struct standing *standing, struct err *err)
{
	pid_t parent = getpid();
	sigset_t before;
	pid_t pid = child_fork(&before);

	if (pid == 0)
		serve_always(standing, parent, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	standing->pid = pid;
	return 0;
}

void
standing_serve(struct standing *standing, uint64_t for_ns)
{
	uint64_t end_ns = clock_now_ns() + for_ns;

	while (!interrupt_asked() && clock_now_ns() < end_ns)
		serve_once(standing);
}

struct switch_sockets_counts
standing_counts(const struct standing *standing)
{
	return *standing->counts;
}
