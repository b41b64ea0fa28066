#pragma once
#include "common/cfg.h"
#include "common/flow.h"
#include "topo/route.h"
struct route_pins;
int route_pinned_egress(const struct route_pins *pins, uint32_t node, uint32_t flow, bool reverse);
struct route_pins *route_pins_load(const struct cfg *cfg, const struct topo *topo, const struct flow_table *flows, struct err *err);
void route_pins_destroy(struct route_pins *pins);
