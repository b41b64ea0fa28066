/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the analyzer's conclusions, for people and for machines. */
#pragma once

#include <stdio.h>

#include "common/err.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"
#include "diag/pingmesh/section.h"
#include "diag/verdict.h"

struct json_t;
struct text;

/*
 * Writes every report of a verdict into a directory, which is created when absent.
 * @param page  the page's template (diag/report/report.h), from web/page.h
 * @return 0, or negative errno with err naming file and cause
 */
int report_write(const struct verdict *verdict, const char *dir, const char *page, struct err *err);

/* How FlowPulse's section is reported; see diag/diagnoser.h. */

/* "flowpulse": monitors, faults, volumes of iterations with an alarm, and volumes that were not compared. */
int flowpulse_json(const struct verdict *v, const struct section *section, struct json_t *root);

/* Faults, the volumes of the leaf that saw each first, and volumes that were not compared. */
int flowpulse_text(const struct text *text, const struct section *section);

#define FLOWPULSE_FILES 1
extern const struct diagnoser_file flowpulse_files[FLOWPULSE_FILES]; /* every volume that was reported, as a table */

/* How FlowTracer's section is reported; see diag/diagnoser.h. */

/* "flowtracer": rounds, layers with their FIM, links, pairs, paths of the round that is shown, collisions. */
int flowtracer_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* The layers, where flows collided, and the pairs that got least. */
int flowtracer_text(const struct text *text, const struct section *section);

#define FLOWTRACER_FILES 1
extern const struct diagnoser_file flowtracer_files[FLOWTRACER_FILES]; /* every hop of every flow's path, as a table */

/* How R-Pingmesh's section is reported; see diag/diagnoser.h. */

/*
 * "pingmesh": problems, the SLAs of both networks by the names of the public implementation's metrics, periods,
 * servers.
 */
int pingmesh_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* Problems by priority, both networks in a table. */
int pingmesh_text(const struct text *text, const struct section *section);

#define PINGMESH_FILES 1
extern const struct diagnoser_file pingmesh_files[PINGMESH_FILES]; /* the SLAs of all periods, as a table */

/* How VEDRFOLNIR's section is reported; see diag/diagnoser.h. */

/* "critical_path" and "contributors". */
int vedrfolnir_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* The critical path of the collective to look at first, and the contributors. */
int vedrfolnir_text(const struct text *text, const struct section *section);

#define VEDRFOLNIR_FILES 2
extern const struct diagnoser_file vedrfolnir_files[VEDRFOLNIR_FILES]; /* both graphs, for Graphviz */

/* Both graphs for Graphviz. */

/*
 * waiting.dot: one cluster an iteration; pruned parts grey, the critical path bold. Of iterations beyond
 * WAITING_DRAWN_STEPS steps there is only the critical path, as far as all of these have as many steps at most.
 * @return 0 or -EIO
 */
int dot_write_waiting(const struct verdict *v, FILE *to);
/* provenance.dot: one cluster a slow step. @return 0 or -EIO */
int dot_write_provenance(const struct verdict *v, FILE *to);

/* How the report of a plugin diagnoser is written (struct diagnoser_writers). */

/* Appends to the array "plugins". */
int plugin_json(const struct verdict *v, const struct section *section, struct json_t *root);
int plugin_text(const struct text *text, const struct section *section);

/* report.html: the run's data in the page that web/ built, whose script draws it. One file without dependencies. */

#define PAGE_DATA_MARK "@data@"    /* in the page's template: the place of the data */
#define PAGE_MAX_STEPS 400000      /* more: only the worst collective and the first ones have theirs in the page */
#define PAGE_MAX_GRAPH_EDGES 60000 /* more: the provenance graphs of the critical path and of most time lost */

/*
 * Writes the page. Its data is verdict.json's, and the data of drawings alone: nodes, ports, flows and steps by index,
 * the waiting graphs, the provenance graphs, and the observations by time. Names are safe in it whatever they hold: no
 * '<' is left.
 * @param page  the template, PAGE_DATA_MARK once in it
 * @return 0, -ENOMEM, or -EIO
 */
int page_write(const struct verdict *v, const char *page, FILE *to);

/* Costs of a verdict's findings by runs of its twin (twin/twin.h): twin.json takes the place of estimates. */

/*
 * Reads the file and gives the findings that it names its costs; they are ordered anew.
 * @return 0; -EINVAL with err set: it cannot be read, or is of another verdict; -ENOMEM
 */
int costs_apply(struct verdict *v, const char *path, struct err *err);
