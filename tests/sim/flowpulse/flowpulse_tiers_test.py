#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""FlowPulse in three tiers: a fat-tree of K = 4, and one silent link of each tier, in each direction. Its monitors are in edges and
aggregations; what both miss is one fault, and the link is named."""
import json

from harness import check, rocelab, scratch, sets

SCENARIO = scratch() / "tiers.cfg"
SCENARIO.write_text('''topology = { kind = "fat-tree"; k = 4; rate = "100Gbps"; delay = "1us"; };
load_balancing = { kind = "adaptive"; }; host = { transport = "selective"; };
flowpulse = { enabled = true; }; detection = { policy = "off"; };
collectives = ( { op = "allgather"; algorithm = "halving-doubling"; bytes = "64MB"; iterations = 4; measured = true;
  ranks = [ "h0", "h2", "h4", "h6", "h8", "h10", "h12", "h14" ]; } );
faults = ( { kind = "loss"; port = "e0:3"; rate = 0.05; silent = true; } );
''')


def faults(**keys):
    run = rocelab(SCENARIO, *sets(**keys))
    verdict = json.loads((run.dir / "verdict.json").read_text())
    return run, verdict["flowpulse"]["faults"]


for port, path in (("e2:4", ("e2", "a3")), ("a3:3", ("a3", "c2")), ("c2:2", ("c2", "a3")), ("a3:1", ("a3", "e2"))):
    run, found = faults(**{"faults__[0]__port": port})
    links = [[(link["port"], link["from"], link["to"]) for link in fault["links"]] for fault in found]
    check(links == [[(port, *path)]], f"{port}: the link is named, and no other", links)
    low, high = found[0]["drop_rate_95"]
    check(low < 0.05 < high, f"{port}: it loses 5 %", found[0])
    check(f"The link from {path[0]} to {path[1]} ({port}) loses" in (run.dir / "report.txt").read_text(), f"{port}: the report says so")

_, found = faults(**{"faults__[0]__enabled": "false"})
check(not found, "without a fault nothing is found", found)
