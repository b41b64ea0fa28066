#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh's stories of a service's network: a checkpoint beside losses that hurt and one that does not (Fig. 5), and computation
that slows while round trips get shorter (Fig. 9)."""
from harness import check, rocelab, scenario_file

NET = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "25Gbps"; delay = "1us"; };
limits = { virtual_time = "3s"; };
"""
HOSTS = [f"h{i}" for i in (0, 1, 4, 5, 8, 9, 12, 13)]
RANKS = "ranks = [ " + ", ".join(f'"{host}"' for host in HOSTS) + " ];"
PERIOD_NS = 100_000_000  # 20 s, multiplied by 0.005


def delays(iteration, extra):
    """All ranks compute longer."""
    return [f'"{rank} {extra} sum {iteration}"' for rank in range(len(HOSTS))]


def service(period, quantile="p99", of="network_rtt_ns"):
    return period["service"][f"rpingmesh.{of}"][quantile]


def lost(period, network, cause):
    return period[network]["rpingmesh.probe_failed_total"][cause]


def measured(name, periods):
    """What documentation quotes."""
    for number, p in enumerate(periods):
        print(f"measured {name}, period {number}: RTT P99 {service(p) / 1000:.1f} us, responder P99 "
              f"{service(p, 'p99', 'responder_delay_ns') / 1000:.1f} us, lost at switches {lost(p, 'service', 'switch-problem')} of the "
              f"service's, {lost(p, 'cluster', 'switch-problem')} of the cluster's, at RNICs {lost(p, 'cluster', 'rnic-problem')}")


def checkpoint():
    """From 500 ms on hosts write a checkpoint by TCP for a period: RoCE is idle, and their CPUs are busy."""
    overload = "".join(f', {{ kind = "cpu-overload"; host = "{host}"; delay = "20us"; start = "500ms"; duration = "100ms"; }}'
                       for host in HOSTS)
    run = rocelab(scenario_file(NET + f"""
pingmesh = {{ enabled = true; time_factor = 0.005; }};
jobs = ( {{ name = "train"; {RANKS} iterations = 150; compute = "5ms";
    collectives = ( {{ name = "sum"; op = "alltoall"; algorithm = "pairwise"; bytes = "1MB"; }} );
    delays = ( {", ".join(delays(87, "60ms"))} ); }} );
faults = (
  {{ kind = "corruption"; port = "l1:6"; rate = 0.02; start = "210ms"; duration = "60ms"; }},
  {{ kind = "link-down"; port = "h15:1"; start = "300ms"; duration = "1ms"; period = "5ms"; }},
  {{ kind = "corruption"; port = "s2:3"; rate = 0.02; start = "710ms"; duration = "60ms"; }}{overload} );
""", "checkpoint.cfg"))
    reported = run.verdict["pingmesh"]
    observed = [(p["priority"], p["type"], p["ports"], set(p["seen_by"])) for p in reported["problems"]]
    both = {"cluster", "service"}
    check(observed == [("P0", "switch-problem", ["l1:6"], both), ("P0", "switch-problem", ["s2:3"], both),
                   ("P2", "rnic-problem", ["h15:1"], {"cluster"})],
          "two losses in the service's network are P0, an RNIC outside of it P2", observed)
    spans = [(p["first_period"], p["last_period"]) for p in reported["problems"]]
    check(spans[:2] == [(2, 2), (7, 7)] and spans[2][0] == 3, "each in its period", spans)
    periods = reported["periods"]
    check(all(lost(p, "service", "rnic-problem") == 0 for p in periods), "service tracing sees no RNIC drop")
    check(all(lost(p, "cluster", "rnic-problem") > 100 for p in periods[3:10]), "the cluster's monitoring does")
    check(not any(lost(p, n, "cpu-overload") for p in periods for n in both), "a busy CPU loses nothing")
    measured("checkpoint", [p for p in periods if p["complete"]])
    quiet, before = periods[5], periods[1]
    check(service(quiet, "p99") < 0.7 * service(before, "p99"), "round trips are those of an idle network during the checkpoint",
          (service(quiet), service(before)))
    check(service(quiet, "p99", "responder_delay_ns") > 1.4 * service(before, "p99", "responder_delay_ns"),
          "while processing takes longer", [service(p, "p99", "responder_delay_ns") for p in (quiet, before)])
    check(all(p["degradation"] > 0.1 for p in reported["problems"][:2]) and not reported["impact"]["paper_innocent"],
          "iterations are slower for it", reported["impact"])


