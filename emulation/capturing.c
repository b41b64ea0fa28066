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
#include "emulation/emulation.h"
#include "scenario/scenario.h"

static json_t *
capture_json(const struct capturing *capturing)
{
	const struct topo *topo = capturing->emulation->scenario->topo;
	json_t *ports = json_array(), *capture;
	struct capture_totals totals;
	const struct capture_count *counts;
	uint32_t nports;

	capture_sum(capturing->capture, &totals);
	counts = capture_counts(capturing->capture, &nports);
	for (uint32_t i = 0; i < nports; i++) {
		char name[64];

		json_array_append_new(
			ports,
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "port", topo_port_name(topo, counts[i].port, name),
				  "in", (json_int_t)counts[i].frames[0], "out", (json_int_t)counts[i].frames[1], "pfc_in",
				  (json_int_t)counts[i].pfc_frames[0], "pfc_out", (json_int_t)counts[i].pfc_frames[1],
				  "beyond_limit", (json_int_t)counts[i].missing));
	}
	capture = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "file", RUN_CAPTURE, "bytes", (json_int_t)totals.bytes,
			    "frames", (json_int_t)(totals.frames - totals.missing - totals.lagged), "beyond_limit",
			    (json_int_t)totals.missing, "not_kept_up", (json_int_t)totals.lagged, "errno",
			    (json_int_t)capturing->error, "ports", ports);
	if (totals.missing != 0)
		json_object_set_new(capture, "limit_ns", json_integer((json_int_t)(totals.limit_ps / 1000)));
	return capture;
}

static void
report(const void *state, json_t *root)
{
	json_object_set_new(root, "capture", capture_json(state));
}

static void
finish(void *state, uint64_t end_ps)
{
	struct capturing *capturing = state;

	capturing->error = -capture_close(capturing->capture, end_ps);
}

static void
destroy(void *state)
{
	capture_destroy(((struct capturing *)state)->capture);
	free(state);
}

static const struct run_service service_capture = {
	.name = "capture",
	.finish = finish,
	.report = report,
	.destroy = destroy,
};

const struct capturing *
capturing_of(const struct emulation *emulation)
{
	return emulation_service(emulation, &service_capture);
}

/* The last driver also knows the frames of the others: the bytes of kernel hosts' frames travel with them. */
static size_t
frame_of(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct emulation *emulation = ctx;
	const struct host_driver *driver = &emulation->drivers.rows[emulation->drivers.count - 1];

	return driver->ops->frame(driver->ctx, p, bytes, cap_bytes);
}

static void
hook_sent(void *ctx, const struct window *window)
{
	capture_sent(capturing_of(ctx)->capture, window);
}

static void
hook_arriving(void *ctx, const struct window *window)
{
	capture_arriving(capturing_of(ctx)->capture, window);
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
	struct capturing *capturing;
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, RUN_CAPTURE);
	snprintf(comment, sizeof(comment), "%s, seed %lld; times are the run's own, from 0", emulation->scenario->name,
		 (long long)emulation->scenario->root.seed);
	capturing = calloc(1, sizeof(*capturing));
	if (capturing == NULL)
		return err_set(err, -ENOMEM, "out of memory for a capture");
	capturing->emulation = emulation;
	capturing->capture = capture_create(&config, err);
	if (capturing->capture == NULL) {
		ret = -errno;
		free(capturing);
		return ret;
	}
	emulation_attach(emulation, &service_capture, capturing);
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
