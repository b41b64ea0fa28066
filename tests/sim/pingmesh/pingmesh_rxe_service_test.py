#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Service tracing on guests: what their kernels report of a job's connections, and probes by the connections' own 5-tuples."""
import records
from harness import STALL_LIMIT_S, check
from pingmesh_rxe_test import rxe_sport
from rxe import HOSTS, SLOW_CLIENT, Live, invariants, need_guests, ring, scenario, whole

SERVICE, OK = 2, 0
SPORT = rxe_sport(100)  # few QPs are opened for it
PINGMESH = 'pingmesh = { enabled = true; time_factor = 0.5; duration = "4s"; };\n'


def main():
    need_guests()
    live = Live(scenario(ring("allgather", iterations=3, sport=SPORT), extra=PINGMESH, limits=SLOW_CLIENT))
    live.begun()
    run = live.end(timeout=STALL_LIMIT_S)
    check(run.run["end_reason"] == "complete", "it runs for its time", run.run["end_reason"])
    invariants(run, "service")
    whole(run, "service", 3)
    for host in HOSTS:
        log = (run.dir / "guests" / f"{host}.log").read_text()
        check("traced by rdma netlink and frames" in log, f"{host} says how it traces", log)
    found = records.read(run.dir / "records.bin")
    names = records.node_names(found)
    peers = {(names[r.node], names[(c.tuple_dst_ip & 0xffff) - 1], c.tuple_sport, c.collective)
             for r, c in records.of(found, records.CONNECTION) if c.open}
    check(peers == {(HOSTS[i], HOSTS[(i + 1) % 4], SPORT, 0) for i in range(4)}, "the ring's connections come", peers)
    check(all(c.open for _, c in records.of(found, records.CONNECTION)), "and stay: QPs live as long as their program")
    probes = [(names[r.node], names[(p.tuple_dst_ip & 0xffff) - 1], p.tuple_sport, p.result)
              for r, p in records.of(found, records.PROBE) if p.kind == SERVICE]
    check({probe[:3] for probe in probes} == {peer[:3] for peer in peers}, "all are probed by their own 5-tuples", set(probes))
    good = [probe for probe in probes if probe[3] == OK]
    check(len(good) > 0.5 * len(probes) and len(good) > 100, f"{len(good)} of {len(probes)} probes come back")


if __name__ == "__main__":
    main()
