#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh on rails: probes of one way between the RNICs of a host, by clocks that nobody set."""
from collections import Counter, defaultdict

import records
from harness import SCENARIOS, check, command, fail, rocelab, scenario_file, sets, ROCELAB

CABLE_PS, FRAME_PS = 1_000_000, 142 * 80
TOR_MESH, INTER_TOR, RAIL = 0, 1, 3


def rails(nics, extra="", duration="300ms", **more):
    keys = "".join(f" {key} = {value};" for key, value in more.items())
    return scenario_file(f'topology = {{ kind = "rail"; hosts = 6; nics = {nics}; hosts_per_group = 3; spines = 2; '
                         f'rate = "100Gbps"; delay = "1us"; }};\ntiming = {{ pipeline = "0ns"; }};\n'
                         f'pingmesh = {{ enabled = true; rails = true; time_factor = 0.01; duration = "{duration}";{keys} }};\n{extra}')


def observed(run):
    return sorted((one["type"], one["node"] or " or ".join(one["ports"])) for one in run.verdict["pingmesh"]["problems"])


def idle():
    run = rocelab(rails(3))
    found = records.read(run.dir / "records.bin")
    taken, kinds = defaultdict(set), Counter()
    for r, probe in records.of(found, records.PROBE):
        kinds[probe.kind] += 1
        if probe.result != 0 or (probe.kind == RAIL and probe.rtt_ps != 0):
            fail(f"a probe that did not arrive, or has a round trip: {probe}")
        if probe.kind == RAIL:
            taken[r.node, probe.tuple_src_ip, probe.tuple_dst_ip].add(probe.responder_ps - probe.prober_ps)
    one_way_ps = 4 * CABLE_PS + 3 * FRAME_PS
    check(set(kinds) == {TOR_MESH, RAIL} and kinds[RAIL] > 1000, "RNICs probe their rail, and each other", kinds)
    spread = max(max(times) - min(times) for times in taken.values())
    check(len(taken) > 12 and spread <= 4 * FRAME_PS, "one way takes as long each time, but for probes that meet", (len(taken), spread))
    both = {min(taken[node, src, dst]) + min(taken[node, dst, src]) for node, src, dst in taken if (node, dst, src) in taken}
    check(both == {2 * one_way_ps}, "what both directions take is the closed form's, to the picosecond", both)
    apart = [min(times) - one_way_ps for times in taken.values()]
    check(max(apart) > 100_000_000 and min(apart) < -100_000_000 and max(map(abs, apart)) <= 1_000_000_000,
          "either is off by what the clocks are apart, 1 ms at most", (min(apart), max(apart)))
    own = run.verdict["pingmesh"]
    one_way = own["cluster"]["rpingmesh.one_way_ns"]
    check(abs(one_way["p50"] - one_way_ps / 1000) < 0.01 and abs(one_way["p999"] - one_way_ps / 1000) < 0.01,
          "the analyzer takes that off", one_way)
    check(not own["problems"] and own["cluster"]["rpingmesh.network_rtt_ns"]["count"] == kinds[TOR_MESH], "nothing is found", own["problems"])


def two_rails():
    run = rocelab(rails(2, 'faults = ( { kind = "corruption"; port = "g0r0:4"; rate = 0.1; start = "50ms"; } );\n', duration="500ms"))
    kinds = {probe.kind for _, probe in records.of(records.read(run.dir / "records.bin"), records.PROBE)}
    check(kinds == {TOR_MESH, INTER_TOR, RAIL}, "hosts with two RNICs probe other hosts, too", kinds)
    check(observed(run) == [("switch-problem", "g0r0:4")], "and the direction up is distinguished from the direction down", observed(run))


def ready_made():
    runs = [rocelab(SCENARIOS / "pingmesh-rails.cfg", *arguments)
            for arguments in ((), ("--lcores", "2"), sets(pingmesh__clock_offset="0s"), sets(pingmesh__clock_offset="1s"))]
    expected = [("cpu-overload", "h6"), ("high-rtt", "g1r2:7"), ("switch-problem", "s1:8")]
    check(all(observed(run) == expected for run in runs), "each problem is named, with its direction, however far clocks are apart", [observed(r) for r in runs])
    check((runs[0].dir / "records.bin").read_bytes() == (runs[1].dir / "records.bin").read_bytes(), "the same records on two lcores")
    slow = next(one for one in runs[0].verdict["pingmesh"]["problems"] if one["type"] == "high-rtt")
    check(not slow["both_directions"] and 19_900 < slow["high_ns"] - slow["usual_ns"] < 20_100, "by as much as it is slow", slow)
    check("One-way, between RNICs of a host: P50" in runs[0].report, "the report reports one way")


def refused():
    for topology, wrong in (('kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2;', "h0 has one NIC"),
                            ('kind = "explicit"; delay = "1us"; hosts = [ "a", "b" ]; switches = [ "t" ]; '
                             'links = ( "a t", "a t", "b t", "b t" );', "NICs 1 and 2 of a are at the same switch, t")):
        done = command(ROCELAB, "topo", "check", scenario_file(
            f'topology = {{ {topology} rate = "100Gbps"; }};\npingmesh = {{ enabled = true; rails = true; duration = "1s"; }};\n'), expect=2)
        check(wrong in done.stderr and "pingmesh.rails" in done.stderr, f"refused: {wrong}", done.stderr)


idle()
two_rails()
ready_made()
refused()
