#pragma once
#include "topo/topo.h"
int topo_build(const struct cfg *cfg, struct topo **topo, struct err *err);
size_t topo_tables(struct cfg_known *known, size_t cap);
