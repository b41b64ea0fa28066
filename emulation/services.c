/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/service.h"

#include <stddef.h>

#include "emulation/injection.h"
#include "emulation/probing.h"
#include "emulation/volumes.h"

const struct run_service *const run_services[] = {
	&service_injection, /* routes follow the links that its faults take down */
	&service_rerouting,
	&service_flowpulse,
	&service_pingmesh,
	&service_flowtracer, /* polls switches as the rows above left them */
	NULL,
};
