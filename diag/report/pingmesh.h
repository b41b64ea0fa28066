/* SPDX-License-Identifier: BSD-3-Clause */
/* How R-Pingmesh's section is reported; see diag/diagnoser.h. */
#pragma once

#include "diag/diagnoser.h"
#include "diag/pingmesh/section.h"

/* "pingmesh": problems, the SLAs of both networks by the names of the public implementation's metrics, periods, servers. */
int pingmesh_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* The finding that problem index of the section became. @return NULL where the verdict has none */
const struct finding *pingmesh_finding(const struct verdict *v, const struct pingmesh *own, uint32_t index);
/* [enum pingmesh_limit] "RNICs apart from ..., because ...": what was not judged, and why */
extern const char *const pingmesh_limits[PINGMESH_NLIMITS];
/* Appends to a line what a problem is to each service that uses its place, with the connections that cross it. */
void pingmesh_impacts_text(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_problem *p,
			   char *line, size_t cap);
/* Sets a line: whether a service is slower, whether its network is innocent, and what cannot be decided. */
void pingmesh_service_text(const struct verdict *v, const struct pingmesh_service *s, char *line, size_t cap);
/* Problems by priority, both networks in a table. */
int pingmesh_text(const struct text *text, const struct section *section);

#define PINGMESH_FILES 1
extern const struct diagnoser_file pingmesh_files[PINGMESH_FILES]; /* the SLAs of all periods, as a table */
