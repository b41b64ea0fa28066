/* SPDX-License-Identifier: BSD-3-Clause */
/* The services of every run (emulation/service.h), in the order in which they change the fabric and write the stream's head. */
#pragma once

#include "emulation/service.h"

extern const struct run_service *const run_services[]; /* ends with NULL */
