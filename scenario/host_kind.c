/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/host_kind.h"

#include <stdio.h>

#include "scenario/scenario.h"

static void
socket_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "vhost:%s/%s.vhost", cable->dir, cable->name);
}

static void
socket_nic(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s/%s.vhost", cable->dir, cable->name);
}

/* Whoever starts the host moves the tap into its namespace. */
static void
tap_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "net_tap_%u,iface=rl-%s", cable->node, cable->name);
}

static void
tap_nic(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "rl-%s", cable->name);
}

static void
given_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s", cable->config->port);
}

const struct host_kind_row host_kinds[ENUM_COUNT(HOST_KINDS)] = {
	[HOST_EMBEDDED] = { 0 },
	[HOST_GUEST] = { .guest = "uml", .builds_kernel = true, .port = socket_port, .nic = socket_nic },
	[HOST_QEMU] = { .guest = "qemu", .port = socket_port, .nic = socket_nic },
	[HOST_NETNS] = { .guest = "netns", .port = tap_port, .nic = tap_nic },
	[HOST_PORT] = { .remote = true, .port = given_port },
};

const char *
host_kind_name(enum host_kind kind)
{
	static const char *const names[] = { HOST_KINDS(ENUM_NAME) };

	return names[kind];
}
