#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Management sockets of a run with guests: their hosts report what rdma netlink and frames know of their connections, and leaves what they
sampled, of TCP and UDP too."""
import sys
import time

from devices import traced
from fabric.frozen_test import steps_of
from harness import STALL_LIMIT_S, check
from pingmesh.pingmesh_rxe_test import rxe_sport
from rxe import HOSTS, Live, invariants, need_guests, ring, scenario, whole

SPORT = rxe_sport(100)  # few QPs are opened for it
SOCKETS = "management = { sockets = true; };\nswitch = { sampling = 3; };\n"
TCP_PORT, UDP_PORT = 5001, 5002
SERVER = f"""import socket
s = socket.create_server(("0.0.0.0", {TCP_PORT}))
print("ready", flush=True)
c = s.accept()[0]
while c.recv(4096):
    pass
"""
CLIENT = f"""import socket, sys, time
c = socket.create_connection((sys.argv[1], {TCP_PORT}))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(c.getsockname()[1], flush=True)
while True:
    c.sendall(bytes(500))
    u.sendto(bytes(100), (sys.argv[2], {UDP_PORT}))
    time.sleep(0.05)
"""
SLOW_CLIENT = """limits = { virtual_time = "600s"; connect = "180s"; stall = "60s"; hold = "600s"; };
"""


def address(live, host):
    return live.shell(host, "ip", "-4", "-o", "addr", "show", "eth0").stdout.split("inet ")[1].split("/")[0]


def sampled(live):
    """What leaves sampled: the ring's flows, a connection of TCP in both directions and one of UDP; hosts report neither."""
    server = live.start("h2", sys.executable, "-c", SERVER)
    check(server.stdout.readline().strip() == "ready", "a server of TCP in a guest")
    client = live.start("h0", sys.executable, "-c", CLIENT, address(live, "h2"), address(live, "h3"))
    sport = int(client.stdout.readline())
    there, back = ("h0", "h2", sport, TCP_PORT, 6), ("h2", "h0", TCP_PORT, sport, 6)
    found, deadline = {}, time.monotonic() + STALL_LIMIT_S
    while not (there in found and back in found and any(f[3] == UDP_PORT for f in found)) and time.monotonic() < deadline and \
            live.process.poll() is None:
        time.sleep(0.3)
        trace = traced(live.out, "--first-hop", "sflow", expect=None)
        found = {(f["source"], f["end"], f["sport"], f["dport"], f["protocol"]): f for f in trace["flows"]}
    reported = traced(live.out, expect=None)["flows"]
    client.kill()
    server.kill()
    check({there, back} <= found.keys(), "samples report TCP, both ways", sorted(found))
    check(any(f[0] == "h0" and f[1] == "h3" and f[3] == UDP_PORT and f[4] == 17 for f in found), "and of UDP", sorted(found))
    check(found[there]["path"] == ["h0:1", "a:3", "b:1"] and found[back]["path"] == ["h2:1", "b:3", "a:1"], "with their ways",
          (found[there], found[back]))
    check(not any(f["dport"] in (TCP_PORT, UDP_PORT) for f in reported), "hosts do not", reported)
    return found


def main():
    need_guests()
    live = Live(scenario(ring("allgather", size="8MB", iterations=2, sport=SPORT), extra=SOCKETS, limits=SLOW_CLIENT))
    live.begun()
    ring_of = {(HOSTS[i], HOSTS[(i + 1) % 4], SPORT) for i in range(4)}
    found, deadline = set(), time.monotonic() + STALL_LIMIT_S
    while found != ring_of and time.monotonic() < deadline and live.process.poll() is None:
        trace = traced(live.out, expect=None)
        found = {(flow["source"], flow["end"], flow["sport"]) for flow in trace["flows"]}
        time.sleep(0.5)
    check(found == ring_of, "kernels report the ring's connections", found)
    check(all(flow["job"] == 0 and flow["dport"] == 4791 and flow["state"] == "arrived" for flow in trace["flows"]),
          "with their job, and are traced", trace["flows"])
    paths = {flow["source"]: flow["path"] for flow in trace["flows"]}
    check(paths == {"h0": ["h0:1", "a:2"], "h1": ["h1:1", "a:3", "b:1"], "h2": ["h2:1", "b:2"], "h3": ["h3:1", "b:3", "a:1"]},
          "by the ways that there are", paths)
    by_samples = sampled(live)
    check({(h, e, SPORT, 4791, 17) for h, e, _ in ring_of} <= by_samples.keys(), "and of the ring's connections", sorted(by_samples))
    live.until("all steps are recorded", lambda: steps_of((live.out / "records.bin").read_bytes()) == 2 * 4 * 3)
    live.interrupt()
    run = live.end(expect=None)
    invariants(run, "management")
    whole(run, "management", 2)
    check(not (run.dir / "management").exists(), "sockets go with the run")


if __name__ == "__main__":
    main()
