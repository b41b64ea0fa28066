#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh's agents in whole runs: round trips of an idle fabric to the picosecond, delays of hosts, losses, paths against the routes
of the service, what lcores must not change, and the ready-made scenario's records."""
from collections import Counter

import records
from harness import SCENARIOS, check, command, rocelab, scenario_file, sets, ROCELAB

NET = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 3; rate = "100Gbps"; delay = "1us"; };
timing = { pipeline = "600ns"; };
"""
CABLE_PS, FRAME_PS = 1_600_000, 142 * 80  # a cable with its pipeline; a probe or ACK on it
OK, TIMEOUT = 0, 1
TOR_MESH, INTER_TOR, SERVICE = 0, 1, 2
FACTOR = 0.02


def scenario(duration, extra="", **more):
    keys = "".join(f" {key} = {value};" for key, value in more.items())
    return scenario_file(NET + f'pingmesh = {{ enabled = true; duration = "{duration}";{keys} }};\n' + extra)


def reported(run):
    found = records.read(run.dir / "records.bin")
    return found, [(r, probe) for r, probe in records.of(found, records.PROBE)]


def tuple_of(record, name="tuple"):
    return tuple(getattr(record, f"{name}_{part}") for part in ("src_ip", "dst_ip", "sport", "dport"))


def one_way_ps(switches):
    """From when a frame's last bit left a host to when it is with the other: switches take frames in whole."""
    return (switches + 1) * CABLE_PS + switches * FRAME_PS


