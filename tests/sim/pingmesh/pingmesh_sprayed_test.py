#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh where switches send each packet its own way: RNICs, hosts and CPUs as ever, switches in place of links, and nothing
beside them (R-Pingmesh 7.5)."""
from harness import SANITIZED, SCENARIOS, check, rocelab, scenario_file, sets

NET = """
topology = { kind = "leaf-spine"; leaves = 4; spines = %d; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
load_balancing = { kind = "%s"; };
pingmesh = { enabled = true; time_factor = 0.01; duration = "1s"; };
"""
LOSS = 'faults = ( { kind = "loss"; port = "l1:6"; rate = 0.05; start = "200ms"; } );\n'


def problems(run):
    return [(p["type"], p["node"] or p["ports"]) for p in run.verdict["pingmesh"]["problems"]]


def small(name, spines, kind, faults):
    run = rocelab(scenario_file(NET % (spines, kind) + faults, name.replace(" ", "-") + ".cfg"))
    observed = problems(run)
    check(run.verdict["pingmesh"]["analysis"]["sprayed"] == (kind != "ecmp"), f"{name}: it knows whether packets are sprayed")
    check(("choose a path for each packet" in (run.dir / "report.txt").read_text()) == (kind != "ecmp"), f"{name}: and says so")
    return observed


check(small("clean", 4, "random", "") == [], "clean: no problem")
check(small("hashed", 4, "ecmp", LOSS) == [("switch-problem", ["l1:6"])], "hashed: the link")
for spines, kind in ((4, "random"), (2, "round-robin")):
    observed = small(f"{kind} over {spines} spines", spines, kind, LOSS)
    check(observed == [("switch-problem", "l1")], f"{kind} over {spines} spines: its switch, and nothing else", observed)
if not SANITIZED:
    observed = problems(rocelab(SCENARIOS / "pingmesh.cfg", *sets(load_balancing__kind="adaptive")))
    check(observed == [("switch-problem", "g1r0"), ("rnic-problem", ["h3:1"]), ("cpu-overload", "h12")],
          "pingmesh.cfg, adaptive: the link's switch, the RNIC and the CPU", observed)
