/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology as text: for people, for Graphviz, for a scenario. */
#pragma once

#include <stdio.h>

#include "topo/topo.h"

/* For people: counts, then every node with its ports and links. */
void topo_show(const struct topo *topo, FILE *to);
/* The same as an undirected graph for Graphviz. */
void topo_show_dot(const struct topo *topo, FILE *to);
/* As a scenario's group "topology" of kind "explicit". */
void topo_show_scenario(const struct topo *topo, FILE *to);
