#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Management sockets of a run with guests: their hosts tell what rdma netlink and frames know of their connections."""
import time

from devices import traced
from harness import check
from pingmesh_rxe_test import rxe_sport
from rxe import HOSTS, Live, invariants, need_guests, ring, scenario, whole

SPORT = rxe_sport(100)  # few QPs are opened for it
SOCKETS = "management = { sockets = true; };\n"
PATIENT = """limits = { virtual_time = "600s"; connect = "180s"; stall = "60s"; hold = "15s"; };
"""
FOUND_S = 60


def main():
    need_guests()
    live = Live(scenario(ring("allgather", size="8MB", iterations=2, sport=SPORT), extra=SOCKETS, limits=PATIENT))
    live.begun()
    ring_of = {(HOSTS[i], HOSTS[(i + 1) % 4], SPORT) for i in range(4)}
    found, deadline = set(), time.monotonic() + FOUND_S
    while found != ring_of and time.monotonic() < deadline and live.process.poll() is None:
        trace = traced(live.out, expect=None)
        found = {(flow["source"], flow["end"], flow["sport"]) for flow in trace["flows"]}
        time.sleep(0.5)
    check(found == ring_of, "kernels tell the ring's connections", found)
    check(all(flow["job"] == 0 and flow["dport"] == 4791 and flow["state"] == "arrived" for flow in trace["flows"]),
          "with their job, and are traced", trace["flows"])
    ways = {flow["source"]: flow["path"] for flow in trace["flows"]}
    check(ways == {"h0": ["h0:1", "a:2"], "h1": ["h1:1", "a:3", "b:1"], "h2": ["h2:1", "b:2"], "h3": ["h3:1", "b:3", "a:1"]},
          "by the ways that there are", ways)
    run = live.end(timeout=240)
    invariants(run, "management")
    whole(run, "management", 2)
    check(not (run.dir / "management").exists(), "sockets go with the run")


if __name__ == "__main__":
    main()
