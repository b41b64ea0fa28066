/* SPDX-License-Identifier: BSD-3-Clause */
/* What an outside program may ask for and say. Reaching a limit is told, and never waited for. */
#pragma once

#include <stdint.h>

#define PLUGIN_PROGRAMS 4              /* of one run */
#define PLUGIN_WAIT_NS 10000000000ULL  /* virtual time waits so long, wall time, for the answer of each turn */
#define PLUGIN_RECORD_BYTES (8u << 20) /* of the record stream that it has not read yet */
#define PLUGIN_LINE_BYTES 65536u       /* of a line that it says, line feed and all */
#define PLUGIN_TURN_LINES 10000u       /* that it says in one turn */
#define PLUGIN_TURN_ASKED 1000u        /* polls and probes of one turn; those beyond are refused */
#define PLUGIN_FINDINGS 1000u          /* in all */
#define PLUGIN_PLACES 64u              /* ports of a finding; the same of links, of hosts, of flows, of steps */
#define PLUGIN_NAME 160                /* bytes of a port's, host's or flow's name, NUL and all */
#define PLUGIN_TYPE 48                 /* of a finding's type, NUL and all */
#define PLUGIN_EVIDENCE 400            /* of its sentence, NUL and all */
#define PLUGIN_PATH 1024               /* of a program's path as it is told, NUL and all */
#define PLUGIN_WHY 400                 /* why it was left out, NUL and all */
