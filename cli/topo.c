/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab topo: every switch's decision for one packet. */
#include "cli/command.h"
int command_topo(int argc, char **argv){(void)argc;(void)argv;return 2;}
