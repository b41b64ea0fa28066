#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh with ways that switches write into probes and ACKs (INT, R-Pingmesh 7.4): no traceroute is sent, ways are those that routes
give, and where each packet has its own the link that loses is placed all the same."""
import records
from harness import ROCELAB, SANITIZED, SCENARIOS, check, command, rocelab, scenario_file, sets

NET = """
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
load_balancing = { kind = "%s"; };
pingmesh = { enabled = true; time_factor = 0.01; duration = "1s"; tracing = "%s"; };
"""
LOSS = 'faults = ( { kind = "loss"; port = "l1:6"; rate = 0.05; start = "200ms"; } );\n'


def problems(run):
    return [(p["type"], p["node"] or p["ports"]) for p in run.verdict["pingmesh"]["problems"]]


def tuple_of(hop):
    return hop.tuple_src_ip, hop.tuple_dst_ip, hop.tuple_sport, hop.back


def paths(run):
    """Of each tuple and direction: the ways that were reported as a whole."""
    reported, by = {}, {}
    found = records.read(run.dir / "records.bin")
    for r, hop in records.of(found, records.PROBE_HOP):
        reported.setdefault((tuple_of(hop), r.node, hop.trace, hop.sent_ps), []).append(hop)
    for (key, *_), hops in reported.items():
        hops.sort(key=lambda hop: hop.hop)
        if hops[-1].last and [hop.hop for hop in hops] == list(range(1, len(hops) + 1)):
            by.setdefault(key, set()).add(tuple((hop.at, hop.port) for hop in hops))
    return by, [hop for _, hop in records.of(found, records.PROBE_HOP)]


def run_of(kind, tracing, faults="", *args):
    return rocelab(scenario_file(NET % (kind, tracing) + faults), *args)


def hashed():
    asked, traced = paths(run_of("ecmp", "traceroute"))
    written, hops = paths(run_of("ecmp", "int"))
    both = set(asked) & set(written)
    check(len(both) > 200 and all(len(written[key]) == 1 and written[key] == asked[key] for key in both),
          f"hashed: ways of {len(both)} tuples are those that traceroutes find", len(both))
    check(set(asked) <= set(written), "and all have one that a traceroute has found", len(set(asked) - set(written)))
    check(all(hop.count == 0 for hop in traced) and all(hop.count > 0 for hop in hops), "hops are of packets that came, not of traceroutes")
    observed = problems(run_of("ecmp", "int", LOSS))
    check(observed == [("switch-problem", ["l1:6"])], "hashed: the link that loses", observed)


def sprayed():
    for kind in ("random",) if SANITIZED else ("random", "adaptive"):
        run = run_of(kind, "int", LOSS)
        by, _ = paths(run)
        between = [found for key, found in by.items() if any(len(route) > 1 for route in found)]
        check(between and all(len(found) == 4 for found in between), f"{kind}: a tuple between leaves has four ways", len(between))
        check(problems(run) == [("switch-problem", ["l1:6"])], f"{kind}: the link that loses, and nothing else", problems(run))
        analysis = run.verdict["pingmesh"]["analysis"]
        check(analysis["sprayed"] and analysis["inband"], f"{kind}: it knows that packets are sprayed, and that they carry their paths", analysis)
        check("a link is named if the evidence is significant" in " ".join(run.report.split()), f"{kind}: and says so")
    check(problems(run_of("random", "int")) == [], "sprayed and well: no problem")


def rails():
    """Probes of one way have no way back, and data of HPCC carries telemetry of another kind in packets of the same run."""
    path = scenario_file('topology = { kind = "rail"; hosts = 8; nics = 2; hosts_per_group = 4; spines = 2; rate = "100Gbps"; delay = "1us"; };\n'
                         'pingmesh = { enabled = true; time_factor = 0.01; duration = "600ms"; tracing = "int"; rails = true; };\n'
                         'host = { cc = "hpcc"; };\nfaults = ( { kind = "loss"; port = "g0r0:5"; rate = 0.3; start = "200ms"; } );\n'
                         'flows = ( { src = "h0"; dst = "h5"; sport = 7; bytes = "1MB"; mode = "repeat"; until = "500ms"; } );\n')
    run = rocelab(path, "--capture", "g0r0:5")
    check(problems(run) == [("switch-problem", ["g0r0:5"])], "rails, beside HPCC: the link that loses", problems(run))
    check((run.dir / "capture.pcapng").stat().st_size > 100000, "and a capture has probes and data")


def lcores():
    one, two = (run_of("random", "int", LOSS, "--lcores", str(n)) for n in (1, 2))
    check((one.dir / "records.bin").read_bytes() == (two.dir / "records.bin").read_bytes(), "two lcores report the same as one")


def ready_made():
    # Where packets are sprayed chance spreads them more unevenly than 2 % of losses do: the switch is what all ways have in common.
    for kind, rate, place in (("ecmp", 0.02, ["g1r0:7"]), ("adaptive", 0.02, "g1r0"), ("adaptive", 0.1, ["g1r0:7"])):
        observed = problems(rocelab(SCENARIOS / "pingmesh.cfg", *sets(pingmesh__tracing="int", load_balancing__kind=kind,
                                                                  host__transport="selective", detection__policy="off"),
                                "--set", f"faults.[1].rate={rate}"))
        check(observed == [("switch-problem", place), ("rnic-problem", ["h3:1"]), ("cpu-overload", "h12")],
              f"pingmesh.cfg, {kind}, {rate}: {place}, RNIC and CPU", observed)


def refused():
    chain = 'topology = { kind = "explicit"; rate = "100Gbps"; delay = "1us"; hosts = [ "a", "b" ]; switches = [ %s ]; links = ( %s ); };\n' \
            'pingmesh = { enabled = true; duration = "1s"; tracing = "int"; };\n'
    names = [f"s{i}" for i in range(6)]
    links = ["a s0", "b s5"] + [f"s{i} s{i + 1}" for i in range(5)]
    path = scenario_file(chain % (", ".join(f'"{name}"' for name in names), ", ".join(f'"{link}"' for link in links)))
    done = command(ROCELAB, "topo", "check", path, expect=2)
    check(f"{path}:2:" in done.stderr and "room for 5 switches in a packet, and a and b are 6 apart" in done.stderr,
          "six switches have no room", done.stderr)


hashed()
sprayed()
refused()
rails()
if not SANITIZED:
    lcores()
    ready_made()
