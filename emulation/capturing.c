/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/capturing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/run_files.h"
#include "common/wire/roce.h"

/* The last driver knows the frames of the others too: those of external hosts are bytes that ride along. */
static size_t
frame_of(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct emulation *emulation = ctx;
	const struct host_driver *driver = &emulation->drivers[emulation->ndrivers - 1];

	return driver->ops->frame(driver->ctx, p, bytes, cap_bytes);
}

static void
hook_sent(void *ctx, const struct window *window)
{
	capture_sent(((struct emulation *)ctx)->capture, window);
}

static void
hook_arriving(void *ctx, const struct window *window)
{
	capture_arriving(((struct emulation *)ctx)->capture, window);
}

/* @param text  a copy to take apart. @return number of ports in *ports, or -EINVAL with err set */
static int
find_ports(const struct topo *topo, char *text, uint32_t *ports, struct err *err)
{
	uint32_t count = 0;
	char *rest = text, *name;

	while ((name = strsep(&rest, ",")) != NULL) {
		uint32_t port = topo_find_port(topo, name);

		if (port == TOPO_NONE)
			return err_set(err, -EINVAL,
				       "--capture: \"%s\" is no port of this topology: write \"node:port\", ports from 1, "
				       "with commas between them",
				       name);
		for (uint32_t i = 0; i < count; i++)
			if (ports[i] == port)
				return err_set(err, -EINVAL, "--capture: %s is named twice", name);
		ports[count++] = port;
	}
	return (int)count;
}

/* Segments of another size stand for no RoCEv2 packet. */
static int
check_mtu(const struct scenario *sc, struct err *err)
{
	uint32_t mtu = sc->roce.mtu_bytes;

	if (roce_payload_ok(ROCE_RC_WRITE_MIDDLE, mtu))
		return 0;
	return cfg_fail(
		&sc->host.where, "mtu", err,
		"%u is no path MTU of RoCEv2, so that --capture has no frames to show: use 256, 512, 1024, 2048 or 4096",
		mtu);
}

static int
open_file(struct emulation *emulation, const struct capture_options *options, const char *dir, const uint32_t *ports,
	  uint32_t nports, struct err *err)
{
	char path[PATH_MAX], comment[256];
	struct capture_config config = {
		.fabric = emulation->fabric,
		.ports = ports,
		.nports = nports,
		.path = path,
		.application = "rocelab",
		.comment = comment,
		.limit_bytes = options->limit_bytes,
		.snap_bytes = options->snap_bytes,
		.real_time = emulation->scenario->timing.clock == CLOCK_REAL,
		.hurried = interrupt_asked,
		.frame = frame_of,
		.ctx = emulation,
	};

	snprintf(path, sizeof(path), "%s/%s", dir, RUN_CAPTURE);
	snprintf(comment, sizeof(comment), "%s, seed %lld; times are the run's own, from 0", emulation->scenario->name,
		 (long long)emulation->scenario->root.seed);
	emulation->capture = capture_create(&config, err);
	if (emulation->capture == NULL)
		return -errno;
	emulation->fabric->hooks.sent = hook_sent;
	emulation->fabric->hooks.arriving = hook_arriving;
	return 0;
}

/* @param ports  set to those to capture, to be freed. @return their number, or negative errno with err set */
static int
choose_ports(const struct scenario *sc, const struct capture_options *options, uint32_t **ports, struct err *err)
{
	char *text = strdup(options->ports);
	int ret;

	*ports = calloc(sc->topo->nports + 1u, sizeof(**ports));
	ret = *ports != NULL && text != NULL ? find_ports(sc->topo, text, *ports, err)
					     : err_set(err, -ENOMEM, "out of memory for captured ports");
	if (ret > 0 && check_mtu(sc, err) < 0)
		ret = -EINVAL;
	free(text);
	return ret;
}

int
capturing_check(const struct scenario *scenario, const struct capture_options *options, struct err *err)
{
	uint32_t *ports = NULL;
	int ret = options->ports != NULL ? choose_ports(scenario, options, &ports, err) : 0;

	free(ports);
	return ret < 0 ? ret : 0;
}

int
capturing_begin(struct emulation *emulation, const struct capture_options *options, const char *dir, struct err *err)
{
	uint32_t *ports = NULL;
	int ret = options->ports != NULL ? choose_ports(emulation->scenario, options, &ports, err) : 0;

	if (ret > 0)
		ret = open_file(emulation, options, dir, ports, (uint32_t)ret, err);
	free(ports);
	return ret;
}
