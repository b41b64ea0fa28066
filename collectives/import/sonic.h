/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches that run SONiC, as a scenario: config_db.json of each, buffers and qos JSON, pg_profile_lookup.ini. Tables and
 * fields are those of sonic-buildimage's src/sonic-yang-models/doc/Configuration.md.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

#define SONIC_MAX_SWITCHES 1000
#define SONIC_MAX_BYTES (4u << 20) /* of one file, and of all that are of no single switch */
#define SONIC_MAX_GROUPS 100000    /* objects and lists in a file: with its size they bound what it takes in memory */
#define SONIC_DSCP 26              /* of RoCE data, as switches are commonly configured */

struct sonic_files {
	const char *const *paths;
	size_t count;
	uint32_t dscp; /* of RoCE data in that network */
};

/*
 * Writes the scenario: switches with a config_db.json, their cables and settings, and hosts where other neighbors are. One
 * file may have all namespaces of a device. A JSON file without a hostname supplements all switches: they have its tables
 * where they lack their own. What is missing here causes a warning.
 * @return 0; -EINVAL with err set (file, place in the JSON, the value, a right value); -EIO, -ENOMEM
 */
int sonic_import(const struct sonic_files *files, FILE *to, struct err *err);
