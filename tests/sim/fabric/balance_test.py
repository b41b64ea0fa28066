#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Load balancing in whole runs: every kind over several topologies, on one lcore and two, under PFC, with a cut link; what
go-back-N makes of it, polarisation, and values that are refused."""
import re

from cases import fault
from harness import ROCELAB, check, command, dpswitch, rocelab, scenario_file, sets

KINDS = ("ecmp", "random", "round-robin", "adaptive", "flowlet")
TOPOLOGIES = {
    "leaf-spine": 'topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; delay = "1us"; };\n',
    "three tiers": 'topology = { kind = "fat-tree"; k = 4; delay = "1us"; };\n',
    "rails": 'topology = { kind = "rail"; hosts = 6; nics = 2; hosts_per_group = 2; spines = 2; delay = "1us"; };\n',
}
RING = """collectives = ( { op = "allreduce"; algorithm = "ring"; payload = "real"; bytes = "400KB"; iterations = 2; } );
"""
EPOCHS = 'telemetry = { epoch = "20us"; };\n'  # what every port counted in them is in the digest
ANY_ORDER = 'host = { transport = "selective"; };\n'


def whole(run, name):
    check(run.run["end_reason"] == "complete" and set(run.wrong()) == {"0"}, f"{name}: completes, every element is right",
          (run.run["end_reason"], run.wrong()))


def every_kind():
    for name, topology in TOPOLOGIES.items():
        digests = set()
        for kind in KINDS:
            scenario = scenario_file(topology + EPOCHS + ANY_ORDER + f'load_balancing = {{ kind = "{kind}"; }};\n' + RING)
            one, two = (dpswitch(scenario, "--lcores", lcores) for lcores in ("1", "2"))
            whole(one, f"{name}, {kind}")
            check(one.run["digest"] == two.run["digest"], f"{name}, {kind}: two lcores change nothing")
            check("go-back-N" not in one.stderr, f"{name}, {kind}: no warning of order", one.stderr)
            digests.add(one.run["digest"])
        check(len(digests) >= 4, f"{name}: kinds differ", digests)  # without gaps a flowlet is a flow


def go_back_n():
    scenario = scenario_file(TOPOLOGIES["leaf-spine"] + 'load_balancing = { kind = "random"; };\n'
                             + RING.replace("400KB", "4MB"))
    run = dpswitch(scenario)
    whole(run, "go-back-N over sprayed packets")
    check("go-back-N" in run.stderr and "selective" in run.stderr, "go-back-N over sprayed packets: it is said", run.stderr)
    order = next(i for i in run.run["invariants"] if i["name"] == "flow_order")
    check("load_balancing = random" in order["text"], "go-back-N over sprayed packets: overtaking is no error", order)


def pauses():
    """15 senders to one: uplinks are paused, and what was chosen for them waits."""
    flows = ", ".join(f'{{ src = "h{i}"; dst = "h0"; sport = {20000 + i}; bytes = "200KB"; }}' for i in range(1, 16))
    for kind in KINDS[1:]:
        scenario = scenario_file(TOPOLOGIES["three tiers"] + EPOCHS + ANY_ORDER + f'load_balancing = {{ kind = "{kind}"; }};\n'
                                 + 'switch = { profile = "ns3"; buffer = "400KB"; };\n' + f"flows = ( {flows} );\n")
        runs = [dpswitch(scenario, "--lcores", lcores) for lcores in ("1", "2")]
        check(all(r.run["end_reason"] == "complete" for r in runs), f"incast, {kind}: completes, lossless")
        check(runs[0].run["fast_path_share"] < 1, f"incast, {kind}: ingresses crossed their thresholds")
        check(runs[0].run["digest"] == runs[1].run["digest"], f"incast, {kind}: two lcores change nothing")


def cut():
    for kind in KINDS[1:]:
        scenario = scenario_file(TOPOLOGIES["leaf-spine"] + ANY_ORDER + f'load_balancing = {{ kind = "{kind}"; }};\n' + RING
                                 + f'faults = ( {fault("link-down", port="l0:4", start="20us")} );\n')
        whole(dpswitch(scenario, *sets(routing__convergence="10us")), f"a cut uplink, {kind}")


def losing_link():
    """Polls go by all ways: the one link that loses frames is named, whichever packets took it."""
    scenario = scenario_file('topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 1; delay = "1us"; };\n'
                             + ANY_ORDER + 'load_balancing = { kind = "adaptive"; };\n'
                             + 'collectives = ( { op = "allgather"; algorithm = "ring"; step_bytes = "4MB"; } );\n'
                             + f'faults = ( {fault("loss", port="s1:3", rate=0.02)} );\n')
    found = {(f["type"], f["root"]) for f in rocelab(scenario).findings()}
    check(found == {("packet-loss", "s1:3")}, "a losing link under adaptive spraying is named, alone", found)
    clean = rocelab(scenario, *sets(faults="()"))
    check(clean.findings() == [], "and nothing without it", clean.findings())


def paths(seeds):
    """By which of two uplinks flows of h0 to another pod leave the first switch, and the one above it."""
    scenario = scenario_file(TOPOLOGIES["three tiers"] + f'load_balancing = {{ seeds = "{seeds}"; }};\n' + RING)
    found = set()
    for sport in range(49152, 49168):
        reported = command(ROCELAB, "explain", scenario, "--flow", f"h0,h15,{sport},4791").stdout.split("\nACK")[0]
        found.add(tuple(re.findall(r"^  [ea]0\S*:(\d+)|^  a1:(\d+)", reported, re.M)))
    return {tuple("".join(hop) for hop in path) for path in found}


def polarisation():
    own, shared = paths("own"), paths("shared")
    check(len(own) == 4, "with seeds of their own switches use all 4 ways up", own)
    check(len(shared) == 2 and all(edge == above for edge, above in shared), "with one seed half of them are never used", shared)


def explained():
    scenario = scenario_file(TOPOLOGIES["leaf-spine"] + 'load_balancing = { kind = "adaptive"; };\n' + RING)
    reported = command(ROCELAB, "explain", scenario, "--flow", "h0,h2,49152,4791").stdout
    check("adaptive, for example: one for every packet, of ports 3, 4, 5, 6" in reported, "explain reports the set", reported)


def refused():
    for key, value, wanted in (("kind", "spray", "one of ecmp|random|round-robin|adaptive|flowlet would be right"),
                               ("fields", '["vlan"]', '"src", "dst", "sport", "dport", "flow-label" are'),
                               ("adaptive.quantum", "-1", "would be right"), ("flowlet.gap", "2s", "would be right"),
                               ("quantum", "1KB", "load_balancing.quantum")):
        done = command(ROCELAB, "run", scenario_file(TOPOLOGIES["leaf-spine"] + RING), "--set", f"load_balancing.{key}={value}",
                       expect=2)
        check(wanted in done.stderr, f"load_balancing.{key} = {value} is refused", done.stderr)


every_kind()
go_back_n()
pauses()
cut()
losing_link()
polarisation()
explained()
refused()
