/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of a plugin diagnoser's requests and replies. A program that reaches a limit is reported, and the run does
 * not wait for it.
 */
#pragma once

#include <stdint.h>

#define PLUGIN_PROGRAMS 4              /* of one run */
#define PLUGIN_WAIT_NS 10000000000ULL  /* wall time for which virtual time waits for the answer of each turn */
#define PLUGIN_RECORD_BYTES (8u << 20) /* of the record stream that it has not read yet */
#define PLUGIN_LINE_BYTES 65536u       /* of a line that it writes, line feed included */
#define PLUGIN_TURN_LINES 10000u       /* that it writes in one turn */
#define PLUGIN_TURN_ASKED 1000u        /* polls and probes of one turn; those beyond are refused */
#define PLUGIN_FINDINGS 1000u          /* in all */
#define PLUGIN_PLACES 64u              /* ports of a finding; the same of links, of hosts, of flows, of steps */
#define PLUGIN_NAME 160                /* bytes of a port's, host's or flow's name, NUL and all */
#define PLUGIN_TYPE 48                 /* of a finding's type, NUL and all */
#define PLUGIN_EVIDENCE 400            /* of its sentence, NUL and all */
#define PLUGIN_PATH 1024               /* of a program's path as reported, NUL included */
#define PLUGIN_WHY 400                 /* why it was left out, NUL included */