def idle():
    run = rocelab(scenario("9s"))
    _, probes = reported(run)
    check(len(probes) > 1000 and all(probe.result == OK for _, probe in probes), f"all of {len(probes)} probes come back")
    for kind, switches in ((TOR_MESH, 1), (INTER_TOR, 3)):
        trips = {probe.rtt_ps for _, probe in probes if probe.kind == kind}
        check(trips == {2 * one_way_ps(switches)}, f"a round trip over {switches} switches is the closed form's, to the picosecond", trips)
    for name in ("prober_ps", "responder_ps"):
        delays = sorted(getattr(probe, name) - FRAME_PS for _, probe in probes)
        check(delays[0] >= 5_000_000 and 9_000_000 < delays[len(delays) // 2] < 11_500_000,
              f"{name}: 10 us in the median, 5 us at least", (delays[0], delays[len(delays) // 2]))
    by_host = Counter((r.node, probe.nic, probe.kind) for r, probe in probes)
    check(len(by_host) == 12, "every RNIC probes by both lists", by_host)
    check(not any(run.run["drops"].values()) and not run.findings(), "nothing is lost, and nothing found")


def lcores():
    text = scenario("400ms", time_factor=FACTOR)
    one, two = rocelab(text), rocelab(text, "--lcores", "2")
    check(one.run["digest"] == two.run["digest"], "the same digest on two lcores", (one.run["digest"], two.run["digest"]))
    check((one.dir / "records.bin").read_bytes() == (two.dir / "records.bin").read_bytes(), "and the same records")


def lost():
    run = rocelab(scenario("600ms", 'faults = ( { kind = "loss"; port = "l0:1"; rate = 1.0; start = "200ms"; } );\n',
                           time_factor=FACTOR))
    found, probes = reported(run)
    names = records.node_names(found)
    timeout_ps = records.of(found, records.PINGMESH)[0][1].timeout_ps
    check(timeout_ps == 10_000_000_000, "500 ms times the factor", timeout_ps)
    late = [(r, probe) for r, probe in probes if probe.sent_ps > 200_000_000_000]
    bad = [(r, probe) for r, probe in late if probe.result != OK]
    host = {node for node, name in names.items() if name == "h0"}
    ends = {(r.node in host or (probe.tuple_dst_ip & 0xffff) - 1 in host) for r, probe in bad}
    check(bad and ends == {True}, "only probes to and from h0 are lost", len(bad))
    check(all(probe.rtt_ps == 0 and r.time_ps >= probe.sent_ps + timeout_ps for r, probe in bad), "after their timeout, without an RTT")
    check(not any(probe.result == OK and r.node in host for r, probe in late), "and none of h0's comes back whole")
    uploads = Counter(r.node for r, _ in records.of(found, records.UPLOAD))
    check(len(uploads) == 6 and min(uploads.values()) >= 4, "all hosts upload still", uploads)


def service():
    job = 'collectives = ( { op = "allgather"; algorithm = "ring"; ranks = [ "h0", "h3", "h1", "h4" ]; bytes = "256KB"; ' \
          'iterations = 4; gap = "100ms"; } );\n'
    run = rocelab(scenario("700ms", job, time_factor=FACTOR))
    found, probes = reported(run)
    routes, hops = {}, {}
    for r, route in records.of(found, records.ROUTE):
        if route.hop != 0:
            routes.setdefault((tuple_of(route, "flow"), route.reverse), {})[route.hop] = r.node
    flows = {flow for flow, _ in routes}
    for r, hop in records.of(found, records.PROBE_HOP):
        if tuple_of(hop) in flows:
            hops.setdefault((tuple_of(hop), hop.back, r.node, hop.trace), {})[hop.hop] = (hop.at, hop.last)
    connections = [c for _, c in records.of(found, records.CONNECTION)]
    check(len(connections) == 8 and {tuple_of(c) for c in connections} == flows and sum(c.open for c in connections) == 4,
          "all four connections came and went", connections)
    traced = {(flow, back) for flow, back, _, _ in hops}
    check(traced == set(routes), "their ways and those back are traced", len(traced))
    check(all({n: at for n, (at, _) in taken.items()} == routes[flow, back] and taken[max(taken)][1] for (flow, back, _, _), taken in hops.items()),
          "and are those of the service's own packets")
    served = [probe for _, probe in probes if probe.kind == SERVICE]
    check({tuple_of(probe) for probe in served} == flows and all(probe.result == OK for probe in served), f"{len(served)} probes went by them")
    check(run.run["end_reason"] == "complete", "the job is done")


def refused():
    path = scenario_file(NET + 'faults = ( { kind = "cpu-overload"; host = "h0"; delay = "1ms"; } );\n'
                         'flows = ( { src = "h0"; dst = "h1"; sport = 20000; bytes = "1KB"; } );\n')
    done = command(ROCELAB, "topo", "check", path, expect=2)
    check("has no agent that could be late" in done.stderr, "an overloaded CPU needs an agent", done.stderr)
    path = scenario_file('topology = { kind = "explicit"; rate = "100Gbps"; delay = "1us"; hosts = [ "a", "b" ]; switches = [ "s", "t" ]; '
                         'bonds = [ "a" ]; links = ( "a s", "a t", "b s", "s t" ); };\npingmesh = { enabled = true; duration = "1s"; };\n')
    done = command(ROCELAB, "topo", "check", path, expect=2)
    check(f"{path}:2:" in done.stderr and "leave pingmesh out, or the bonds" in done.stderr, "bonds are refused, and what to do is said", done.stderr)


def ready_made():
    run = rocelab(SCENARIOS / "pingmesh.cfg", *sets(detection__policy="off"))
    found, probes = reported(run)
    names = records.node_names(found)
    lost_at, slow = Counter(), Counter()
    for r, probe in probes:
        if probe.result != OK and probe.kind == TOR_MESH and probe.sent_ps < 400_000_000_000:
            lost_at.update({f"{names[r.node]}:{probe.nic + 1}", f"{names[(probe.tuple_dst_ip & 0xffff) - 1]}:{(probe.tuple_dst_ip >> 16 & 0x7f) + 1}"})
        if probe.prober_ps > 5_000_000_000:
            slow[names[r.node]] += 1
    check(lost_at.most_common(1)[0][0] == "h3:1", "until 400 ms most that is lost in ToRs is of h3:1", lost_at.most_common(3))
    check(set(slow) == {"h12"}, "h12's own CPU is slow, nobody else's", slow)
    check(run.run["end_reason"] == "complete" and run.run["idle_faults"] == [], "all faults acted", run.run["idle_faults"])


idle()
lcores()
lost()
service()
refused()
ready_made()
