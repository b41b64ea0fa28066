#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What service tracing shows of congestion that no fault makes: an AllToAll's hotspots in every iteration (R-Pingmesh, Fig. 10), its tail
beside an AllReduce's, and two congestion controls distinguished by their round trips (Fig. 11)."""
import csv
import statistics

import records
from harness import check, rocelab, scenario_file

ITERATIONS, SERVICE = 15, 2


def run_of(op, algorithm, cc):
    return rocelab(scenario_file(f"""
topology = {{ kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "25Gbps"; delay = "1us"; }};
pingmesh = {{ enabled = true; time_factor = 0.002; }};
host = {{ cc = "{cc}"; }};
jobs = ( {{ name = "train"; ranks = [ "h[0-15]" ]; iterations = {ITERATIONS}; compute = "4ms";
    collectives = ( {{ name = "sum"; op = "{op}"; algorithm = "{algorithm}"; bytes = "1MB"; }} ); }} );
""", f"{op}-{cc}.cfg"))


def tail(run, quantile):
    return run.verdict["pingmesh"]["service"]["rpingmesh.network_rtt_ns"][quantile]


def talks(run):
    """When each iteration communicates, ns."""
    spans = {}
    with open(run.dir / "steps.csv", newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            if row["src"] != row["dst"]:
                begin = int(row["start_ns"])
                old = spans.get(row["iteration"], (begin, 0))
                spans[row["iteration"]] = (min(old[0], begin), max(old[1], begin + int(row["duration_ns"])))
    return sorted(spans.values())


def hotspots(run):
    found = records.read(run.dir / "records.bin")
    host = next(node for node, name in records.node_names(found).items() if name == "h0")
    probes = [(probe.sent_ps / 1000, probe.rtt_ps / 1000) for r, probe in records.of(found, records.PROBE)
              if r.node == host and probe.kind == SERVICE and probe.result == 0]
    usual, spans = statistics.median(rtt for _, rtt in probes), talks(run)
    high = [sent for sent, rtt in probes if rtt > 1.5 * usual]
    check(len(probes) > 1000 and len(spans) == ITERATIONS, "one RNIC's probes by its connections", (len(probes), len(spans)))
    # A probe that is sent a little before the collective begins meets its first packets.
    within = [any(begin - 2 * usual <= sent <= end for begin, end in spans) for sent in high]
    seen = [any(begin - 2 * usual <= sent <= end for sent in high) for begin, end in spans]
    check(high and all(within), "round trips are long only while the AllToAll is under way", (len(high), sum(within)))
    check(sum(seen) > ITERATIONS / 2, "and again and again: a hotspot comes back in every iteration, however rarely one probes", sum(seen))
    quiet = [rtt for sent, rtt in probes if not any(begin - 2 * usual <= sent <= end for begin, end in spans)]
    check(max(quiet) < 1.5 * usual, "between them the network is idle", (max(quiet), usual))


ALLTOALL, ALLREDUCE = run_of("alltoall", "linear", "dcqcn"), run_of("allreduce", "ring", "dcqcn")
HPCC = run_of("alltoall", "linear", "hpcc")
hotspots(ALLTOALL)
check(tail(ALLTOALL, "p999") > 2 * tail(ALLREDUCE, "p999"), "an AllToAll congests more than an AllReduce does",
      (tail(ALLTOALL, "p999"), tail(ALLREDUCE, "p999")))
for q in ("p99", "p999"):
    check(tail(HPCC, q) < 0.8 * tail(ALLTOALL, q), f"HPCC's queues are shorter than DCQCN's, by the {q} of round trips",
          (tail(HPCC, q), tail(ALLTOALL, q)))
check(tail(HPCC, "p50") == tail(ALLTOALL, "p50"), "where nothing stands in queues they are the same")
for run, name in ((ALLTOALL, "AllToAll, DCQCN"), (ALLREDUCE, "AllReduce, DCQCN"), (HPCC, "AllToAll, HPCC")):
    print(f"measured {name}: " + ", ".join(f"{q} {tail(run, q) / 1000:.1f} us" for q in ("p50", "p90", "p99", "p999")) +
          f"; {max(end for _, end in talks(run)) / 1e6:.1f} ms for {ITERATIONS} iterations")
for run, name in ((ALLTOALL, "DCQCN"), (ALLREDUCE, "AllReduce"), (HPCC, "HPCC")):
    problems = run.verdict["pingmesh"]["problems"]
    check(not problems, f"{name}: congestion of its own is no problem of the network's", problems)