def slow_compute():
    """Each iteration computes 6 % longer than the one before: throughput falls, and nothing is wrong with network or CPUs."""
    iterations = 48
    slower = ", ".join(entry for i in range(iterations) for entry in delays(i, f"{int(3000 * 1.06 ** i)}us"))
    run = rocelab(scenario_file(NET + f"""
switch = {{ profile = "ns3"; }};
host = {{ profile = "ns3"; }};
pingmesh = {{ enabled = true; time_factor = 0.005; }};
jobs = ( {{ name = "train"; {RANKS} iterations = {iterations};
    collectives = ( {{ name = "sum"; op = "allreduce"; algorithm = "ring"; bytes = "1MB"; compute = "1ms"; }} );
    delays = ( {slower} ); }} );
""", "slow-compute.cfg"))
    reported, network = run.verdict["pingmesh"], run.verdict["network"]
    whole = [p for p in reported["periods"] if p["complete"]]
    tails = [service(p) for p in whole]
    measured("slow compute", whole)
    check(len(whole) >= 7 and tails[0] > 1.2 * tails[-1] and all(b < 1.02 * a for a, b in zip(tails, tails[1:])),
          "round trips get shorter all the time", tails)
    for side in ("prober_delay_ns", "responder_delay_ns"):
        p99 = [service(p, "p99", side) for p in whole]
        check(max(p99) < 1.1 * min(p99), f"{side} is stable", p99)
    impact = reported["impact"]
    check(impact["degraded"] > 20 and impact["worst"] > 2, "iterations get slower and slower", impact)
    check(not reported["problems"] and impact["paper_innocent"], "no problem: by the paper's rule the network is innocent", reported["problems"])
    check("by the paper's rule its network is innocent" in " ".join(run.report.split()),
          "which the report calls the paper's rule")
    check(network["word"] != "guilty" and network["unexplained_ns"] < 1e-3 * network["lost_ns"],
          "by ours it is not guilty, and hosts explain the time lost", network)


def tenants():
    """Two jobs that share nothing: one crosses a link that damages packets, and hardly feels it; of the other a CPU is starved."""
    run = rocelab(scenario_file("""
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
detection = { policy = "off"; }; host = { transport = "selective"; };
pingmesh = { enabled = true; time_factor = 0.005; duration = "300ms"; };
jobs = ( { name = "left"; ranks = [ "h0", "h2" ]; iterations = 28; compute = "10ms";
           collectives = ( { name = "x"; op = "allgather"; algorithm = "ring"; bytes = "200KB"; } ); },
         { name = "right"; ranks = [ "h5", "h7" ]; iterations = 26; compute = "10ms";
           collectives = ( { name = "y"; op = "allgather"; algorithm = "ring"; bytes = "200KB"; } ); } );
paths = ( { src = "h0"; dst = "h2"; data = [ "l0:3", "s0:2", "l1:1" ]; } );
faults = ( { kind = "corruption"; port = "l0:3"; rate = 0.02; start = "110ms"; },
           { kind = "cpu-overload"; host = "h5"; delay = "6ms"; steps = true; start = "110ms"; } );
""", "tenants.cfg"))
    reported, report = run.verdict["pingmesh"], " ".join(run.report.split())
    observed = [(p["priority"], p["type"], p["node"] or p["ports"], [(s["job"], s["priority"]) for s in p["services"]])
            for p in reported["problems"]]
    check(observed == [("P0", "cpu-overload", "h5", [("right", "P0")]), ("P1", "switch-problem", ["l0:3"], [("left", "P1")])],
          "each problem is of the job whose connections it touches", observed)
    link = reported["problems"][1]
    check(link["degradation"] < 0.05 and "h0->h2/49152>4791" in link["services"][0]["flows"],
          "with its own slowdown, and its own connections", link)
    left, right = reported["services"]
    check(left["degraded"] == 0 and left["network_innocent"] is None and left["service"]["switch_drop_rate"] > 0,
          "the job on the link is not slower, and its probes show the loss", left)
    check(right["degraded"] > 10 and right["network_innocent"] is True and right["service"]["switch_drop_rate"] == 0,
          "the network of the other is innocent", right)
    check("P1 for job left: " in report and "P0 for job right: " in report and "Job right: " in report, "the report has the same", report)


checkpoint()
slow_compute()
tenants()
