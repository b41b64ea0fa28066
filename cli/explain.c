/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab explain: every switch's decision for one packet. */
#include "cli/command.h"
int command_explain(int argc, char **argv){(void)argc;(void)argv;return 2;}
