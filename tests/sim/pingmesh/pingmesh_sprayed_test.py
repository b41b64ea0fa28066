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


# Eight NICs fill the queues of slower links, by which each packet goes its own way: probes wait there a hundred times their
# timeout, and arrive.
HELD = """
topology = { kind = "fat-tree"; k = 4; rate = "1Gbps"; delay = "500ns"; host_rate = "10Gbps"; host_delay = "500ns"; };
collectives = ( { op = "broadcast"; algorithm = "ring"; ranks = [ "h1", "h9", "h12", "h2", "h10" ]; bytes = "2040B";
  sport = 10000; } );
flows = ( %s );
seed = 3830028739334557860L;
switch = { ecn = { kmin = "5KB"; kmax = "400KB"; pmax = 0.01; }; };
detection = { spacing = "5us"; policy = "vedrfolnir-paper"; };
telemetry = { quiet_depth = 8; };
host = { mtu = 2048; transport = "selective"; };
load_balancing = { kind = "adaptive"; adaptive = { memory = "0B"; }; };
pingmesh = { enabled = true; time_factor = 0.00104; duration = "26ms"; cpu_delay = "10us"; management_delay = "1ms";
  tracing = "traceroute"; trace_rate = 1000000; };
limits = { virtual_time = "220ms"; stall = "55001us"; };
""" % ", ".join(f'{{ src = "h{src}"; dst = "h13"; sport = {30000 + i}; bytes = "768000B"; }}'
                for i, src in enumerate((11, 15, 8, 4, 10, 12, 5, 3)))


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
    run = rocelab(scenario_file(HELD, "held.cfg"))
    limits = {limit["because"]: limit["count"] for limit in run.verdict["pingmesh"]["cannot_tell"]}
    check(problems(run) == [], "held: no probe is lost where queues hold it for longer than its timeout", problems(run))
    check(limits.get("held-probes", 0) > 1000 and limits.get("late-probes", 0) > 1000, "held: and their number is reported",
          limits)
    observed = problems(rocelab(SCENARIOS / "pingmesh.cfg", *sets(load_balancing__kind="adaptive")))
    check(observed == [("switch-problem", "g1r0"), ("rnic-problem", ["h3:1"]), ("cpu-overload", "h12")],
          "pingmesh.cfg, adaptive: the link's switch, the RNIC and the CPU", observed)
